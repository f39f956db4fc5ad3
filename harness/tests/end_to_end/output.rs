//! Output that cannot be written: nobody may take a part of it for the whole, and what is red stays red.

use std::fs::OpenOptions;
use std::process::Stdio;

use serde_json::Value;

use crate::support::run::{Done, Harness, code, names};

/// What this device takes is nothing.
const FULL: &str = "/dev/full";

/// Runs a command whose standard output takes nothing; it has to say so once, and to come to this exit code.
#[track_caller]
fn onto_a_full_device(harness: &Harness, words: &[&str], exit: i32) -> Done {
    let full = OpenOptions::new().write(true).open(FULL).unwrap();
    let mut command = harness.command(words);
    let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let told = said
        .matches("error: cannot write the output: No space left on device")
        .count();
    assert_eq!((told, code(output.status)), (1, exit), "{words:?}: {said}");
    assert!(!said.contains("panicked"), "{words:?}: {said}");
    Done::new(harness, exit, String::new(), said)
}

#[test]
fn a_text_that_cannot_be_written_is_no_success() {
    let harness = Harness::new();
    for words in [
        &["--help"][..],
        &["--version"],
        &["list"],
        &["list", "--defects"],
        &["list", "--format", "json"],
        &["explain", "lost-reply"],
        &["schema"],
        &["schema", "run"],
        &["completions", "bash"],
        &["vectors"],
        &["vectors", "--format", "json"],
        &["run", "--dry-run", "--case", "lost-reply"],
    ] {
        onto_a_full_device(&harness, words, 3);
    }
    // Wrong usage comes first, as everywhere.
    onto_a_full_device(&harness, &["list", "--format", "json", "--no-such-flag"], 2);
}

/// The verdicts are on disk whatever became of the output, and a fail is one still.
#[test]
fn a_run_is_whole_and_says_that_its_report_is_not() {
    let run = ["run", "--case", "identical-retry", "--evidence"];
    for (name, format) in [("people", "human"), ("document", "json"), ("events", "jsonl")] {
        for (defect, exit) in [(None, 3), (Some("no-ledger"), 1)] {
            let harness = Harness::new();
            let defect: Vec<&str> = defect.map_or(Vec::new(), |defect| vec!["--defect", defect]);
            let words = [&run[..], &[name, "--format", format], &defect].concat();
            let done = onto_a_full_device(&harness, &words, exit);
            let verified = done.verify(&done.path(name));
            assert_eq!((verified.findings(), verified.code), (vec![], 0), "{words:?}");
            assert_eq!(names(&done.path("tmp")), [""; 0]);
        }
    }
}

#[test]
fn what_is_read_from_evidence_is_whole_or_no_success() {
    let done = Harness::new().case("identical-retry").run().done;
    for words in [
        &["show", "latest"][..],
        &["show", "latest", "identical-retry", "--format", "jsonl"],
        &["show", "latest", "identical-retry", "--pretty"],
        &["verify", "latest"],
        &["verify", "latest", "--format", "json"],
    ] {
        onto_a_full_device(&done.then(), words, 3);
    }
    std::fs::write(done.latest().join("run.json"), "{}").unwrap();
    onto_a_full_device(&done.then(), &["verify", "latest"], 1);
}

#[test]
fn a_fingerprint_that_cannot_be_written_is_no_success() {
    let vectors: Value = serde_json::from_str(include_str!("../../../vectors/fingerprint.json")).unwrap();
    let harness = Harness::new()
        .file("request.json", &vectors["vectors"][0]["request"].to_string())
        .env("REQUEST_KEY", &"0123456789abcdef".repeat(4));
    let words = ["fingerprint", "request.json", "--key-env", "REQUEST_KEY"];
    onto_a_full_device(&harness, &words, 3);
    onto_a_full_device(&harness, &[&words[..], &["--explain"]].concat(), 3);
}

/// The matrix stands beside the runs, whichever form of it could not be printed.
#[test]
fn a_proof_is_whole_and_says_that_its_report_is_not() {
    let harness = Harness::new();
    for format in ["human", "json", "markdown"] {
        let words = [
            "--defect",
            "no-ledger",
            "--case",
            "identical-retry",
            "--evidence",
            format,
        ];
        let done = onto_a_full_device(&harness, &[&["prove", "--format", format], &words[..]].concat(), 3);
        let text = std::fs::read_to_string(done.path(format).join("matrix.json")).unwrap();
        let matrix: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&matrix["exit"], &matrix["defects"][0]["defect"]),
            (&0.into(), &"no-ledger".into())
        );
    }
}

/// What goes into a file or a folder only says so, and makes none that is called `-`.
#[test]
fn a_dash_names_no_file() {
    let done = Harness::new().case("lost-reply").run_human();
    done.exits(0);
    let runs = names(&done.path("evidence/runs"));
    for words in [
        &["export", "latest", "--output", "-"][..],
        &["export", "latest", "-o", "run.zip", "--attest", "-"],
        &["run", "--case", "lost-reply", "--write-expected", "-"],
        &["run", "--evidence", "-"],
        &["rerun", "latest", "--evidence", "-"],
        &["prove", "--evidence", "-"],
    ] {
        let refused = done.then().call(words);
        refused
            .exits(2)
            .says_only(&[" -: ", "name another, or `./-` if that is meant"]);
        assert_eq!(names(&done.path("evidence/runs")), runs, "{words:?}");
        assert!(!done.path("-").exists() && !done.path("run.zip").exists(), "{words:?}");
    }
}
