//! Three deadlines, three checks: request state, authority, replay retention. No test waits; the clock is moved.

use std::fs;

use crate::support::{Bench, T0, assert_error, assert_refused, issue, structured};

const EXPIRED: Option<&str> = Some("request_state_expired");

#[test]
fn after_authority_even_an_exact_repeat_is_refused_and_status_answers() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_AUTHORITY", "60");
    let (state, result) = server.write(&issue("op-1"), "alpha");
    bench.set_clock(T0 + 120);
    assert_refused(
        &server.answer(&issue("op-1"), &state, "alpha"),
        "operation_authority_expired",
    );
    let status = server.status("op-1");
    assert_eq!(status["state"], "applied");
    assert_eq!(status["observed_at"], "2026-09-22T00:02:00Z");
    assert_eq!(status["result"]["receipt"], result["receipt"]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn after_retention_the_identity_stays_taken() {
    let bench = Bench::new();
    let mut server = bench
        .launch()
        .env("GUARD_AUTHORITY", "360")
        .flag("--retention", "60")
        .start();
    let (state, _) = server.write(&issue("op-1"), "alpha");
    bench.set_clock(T0 + 120);
    assert_refused(
        &server.answer(&issue("op-1"), &state, "alpha"),
        "operation_retention_expired",
    );
    let fresh = server.first_round(&issue("op-1"));
    assert_refused(&server.answer(&issue("op-1"), &fresh, "alpha"), "operation_conflict");
    bench.set_clock(T0 + 660);
    assert_error(&server.answer(&issue("op-1"), &state, "alpha"), -32602, EXPIRED);
    assert_eq!((bench.count("issues"), bench.count("operations")), (1, 1));
}

#[test]
fn a_first_use_that_comes_too_late_writes_nothing() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    bench.set_clock(T0 + 300);
    assert_refused(
        &server.answer(&issue("op-1"), &state, "alpha"),
        "operation_authority_expired",
    );
    bench.set_clock(T0 + 600);
    assert_error(&server.answer(&issue("op-1"), &state, "alpha"), -32602, EXPIRED);
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
}

#[test]
fn the_last_good_second_is_the_one_before_the_deadline() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    bench.set_clock(T0 + 299);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        false
    );
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        true
    );
}

#[test]
fn a_clock_that_vanishes_is_an_error_and_not_a_guess() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    fs::remove_file(bench.clock()).unwrap();
    assert_error(&server.call("create_issue", &issue("op-2")), -32603, None);
    assert_error(&server.answer(&issue("op-1"), &state, "alpha"), -32603, None);
    let status = server.call("get_operation_status", &serde_json::json!({ "operation_id": "op-1" }));
    assert_error(&status, -32603, None);
    bench.set_clock(T0);
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["state"],
        "applied"
    );
}

#[test]
fn a_fixed_clock_needs_no_file() {
    let bench = Bench::new();
    let mut server = bench.launch().env("GUARD_CLOCK", "fixed:1790035260").start();
    assert_eq!(server.status("op-1")["observed_at"], "2026-09-22T00:01:00Z");
}
