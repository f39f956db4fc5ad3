//! Writing, repeating and asking: the plain path, and two processes at once.

use serde_json::json;

use crate::support::{Bench, accept, assert_refused, continuation, issue, stored, structured};

#[test]
fn the_first_round_asks_for_a_body_and_stores_nothing() {
    let bench = Bench::new();
    let mut server = bench.start();
    let reply = server.call("create_issue", &issue("op-1"));
    let asked = &reply["result"]["inputRequests"]["body"];
    assert_eq!(asked["method"], "elicitation/create", "{reply}");
    assert_eq!(asked["params"]["mode"], "form");
    assert_eq!(asked["params"]["requestedSchema"]["required"], json!(["body"]));
    assert_eq!(bench.count("operations") + bench.count("issues"), 0);
    assert!(server.close().success());
    assert_eq!(bench.count("operations") + bench.count("issues"), 0);
}

#[test]
fn a_write_is_done_once_and_its_repeat_gets_the_stored_result() {
    let bench = Bench::new();
    let mut server = bench.start();
    let (state, first) = server.write(&issue("op-1"), "alpha");
    assert_eq!(first["operation_id"], "op-1");
    assert_eq!(first["state"], "applied");
    assert_eq!(first["replayed"], false);
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(repeat["replayed"], true);
    assert_eq!(stored(&repeat), stored(&first));
    assert_eq!(bench.column("SELECT title || '/' || body FROM issues"), ["Title/alpha"]);
    assert_eq!(bench.column("SELECT state FROM operations"), ["applied"]);
}

#[test]
fn two_operations_with_the_same_data_are_two_effects() {
    let bench = Bench::new();
    let mut server = bench.start();
    let (_, first) = server.write(&issue("op-1"), "alpha");
    let (_, second) = server.write(&issue("op-2"), "alpha");
    assert_ne!(first["issue_id"], second["issue_id"]);
    assert_ne!(first["receipt"], second["receipt"]);
    assert_eq!(bench.count("issues"), 2);
}

#[test]
fn status_settles_what_was_applied_and_leaves_the_rest_unknown() {
    let bench = Bench::new();
    let mut server = bench.start();
    let (_, result) = server.write(&issue("op-1"), "alpha");
    let scope = json!({ "backend": "sqlite:test", "principal": "alice", "tool": "create_issue" });
    let expected = json!({
        "operation_id": "op-1",
        "state": "applied",
        "authoritative": true,
        "scope": scope,
        "observed_at": "2026-09-22T00:00:00Z",
        "effect_ids": [result["issue_id"]],
        "result": stored(&result),
        "fresh_write_authorized": false
    });
    assert_eq!(server.status("op-1"), expected);
    let expected = json!({
        "operation_id": "op-2",
        "state": "unknown",
        "authoritative": false,
        "scope": scope,
        "observed_at": "2026-09-22T00:00:00Z",
        "effect_ids": [],
        "result": null,
        "fresh_write_authorized": false
    });
    assert_eq!(server.status("op-2"), expected);
}

#[test]
fn starting_over_under_the_same_identity_is_a_conflict() {
    let bench = Bench::new();
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    let state = server.first_round(&issue("op-1"));
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "operation_conflict");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn changed_input_is_a_conflict_that_discloses_nothing() {
    let bench = Bench::new();
    let mut server = bench.start();
    let (state, _) = server.write(&issue("op-1"), "alpha");
    assert_refused(&server.answer(&issue("op-1"), &state, "beta"), "operation_conflict");
    assert_eq!(bench.column("SELECT body FROM issues"), ["alpha"]);
}

#[test]
fn a_partial_write_ends_as_partial_and_is_replayed_as_such() {
    let bench = Bench::new();
    let mut server = bench.start();
    let write = json!({ "operation_id": "op-1", "title": "Title", "mode": "partial" });
    let (state, first) = server.write(&write, "alpha");
    assert_eq!(
        (&first["state"], &first["replayed"]),
        (&json!("partial"), &json!(false))
    );
    let repeat = structured(&server.answer(&write, &state, "alpha"));
    assert_eq!(repeat["replayed"], true);
    assert_eq!(stored(&repeat), stored(&first));
    let status = server.status("op-1");
    assert_eq!(
        (&status["state"], &status["authoritative"]),
        (&json!("partial"), &json!(true))
    );
    assert_eq!(status["result"], stored(&first));
    let steps = "SELECT step || ' ' || outcome FROM step_log ORDER BY seq";
    let expected = [
        "watcher attempted",
        "watcher failed",
        "rollback_issue attempted",
        "rollback_issue failed",
    ];
    assert_eq!(bench.column(steps), expected);
    let compensations = "SELECT step || ' ' || outcome FROM compensations";
    assert_eq!(bench.column(compensations), ["rollback_issue failed"]);
    assert_eq!((bench.count("issues"), bench.count("watchers")), (1, 0));
}

/// Both servers hold the same request while a third party holds the write lock; then both may go on.
#[test]
fn two_servers_with_the_same_first_use_write_once() {
    let bench = Bench::new();
    let launch = || bench.launch().env("GUARD_BUSY_TIMEOUT_MS", "30000").start();
    let (mut one, mut other) = (launch(), launch());
    let state = one.first_round(&issue("op-1"));
    other.first_round(&issue("warm-up"));
    let lock = bench.lock();
    let params = continuation(&issue("op-1"), &state, &accept("alpha"));
    let forms = json!({ "elicitation": { "form": {} } });
    let (id_one, id_other) = (
        one.begin("tools/call", &params, &forms),
        other.begin("tools/call", &params, &forms),
    );
    lock.execute_batch("ROLLBACK").unwrap();
    let results = [structured(&one.reply_to(id_one)), structured(&other.reply_to(id_other))];
    assert_eq!(stored(&results[0]), stored(&results[1]));
    assert_ne!(results[0]["replayed"], results[1]["replayed"]);
    assert_eq!((bench.count("issues"), bench.count("operations")), (1, 1));
}

#[test]
fn servers_that_open_a_new_store_at_once_all_serve() {
    let bench = Bench::new();
    let launch = || bench.launch().env("GUARD_BUSY_TIMEOUT_MS", "30000").start();
    let mut servers: Vec<_> = std::iter::repeat_with(launch).take(12).collect();
    for (index, server) in servers.iter_mut().enumerate() {
        server.write(&issue(&format!("op-{index}")), "alpha");
    }
    assert_eq!(bench.count("issues"), 12);
}

#[test]
fn a_locked_ledger_is_an_honest_refusal_and_the_same_call_works_later() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_BUSY_TIMEOUT_MS", "1");
    let state = server.first_round(&issue("op-1"));
    let lock = bench.lock();
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "ledger_busy");
    assert_eq!(server.status("op-1")["state"], "unknown");
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
    let replayed = [(); 2].map(|()| structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"].clone());
    assert_eq!(replayed, [json!(false), json!(true)]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_cancelled_write_gets_no_reply_and_stays_done() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_BUSY_TIMEOUT_MS", "30000");
    let state = server.first_round(&issue("op-1"));
    let lock = bench.lock();
    let params = continuation(&issue("op-1"), &state, &accept("alpha"));
    let id = server.begin("tools/call", &params, &json!({ "elicitation": {} }));
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    // The listing does not wait for the ledger: when it is answered, the cancellation has been read.
    server.request("tools/list", &json!({}));
    lock.execute_batch("ROLLBACK").unwrap();
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(repeat["replayed"], true);
    assert_eq!(bench.count("issues"), 1);
}
