//! Tests of the transactions, on real files.

use tempfile::TempDir;

use super::*;
use crate::execution::settings::ExecutionSettings;
use crate::guard::decision::{Attempt, RowState};
use crate::guard::fingerprint::FingerprintKey;
use crate::guard::request_state::StateSeal;
use crate::ledger::reconciliation::{self, Reconciled, Reconciliation};
use crate::settings::Limits;

const T0: i64 = 1_790_035_200;

fn settings(folder: &TempDir) -> Settings {
    Settings {
        database: folder.path().join("store.sqlite3"),
        clock: Clock::Fixed(T0),
        principal: "alice".to_owned(),
        backend: "sqlite:test".to_owned(),
        tool_version: "1.0".to_owned(),
        state_seal: StateSeal::new(vec![1; 32]).unwrap(),
        fingerprint_key: FingerprintKey::new(vec![2; 32]).unwrap(),
        limits: Limits {
            state_ttl_s: 600,
            authority_s: 300,
            retention_s: 360,
            busy_timeout_ms: 1,
        },
        workers: 0,
        execution: ExecutionSettings::default(),
        failpoints: Failpoints::default(),
        planted: Planted(None),
    }
}

fn write(operation_id: &str, fingerprint: &str) -> Write {
    Write {
        operation_id: operation_id.to_owned(),
        tool: "create_issue",
        tool_version: "1.0".to_owned(),
        attempt: Attempt {
            fingerprint: fingerprint.to_owned(),
            authority_until_s: T0 + 300,
            arguments_as_issued: true,
        },
        title: "Title".to_owned(),
        body: "alpha".to_owned(),
        mode: Mode::Atomic,
    }
}

fn count(store: &Store, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    store.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn pragma(store: &Store, name: &str) -> String {
    let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
    store.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_commit_is_on_disk_before_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&settings(&folder)).unwrap();
    assert_eq!(pragma(&store, "journal_mode"), "wal");
    assert_eq!(pragma(&store, "synchronous"), "2", "2 is FULL");
    assert_eq!(pragma(&store, "foreign_keys"), "1");
}

#[test]
fn a_write_is_applied_once_then_replayed_and_a_change_conflicts() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&settings(&folder)).unwrap();
    let Written::Done {
        result,
        replayed: false,
    } = store.write(&write("op-1", "f")).unwrap()
    else {
        panic!("the first write was not applied");
    };
    let replay = store.write(&write("op-1", "f")).unwrap();
    assert_eq!(
        replay,
        Written::Done {
            result: result.clone(),
            replayed: true
        }
    );
    let conflict = store.write(&write("op-1", "g")).unwrap();
    assert_eq!(conflict, Written::Refused(Refusal::Conflict));
    assert_eq!((count(&store, "issues"), count(&store, "operations")), (1, 1));
    let settled = store.observe("op-1", "create_issue").unwrap().settled.unwrap();
    assert_eq!((settled.state, settled.result), (RowState::Applied, result));
}

#[test]
fn only_its_own_principal_and_tool_see_an_operation() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&settings(&folder)).unwrap();
    store.write(&write("op-1", "f")).unwrap();
    assert!(store.observe("op-1", "another_tool").unwrap().settled.is_none());
    assert!(store.observe("op-2", "create_issue").unwrap().settled.is_none());
    let bob = Settings {
        principal: "bob".to_owned(),
        ..settings(&folder)
    };
    let seen = Store::open(&bob).unwrap().observe("op-1", "create_issue").unwrap();
    assert!(seen.settled.is_none());
}

/// Between the two transactions of a partial write nobody holds the lock, so an operator may come in.
#[test]
fn a_decision_made_between_two_steps_stands() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&settings(&folder)).unwrap();
    let transaction = store.begin_immediate().unwrap();
    let (transaction, issue_id) = store.admit(transaction, &write("op-1", "f"), T0).unwrap();
    transaction.commit().unwrap();
    let asked = Reconciliation {
        operation_id: "op-1".to_owned(),
        decision: reconciliation::Decision::Applied,
        reason: "seen".to_owned(),
        retention_s: 360,
    };
    let path = settings(&folder).database;
    let reconciled = reconciliation::reconcile(&path, None, Duration::ZERO, &Clock::Fixed(T0), &asked).unwrap();
    assert_eq!(
        reconciled,
        Reconciled::Settled {
            issue_ids: vec![issue_id]
        }
    );
    let late = store.second_step(&write("op-1", "f"), issue_id);
    assert!(matches!(late, Err(LedgerError::SettledMeanwhile)));
    let settled = store.observe("op-1", "create_issue").unwrap().settled.unwrap();
    assert_eq!(settled.state, RowState::Applied);
    assert_eq!((count(&store, "step_log"), count(&store, "compensations")), (1, 0));
}

/// Without this a duplicate could not be seen.
#[test]
fn the_store_itself_does_not_stop_a_second_effect() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&settings(&folder)).unwrap();
    let transaction = store.begin_immediate().unwrap();
    for _ in 0..2 {
        rows::insert_issue(&transaction, &write("op-1", "f"), T0).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(count(&store, "issues"), 2);
}

#[test]
fn a_store_locked_by_another_is_busy_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&settings(&folder)).unwrap();
    let other = Connection::open(settings(&folder).database).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.write(&write("op-1", "f")), Err(LedgerError::Busy)));
    assert!(store.observe("op-1", "create_issue").unwrap().settled.is_none());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(
        store.write(&write("op-1", "f")),
        Ok(Written::Done { replayed: false, .. })
    ));
}

#[test]
fn a_clock_that_tells_no_time_rolls_the_write_back() {
    let folder = tempfile::tempdir().unwrap();
    let silent = Settings {
        clock: Clock::File(folder.path().join("clock")),
        ..settings(&folder)
    };
    let store = Store::open(&silent).unwrap();
    assert!(matches!(store.write(&write("op-1", "f")), Err(LedgerError::Clock(_))));
    assert_eq!(count(&store, "issues") + count(&store, "operations"), 0);
    assert!(store.connection.is_autocommit());
}
