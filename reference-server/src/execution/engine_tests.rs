//! What the transactions ask of SQLite: how many commits, and no look at more rows than they are about.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use tempfile::TempDir;

use super::*;
use crate::execution::lease::Fenced;
use crate::execution::messages::{Ask, Identity, Submission, Told};
use crate::execution::planted::Seen;
use crate::execution::settings::ExecutionSettings;
use crate::ledger::schema;

const T0: i64 = 1_790_035_200;

/// A worker looks for work, and a reaper for what is over, by indexes that hold only what is not over: a scan of one of these
/// begins with what is looked for, and has no history in it.
const INDEXES_OF_WHAT_IS_TO_DO: [&str; 3] = ["executions_ready", "leases_held", "retries_scheduled"];

/// A store, with the terms under which it is worked on.
struct Store {
    _folder: TempDir,
    connection: Connection,
    terms: Terms,
}

impl Store {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite3");
        let connection = schema::open(&path, "sqlite:test", Duration::ZERO).unwrap();
        let terms = Terms {
            clock: Clock::Fixed(T0),
            settings: ExecutionSettings::default(),
            retention_s: 360,
            failpoints: Failpoints::default(),
            planted: Planted(None),
        };
        Self {
            _folder: folder,
            connection,
            terms,
        }
    }

    fn engine(&self) -> Engine<'_> {
        Engine {
            connection: &self.connection,
            terms: &self.terms,
        }
    }

    fn pass(&mut self, seconds: i64) {
        let now_s = self.terms.clock.now_s().unwrap();
        self.terms.clock = Clock::Fixed(now_s + seconds);
    }

    fn submit(&self, key: &str, fail: bool) -> String {
        let submission = Submission {
            identity: Identity {
                namespace: "tests".to_owned(),
                tool: "submit_issue",
                key: key.to_owned(),
            },
            arguments: format!(r#"{{"body":"alpha","fail":{fail},"gate":null,"title":"Title"}}"#),
        };
        match self.engine().ask("alice", &Ask::Submit(submission)).unwrap() {
            Told::Execution { snapshot, .. } => snapshot.execution_id,
            Told::Conflict | Told::RetentionExpired | Told::Unknown | Told::Found { .. } => {
                panic!("{key} was not accepted")
            }
        }
    }

    fn claim(&self, worker_id: &str) -> crate::execution::lease::Claim {
        let claimed = self.engine().claim(worker_id, &Seen::default()).unwrap();
        claimed.expect("something is ready")
    }
}

/// Every way that an execution can go: done, failed and tried again, lost and tried again, cancelled, late.
fn every_way(store: &mut Store) {
    let done = store.submit("done", false);
    store.submit("done", false);
    let claim = store.claim("A");
    assert_eq!(store.engine().heartbeat(&claim).unwrap(), Fenced::Done);
    assert_eq!(store.engine().give_back(&claim).unwrap(), Fenced::Done);
    assert_eq!(store.engine().give_back(&claim).unwrap(), Fenced::Stale);
    assert_eq!(store.engine().complete(&store.claim("A")).unwrap(), Fenced::Done);
    let execution_id = done.clone();
    store.engine().ask("alice", &Ask::Observe { execution_id }).unwrap();

    let failing = store.submit("failing", true);
    store.engine().fail(&store.claim("A"), "asked to fail").unwrap();
    store.pass(store.terms.settings.backoff_s);
    assert_eq!(store.engine().reap().unwrap().promoted, 1);
    let execution_id = failing;
    store.claim("A");
    store.engine().ask("alice", &Ask::Cancel { execution_id }).unwrap();

    store.submit("lost", false);
    store.terms.settings.attempts_max = 2;
    for _attempt in 0..2 {
        store.claim("A");
        store.pass(store.terms.settings.lease_s);
        assert_eq!(store.engine().reap().unwrap().expired, 1);
    }
    store.submit("last", true);
    store.terms.settings.attempts_max = 1;
    store.engine().fail(&store.claim("A"), "asked to fail").unwrap();
    assert!(store.engine().claim("A", &Seen::default()).unwrap().is_none());
}

#[test]
fn no_statement_of_the_engine_looks_at_more_rows_than_it_is_about() {
    let mut store = Store::new();
    let (run, were_run) = channel();
    let note = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(statement, _or_trigger) = event {
            // Nobody listens to what the test itself runs afterwards.
            let _ = run.send(statement.sql().into_owned());
        }
    };
    let each_statement = TraceEventCodes::SQLITE_TRACE_STMT;
    store.connection.trace_v2(each_statement, Some(note)).unwrap();
    every_way(&mut store);
    let statements: BTreeSet<String> = were_run.try_iter().collect();
    drop(were_run);
    assert!(statements.len() > 20, "only these were run: {statements:#?}");
    // What the triggers of the log ask is a part of the statement that fires them.
    let with_triggers = DbConfig::SQLITE_DBCONFIG_TRIGGER_EQP;
    store.connection.set_db_config(with_triggers, true).unwrap();
    assert_eq!(scans_of_history(&store.connection, &statements), [""; 0]);
    // It would be seen: without its index each look for something to do is a scan.
    for index in INDEXES_OF_WHAT_IS_TO_DO {
        let before = scans_of_history(&store.connection, &statements).len();
        store.connection.execute_batch(&format!("DROP INDEX {index}")).unwrap();
        let after = scans_of_history(&store.connection, &statements);
        assert!(after.len() > before, "without {index}: {after:#?}");
    }
}

/// Each step of these statements that looks at rows one after another, with its statement.
fn scans_of_history(connection: &Connection, statements: &BTreeSet<String>) -> Vec<String> {
    let mut scans = Vec::new();
    for sql in statements {
        let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut steps = explained.raw_query();
        while let Some(step) = steps.next().unwrap() {
            let step: String = step.get("detail").unwrap();
            if is_scan_of_history(&step) {
                scans.push(format!("{step}: {sql}"));
            }
        }
    }
    scans
}

fn is_scan_of_history(step: &str) -> bool {
    let by = step.split_once(" USING INDEX ").map(|(_, index)| index);
    let is_of_what_is_to_do = by.is_some_and(|index| INDEXES_OF_WHAT_IS_TO_DO.contains(&index));
    let sorts = step.starts_with("USE TEMP B-TREE");
    let scans = step.starts_with("SCAN") && step != "SCAN CONSTANT ROW";
    sorts || scans && !is_of_what_is_to_do
}

#[test]
fn an_execution_costs_three_commits() {
    let mut store = Store::new();
    let commits = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&commits);
    let hook = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    store.connection.commit_hook(Some(hook)).unwrap();
    let mut after = Vec::new();
    store.submit("one", false);
    after.push(commits.load(Ordering::Relaxed));
    let claim = store.claim("A");
    after.push(commits.load(Ordering::Relaxed));
    store.engine().complete(&claim).unwrap();
    after.push(commits.load(Ordering::Relaxed));
    // Nothing is ready any more, and to find that out costs none.
    assert!(store.engine().claim("A", &Seen::default()).unwrap().is_none());
    after.push(commits.load(Ordering::Relaxed));
    assert_eq!(
        after,
        [1, 2, 3, 3],
        "after the submission, the claim, the completion, the last look"
    );
}
