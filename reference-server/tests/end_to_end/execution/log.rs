//! The event log: append-only by the store's own word, and shown by `inspect`.

use serde_json::{Value, json};

use super::support::{gated, plain_issue, submitted};
use crate::support::{Bench, T0};

/// Everything that would change what the log says.
pub(crate) const TAMPERINGS: [&str; 7] = [
    "UPDATE execution_events SET token = 9",
    "DELETE FROM execution_events",
    "REPLACE INTO execution_events SELECT execution_id, seq, position, 'cancelled', 1, 'Z', '{}', at FROM execution_events",
    "INSERT OR REPLACE INTO execution_events
     SELECT execution_id, seq, position, event, 9, worker_id, detail, at FROM execution_events WHERE seq = 2",
    "REPLACE INTO execution_events
     SELECT execution_id, 99, position, event, token, worker_id, detail, at FROM execution_events WHERE seq = 2",
    "REPLACE INTO execution_events
     SELECT execution_id, max(seq) + 1, 1, event, token, worker_id, detail, at FROM execution_events",
    "INSERT INTO execution_events
     SELECT execution_id, max(seq) + 2, max(position) + 1, event, token, worker_id, detail, at FROM execution_events",
];

#[test]
fn the_log_cannot_be_changed_by_any_statement() {
    let bench = Bench::new();
    submitted(&mut bench.start(), "k-1", &plain_issue());
    bench.work_until_idle("A");
    let before = bench.log();
    assert_eq!(before, ["submitted", "ready", "claimed 1 A", "completed 1 A"]);
    for tampering in TAMPERINGS {
        let refused = bench.connection().execute(tampering, []).unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{tampering}: {refused}");
    }
    assert_eq!(bench.log(), before);
}

/// While the server and a worker run, and a lease is held.
#[test]
fn inspect_shows_totals_leases_and_the_timeline_of_one() {
    let bench = Bench::new();
    let mut server = bench.start();
    let done = submitted(&mut server, "k-1", &plain_issue());
    bench.work_until_idle("A");
    let held = submitted(&mut server, "k-2", &gated(&bench.path("gate")));
    let worker = bench.worker("B");
    bench.wait_for_events("claimed", 2);
    worker.kill();
    bench.set_clock(T0 + 30);
    bench.reap();
    let _worker = bench.worker("C");
    bench.wait_for_events("claimed", 3);
    bench.set_clock(T0 + 37);
    let before = bench.files();
    let said = bench.operator(&["inspect"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    for words in [
        "executions    2: 1 completed, 1 running",
        "crash rate    33.3 % of 3 claims ended with an expired lease",
        "recovery      1 lease_expired, 0 stale_rejected, 0 retry_scheduled, 0 duplicate_detected",
        &format!("execution {done:?}: completed"),
        "key \"k-1\" in \"tests\"",
        "token 1, \"B\", expired, until 2026-09-22T00:00:30Z\n",
        "token 2, \"C\", held, until 2026-09-22T00:01:00Z, 23 s left",
        "issue 1 \"Title\", body of 5 bytes",
    ] {
        assert!(said.stdout.contains(words), "{words:?} is not in {}", said.stdout);
    }
    assert!(!said.stdout.contains("not on record"), "{}", said.stdout);
    let said = bench.operator(&["inspect", &held]);
    for words in [
        "  1 2026-09-22T00:00:00Z submitted\n",
        "  4 2026-09-22T00:00:30Z lease_expired token 1 \"B\" {\"expired_at\":1790035230}",
        "  6 2026-09-22T00:00:30Z claimed token 2 \"C\"",
    ] {
        assert!(said.stdout.contains(words), "{words:?} is not in {}", said.stdout);
    }
    assert!(!said.stdout.contains(&done), "{}", said.stdout);
    let said = bench.operator(&["inspect", &held, "--format", "json"]);
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown["totals"]["executions"], json!({ "completed": 1, "running": 1 }));
    assert_eq!(shown["executions"][0]["last_token"], 2);
    assert_eq!(shown["leases"][1]["remaining_s"], 23);
    assert_eq!(shown["events"].as_array().unwrap().len(), 6);
    bench.set_clock(T0 + 37);
    let (mut before, mut after) = (before, bench.files());
    for files in [&mut before, &mut after] {
        files.entry("store.sqlite3-shm".to_owned()).and_modify(Vec::clear);
    }
    assert_eq!(after, before);
}
