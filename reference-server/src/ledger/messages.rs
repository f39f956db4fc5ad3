//! What the ledger is asked and what it answers: plain values, without a connection.

use serde_json::Value;
use thiserror::Error;

use super::schema;
use crate::clock::ClockError;
use crate::guard::decision::{Attempt, Refusal, RowState};

/// How a write treats its second step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One transaction: the issue and the ledger row, or nothing.
    Atomic,
    /// Two transactions: the issue commits first, then a watcher is added. That step always fails, and so does its compensation.
    Partial,
}

/// A write to decide and do.
#[derive(Debug, Clone)]
pub struct Write {
    /// The identity of the operation.
    pub operation_id: String,
    /// The tool that asks.
    pub tool: &'static str,
    /// Its contract's version.
    pub tool_version: String,
    /// What the decision needs to know.
    pub attempt: Attempt,
    /// The issue's title.
    pub title: String,
    /// The issue's body.
    pub body: String,
    /// One transaction or two.
    pub mode: Mode,
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// The operation's result, and whether it had been stored before.
    Done {
        /// As stored.
        result: Value,
        /// Whether this is the stored result of an earlier request.
        replayed: bool,
    },
    /// Nothing was written.
    Refused(Refusal),
}

/// What the ledger says of an operation to its own principal.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The row, unless there is none, it is another principal's, or how it ended is not known.
    pub settled: Option<Settled>,
    /// When it was read, in Unix seconds.
    pub observed_at_s: i64,
}

/// An operation that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// How: applied or partial.
    pub state: RowState,
    /// The effect it wrote. There always is one, unless a defect hides it.
    pub issue_id: Option<i64>,
    /// The stored result.
    pub result: Value,
}

/// A request to the ledger that was not answered.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// Someone else held the store for longer than the busy timeout; nothing was written.
    #[error("the ledger is locked by another writer")]
    Busy,
    /// The effect failed and was rolled back; nothing was written.
    #[error("the effect failed and was rolled back")]
    EffectFailed,
    /// Somebody else settled the operation between two of its steps; the second one was rolled back.
    #[error("the operation was settled by somebody else meanwhile")]
    SettledMeanwhile,
    /// The clock tells no time.
    #[error("the clock tells no time: {0}")]
    Clock(#[from] ClockError),
    /// SQLite says no.
    #[error("the ledger failed: {0}")]
    Sqlite(rusqlite::Error),
    /// A stored result is no JSON.
    #[error("a stored result cannot be read: {0}")]
    StoredResult(#[from] serde_json::Error),
    /// The row of an execution is not as this server writes it; nothing was written.
    #[error(
        "execution {execution_id} cannot be claimed: {reason}; nothing was written; somebody changed its row in `executions`: mend it, \
         or cancel the submission, and start the worker again"
    )]
    Unworkable {
        /// Which one.
        execution_id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The ledger's thread panicked in this request, or has ended.
    #[error("the ledger gave no answer")]
    NoAnswer,
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        if schema::is_busy(&error) {
            Self::Busy
        } else {
            Self::Sqlite(error)
        }
    }
}
