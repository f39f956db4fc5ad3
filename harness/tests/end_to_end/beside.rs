//! Writes that wait for the store beside each other: who was inside is never a question of how fast a server is.

use crate::support::profile::Profile;
use crate::support::run::{Harness, Report};

const CASE: &str = "concurrent-first-use";

fn run_on(profile: &Profile, case: &str) -> Report {
    Harness::new().target(profile).case(case).run()
}

/// The numbers of such events, in the order of the record.
fn events(run: &Report, is_one: impl Fn(&serde_json::Value) -> bool) -> Vec<u64> {
    let record = run.record(CASE).into_iter();
    let events = record.filter(is_one);
    events.map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[test]
fn two_processes_wait_for_the_store_at_once_whatever_server_they_are() {
    let natural = Profile::natural();
    let legacy = Profile::plain().flags("--era legacy");
    let busy = Profile::plain().flags("--journal delete");
    for profile in [Profile::plain(), natural, legacy, busy] {
        let run = run_on(&profile, CASE);
        run.exits(0);
        assert_eq!(run.fact(CASE, "/second-warm/outcome"), "result");
        assert_eq!(run.fact(CASE, "/release/drained"), true);
        assert_eq!(run.fact(CASE, "/end/effects/A"), 1);
        assert_eq!(run.verdict(CASE), "pass", "{}", run.reason(CASE));
    }
}

/// What the second process cannot take over it never writes, however long it takes to say so.
#[test]
fn a_process_that_cannot_take_over_a_write_is_never_inside_it() {
    let run = Harness::new().defect("forgets-first-round").case(CASE).run();
    run.exits(3);
    assert_eq!(run.verdict(CASE), "inconclusive");
    assert_eq!(run.check(CASE, "both-warm"), "inconclusive");
    assert_eq!(run.fact(CASE, "/second-warm/outcome"), "refused");
    let reason = run.reason(CASE);
    assert!(reason.contains("a write that began with the first"), "{reason}");
}

/// A server that is slow to refuse is not one that waits for the store.
#[test]
fn a_server_that_still_works_on_a_request_is_not_inside_the_store() {
    for (case, check) in [(CASE, "both-inside"), ("cancelled-write", "cancelled-inside")] {
        let profile = Profile::plain().misbehave_in(case, "work-then-refuse");
        let run = run_on(&profile, case);
        run.exits(3);
        assert_eq!(run.fact(case, "/release/answered"), 0);
        assert_eq!(run.fact(case, "/release/drained"), false);
        assert_eq!(run.check(case, check), "inconclusive", "{}", run.reason(case));
        assert!(
            run.reason(case).contains("still being worked on"),
            "{}",
            run.reason(case)
        );
    }
}

/// A server that waits for an answer would seem to wait for the store.
#[test]
fn what_is_asked_inside_a_write_is_answered_while_the_lock_is_held() {
    let profile = Profile::plain()
        .flags("--era legacy")
        .misbehave_in(CASE, "ask-everything");
    let run = run_on(&profile, CASE);
    run.exits(0);
    let of_kind = |kind: &str| events(&run, |event| event["kind"] == kind);
    let (held, released) = (of_kind("lock-held"), of_kind("lock-released"));
    let questions = events(&run, |event| {
        event["direction"] == "server-to-client" && event["payload"]["method"].is_string()
    });
    let answers = events(&run, |event| {
        event["direction"] == "client-to-server" && event["payload"]["method"].is_null()
    });
    let inside = |seqs: &[u64]| seqs.iter().filter(|&&seq| held[0] < seq && seq < released[0]).count();
    let asked_by_both = 2 * 5;
    assert_eq!((inside(&questions), inside(&answers)), (asked_by_both, asked_by_both));
    assert_eq!(run.fact(CASE, "/release/drained"), true);
    assert_eq!(run.fact(CASE, "/end/effects/A"), 1);
}
