//! Defects of what replies and status tell.

use serde_json::json;

use crate::support::{Bench, die, issue, partial, stored, structured};

#[test]
fn absent_means_not_applied_claims_what_nobody_knows() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "absent-means-not-applied");
    server.first_round(&issue("op-1"));
    let status = server.status("op-1");
    assert_eq!(
        (&status["state"], &status["authoritative"]),
        (&json!("not_applied"), &json!(true))
    );
    server.close();
    // A row that was left in progress is claimed not to be applied, while its effect is there.
    let launch = bench.launch().env("GUARD_DEFECT", "absent-means-not-applied");
    die(
        launch.env("GUARD_FAILPOINT", "after-first-commit").start(),
        &partial("op-2"),
        73,
    );
    let mut second = bench.start_with("GUARD_DEFECT", "absent-means-not-applied");
    assert_eq!(second.status("op-2")["state"], "not_applied");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn status_authorises_write_says_so_in_every_state() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "status-authorises-write");
    server.write(&issue("op-1"), "alpha");
    for (operation_id, state) in [("op-1", "applied"), ("op-2", "unknown")] {
        let status = server.status(operation_id);
        assert_eq!(
            (&status["state"], &status["fresh_write_authorized"]),
            (&json!(state), &json!(true))
        );
    }
}

#[test]
fn status_ignores_principal_tells_bob_what_alice_got() {
    let bench = Bench::new();
    let mut alice = bench.start();
    let (_, result) = alice.write(&issue("op-1"), "alpha");
    alice.close();
    let launch = bench.launch().env("GUARD_PRINCIPAL", "bob");
    let mut bob = launch.env("GUARD_DEFECT", "status-ignores-principal").start();
    assert_eq!(bob.status("op-1")["result"], stored(&result));
    assert_eq!(bob.status("op-2")["state"], "unknown");
}

#[test]
fn replay_recomputes_result_answers_with_a_new_receipt_and_one_effect() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "replay-recomputes-result");
    let (state, first) = server.write(&issue("op-1"), "alpha");
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(repeat["replayed"], true);
    assert_ne!(repeat["receipt"], first["receipt"]);
    assert_eq!(server.status("op-1")["result"], stored(&first));
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn conflict_discloses_result_in_the_refusal() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "conflict-discloses-result");
    let (state, first) = server.write(&issue("op-1"), "alpha");
    let refusal = structured(&server.answer(&issue("op-1"), &state, "beta"));
    assert_eq!(refusal["reason"], "operation_conflict");
    assert_eq!(refusal["result"], stored(&first));
}

#[test]
fn compensation_hides_effect_that_stays() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "compensation-hides-effect");
    let (state, first) = server.write(&partial("op-1"), "alpha");
    assert_eq!((&first["state"], &first["issue_id"]), (&json!("partial"), &json!(null)));
    assert_eq!(
        stored(&structured(&server.answer(&partial("op-1"), &state, "alpha"))),
        stored(&first)
    );
    assert_eq!(server.status("op-1")["effect_ids"], json!([]));
    assert_eq!(bench.column("SELECT outcome FROM compensations"), ["done"]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn partial_reported_applied_in_both_replies_and_in_the_ledger() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "partial-reported-applied");
    let (state, first) = server.write(&partial("op-1"), "alpha");
    let repeat = structured(&server.answer(&partial("op-1"), &state, "alpha"));
    assert_eq!(
        (&first["state"], &repeat["state"]),
        (&json!("applied"), &json!("applied"))
    );
    assert_eq!(bench.column("SELECT state FROM operations"), ["applied"]);
    assert_eq!(bench.column("SELECT outcome FROM compensations"), ["failed"]);
}
