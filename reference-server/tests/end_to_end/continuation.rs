//! What a continuation must bring back, and what becomes of one that does not.

use serde_json::json;

use crate::support::{Bench, accept, assert_error, assert_refused, issue, middle_changed, structured};

const INVALID: Option<&str> = Some("request_state_invalid");

#[test]
fn a_continuation_works_on_a_new_process() {
    let bench = Bench::new();
    let mut first = bench.start();
    let state = first.first_round(&issue("op-1"));
    first.kill();
    let mut second = bench.start();
    let result = structured(&second.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(result["replayed"], false);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_state_that_is_missing_changed_or_foreign_is_refused() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    let stripped = json!({
        "name": "create_issue", "arguments": issue("op-1"), "inputResponses": accept("alpha")
    });
    assert_error(&server.request("tools/call", &stripped), -32602, INVALID);
    assert_error(
        &server.answer(&issue("op-1"), &middle_changed(&state), "alpha"),
        -32602,
        INVALID,
    );
    assert_error(&server.answer(&issue("op-2"), &state, "alpha"), -32602, INVALID);
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
    server.first_round(&issue("op-1"));
}

#[test]
fn a_second_issuance_conflicts_after_the_first_was_used() {
    let bench = Bench::new();
    let mut server = bench.start();
    let states = [(); 2].map(|()| server.first_round(&issue("op-1")));
    assert_ne!(states[0], states[1]);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &states[0], "alpha"))["state"],
        "applied"
    );
    assert_refused(
        &server.answer(&issue("op-1"), &states[1], "alpha"),
        "operation_conflict",
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn changed_arguments_are_refused_before_and_after_the_write() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    let changed = json!({ "operation_id": "op-1", "title": "Another" });
    assert_error(&server.answer(&changed, &state, "alpha"), -32602, INVALID);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        false
    );
    assert_refused(&server.answer(&changed, &state, "alpha"), "operation_conflict");
    assert_eq!(bench.column("SELECT title FROM issues"), ["Title"]);
}

#[test]
fn missing_input_is_asked_for_again_with_the_same_state() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    for responses in [json!({}), json!({ "other": { "action": "accept" } })] {
        let reply = server.continuation(&issue("op-1"), &state, &responses);
        assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
        assert_eq!(reply["result"]["requestState"], json!(state));
    }
    let without = json!({ "name": "create_issue", "arguments": issue("op-1"), "requestState": state });
    let reply = server.request("tools/call", &without);
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
}

#[test]
fn undeclared_responses_are_ignored_and_not_bound() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    let mut responses = accept("alpha");
    responses["extra"] = json!({ "action": "accept", "content": {} });
    responses["body"]["_meta"] = json!({ "trace": 1 });
    let first = structured(&server.continuation(&issue("op-1"), &state, &responses));
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!((&first["replayed"], &repeat["replayed"]), (&json!(false), &json!(true)));
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn input_that_is_not_given_writes_nothing_and_is_told_apart() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    let rows = [
        (json!({ "action": "decline" }), "input_declined"),
        (json!({ "action": "cancel" }), "input_cancelled"),
        (json!({ "action": "accept", "content": { "body": 7 } }), "input_invalid"),
        (
            json!({ "action": "accept", "content": { "body": "" } }),
            "input_invalid",
        ),
        (
            json!({ "action": "accept", "content": { "body": "x".repeat(65_537) } }),
            "input_invalid",
        ),
        (json!({ "action": "accept", "content": [] }), "input_invalid"),
        (json!({ "action": "accept" }), "input_invalid"),
        (json!({ "action": "later" }), "input_invalid"),
        (json!("alpha"), "input_invalid"),
    ];
    for (response, reason) in rows {
        let reply = server.continuation(&issue("op-1"), &state, &json!({ "body": response }));
        assert_refused(&reply, reason);
    }
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["state"],
        "applied"
    );
}

#[test]
fn another_principal_neither_continues_nor_takes_over_nor_sees() {
    let bench = Bench::new();
    let mut alice = bench.start();
    let (state, _) = alice.write(&issue("op-1"), "alpha");
    alice.close();
    let mut bob = bench.start_with("GUARD_PRINCIPAL", "bob");
    assert_error(&bob.answer(&issue("op-1"), &state, "alpha"), -32602, INVALID);
    let own = bob.first_round(&issue("op-1"));
    assert_refused(&bob.answer(&issue("op-1"), &own, "alpha"), "operation_conflict");
    let (known, mut unknown) = (bob.status("op-1"), bob.status("op-2"));
    unknown["operation_id"] = json!("op-1");
    assert_eq!(known, unknown);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_rotated_fingerprint_key_conflicts_and_status_still_settles() {
    let bench = Bench::new();
    let mut before = bench.start();
    let (state, result) = before.write(&issue("op-1"), "alpha");
    before.close();
    let mut after = bench.start_with("GUARD_FINGERPRINT_KEY", &"bb".repeat(32));
    assert_refused(&after.answer(&issue("op-1"), &state, "alpha"), "operation_conflict");
    assert_eq!(after.status("op-1")["result"]["receipt"], result["receipt"]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn another_tool_version_refuses_the_old_state_and_status_still_settles() {
    let bench = Bench::new();
    let mut before = bench.start();
    let (state, result) = before.write(&issue("op-1"), "alpha");
    before.close();
    let mut after = bench.start_with("GUARD_TOOL_VERSION", "1.1");
    assert_error(&after.answer(&issue("op-1"), &state, "alpha"), -32602, INVALID);
    let fresh = after.first_round(&issue("op-1"));
    assert_refused(&after.answer(&issue("op-1"), &fresh, "alpha"), "operation_conflict");
    assert_eq!(after.status("op-1")["result"]["receipt"], result["receipt"]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_lost_first_reply_costs_nothing() {
    let bench = Bench::new();
    let mut first = bench.start();
    first.first_round(&issue("op-1"));
    first.kill();
    let mut second = bench.start();
    let state = second.first_round(&issue("op-1"));
    assert_eq!(
        structured(&second.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        false
    );
    assert_eq!(bench.count("issues"), 1);
}
