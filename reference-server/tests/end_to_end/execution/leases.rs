//! Leases: paused, killed, overtaken, cancelled and politely ended workers.

use serde_json::json;

use super::support::{execution, gated, pause, plain_issue, submitted};
use crate::support::{Bench, T0};

/// A holds an execution at a closed gate, is paused, and its lease has expired; gives A.
fn overtaken(bench: &Bench, name: &str, value: &str) -> crate::support::Server {
    let mut server = bench.start();
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let a = bench.worker_with("A", name, value);
    bench.wait_for_events("claimed", 1);
    pause(bench, &a);
    bench.set_clock(T0 + 30);
    assert_eq!(bench.reap(), "1 leases expired, 0 retries made ready\n");
    a
}

#[test]
fn a_worker_that_wakes_too_late_is_refused_by_its_token() {
    let bench = Bench::new();
    let a = overtaken(&bench, "LANG", "C");
    let b = bench.worker("B");
    bench.wait_for_events("claimed", 2);
    bench.open_gate();
    bench.wait_for_events("completed", 1);
    a.signal("CONT");
    bench.wait_for_events("stale_rejected", 1);
    let expected = [
        "submitted",
        "ready",
        "claimed 1 A",
        "lease_expired 1 A",
        "ready",
        "claimed 2 B",
        "completed 2 B",
        "stale_rejected 1 A",
    ];
    assert_eq!(bench.log(), expected);
    let refused = "SELECT json_extract(detail, '$.refused') FROM execution_events WHERE event = 'stale_rejected'";
    assert_eq!(bench.column(refused), ["complete"]);
    assert_eq!(bench.count("issues"), 1);
    // It is refused, and goes on with other work.
    b.signal("TERM");
    assert_eq!(b.ended().code(), Some(0));
    submitted(&mut bench.start(), "k-2", &plain_issue());
    bench.wait_for_events("completed", 2);
    assert_eq!(bench.log().last().unwrap(), "completed 1 A");
}

#[test]
fn a_stale_heartbeat_is_refused_and_moves_no_lease() {
    let bench = Bench::new();
    let a = overtaken(&bench, "LANG", "C");
    let _b = bench.worker("B");
    bench.wait_for_events("claimed", 2);
    let lease = "SELECT worker_id || ' ' || expires_at FROM leases WHERE state = 'held'";
    let before = bench.column(lease);
    a.signal("CONT");
    bench.wait_for_events("stale_rejected", 1);
    assert_eq!(bench.column(lease), before);
    bench.open_gate();
    bench.wait_for_events("completed", 1);
    let refused = "SELECT json_extract(detail, '$.refused') FROM execution_events WHERE event = 'stale_rejected'";
    assert_eq!(bench.column(refused), ["heartbeat"]);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn what_a_killed_worker_held_is_done_by_another() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let a = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    a.kill();
    bench.open_gate();
    bench.set_clock(T0 + 29);
    assert_eq!(bench.reap(), "0 leases expired, 0 retries made ready\n");
    bench.set_clock(T0 + 30);
    assert_eq!(bench.reap(), "1 leases expired, 0 retries made ready\n");
    bench.work_until_idle("A");
    let tail = ["lease_expired 1 A", "ready", "claimed 2 A", "completed 2 A"];
    assert_eq!(bench.log()[3..], tail);
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn heartbeats_keep_a_lease_over_three_of_its_lengths() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let _a = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    let (_b, _reaper) = (bench.worker("B"), bench.reaper());
    for beat in 1..=9 {
        bench.set_clock(T0 + beat * 10);
        bench.wait_for_events("heartbeat", beat);
    }
    bench.open_gate();
    bench.wait_for_events("completed", 1);
    assert_eq!(
        bench.log().iter().filter(|event| event.starts_with("claimed")).count(),
        1
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn what_is_cancelled_while_a_worker_holds_it_has_no_effect() {
    let bench = Bench::new();
    let mut server = bench.start();
    let id = submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let a = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    let reply = server.call("cancel_execution", &json!({ "execution_id": id }));
    assert_eq!(reply["result"]["structuredContent"]["state"], "cancelled", "{reply}");
    bench.open_gate();
    bench.wait_for_events("stale_rejected", 1);
    assert_eq!(bench.log()[2..], ["claimed 1 A", "cancelled", "stale_rejected 1 A"]);
    assert_eq!(execution(&mut server, &id)["state"], "cancelled");
    assert_eq!(bench.count("issues"), 0);
    a.kill();
}

#[test]
fn a_worker_that_is_told_to_end_gives_back_what_it_holds() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    for (signal, token) in [("TERM", 1), ("INT", 2)] {
        let a = bench.worker("A");
        bench.wait_for_events("claimed", token);
        a.signal(signal);
        assert_eq!(a.ended().code(), Some(0));
        assert_eq!(bench.log().last().unwrap(), &format!("ready {token} A"));
    }
    bench.open_gate();
    bench.work_until_idle("B");
    assert_eq!(bench.log().last().unwrap(), "completed 3 B");
    assert_eq!(bench.column("SELECT CAST(attempts AS TEXT) FROM executions"), ["1"]);
    let leases = bench.column("SELECT state FROM leases ORDER BY token");
    assert_eq!(leases, ["given_back", "given_back", "completed"]);
}

#[test]
fn a_reaper_that_is_told_to_end_ends() {
    let bench = Bench::new();
    submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let a = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    a.kill();
    let reaper = bench.reaper();
    bench.set_clock(T0 + 30);
    bench.wait_for_events("lease_expired", 1);
    reaper.signal("TERM");
    assert_eq!(reaper.ended().code(), Some(0));
}

#[test]
fn a_worker_id_belongs_to_one_process_for_as_long_as_that_lives() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &gated(&bench.path("gate")));
    let a = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    let said = bench.operator(&["work", "--worker-id", "A", "--until-idle"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{said:?}");
    assert!(said.stderr.contains("give another --worker-id"), "{said:?}");
    bench.work_until_idle("B");
    a.kill();
    bench.work_until_idle("A");
}

#[test]
fn wrong_settings_of_a_worker_are_one_line() {
    let bench = Bench::new();
    bench.start().close();
    let rows: &[(&[&str], &str)] = &[
        (&["work"], "--worker-id"),
        (&["work", "--worker-id", "a\nb"], "GUARD_WORKER_ID"),
        (&["work", "--worker-id", "A", "--lease", "0"], "GUARD_LEASE"),
        (&["work", "--worker-id", "A", "--heartbeat", "30"], "GUARD_HEARTBEAT"),
        (&["work", "--worker-id", "A", "--defect", "none"], "GUARD_DEFECT"),
        (
            &["work", "--worker-id", "A", "--backend", "sqlite:x"],
            "bound to the backend",
        ),
        (&["reap", "--attempts", "0"], "GUARD_ATTEMPTS"),
        (&["reap", "--poll-ms", "x"], "GUARD_POLL_MS"),
    ];
    for (arguments, words) in rows {
        let said = bench.operator(arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
        assert!(said.stderr.contains(words), "{words:?}: {said:?}");
        assert_eq!(said.stderr.matches('\n').count(), 1, "{said:?}");
    }
}

#[test]
fn a_worker_outlasts_a_locked_store_and_loses_nothing() {
    let bench = Bench::new();
    submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let _a = bench.worker_with("A", "GUARD_BUSY_TIMEOUT_MS", "1");
    bench.wait_for_events("claimed", 1);
    let lock = bench.lock();
    bench.open_gate();
    // A heartbeat would be refused just as well; what counts is that the worker is still there afterwards.
    bench.set_clock(T0 + 10);
    lock.execute_batch("ROLLBACK").unwrap();
    bench.wait_for_events("completed", 1);
    assert_eq!(bench.count("issues"), 1);
}
