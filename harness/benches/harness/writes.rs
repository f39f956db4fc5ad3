//! Guarded writes per second, beside bare commits: what identity, fingerprint, sealed state, two rounds and a second
//! row cost on top of what the disk costs.
//!
//! A guarded write is a whole `create_issue`, both rounds, by a bare client over stdio. A bare commit is one row of
//! about the same bytes in one transaction, in this process, with the pragmas of the server's store: a write-ahead log
//! with `synchronous = FULL`. Under `strace -f -y -e trace=fsync,fdatasync` both come to the same number of flushes: one
//! of the log for each write, and about a dozen more a round for making the store, checkpoints and closing it.

use std::path::Path;

use harness::plan::Call;
use harness::protocol::{self, Era};
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::{Map, Value};

use crate::raw_server::RawServer;
use crate::report::{Row, Section, Unit};
use crate::stage::{Stage, per_second, timed};

/// Writes before those that are measured.
const WRITES_WARM: u32 = 20;
/// Writes that are measured, in each round.
const WRITES: u32 = 500;

/// Bytes of text in the two rows of one guarded write (operation and issue), without the operation's identity, which
/// both sides write.
const ROW_TEXT_BYTES: usize = 253;

const SCHEMA: &str = "
CREATE TABLE rows (
    row_id       INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL UNIQUE,
    text         TEXT NOT NULL
) STRICT;
";

/// Both kinds, in turns.
pub(crate) fn measure(stage: &Stage, rounds: u32) -> Section {
    let (mut guarded, mut bare) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut by_server = || {
            let micros = guarded_micros(stage, &stage.round("guarded", round));
            guarded.push(per_second(WRITES, micros));
        };
        let mut by_sqlite = || {
            let micros = bare_micros(&stage.round("commits", round));
            bare.push(per_second(WRITES, micros));
        };
        if round % 2 == 0 {
            by_server();
            by_sqlite();
        } else {
            by_sqlite();
            by_server();
        }
    }
    let ratios = guarded
        .iter()
        .zip(&bare)
        .map(|(guarded, bare)| guarded / bare)
        .collect();
    Section {
        name: "writes",
        about: format!("{WRITES} a round, one after another, each durable before the next"),
        rows: vec![
            Row::new(
                0,
                "guarded write",
                Unit::PerSecond,
                guarded,
                "create_issue, both rounds, by a bare client over stdio",
            ),
            Row::new(
                0,
                "bare commit",
                Unit::PerSecond,
                bare,
                "one row in one transaction, WAL, synchronous = FULL",
            ),
            Row::new(
                0,
                "guarded / bare",
                Unit::Ratio,
                ratios,
                "what the guard, the protocol and the process leave of it",
            ),
        ],
    }
}

fn guarded_micros(stage: &Stage, folder: &Path) -> u64 {
    let plan = stage.plan();
    let call = plan.operations["A"].write.as_ref().expect("the built-in server writes");
    let calls: Vec<Value> = (0..WRITES_WARM + WRITES)
        .map(|write| first_round(call, write))
        .collect();
    let (warm, measured) = calls.split_at(WRITES_WARM as usize);
    let mut server = RawServer::start(&stage.launch_spec(folder));
    for first in warm {
        write(&mut server, first, &call.responses);
    }
    let ((), micros) = timed(|| {
        for first in measured {
            write(&mut server, first, &call.responses);
        }
    });
    server.end();
    micros
}

fn first_round(call: &Call, write: u32) -> Value {
    let mut arguments = call.arguments.clone();
    arguments.insert("operation_id".to_owned(), operation_id(write).into());
    protocol::call_tool(Era::Modern, u64::from(write) * 2 + 1, &call.tool, &arguments)
}

/// As long as those that the harness makes.
fn operation_id(write: u32) -> String {
    format!("op-{write:012}")
}

/// Both rounds. The state that the server asks to have back is all that is read of its reply.
fn write(server: &mut RawServer, first: &Value, responses: &Map<String, Value>) {
    let id = first["id"].as_u64().expect("ids are whole numbers");
    let reply = server.exchange(format!("{first}\n").as_bytes());
    let reply: Value = serde_json::from_slice(reply).expect("a reply is JSON");
    let state = reply
        .pointer("/result/requestState")
        .expect("the first round asks for input");
    let second = protocol::continue_call(first, id + 1, responses, Some(state));
    let reply = server.exchange(format!("{second}\n").as_bytes());
    let is_applied = reply
        .windows(b"\"issue_id\":".len())
        .any(|part| part == b"\"issue_id\":");
    assert!(is_applied, "the write was refused: {}", String::from_utf8_lossy(reply));
}

fn bare_micros(folder: &Path) -> u64 {
    let path = folder.join("store.sqlite3");
    let mut connection = Connection::open(&path).expect("a new store");
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .expect("the journal mode");
    assert_eq!(mode, "wal", "{} has no write-ahead log", path.display());
    connection.pragma_update(None, "synchronous", "FULL").expect("a pragma");
    connection.pragma_update(None, "foreign_keys", true).expect("a pragma");
    connection.execute_batch(SCHEMA).expect("a table");
    let text = "x".repeat(ROW_TEXT_BYTES);
    for write in 0..WRITES_WARM {
        commit(&mut connection, write, &text);
    }
    let ((), micros) = timed(|| {
        for write in WRITES_WARM..WRITES_WARM + WRITES {
            commit(&mut connection, write, &text);
        }
    });
    connection.close().expect("close the store");
    micros
}

fn commit(connection: &mut Connection, write: u32, text: &str) {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.expect("a transaction");
    transaction
        .prepare_cached("INSERT INTO rows (operation_id, text) VALUES (?1, ?2)")
        .and_then(|mut insert| insert.execute(params![operation_id(write), text]))
        .expect("a row");
    transaction.commit().expect("a commit");
}
