//! What the commands print: exit code, standard output and standard error together, as snapshots.
//!
//! A text that changed on purpose is accepted with `cargo insta review`, or with `INSTA_UPDATE=always cargo test`.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::support::profile::Profile;
use crate::support::redact::NOISE;
use crate::support::run::{Done, Harness};

#[track_caller]
pub(super) fn prints(name: &str, done: &Done) {
    let text = format!(
        "exit code: {}\n----- standard output -----\n{}----- standard error -----\n{}",
        done.code, done.stdout, done.stderr
    );
    let text = text.replace(&done.path("").display().to_string(), "[FOLDER]/");
    insta::with_settings!({filters => NOISE, omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, text);
    });
}

fn call(words: &[&str]) -> Done {
    Harness::new().call(words)
}

#[test]
fn help() {
    prints("help", &call(&["--help"]));
    prints("help-run", &call(&["run", "--help"]));
    prints("help-prove", &call(&["prove", "--help"]));
    prints("help-show", &call(&["show", "--help"]));
    prints("help-report", &call(&["report", "--help"]));
    prints("help-diff", &call(&["diff", "--help"]));
    prints("help-rerun", &call(&["rerun", "--help"]));
    prints("help-verify", &call(&["verify", "--help"]));
    prints("help-export", &call(&["export", "--help"]));
    prints("help-vectors", &call(&["vectors", "--help"]));
    prints("help-fingerprint", &call(&["fingerprint", "--help"]));
    prints("version", &call(&["--version"]));
}

#[test]
fn list_and_explain() {
    prints("list", &call(&["list"]));
    prints("explain", &call(&["explain", "lost-reply"]));
    prints("explain-unknown", &call(&["explain", "lost-replay"]));
    prints("explain-family", &call(&["explain", "crash"]));
}

#[test]
fn schemas() {
    prints("schema-names", &call(&["schema"]));
    prints("schema-unknown", &call(&["schema", "profil"]));
    let done = call(&["schema", "record"]);
    let schema: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(schema["title"], "record");
}

#[test]
fn a_pass_and_its_evidence() {
    let done = Harness::new().case("lost-reply").run_human();
    prints("run-pass", &done);
    prints(
        "verify-pass",
        &done.then().words(&["evidence/runs/latest"]).call(&["verify"]),
    );
}

#[test]
fn a_fail_and_its_evidence() {
    let done = Harness::new().defect("memory-ledger").case("lost-reply").run_human();
    prints("run-fail", &done);
    std::fs::write(done.latest().join("cases/lost-reply/stderr/first.log"), "changed").unwrap();
    prints(
        "verify-changed",
        &done.then().words(&["evidence/runs/latest"]).call(&["verify"]),
    );
}

#[test]
fn a_whole_run() {
    prints("run-whole", &Harness::new().run_human());
}

#[test]
fn what_is_not_a_pass_and_not_a_fail() {
    let plain = Profile::plain();
    prints(
        "run-unsupported",
        &Harness::new().target(&plain).case("crash-after-commit").run_human(),
    );
    let unguarded = Profile::without_promise().flags("--dedupe none");
    prints(
        "run-unguarded",
        &Harness::new().target(&unguarded).case("identical-retry").run_human(),
    );
    let blind = plain.clone().effects("SELECT id FROM order_s WHERE note = $marker");
    prints(
        "run-inconclusive",
        &Harness::new().target(&blind).case("identical-retry").run_human(),
    );
    let dead = plain.misbehave("die-at-start");
    prints("run-did-not-start", &Harness::new().target(&dead).run_human());
}

#[test]
fn usage_errors() {
    prints("usage-nothing", &call(&[]));
    let words = ["list", "--defects", "--case-file", "mine.toml"];
    prints("usage-defects-and-case-file", &call(&words));
    prints("usage-unknown-command", &call(&["rum"]));
    prints("usage-unknown-case", &Harness::new().case("lost-replay").run_human());
    prints("usage-unknown-flag", &call(&["run", "--sed", "1"]));
    prints("usage-unknown-defect", &Harness::new().defect("no-leger").run_human());
    prints("usage-no-profile", &call(&["run", "--target", "nowhere.toml"]));
    prints("usage-no-run", &call(&["show", "latest"]));
    prints("usage-no-evidence", &call(&["verify", "nowhere"]));
}

#[test]
fn nothing_but_text_goes_into_a_pipe() {
    for (name, value) in [
        ("TERM", "xterm-256color"),
        ("NO_COLOR", "1"),
        ("CI", "true"),
        ("CLICOLOR_FORCE", "0"),
    ] {
        let done = Harness::new().case("identical-retry").env(name, value).run_human();
        done.exits(0);
        let escapes = done.stdout.contains('\u{1b}') || done.stderr.contains('\u{1b}');
        assert!(!escapes, "{name}={value}: {}{}", done.stdout, done.stderr);
        assert_eq!(done.stderr, "", "{name}={value}");
    }
}

/// `harness … | head -1`: the reader goes away after the first byte, and the exit code still tells the verdict.
#[test]
fn a_reader_that_goes_away_changes_no_verdict() {
    for (words, code) in [
        (&["run", "--case", "lost-reply"][..], 0),
        (
            &[
                "run",
                "--case",
                "lost-reply",
                "--defect",
                "no-ledger",
                "--format",
                "json",
            ],
            1,
        ),
        (&["run", "--case", "lost-reply", "--format", "jsonl"], 0),
        (&["list"], 0),
        (&["explain", "lost-reply"], 0),
        (&["--help"], 0),
    ] {
        let mut command = Harness::new().command(words);
        let folder = tempfile::tempdir().unwrap();
        command.current_dir(folder.path()).env("TMPDIR", folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(!said.contains("panicked"), "{words:?}: {said}");
    }
}

/// What the binary can do beside testing is found in that table as well.
#[cfg(feature = "reference-server")]
#[test]
fn the_table_of_commands_names_what_the_reference_server_does() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let rows: Vec<&str> = (readme.lines())
        .filter(|line| line.starts_with("| `harness reference-server"))
        .collect();
    let help = call(&["reference-server", "--help"]).stdout;
    let commands = help
        .split("Commands:\n")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next());
    let lines = commands.unwrap().lines().filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"serve"), "{help}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let is_named = rows
            .iter()
            .any(|row| row.contains(&format!(" {name}`")) || row.contains(&format!("`{name}`")));
        assert!(is_named, "README.md has no row with {name}");
    }
}

/// Who looks for a flag looks in that table first.
#[test]
fn the_table_of_commands_names_every_flag() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    for command in [
        "run",
        "list",
        "explain",
        "show",
        "report",
        "verify",
        "diff",
        "rerun",
        "export",
        "prove",
        "vectors",
        "fingerprint",
        "schema",
    ] {
        let start = format!("| `harness {command}");
        let row = readme.lines().find(|line| line.starts_with(&start)).expect(command);
        let help = call(&[command, "--help"]).stdout;
        let has = |flag: &str| {
            let mut words = row.split(|c: char| !(c.is_alphanumeric() || c == '-'));
            words.any(|word| word == flag)
        };
        for line in help
            .lines()
            .map(str::trim_start)
            .filter(|line| line.starts_with('-') && !line.starts_with("- "))
        {
            // The short form of a flag names it as well.
            let forms = line.split_whitespace().filter(|word| word.starts_with('-'));
            let forms: Vec<&str> = forms.map(|word| word.trim_end_matches([',', '.'])).collect();
            let is_named = forms.contains(&"--help") || forms.iter().any(|form| has(form));
            assert!(is_named, "README.md has no {forms:?} in the row of {command}");
        }
    }
}
