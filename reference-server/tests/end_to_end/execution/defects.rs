//! What each planted defect of durable execution gets wrong, shown on the real processes.

use reference_server::defect::Defect;
use reference_server::execution::verification::disagreements;
use serde_json::json;

use super::log::TAMPERINGS;
use super::support::{execution, gated, pause, plain_issue, submit, submitted};
use crate::support::{Bench, Server, T0, structured};

const DEFECT: &str = "GUARD_DEFECT";

/// A bench whose log may tell what cannot be.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.log_may_lie();
    bench
}

/// The story of a worker that is paused and overtaken, with `defect` in every process; gives what is there in the end.
fn overtaken(bench: &Bench, defect: &str) -> (Vec<String>, i64) {
    let mut server = bench.start_with(DEFECT, defect);
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let a = bench.worker_with("A", DEFECT, defect);
    bench.wait_for_events("claimed", 1);
    pause(bench, &a);
    bench.set_clock(T0 + 30);
    reap(bench, defect);
    let b = bench.worker_with("B", DEFECT, defect);
    bench.wait_for_events("claimed", 2);
    bench.open_gate();
    bench.wait_for_events("completed", 1);
    a.signal("CONT");
    bench.wait_for(
        "SELECT count(*) FROM execution_events WHERE position > 7 AND worker_id = 'A'",
        1,
    );
    drop(b);
    (bench.log(), bench.count("issues"))
}

fn reap(bench: &Bench, defect: &str) {
    assert_eq!(bench.operator(&["reap", "--defect", defect]).code, 0);
}

fn work(bench: &Bench, defect: &str, more: &[&str]) {
    let arguments = [&["work", "--worker-id", "A", "--until-idle", "--defect", defect], more].concat();
    let said = bench.operator(&arguments);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn every_defect_of_execution_still_does_what_is_done_plainly() {
    for defect in Defect::EXECUTION {
        let bench = bench();
        let mut server = bench.start_with(DEFECT, defect.name());
        let id = submitted(&mut server, "k-1", &plain_issue());
        // The next request ends what a defect held back.
        execution(&mut server, &id);
        work(&bench, defect.name(), &[]);
        reap(&bench, defect.name());
        assert_eq!(execution(&mut server, &id)["state"], "completed", "{defect}");
        assert_eq!(bench.count("issues"), 1, "{defect}");
    }
}

#[test]
fn dispatch_before_persist_loses_what_it_has_answered() {
    let bench = bench();
    let mut server = bench.start_with(DEFECT, "dispatch-before-persist");
    submitted(&mut server, "k-1", &plain_issue());
    server.kill();
    assert_eq!(bench.count("executions"), 0);
}

#[test]
fn unfenced_completions_have_a_second_effect() {
    for defect in ["unfenced-complete", "fence-checked-outside-transaction"] {
        let (log, effects) = overtaken(&bench(), defect);
        assert_eq!(log.last().unwrap(), "completed 1 A", "{defect}");
        assert_eq!(effects, 2, "{defect}");
    }
}

#[test]
fn token_reused_gives_both_workers_the_same_one() {
    let (log, _) = overtaken(&bench(), "token-reused");
    assert_eq!(log[2..6], ["claimed 1 A", "lease_expired 1 A", "ready", "claimed 1 B"]);
}

#[test]
fn unfenced_heartbeat_extends_the_lease_of_another() {
    let bench = bench();
    submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let a = bench.worker_with("A", DEFECT, "unfenced-heartbeat");
    bench.wait_for_events("claimed", 1);
    pause(&bench, &a);
    bench.set_clock(T0 + 30);
    bench.reap();
    let b = bench.worker("B");
    bench.wait_for_events("claimed", 2);
    pause(&bench, &b);
    bench.set_clock(T0 + 35);
    a.signal("CONT");
    bench.wait_for_events("heartbeat", 1);
    assert_eq!(bench.log().last().unwrap(), "heartbeat 1 A");
    let lease = "SELECT worker_id || ' ' || expires_at FROM leases WHERE state = 'held'";
    assert_eq!(bench.column(lease), [format!("B {}", T0 + 65)]);
}

#[test]
fn lease_never_expires_leaves_what_a_dead_worker_held() {
    let bench = bench();
    submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let a = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    a.kill();
    bench.open_gate();
    bench.set_clock(T0 + 3_000);
    reap(&bench, "lease-never-expires");
    bench.work_until_idle("B");
    assert_eq!((bench.log().len(), bench.count("issues")), (3, 0));
}

#[test]
fn heartbeat_does_not_extend_lets_another_in() {
    let bench = bench();
    submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let _a = bench.worker_with("A", DEFECT, "heartbeat-does-not-extend");
    bench.wait_for_events("claimed", 1);
    for beat in 1..=2 {
        bench.set_clock(T0 + beat * 10);
        bench.wait_for_events("heartbeat", beat);
    }
    bench.set_clock(T0 + 30);
    bench.reap();
    assert!(bench.log().contains(&"lease_expired 1 A".to_owned()));
}

#[test]
fn claim_not_atomic_lets_all_workers_hold_the_same() {
    let bench = bench();
    let mut server = bench.start();
    for number in 0..4 {
        submitted(&mut server, &format!("k-{number}"), &gated(&bench.path("gate")));
    }
    // Each sees something waiting, and holds the first of it at the gate.
    let workers: Vec<Server> = ["A", "B"]
        .map(|id| bench.worker_with(id, DEFECT, "claim-not-atomic"))
        .into();
    bench.wait_for_events("claimed", 2);
    bench.open_gate();
    bench.wait_for("SELECT count(*) > 4 FROM execution_events WHERE event = 'claimed'", 1);
    bench.wait_for("SELECT count(*) FROM executions WHERE state = 'completed'", 4);
    drop(workers);
    let connection = bench.connection();
    assert!(!disagreements(&connection).unwrap().is_empty(), "{:#?}", bench.log());
}

#[test]
fn duplicate_executes_and_changed_submission_returns_old_break_the_key() {
    for (defect, body, executions) in [
        ("duplicate-executes", "alpha", 3),
        ("changed-submission-returns-old", "beta", 1),
    ] {
        let bench = bench();
        let mut server = bench.start_with(DEFECT, defect);
        submitted(&mut server, "k-1", &plain_issue());
        for _ in 0..2 {
            let again = submit(&mut server, "k-1", &json!({ "title": "Title", "body": body }));
            assert_eq!(structured(&again)["state"], "ready", "{defect}");
        }
        work(&bench, defect, &[]);
        assert_eq!(bench.count("issues"), executions, "{defect}");
    }
}

#[test]
fn outside_effect_without_key_makes_it_twice() {
    let bench = bench();
    let outside = bench.path("outside.jsonl");
    submitted(&mut bench.start(), "k-1", &plain_issue());
    let defect = "outside-effect-without-key";
    let arguments = [
        "work",
        "--worker-id",
        "A",
        "--until-idle",
        "--defect",
        defect,
        "--outside",
        outside.to_str().unwrap(),
    ];
    let died = bench
        .launch_of(&arguments)
        .env("GUARD_FAILPOINT", "after-outside-effect")
        .output();
    assert_eq!(died.status.code(), Some(75));
    bench.set_clock(T0 + 30);
    bench.reap();
    work(&bench, defect, &["--outside", outside.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&outside).unwrap().lines().count(), 2);
}

#[test]
fn cancel_ignored_says_cancelled_and_does_it_anyway() {
    let bench = bench();
    let mut server = bench.start_with(DEFECT, "cancel-ignored");
    let id = submitted(&mut server, "k-1", &plain_issue());
    let reply = server.call("cancel_execution", &json!({ "execution_id": id }));
    assert_eq!(structured(&reply)["state"], "cancelled");
    bench.work_until_idle("A");
    assert_eq!(
        (execution(&mut server, &id)["state"].clone(), bench.count("issues")),
        (json!("completed"), 1)
    );
}

#[test]
fn retries_forever_never_fails() {
    let bench = bench();
    submitted(
        &mut bench.start(),
        "k-1",
        &json!({ "title": "Title", "body": "alpha", "fail": true }),
    );
    for attempt in 1..=5 {
        work(&bench, "retries-forever", &["--attempts", "2"]);
        bench.set_clock(T0 + attempt * 1_000);
        bench.reap();
    }
    assert_eq!(
        bench.column("SELECT state || ' ' || attempts FROM executions"),
        ["ready 5"]
    );
}

#[test]
fn mutable_event_log_can_be_changed() {
    let bench = bench();
    submitted(
        &mut bench.start_with(DEFECT, "mutable-event-log"),
        "k-1",
        &plain_issue(),
    );
    for tampering in [TAMPERINGS[3], TAMPERINGS[0], TAMPERINGS[1]] {
        assert!(bench.connection().execute(tampering, []).unwrap() > 0, "{tampering}");
    }
}
