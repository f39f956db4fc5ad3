//! How a server begins and ends.

use serde_json::json;

use crate::support::{Bench, accept, continuation, issue};

#[test]
fn the_end_of_stdin_is_a_clean_end_early_and_late() {
    let bench = Bench::new();
    assert_eq!(bench.start().close().code(), Some(0));
    let mut server = bench.start();
    server.request("server/discover", &json!({}));
    assert_eq!(server.close().code(), Some(0));
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    assert_eq!(server.close().code(), Some(0));
    let output = bench.launch().output();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn calls_in_flight_are_answered_before_the_end_of_stdin_ends_the_server() {
    let bench = Bench::new();
    let mut server = bench.start();
    let state = server.first_round(&issue("op-1"));
    server.begin(
        "tools/call",
        &continuation(&issue("op-1"), &state, &accept("alpha")),
        &json!({ "elicitation": {} }),
    );
    assert_eq!(server.close().code(), Some(0));
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn sigterm_is_a_clean_end_with_stdin_still_open() {
    let bench = Bench::new();
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(bench.count("issues"), 1);
    // A discovery alone opens no session; the end is the same.
    let mut server = bench.start();
    server.request("server/discover", &json!({}));
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_first_message_that_is_no_request_is_one_line_and_a_failure() {
    let bench = Bench::new();
    let mut server = bench.start_with_stderr();
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/\u{1b}[2J" }));
    let (status, complaint) = server.ended_with_complaint();
    assert_eq!(status.code(), Some(1));
    assert_eq!(complaint.matches('\n').count(), 1, "{complaint}");
    assert!(complaint.contains("the first message is no request"), "{complaint}");
}

#[test]
fn sigterm_does_not_wait_for_a_locked_store() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_BUSY_TIMEOUT_MS", "30000");
    let state = server.first_round(&issue("op-1"));
    let lock = bench.lock();
    let params = continuation(&issue("op-1"), &state, &accept("alpha"));
    server.begin("tools/call", &params, &json!({ "elicitation": {} }));
    server.request("tools/list", &json!({}));
    server.signal("TERM");
    // The lock is held until the server has ended.
    assert_eq!(server.ended().code(), Some(0));
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
}

#[test]
fn a_store_is_left_whole_in_one_file() {
    let bench = Bench::new();
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    server.close();
    let name = bench.store().display().to_string();
    for suffix in ["-wal", "-shm", "-journal"] {
        assert!(
            !std::path::Path::new(&format!("{name}{suffix}")).exists(),
            "{suffix} was left"
        );
    }
}
