//! Each planted defect gets one thing wrong, and only that.

use serde_json::json;

use crate::support::{Bench, assert_refused, issue, stored, structured};

#[test]
fn no_ledger_writes_again_and_knows_nothing() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "no-ledger");
    let (state, first) = server.write(&issue("op-1"), "alpha");
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(repeat["replayed"], false);
    assert_ne!(repeat["receipt"], first["receipt"]);
    assert_eq!(server.status("op-1")["state"], "unknown");
    assert_eq!((bench.count("issues"), bench.count("operations")), (2, 0));
}

#[test]
fn memory_ledger_replays_until_it_is_restarted() {
    let bench = Bench::new();
    let launch = || bench.launch().flag("--defect", "memory-ledger").start();
    let mut server = launch();
    let (state, first) = server.write(&issue("op-1"), "alpha");
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(stored(&repeat), stored(&first));
    assert_refused(&server.answer(&issue("op-1"), &state, "beta"), "operation_conflict");
    assert_eq!(server.status("op-1")["state"], "applied");
    assert_eq!(bench.count("issues"), 1);
    server.kill();
    let mut second = launch();
    assert_eq!(second.status("op-1")["state"], "unknown");
    assert_eq!(
        structured(&second.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        false
    );
    assert_eq!((bench.count("issues"), bench.count("operations")), (2, 0));
}

#[test]
fn same_reply_two_effects_is_seen_in_the_store_only() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "same-reply-two-effects");
    let (state, first) = server.write(&issue("op-1"), "alpha");
    let repeat = structured(&server.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(repeat["replayed"], true);
    assert_eq!(stored(&repeat), stored(&first));
    assert_eq!(server.status("op-1")["effect_ids"], json!([first["issue_id"]]));
    assert_eq!((bench.count("issues"), bench.count("operations")), (2, 1));
}

#[test]
fn reply_before_commit_loses_the_write_to_sigkill() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "reply-before-commit");
    let (state, first) = server.write(&issue("op-1"), "alpha");
    assert_eq!(bench.count("issues"), 0);
    server.kill();
    assert_eq!((bench.count("issues"), bench.count("operations")), (0, 0));
    let mut second = bench.start();
    let again = structured(&second.answer(&issue("op-1"), &state, "alpha"));
    assert_ne!(again["receipt"], first["receipt"]);
}

#[test]
fn reply_before_commit_commits_on_the_next_request_and_at_the_end() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "reply-before-commit");
    server.write(&issue("op-1"), "alpha");
    assert_eq!(server.status("op-1")["state"], "applied");
    assert_eq!(bench.count("issues"), 1);
    let (state, _) = server.write(&issue("op-2"), "alpha");
    assert_eq!(bench.count("issues"), 1);
    assert_eq!(
        structured(&server.answer(&issue("op-2"), &state, "alpha"))["replayed"],
        true
    );
    server.write(&issue("op-3"), "alpha");
    assert_eq!(bench.count("issues"), 2);
    assert!(server.close().success());
    assert_eq!(bench.count("issues"), 3);
}

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
