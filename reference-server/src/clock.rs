//! The injected clock, and the one bounded wait: the only place that reads time or lets it pass.
//!
//! It must never guess: a clock file that cannot be read is an error, not "now".

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use thiserror::Error;

/// The last second that is accepted, so that every accepted second can be printed: in the last days of the year 9999.
const SECONDS_MAX: i64 = 253_402_207_200;

/// A clock that says nothing.
#[derive(Debug, Error)]
pub enum ClockError {
    /// The setting names no kind of clock.
    #[error("{0:?} is not a clock; use system, fixed:UNIX_SECONDS or file:PATH")]
    NotAClock(String),
    /// The text is no number of Unix seconds within the years 1970 to 9999.
    #[error("{0:?} is not a count of Unix seconds")]
    NotSeconds(String),
    /// The clock file cannot be read.
    #[error("clock file {path}: {source}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The system's clock stands before 1970.
    #[error("the system clock stands before 1970")]
    BeforeEpoch,
}

/// Where the time comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clock {
    /// The system's clock.
    System,
    /// Always the same second.
    Fixed(i64),
    /// A file with a decimal count of Unix seconds, read at each use; whoever moves time replaces the file atomically.
    File(PathBuf),
}

impl Clock {
    /// Reads the setting `system`, `fixed:UNIX_SECONDS` or `file:PATH`.
    pub fn parse(text: &str) -> Result<Self, ClockError> {
        if text == "system" {
            return Ok(Self::System);
        }
        match text.split_once(':') {
            Some(("fixed", seconds)) => Ok(Self::Fixed(parse_seconds(seconds)?)),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            _ => Err(ClockError::NotAClock(text.to_owned())),
        }
    }

    /// Now, in whole Unix seconds.
    pub fn now_s(&self) -> Result<i64, ClockError> {
        match self {
            Self::System => system_now_s(),
            Self::Fixed(seconds) => Ok(*seconds),
            Self::File(path) => {
                let text = fs::read_to_string(path).map_err(|source| ClockError::Unreadable {
                    path: path.clone(),
                    source,
                })?;
                parse_seconds(text.trim_end())
            }
        }
    }
}

/// A sign to stop, and the one way to let time pass: a bounded wait that the sign cuts short. Clones share the sign.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Gives the sign, for good.
    pub fn set(&self) {
        let (sign, waiters) = &*self.0;
        *sign.lock().unwrap_or_else(PoisonError::into_inner) = true;
        waiters.notify_all();
    }

    /// Whether the sign was given.
    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the sign, at most `bound`; says whether it was given.
    pub fn wait(&self, bound: Duration) -> bool {
        let (sign, waiters) = &*self.0;
        let given = sign.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = waiters.wait_timeout_while(given, bound, |given| !*given);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the module that reads the clock")]
fn system_now_s() -> Result<i64, ClockError> {
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|_before| ClockError::BeforeEpoch)?;
    parse_seconds(&since_epoch.as_secs().to_string())
}

fn parse_seconds(text: &str) -> Result<i64, ClockError> {
    let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<i64>()
        .ok()
        .filter(|seconds| digits_only && *seconds <= SECONDS_MAX)
        .ok_or_else(|| ClockError::NotSeconds(text.to_owned()))
}

/// The RFC 3339 form of `seconds` (Unix, from a [`Clock`]), in UTC, as in `2026-09-22T00:00:00Z`.
pub fn rfc3339(seconds: i64) -> String {
    let instant = jiff::Timestamp::from_second(seconds);
    instant
        .expect("a clock gives no second that cannot be printed")
        .to_string()
}

/// The same for seconds that somebody else may have written: what is no date stays a number.
pub fn rfc3339_or_number(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_no_date| seconds.to_string(), |instant| instant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused() {
        assert_eq!(Clock::parse("system").unwrap(), Clock::System);
        assert_eq!(Clock::parse("fixed:1790035200").unwrap(), Clock::Fixed(1_790_035_200));
        assert_eq!(Clock::parse("file:/tmp/now").unwrap(), Clock::File("/tmp/now".into()));
        for wrong in [
            "",
            "now",
            "fixed:",
            "fixed:-1",
            "fixed:+1",
            "fixed:1.5",
            "fixed:999999999999999",
            "file:",
            "System",
        ] {
            assert!(Clock::parse(wrong).is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn a_file_is_read_at_each_use_and_never_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clock");
        let clock = Clock::File(path.clone());
        assert!(matches!(clock.now_s(), Err(ClockError::Unreadable { .. })));
        fs::write(&path, "1790035200\n").unwrap();
        assert_eq!(clock.now_s().unwrap(), 1_790_035_200);
        fs::write(&path, "1790035320").unwrap();
        assert_eq!(clock.now_s().unwrap(), 1_790_035_320);
        fs::write(&path, "soon").unwrap();
        assert!(matches!(clock.now_s(), Err(ClockError::NotSeconds(_))));
    }

    #[test]
    fn a_sign_cuts_every_wait_short_and_stays_given() {
        let (stop, bound) = (Stop::default(), Duration::from_secs(30));
        assert!(!stop.wait(Duration::from_millis(1)) && !stop.is_set());
        let waiting = std::thread::spawn({
            let stop = stop.clone();
            move || stop.wait(bound)
        });
        stop.set();
        assert!(waiting.join().unwrap() && stop.wait(bound) && stop.is_set());
    }

    #[test]
    fn a_second_has_a_zone_when_printed() {
        assert_eq!(rfc3339(1_790_035_200), "2026-09-22T00:00:00Z");
        assert_eq!(rfc3339(SECONDS_MAX), "9999-12-30T22:00:00Z");
        assert_eq!(rfc3339_or_number(1_790_035_200), "2026-09-22T00:00:00Z");
        assert_eq!(rfc3339_or_number(i64::MAX), i64::MAX.to_string());
    }
}
