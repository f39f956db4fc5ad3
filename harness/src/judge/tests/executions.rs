//! Checks that ask for the facts of executions: what a break says, and what nobody is accused of.

use serde_json::{Value, json};

use super::{Story, case, judge};
use crate::case::{Case, Check, Step};
use crate::readback::{Query, Rows, Selector};
use crate::record::{CheckOutcome, CheckResult, Reading, ReadingOutcome, Record, Verdict};

fn reading(columns: &[&str], rows: &[Value]) -> Reading {
    let row = |row: &Value| row.as_array().expect("a list").clone();
    Reading {
        query: Query::new(Selector::sql("SELECT"), []),
        outcome: ReadingOutcome::Rows(Rows {
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: rows.iter().map(row).collect(),
        }),
    }
}

/// The record of a guarded server whose store also tells at the end of an execution that was submitted and is `state`.
fn told(event: &str, state: &str) -> Record {
    let mut record = Story::guarded().record();
    let seen = record.observations.get_mut("end").expect("an observation");
    let more = &mut seen.operations.get_mut("A").expect("an operation").more;
    let columns = ["execution", "seq", "event", "token", "worker", "note"];
    let log = [
        json!(["x", 1, "submitted", null, null, null]),
        json!(["x", 2, event, null, null, null]),
    ];
    more.insert("events".to_owned(), reading(&columns, &log));
    let columns = ["execution", "state", "attempts", "token"];
    more.insert("executions".to_owned(), reading(&columns, &[json!(["x", state, 0, 0])]));
    record
}

/// The case with one more check, which is like the first that it is about, but for what it expects.
fn asking(path: &str, expected: Value) -> Case {
    let mut case = case().clone();
    let about = case.checks.iter().find(|check| check.about).expect("a check").clone();
    case.checks.push(Check {
        id: "asked".to_owned(),
        say: Some("the log does not tell what is".to_owned()),
        only: None,
        expect: [(path.to_owned(), expected)].into(),
        among: [].into(),
        same: Vec::new(),
        ..about
    });
    case
}

fn asked(path: &str, expected: Value, record: &Record) -> (Verdict, CheckResult) {
    let verdict = judge(&asking(path, expected), record);
    let asked = verdict.checks.iter().find(|check| check.id == "asked");
    (verdict.verdict, asked.expect("the check").clone())
}

/// Read again from the evidence, a value that is null would be none.
#[test]
fn what_an_end_did_not_have_is_not_there() {
    let record = Story::guarded().record();
    let (_, killed) = asked("first.signal", json!(9), &record);
    assert_eq!(killed.outcome, CheckOutcome::Held);
    let (_, ended) = asked("first.code", json!(0), &record);
    assert_eq!(ended.outcome, CheckOutcome::Broken);
    assert!(
        ended.findings.iter().all(|finding| finding.found.is_none()),
        "{ended:?}"
    );
    let again: CheckResult = serde_json::from_value(json!(ended)).expect("it reads as it was written");
    assert_eq!(again, ended);
}

#[test]
fn the_story_has_the_observation_that_is_asked_for() {
    let observes = |step: &Step| matches!(step, Step::Observe(observe) if observe.label == "end");
    assert!(case().steps.iter().any(observes));
}

#[test]
fn a_log_that_folds_to_its_row_holds() {
    let record = told("ready", "ready");
    for (path, expected) in [
        ("end.folds.A", json!(true)),
        ("end.happened.submitted.A", json!(1)),
        ("end.happened.completed.A", json!(0)),
        ("end.state.A", json!("ready")),
        ("end.events.A", json!(2)),
    ] {
        let (verdict, check) = asked(path, expected, &record);
        assert_eq!((verdict, check.outcome), (Verdict::Pass, CheckOutcome::Held), "{path}");
    }
}

#[test]
fn a_log_that_does_not_fold_fails_with_the_event_at_which_it_does_not() {
    let (verdict, check) = asked("end.folds.A", json!(true), &told("completed", "completed"));
    assert_eq!((verdict, check.outcome), (Verdict::Fail, CheckOutcome::Broken));
    assert_eq!(
        check.say.as_deref(),
        Some(
            "the log does not tell what is: execution x: event 2 (completed) cannot follow: \
             it was submitted and is not ready yet"
        )
    );
}

/// Whose log is mapped wrongly is accused of nothing.
#[test]
fn a_word_that_nobody_knows_makes_every_check_that_needs_it_inconclusive() {
    let record = told("queued", "ready");
    for path in ["end.folds.A", "end.happened.ready.A", "end.late_acts.A"] {
        let (verdict, check) = asked(path, json!(true), &record);
        assert_eq!(
            (verdict, check.outcome),
            (Verdict::Inconclusive, CheckOutcome::Inconclusive),
            "{path}"
        );
        assert!(
            check
                .say
                .as_deref()
                .is_some_and(|say| say.contains("\"queued\", in row 2")),
            "{check:?}"
        );
    }
    let (verdict, _) = asked("end.state.A", json!("ready"), &record);
    assert_eq!(verdict, Verdict::Pass);
}
