//! No file needed: a command, its write and its store are enough, and the effect is found by its marker.

use crate::support::profile::plain_server;
use crate::support::run::Harness;

const WRITE: &str = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
const STORE: &str = "{data}/o.sqlite3";

/// The plain server as a command, with its write, its store and more flags.
fn command(flags: &[&str], server: &[&str]) -> Harness {
    let program = plain_server().display().to_string();
    let harness = Harness::new().words(&["--write", WRITE, "--store", STORE]).words(flags);
    harness.server(&[&program, "--database", STORE]).server(server)
}

#[test]
fn the_effect_is_found_by_its_marker_and_counted_like_one_that_was_named() {
    let run = command(&[], &["--dedupe", "none"]).run();
    run.exits(0);
    assert_eq!(run.json["read_effects"], "SELECT * FROM orders WHERE note = $marker");
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
    assert_eq!(run.verdict("lost-reply"), "unguarded");
    assert_eq!(run.verdict("identical-retry"), "unguarded");
    assert_eq!(run.verdict("fresh-identity"), "pass");
    let verification = run.done.verify(&run.evidence());
    assert_eq!(verification.code, 0, "{verification:?}");
}

/// A ledger that keeps the request holds the marker too, and grows with each effect: both are counted together.
#[test]
fn places_that_grow_alike_are_counted_together() {
    let run = command(&[], &[]).run();
    run.exits(0);
    assert_eq!(run.json["read_effects"], "keys.request, together with orders.note");
    assert_eq!(run.verdict("lost-reply"), "pass");
    // The rows that are shown are those of the place that is the effect itself.
    assert!(run.case("lost-reply")["rows"][0]["row"]["note"].is_string());
    let verification = run.done.verify(&run.evidence());
    assert_eq!(verification.code, 0, "{verification:?}");
}

/// The order stands there twice, its key once: only a person knows which of the two is the effect.
#[test]
fn places_that_disagree_are_told_with_the_flag_to_paste() {
    let done = command(&["--case", "lost-reply"], &["--misbehave", "late-writer"]).run_human();
    done.exits(3);
    let flag = "--effects 'SELECT * FROM orders WHERE note = $marker'";
    for part in [
        "places disagree: keys.request +1 (one effect: +1), orders.note +2 (one effect: +1)",
        flag,
    ] {
        assert!(done.stdout.contains(part), "{part} is not in {}", done.stdout);
    }
    let effects = "SELECT * FROM orders WHERE note = $marker";
    let run = command(
        &["--case", "lost-reply", "--effects", effects],
        &["--misbehave", "late-writer"],
    )
    .run();
    run.exits(1);
    assert_eq!(run.verdict("lost-reply"), "unguarded");
}

/// A place that was found is not the only one that is looked at: a second effect in another file is no pass.
#[test]
fn a_second_effect_in_another_file_is_seen_by_a_search() {
    let program = plain_server().display().to_string();
    let database = "{data}/orders.jsonl";
    for case in ["identical-retry", "lost-reply"] {
        let harness = Harness::new().words(&["--write", WRITE, "--store", "{data}", "--case", case]);
        let server = [
            &program,
            "--database",
            database,
            "--keep-in",
            "lines",
            "--misbehave",
            "copy-on-retry",
        ];
        let done = harness.server(&server).run_human();
        done.exits(3);
        let parts = [
            "found by marker: path = \"orders.jsonl\"",
            "places disagree: orders.again +1 (one effect: +0)",
        ];
        for part in parts {
            assert!(done.stdout.contains(part), "{part} is not in {}", done.stdout);
        }
    }
}

/// What holds no marker is in no count; that it grew with a retry is said all the same.
#[test]
fn what_a_retry_changed_beside_the_effect_is_told() {
    let done = command(&["--case", "lost-reply"], &["--misbehave", "tally-on-retry"]).run_human();
    done.exits(0);
    let part = "beside the effects table `payments` grew from 0 to 1 rows";
    assert!(done.stdout.contains(part), "{part} is not in {}", done.stdout);
    let done = command(&["--case", "lost-reply"], &[]).run_human();
    assert!(!done.stdout.contains("beside the effects"), "{}", done.stdout);
}

#[test]
fn a_server_that_writes_elsewhere_is_inconclusive() {
    let done = command(&[], &["--misbehave", "write-elsewhere"]).run_human();
    done.exits(3);
    assert!(done.stdout.contains("is nowhere in"), "{}", done.stdout);
}

#[test]
fn wrong_flags_are_refused_before_anything_is_written() {
    let refused = |words: &[&str], part: &str| {
        let server: &[&str] = if part.contains("after `--`") { &[] } else { &["server"] };
        let done = Harness::new().words(words).server(server).run_human();
        done.exits(2).wrote_nothing();
        assert!(done.stderr.contains(part), "{part} is not in {}", done.stderr);
    };
    refused(&["--write", "x", "--store", STORE], "it is not TOOL={…}");
    refused(
        &["--write", "x=1", "--store", STORE],
        "the arguments are no JSON object",
    );
    refused(&["--write", "x={}", "--store", STORE], "carries no {marker}");
    refused(&["--write", WRITE], "--store");
    refused(&["--write", WRITE, "--store", STORE], "name it after `--`");
    refused(
        &["--write", WRITE, "--store", STORE, "--effects", "SELECT 1"],
        "does not select by $marker",
    );
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let done = command(&["--dry-run", "--case", "lost-reply"], &[]).run_human();
    done.exits(0).wrote_nothing();
    for part in ["HOME", "looked for by marker", "SIGKILL the tree", "create_order {"] {
        assert!(done.stdout.contains(part), "{part} is not in {}", done.stdout);
    }
    let all_cases = command(&["--dry-run"], &[]).run_human();
    let lacks = "unsupported  only a profile (target.toml) can say it: [status] names no tool: crash-after-commit";
    assert!(all_cases.stdout.contains(lacks), "{}", all_cases.stdout);
    assert!(
        !all_cases.stdout.contains("\ncrash-after-commit"),
        "{}",
        all_cases.stdout
    );
    let built_in = Harness::new().words(&["--dry-run", "--format", "json"]).run_human();
    built_in.exits(0).wrote_nothing();
    let plan: serde_json::Value = serde_json::from_str(&built_in.stdout).expect("one JSON document");
    let all = harness::case::Catalogue::embedded().all().len();
    assert_eq!(plan["plans"].as_array().unwrap().len(), all);
    let secret = plan["environment"]
        .as_array()
        .unwrap()
        .iter()
        .any(|name| name == "GUARD_STATE_KEY");
    assert!(secret && !built_in.stdout.contains("GUARD_STATE_KEY="), "names only");
}
