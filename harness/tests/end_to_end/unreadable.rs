//! Stores that nobody can read beside the living server: the reply marks the moment of a kill, and the frozen store decides
//! whether that was one.

use crate::support::profile::Profile;
use crate::support::run::{Harness, Report};

fn exclusive(profile: Profile) -> Profile {
    profile.flags("--locking exclusive")
}

fn moment(run: &Report, case: &str) -> Vec<String> {
    let record = run.record(case);
    let marks = record.iter().filter_map(|event| event["kind"].as_str());
    let is_mark = |kind: &&str| ["reply-marked-moment", "effect-visible", "fault-missed"].contains(kind);
    marks.filter(is_mark).map(str::to_owned).collect()
}

#[test]
fn a_guarded_server_passes_the_whole_family() {
    let harness = Harness::new().target(&exclusive(Profile::with_status()));
    // Two processes, and somebody else's lock, are what such a server does not allow.
    let run = harness
        .words(&[
            "--case",
            "retry/*",
            "--skip",
            "concurrent-first-use",
            "--skip",
            "cancelled-write",
        ])
        .run();
    run.exits(0);
    assert_eq!(run.json["totals"]["pass"], 7, "{}", run.done.stdout);
    for case in ["lost-reply", "crash-after-commit", "fresh-identity"] {
        assert_eq!(run.fact(case, "/attempt/moment"), "reply");
        assert_eq!(moment(&run, case), ["reply-marked-moment"]);
    }
    // What was looked at between two requests was looked at while the server stood still, and can be counted again.
    for case in ["identical-retry", "changed-input"] {
        assert_eq!(run.fact(case, "/after-attempt/effects/A"), 1);
        let record = run.record(case);
        let signals: Vec<_> = record.iter().filter_map(|event| event["signal"].as_str()).collect();
        assert_eq!(signals, ["SIGSTOP", "SIGCONT"], "{case}");
    }
    assert_eq!(run.check("identical-retry", "first-effect-kept"), "held");
    assert_eq!(run.check("changed-input", "no-new-data"), "held");
    let verified = run.done.verify(&run.evidence());
    assert_eq!((verified.code, &verified.json["runners_word"]), (0, &0.into()));
    let shown = run.done.then().words(&["latest", "lost-reply"]).call(&["show"]);
    assert!(
        shown.stdout.contains("the whole reply MARKS THE MOMENT"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("locking_mode=EXCLUSIVE"), "{}", shown.stdout);
}

#[test]
fn a_server_without_a_guard_is_found_with_both_rows() {
    let profile = exclusive(Profile::without_promise()).flags("--dedupe none --journal delete");
    let run = Harness::new()
        .target(&profile)
        .case("lost-reply")
        .case("identical-retry")
        .run();
    run.exits(1);
    for case in ["lost-reply", "identical-retry"] {
        assert_eq!(run.verdict(case), "unguarded", "{}", run.reason(case));
        assert_eq!(run.fact(case, "/end/effects/A"), 2);
        let rows = run.case(case)["rows"].as_array().unwrap();
        assert_eq!(rows[1]["made_by"][0]["step"], "retry");
    }
    assert_eq!(run.fact("lost-reply", "/attempt/moment"), "reply");
}

/// What the changed request wrote is told from what was there before, also where that was seen in a paused server's bytes.
#[test]
fn changed_data_is_seen_in_the_bytes_of_a_paused_server() {
    let profile = exclusive(Profile::plain()).flags("--conflict apply");
    let run = Harness::new().target(&profile).case("changed-input").run();
    run.exits(1);
    assert_eq!(run.check("changed-input", "no-new-data"), "broken");
    assert_eq!(run.fact("changed-input", "/end/new_data/A"), 1);
}

/// Nothing was seen before the kill, so nobody is accused of having lost it.
#[test]
fn a_reply_that_runs_ahead_of_its_commit_is_a_missed_moment_and_no_accusation() {
    let profile = exclusive(Profile::plain()).misbehave("asynchronous-write");
    let run = Harness::new().target(&profile).case("lost-reply").run();
    run.exits(3);
    let reason = run.reason("lost-reply");
    assert!(reason.contains("the fault missed its moment"), "{reason}");
    assert!(reason.contains("after the kill the store shows no effect"), "{reason}");
    assert_eq!(run.check("lost-reply", "effect-survived"), "not-judged");
    assert_eq!(run.done.verify(&run.evidence()).code, 0);
}

/// Under a rollback journal such a store can be read until its server writes for the first time.
#[test]
fn a_store_that_is_locked_by_the_write_itself_is_waited_for_and_then_killed_by_the_reply() {
    let tables = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT NOT NULL, qty INTEGER NOT NULL, key TEXT);
                  CREATE TABLE keys (key TEXT PRIMARY KEY, request TEXT NOT NULL, result TEXT NOT NULL);";
    let store = "kind = \"sqlite\"\npath = \"{data}/orders.sqlite3\"\nseed = \"seed.sql\"";
    let profile = exclusive(Profile::plain())
        .flags("--journal delete")
        .part("store", store);
    let run = Harness::new()
        .file("seed.sql", tables)
        .target(&profile)
        .case("lost-reply")
        .run();
    run.exits(0);
    assert_eq!(moment(&run, "lost-reply"), ["reply-marked-moment"]);
}

/// The lock dies with the server, so there is something to see after all.
#[test]
fn a_server_that_exits_between_commit_and_reply_has_its_effect_seen() {
    let profile = exclusive(Profile::plain()).misbehave_in("lost-reply", "exit-after-commit");
    let run = Harness::new().target(&profile).case("lost-reply").run();
    run.exits(0);
    assert_eq!(run.fact("lost-reply", "/attempt/moment"), "effect");
}

/// A look at a store that cannot be read pauses the server for as long as it takes; one that the case has paused is not let go.
#[test]
fn who_is_paused_by_a_case_is_not_resumed_by_a_look_at_its_store() {
    let case = r#"
format   = 1
id       = "paused"
family   = "mine"
revision = 1
title    = "a paused server is looked at"
proves   = "A look changes nothing."
matters  = "Whoever is paused must not act."
needs    = ["write", "read.effects"]
controls = ["sees-duplicates"]

[[step]]
start = "server"
[[step]]
write = "A"
[[step]]
observe = "awake"
[[step]]
pause = "server"
[[step]]
observe = "asleep"
[[step]]
resume = "server"
[[step]]
stop = "server"
[[step]]
observe = "end"
when    = "quiet"

[[check]]
id     = "one-effect"
about  = true
basis  = "contract"
say    = "the write was done more than once"
expect = { "end.effects.A" = 1 }
"#;
    let profile = Profile::plain().part(
        "read.ledger",
        "sql = \"SELECT misspelt FROM keys WHERE key = $operation\"",
    );
    let harness = Harness::new().target(&profile).file("paused.toml", case);
    let run = harness.words(&["--case-file", "paused.toml"]).run();
    run.exits(0);
    let record = run.record("paused");
    let told = record.iter().filter_map(|event| match event["kind"].as_str()? {
        "signalled" => event["signal"].as_str(),
        "observed" => event["label"].as_str(),
        _ => None,
    });
    let told: Vec<&str> = told.collect();
    assert_eq!(
        told,
        [
            "SIGSTOP", "SIGCONT", "awake", "SIGSTOP", "SIGSTOP", "asleep", "SIGCONT", "end"
        ]
    );
}
