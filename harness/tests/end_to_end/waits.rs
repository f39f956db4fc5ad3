//! Observations that wait for something: in vain at most once in a case.

use serde_json::{Value, json};

use crate::support::run::Harness;

/// A submission that nobody is there to do, and two observations that wait for it to be done.
const NOBODY_WORKS: &str = r#"
format  = 1
id      = "nobody-works"
family  = "execution"
revision = 1
title   = "nobody works"
proves  = "Nothing."
matters = "It does not."
needs   = ["write", "write.submit", "launch.workers", "read.effects", "read.events"]
controls = ["sees-duplicates"]
bounds  = { condition_ms = 50 }
[[step]]
start    = "server"
settings = { workers = 0 }
[[step]]
write  = "A"
rounds = "submit"
as     = "submission"
[[step]]
observe = "there"
until   = { of = "A", read = "events", where = { event = "ready" } }
[[step]]
observe = "claimed"
until   = { of = "A", read = "events", where = { event = "claimed" } }
[[step]]
observe = "done"
until   = { of = "A", read = "effects" }
[[step]]
observe = "still-there"
until   = { of = "A", read = "events", where = { event = "submitted" } }
[[step]]
stop = "server"
[[check]]
id     = "what-was-reached"
about  = true
basis  = "contract"
expect = { "there.reached" = true, "claimed.reached" = false, "done.reached" = false, "still-there.reached" = true }
"#;

#[test]
fn after_a_wait_in_vain_what_follows_is_looked_for_once() {
    let run = Harness::new()
        .file("mine.toml", NOBODY_WORKS)
        .words(&["--case-file", "mine.toml", "--target", "reference-execution"])
        .run();
    run.exits(0);
    let record = std::fs::read_to_string(run.evidence().join("cases/nobody-works/record.jsonl")).unwrap();
    let events = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let waits: Vec<Value> = events
        .filter(|event| event["kind"] == "timed-out")
        .map(|event| event["bound_ms"].clone())
        .collect();
    assert_eq!(waits, [json!(50), json!(0)]);
}
