//! Bare commits: one small row for each, by one process or by several that want the same lock.
//!
//! The processes are this program, started once more, so that they begin and end as workers do. They share one count, as workers
//! share what is ready: each goes on until the rows are there, whoever wrote them.

use std::path::Path;
use std::process::Command;

use reference_server::ledger::schema::ready_for_work;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::commits::Commits;
use crate::processes::{Crew, Process};
use crate::rounds::{BUSY_TIMEOUT, Rate};
use crate::stopwatch::{per_second, timed};

const SCHEMA: &str = "CREATE TABLE rows (row_id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;";

/// The text of each row.
const TEXT: &str =
    "one small row, of about the length of an issue that says no more than that there is a title and a body";

/// `width` processes commit up to the row `commits`, into a new store at `path`.
pub(crate) fn measure(crew: &Crew, path: &Path, width: u32, commits: u32) -> Rate {
    let connection = open(path);
    connection.execute_batch(SCHEMA).expect("a table");
    drop(connection);
    let counted = Commits::of(path);
    let program = std::env::current_exe().expect("this program");
    let ((), time) = timed(|| {
        let start = |_| {
            let mut command = Command::new(&program);
            command.arg("--bare-store").arg(path);
            command.arg("--commits").arg(commits.to_string());
            crew.start(&mut command)
        };
        let writers: Vec<Process> = (0..width).map(start).collect();
        writers.into_iter().for_each(Process::end);
    });
    // Those who did not write the last row wrote one after it.
    let committed = counted.count();
    assert!((commits..commits + width).contains(&committed), "{committed} commits");
    Rate {
        per_second: per_second(committed, time),
        commits_each: 1.0,
    }
}

/// What each of the processes does.
pub(crate) fn commit_until(path: &Path, commits: i64) {
    let mut connection = open(path);
    loop {
        match commit(&mut connection) {
            Ok(row_id) if row_id >= commits => return,
            // A worker that finds the store locked for so long tries once more, too.
            Ok(_) => {}
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
            Err(error) => panic!("a bare commit failed: {error}"),
        }
    }
}

fn commit(connection: &mut Connection) -> rusqlite::Result<i64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let row_id = transaction
        .prepare_cached("INSERT INTO rows (text) VALUES (?1)")?
        .insert([TEXT])?;
    transaction.commit()?;
    Ok(row_id)
}

/// A connection with the journal, the durability and the patience of the server's.
fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("open a store");
    connection.busy_timeout(BUSY_TIMEOUT).expect("a busy timeout");
    ready_for_work(&connection, BUSY_TIMEOUT).expect("a write-ahead log");
    connection
}
