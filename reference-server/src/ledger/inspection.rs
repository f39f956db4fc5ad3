//! Everything that stands in a store, as plain values: what `inspect` shows.
//!
//! It must not create or change anything, nor get in the way of a server that works on the store. A server that works has a
//! `-shm` file beside its store: then the store is read in place, by a connection that cannot write. Without one nobody has it
//! open, and opening it would leave files behind or repair what its server should repair: then a copy is read.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row};
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;
use thiserror::Error;

use super::schema::{self, Found, OpenError, SCHEMA_VERSION};
use crate::clock::rfc3339_or_number;
use crate::execution::inspection::ExecutionInspection;

/// The version of the JSON form of an [`Inspection`].
pub const FORMAT: u32 = 1;

/// How long a reader waits, where SQLite makes it wait at all.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A store that could not be read.
#[derive(Debug, Error)]
pub enum InspectError {
    /// It cannot be opened, or is not one of ours.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error("the store cannot be read: {0}; try again, or check that the file is whole")]
    Sqlite(#[from] rusqlite::Error),
    /// It cannot be copied.
    #[error("the store cannot be copied for reading: {0}; check TMPDIR and the store's permissions")]
    Copy(#[from] std::io::Error),
}

/// What stands in a store, at one moment.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// [`FORMAT`].
    pub format: u32,
    /// The backend that the store is bound to.
    pub backend: String,
    /// The version of its tables.
    pub schema_version: u32,
    /// The ledger, in the order of admission.
    pub operations: Vec<Operation>,
    /// The effects, in the order in which they were made.
    pub effects: Vec<Effect>,
    /// What became of each step, in order.
    pub step_log: Vec<Step>,
    /// What became of each compensation, in order.
    pub compensations: Vec<Step>,
    /// Durable execution.
    #[serde(flatten)]
    pub execution: ExecutionInspection,
}

/// A ledger row.
#[derive(Debug, Serialize)]
pub struct Operation {
    /// Its identity.
    pub operation_id: String,
    /// `in_progress`, `applied`, `partial` or `not_applied`.
    pub state: String,
    /// Whose it is.
    pub principal: String,
    /// The tool that asked.
    pub tool: String,
    /// Its contract's version.
    pub tool_version: String,
    /// What a repeat must equal.
    pub fingerprint: String,
    /// The effect that the row names.
    pub issue_id: Option<i64>,
    /// The stored result; a text when it is no JSON.
    pub result: Option<Value>,
    /// When it was admitted.
    pub admitted_at: String,
    /// When it ended.
    pub committed_at: Option<String>,
    /// Until when its result is replayed.
    pub replay_until: Option<String>,
}

/// An issue.
#[derive(Debug, Serialize)]
pub struct Effect {
    /// Its id.
    pub issue_id: i64,
    /// Which operation wrote it.
    pub operation_id: String,
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
    /// When it was written.
    pub created_at: String,
}

/// A line of the step log, or of the compensations.
#[derive(Debug, Serialize)]
pub struct Step {
    /// Its place in the log.
    pub seq: i64,
    /// The operation it is about.
    pub operation_id: String,
    /// Which step.
    pub step: String,
    /// What became of it.
    pub outcome: String,
    /// The store's words, or an operator's reason.
    pub detail: Option<String>,
    /// When.
    pub at: String,
}

impl Inspection {
    /// Reads the store at `path`: everything, or what belongs to the operation or execution `operation_id`. `now_s` tells what is
    /// left of a lease.
    pub fn read(path: &Path, operation_id: Option<&str>, now_s: Option<i64>) -> Result<Self, InspectError> {
        let reading = Reading::open(path)?;
        let Found::Ours { backend } = schema::identify(&reading.connection, None)? else {
            return Err(OpenError::NotAStore.into());
        };
        // One read transaction: every table as it stood at the same moment.
        let transaction = reading.connection.unchecked_transaction()?;
        let steps = |table: &str| {
            let sql = format!(
                "SELECT seq, operation_id, step, outcome, detail, at FROM {table}
                 WHERE operation_id = coalesce(?1, operation_id) ORDER BY seq"
            );
            select(&transaction, &sql, operation_id, step)
        };
        Ok(Self {
            format: FORMAT,
            backend,
            schema_version: SCHEMA_VERSION,
            operations: select(
                &transaction,
                "SELECT operation_id, state, principal, tool, tool_version, fingerprint, issue_id, result,
                        admitted_at, committed_at, replay_until
                 FROM operations WHERE operation_id = coalesce(?1, operation_id) ORDER BY admitted_at, operation_id",
                operation_id,
                operation,
            )?,
            effects: select(
                &transaction,
                "SELECT issue_id, operation_id, title, body, created_at
                 FROM issues WHERE operation_id = coalesce(?1, operation_id) ORDER BY issue_id",
                operation_id,
                effect,
            )?,
            step_log: steps("step_log")?,
            compensations: steps("compensations")?,
            execution: ExecutionInspection::read(&transaction, operation_id, now_s)?,
        })
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
            && self.effects.is_empty()
            && self.step_log.is_empty()
            && self.compensations.is_empty()
            && self.execution.executions.is_empty()
    }
}

fn select<T>(
    connection: &Connection,
    sql: &str,
    operation_id: Option<&str>,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare(sql)?;
    statement.query_map([operation_id], read)?.collect()
}

fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let result: Option<String> = row.get(7)?;
    let at =
        |index| -> rusqlite::Result<Option<String>> { Ok(row.get::<_, Option<i64>>(index)?.map(rfc3339_or_number)) };
    Ok(Operation {
        operation_id: row.get(0)?,
        state: row.get(1)?,
        principal: row.get(2)?,
        tool: row.get(3)?,
        tool_version: row.get(4)?,
        fingerprint: row.get(5)?,
        issue_id: row.get(6)?,
        result: result.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))),
        admitted_at: rfc3339_or_number(row.get(8)?),
        committed_at: at(9)?,
        replay_until: at(10)?,
    })
}

fn effect(row: &Row<'_>) -> rusqlite::Result<Effect> {
    Ok(Effect {
        issue_id: row.get(0)?,
        operation_id: row.get(1)?,
        title: row.get(2)?,
        body: row.get(3)?,
        created_at: rfc3339_or_number(row.get(4)?),
    })
}

fn step(row: &Row<'_>) -> rusqlite::Result<Step> {
    Ok(Step {
        seq: row.get(0)?,
        operation_id: row.get(1)?,
        step: row.get(2)?,
        outcome: row.get(3)?,
        detail: row.get(4)?,
        at: rfc3339_or_number(row.get(5)?),
    })
}

/// A store, open for reading, and the copy that is read, if it is one.
struct Reading {
    // Closed before its folder is removed: fields are dropped in this order.
    connection: Connection,
    _copy: Option<TempDir>,
}

impl Reading {
    fn open(path: &Path) -> Result<Self, InspectError> {
        if !path.is_file() {
            return Err(OpenError::Absent.into());
        }
        if !beside(path, "-shm").exists() {
            let copy = tempfile::tempdir()?;
            let copied = copy.path().join("store.sqlite3");
            for suffix in ["", "-wal", "-journal"] {
                if beside(path, suffix).exists() {
                    fs::copy(beside(path, suffix), beside(&copied, suffix))?;
                }
            }
            // A server that came meanwhile may have written while it was copied.
            if !beside(path, "-shm").exists() {
                let connection = open(&copied, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                return Ok(Self {
                    connection,
                    _copy: Some(copy),
                });
            }
        }
        Ok(Self {
            connection: open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
            _copy: None,
        })
    }
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, InspectError> {
    let connection = Connection::open_with_flags(path, flags).map_err(OpenError::from)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
