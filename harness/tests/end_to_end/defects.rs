//! Every planted defect is caught, on the check that is about it, and the report names rows and frames.

use serde_json::Value;

use crate::support::run::{Harness, Report};

/// Runs a case on a server with a defect: it must fail on this check.
#[track_caller]
fn caught(defect: &str, case: &str, check: &str) -> Report {
    let run = Harness::new().defect(defect).case(case).run();
    run.exits(1);
    assert_eq!(run.verdict(case), "fail");
    assert_eq!(run.check(case, check), "broken", "{case}:{check} under {defect}");
    assert_eq!(
        run.json["control"]["verdict"], "pass",
        "the read-back was shown to count"
    );
    assert_eq!(run.json["target"]["defect"], defect);
    run
}

/// Both rows are named, and each with one frame of ours that can have made it and that stands in the record.
#[track_caller]
fn names_two_rows(run: &Report, case: &str, steps: [&str; 2]) {
    let rows = run.case(case)["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert_ne!(rows[0]["row"]["issue_id"], rows[1]["row"]["issue_id"]);
    let events = run.record(case);
    for (row, step) in rows.iter().zip(steps) {
        let [frame] = row["made_by"].as_array().unwrap().as_slice() else {
            panic!("more than one frame, or none: {row:#}");
        };
        assert_eq!(frame["step"], step);
        let seq = usize::try_from(frame["seq"].as_u64().unwrap()).unwrap();
        let event = &events[seq - 1];
        assert_eq!(event["seq"], seq);
        assert_eq!(event["kind"], "message");
        assert_eq!(event["direction"], "client-to-server");
        assert_eq!(event["payload"]["method"], "tools/call");
        assert_eq!(event["payload"]["params"]["name"], "create_issue");
        assert!(is_of_operation(run, case, &event["payload"]), "{event:#}");
    }
}

fn is_of_operation(run: &Report, case: &str, request: &Value) -> bool {
    let operation = &run.case(case)["operations"]["A"]["operation_id"];
    &request["params"]["arguments"]["operation_id"] == operation
}

#[test]
fn a_server_without_a_ledger_doubles_a_retry_after_a_crash() {
    let run = caught("no-ledger", "lost-reply", "one-effect");
    names_two_rows(&run, "lost-reply", ["attempt", "retry"]);
    assert_eq!(run.fact("lost-reply", "/end/effects/A"), 2);
}

#[test]
fn a_server_without_a_ledger_doubles_an_identical_retry() {
    let run = caught("no-ledger", "identical-retry", "one-effect");
    names_two_rows(&run, "identical-retry", ["attempt", "retry"]);
}

#[test]
fn a_ledger_in_memory_forgets_at_the_restart() {
    let run = caught("memory-ledger", "lost-reply", "one-effect");
    names_two_rows(&run, "lost-reply", ["attempt", "retry"]);
}

#[test]
fn a_ledger_in_memory_passes_where_nothing_restarts() {
    let run = Harness::new().defect("memory-ledger").case("identical-retry").run();
    assert_eq!(run.check("identical-retry", "one-effect"), "held");
}

/// The one that judges of replies cannot see: the reply of the retry is the very same.
#[test]
fn the_same_reply_with_a_second_effect_is_caught_by_counting() {
    for case in ["lost-reply", "identical-retry"] {
        let run = caught("same-reply-two-effects", case, "one-effect");
        names_two_rows(&run, case, ["attempt", "retry"]);
        assert_eq!(run.check(case, "first-result"), "held", "its replies are blameless");
        assert_eq!(run.fact(case, "/retry/replayed"), true);
    }
}

#[test]
fn a_reply_before_its_commit_is_caught_by_a_kill_after_the_reply() {
    let run = caught("reply-before-commit", "reply-means-done", "effect-is-there");
    assert_eq!(run.fact("reply-means-done", "/done/outcome"), "result");
    assert_eq!(run.fact("reply-means-done", "/end/effects/A"), 0);
}

#[test]
fn changed_input_that_gets_the_first_result_is_caught() {
    let run = caught("unbound-input", "changed-input", "is-refused");
    assert_eq!(run.fact("changed-input", "/changed/outcome"), "result");
    assert_eq!(run.fact("changed-input", "/end/effects/A"), 1);
}
