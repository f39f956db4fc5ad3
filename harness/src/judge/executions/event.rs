//! The words of an event log and of an execution's row, and one event.

use std::fmt;

use crate::protocol::shortened;

/// How much of a worker's name or of an execution's id is shown, in characters.
pub(super) const NAME_CHARS_MAX: usize = 60;

/// Makes an enum whose variants have names in the store.
macro_rules! words {
    ($(#[$head:meta])* $name:ident { $($(#[$doc:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$head])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum $name { $($(#[$doc])+ $variant,)+ }

        impl $name {
            /// Every one, in order.
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)+];

            /// How the store says it.
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What the store says with this word.
            pub(super) fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == word)
            }

            /// All of the words, for who has to use them.
            pub(super) fn all_names() -> String {
                let names: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
                names.join(", ")
            }
        }
    };
}

words! {
    /// What happened to an execution.
    Word {
        /// It was written down.
        Submitted = "submitted",
        /// Any worker may claim it.
        Ready = "ready",
        /// A worker holds a lease on it, under a token of its own.
        Claimed = "claimed",
        /// The holder lives.
        Heartbeat = "heartbeat",
        /// The holder did it.
        Completed = "completed",
        /// An attempt failed.
        Failed = "failed",
        /// The lease ended before its holder did.
        LeaseExpired = "lease_expired",
        /// Somebody was refused who holds it no longer.
        StaleRejected = "stale_rejected",
        /// Another attempt will come.
        RetryScheduled = "retry_scheduled",
        /// It will not be done.
        Cancelled = "cancelled",
        /// It was submitted once more.
        DuplicateDetected = "duplicate_detected",
    }
}

words! {
    /// How an execution stands, by its row.
    State {
        /// Any worker may claim it.
        Ready = "ready",
        /// A worker holds it.
        Running = "running",
        /// It waits for its next attempt.
        RetryWait = "retry_wait",
        /// Done, for good.
        Completed = "completed",
        /// Failed, for good.
        Failed = "failed",
        /// Cancelled, for good.
        Cancelled = "cancelled",
    }
}

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
