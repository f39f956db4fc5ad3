//! Retries: a backoff that doubles, and an end.

use serde_json::json;

use super::support::{execution, gated, plain_issue, submit, submitted};
use crate::support::{Bench, T0, structured};

#[test]
fn attempts_are_counted_backoff_doubles_and_failed_is_final() {
    let bench = Bench::new();
    let mut server = bench.start();
    let failing = json!({ "title": "Title", "body": "alpha", "fail": true });
    let id = submitted(&mut server, "k-1", &failing);
    let work = || bench.operator(&["work", "--worker-id", "A", "--until-idle", "--attempts", "4"]);
    let mut now_s = T0;
    for backoff_s in [5, 10, 20] {
        work();
        bench.set_clock(now_s + backoff_s - 1);
        assert_eq!(bench.reap(), "0 leases expired, 0 retries made ready\n");
        now_s += backoff_s;
        bench.set_clock(now_s);
        assert_eq!(bench.reap(), "0 leases expired, 1 retries made ready\n");
    }
    work();
    assert_eq!(
        bench.column("SELECT CAST(backoff_s AS TEXT) FROM retries ORDER BY attempt"),
        ["5", "10", "20"]
    );
    let told = execution(&mut server, &id);
    assert_eq!((&told["state"], &told["attempts"]), (&json!("failed"), &json!(4)));
    assert_eq!(
        bench.log()[..6],
        [
            "submitted",
            "ready",
            "claimed 1 A",
            "failed 1 A",
            "retry_scheduled",
            "ready"
        ]
    );
    bench.set_clock(now_s + 100);
    assert_eq!(bench.reap(), "0 leases expired, 0 retries made ready\n");
    let again = structured(&submit(&mut server, "k-1", &failing));
    assert_eq!(
        (&again["execution_id"], &again["error"]),
        (&json!(id), &json!("asked to fail"))
    );
    assert_eq!((bench.count("executions"), bench.count("issues")), (1, 0));
}

#[test]
fn an_execution_that_kills_its_workers_ends() {
    let bench = Bench::new();
    let mut server = bench.start();
    let id = submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    for attempt in 1..=3 {
        let worker = bench.worker("A");
        bench.wait_for_events("claimed", attempt);
        worker.kill();
        bench.set_clock(T0 + attempt * 30);
        bench.reap();
    }
    let told = execution(&mut server, &id);
    assert_eq!((&told["state"], &told["attempts"]), (&json!("failed"), &json!(3)));
    assert_eq!(bench.log().last().unwrap(), "failed 3 A");
}

#[test]
fn a_gate_that_stays_closed_ends_the_attempt() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let _worker = bench.worker_with("A", "GUARD_GATE_WAIT", "20");
    bench.wait_for_events("claimed", 1);
    bench.set_clock(T0 + 20);
    bench.wait_for_events("retry_scheduled", 1);
}

#[test]
fn a_waiting_retry_can_be_cancelled() {
    let bench = Bench::new();
    let mut server = bench.start();
    let id = submitted(
        &mut server,
        "k-1",
        &json!({ "title": "Title", "body": "alpha", "fail": true }),
    );
    bench.work_until_idle("A");
    server.call("cancel_execution", &json!({ "execution_id": id }));
    bench.set_clock(T0 + 100);
    assert_eq!(bench.reap(), "0 leases expired, 0 retries made ready\n");
    assert_eq!(execution(&mut server, &id)["state"], "cancelled");
}

/// A line in a file outside the store: what a worker does that dies between it and the completion.
#[test]
fn an_outside_effect_is_at_least_once_and_once_where_the_key_is_handed_on() {
    for (key, lines) in [("none", 2), ("execution-id", 1)] {
        let bench = Bench::new();
        let outside = bench.path("outside.jsonl");
        submitted(&mut bench.start(), "k-1", &plain_issue());
        let work = |id: &str, failpoint: Option<&str>| {
            let arguments = ["work", "--worker-id", id, "--until-idle", "--outside-key", key];
            let launch = bench
                .launch_of(&arguments)
                .env("GUARD_OUTSIDE", outside.to_str().unwrap());
            let launch = failpoint
                .into_iter()
                .fold(launch, |launch, name| launch.env("GUARD_FAILPOINT", name));
            launch.output().status.code()
        };
        assert_eq!(work("A", Some("after-outside-effect")), Some(75));
        bench.set_clock(T0 + 30);
        bench.reap();
        assert_eq!(work("B", None), Some(0));
        let text = std::fs::read_to_string(&outside).unwrap();
        assert_eq!(text.matches("alpha").count(), lines, "{key}");
        assert_eq!(bench.count("issues"), 1);
    }
}
