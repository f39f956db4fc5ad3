//! Why a question got no answer: one enum for every kind of store, so that a caller can tell "not yet" from "never".
//!
//! Must not say anything about effects: an unanswered question counts as neither none nor some.

use std::fmt;
use std::path::PathBuf;

use super::query::{ANSWER_BYTES_MAX, CELL_BYTES_MAX, LIVE_STORE_BYTES_MAX, ROWS_MAX};

/// Why a store did not answer a query. Every message names the store, the query where there is one, and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no store yet, or an empty file of no tables.
    #[error("read {store}: there is no store; check `[store] path`, and that the server was started and has written")]
    Absent {
        /// The path that was tried.
        store: PathBuf,
    },
    /// The store is there; a table or view that the query names is not.
    #[error("read {store}: {}", missing_place(table, sql))]
    NoSuchTable {
        /// The store that was asked.
        store: PathBuf,
        /// The name as the store repeats it, or a JSON pointer.
        table: String,
        /// The query.
        sql: String,
    },
    /// The store cannot be opened or is not what it should be.
    #[error("read {store}: {reason}")]
    Unreadable {
        /// The store that was asked.
        store: PathBuf,
        /// What is wrong with it, and the next step.
        reason: String,
    },
    /// Somebody is writing. Nothing is wrong, and asking again later is the answer.
    #[error(
        "read {store}: somebody is writing to it; ask again, and if it stays so look for a transaction left open, or for an exclusive lock (`locking_mode=EXCLUSIVE`), beside which nobody can read"
    )]
    Busy {
        /// The store that was asked.
        store: PathBuf,
    },
    /// The query is wrong, or is not allowed.
    #[error("run `{sql}` on {store}: {reason}")]
    BadQuery {
        /// The store that was asked.
        store: PathBuf,
        /// The query.
        sql: String,
        /// What is wrong with it, and the next step.
        reason: String,
    },
    /// The answer, or the way to it, is larger than a bound.
    #[error("run `{sql}` on {store}: {bound}")]
    TooMuch {
        /// The store that was asked.
        store: PathBuf,
        /// The query.
        sql: String,
        /// Which bound.
        bound: Bound,
    },
}

/// A table that is not there, or a place in a JSON document; a pointer begins with a slash, and a name of a table does not.
fn missing_place(table: &str, sql: &str) -> String {
    if table.starts_with('/') {
        return format!("there is nothing at {table} in the document yet; correct `{sql}` if it never comes");
    }
    format!("no such table: {table}; correct the query `{sql}`, or wait until the server made its tables")
}

/// A bound that an answer exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// More rows than [`ROWS_MAX`].
    Rows,
    /// One cell is larger than [`CELL_BYTES_MAX`].
    Cell {
        /// The column of the cell.
        column: String,
        /// The size of the cell in bytes.
        bytes: usize,
    },
    /// All cells together are larger than [`ANSWER_BYTES_MAX`].
    Answer,
    /// The query did not end within so many steps of the store's machine.
    Steps {
        /// The bound that was in force.
        steps_max: u64,
    },
    /// SQLite itself refuses a value as too large.
    Value,
    /// The store can be read beside a living server only from a copy, and is larger than [`LIVE_STORE_BYTES_MAX`].
    Store {
        /// The size of its largest file in bytes.
        bytes: u64,
    },
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows => write!(f, "more than {ROWS_MAX} rows; narrow it, usually with `= $marker`"),
            Self::Cell { column, bytes } => write!(
                f,
                "a cell of column `{column}` has {bytes} bytes, more than {CELL_BYTES_MAX}; select less of it, such as \
                 `substr({column}, 1, 1000)`"
            ),
            Self::Answer => write!(
                f,
                "more than {ANSWER_BYTES_MAX} bytes in all; select fewer columns or rows"
            ),
            Self::Steps { steps_max } => write!(
                f,
                "no end after {steps_max} steps; make sure that it ends, and that the column it searches has an index"
            ),
            Self::Store { bytes } => write!(
                f,
                "beside a living server it is read from a copy, and {bytes} bytes are more than {LIVE_STORE_BYTES_MAX}; \
                 read it after the server stopped, start from a smaller store, or use `journal_mode=WAL`"
            ),
            Self::Value => write!(f, "a value is larger than SQLite allows; select less of it"),
        }
    }
}
