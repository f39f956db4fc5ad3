//! A read-back that cannot see: inconclusive with the reason, never a pass, and never a word against the server.

use crate::support::profile::Profile;
use crate::support::run::{Harness, Report};

/// Runs a case that would pass if the read-back could see, or if it were believed.
#[track_caller]
fn cannot_see(profile: &Profile) -> Report {
    let run = Harness::new().target(profile).case("identical-retry").run();
    run.exits(3);
    assert_eq!(run.verdict("sees-duplicates"), "inconclusive");
    assert_eq!(run.verdict("identical-retry"), "inconclusive");
    let reason = run.reason("identical-retry");
    assert!(
        reason.contains("the control `sees-duplicates` did not pass"),
        "{reason}"
    );
    let checks = run.case("identical-retry")["checks"].as_array().unwrap();
    for check in checks {
        let accuses = ["broken", "unguarded", "warning"].contains(&check["outcome"].as_str().unwrap());
        assert!(!accuses, "a run that saw nothing accuses the server: {check:#}");
    }
    run
}

#[test]
fn the_same_server_and_profile_with_a_good_query_pass() {
    let run = Harness::new().target(&Profile::plain()).case("identical-retry").run();
    run.exits(0);
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
}

/// Each of these counts a duplicate as one, so the control must see it on the doubled copy or on the second write.
#[test]
fn a_query_that_merges_rows_is_inconclusive() {
    for sql in [
        "SELECT DISTINCT note FROM orders WHERE note = $marker",
        "SELECT id, note FROM orders WHERE note = $marker LIMIT 1",
        "SELECT note, count(*) FROM orders WHERE note = $marker GROUP BY note",
        "SELECT max(id) FROM orders WHERE note = $marker HAVING count(*) > 0",
    ] {
        let run = cannot_see(&Profile::plain().effects(sql));
        assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 1]), "{sql}");
        let reason = run.reason("sees-duplicates");
        assert!(
            reason.contains("would not see a duplicate") || reason.contains("its double as one"),
            "{sql}: {reason}"
        );
    }
}

/// Two writes with two identities are two groups; only the doubled copy shows what is wrong.
#[test]
fn a_query_that_groups_by_the_identity_is_inconclusive() {
    for sql in [
        "SELECT key FROM orders WHERE note = $marker GROUP BY key",
        "SELECT DISTINCT key, note FROM orders WHERE note = $marker",
    ] {
        let run = cannot_see(&Profile::plain().effects(sql));
        assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]), "{sql}");
        assert_eq!(run.check("sees-duplicates", "sees-two"), "held");
        let reason = run.reason("sees-duplicates");
        assert!(reason.contains("a row and its double as one"), "{sql}: {reason}");
    }
}

#[test]
fn a_query_that_counts_by_itself_is_inconclusive() {
    let run = cannot_see(&Profile::plain().effects("SELECT count(*) FROM orders WHERE note = $marker"));
    let reason = run.reason("sees-duplicates");
    assert!(
        reason.contains("returns a count where each effect should be a row"),
        "{reason}"
    );
}

/// Nothing is driven that would not be believed: a server that writes elsewhere is not made to write more.
#[test]
fn a_case_whose_control_failed_is_not_driven() {
    let run = cannot_see(&Profile::plain().part("store", "kind = \"sqlite\"\npath = \"{data}/other.sqlite3\""));
    let record = run.record("identical-retry");
    assert!(
        record.iter().all(|event| event["kind"] != "process-started"),
        "{record:#?}"
    );
}

#[test]
fn a_wrong_path_is_inconclusive() {
    let profile = Profile::plain().part("store", "kind = \"sqlite\"\npath = \"{data}/other.sqlite3\"");
    let run = cannot_see(&profile);
    let reason = run.reason("sees-duplicates");
    assert!(
        reason.contains("reads another place than the server writes"),
        "{reason}"
    );
    assert!(reason.contains("other.sqlite3: there is no store"), "{reason}");
}

#[test]
fn a_wrong_table_or_column_is_inconclusive_and_named() {
    let run = cannot_see(&Profile::plain().effects("SELECT id FROM order_s WHERE note = $marker"));
    let reason = run.reason("sees-duplicates");
    assert!(reason.contains("no such table: order_s"), "{reason}");
    let run = cannot_see(&Profile::plain().effects("SELECT id FROM orders WHERE nota = $marker"));
    let reason = run.reason("sees-duplicates");
    assert!(reason.contains("no such column: nota"), "{reason}");
}

#[test]
fn a_query_that_would_write_is_refused_and_inconclusive() {
    let run = cannot_see(&Profile::plain().effects("DELETE FROM orders WHERE note = $marker"));
    let reason = run.reason("sees-duplicates");
    assert!(reason.contains("it would write"), "{reason}");
}

#[test]
fn a_server_that_writes_elsewhere_is_inconclusive() {
    let run = cannot_see(&Profile::plain().misbehave("write-elsewhere"));
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 0, 0]));
    let reason = run.reason("sees-duplicates");
    assert!(
        reason.contains("reads another place than the server writes"),
        "{reason}"
    );
}

#[test]
fn a_store_that_is_no_database_is_inconclusive_and_named() {
    let run = cannot_see(&Profile::plain().misbehave("garbage-store"));
    let reason = run.reason("sees-duplicates");
    assert!(reason.contains("orders.sqlite3"), "{reason}");
    assert_eq!(run.done.verify(&run.evidence()).code, 0);
}

/// A whole run on a server that cannot be seen passes nothing, so it is not green.
#[test]
fn nothing_seen_is_not_green_without_a_name_either() {
    let profile = Profile::plain().misbehave("write-elsewhere");
    let run = Harness::new()
        .target(&profile)
        .case("*retry")
        .case("sees-duplicates")
        .run();
    run.exits(3);
    assert_eq!(run.json["totals"]["pass"], 0);
}

/// Two writes with two identities would be excused as one natural key, were there not a third with data of its own.
#[test]
fn a_server_that_writes_elsewhere_after_a_restart_is_inconclusive() {
    let profile = Profile::plain()
        .flags("--dedupe none")
        .misbehave("write-elsewhere-later");
    let run = cannot_see(&profile);
    let reason = run.reason("sees-duplicates");
    assert!(
        reason.contains("the restarted server writes to another place"),
        "{reason}"
    );
}
