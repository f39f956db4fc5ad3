//! Cases side by side come to what they come to one after the other, are told in the same order, and end together.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Harness, Report};
use crate::support::running::Running;
use crate::support::{await_marked, new_mark};

/// Case, verdict and the outcome of every check, in the order of the report.
fn outcomes(run: &Report) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let cases = run.json["cases"].as_array().expect("a list of cases");
    let rows = cases.iter().flat_map(|case| {
        let checks = case["checks"].as_array().expect("a list of checks").iter();
        let checks = checks.map(|check| {
            (
                format!("{}:{}", text(&case["case"]), text(&check["id"])),
                text(&check["outcome"]),
            )
        });
        std::iter::once((text(&case["case"]), text(&case["verdict"]))).chain(checks.collect::<Vec<_>>())
    });
    rows.collect()
}

/// Runs the same with one job and with four; the evidence of the second is whole.
#[track_caller]
fn same_with_four(harness: &dyn Fn() -> Harness) -> Report {
    let one = harness().words(&["--jobs", "1"]).run();
    let four = harness().words(&["--jobs", "4"]).run();
    assert_eq!(outcomes(&one), outcomes(&four));
    assert_eq!(
        (one.done.code, &one.json["totals"]),
        (four.done.code, &four.json["totals"])
    );
    let verified = four.done.verify(&four.evidence());
    assert_eq!((verified.findings(), verified.code), (vec![], 0));
    four
}

#[test]
fn the_built_in_server() {
    let run = same_with_four(&Harness::new);
    run.exits(0);
    let listed = Harness::new().words(&["--format", "json"]).call(&["list"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let ids = |cases: &Value, key: &str| -> Vec<String> {
        let cases = cases.as_array().unwrap().iter();
        cases.map(|case| case[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        ids(&run.json["cases"], "case"),
        ids(&listed, "id"),
        "the order of the catalogue"
    );
}

#[test]
fn the_built_in_server_with_a_defect() {
    for defect in ["memory-ledger", "effect-before-ledger"] {
        same_with_four(&|| Harness::new().defect(defect)).exits(1);
    }
}

#[test]
fn the_plain_server_and_what_is_wrong_with_it() {
    for (profile, code) in [
        (Profile::plain(), 0),
        (Profile::plain().flags("--dedupe none"), 1),
        (Profile::plain().flags("--dedupe content"), 1),
        (Profile::plain().flags("--conflict apply"), 1),
        (Profile::plain().misbehave("rewrite-on-retry"), 1),
        (Profile::plain().misbehave("write-elsewhere"), 3),
    ] {
        same_with_four(&|| Harness::new().target(&profile).case("retry")).exits(code);
    }
}

/// The plain server behind a shell that leaves a process without the marker, in a session of its own.
fn leaves_orphans(how: &str) -> Profile {
    let script = format!(
        r#"(cd /; env -i "HARNESS_TEST_MARK=$HARNESS_TEST_MARK" setsid -f sleep 60 < /dev/null > /dev/null {how}); exec "$0" "$@""#
    );
    let server = plain_server().display().to_string();
    Profile::plain().launcher(&["sh", "-c", &script, &server])
}

/// What a server leaves behind is ended by the case that started it, although others run beside it: it still holds the
/// standard error.
#[test]
fn orphans_without_a_marker() {
    let run = Harness::new()
        .target(&leaves_orphans(""))
        .case("identical-retry,changed-input,fresh-identity")
        .words(&["--jobs", "3", "--timeout", "1"])
        .run();
    run.exits(0);
    for case in ["identical-retry", "changed-input", "fresh-identity"] {
        let warnings = run.case(case)["warnings"].to_string();
        assert!(warnings.contains("left running"), "{case}: {warnings}");
    }
    assert_eq!(run.json["warnings"], serde_json::json!([]));
}

/// One that holds nothing any more is nobody's while several servers run. No case waits for it, and it does not outlive the run.
#[test]
fn orphans_without_any_trace_end_with_the_run() {
    let mark = new_mark();
    let harness = Harness::new()
        .target(&leaves_orphans("2> /dev/null").mark(&mark))
        .case("identical-retry,changed-input,fresh-identity")
        .words(&["--jobs", "3", "--timeout", "1"]);
    Running::start(harness, &mark).end().exits(0);
}

/// Two cases hang at the same time; an interrupt ends both, and what was done is sealed.
#[test]
fn an_interrupt_ends_all() {
    let mark = new_mark();
    // In the two cases whose folders are called so, and not in their control.
    let profile = Profile::plain()
        .misbehave("never-answer-writes")
        .flags("--only-in identi")
        .mark(&mark);
    let harness = Harness::new()
        .target(&profile)
        .case("identical-retry,fresh-identity")
        .words(&["--jobs", "2"]);
    let running = Running::start(harness, &mark);
    let is_write =
        |event: &Value| event["direction"] == "client-to-server" && event["payload"]["method"] == "tools/call";
    running.await_event("cases/identical-retry", is_write);
    running.await_event("cases/fresh-identity", is_write);
    await_marked(&mark, 4);
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    let evidence = done.latest();
    let run: Value = serde_json::from_slice(&std::fs::read(evidence.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["state"], "interrupted");
    assert_eq!(
        run["executed"],
        serde_json::json!(["sees-duplicates", "identical-retry", "fresh-identity"])
    );
    let verified = done.verify(&evidence);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
}
