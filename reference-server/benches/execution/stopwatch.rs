//! Time that passes: the only place of the benchmark that reads a clock.

use std::time::{Duration, Instant};

/// Time since a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that reads the clock; the server's own tells whole seconds"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Does something; returns what came of it, and how long it took.
pub(crate) fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let stopwatch = Stopwatch::start();
    let done = act();
    (done, stopwatch.elapsed())
}

/// How many a second.
pub(crate) fn per_second(count: u32, time: Duration) -> f64 {
    f64::from(count) / time.as_secs_f64().max(f64::EPSILON)
}
