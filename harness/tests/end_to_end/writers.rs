//! Servers that write in odd ways: much at a time, twice as much as asked, or later than they say. Each gets the right verdict,
//! and none a wrong pass.

use crate::support::profile::Profile;
use crate::support::run::{Harness, files};

const COMMITS: i64 = 1_000;

/// Looks that were made while the server wrote; one would do, and there are hundreds.
const LOOKS_MIN: u64 = 10;

/// A commit that meets a reader's lock would fail at once, and the server would end with that.
#[test]
fn a_thousand_commits_without_a_busy_timeout_are_not_disturbed_by_our_looks() {
    let flags = format!("--journal delete --busy-timeout 0 --commits-before {COMMITS}");
    let run = Harness::new()
        .target(&Profile::plain().flags(&flags))
        .case("lost-reply")
        .run();
    run.exits(0);
    assert_eq!(run.verdict("lost-reply"), "pass");
    let record = run.record("lost-reply");
    let at = |kind: &str| record.iter().position(|event| event["kind"] == kind).unwrap();
    let sent = record
        .iter()
        .position(|event| event["payload"]["method"] == "tools/call")
        .unwrap();
    let visible = at("effect-visible");
    assert!(sent < visible, "the looks are between the request and the effect");
    let polls = record[visible]["polls"].as_u64().unwrap();
    assert!(polls >= LOOKS_MIN, "{polls} looks");
    // Every one of them is in the store as the kill left it.
    let copy = run
        .evidence()
        .join("cases/lost-reply/stores/after-kill/orders.sqlite3.read.sqlite3");
    let store = rusqlite::Connection::open(copy).unwrap();
    let steps: i64 = store
        .query_row("SELECT count(*) FROM steps", [], |row| row.get(0))
        .unwrap();
    assert_eq!(steps, COMMITS);
    let cases = run.evidence().join("cases");
    for file in files(&cases).iter().filter(|file| file.contains("/stderr/")) {
        let said = std::fs::read_to_string(cases.join(file)).unwrap();
        assert_eq!(said, "", "{file}");
    }
}

/// With the effect named by a query on `orders`, a table of attempts beside it changes nothing.
#[test]
fn a_table_of_all_attempts_is_no_effect() {
    let run = Harness::new().target(&Profile::with_status().flags("--audit")).run();
    run.exits(0);
    assert_eq!(run.json["totals"]["pass"], 6, "{}", run.done.stdout);
    let unguarded = Profile::without_promise().flags("--audit --dedupe none");
    let run = Harness::new().target(&unguarded).case("retry/*").run();
    for case in ["lost-reply", "identical-retry"] {
        assert_eq!(run.verdict(case), "unguarded", "{}", run.reason(case));
        assert_eq!(run.fact(case, "/end/effects/A"), 2);
    }
}

/// A thread commits some time after the reply: the effect is waited for where it is the moment of a kill, and missed where the
/// reply was believed.
#[test]
fn a_server_that_commits_behind_its_reply_is_never_passed_for_one_that_does_not() {
    let behind = |profile: Profile| profile.misbehave("commit-behind");
    let run = Harness::new().target(&behind(Profile::plain())).run();
    run.exits(1);
    assert_eq!(
        run.verdict("sees-duplicates"),
        "pass",
        "{}",
        run.reason("sees-duplicates")
    );
    assert_eq!(
        run.verdict("reply-means-done"),
        "fail",
        "{}",
        run.reason("reply-means-done")
    );
    // Its key still guards it: whatever is lost or repeated, there is one row in the end.
    assert_eq!(run.verdict("lost-reply"), "pass", "{}", run.reason("lost-reply"));
    assert_eq!(run.fact("lost-reply", "/end/effects/A"), 1);
    assert_eq!(run.fact("identical-retry", "/end/effects/A"), 1);

    let run = Harness::new()
        .target(&behind(Profile::without_promise()).flags("--dedupe none"))
        .case("retry/*")
        .run();
    for case in ["lost-reply", "identical-retry", "reply-means-done"] {
        assert_eq!(run.verdict(case), "unguarded", "{case}: {}", run.reason(case));
    }
}
