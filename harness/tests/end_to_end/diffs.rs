//! Two runs beside each other: what is another run's is no difference, and what a server does otherwise is shown where it begins.

use std::fs;

use serde_json::{Value, json};

use super::hostile::is_tame;
use crate::support::forge::{change, change_record};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness};

const CASE: &str = "lost-reply";

/// Runs on the built-in server into a folder of this name, and comes back to the folder above.
fn ran(done: &Done, name: &str, words: &[&str]) {
    let ran = done.then().words(&["--evidence", name]).words(words).run_human();
    assert!(done.path(name).join("SHA256SUMS").exists(), "{ran:?}");
}

/// A folder in which nothing was run yet.
fn nothing() -> Done {
    Done::new(&Harness::new(), 0, String::new(), String::new())
}

fn diff(done: &Done, words: &[&str]) -> Done {
    done.then().words(words).call(&["diff"])
}

/// The document of `harness diff`.
#[track_caller]
fn document(done: &Done, words: &[&str]) -> Value {
    let said = done.then().words(words).words(&["--format", "json"]).call(&["diff"]);
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_eq!(document["exit"], said.code);
    document
}

/// The cases that came to a verdict on the server in both runs.
fn settled(done: &Done, runs: [&str; 2]) -> Vec<String> {
    let [one, two] = runs.map(|run| {
        let run: Value = serde_json::from_slice(&fs::read(done.path(run).join("run.json")).unwrap()).unwrap();
        run["verdicts"].as_object().unwrap().clone()
    });
    let is_settled = |id: &&String| [&one, &two].iter().all(|run| run[*id]["verdict"] != "inconclusive");
    one.keys().filter(is_settled).cloned().collect()
}

/// The names of everything are other ones, and so are tokens, times, processes, and who was first.
#[test]
fn another_seed_makes_no_difference_in_any_case() {
    let done = nothing();
    // Whoever of two submits second hears how far the worker is with the first one's execution, which is the worker's matter.
    let raced = [
        ("reference-server", None),
        ("reference-execution", Some("concurrent-first-use")),
    ];
    for (target, raced) in raced {
        let [one, two] = ["1", "2"].map(|seed| {
            let name = format!("{target}-{seed}");
            ran(&done, &name, &["--target", target, "--seed", seed, "--jobs", "1"]);
            name
        });
        // A machine that is too slow for a case says so, and then says nothing of the server.
        let mut settled = settled(&done, [&one, &two]);
        settled.retain(|id| Some(id.as_str()) != raced);
        assert!(settled.len() > 30, "{settled:?}");
        let found = document(&done, &[&one, &two, "--frames", "--case", &settled.join(",")]);
        assert_eq!(found["cases"], json!([]), "{target}");
        assert_eq!(found["verdicts"], json!([]), "{target}");
        assert_eq!(found["cases_in_both"], settled.len());
        assert_eq!(found["about"], json!([{"what": "seed", "a": "1", "b": "2"}]));
        assert_eq!(found["exit"], 0);
    }
}

#[test]
fn a_planted_defect_is_shown_by_verdict_check_and_first_event() {
    let done = nothing();
    ran(&done, "sound", &["--case", CASE]);
    ran(&done, "broken", &["--case", CASE, "--defect", "memory-ledger"]);
    let said = diff(&done, &["sound", "broken"]);
    said.exits(1);
    for part in [
        "planted defect: nothing → memory-ledger",
        "FAIL         lost-reply  pass → fail",
        "one-effect  held → broken: the retry wrote again",
        "b: end.effects.A: expected 1, found 2",
        "step  freeze the store and observe `after-kill`",
        "A.ledger.count: 1 → 0",
        "every event that differs: harness diff sound broken --frames",
        "result    1 verdict changed; 2 cases went another way",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is not in:\n{}", said.stdout);
    }
    assert!(
        !said.stdout.contains("get_operation_status"),
        "not the first: {}",
        said.stdout
    );
    let frames = diff(&done, &["sound", "broken", "--frames"]);
    let part = "result.structuredContent.state: \"applied\" → \"unknown\"";
    assert!(frames.stdout.contains(part), "{}", frames.stdout);
    assert!(
        frames
            .stdout
            .contains("second  ← a result, to → tools/call get_operation_status")
    );
}

/// A server that acknowledges what it has not done yet.
#[test]
fn a_reply_that_comes_too_early_is_shown_where_the_store_lacks_the_effect() {
    let done = nothing();
    let case = "reply-means-done";
    ran(&done, "sound", &["--case", case]);
    ran(&done, "broken", &["--case", case, "--defect", "reply-before-commit"]);
    let found = document(&done, &["sound", "broken"]);
    assert_eq!(found["exit"], 1);
    assert_eq!(
        (&found["verdicts"][0]["a"], &found["verdicts"][0]["b"]),
        (&json!("pass"), &json!("fail"))
    );
    assert_eq!(found["verdicts"][0]["checks"][0]["check"], "effect-is-there");
    let first = &found["cases"][0]["first"];
    assert_eq!(first["what"], "observed `after-kill`");
    assert_eq!(
        first["differences"][0],
        json!({"path": "A.effects.count", "a": 1, "b": 0})
    );
    assert_eq!(
        found["cases"][0]["records"]["events"],
        json!([]),
        "the first is all, without --frames"
    );
}

#[test]
fn the_same_verdicts_by_other_frames_are_a_success_that_says_so() {
    let done = nothing();
    for (name, revision) in [("one", "2025-06-18"), ("other", "2025-11-25")] {
        let harness = done.then().target(&Profile::plain().flags("--era legacy")).case(CASE);
        let harness = harness.words(&["--protocol", revision, "--evidence", name]);
        harness.run_human().exits(0);
    }
    let said = diff(&done, &["one", "other"]);
    said.exits(0);
    assert!(
        said.stdout.contains("revision: 2025-06-18 → 2025-11-25"),
        "{}",
        said.stdout
    );
    let result = "result    the same verdicts in 2 cases; 2 cases went another way";
    assert!(said.stdout.contains(result), "{}", said.stdout);
    let itself = diff(&done, &["one", "one"]);
    itself.exits(0);
    let nothing = "the same verdicts in 2 cases; and nothing else that a case did differs";
    assert!(itself.stdout.contains(nothing), "{}", itself.stdout);
}

#[test]
fn a_case_that_one_run_lacks_is_no_success() {
    let done = nothing();
    ran(&done, "both", &["--case", "identical-retry,lost-reply"]);
    ran(&done, "one", &["--case", CASE]);
    let found = document(&done, &["both", "one"]);
    assert_eq!(
        found["only_in_a"],
        json!([{"case": "identical-retry", "verdict": "pass"}])
    );
    assert_eq!((&found["only_in_b"], &found["exit"]), (&json!([]), &json!(1)));
    let of_one = document(&done, &["both", "one", "--case", "03"]);
    assert_eq!((&of_one["cases_in_both"], &of_one["exit"]), (&json!(1), &json!(0)));
}

/// A forger who forgets one of the two places.
#[test]
fn evidence_that_contradicts_itself_is_no_success() {
    let done = nothing();
    ran(&done, "one", &["--case", CASE]);
    ran(&done, "other", &["--case", CASE, "--defect", "memory-ledger"]);
    change(&done.path("other"), "run.json", |run| {
        run["verdicts"][CASE]["verdict"] = json!("pass");
    });
    let said = diff(&done, &["one", "other"]);
    said.exits(1);
    let part = "other: lost-reply: run.json says pass, and its verdict.json says fail";
    assert!(said.stdout.contains(part), "{}", said.stdout);
    diff(&done, &["other", "other"]).exits(1);
}

#[test]
fn an_archive_is_compared_like_its_folder() {
    let done = nothing();
    ran(&done, "one", &["--case", CASE, "--seed", "1"]);
    ran(&done, "two", &["--case", CASE, "--seed", "2"]);
    done.then().words(&["two", "-o", "two.zip"]).call(&["export"]).exits(0);
    let found = document(&done, &["one", "two.zip"]);
    assert_eq!((&found["cases"], &found["exit"]), (&json!([]), &json!(0)));
    assert_eq!(found["b"]["evidence"], "two.zip");
    let mut bytes = fs::read(done.path("two.zip")).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(done.path("two.zip"), bytes).unwrap();
    diff(&done, &["one", "two.zip"])
        .exits(2)
        .says_only(&["two.zip is not as it was exported", "harness verify two.zip"]);
}

#[test]
fn what_is_no_run_and_what_is_no_case_is_refused() {
    let done = nothing();
    ran(&done, "one", &["--case", CASE]);
    diff(&done, &["one", "nowhere"])
        .exits(2)
        .says_only(&["nowhere is not evidence"]);
    diff(&done, &["one", "one", "--case", "lost-replay"])
        .exits(2)
        .says_only(&["neither run has a case `lost-replay`", "did you mean `lost-reply`?"]);
    fs::write(done.path("one/run.json"), "{}").unwrap();
    diff(&done, &["one", "one"])
        .exits(2)
        .says_only(&["one/run.json: missing field"]);
    let refused = diff(&done, &["one", "one", "--format", "json"]);
    let refused: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(refused["exit"], 2);
}

/// Every text that somebody else wrote, with control sequences and forged lines in it.
#[test]
fn what_a_stranger_wrote_is_printed_escaped() {
    const WILD: &str = "\u{1b}[2J\r\n::error::forged\nPASS  forged\u{202e}\u{9b}2K";
    let done = nothing();
    let profile = Profile::with_status().misbehave("hostile-text").flags("--dedupe none");
    let harness = done.then().target(&profile).case(CASE);
    harness.words(&["--evidence", "hostile"]).run_human().exits(1);
    ran(&done, "tame", &["--case", CASE]);
    let wild = done.path("hostile");
    change_record(&wild, CASE, |event| {
        for key in ["does", "reason", "what", "process"] {
            if let Some(Value::String(text)) = event.get_mut(key) {
                text.push_str(WILD);
            }
        }
    });
    change(&wild, "run.json", |run| {
        run["target"]["name"] = json!(WILD);
        run["started_at"] = json!(WILD);
        run["server"]["version"] = json!(WILD);
        run["verdicts"][CASE]["reason"] = json!(WILD);
    });
    for words in [
        &["tame", "hostile", "--frames"][..],
        &["hostile", "tame"],
        &["hostile", "tame", "--frames", "--format", "json"],
        &["hostile", WILD],
        &["hostile", "tame", "--case", WILD],
    ] {
        is_tame(&diff(&done, words));
    }
    let shown = diff(&done, &["tame", "hostile", "--frames"]);
    assert!(shown.stdout.contains("forged"), "it is shown: {}", shown.stdout);
}

/// Half a record is compared as far as it goes, and is not the same.
#[test]
fn what_was_cut_off_is_said() {
    let done = nothing();
    ran(&done, "one", &["--case", CASE]);
    ran(&done, "cut", &["--case", CASE]);
    let record = done.path("cut").join("cases").join(CASE).join("record.jsonl");
    let text = fs::read(&record).unwrap();
    fs::write(&record, &text[..text.len() / 2]).unwrap();
    let said = diff(&done, &["one", "cut", "--case", CASE]);
    assert!(said.stdout.contains("DAMAGED in b  record.jsonl:"), "{}", said.stdout);
    fs::remove_file(&record).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &record).unwrap();
    let said = diff(&done, &["one", "cut", "--case", CASE]);
    assert!(said.stdout.contains("it is no plain file"), "{}", said.stdout);
}
