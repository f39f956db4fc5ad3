//! Which target is tested: a green that tested something else is the worst thing a gate can do.

use std::path::{Path, PathBuf};

use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Done, Harness, files};

/// The name stands in the first and in the last line.
#[track_caller]
fn tested(done: &Done, name: &str) {
    let first = done.stdout.lines().next().unwrap_or_default();
    let last = done.stdout.lines().last().unwrap_or_default();
    assert!(first.contains(name), "first line: {first}\n{}", done.stderr);
    assert!(last.contains(name), "last line: {last}");
}

#[test]
fn without_a_word_the_built_in_server_is_tested() {
    let done = Harness::new().case("identical-retry").run_human();
    done.exits(0);
    tested(&done, "reference-server (built in, contract guarded)");
}

/// It is not taken unless it is named, so nobody needs to be told why.
#[test]
fn the_other_built_in_server_is_tested_where_it_is_named() {
    let words = ["--target", "reference-execution"];
    let done = Harness::new().words(&words).case("event-log").run_human();
    done.exits(0);
    tested(&done, "reference-execution (built in, contract guarded)");
    assert!(!done.stdout.contains("no --target"), "{}", done.stdout);
}

#[test]
fn a_profile_that_lies_in_the_folder_is_tested() {
    let done = Harness::new()
        .file("target.toml", &Profile::plain().text())
        .case("identical-retry")
        .run_human();
    done.exits(0);
    tested(&done, "plain (target.toml, contract at-most-once)");
}

#[test]
fn a_named_profile_wins_over_the_one_in_the_folder() {
    let done = Harness::new()
        .file("target.toml", &Profile::plain().flags("--dedupe none").text())
        .target(&Profile::plain())
        .case("identical-retry")
        .run_human();
    done.exits(0);
    tested(&done, "plain (profile.toml, contract at-most-once)");
}

#[test]
fn a_broken_profile_in_the_folder_is_no_reason_to_test_something_else() {
    let done = Harness::new().file("target.toml", "format = 1\n").run_human();
    done.exits(2).says_only(&["target.toml", "name"]).wrote_nothing();
}

/// Of a bare command nothing is known but how it starts, so a case about effects cannot run on it.
#[test]
fn a_command_wins_over_the_profile_in_the_folder() {
    let server = plain_server().display().to_string();
    let words = |harness: Harness| {
        harness
            .file("target.toml", &Profile::plain().text())
            .case("identical-retry")
    };
    let done = words(Harness::new())
        .words(&["--", &server, "--database", "orders.sqlite3"])
        .run_human();
    done.exits(3);
    tested(&done, "plain-server --database");
    assert!(done.stdout.contains("`write`"), "{}", done.stdout);

    let done = words(Harness::new())
        .words(&["--format", "json", "--", &server, "--database", "orders.sqlite3"])
        .run_human();
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let repeat = report["cases"][0]["repeat"].as_str().unwrap();
    assert!(repeat.ends_with("plain-server --database orders.sqlite3"), "{repeat}");

    let line = format!("'{server}' --database orders.sqlite3");
    let done = words(Harness::new()).words(&["--stdio", &line]).run_human();
    done.exits(3);
    tested(&done, "plain-server --database");
}

#[test]
fn two_ways_to_name_a_target_are_refused() {
    let done = Harness::new()
        .target(&Profile::plain())
        .words(&["--", "server"])
        .run_human();
    done.exits(2).wrote_nothing();
    assert!(done.stderr.contains("cannot be used with"), "{}", done.stderr);
}

#[test]
fn the_report_and_the_evidence_name_the_target_too() {
    let run = Harness::new().target(&Profile::plain()).case("identical-retry").run();
    assert_eq!(
        run.json["target"]["title"],
        "plain (profile.toml, contract at-most-once)"
    );
    assert_eq!(run.json["target"]["server"]["name"], "plain-server");
    let verified = run.done.verify(&run.evidence());
    assert_eq!(verified.json["target"], "plain");
}

/// Profiles that people copy: each can be read here too, where the server that it launches is not installed.
#[test]
fn every_profile_of_the_repository_is_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets");
    let is_profile = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    let profiles: Vec<PathBuf> = files(&folder)
        .iter()
        .map(|file| folder.join(file))
        .filter(is_profile)
        .collect();
    assert!(profiles.len() >= 6, "{profiles:?}");
    for profile in profiles {
        let path = profile.display().to_string();
        let done = Harness::new().words(&["--target", &path, "--dry-run"]).run_human();
        done.exits(0);
    }
}

/// Who may start processes on a machine wants to know which, before it is done.
#[test]
fn a_dry_run_names_what_is_launched_beside_the_server_and_what_is_tried_on_its_log() {
    let dry = |words: &[&str]| {
        let done = Harness::new().words(&["--dry-run"]).words(words).run_human();
        done.exits(0).wrote_nothing();
        done.stdout
    };
    let executions = ["--target", "reference-execution", "--case", "event-log"];
    let shown = dry(&executions);
    let line = |label: &str| {
        let begins = |line: &&str| line.strip_prefix(label).is_some_and(|rest| rest.starts_with(' '));
        shown
            .lines()
            .find(begins)
            .unwrap_or_else(|| panic!("no line {label}: {shown}"))
    };
    let data = "/dry/data/store.sqlite3";
    for (role, parts) in [
        ("launch", ["reference-server serve", data, "--workers 1"]),
        ("worker", ["reference-server work", data, "--worker-id worker"]),
        ("reaper", ["reference-server reap", data, "--loop"]),
    ] {
        for part in parts {
            assert!(line(role).contains(part), "{part}: {}", line(role));
        }
    }
    assert!(
        !shown.contains("its own variables"),
        "they get those of the server: {shown}"
    );
    for statement in [
        "update, on a copy of the frozen store: UPDATE execution_events",
        "delete, on a copy of the frozen store: DELETE FROM execution_events",
        "replace, on a copy of the frozen store: REPLACE INTO execution_events",
    ] {
        assert!(
            shown.contains(&format!("tampering {statement}")),
            "{statement}: {shown}"
        );
    }
    assert!(shown.contains("and try to change its event log on a copy"), "{shown}");

    // The same for programs.
    let json: serde_json::Value =
        serde_json::from_str(&dry(&[&executions[..], &["--format", "json"]].concat())).unwrap();
    let worker = json["processes"]["worker"]["command"].as_array().unwrap();
    let worker: Vec<&str> = worker.iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(worker[1..5], ["reference-server", "work", "--worker-id", "worker"]);
    assert_eq!(json["processes"].as_object().unwrap().len(), 2);
    assert_eq!(json["tampering"]["delete"], "DELETE FROM execution_events");

    // Nothing of it where there is nothing, and names of variables that a process has to itself.
    let shown = dry(&["--case", "lost-reply"]);
    assert!(!shown.contains("tampering ") && !shown.contains("worker "), "{shown}");
    let profile = Profile::plain().part(
        "processes.worker",
        "command = [\"work\"]\nenv = { POLL = \"{process}\" }",
    );
    let done = Harness::new().target(&profile).words(&["--dry-run"]).run_human();
    done.exits(0).wrote_nothing();
    assert!(
        done.stdout
            .contains("worker    work\n          with its own variables POLL\n"),
        "{}",
        done.stdout
    );
}
