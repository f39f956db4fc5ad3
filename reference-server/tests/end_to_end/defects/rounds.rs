//! Defects of first rounds and of input.

use serde_json::json;

use crate::support::{Bench, assert_error, assert_refused, issue, structured};

#[test]
fn applies_without_input_writes_an_empty_body() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "applies-without-input");
    let state = server.first_round(&issue("op-1"));
    let reply = server.continuation(&issue("op-1"), &state, &json!({}));
    assert_eq!(structured(&reply)["state"], "applied");
    assert_eq!(bench.column("SELECT body FROM issues"), [""]);
}

#[test]
fn applies_declined_input_writes_an_empty_body() {
    for response in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept", "content": { "body": 7 } }),
    ] {
        let bench = Bench::new();
        let mut server = bench.start_with("GUARD_DEFECT", "applies-declined-input");
        let state = server.first_round(&issue("op-1"));
        let reply = server.continuation(&issue("op-1"), &state, &json!({ "body": response }));
        assert_eq!(structured(&reply)["state"], "applied");
        assert_eq!(bench.column("SELECT body FROM issues"), [""]);
    }
}

#[test]
fn reserves_on_first_round_cannot_begin_again_after_a_lost_first_reply() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "reserves-on-first-round");
    let state = server.first_round(&issue("op-1"));
    assert_eq!(bench.column("SELECT state FROM operations"), ["in_progress"]);
    server.kill();
    let mut second = bench.start_with("GUARD_DEFECT", "reserves-on-first-round");
    assert_refused(&second.call("create_issue", &issue("op-1")), "operation_in_progress");
    assert_eq!(second.status("op-1")["state"], "unknown");
    assert_eq!(bench.count("issues"), 0);
    // With the reply at hand it goes on, and after that it looks right.
    assert_eq!(
        structured(&second.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        false
    );
    let again = second.first_round(&issue("op-1"));
    assert_refused(&second.answer(&issue("op-1"), &again, "alpha"), "operation_conflict");
}

#[test]
fn forgets_first_round_refuses_its_own_state_after_a_restart() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "forgets-first-round");
    let state = server.first_round(&issue("op-1"));
    server.kill();
    let mut second = bench.start_with("GUARD_DEFECT", "forgets-first-round");
    assert_error(
        &second.answer(&issue("op-1"), &state, "alpha"),
        -32602,
        Some("request_state_invalid"),
    );
    assert_eq!(bench.count("issues"), 0);
    second.write(&issue("op-1"), "alpha");
}

#[test]
fn asks_undeclared_capability_asks_a_client_that_shows_no_forms() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "asks-undeclared-capability");
    let first = json!({ "name": "create_issue", "arguments": issue("op-1") });
    let id = server.begin("tools/call", &first, &json!({}));
    let reply = server.reply_to(id);
    assert_eq!(
        reply["result"]["inputRequests"]["body"]["method"], "elicitation/create",
        "{reply}"
    );
}
