//! The store's schema, and the opening of a store: made when new, refused when it is not ours, never migrated silently.
//!
//! It must not write to a store that it refuses.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior};
use thiserror::Error;

use crate::execution::schema::{EXECUTIONS, LOG_GUARDS};

/// The version of [`SCHEMA`]. A store with a newer one was written by a newer server.
pub const SCHEMA_VERSION: u32 = 3;

/// How often switching to the write-ahead log is tried. The switch ignores the busy timeout when two first opens race.
const WAL_TRIES_MAX: u32 = 50;
/// How long a lost race for the write-ahead log waits for the winner, at most, in milliseconds.
const WAL_WAIT_MS: u64 = 20;

/// The tables. `issues` has no unique key but its own: a second effect of one operation must be possible, or it could not be seen.
/// Rows of `operations` are never deleted: an expired one stays, so that its identity is never used again.
pub const SCHEMA: &str = "
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE issues (
    issue_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER issues_are_kept BEFORE DELETE ON issues
BEGIN SELECT RAISE(ABORT, 'an issue is never deleted'); END;

CREATE TABLE watchers (
    watcher_id INTEGER PRIMARY KEY AUTOINCREMENT,
    issue_id   INTEGER NOT NULL REFERENCES issues (issue_id),
    address    TEXT    NOT NULL CHECK (address LIKE '%_@_%')
) STRICT;

CREATE TABLE step_log (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT    NOT NULL,
    step         TEXT    NOT NULL,
    outcome      TEXT    NOT NULL CHECK (outcome IN ('attempted', 'done', 'failed', 'applied', 'not_applied')),
    detail       TEXT,
    at           INTEGER NOT NULL
) STRICT;

CREATE TABLE compensations (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT    NOT NULL,
    step         TEXT    NOT NULL,
    outcome      TEXT    NOT NULL CHECK (outcome IN ('done', 'failed')),
    detail       TEXT,
    at           INTEGER NOT NULL
) STRICT;
";

/// The ledger: one row for each operation that was ever admitted.
pub const OPERATIONS: &str = "
CREATE TABLE operations (
    operation_id TEXT    NOT NULL PRIMARY KEY,
    principal    TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    tool_version TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('in_progress', 'applied', 'partial', 'not_applied')),
    issue_id     INTEGER,
    result       TEXT,
    admitted_at  INTEGER NOT NULL,
    committed_at INTEGER,
    replay_until INTEGER,
    CHECK (state IN ('in_progress', 'not_applied') OR (result NOTNULL AND committed_at NOTNULL AND replay_until NOTNULL))
) STRICT, WITHOUT ROWID;
";

/// A store that is not opened. Each text is one line.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It belongs to another backend.
    #[error(
        "the store is bound to the backend {bound:?}, not to {asked:?}; give --backend (GUARD_BACKEND) that value, or another --database"
    )]
    OtherBackend {
        /// The backend id in the store.
        bound: String,
        /// The configured one.
        asked: String,
    },
    /// A newer server made it.
    #[error(
        "the store has schema version {found}, and this server knows up to {SCHEMA_VERSION}; use a newer server, or another --database"
    )]
    NewerSchema {
        /// The version in the store.
        found: String,
    },
    /// An older server made it.
    #[error(
        "the store has schema version {found}, and this server knows version {SCHEMA_VERSION} only; give another --database"
    )]
    OlderSchema {
        /// The version in the store.
        found: u32,
    },
    /// Nothing is there, and whoever asked must not make it.
    #[error("there is no store; give the --database of the server that you mean")]
    Absent,
    /// It is a database of something else.
    #[error("the file is a SQLite database, but not a store of this server; give another --database")]
    NotAStore,
    /// Somebody else keeps it locked.
    #[error("another process keeps the store locked; let it finish, or end it, and start again")]
    Locked,
    /// SQLite says no.
    #[error("the store cannot be opened: {0}; check the path and its permissions, or give another --database")]
    Sqlite(rusqlite::Error),
    /// The write-ahead log cannot be had.
    #[error("the store cannot be switched to a write-ahead log (it stays in mode {0:?}); put it on a local disk")]
    NoWriteAheadLog(String),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            Self::Locked
        } else {
            Self::Sqlite(error)
        }
    }
}

/// What stands in a file before it is opened for work.
pub(super) enum Found {
    Nothing,
    Ours { backend: String },
}

/// Opens the store at `path` for the backend `backend`, and makes it when there is none. `busy_timeout` bounds every later wait.
pub(crate) fn open(path: &Path, backend: &str, busy_timeout: Duration) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy_timeout)?;
    // Until the store is known to be ours, not even its write-ahead log is moved into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let found = identify(&connection, Some(backend))?;
    ready_for_work(&connection, busy_timeout)?;
    if matches!(found, Found::Nothing) {
        create(&mut connection, backend)?;
    }
    Ok(connection)
}

/// Opens the store at `path` for work, and makes none. `backend` is compared when it is given.
pub(crate) fn open_existing(
    path: &Path,
    backend: Option<&str>,
    busy_timeout: Duration,
) -> Result<Connection, OpenError> {
    if !path.is_file() {
        return Err(OpenError::Absent);
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(busy_timeout)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let Found::Ours { .. } = identify(&connection, backend)? else {
        return Err(OpenError::NotAStore);
    };
    ready_for_work(&connection, busy_timeout)?;
    Ok(connection)
}

/// Makes a connection one on which every commit is on disk before it is answered. What is measured beside a store of ours is
/// made so too.
pub fn ready_for_work(connection: &Connection, busy_timeout: Duration) -> Result<(), OpenError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    switch_to_write_ahead_log(connection, busy_timeout)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Says what stands in the file, and refuses what is not ours, or not of `backend` when one is given.
pub(super) fn identify(connection: &Connection, backend: Option<&str>) -> Result<Found, OpenError> {
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Found::Nothing);
    }
    let meta = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'";
    if connection.query_row(meta, [], |row| row.get::<_, i64>(0))? == 0 {
        return Err(OpenError::NotAStore);
    }
    let value = |key: &str| -> Result<Option<String>, OpenError> {
        let found = connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0));
        Ok(found.optional()?)
    };
    let version = value("schema_version")?.ok_or(OpenError::NotAStore)?;
    match version.parse::<u32>() {
        Ok(SCHEMA_VERSION) => {}
        Ok(older) if older < SCHEMA_VERSION => return Err(OpenError::OlderSchema { found: older }),
        _ => return Err(OpenError::NewerSchema { found: version }),
    }
    let bound = value("backend")?.ok_or(OpenError::NotAStore)?;
    match backend {
        Some(asked) if bound != asked => Err(OpenError::OtherBackend {
            bound,
            asked: asked.to_owned(),
        }),
        _ => Ok(Found::Ours { backend: bound }),
    }
}

/// Two servers that open one new store at the same moment: the second waits for the first, and finds its work.
fn create(connection: &mut Connection, backend: &str) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if matches!(identify(&transaction, Some(backend))?, Found::Nothing) {
        transaction.execute_batch(SCHEMA)?;
        transaction.execute_batch(OPERATIONS)?;
        transaction.execute_batch(EXECUTIONS)?;
        transaction.execute_batch(LOG_GUARDS)?;
        let mut insert = transaction.prepare("INSERT INTO meta (key, value) VALUES (?1, ?2)")?;
        insert.execute(["schema_version", &SCHEMA_VERSION.to_string()])?;
        insert.execute(["backend", backend])?;
        drop(insert);
    }
    transaction.commit()?;
    Ok(())
}

fn switch_to_write_ahead_log(connection: &Connection, busy_timeout: Duration) -> Result<(), OpenError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(OpenError::NoWriteAheadLog(mode)),
            Err(error) if tries < WAL_TRIES_MAX && is_busy(&error) => {
                wait_for_the_other_opener(connection)?;
                connection.busy_timeout(busy_timeout)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the store can be locked for writing, at most [`WAL_WAIT_MS`]: then whoever switched the mode is done.
fn wait_for_the_other_opener(connection: &Connection) -> Result<(), OpenError> {
    connection.busy_timeout(Duration::from_millis(WAL_WAIT_MS))?;
    match connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK;") {
        Err(error) if !is_busy(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether `error` says that someone else holds the store.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}
