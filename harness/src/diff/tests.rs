//! Records made by hand, compared.

use std::fs;

use serde_json::{Value, json};

use super::lanes::Lanes;
use super::records::{RecordsDiff, compare_records};
use super::side::Side;
use crate::case::Catalogue;
use crate::plan::{Naming, plan};
use crate::record::{Evidence, Run};
use crate::target::built_in;

/// A `run.json` that says as little as it can.
fn run_json() -> Run {
    let json = json!({
        "format": 1, "state": "finished",
        "harness": {"version": "0.1.0", "sha256": null, "judge": 1},
        "started_at": "2026-01-01T00:00:00Z", "ended_at": null,
        "host": {"os": "linux", "arch": "any", "kernel": null}, "tier": "stdio-boundary",
        "target": {
            "name": "x", "source": "command", "command": ["x"], "env": {}, "secrets": [],
            "contract": {"preset": "none", "claimed_in": null, "conflict": null},
            "replies": {"result": null, "replayed": null, "refusal": {"error": null, "tool_error": null}},
            "identity": "none", "read_effects": null, "read_ledger": null, "artifacts": []
        },
        "server": null, "naming": {"seed": 1, "nonce": "n"}, "defect": null, "catalogue": [],
        "requested": ["lost-reply"], "named": [], "executed": ["lost-reply"], "nothing_run": null, "verdicts": {}
    });
    serde_json::from_value(json).expect("a run.json")
}

/// A record of the case lost-reply under another nonce each, with these events after the plan. `{A}` stands for the identity
/// that it has there.
fn lanes(nonce: &str, events: &[Value]) -> Lanes {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let evidence = Evidence::create_at(&folder.path().join("run")).expect("a new folder");
    Evidence::write_json(&evidence.run_file(), &run_json()).expect("write");
    let case = evidence.case("lost-reply");
    case.create().expect("the folder of the case");
    let naming = Naming {
        seed: 1,
        nonce: nonce.to_owned(),
    };
    let definition = Catalogue::embedded().get("lost-reply").expect("it is embedded");
    let plan = plan(&built_in(folder.path()), definition, &naming).expect("a plan");
    let planned = json!({"kind": "case-planned", "format": 1, "plan": plan});
    let mut text = String::new();
    for (index, event) in std::iter::once(&planned).chain(events).enumerate() {
        let mut event = event.clone();
        event["seq"] = json!(index + 1);
        event["at"] = json!(index * 7);
        let line = event.to_string().replace("{A}", &plan.operations["A"].identity);
        text.extend([line.as_str(), "\n"]);
    }
    fs::write(case.record_file(), text).expect("write");
    let side = Side::open(&evidence, "run").expect("a run");
    Lanes::read(&side, "cases/lost-reply")
}

fn step(index: usize, does: &str) -> Value {
    json!({"kind": "step-started", "step": index, "does": does})
}

fn asks(process: &str, id: u64, arguments: &Value) -> Value {
    let payload = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "create", "arguments": arguments}
    });
    json!({"kind": "message", "process": process, "direction": "client-to-server", "transport": "stdio", "payload": payload})
}

fn answers(process: &str, id: u64, result: &Value) -> Value {
    let payload = json!({"jsonrpc": "2.0", "id": id, "result": {"structuredContent": result}});
    json!({"kind": "message", "process": process, "direction": "server-to-client", "transport": "stdio", "payload": payload})
}

fn compared(a: &[Value], b: &[Value]) -> RecordsDiff {
    compare_records(&lanes("one", a), &lanes("two", b))
}

/// The differences in lines: numbers, step, paths.
fn told(diff: &RecordsDiff) -> Vec<String> {
    let number = |seq: Option<u64>| seq.map_or("-".to_owned(), |seq| seq.to_string());
    let lines = diff.events.iter().map(|event| {
        let paths: Vec<&str> = event.differences.iter().map(|found| found.path.as_str()).collect();
        let (a, b) = (number(event.a), number(event.b));
        format!("{a} {b} {}: {} at {}", event.step, event.what, paths.join(" "))
    });
    lines.collect()
}

#[test]
fn ids_names_and_times_are_no_difference() {
    let a = [
        step(0, "write"),
        asks("first", 2, &json!({"key": "{A}"})),
        answers("first", 2, &json!({"key": "{A}", "order_id": 1})),
    ];
    let b = [
        step(0, "write"),
        asks("first", 31, &json!({"key": "{A}"})),
        answers("first", 31, &json!({"key": "{A}", "order_id": 77})),
    ];
    assert_eq!(told(&compared(&a, &b)), [""; 0]);
}

#[test]
fn the_first_event_that_differs_comes_first_with_its_step_and_its_numbers() {
    let run = |state: &str, again: &str| {
        vec![
            step(0, "write A"),
            asks("first", 1, &json!({"key": "{A}"})),
            answers("first", 1, &json!({"state": state})),
            step(1, "ask for the status"),
            asks("first", 2, &json!({"key": "{A}"})),
            answers("first", 2, &json!({"state": again})),
        ]
    };
    let diff = compared(&run("applied", "applied"), &run("applied", "unknown"));
    let expected = "7 7 ask for the status: ← a result, to → tools/call create at result.structuredContent.state";
    assert_eq!(told(&diff), [expected]);
    let both = compared(&run("applied", "applied"), &run("unknown", "unknown"));
    assert_eq!(both.events.len(), 2);
    assert_eq!(both.events[0].step, "write A");
}

/// One identity that got two rows is not one that got one row twice.
#[test]
fn the_same_row_again_is_told_from_another_one() {
    let run = |first: u64, second: u64| {
        [
            asks("first", 1, &json!({"key": "{A}"})),
            answers("first", 1, &json!({"order_id": first})),
            step(0, "retry"),
            asks("first", 2, &json!({"key": "{A}"})),
            answers("first", 2, &json!({"order_id": second})),
        ]
    };
    assert_eq!(told(&compared(&run(4, 4), &run(9, 9))), [""; 0]);
    let diff = compared(&run(4, 4), &run(9, 10));
    assert_eq!(
        told(&diff),
        ["6 6 retry: ← a result, to → tools/call create at result.structuredContent.order_id"]
    );
}

#[test]
fn a_reply_that_never_came_and_one_that_was_withheld_are_differences() {
    let ask = asks("first", 1, &json!({}));
    let answer = answers("first", 1, &json!({"state": "applied"}));
    let mut withheld = answer.clone();
    withheld["withheld"] = json!(true);
    let missing = compared(&[ask.clone(), answer.clone()], std::slice::from_ref(&ask));
    assert_eq!(
        told(&missing),
        ["3 - before the first step: ← a result, to → tools/call create at "]
    );
    let kept_back = compared(&[ask.clone(), answer], &[ask, withheld]);
    assert_eq!(
        kept_back.events[0].differences[0].b,
        Some(json!("withheld from the client"))
    );
}

#[test]
fn two_processes_may_be_interleaved_and_served_in_either_order() {
    let (left, right) = (json!({"replayed": false}), json!({"replayed": true}));
    let begin = [asks("one", 1, &json!({})), asks("two", 2, &json!({}))];
    let a = [&begin[..], &[answers("one", 1, &left), answers("two", 2, &right)]].concat();
    let b = [&begin[..], &[answers("two", 2, &left), answers("one", 1, &right)]].concat();
    assert_eq!(told(&compared(&a, &b)), [""; 0]);
    let both = [&begin[..], &[answers("two", 2, &left), answers("one", 1, &left)]].concat();
    assert_eq!(compared(&a, &both).events.len(), 1, "both claim to be the first");
    // One after the other, it is not chance which of them was the first.
    let in_turn = |first: bool| {
        let answer = |id: u64, is: bool| answers("one", id, &json!({"replayed": is}));
        [
            asks("one", 1, &json!({})),
            answer(1, first),
            step(0, "retry"),
            asks("one", 2, &json!({})),
            answer(2, !first),
        ]
    };
    assert_eq!(compared(&in_turn(false), &in_turn(true)).events.len(), 2);
}

#[test]
fn how_often_one_looked_until_it_was_so_is_no_difference() {
    let look = |id: u64, state: &str| {
        [
            asks("first", id, &json!({})),
            answers("first", id, &json!({"state": state})),
        ]
    };
    let a = [look(1, "running"), look(2, "done")].concat();
    let b = [
        look(1, "running"),
        look(2, "running"),
        look(3, "running"),
        look(4, "done"),
    ]
    .concat();
    assert_eq!(told(&compared(&a, &b)), [""; 0]);
    assert_eq!(compared(&a, &look(1, "running")).events.len(), 1);
}

#[test]
fn a_record_that_cannot_be_read_to_its_end_is_not_the_same() {
    let whole = [step(0, "write"), asks("first", 1, &json!({}))];
    let a = lanes("one", &whole);
    let mut b = lanes("two", &whole);
    b.troubles.push("cut off".to_owned());
    let diff = compare_records(&a, &b);
    assert!(diff.events.is_empty() && !diff.is_same());
}
