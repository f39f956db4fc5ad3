//! Evidence of durable executions, forged by somebody who has the harness: what was tried on the event log, what the log holds,
//! and what `run.json` says was tried and launched.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::forge::{change, change_observation, change_record, judge_again};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report, Verification};

const LOG: &str = "event-log";
const END: &str = "cases/event-log/observations/end.json";

/// What is found where a statement is not the profile's, or is missing, or one is too many.
const NOT_THE_PROFILES: &str = "end.json: what was tried on the event log of A is not what run.json says";

/// A run of one case on the server whose writes are done by workers.
fn evidence(case: &str, defect: Option<&str>) -> (Done, PathBuf) {
    let words = ["--target", "reference-execution", "--evidence", "run"];
    let harness = Harness::new().words(&words).case(case);
    let (harness, code) = match defect {
        Some(defect) => (harness.defect(defect), 1),
        None => (harness, 0),
    };
    let report = harness.run();
    report.exits(code);
    let Report { done, .. } = report;
    let path = done.path("run");
    let verification = done.verify(&path);
    assert_eq!(verification.code, 0, "before it was changed: {verification:?}");
    (done, path)
}

#[track_caller]
fn only_finds(verification: &Verification, parts: &[&str]) {
    let findings = verification.findings();
    assert_eq!(findings.len(), parts.len(), "{findings:#?}");
    for part in parts {
        let is_found = findings.iter().any(|finding| finding.contains(part));
        assert!(is_found, "{part}: {findings:#?}");
    }
    assert_eq!(verification.code, 1);
}

/// Changes what was tried on the log at the end.
fn change_tried(path: &Path, by: impl FnOnce(&mut Value)) {
    change_observation(path, LOG, "end", |end| by(&mut end["operations"]["A"]["tampered"]));
}

#[test]
fn a_refusal_that_did_not_happen_is_found() {
    for statement in ["update", "delete", "replace"] {
        let (done, path) = evidence(LOG, Some("mutable-event-log"));
        change_tried(&path, |tried| {
            let changed = &tried[statement]["outcome"]["changed"];
            assert!(changed.is_u64(), "{tried}");
            tried[statement]["outcome"] = json!({ "refused": "the event log is append-only" });
        });
        judge_again(&path, LOG);
        let part = format!("{END}: tried again on the event log of A, `{statement}` comes out otherwise");
        only_finds(&done.verify(&path), &[&part]);
    }
}

/// The forgery of all three is what makes the verdict green.
#[test]
fn a_log_that_is_said_to_be_append_only_is_tried_again() {
    let (done, path) = evidence(LOG, Some("mutable-event-log"));
    change_tried(&path, |tried| {
        for statement in ["update", "delete", "replace"] {
            tried[statement]["outcome"] = json!({ "refused": "the event log is append-only" });
        }
    });
    assert_eq!(judge_again(&path, LOG), "pass", "the forgery would be worth it");
    only_finds(&done.verify(&path), &["end.json: tried again on the event log of A"]);
}

#[test]
fn an_outcome_that_did_not_come_is_found_whichever_it_is() {
    let outcomes = [
        json!({ "changed": 1 }),
        json!("nothing"),
        json!({ "failed": "no such table" }),
        json!({ "refused": "other words" }),
    ];
    for outcome in outcomes {
        let (done, path) = evidence(LOG, None);
        change_tried(&path, |tried| tried["update"]["outcome"] = outcome.clone());
        judge_again(&path, LOG);
        only_finds(&done.verify(&path), &["`update` comes out otherwise"]);
    }
}

#[test]
fn a_trial_that_was_removed_added_or_exchanged_is_found() {
    let forgeries: [fn(&mut Value); 4] = [
        |tried| drop(tried.as_object_mut().unwrap().remove("replace")),
        |tried| *tried = json!({}),
        |tried| {
            let other = tried["update"].clone();
            tried["more"] = other;
        },
        // Refused as well, by a store that lets its events be changed.
        |tried| tried["update"]["statement"] = json!("INSERT INTO execution_events SELECT * FROM execution_events"),
    ];
    for forgery in forgeries {
        let (done, path) = evidence(LOG, None);
        change_tried(&path, forgery);
        judge_again(&path, LOG);
        let findings = done.verify(&path).findings().join("\n");
        assert!(findings.contains(NOT_THE_PROFILES), "{findings}");
    }
}

/// An observation of a living store tries nothing.
#[test]
fn a_trial_where_the_plan_has_none_is_found() {
    let (done, path) = evidence("persist-before-dispatch", None);
    let trial = json!({ "statement": "DELETE FROM execution_events", "outcome": { "refused": "append-only" } });
    change_observation(&path, "persist-before-dispatch", "end", |end| {
        end["operations"]["A"]["tampered"] = json!({ "delete": trial });
    });
    judge_again(&path, "persist-before-dispatch");
    let findings = done.verify(&path).findings().join("\n");
    assert!(findings.contains(NOT_THE_PROFILES), "{findings}");
}

#[test]
fn what_run_json_says_is_tried_is_compared_with_what_was_tried() {
    let forgeries: [fn(&mut Value); 3] = [
        |tampering| tampering["delete"] = json!("DELETE FROM execution_events WHERE 0"),
        |tampering| drop(tampering.as_object_mut().unwrap().remove("delete")),
        |tampering| tampering["more"] = json!("DELETE FROM leases"),
    ];
    for forgery in forgeries {
        let (done, path) = evidence(LOG, None);
        change(&path, "run.json", |run| forgery(&mut run["target"]["tampering"]));
        only_finds(&done.verify(&path), &[NOT_THE_PROFILES]);
    }
    // Without any of them the plan could not have had the surface.
    let (done, path) = evidence(LOG, None);
    change(&path, "run.json", |run| {
        run["target"].as_object_mut().unwrap().remove("tampering").unwrap();
    });
    let findings = done.verify(&path).findings().join("\n");
    let part = "cases/event-log/record.jsonl: its plan has tampering, and run.json does not say by which words";
    assert!(
        findings.contains(part) && findings.contains(NOT_THE_PROFILES),
        "{findings}"
    );

    // A forger who changes both is asked what the other statement comes to.
    let (done, path) = evidence(LOG, Some("mutable-event-log"));
    let harmless = "UPDATE execution_events SET event = event";
    change(&path, "run.json", |run| {
        run["target"]["tampering"]["update"] = json!(harmless);
    });
    change_tried(&path, |tried| {
        tried["update"] = json!({ "statement": harmless, "outcome": { "refused": "the event log is append-only" } });
    });
    judge_again(&path, LOG);
    only_finds(&done.verify(&path), &["`update` comes out otherwise"]);
}

#[test]
fn what_run_json_says_is_launched_is_compared_with_what_was_launched() {
    let case = "persist-before-dispatch";
    let record = format!("cases/{case}/record.jsonl");
    let of_a = |role: &str| format!("was launched by another command than run.json has for a {role}");

    let (done, path) = evidence(case, None);
    change(&path, "run.json", |run| {
        run["target"]["processes"]["worker"][1] = json!("other-server");
    });
    let findings = done.verify(&path).findings().join("\n");
    assert!(
        findings.contains(&of_a("worker")) && findings.contains(&record),
        "{findings}"
    );

    // A word more, or one less, is another command too.
    for forgery in [(|words| drop(words.pop())) as fn(&mut Vec<Value>), |words| {
        words.push(json!("--harmless"));
    }] {
        change(&path, "run.json", |run| {
            forgery(run["target"]["processes"]["worker"].as_array_mut().unwrap());
        });
        assert!(done.verify(&path).findings().join("\n").contains(&of_a("worker")));
    }

    let (done, path) = evidence(case, None);
    change(&path, "run.json", |run| {
        run["target"].as_object_mut().unwrap().remove("processes").unwrap();
    });
    let findings = done.verify(&path).findings().join("\n");
    for part in [
        "its plan has processes.worker, processes.reaper, and run.json",
        &of_a("worker"),
    ] {
        assert!(findings.contains(part), "{part}: {findings}");
    }

    let (done, path) = evidence(case, None);
    change(&path, "run.json", |run| run["target"]["command"][2] = json!("pretend"));
    assert!(done.verify(&path).findings().join("\n").contains(&of_a("server")));

    // The other way round: the record tells of a process that nobody started.
    let (done, path) = evidence(case, None);
    change_record(&path, case, |event| {
        if event["kind"] == "process-started" && event["process"] == "worker" {
            event["process"] = json!("stranger");
        }
    });
    let findings = done.verify(&path).findings().join("\n");
    assert!(
        findings.contains("`stranger` was launched, and no step of the plan starts it"),
        "{findings}"
    );
}

#[test]
fn an_event_that_is_not_in_the_frozen_log_is_found() {
    let rows = |end: &mut Value| end["operations"]["A"]["more"]["events"]["outcome"]["rows"]["rows"].take();
    let forgeries: [fn(&mut Vec<Value>); 3] = [
        // An event more, an event less, and a worker that was another one.
        |events| {
            let last = events.last().unwrap().clone();
            events.push(last);
        },
        |events| drop(events.remove(1)),
        |events| {
            let claimed = events.iter_mut().find(|event| event[2] == "claimed").unwrap();
            claimed[4] = json!("somebody-else");
        },
    ];
    for forgery in forgeries {
        let (done, path) = evidence(LOG, None);
        change_observation(&path, LOG, "end", |end| {
            let mut events = rows(end);
            forgery(events.as_array_mut().unwrap());
            end["operations"]["A"]["more"]["events"]["outcome"]["rows"]["rows"] = events;
        });
        judge_again(&path, LOG);
        only_finds(
            &done.verify(&path),
            &["end.json: the frozen store answers otherwise for A"],
        );
    }
}

/// Honest evidence of a server that keeps the last row of a marker only: as many rows that are others were never doubled.
#[test]
fn what_was_not_doubled_because_the_rows_are_others_is_no_difference() {
    let seed = "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT, qty INTEGER, key TEXT);
        CREATE TRIGGER last_only AFTER INSERT ON orders BEGIN DELETE FROM orders WHERE note = NEW.note AND id < NEW.id; END;";
    let store = "kind = \"sqlite\"\npath = \"{data}/orders.sqlite3\"\nseed = \"seed.sql\"";
    let run = Harness::new()
        .file("seed.sql", seed)
        .target(&Profile::plain().part("store", store))
        .words(&["--evidence", "run"])
        .case("sees-duplicates")
        .run();
    run.exits(3);
    let two = std::fs::read_to_string(run.done.path("run/cases/sees-duplicates/observations/two.json")).unwrap();
    assert!(!two.contains("doctored"), "{two}");
    let verification = run.done.verify(&run.done.path("run"));
    assert_eq!((verification.code, verification.findings()), (0, Vec::new()));
}
