//! `get_submission_status`: what became of a submission whose reply was lost, by its key, and told to nobody else.

use serde_json::{Value, json};

use super::support::{gated, plain_issue, submission, submit, submitted};
use crate::eras::{handshake, plain};
use crate::support::{Bench, Server, T0, assert_error, structured};

fn status_in(server: &mut Server, namespace: &str, key: &str) -> Value {
    let arguments = json!({ "idempotency_key": key, "namespace": namespace });
    let reply = server.call("get_submission_status", &arguments);
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    structured(&reply)
}

fn status(server: &mut Server, key: &str) -> Value {
    status_in(server, "tests", key)
}

/// An observation of a key that was never used.
fn unknown(principal: &str, namespace: &str, key: &str) -> Value {
    json!({
        "operation_id": key,
        "state": "unknown",
        "authoritative": false,
        "scope": { "backend": "sqlite:test", "principal": principal, "namespace": namespace, "tool": "submit_issue" },
        "observed_at": "2026-09-22T00:00:00Z",
        "effect_ids": [],
        "result": null,
        "fresh_write_authorized": false,
        "execution_id": null,
        "execution_state": null,
    })
}

#[test]
fn a_client_without_a_reply_finds_its_submission_by_its_key() {
    let bench = Bench::new();
    let mut server = bench.start();
    assert_eq!(status(&mut server, "k-1"), unknown("alice", "tests", "k-1"));
    submit(&mut server, "k-1", &gated(&bench.path("gate")));
    server.kill();
    let mut server = bench.start();
    let execution_id: Value = bench.column("SELECT execution_id FROM executions")[0].clone().into();
    let mut expected = unknown("alice", "tests", "k-1");
    expected["state"] = json!("in_progress");
    expected["authoritative"] = json!(true);
    expected["execution_id"] = execution_id.clone();
    expected["execution_state"] = json!("ready");
    assert_eq!(status(&mut server, "k-1"), expected);
    let worker = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    expected["execution_state"] = json!("running");
    assert_eq!(status(&mut server, "k-1"), expected);
    bench.open_gate();
    bench.wait_for_events("completed", 1);
    drop(worker);
    bench.set_clock(T0 + 1);
    let applied = status(&mut server, "k-1");
    expected["state"] = json!("applied");
    expected["execution_state"] = json!("completed");
    expected["effect_ids"] = json!([1]);
    expected["observed_at"] = json!("2026-09-22T00:00:01Z");
    expected["result"] = applied["result"].clone();
    assert_eq!(applied, expected);
    assert_eq!(
        (&applied["result"]["execution_id"], &applied["result"]["issue_id"]),
        (&execution_id, &json!(1))
    );
    // Asking is no submission: it leaves no event, and starts nothing.
    assert_eq!(bench.log(), ["submitted", "ready", "claimed 1 A", "completed 1 A"]);
    assert_eq!((bench.count("executions"), bench.count("issues")), (1, 1));
}

/// An attempt may have acted outside of the store before it failed: nobody may conclude that nothing was done.
#[test]
fn what_failed_or_was_cancelled_is_named_and_stays_unknown() {
    let bench = Bench::new();
    let mut server = bench.start();
    let failing = json!({ "title": "Title", "body": "alpha", "fail": true });
    let failed = submitted(&mut server, "k-1", &failing);
    let worked = bench.operator(&["work", "--worker-id", "A", "--until-idle", "--attempts", "1"]);
    assert_eq!(worked.code, 0, "{worked:?}");
    let cancelled = submitted(&mut server, "k-2", &plain_issue());
    server.call("cancel_execution", &json!({ "execution_id": cancelled }));
    for (key, execution_id, state) in [("k-1", failed, "failed"), ("k-2", cancelled, "cancelled")] {
        let mut expected = unknown("alice", "tests", key);
        expected["execution_id"] = execution_id.into();
        expected["execution_state"] = state.into();
        assert_eq!(status(&mut server, key), expected);
    }
}

#[test]
fn another_principal_and_another_namespace_hear_what_they_hear_of_a_key_that_nobody_used() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &plain_issue());
    bench.work_until_idle("A");
    assert_eq!(status(&mut server, "k-1")["state"], "applied");
    for namespace in ["elsewhere", "default"] {
        assert_eq!(
            status_in(&mut server, namespace, "k-1"),
            unknown("alice", namespace, "k-1")
        );
    }
    let without = structured(&server.call("get_submission_status", &json!({ "idempotency_key": "k-1" })));
    assert_eq!(without, unknown("alice", "default", "k-1"));
    let mut bob = bench.start_with("GUARD_PRINCIPAL", "bob");
    assert_eq!(status(&mut bob, "k-1"), unknown("bob", "tests", "k-1"));
    assert_eq!(status(&mut bob, "k-2"), unknown("bob", "tests", "k-2"));
    // A namespace that was left out is the same one in both tools.
    let mut plainly = submission("k-3", &plain_issue(), &json!({}));
    plainly["_meta"].as_object_mut().unwrap().remove("namespace");
    plain(&mut server, "tools/call", &plainly);
    assert_eq!(status_in(&mut server, "default", "k-3")["state"], "in_progress");
}

#[test]
fn the_status_outlives_the_retention_of_the_result() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &plain_issue());
    bench.work_until_idle("A");
    bench.set_clock(T0 + 360);
    let refused = structured(&submit(&mut server, "k-1", &plain_issue()));
    assert_eq!(refused["reason"], "execution_retention_expired");
    assert_eq!(status(&mut server, "k-1")["state"], "applied");
}

#[test]
fn every_era_asks_and_a_wrong_question_says_what_is_wrong() {
    for version in ["2025-11-25", "2025-06-18"] {
        let bench = Bench::new();
        let mut server = bench.start();
        handshake(&mut server, version);
        let call = json!({ "name": "get_submission_status", "arguments": { "idempotency_key": "k-1" } });
        let told = structured(&plain(&mut server, "tools/call", &call));
        assert_eq!(told, unknown("alice", "default", "k-1"));
    }
    let bench = Bench::new();
    let mut server = bench.start();
    let rows = [
        (json!({}), "argument idempotency_key is missing"),
        (
            json!({ "idempotency_key": 7 }),
            "argument idempotency_key must be a string",
        ),
        (
            json!({ "idempotency_key": "" }),
            "argument idempotency_key must have 1 to 200 bytes",
        ),
        (
            json!({ "idempotency_key": "x".repeat(201) }),
            "argument idempotency_key must have 1 to 200 bytes",
        ),
        (
            json!({ "idempotency_key": "a\nb" }),
            "argument idempotency_key must be printable text",
        ),
        (
            json!({ "idempotency_key": "k", "namespace": " " }),
            "argument namespace must be printable text",
        ),
        (json!({ "execution_id": "e" }), "unknown argument \"execution_id\""),
    ];
    for (arguments, words) in rows {
        let reply = server.call("get_submission_status", &arguments);
        assert_error(&reply, -32602, None);
        assert!(reply["error"]["message"].as_str().unwrap().contains(words), "{reply}");
    }
}

#[test]
fn planted_defects_of_the_status_show_here_too() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &plain_issue());
    let mut absent = bench.start_with("GUARD_DEFECT", "absent-means-not-applied");
    assert_eq!(status(&mut absent, "k-2")["state"], "not_applied");
    let mut fresh = bench.start_with("GUARD_DEFECT", "status-authorises-write");
    assert_eq!(status(&mut fresh, "k-1")["fresh_write_authorized"], true);
    let bob = bench.launch().env("GUARD_PRINCIPAL", "bob");
    let mut curious = bob.env("GUARD_DEFECT", "status-ignores-principal").start();
    assert_eq!(status(&mut curious, "k-1")["state"], "in_progress");
}
