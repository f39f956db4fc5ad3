//! Defects of what is on record, and when.

use serde_json::json;

use crate::support::{Bench, accept, assert_refused, continuation, die, issue, partial, stored, structured};

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

/// Without it the second write of the same data would be a second effect.
#[test]
fn dedupe_by_content_drops_a_write_under_a_new_identity() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "dedupe-by-content");
    let (_, first) = server.write(&issue("op-1"), "alpha");
    server.kill();
    let mut second = bench.start_with("GUARD_DEFECT", "dedupe-by-content");
    let (_, fresh) = second.write(&issue("op-2"), "alpha");
    assert_eq!(
        (&fresh["replayed"], &fresh["receipt"]),
        (&json!(true), &first["receipt"])
    );
    let state = second.first_round(&issue("op-1"));
    assert_refused(&second.answer(&issue("op-1"), &state, "beta"), "operation_conflict");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn effect_before_ledger_leaves_an_effect_without_a_record() {
    for (failpoint, code) in [("after-effect-insert", 72), ("after-first-commit", 73)] {
        for write in [issue("op-1"), partial("op-1")] {
            let bench = Bench::new();
            let launch = || bench.launch().env("GUARD_DEFECT", "effect-before-ledger");
            let state = die(launch().env("GUARD_FAILPOINT", failpoint).start(), &write, code);
            assert_eq!(
                (bench.count("issues"), bench.count("operations")),
                (1, 0),
                "{failpoint}"
            );
            let mut second = launch().start();
            assert_eq!(second.status("op-1")["state"], "unknown");
            assert_eq!(structured(&second.answer(&write, &state, "alpha"))["replayed"], false);
            assert_eq!(bench.count("issues"), 2, "{failpoint}");
        }
    }
}

#[test]
fn ledger_before_effect_leaves_a_record_without_an_effect() {
    for (failpoint, code) in [
        ("after-ledger-insert", 71),
        ("after-effect-insert", 72),
        ("after-first-commit", 73),
    ] {
        let bench = Bench::new();
        let launch = || bench.launch().env("GUARD_DEFECT", "ledger-before-effect");
        let state = die(launch().env("GUARD_FAILPOINT", failpoint).start(), &issue("op-1"), code);
        assert_eq!(
            (bench.count("issues"), bench.count("operations")),
            (0, 1),
            "{failpoint}"
        );
        let mut second = launch().start();
        assert_refused(&second.answer(&issue("op-1"), &state, "alpha"), "operation_in_progress");
        assert_eq!(bench.count("issues"), 0, "{failpoint}");
    }
}

#[test]
fn after_the_second_of_two_commits_both_are_there() {
    for defect in ["effect-before-ledger", "ledger-before-effect"] {
        let bench = Bench::new();
        let launch = || bench.launch().env("GUARD_DEFECT", defect);
        let state = die(
            launch().env("GUARD_FAILPOINT", "after-second-commit").start(),
            &issue("op-1"),
            74,
        );
        assert_eq!((bench.count("issues"), bench.count("operations")), (1, 1), "{defect}");
        let mut second = launch().start();
        assert_eq!(
            structured(&second.answer(&issue("op-1"), &state, "alpha"))["replayed"],
            true,
            "{defect}"
        );
    }
}

/// The two are released together, and it does not matter which one is first, or how late the other one is.
#[test]
fn lookup_outside_transaction_misses_what_another_process_wrote() {
    let bench = Bench::new();
    let launch = || {
        let launch = bench.launch().env("GUARD_BUSY_TIMEOUT_MS", "30000");
        launch.env("GUARD_DEFECT", "lookup-outside-transaction").start()
    };
    let (mut one, mut other) = (launch(), launch());
    let state = one.first_round(&issue("op-1"));
    other.first_round(&issue("warm-up"));
    let first = structured(&one.answer(&issue("op-1"), &state, "alpha"));
    let second = structured(&other.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(
        (&first["replayed"], &second["replayed"]),
        (&json!(false), &json!(false))
    );
    assert_eq!((bench.count("issues"), bench.count("operations")), (2, 1));
    // Alone it looks right, also after a restart.
    for server in [&mut other, &mut launch()] {
        assert_eq!(
            structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"],
            true
        );
    }
    let params = continuation(&issue("op-1"), &state, &accept("beta"));
    assert_refused(&other.request("tools/call", &params), "operation_conflict");
    assert_eq!(bench.count("issues"), 2);
}
