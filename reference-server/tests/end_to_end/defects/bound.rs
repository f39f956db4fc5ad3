//! Defects of what a fingerprint and a request state bind.

use serde_json::json;

use crate::support::{Bench, accept, assert_error, assert_refused, issue, middle_changed, stored, structured};

const INVALID: Option<&str> = Some("request_state_invalid");

#[test]
fn unbound_input_replays_the_first_result_to_other_input_and_nothing_else() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "unbound-input");
    let (state, first) = server.write(&issue("op-1"), "alpha");
    let changed = structured(&server.answer(&issue("op-1"), &state, "beta"));
    assert_eq!(changed["replayed"], true);
    assert_eq!(stored(&changed), stored(&first));
    let fresh = server.first_round(&issue("op-1"));
    assert_refused(&server.answer(&issue("op-1"), &fresh, "alpha"), "operation_conflict");
    assert_eq!(bench.column("SELECT body FROM issues"), ["alpha"]);
}

#[test]
fn unbound_state_replays_the_first_result_to_a_second_issuance() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "unbound-state");
    let (_, first) = server.write(&issue("op-1"), "alpha");
    let second = server.first_round(&issue("op-1"));
    let replay = structured(&server.answer(&issue("op-1"), &second, "alpha"));
    assert_eq!(
        (replay["replayed"].clone(), stored(&replay)),
        (json!(true), stored(&first))
    );
    assert_refused(&server.answer(&issue("op-1"), &second, "beta"), "operation_conflict");
    assert_error(
        &server.answer(&issue("op-1"), &middle_changed(&second), "alpha"),
        -32602,
        INVALID,
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn unbound_principal_hands_one_principals_result_to_another() {
    let bench = Bench::new();
    let launch = |principal| {
        bench
            .launch()
            .env("GUARD_DEFECT", "unbound-principal")
            .env("GUARD_PRINCIPAL", principal)
    };
    let mut alice = launch("alice").start();
    let (state, first) = alice.write(&issue("op-1"), "alpha");
    alice.close();
    let mut bob = launch("bob").start();
    let taken = structured(&bob.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(stored(&taken), stored(&first));
    assert_eq!(bob.status("op-1")["state"], "unknown");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn unsealed_state_does_not_notice_a_changed_state() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "unsealed-state");
    server.write(&issue("op-1"), "alpha");
    let second = server.first_round(&issue("op-1"));
    assert_refused(&server.answer(&issue("op-1"), &second, "alpha"), "operation_conflict");
    // Not refused as tampered: it is taken for another issuance.
    assert_refused(
        &server.answer(&issue("op-1"), &middle_changed(&second), "alpha"),
        "operation_conflict",
    );
    let fresh = server.first_round(&issue("op-2"));
    let applied = structured(&server.answer(&issue("op-2"), &middle_changed(&fresh), "alpha"));
    assert_eq!(applied["state"], "applied");
    assert_eq!(bench.count("issues"), 2);
}

#[test]
fn accepts_stripped_state_applies_what_nobody_was_asked_for() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "accepts-stripped-state");
    let stripped = json!({ "name": "create_issue", "arguments": issue("op-1"), "inputResponses": accept("alpha") });
    assert_eq!(structured(&server.request("tools/call", &stripped))["state"], "applied");
    assert_eq!(bench.count("issues"), 1);
    server.first_round(&issue("op-1"));
}

#[test]
fn state_not_bound_to_operation_writes_under_another_identity() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "state-not-bound-to-operation");
    let state = server.first_round(&issue("op-1"));
    let other = json!({ "operation_id": "op-2", "title": "Another" });
    assert_eq!(structured(&server.answer(&other, &state, "alpha"))["state"], "applied");
    assert_eq!(
        bench.column("SELECT operation_id || ' ' || title FROM issues"),
        ["op-2 Another"]
    );
}
