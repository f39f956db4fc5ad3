//! The event log: append-only by the store's own word.

use super::support::{plain_issue, submitted};
use crate::support::Bench;

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
