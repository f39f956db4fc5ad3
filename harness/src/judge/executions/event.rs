//! One event of a log.

use std::fmt;

pub(super) use crate::case::{EventWord as Word, ExecutionState as State};
use crate::protocol::shortened;

/// How much of a worker's name or of an execution's id is shown, in characters.
pub(super) const NAME_CHARS_MAX: usize = 60;

/// The note of a `failed` that was the last attempt.
pub(super) const TERMINAL: &str = "terminal";

/// The note of a `ready` by a worker that gave its lease back.
pub(super) const GIVEN_BACK: &str = "given_back";

/// One line of the log, without its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) word: Word,
    /// The fencing token that it is about.
    pub(super) token: Option<i64>,
    /// The worker that it is about.
    pub(super) worker: Option<String>,
    pub(super) note: Option<&'a str>,
}

impl Event<'_> {
    /// Whether it was the last attempt that failed.
    pub(super) fn is_terminal(&self) -> bool {
        self.word == Word::Failed && self.note == Some(TERMINAL)
    }

    /// Whether a worker gave its lease back.
    pub(super) fn is_given_back(&self) -> bool {
        self.word == Word::Ready && self.note == Some(GIVEN_BACK)
    }
}

/// For people: `claimed, token 2, worker B`.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word.name())?;
        if self.is_terminal() || self.is_given_back() {
            write!(f, " ({})", self.note.unwrap_or_default())?;
        }
        if let Some(token) = self.token {
            write!(f, ", token {token}")?;
        }
        if let Some(worker) = &self.worker {
            write!(f, ", worker {}", shortened(worker, NAME_CHARS_MAX))?;
        }
        Ok(())
    }
}
