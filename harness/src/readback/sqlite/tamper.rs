//! Trying to change what must not be changed, on a throw-away copy: whether the store itself refuses it.
//!
//! Must work only on a copy of its own, and its result says something of the store's own rules (triggers, constraints), and
//! nothing of what the server did.

use std::fs;
use std::path::Path;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::{Deserialize, Serialize};

use super::read_copy::query_read_copy;
use super::run::{code_and_message, limit_steps};
use crate::readback::{ReadError, Rows, SqlQuery};

/// Most steps of SQLite's machine for one statement, the store's triggers among them: some seconds.
const STEPS_MAX: u64 = 200_000_000;

/// What became of one statement that would change the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tampering {
    /// The store refused it, in these words.
    Refused(String),
    /// It was done, and so many rows are others than before, or gone, or new.
    Changed(usize),
    /// It was done, and the rows are what they were.
    Nothing,
    /// It could not be tried.
    Failed(String),
}

/// Runs a statement on a copy of a read copy, made in `scratch`, and compares what the query answers before and after.
pub fn tamper(read_copy: &Path, statement: &str, log: &SqlQuery, scratch: &Path) -> Tampering {
    let copy = scratch.join("tampered.sqlite3");
    match try_on(read_copy, statement, log, &copy) {
        Ok(tampering) => tampering,
        Err(reason) => Tampering::Failed(reason),
    }
}

fn try_on(read_copy: &Path, statement: &str, log: &SqlQuery, copy: &Path) -> Result<Tampering, String> {
    // Without the path of a copy that is not there any more when somebody tries it again.
    let told = |error: ReadError| {
        let place = error.to_string();
        place
            .replace(&format!("{}", read_copy.display()), "the copy")
            .replace(&format!("{}", copy.display()), "the copy")
    };
    let before = query_read_copy(read_copy, log).map_err(told)?;
    fs::copy(read_copy, copy).map_err(|error| format!("copy the store: {error}"))?;
    let done = run(copy, statement, log);
    let after = match done {
        Ok(()) => query_read_copy(copy, log).map_err(told),
        Err(error) => {
            let (code, message) = code_and_message(&error);
            return if code == Some(ErrorCode::ConstraintViolation) {
                Ok(Tampering::Refused(message))
            } else {
                Err(message)
            };
        }
    }?;
    Ok(match differing(&before, &after) {
        0 => Tampering::Nothing,
        rows => Tampering::Changed(rows),
    })
}

fn run(copy: &Path, statement: &str, log: &SqlQuery) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(copy, flags)?;
    limit_steps(&mut connection, STEPS_MAX)?;
    connection.execute_batch("PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA synchronous=OFF;")?;
    connection.authorizer(Some(authorize))?;
    let mut prepared = connection.prepare(statement)?;
    for index in 1..=prepared.parameter_count() {
        let name = prepared.parameter_name(index).unwrap_or_default();
        let value = name
            .strip_prefix('$')
            .and_then(|name| log.parameters.get(name))
            .cloned();
        prepared.raw_bind_parameter(index, value)?;
    }
    prepared.raw_execute()?;
    drop(prepared);
    connection.close().map_err(|(_, error)| error)
}

/// Denies what leads out of the copy, or keeps it open: other files, settings, transactions.
fn authorize(context: AuthContext<'_>) -> Authorization {
    let escapes = matches!(
        context.action,
        AuthAction::Attach { .. }
            | AuthAction::Detach { .. }
            | AuthAction::Pragma { .. }
            | AuthAction::Transaction { .. }
            | AuthAction::Savepoint { .. }
    );
    if escapes {
        Authorization::Deny
    } else {
        Authorization::Allow
    }
}

/// How many rows of one answer are not in the other, the larger of the two numbers.
fn differing(before: &Rows, after: &Rows) -> usize {
    let missing_from = |rows: &Rows, others: &Rows| {
        let mut left: Vec<_> = others.rows.iter().collect();
        let missing = rows
            .rows
            .iter()
            .filter(|row| match left.iter().position(|other| other == row) {
                Some(at) => {
                    left.swap_remove(at);
                    false
                }
                None => true,
            });
        missing.count()
    };
    missing_from(before, after).max(missing_from(after, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "SELECT seq, event FROM log ORDER BY seq";

    fn tried(guards: &str, statement: &str) -> Tampering {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store.read.sqlite3");
        let store = Connection::open(&file).expect("a store");
        store
            .execute_batch(&format!(
                "CREATE TABLE log (seq INTEGER PRIMARY KEY, event TEXT NOT NULL); INSERT INTO log VALUES (1, 'a'), (2, 'b'); {guards}"
            ))
            .expect("a log");
        drop(store);
        let bytes = fs::read(&file).expect("the store");
        let scratch = tempfile::tempdir().expect("a folder");
        let log = SqlQuery::new(LOG, [("marker", "mk")]);
        let tampering = tamper(&file, statement, &log, scratch.path());
        assert_eq!(fs::read(&file).expect("the store"), bytes, "the read copy is as it was");
        tampering
    }

    const UPDATE_GUARD: &str =
        "CREATE TRIGGER no_update BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'append-only'); END;
         CREATE TRIGGER no_delete BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'append-only'); END;";

    #[test]
    fn what_the_store_lets_happen_is_counted() {
        assert_eq!(tried("", "UPDATE log SET event = 'x'"), Tampering::Changed(2));
        assert_eq!(tried("", "DELETE FROM log WHERE seq = 2"), Tampering::Changed(1));
        assert_eq!(
            tried("", "UPDATE log SET event = 'a' WHERE seq = 1"),
            Tampering::Nothing
        );
        assert_eq!(tried("", "DELETE FROM log WHERE event = $marker"), Tampering::Nothing);
    }

    #[test]
    fn what_a_trigger_refuses_is_refused_and_replace_slips_past_the_other_two() {
        let refused = Tampering::Refused("append-only".to_owned());
        assert_eq!(tried(UPDATE_GUARD, "UPDATE log SET event = 'x'"), refused);
        assert_eq!(tried(UPDATE_GUARD, "DELETE FROM log"), refused);
        assert_eq!(
            tried(UPDATE_GUARD, "REPLACE INTO log VALUES (1, 'x')"),
            Tampering::Changed(1)
        );
    }

    #[test]
    fn what_cannot_be_tried_is_no_refusal() {
        let cases = [
            ("UPDATE lgo SET event = 'x'", "no such table"),
            ("UPDTE log", "syntax error"),
            ("ATTACH 'other' AS other", "not authorized"),
            ("PRAGMA user_version = 7", "not authorized"),
            ("DELETE FROM log; DELETE FROM log", "multiple statements"),
        ];
        for (statement, words) in cases {
            let Tampering::Failed(reason) = tried("", statement) else {
                panic!("{statement} was tried");
            };
            assert!(reason.to_lowercase().contains(words), "{statement}: {reason}");
        }
    }

    /// A store of somebody else may hold triggers that do not end.
    #[test]
    fn a_trigger_that_does_not_end_is_ended() {
        let endless = "CREATE TRIGGER endless BEFORE UPDATE ON log BEGIN
             SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END;";
        let Tampering::Failed(reason) = tried(endless, "UPDATE log SET event = 'x'") else {
            panic!("it did not end");
        };
        assert!(reason.contains("interrupted"), "{reason}");
    }
}
