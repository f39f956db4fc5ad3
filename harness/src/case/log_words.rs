//! The words by which profiles and cases speak of executions: events and states, and the columns of the readings that have
//! them.

use serde_json::Value;

/// Makes an enum whose variants have names in the store.
macro_rules! words {
    ($(#[$head:meta])* $name:ident { $($(#[$doc:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$head])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($(#[$doc])+ $variant,)+ }

        impl $name {
            /// Every one, in order.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)+];

            /// How the store says each of them, in the same order.
            pub(crate) const NAMES: &[&str] = &[$($word,)+];

            /// How the store says it.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What the store says with this word.
            pub(crate) fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == word)
            }

            /// All of the words, for who has to use them.
            pub(crate) fn all_names() -> String {
                Self::NAMES.join(", ")
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

/// What stands in the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// What names an execution or a worker.
    Name,
    /// A text of the server's own.
    Text,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Whatever the server keeps there.
    Any,
}

impl Cell {
    /// Whether a value can stand there.
    pub(crate) fn takes(self, value: &Value) -> bool {
        match self {
            Self::Name => value.is_string() || value.is_i64() || value.is_u64(),
            Self::Text => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Any => true,
        }
    }

    /// The words of which it is one.
    pub(crate) fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Words(words) => Some(words),
            Self::Name | Self::Text | Self::Integer | Self::Number | Self::Any => None,
        }
    }

    /// For people.
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Name => "a text or an integer".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Integer => "an integer".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Any => "anything".to_owned(),
        }
    }
}

const EVENTS: &[(&str, Cell)] = &[
    ("execution", Cell::Name),
    ("seq", Cell::Integer),
    ("event", Cell::Words(Word::NAMES)),
    ("token", Cell::Integer),
    ("worker", Cell::Name),
    ("note", Cell::Text),
];

const EXECUTIONS: &[(&str, Cell)] = &[
    ("execution", Cell::Name),
    ("state", Cell::Words(State::NAMES)),
    ("attempts", Cell::Integer),
    ("token", Cell::Integer),
];

const LEASES: &[(&str, Cell)] = &[
    ("execution", Cell::Name),
    ("token", Cell::Integer),
    ("worker", Cell::Name),
    ("state", Cell::Text),
    ("expires_at", Cell::Any),
];

const RETRIES: &[(&str, Cell)] = &[
    ("execution", Cell::Name),
    ("attempt", Cell::Integer),
    ("backoff_s", Cell::Number),
    ("state", Cell::Text),
];

/// The columns of a reading by their names, where they have names; a profile names those of the others as it likes.
pub(crate) fn columns_of(reading: &str) -> Option<&'static [(&'static str, Cell)]> {
    match reading {
        "events" => Some(EVENTS),
        "executions" => Some(EXECUTIONS),
        "leases" => Some(LEASES),
        "retries" => Some(RETRIES),
        _ => None,
    }
}
