//! What an operator does beside the server: looks at a store, and settles what a crash left in progress.

use serde_json::{Value, json};

use crate::support::{Bench, T0, assert_refused, die, issue, partial, stored, structured};

/// A store whose operation `op-1` is in progress, with its effect; gives the state of its request.
fn left_in_progress(bench: &Bench) -> String {
    die(
        bench.start_with("GUARD_FAILPOINT", "after-first-commit"),
        &partial("op-1"),
        73,
    )
}

/// A store whose operation `op-1` is in progress, without an effect.
fn left_without_effect(bench: &Bench) -> String {
    let launch = bench.launch().env("GUARD_DEFECT", "ledger-before-effect");
    die(
        launch.env("GUARD_FAILPOINT", "after-ledger-insert").start(),
        &issue("op-1"),
        71,
    )
}

const STEPS: &str = "SELECT step || ' ' || outcome || coalesce(': ' || detail, '') FROM step_log ORDER BY seq";

#[test]
fn what_is_settled_as_applied_is_replayed_and_status_says_so() {
    let bench = Bench::new();
    let state = left_in_progress(&bench);
    bench.set_clock(T0 + 60);
    let said = bench.operator(&["reconcile", "op-1", "--applied", "--reason", "issue 1 is there"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    assert_eq!(
        said.stdout,
        "operation \"op-1\" is settled as applied; its effect is issue 1\n"
    );
    let steps = ["watcher attempted", "reconcile applied: issue 1 is there"];
    assert_eq!(bench.column(STEPS), steps);
    let mut server = bench.start();
    let replay = structured(&server.answer(&partial("op-1"), &state, "alpha"));
    assert_eq!(
        (&replay["state"], &replay["replayed"]),
        (&json!("applied"), &json!(true))
    );
    let status = server.status("op-1");
    assert_eq!(
        (&status["state"], &status["authoritative"]),
        (&json!("applied"), &json!(true))
    );
    assert_eq!(
        (&status["effect_ids"], &status["result"]),
        (&json!([1]), &stored(&replay))
    );
    let counts = ["issues", "watchers", "compensations"].map(|table| bench.count(table));
    assert_eq!(counts, [1, 0, 0]);
}

#[test]
fn what_is_settled_as_not_applied_stays_taken_and_unknown_to_status() {
    let bench = Bench::new();
    let state = left_in_progress(&bench);
    let said = bench.operator(&[
        "reconcile",
        "op-1",
        "--not-applied",
        "--reason",
        "moved to another tracker",
    ]);
    assert_eq!(said.code, 0, "{said:?}");
    let expected = "operation \"op-1\" is settled as not_applied; the store still holds what it wrote: issue 1\n";
    assert_eq!(said.stdout, expected);
    let mut server = bench.start();
    assert_refused(
        &server.answer(&partial("op-1"), &state, "alpha"),
        "operation_not_applied",
    );
    assert_refused(&server.answer(&partial("op-1"), &state, "beta"), "operation_conflict");
    let status = server.status("op-1");
    assert_eq!(
        (&status["state"], &status["authoritative"]),
        (&json!("unknown"), &json!(false))
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn the_same_decision_again_says_so_and_another_one_is_refused() {
    let bench = Bench::new();
    left_in_progress(&bench);
    bench.operator(&["reconcile", "op-1", "--applied", "--reason", "seen"]);
    let before = bench.files();
    bench.set_clock(T0 + 60);
    let again = bench.operator(&["reconcile", "op-1", "--applied", "--reason", "seen twice"]);
    let expected =
        "operation \"op-1\" was already settled as applied at 2026-09-22T00:00:00Z (\"seen\"); nothing was changed\n";
    assert_eq!((again.code, again.stdout.as_str()), (0, expected), "{again:?}");
    let other = bench.operator(&["reconcile", "op-1", "--not-applied", "--reason", "not seen"]);
    assert_eq!((other.code, other.stdout.as_str()), (1, ""), "{other:?}");
    assert!(other.stderr.contains("a decision is final"), "{other:?}");
    bench.set_clock(T0);
    assert_eq!(bench.files(), before);
}

#[test]
fn what_is_not_in_progress_is_refused() {
    let bench = Bench::new();
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    server.write(&partial("op-2"), "alpha");
    server.first_round(&issue("op-3"));
    for (operation_id, words) in [
        ("op-1", "ended as applied"),
        ("op-2", "ended as partial"),
        ("op-3", "on record"),
    ] {
        for decision in ["--applied", "--not-applied"] {
            let said = bench.operator(&["reconcile", operation_id, decision, "--reason", "r"]);
            assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{said:?}");
            assert!(said.stderr.contains(words), "{said:?}");
            assert_eq!(said.stderr.matches('\n').count(), 1, "{said:?}");
        }
    }
    assert_eq!(bench.column("SELECT state FROM operations"), ["applied", "partial"]);
}

#[test]
fn without_an_effect_only_not_applied_can_be_said() {
    let bench = Bench::new();
    let state = left_without_effect(&bench);
    let said = bench.operator(&["reconcile", "op-1", "--applied", "--reason", "r"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("use --not-applied"), "{said:?}");
    let said = bench.operator(&["reconcile", "op-1", "--not-applied", "--reason", "no issue is there"]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (0, "operation \"op-1\" is settled as not_applied\n")
    );
    let mut server = bench.start();
    assert_refused(&server.answer(&issue("op-1"), &state, "alpha"), "operation_not_applied");
    assert_eq!(bench.count("issues"), 0);
}

#[test]
fn a_decision_needs_a_side_a_reason_and_the_right_store() {
    let bench = Bench::new();
    left_in_progress(&bench);
    let rows: &[(&[&str], &[&str])] = &[
        (&["reconcile", "op-1", "--reason", "r"], &["--applied", "--not-applied"]),
        (
            &["reconcile", "op-1", "--applied", "--not-applied", "--reason", "r"],
            &["cannot be used with"],
        ),
        (&["reconcile", "op-1", "--applied"], &["--reason"]),
        (
            &["reconcile", "op-1", "--applied", "--reason", ""],
            &["--reason is empty"],
        ),
        (
            &["reconcile", "op-1", "--applied", "--reason", "a\nb"],
            &["--reason", "printable"],
        ),
        (
            &[
                "reconcile",
                "op-1",
                "--applied",
                "--reason",
                "r",
                "--backend",
                "sqlite:x",
            ],
            &["bound to the backend"],
        ),
        (
            &["reconcile", "op-1", "--applied", "--reason", "r", "--clock", "soon"],
            &["GUARD_CLOCK"],
        ),
        (
            &["reconcile", "op-1", "--applied", "--reason", "r", "--retention", "0"],
            &["GUARD_RETENTION"],
        ),
    ];
    for (arguments, words) in rows {
        let said = bench.operator(arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
        assert!(
            words.iter().all(|word| said.stderr.contains(word)),
            "{words:?}: {said:?}"
        );
    }
    assert_eq!(bench.column("SELECT state FROM operations"), ["in_progress"]);
    let lock = bench.lock();
    let said = bench.operator(&[
        "reconcile",
        "op-1",
        "--applied",
        "--reason",
        "r",
        "--busy-timeout-ms",
        "1",
    ]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("try again"), "{said:?}");
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(bench.column("SELECT state FROM operations"), ["in_progress"]);
}

#[test]
fn an_operator_makes_no_store() {
    let bench = Bench::new();
    for arguments in [&["inspect"][..], &["reconcile", "op-1", "--applied", "--reason", "r"]] {
        let said = bench.operator(arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
        assert!(said.stderr.contains("there is no store"), "{said:?}");
    }
    assert!(!bench.store().exists());
}

/// A part of a store's content must not be taken for the whole of it.
#[test]
fn an_operator_whose_output_cannot_be_written_is_told() {
    let bench = Bench::new();
    bench.start().close();
    for words in [&["inspect"][..], &["inspect", "--format", "json"], &["reap"]] {
        let said = bench.operator_unheard(words);
        assert_eq!(said.code, 1, "{said:?}");
        let told = "cannot write the output: No space left on device";
        assert!(said.stderr.contains(told), "{said:?}");
    }
}

#[test]
fn inspect_shows_operations_effects_and_steps() {
    let bench = Bench::new();
    let mut server = bench.start();
    server.write(&json!({ "operation_id": "op-0", "title": "quoted \u{202e}" }), "alpha");
    server.close();
    left_in_progress(&bench);
    let said = bench.operator(&["inspect"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    for words in [
        "store of backend \"sqlite:test\", schema 3",
        "operation \"op-0\": applied",
        "issue 1 \"quoted \\u{202e}\", body of 5 bytes, 2026-09-22T00:00:00Z",
        "operation \"op-1\": in_progress",
        "watcher attempted",
        "{\"operation_id\":\"op-0\",\"state\":\"applied\"",
        "`reconcile` it",
    ] {
        assert!(said.stdout.contains(words), "{words:?} is not in {}", said.stdout);
    }
    let said = bench.operator(&["inspect", "op-1", "--format", "json"]);
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown["operations"].as_array().unwrap().len(), 1);
    assert_eq!(shown["operations"][0]["state"], "in_progress");
    assert_eq!(shown["effects"][0]["body"], "alpha");
    assert_eq!(shown["step_log"][0]["outcome"], "attempted");
    let said = bench.operator(&["inspect", "op-9"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{said:?}");
    assert!(said.stderr.contains("op-9"), "{said:?}");
}

#[test]
fn inspect_shows_effects_that_no_operation_owns() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_DEFECT", "no-ledger");
    server.write(&issue("op-1"), "alpha");
    server.close();
    let said = bench.operator(&["inspect"]);
    assert!(said.stdout.contains("operation \"op-1\": not on record"), "{said:?}");
    assert_eq!(bench.operator(&["inspect", "op-1"]).code, 0);
}

/// A server that works, one that was killed, one that ended, and a copy without its scratch file: nothing changes in any.
#[test]
fn inspect_changes_no_byte_and_leaves_no_file() {
    let bench = Bench::new();
    let unchanged_by_inspect = |moment: &str| {
        let before = bench.files();
        let said = bench.operator(&["inspect", "--format", "json"]);
        assert_eq!(said.code, 0, "{moment}: {said:?}");
        let shown: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(shown["operations"][0]["state"], "applied", "{moment}");
        let (mut before, mut after) = (before, bench.files());
        // The lock file of whoever has the store open belongs to all of them, readers too.
        for files in [&mut before, &mut after] {
            files.entry("store.sqlite3-shm".to_owned()).and_modify(Vec::clear);
        }
        assert_eq!(after, before, "{moment}");
    };
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    unchanged_by_inspect("while the server runs");
    let lock = bench.lock();
    unchanged_by_inspect("while somebody writes");
    drop(lock);
    server.write(&issue("op-2"), "alpha");
    server.kill();
    unchanged_by_inspect("after a kill");
    std::fs::remove_file(format!("{}-shm", bench.store().display())).unwrap();
    unchanged_by_inspect("without the scratch file");
    bench.start().close();
    assert_eq!(bench.files().keys().collect::<Vec<_>>(), ["clock", "store.sqlite3"]);
    unchanged_by_inspect("after a clean end");
}
