//! The one module of the driver that reads a clock and waits for time to pass.
//!
//! Everything else is given a [`StampFn`], or waits here for a condition, with a bound. Nothing here knows what is
//! waited for.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause between two looks at a condition that nothing announces.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A moment, in microseconds since the clock that made it was started. Never goes backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stamp {
    /// Microseconds since the start of the clock.
    pub micros: u64,
}

/// Tells the present moment; handed to whatever must stamp what it sees.
pub type StampFn = Arc<dyn Fn() -> Stamp + Send + Sync>;

/// A monotonic clock that starts at zero.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self { origin: now() }
    }

    /// The present moment.
    pub fn stamp(&self) -> Stamp {
        let micros = now().saturating_duration_since(self.origin).as_micros();
        Stamp {
            micros: u64::try_from(micros).unwrap_or(u64::MAX),
        }
    }

    /// The clock as a function, to be injected.
    pub fn stamp_fn(self) -> StampFn {
        Arc::new(move || self.stamp())
    }
}

/// The end of a bounded wait.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
}

impl Deadline {
    /// The deadline that lies `bound` from now.
    pub fn after(bound: Duration) -> Self {
        let start = now();
        // A bound too long to be added is as good as a day.
        Self {
            at: start.checked_add(bound).unwrap_or(start + Duration::from_secs(86_400)),
        }
    }

    /// Whether it lies in the past.
    pub fn has_passed(self) -> bool {
        now() >= self.at
    }

    /// Time left, zero once it has passed.
    pub fn remaining(self) -> Duration {
        self.at.saturating_duration_since(now())
    }
}

/// Gives the runtime and the system one [`POLL_INTERVAL`].
pub async fn pause() {
    tokio::time::sleep(POLL_INTERVAL).await;
}

/// Blocks this thread for one [`POLL_INTERVAL`]; for places that have no runtime (`Drop`, the guard's threads).
#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock module; every caller loops over a condition with a bound"
)]
pub fn pause_blocking() {
    std::thread::sleep(POLL_INTERVAL);
}

/// Looks at `condition` until it holds or `bound` has passed; returns whether it held.
pub async fn wait_until(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Deadline::after(bound);
    loop {
        if condition() {
            return true;
        }
        if deadline.has_passed() {
            return false;
        }
        pause().await;
    }
}

/// [`wait_until`] for places that have no runtime.
pub fn wait_until_blocking(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Deadline::after(bound);
    loop {
        if condition() {
            return true;
        }
        if deadline.has_passed() {
            return false;
        }
        pause_blocking();
    }
}

/// The present moment in UTC, to the second.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub fn utc_now() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// The present day in UTC, `YYYY-MM-DD`.
pub fn utc_today() -> String {
    utc_now().to_string().chars().take_while(|c| *c != 'T').collect()
}

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
fn now() -> Instant {
    Instant::now()
}
