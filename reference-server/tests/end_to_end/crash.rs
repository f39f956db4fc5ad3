//! Deaths, errors and panics inside a write, and what the next process finds.

use serde_json::json;

use crate::support::{Bench, assert_error, assert_refused, die, issue, partial, structured};

#[test]
fn a_death_before_the_commit_leaves_nothing_and_the_repeat_writes_once() {
    for (failpoint, code) in [("after-ledger-insert", 71), ("after-effect-insert", 72)] {
        let bench = Bench::new();
        let state = die(bench.start_with("GUARD_FAILPOINT", failpoint), &issue("op-1"), code);
        assert_eq!(bench.count("issues") + bench.count("operations"), 0, "{failpoint}");
        let mut second = bench.start();
        assert_eq!(second.status("op-1")["state"], "unknown", "{failpoint}");
        let replayed =
            [(); 2].map(|()| structured(&second.answer(&issue("op-1"), &state, "alpha"))["replayed"].clone());
        assert_eq!(replayed, [json!(false), json!(true)], "{failpoint}");
        assert_eq!(bench.count("issues"), 1, "{failpoint}");
    }
}

#[test]
fn a_death_after_the_commit_leaves_the_effect_and_the_repeat_is_a_replay() {
    let bench = Bench::new();
    let server = bench.launch().flag("--failpoint", "after-first-commit").start();
    let state = die(server, &issue("op-1"), 73);
    let mut second = bench.start();
    assert_eq!(second.status("op-1")["state"], "applied");
    assert_eq!(
        structured(&second.answer(&issue("op-1"), &state, "alpha"))["replayed"],
        true
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_death_between_the_steps_leaves_the_operation_in_progress_and_unknown() {
    let bench = Bench::new();
    let write = partial("op-1");
    let state = die(bench.start_with("GUARD_FAILPOINT", "after-first-commit"), &write, 73);
    let mut second = bench.start();
    let status = second.status("op-1");
    assert_eq!(
        (&status["state"], &status["authoritative"]),
        (&json!("unknown"), &json!(false))
    );
    assert_refused(&second.answer(&write, &state, "alpha"), "operation_in_progress");
    assert_eq!(bench.column("SELECT state FROM operations"), ["in_progress"]);
    assert_eq!(
        bench.column("SELECT step || ' ' || outcome FROM step_log"),
        ["watcher attempted"]
    );
    let counts = ["issues", "watchers", "compensations"].map(|table| bench.count(table));
    assert_eq!(counts, [1, 0, 0]);
}

#[test]
fn a_death_after_both_commits_of_a_partial_write_is_settled_by_a_replay() {
    let bench = Bench::new();
    let state = die(
        bench.start_with("GUARD_FAILPOINT", "after-second-commit"),
        &partial("op-1"),
        74,
    );
    let mut second = bench.start();
    assert_eq!(second.status("op-1")["state"], "partial");
    let replay = structured(&second.answer(&partial("op-1"), &state, "alpha"));
    assert_eq!(
        (&replay["state"], &replay["replayed"]),
        (&json!("partial"), &json!(true))
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn the_second_failpoint_is_not_reached_by_a_write_of_one_transaction() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_FAILPOINT", "after-second-commit");
    server.write(&issue("op-1"), "alpha");
    assert!(server.close().success());
}

#[test]
fn a_reply_means_that_the_effect_survives_sigkill() {
    let bench = Bench::new();
    let mut server = bench.start();
    let (state, first) = server.write(&issue("op-1"), "alpha");
    server.kill();
    let mut second = bench.start();
    let repeat = structured(&second.answer(&issue("op-1"), &state, "alpha"));
    assert_eq!(
        (&repeat["replayed"], &repeat["receipt"]),
        (&json!(true), &first["receipt"])
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_failed_effect_is_rolled_back_and_the_same_call_works_later() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_FAILPOINT", "fail-after-effect-insert");
    let state = server.first_round(&issue("op-1"));
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "effect_failed");
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
    let replayed = [(); 2].map(|()| structured(&server.answer(&issue("op-1"), &state, "alpha"))["replayed"].clone());
    assert_eq!(replayed, [json!(false), json!(true)]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_panic_is_answered_rolled_back_and_survived() {
    for failpoint in ["panic-in-tool", "panic-in-ledger"] {
        let bench = Bench::new();
        let mut before = bench.start();
        let state = before.first_round(&issue("op-1"));
        before.close();
        let mut server = bench.start_with("GUARD_FAILPOINT", failpoint);
        assert_error(&server.answer(&issue("op-1"), &state, "alpha"), -32603, None);
        assert_eq!(bench.count("issues") + bench.count("operations"), 0, "{failpoint}");
        assert_eq!(server.status("op-1")["state"], "unknown", "{failpoint}");
        let again = structured(&server.answer(&issue("op-1"), &state, "alpha"));
        assert_eq!(again["replayed"], false, "{failpoint}");
        assert_eq!(bench.count("issues"), 1, "{failpoint}");
        assert!(server.close().success(), "{failpoint}");
    }
}
