//! One reading statement on a connection that somebody else opened, within bounds.
//!
//! Must not change the store, the connection's settings for its owner, or another file: only what reads is let through.

use std::path::Path;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Statement};
use serde_json::{Number, Value, json};

use crate::readback::error::{Bound, ReadError};
use crate::readback::query::{ANSWER_BYTES_MAX, CELL_BYTES_MAX, ROWS_MAX, Rows, SqlQuery};

/// Most steps of SQLite's virtual machine for one query: some seconds.
pub(super) const STEPS_MAX: u64 = 200_000_000;

/// Most bytes of memory that SQLite takes in this process.
const HEAP_BYTES_MAX: i64 = 1024 * 1024 * 1024;

/// After how many steps the count is looked at.
const STEPS_PER_LOOK: u16 = 1_000;

/// Pragmas that virtual tables ask for themselves, and those that only describe tables.
const PRAGMAS_ALLOWED: [&str; 7] = [
    "data_version",
    "page_size",
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
];

/// Of [`PRAGMAS_ALLOWED`], those that would change something if given a value.
const PRAGMAS_WITHOUT_VALUE: [&str; 2] = ["data_version", "page_size"];

/// Runs the query on a connection that nobody has asked before.
pub(super) fn run(
    connection: &mut Connection,
    store: &Path,
    query: &SqlQuery,
    steps_max: u64,
) -> Result<Rows, ReadError> {
    let place = Place {
        store,
        query,
        steps_max,
    };
    guard(connection).map_err(|error| place.explain(&error))?;
    place.run(connection)
}

/// Runs the query on a guarded connection and returns its whole answer, or says which bound it broke.
pub(super) fn run_guarded(
    connection: &mut Connection,
    store: &Path,
    query: &SqlQuery,
    steps_max: u64,
) -> Result<Rows, ReadError> {
    let place = Place {
        store,
        query,
        steps_max,
    };
    place.run(connection)
}

/// Stops whatever is not reading while it is prepared; for once, because a guarded connection can set nothing any more.
pub(super) fn guard(connection: &mut Connection) -> rusqlite::Result<()> {
    // For the whole process, and it can be set again. A step may make a value of a gigabyte, or sort millions of rows.
    connection.pragma_update(None, "hard_heap_limit", HEAP_BYTES_MAX)?;
    connection.authorizer(Some(authorize))
}

/// Interrupts every statement of this connection once they have taken so many steps together.
pub(super) fn limit_steps(connection: &mut Connection, steps_max: u64) -> rusqlite::Result<()> {
    let mut steps = 0;
    let out_of_steps = move || {
        steps += u64::from(STEPS_PER_LOOK);
        steps > steps_max
    };
    connection.progress_handler(STEPS_PER_LOOK.into(), Some(out_of_steps))
}

/// Denies what escapes `sqlite3_stmt_readonly`: other files, transactions, settings. Writing itself is not denied here,
/// because some virtual tables prepare (and never run) writing statements when they are only read.
fn authorize(context: AuthContext<'_>) -> Authorization {
    let escapes = matches!(
        context.action,
        AuthAction::Attach { .. }
            | AuthAction::Detach { .. }
            | AuthAction::Transaction { .. }
            | AuthAction::Savepoint { .. }
    );
    let sets = if let AuthAction::Pragma {
        pragma_name,
        pragma_value,
    } = context.action
    {
        !describes(pragma_name, pragma_value)
    } else {
        false
    };
    if escapes || sets {
        Authorization::Deny
    } else {
        Authorization::Allow
    }
}

fn describes(pragma: &str, value: Option<&str>) -> bool {
    let is_in = |names: &[&str]| names.iter().any(|name| pragma.eq_ignore_ascii_case(name));
    is_in(&PRAGMAS_ALLOWED) && (value.is_none() || !is_in(&PRAGMAS_WITHOUT_VALUE))
}

/// Where a query runs, for its errors.
struct Place<'a> {
    store: &'a Path,
    query: &'a SqlQuery,
    steps_max: u64,
}

impl Place<'_> {
    fn run(&self, connection: &mut Connection) -> Result<Rows, ReadError> {
        limit_steps(connection, self.steps_max).map_err(|error| self.explain(&error))?;
        let mut statement = connection
            .prepare(&self.query.sql)
            .map_err(|error| self.explain(&error))?;
        self.refuse_effects(&statement)?;
        self.bind(&mut statement)?;
        self.collect(&mut statement)
    }

    fn refuse_effects(&self, statement: &Statement<'_>) -> Result<(), ReadError> {
        if !statement.readonly() {
            return Err(self.bad("it would write; read-back only reads, so write a `SELECT`"));
        }
        if statement.column_count() == 0 {
            return Err(self.bad("it returns no rows by its nature; write a `SELECT`"));
        }
        Ok(())
    }

    fn bind(&self, statement: &mut Statement<'_>) -> Result<(), ReadError> {
        for index in 1..=statement.parameter_count() {
            let written = statement.parameter_name(index).unwrap_or("?").to_owned();
            let value = written
                .strip_prefix('$')
                .and_then(|name| self.query.parameters.get(name));
            let Some(value) = value else {
                return Err(self.bad(format!("unknown parameter `{written}`; {}", self.known_parameters())));
            };
            statement
                .raw_bind_parameter(index, value)
                .map_err(|error| self.explain(&error))?;
        }
        Ok(())
    }

    fn known_parameters(&self) -> String {
        let names: Vec<String> = self.query.parameters.keys().map(|name| format!("`${name}`")).collect();
        match names.as_slice() {
            [] => "there are none here".to_owned(),
            names => format!("known here: {}", names.join(", ")),
        }
    }

    fn collect(&self, statement: &mut Statement<'_>) -> Result<Rows, ReadError> {
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = Vec::new();
        let mut bytes_left = ANSWER_BYTES_MAX;
        let mut found = statement.raw_query();
        while let Some(row) = found.next().map_err(|error| self.explain(&error))? {
            if rows.len() == ROWS_MAX {
                return Err(self.too_much(Bound::Rows));
            }
            let mut cells = Vec::with_capacity(columns.len());
            for (index, column) in columns.iter().enumerate() {
                let value = row.get_ref(index).map_err(|error| self.explain(&error))?;
                let bytes = size_of_value(value);
                if bytes > CELL_BYTES_MAX {
                    return Err(self.too_much(Bound::Cell {
                        column: column.clone(),
                        bytes,
                    }));
                }
                bytes_left = bytes_left
                    .checked_sub(bytes)
                    .ok_or_else(|| self.too_much(Bound::Answer))?;
                cells.push(cell(value));
            }
            rows.push(cells);
        }
        Ok(Rows { columns, rows })
    }

    fn bad(&self, reason: impl Into<String>) -> ReadError {
        ReadError::BadQuery {
            store: self.store.into(),
            sql: self.query.sql.clone(),
            reason: reason.into(),
        }
    }

    fn too_much(&self, bound: Bound) -> ReadError {
        ReadError::TooMuch {
            store: self.store.into(),
            sql: self.query.sql.clone(),
            bound,
        }
    }

    fn explain(&self, error: &rusqlite::Error) -> ReadError {
        let (code, message) = code_and_message(error);
        if let Some(trouble) = store_trouble(self.store, code, &message) {
            return trouble;
        }
        if code == Some(ErrorCode::OperationInterrupted) {
            return self.too_much(Bound::Steps {
                steps_max: self.steps_max,
            });
        }
        if code == Some(ErrorCode::TooBig) {
            return self.too_much(Bound::Value);
        }
        if let Some(table) = message.strip_prefix("no such table: ") {
            let (store, sql) = (self.store.into(), self.query.sql.clone());
            return ReadError::NoSuchTable {
                store,
                table: table.into(),
                sql,
            };
        }
        self.bad(self.next_step(error, code, &message))
    }

    fn next_step(&self, error: &rusqlite::Error, code: Option<ErrorCode>, message: &str) -> String {
        if matches!(error, rusqlite::Error::Empty) {
            "there is no statement in it; write one `SELECT`".into()
        } else if matches!(error, rusqlite::Error::MultipleStatement) {
            "it has more than one statement; write one `SELECT`".into()
        } else if code == Some(ErrorCode::AuthorizationForStatementDenied) {
            format!("{message}: no ATTACH, PRAGMA, VACUUM or transactions; write one `SELECT`")
        } else if message.starts_with("no such column: ") {
            format!("{message}; correct the name (a text goes between single quotes)")
        } else {
            format!("{message}; try it by hand on a copy of {}", self.store.display())
        }
    }
}

/// SQLite's code (where it was SQLite that failed) and its message.
pub(super) fn code_and_message(error: &rusqlite::Error) -> (Option<ErrorCode>, String) {
    if let rusqlite::Error::SqliteFailure(failure, Some(message)) = error {
        return (Some(failure.code), message.clone());
    }
    if let rusqlite::Error::SqlInputError {
        error: failure, msg, ..
    } = error
    {
        return (Some(failure.code), msg.clone());
    }
    (error.sqlite_error_code(), error.to_string())
}

/// The error, if it is about the store and not about the query.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of SQLite's codes that may grow; the rest is about the query"
)]
pub(super) fn store_trouble(store: &Path, code: Option<ErrorCode>, message: &str) -> Option<ReadError> {
    let next_step = match code? {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => return Some(ReadError::Busy { store: store.into() }),
        ErrorCode::NotADatabase => "check `[store] path`; an encrypted store cannot be read",
        ErrorCode::DatabaseCorrupt => "it is damaged; look at a copy of it with `PRAGMA integrity_check`",
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly => {
            "check who may read the file and its folder"
        }
        ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed | ErrorCode::DiskFull => {
            "check the disk that it is on"
        }
        _ => return None,
    };
    Some(ReadError::Unreadable {
        store: store.into(),
        reason: format!("{message}; {next_step}"),
    })
}

fn size_of_value(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => size_of::<u64>(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
    }
}

/// One cell as JSON, without loss.
pub(super) fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => integer.into(),
        ValueRef::Real(real) => Number::from_f64(real).map_or_else(|| real.to_string().into(), Value::Number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_or_else(|_| bytes_hex(bytes), Value::from),
        ValueRef::Blob(bytes) => bytes_hex(bytes),
    }
}

fn bytes_hex(bytes: &[u8]) -> Value {
    json!({ "bytes_hex": base16ct::lower::encode_string(bytes) })
}
