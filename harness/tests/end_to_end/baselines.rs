//! What a run is compared with: failures that are known, and the verdicts of an earlier run.

use serde_json::Value;

use crate::command_line::prints;
use crate::support::profile::Profile;
use crate::support::run::{Harness, Report};

/// A server that writes again on every retry, although it promises not to.
fn forgetful() -> Harness {
    Harness::new().target(&Profile::plain().flags("--dedupe none"))
}

fn with_list(harness: Harness, list: &str) -> Harness {
    harness
        .file("known.yaml", list)
        .words(&["--expected-failures", "known.yaml"])
}

/// Everything that the forgetful server breaks in `identical-retry` and `lost-reply`.
const KNOWN: &str = "server:\n- identical-retry\n- case: lost-reply\n  check: one-effect\n  reason: no ledger yet\n  \
                     issue: '#12'\n  until: 2099-12-31\n- lost-reply:first-result\n";

fn outcomes(run: &Report) -> Vec<&str> {
    let entries = run.json["baseline"]["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["outcome"].as_str().unwrap()).collect()
}

#[test]
fn known_failures_are_no_failures_and_are_kept_in_the_evidence() {
    let run = with_list(forgetful().case("identical-retry,lost-reply"), KNOWN).run();
    run.exits(0);
    assert_eq!(run.verdict("lost-reply"), "fail");
    assert_eq!(run.case("lost-reply")["counts_as"], Value::Null);
    assert_eq!(outcomes(&run), ["fails"; 3]);

    let verified = run.done.verify(&run.evidence());
    assert_eq!(verified.code, 0);
    let entry = &verified.json["baseline"]["entries"][1];
    assert_eq!(
        (&entry["reason"], &entry["issue"]),
        (&"no ledger yet".into(), &"#12".into())
    );
    let shown = run.done.then().words(&["latest"]).call(&["show"]);
    let line = "expected     lost-reply:one-effect fails, as known.yaml:3 says: no ledger yet (#12, until 2099-12-31)";
    assert!(shown.stdout.contains(line), "{}", shown.stdout);
}

#[test]
fn what_is_not_listed_fails_and_is_named() {
    let run = with_list(
        forgetful().case("identical-retry,lost-reply"),
        "- identical-retry\n- lost-reply:first-result\n",
    )
    .run();
    run.exits(1);
    assert_eq!(run.json["exit_reason"], "a case failed");
    assert_eq!(
        run.json["baseline"]["unexpected"],
        serde_json::json!(["lost-reply:one-effect"])
    );
}

#[test]
fn an_entry_that_does_not_fail_fails_the_run() {
    let sound = || Harness::new().target(&Profile::plain());
    for list in ["- lost-reply\n", "- lost-reply:one-effect\n"] {
        let run = with_list(sound().case("lost-reply"), list).run();
        run.exits(1);
        assert_eq!(
            run.json["exit_reason"],
            "an entry of the expected failures does not fail"
        );
        assert_eq!(outcomes(&run), ["passes"]);
    }
    // What this run did not come to is not stale.
    with_list(sound().case("lost-reply"), "- identical-retry\n")
        .run()
        .exits(0);
}

#[test]
fn an_entry_past_its_date_fails_the_run() {
    let list = "- case: identical-retry\n  until: 2026-01-31\n";
    let run = with_list(forgetful().case("identical-retry"), list).run();
    run.exits(1);
    assert_eq!(
        run.json["exit_reason"],
        "an entry of the expected failures is past its date"
    );
    // Also where its case was not run: a date that nobody looks at is none.
    let run = with_list(forgetful().case("reply-means-done"), list).run();
    run.exits(1);
    assert_eq!(outcomes(&run), ["not-run"]);
    let shown = run.done.then().words(&["latest"]).call(&["show"]);
    let line = "PAST DATE    identical-retry was to fail until 2026-01-31 (known.yaml:1), and was not run";
    assert!(shown.stdout.contains(line), "{}", shown.stdout);
    assert!(!shown.stdout.contains("STALE"), "{}", shown.stdout);
    let later = list.replace("2026-01-31", "2099-12-31");
    with_list(forgetful().case("reply-means-done"), &later).run().exits(0);
}

#[test]
fn a_wrong_list_is_refused_before_anything_is_run() {
    let refused = |list: &str, part: &str| {
        let done = with_list(Harness::new(), list).run_human();
        done.exits(2).says_only(&[part]).wrote_nothing();
    };
    refused(
        "- lost-reply\n- lost-reply:one-effect\n",
        "known.yaml:2:3: `lost-reply` is listed both whole and by check",
    );
    refused(
        "server:\n  - retry\n",
        "known.yaml:2:5: `retry` is a family or a pattern, and one case must be named here: identical-retry, lost-reply",
    );
    refused("- lost-replay\n", "did you mean `lost-reply`?");
    refused(
        "- case: lost-reply\n  untill: 2027-01-01\n",
        "known.yaml:2:3: unknown key `untill`; did you mean `until`?",
    );
    let done = Harness::new().words(&["--expected-failures", "no.yaml"]).run_human();
    done.exits(2).says_only(&["no.yaml", "No such file"]).wrote_nothing();
}

#[test]
fn verdicts_that_were_written_are_met_again_and_a_regression_is_named() {
    let keeps = Harness::new()
        .target(&Profile::plain())
        .case("lost-reply,identical-retry");
    let first = keeps.clone().words(&["--write-expected", "expected.json"]).run();
    first.exits(0);
    let written = std::fs::read_to_string(first.done.path("expected.json")).unwrap();
    assert!(
        written.ends_with("\"identical-retry\": \"pass\",\n    \"lost-reply\": \"pass\"\n  }\n}\n"),
        "{written}"
    );

    let again = |words: &[&str]| {
        let harness = first
            .done
            .then()
            .words(&["--target", "profile.toml", "--expected", "expected.json"]);
        harness.words(words).case("lost-reply,identical-retry").run()
    };
    let same = again(&["--write-expected", "expected.json"]);
    same.exits(0);
    assert_eq!(same.json["baseline"]["changes"], serde_json::json!([]));
    assert_eq!(
        std::fs::read_to_string(first.done.path("expected.json")).unwrap(),
        written
    );

    // A run of a part keeps what the file says of the rest.
    let part = first
        .done
        .then()
        .words(&["--target", "profile.toml", "--write-expected", "expected.json"]);
    part.case("lost-reply").run().exits(0);
    assert_eq!(
        std::fs::read_to_string(first.done.path("expected.json")).unwrap(),
        written
    );

    // A surface that is gone makes a case unsupported: that was better before.
    let less = Profile::plain().without("read.effects").without("store");
    std::fs::write(first.done.path("profile.toml"), less.text()).unwrap();
    let run = again(&[]);
    run.exits(1);
    assert_eq!(run.json["exit_reason"], "a case got worse than expected");
    let change = &run.json["baseline"]["changes"][1];
    let told = [&change["case"], &change["kind"], &change["was"], &change["is"]];
    assert_eq!(told, ["lost-reply", "regression", "pass", "unsupported"]);
}

#[test]
fn a_file_of_another_target_is_refused() {
    let text = "{\"format\": 1, \"target\": \"other\", \"contract\": \"guarded\", \"verdicts\": {}}";
    let done = Harness::new()
        .file("expected.json", text)
        .words(&["--expected", "expected.json"])
        .run_human();
    done.exits(2)
        .says_only(&["expected.json:1:15: it is of the target `other`", "--write-expected"])
        .wrote_nothing();
}

/// A file of expected verdicts of the plain server, an entry a line.
fn expected(verdicts: &[(&str, &str)]) -> String {
    let entries: Vec<String> = verdicts
        .iter()
        .map(|(case, verdict)| format!("{case:?}: {verdict:?}"))
        .collect();
    let head = r#"{"format": 1, "target": "plain", "contract": "at-most-once", "verdicts": {"#;
    format!("{head}\n{}\n}}}}\n", entries.join(",\n"))
}

#[test]
fn an_entry_that_is_there_twice_or_is_of_no_case_is_refused_whatever_is_run() {
    let refused = |entries: &[(&str, &str)], message: &str| {
        let harness = Harness::new()
            .target(&Profile::plain())
            .file("expected.json", &expected(entries));
        let done = harness
            .words(&["--expected", "expected.json"])
            .case("lost-reply")
            .run_human();
        done.exits(2).says_only(&[message]).wrote_nothing();
    };
    refused(
        &[("lost-reply", "fail"), ("lost-reply", "pass")],
        "expected.json:3:1: `lost-reply` is there twice",
    );
    refused(
        &[("lost-reply", "pass"), ("identical-retri", "pass")],
        "expected.json:3:1: there is no case `identical-retri`; did you mean `identical-retry`?",
    );
}

#[test]
fn expected_verdicts_of_cases_that_are_not_run_are_said_in_one_line() {
    let all = [
        ("lost-reply", "pass"),
        ("identical-retry", "fail"),
        ("changed-input", "fail"),
    ];
    let run = |entries: &[(&str, &str)], words: &[&str]| {
        let harness = Harness::new()
            .target(&Profile::plain())
            .file("expected.json", &expected(entries));
        let run = harness.words(&["--expected", "expected.json"]).words(words).run();
        run.exits(0);
        let shown = run.done.then().words(&["latest"]).call(&["show"]).stdout;
        (run.json["baseline"]["not_run"].clone(), shown)
    };
    let (not_run, shown) = run(&all, &["--case", "lost-reply"]);
    assert_eq!(not_run, serde_json::json!(["changed-input", "identical-retry"]));
    assert!(
        shown.contains("not compared 2 cases of expected.json were not run\n"),
        "{shown}"
    );
    let (not_run, shown) = run(&all[..2], &["--case", "retry", "--skip", "identical-retry"]);
    assert_eq!(not_run, serde_json::json!(["identical-retry"]));
    assert!(
        shown.contains("not compared identical-retry, which expected.json has, was not run\n"),
        "{shown}"
    );
    let (not_run, shown) = run(&all[..1], &["--case", "lost-reply"]);
    assert_eq!(not_run, serde_json::json!([]));
    assert!(!shown.contains("not compared"), "{shown}");
}

#[test]
fn what_is_written_keeps_cases_that_were_not_run_and_drops_those_that_are_gone() {
    let before = expected(&[
        ("lost-reply", "fail"),
        ("identical-retry", "fail"),
        ("renamed-long-ago", "pass"),
    ]);
    let harness = Harness::new().target(&Profile::plain()).file("expected.json", &before);
    let done = harness
        .words(&["--write-expected", "expected.json"])
        .case("lost-reply")
        .run_human();
    done.exits(0);
    let written = std::fs::read_to_string(done.path("expected.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        written["verdicts"],
        serde_json::json!({"identical-retry": "fail", "lost-reply": "pass"})
    );
    let notes: Vec<&str> = (done.stderr.lines())
        .filter(|line| line.contains("renamed-long-ago"))
        .collect();
    assert_eq!(
        notes,
        [
            "note: expected.json does not hold renamed-long-ago any more: no case is called that; \
          one of your own needs its --case-file"
        ]
    );
}

#[test]
fn what_is_no_file_of_expected_verdicts_is_not_written_over() {
    let harness = Harness::new().file("package.json", "{\"name\": \"mine\"}");
    let done = harness.words(&["--write-expected", "package.json"]).run_human();
    done.exits(2)
        .says_only(&["--write-expected package.json", "no file of expected verdicts"])
        .wrote_nothing();
    let kept = std::fs::read_to_string(done.path("package.json")).unwrap();
    assert_eq!(kept, "{\"name\": \"mine\"}");
}

#[test]
fn what_people_see_of_it() {
    let list = "- identical-retry\n- lost-reply:first-result\n- case: reply-means-done\n  until: 2026-01-31\n- crash-after-commit\n";
    let expected = "{\"format\": 1, \"target\": \"plain\", \"contract\": \"at-most-once\", \"verdicts\": \
                    {\"lost-reply\": \"pass\", \"identical-retry\": \"fail\", \"reply-means-done\": \"fail\"}}";
    let harness = with_list(forgetful(), list).file("expected.json", expected);
    let cases = "identical-retry,lost-reply,reply-means-done,crash-after-commit";
    prints(
        "run-baseline",
        &harness.words(&["--expected", "expected.json"]).case(cases).run_human(),
    );
}

/// A control that only another case asked for was run, so what a list says of it is right or wrong.
#[test]
fn a_control_that_was_run_counts_as_run() {
    for cases in ["lost-reply", "sees-duplicates"] {
        let run = with_list(Harness::new().case(cases), "- sees-duplicates\n").run();
        run.exits(1);
        assert_eq!(outcomes(&run), ["passes"], "{cases}");
        assert_eq!(run.done.verify(&run.evidence()).code, 0);
    }
}

#[test]
fn verdicts_that_are_written_are_told_and_not_asked_for_again() {
    let words = ["--expected", "v.json", "--write-expected", "v.json"];
    let harness = Harness::new().case("lost-reply");
    let written = harness.clone().words(&words[2..]).run_human();
    written.exits(0);
    assert!(
        written.stderr.contains("wrote 1 verdict to v.json\n"),
        "{}",
        written.stderr
    );
    let text = std::fs::read_to_string(written.path("v.json")).unwrap();
    let harness = harness.file("v.json", &text.replace("\"pass\"", "\"fail\""));
    let again = harness.words(&words).run_human();
    again.exits(0);
    let line = "improved     lost-reply was fail, and is pass: which the file says now\n";
    assert!(again.stdout.contains(line), "{}", again.stdout);
    assert!(again.stderr.contains("wrote 1 verdict to v.json\n"), "{}", again.stderr);
}
