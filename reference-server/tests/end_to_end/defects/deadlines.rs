//! Defects of what expires.

use crate::support::{Bench, T0, assert_error, assert_refused, issue, stored, structured};

#[test]
fn no_state_ttl_gets_past_the_expiry_of_the_state() {
    let bench = Bench::new();
    let launch = bench
        .launch()
        .env("GUARD_AUTHORITY", "360")
        .env("GUARD_RETENTION", "60");
    let mut server = launch.env("GUARD_DEFECT", "no-state-ttl").start();
    let (state, _) = server.write(&issue("op-1"), "alpha");
    bench.set_clock(T0 + 660);
    assert_refused(
        &server.answer(&issue("op-1"), &state, "alpha"),
        "operation_authority_expired",
    );
}

#[test]
fn no_authority_deadline_replays_and_applies_too_late() {
    let bench = Bench::new();
    let launch = bench
        .launch()
        .env("GUARD_AUTHORITY", "60")
        .env("GUARD_RETENTION", "360");
    let mut server = launch.env("GUARD_DEFECT", "no-authority-deadline").start();
    let (state, _) = server.write(&issue("op-1"), "alpha");
    let unused = server.first_round(&issue("op-2"));
    bench.set_clock(T0 + 120);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        true
    );
    assert_eq!(
        structured(&server.answer(&issue("op-2"), &unused, "alpha"))["replayed"],
        false
    );
    bench.set_clock(T0 + 360);
    assert_refused(
        &server.answer(&issue("op-1"), &state, "alpha"),
        "operation_retention_expired",
    );
}

#[test]
fn no_retention_deadline_replays_too_late() {
    let bench = Bench::new();
    let launch = bench
        .launch()
        .env("GUARD_AUTHORITY", "360")
        .env("GUARD_RETENTION", "60");
    let mut server = launch.env("GUARD_DEFECT", "no-retention-deadline").start();
    let (state, first) = server.write(&issue("op-1"), "alpha");
    bench.set_clock(T0 + 120);
    assert_eq!(
        stored(&structured(&server.answer(&issue("op-1"), &state, "alpha"))),
        stored(&first)
    );
    bench.set_clock(T0 + 660);
    assert_error(
        &server.answer(&issue("op-1"), &state, "alpha"),
        -32602,
        Some("request_state_expired"),
    );
}

#[test]
fn purged_tombstone_writes_again_under_a_used_identity() {
    let bench = Bench::new();
    let launch = bench
        .launch()
        .env("GUARD_AUTHORITY", "360")
        .env("GUARD_RETENTION", "60");
    let mut server = launch.env("GUARD_DEFECT", "purged-tombstone").start();
    let (state, _) = server.write(&issue("op-1"), "alpha");
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        true
    );
    bench.set_clock(T0 + 120);
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        false
    );
    assert_eq!((bench.count("issues"), bench.count("operations")), (2, 1));
}
