//! What a store tells of executions, written down for tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::facts::of_operation;
use super::fold_tests::event;
use crate::readback::{Query, Rows, Selector};
use crate::record::{OperationSeen, Reading, ReadingOutcome};

/// What was read of one operation.
pub(super) struct Store {
    pub(super) more: BTreeMap<String, Reading>,
    pub(super) is_living: bool,
}

pub(super) fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> ReadingOutcome {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    ReadingOutcome::Rows(Rows { columns, rows })
}

impl Store {
    pub(super) fn quiet() -> Self {
        Self {
            more: BTreeMap::new(),
            is_living: false,
        }
    }

    pub(super) fn with(mut self, kind: &str, outcome: ReadingOutcome) -> Self {
        let query = Query::new(Selector::sql("SELECT"), []);
        self.more.insert(kind.to_owned(), Reading { query, outcome });
        self
    }

    /// A log from lines such as `x claimed 1 A`, the execution first; each execution's events are numbered from 1.
    pub(super) fn log(self, lines: &[&str]) -> Self {
        let mut last: BTreeMap<&str, i64> = BTreeMap::new();
        let mut all = Vec::new();
        for line in lines {
            let (execution, rest) = line.split_once(' ').expect("an execution and an event");
            let seq = last.entry(execution).or_default();
            *seq += 1;
            let event = event(rest);
            let (word, worker) = (event.word.name(), event.worker);
            all.push(vec![
                json!(execution),
                json!(seq),
                json!(word),
                json!(event.token),
                json!(worker),
                json!(event.note),
            ]);
        }
        self.with(
            "events",
            rows(&["execution", "seq", "event", "token", "worker", "note"], all),
        )
    }

    /// Rows such as `x completed 2 2`: execution, state, attempts, token.
    pub(super) fn rows(self, lines: &[&str]) -> Self {
        let row = |line: &&str| {
            let parts: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| json!(parts[at].parse::<i64>().expect("a number"));
            vec![json!(parts[0]), json!(parts[1]), number(2), number(3)]
        };
        let all = lines.iter().map(row).collect();
        self.with("executions", rows(&["execution", "state", "attempts", "token"], all))
    }

    /// Takes a column away from a kind.
    pub(super) fn without(mut self, kind: &str, column: &str) -> Self {
        let rows = self.rows_of(kind);
        let at = rows.columns.iter().position(|name| name == column).expect("a column");
        rows.columns.remove(at);
        for row in &mut rows.rows {
            row.remove(at);
        }
        self
    }

    /// Puts something else into a cell.
    pub(super) fn cell(mut self, kind: &str, row: usize, column: &str, value: Value) -> Self {
        let rows = self.rows_of(kind);
        let at = rows.columns.iter().position(|name| name == column).expect("a column");
        rows.rows[row][at] = value;
        self
    }

    pub(super) fn rows_of(&mut self, kind: &str) -> &mut Rows {
        let reading = self.more.get_mut(kind).expect("a kind that was read");
        let ReadingOutcome::Rows(rows) = &mut reading.outcome else {
            panic!("{kind} has no rows");
        };
        rows
    }

    pub(super) fn facts(&self) -> BTreeMap<String, Result<Value, String>> {
        let query = Query::new(Selector::sql("SELECT"), []);
        let seen = OperationSeen {
            effects: Reading {
                query,
                outcome: rows(&[], Vec::new()),
            },
            ledger: None,
            more: self.more.clone(),
            set_aside: Vec::new(),
            doctored: None,
            tampered: BTreeMap::new(),
        };
        of_operation(&seen, self.is_living).into_iter().collect()
    }

    #[track_caller]
    pub(super) fn fact(&self, name: &str) -> Value {
        let facts = self.facts();
        let fact = facts.get(name).unwrap_or_else(|| panic!("no fact {name}: {facts:?}"));
        fact.clone().unwrap_or_else(|reason| panic!("{name}: {reason}"))
    }

    #[track_caller]
    pub(super) fn shows(&self, expected: &[(&str, Value)]) {
        for (name, value) in expected {
            assert_eq!(self.fact(name), *value, "{name}");
        }
    }

    /// The facts that were not observed, all of them for this reason.
    #[track_caller]
    pub(super) fn not_observed(&self, reason: &str) -> Vec<String> {
        let facts = self.facts();
        let unobserved = facts
            .iter()
            .filter_map(|(name, fact)| Some((name, fact.as_ref().err()?)));
        let named = |(name, found): (&String, &String)| {
            assert_eq!(found, reason, "{name}");
            name.clone()
        };
        unobserved.map(named).collect()
    }
}

/// A worker that was overtaken, behind a claim by A under token 1.
pub(super) fn overtaken<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let begins = [
        "x submitted",
        "x ready",
        "x claimed 1 A",
        "x lease_expired 1 A",
        "x ready - - lease_expired",
    ];
    [&begins, rest].concat()
}

pub(super) fn fenced() -> Store {
    let rest = ["x claimed 2 B", "x completed 2 B", "x stale_rejected 1 A complete"];
    Store::quiet().log(&overtaken(&rest)).rows(&["x completed 2 2"])
}
