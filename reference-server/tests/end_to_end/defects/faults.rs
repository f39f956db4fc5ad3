//! Defects that show under deaths, errors, locks and cancellations.

use serde_json::json;

use crate::support::{Bench, accept, assert_refused, continuation, issue, structured};

#[test]
fn busy_writes_anyway_when_the_next_request_arrives() {
    let bench = Bench::new();
    let launch = bench.launch().env("GUARD_BUSY_TIMEOUT_MS", "1");
    let mut server = launch.env("GUARD_DEFECT", "busy-writes-anyway").start();
    let state = server.first_round(&issue("op-1"));
    let lock = bench.lock();
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "ledger_busy");
    // While the lock is held it is kept back.
    assert_eq!(server.status("op-1")["state"], "unknown");
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(bench.count("issues"), 0);
    assert_eq!(server.status("op-1")["state"], "applied");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn busy_writes_anyway_at_the_end_of_stdin() {
    let bench = Bench::new();
    let launch = bench.launch().env("GUARD_BUSY_TIMEOUT_MS", "1");
    let mut server = launch.env("GUARD_DEFECT", "busy-writes-anyway").start();
    let state = server.first_round(&issue("op-1"));
    let lock = bench.lock();
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "ledger_busy");
    lock.execute_batch("ROLLBACK").unwrap();
    assert!(server.close().success());
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn error_leaves_effect_although_it_says_that_nothing_was_written() {
    let bench = Bench::new();
    let launch = bench.launch().env("GUARD_FAILPOINT", "fail-after-effect-insert");
    let mut server = launch.env("GUARD_DEFECT", "error-leaves-effect").start();
    let state = server.first_round(&issue("op-1"));
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "effect_failed");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn cancel_forgets_effect_so_that_the_same_write_writes_again() {
    let bench = Bench::new();
    let launch = bench.launch().env("GUARD_BUSY_TIMEOUT_MS", "30000");
    let mut server = launch.env("GUARD_DEFECT", "cancel-forgets-effect").start();
    let state = server.first_round(&issue("op-1"));
    let lock = bench.lock();
    let params = continuation(&issue("op-1"), &state, &accept("alpha"));
    let id = server.begin("tools/call", &params, &json!({ "elicitation": {} }));
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    // The listing does not wait for the ledger: when it is answered, the cancellation has been read.
    server.request("tools/list", &json!({}));
    lock.execute_batch("ROLLBACK").unwrap();
    let later = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(later["replayed"], false);
    assert_eq!((bench.count("issues"), bench.count("operations")), (2, 1));
    // What was not cancelled is kept.
    assert_eq!(
        structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        true
    );
}
