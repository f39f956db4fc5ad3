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
