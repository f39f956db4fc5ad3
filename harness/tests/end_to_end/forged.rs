//! Evidence of a server that doubles its effect, forged by somebody who has the harness: everything fits together but for
//! what follows from something else.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::forge::{change, change_observation, change_record, judge_again, seal_again};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report, Verification};

const CASE: &str = "lost-reply";
const END: &str = "cases/lost-reply/observations/end.json";

/// A run in which a retry had a second effect.
fn doubled() -> (Done, PathBuf) {
    evidence(&Profile::without_promise().flags("--dedupe none"), 1)
}

fn evidence(profile: &Profile, code: i32) -> (Done, PathBuf) {
    let harness = Harness::new().target(profile).case(CASE);
    let report = harness.words(&["--evidence", "run"]).run();
    report.exits(code);
    let Report { done, .. } = report;
    let path = done.path("run");
    assert_eq!(done.verify(&path).code, 0, "before it was changed");
    (done, path)
}

/// Takes the second row out of what was seen at the end.
fn one_row_less(observation: &mut Value) {
    let rows = observation
        .pointer_mut("/operations/A/effects/outcome/rows/rows")
        .unwrap();
    assert!(rows.as_array_mut().unwrap().pop().is_some());
}

#[track_caller]
fn only_finds(verification: &Verification, parts: &[&str]) {
    let findings = verification.findings();
    assert_eq!(findings.len(), parts.len(), "{findings:#?}");
    for part in parts {
        assert!(
            findings.iter().any(|finding| finding.contains(part)),
            "{part}: {findings:#?}"
        );
    }
    assert_eq!(verification.code, 1);
}

#[test]
fn a_file_of_which_nothing_speaks_and_a_log_that_is_gone_are_found() {
    let (done, path) = doubled();
    fs::write(path.join("cases/lost-reply/observations/last.json"), "{}").unwrap();
    fs::remove_file(path.join("cases/lost-reply/stderr/first.log")).unwrap();
    seal_again(&path);
    only_finds(
        &done.verify(&path),
        &[
            "cases/lost-reply/observations/last.json: nothing in the evidence speaks of it",
            "cases/lost-reply/stderr/first.log: it is not there, and the record has its process",
        ],
    );
}

/// Makes a forgery of the end, judged to be a pass, and says what is found.
fn forged_end(change: impl FnOnce(&Path, &mut Value)) -> Verification {
    let (done, path) = doubled();
    change_observation(&path, CASE, "end", |end| change(&path, end));
    assert_eq!(judge_again(&path, CASE), "pass", "the forgery would be worth it");
    done.verify(&path)
}

#[test]
fn a_query_that_counts_less_than_the_profile_is_found() {
    let verification = forged_end(|_, end| {
        let sql = end.pointer_mut("/operations/A/effects/query/sql").unwrap();
        *sql = json!(sql.as_str().unwrap().to_owned() + " LIMIT 1");
        one_row_less(end);
    });
    only_finds(
        &verification,
        &["end.json: the effects of A were not asked as run.json says"],
    );
}

#[test]
fn a_query_with_the_marker_of_another_is_found() {
    let (done, path) = doubled();
    change_observation(&path, CASE, "end", |end| {
        end["operations"]["A"]["effects"]["query"]["parameters"]["marker"] = json!("mk-other");
        end["operations"]["A"]["effects"]["outcome"]["rows"]["rows"] = json!([]);
    });
    judge_again(&path, CASE);
    only_finds(
        &done.verify(&path),
        &["end.json: the effects of A were not asked as run.json says"],
    );
}

/// The operations of the plan follow from seed, nonce and case.
#[test]
fn a_marker_that_was_changed_everywhere_is_found() {
    let (done, path) = doubled();
    let mut marker = String::new();
    change_record(&path, CASE, |event| {
        if let Some(planned) = event.pointer_mut("/plan/operations/A/marker") {
            marker = planned.as_str().unwrap().to_owned();
            *planned = json!("mk-other");
        }
    });
    change_observation(&path, CASE, "end", |end| {
        end["operations"]["A"]["effects"]["query"]["parameters"]["marker"] = json!("mk-other");
        end["operations"]["A"]["effects"]["outcome"]["rows"]["rows"] = json!([]);
    });
    judge_again(&path, CASE);
    let verification = done.verify(&path);
    let part = "its plan has other operations than follow from its case.toml";
    assert!(
        verification.findings().iter().any(|finding| finding.contains(part)),
        "{verification:?}"
    );
    assert!(marker.starts_with("mk-"));
}

#[test]
fn a_read_copy_with_one_row_less_is_found_although_it_answers_what_was_seen() {
    let (done, path) = doubled();
    change_observation(&path, CASE, "end", one_row_less);
    let copy = path.join("cases/lost-reply/stores/end/orders.sqlite3.read.sqlite3");
    let connection = Connection::open(&copy).unwrap();
    connection
        .execute_batch("DELETE FROM orders WHERE id = (SELECT max(id) FROM orders)")
        .unwrap();
    connection.close().unwrap();
    assert_eq!(judge_again(&path, CASE), "pass");
    only_finds(
        &done.verify(&path),
        &["end.json: the frozen store answers otherwise for A"],
    );

    // The other way round: what was seen is true, and a reviewer who asks the copy by hand sees less.
    let (done, path) = doubled();
    fs::copy(
        copy_of(&done),
        path.join("cases/lost-reply/stores/end/orders.sqlite3.read.sqlite3"),
    )
    .unwrap();
    seal_again(&path);
    only_finds(
        &done.verify(&path),
        &["end.json: the stored read copy answers otherwise for A"],
    );
}

/// An empty store with the same table.
fn copy_of(done: &Done) -> PathBuf {
    let copy = done.path("other.sqlite3");
    let connection = Connection::open(&copy).unwrap();
    let table = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT, qty INTEGER, key TEXT)";
    connection.execute_batch(table).unwrap();
    connection.close().unwrap();
    copy
}

/// Another version of SQLite may recover other bytes; that is said and no difference.
#[test]
fn a_read_copy_of_other_bytes_that_answers_the_same_is_a_note() {
    let (done, path) = doubled();
    let copy = path.join("cases/lost-reply/stores/end/orders.sqlite3.read.sqlite3");
    Connection::open(&copy)
        .unwrap()
        .execute_batch("VACUUM; PRAGMA user_version = 7")
        .unwrap();
    seal_again(&path);
    let verification = done.verify(&path);
    assert_eq!(verification.code, 0, "{verification:?}");
    let note = verification.json["notes"][0].as_str().unwrap();
    assert!(
        note.contains("it has other bytes than the copy that was recovered now"),
        "{note}"
    );
}

#[test]
fn a_final_count_that_is_said_to_be_of_the_living_store_is_found() {
    let verification = forged_end(|_, end| {
        one_row_less(end);
        end["read"] = json!({ "from": "live" });
    });
    let found = verification.findings().join("\n");
    assert!(
        found.contains("it is of the living store, and the plan has it of a frozen one"),
        "{found}"
    );
    let verification = forged_end(|_, end| {
        one_row_less(end);
        end["read"] = json!({ "from": "live" });
        end["when"] = json!("now");
    });
    let found = verification.findings().join("\n");
    assert!(
        found.contains("it was taken at another moment than the plan has"),
        "{found}"
    );
}

#[test]
fn observations_stand_where_the_plan_has_them() {
    let (done, path) = doubled();
    change_record(&path, CASE, |event| {
        if event["kind"] == "observed" && event["label"] == "end" {
            event["label"] = json!("other");
        }
    });
    fs::rename(path.join(END), path.join(END.replace("end", "other"))).unwrap();
    seal_again(&path);
    judge_again(&path, CASE);
    let verification = done.verify(&path);
    let found = verification.findings().join("\n");
    assert!(found.contains("the plan has no observation `other` there"), "{found}");
    assert!(found.contains("it lacks the observation `end`"), "{found}");

    let (done, path) = doubled();
    change_record(&path, CASE, |event| {
        if let Some(steps) = event.pointer_mut("/plan/steps") {
            let end = steps
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .find(|step| step["label"] == "end");
            end.unwrap()["when"] = json!("now");
        }
    });
    judge_again(&path, CASE);
    let found = done.verify(&path).findings().join("\n");
    assert!(
        found.contains("its plan has other steps than follow from its case.toml"),
        "{found}"
    );
}

#[test]
fn sizes_and_digests_in_the_list_of_files_are_compared_with_the_files() {
    for (key, value) in [("bytes", json!(1)), ("sha256", json!("00".repeat(32)))] {
        let (done, path) = doubled();
        change_observation(&path, CASE, "end", |end| end["read"]["store"]["files"][0][key] = value);
        only_finds(
            &done.verify(&path),
            &["has another size or digest than its list of files says"],
        );
    }
}

/// Hidden databases, databases that are none, sizes that overflow.
#[test]
fn lists_of_files_that_cannot_be_are_findings_and_no_crash() {
    let lists: [fn(&mut Value); 5] = [
        |store| store["databases"] = json!([]),
        |store| store["databases"][0]["name"] = json!("../../../../../../etc/passwd"),
        |store| store["databases"][0]["read_copy"] = json!("orders.sqlite3"),
        |store| store["files"][0]["bytes"] = json!(u64::MAX),
        |store| {
            let file = store["files"][0].clone();
            store["files"].as_array_mut().unwrap().push(file);
        },
    ];
    for list in lists {
        let (done, path) = doubled();
        change_observation(&path, CASE, "end", |end| list(&mut end["read"]["store"]));
        let verification = done.verify(&path);
        assert_eq!(verification.code, 1, "{verification:?}");
        assert!(
            verification.findings().iter().any(|finding| finding.starts_with(END)),
            "{verification:?}"
        );
    }
}

#[test]
fn a_verdict_of_another_judge_is_noted_and_judged_all_the_same() {
    let (done, path) = doubled();
    let file = "cases/lost-reply/verdict.json";
    change(&path, file, |verdict| verdict["judge"] = json!(2));
    only_finds(
        &done.verify(&path),
        &["verdict.json: it is of judge 2, and run.json of judge 1"],
    );
    change(&path, "run.json", |run| run["harness"]["judge"] = json!(2));
    let verification = done.verify(&path);
    assert_eq!(
        verification.code, 1,
        "its control is of judge 1 still: {verification:?}"
    );
    change(&path, "cases/sees-duplicates/verdict.json", |verdict| {
        verdict["judge"] = json!(2);
    });
    let verification = done.verify(&path);
    assert_eq!(verification.code, 0, "{verification:?}");
    assert!(
        verification.json["notes"]
            .to_string()
            .contains("it is of judge 2, and this harness has judge 1")
    );
    change(&path, file, |verdict| verdict["verdict"] = json!("pass"));
    only_finds(
        &done.verify(&path),
        &["verdict.json: it says pass, and judged again it is unguarded"],
    );
    change(&path, "run.json", |run| {
        run["verdicts"][CASE]["verdict"] = json!("pass");
    });
    assert_eq!(done.verify(&path).findings().len(), 2);
}

#[test]
fn what_doubled_rows_count_is_counted_again() {
    let (done, path) = evidence(&Profile::plain(), 0);
    let control = "sees-duplicates";
    let text = fs::read_to_string(path.join(format!("cases/{control}/record.jsonl"))).unwrap();
    let mut labels = text.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["kind"] == "observed").then(|| event["label"].as_str().unwrap().to_owned())
    });
    let is_doubled = |label: &String| {
        let file = path.join(format!("cases/{control}/observations/{label}.json"));
        fs::read_to_string(file).unwrap().contains("\"doctored\"")
    };
    let label = labels.rfind(is_doubled).expect("the control doubles rows");
    change_observation(&path, control, &label, |observation| {
        let operations = observation["operations"].as_object_mut().unwrap();
        let doctored = operations
            .values_mut()
            .find_map(|seen| seen.get_mut("doctored"))
            .unwrap();
        doctored["count"] = json!(99);
    });
    judge_again(&path, control);
    let found = done.verify(&path).findings().join("\n");
    assert!(found.contains("the doubled rows of"), "{found}");
}

/// The plain server as a command, where nobody says what an effect is.
fn searched(flags: &[&str]) -> (Done, PathBuf) {
    let write = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
    let store = "{data}/o.sqlite3";
    let program = crate::support::profile::plain_server().display().to_string();
    let harness = Harness::new().words(&["--write", write, "--store", store, "--evidence", "run"]);
    let harness = harness
        .case(CASE)
        .server(&[&program, "--database", store])
        .server(flags);
    let Report { done, .. } = harness.run();
    let path = done.path("run");
    let verification = done.verify(&path);
    assert_eq!(verification.code, 0, "{verification:?}");
    assert_eq!(verification.json["counted_by"], "search");
    (done, path)
}

#[test]
fn what_a_search_found_is_found_again_or_said() {
    let (done, path) = searched(&["--dedupe", "none"]);
    change(&path, "run.json", |run| {
        run["target"]["read_effects"]["shown"]["sql"] = json!("SELECT * FROM orders WHERE note = $marker LIMIT 1");
    });
    let found = done.verify(&path).findings().join("\n");
    assert!(
        found.contains("LIMIT 1`, and the search finds `SELECT * FROM orders WHERE note = $marker`"),
        "{found}"
    );

    // Places without their search cannot come from a profile.
    let (done, path) = searched(&[]);
    fs::remove_dir_all(path.join("calibration")).unwrap();
    fs::remove_dir_all(path.join("calibration-two")).unwrap();
    seal_again(&path);
    only_finds(&done.verify(&path), &["the search is not in the evidence"]);

    // The store that was searched is recovered again too.
    let (done, path) = searched(&[]);
    change(&path, "calibration/searched.json", |searched| {
        searched["store"]["files"] = json!([]);
    });
    let found = done.verify(&path).findings().join("\n");
    assert!(found.contains("calibration/searched.json: "), "{found}");

    let (done, path) = evidence(&Profile::plain(), 0);
    assert_eq!(done.verify(&path).json["counted_by"], "runner");
}
