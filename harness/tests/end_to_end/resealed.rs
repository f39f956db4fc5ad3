//! Archives that a forger made anew, who has the harness: something was changed in them that changes what the judge
//! concludes, and every digest, the list and the archive fit again. Either `verify` finds it, or it is the runner's word
//! alone; then the receipt is another one.

use std::fs;
use std::path::Path;

use harness::digest::sha256_hex;
use harness::record::pack;
use rusqlite::Connection;
use serde_json::json;

use crate::support::forge::{
    change, change_observation, change_record, copy, judge_again, seal_again, seal_proof_again,
};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness};

const CASE: &str = "lost-reply";

/// What a forger does to the folder of a run or of a proof.
type Forgery<'a> = &'a dyn Fn(&Path);

/// The run of a server that writes twice.
fn doubled() -> Done {
    exported(Harness::new().target(&Profile::without_promise().flags("--dedupe none")))
}

/// A run in the folder `run` and as `a.zip` with its receipt.
fn exported(harness: Harness) -> Done {
    let done = harness.case(CASE).words(&["--evidence", "run"]).run_human();
    export(&done, "run");
    done
}

fn export(done: &Done, folder: &str) {
    done.then().words(&[folder, "-o", "a.zip"]).call(&["export"]).exits(0);
    let archive = done.path("a.zip");
    assert_eq!(done.verify(&archive).code, 0, "it is whole before");
    assert_eq!(receipt(done, "a.zip"), sha256_hex(&fs::read(&archive).unwrap()));
}

/// The digest that lies beside an archive.
fn receipt(done: &Done, archive: &str) -> String {
    let text = fs::read_to_string(done.path(&format!("{archive}.sha256"))).unwrap();
    text.split_once("  ").unwrap().0.to_owned()
}

/// What `verify` finds, and with which exit code, in the archive of a forged copy; its digest is never the receipt's.
fn forged(done: &Done, folder: &str, forge: Forgery<'_>) -> (Vec<String>, i32) {
    let root = done.path("forged");
    copy(&done.path(folder), &root);
    forge(&root);
    let archive = done.path("forged.zip");
    pack(&root, &mut fs::File::create(&archive).unwrap()).unwrap();
    fs::remove_dir_all(&root).unwrap();
    let verified = done.verify(&archive);
    assert_ne!(verified.json["archive"]["sha256"], receipt(done, "a.zip"));
    let found = verified.findings().into_iter().map(str::to_owned).collect();
    (found, verified.code)
}

/// Takes a row out of the store as it was frozen, in every file that is a database.
fn one_row_less(folder: &Path) {
    let mut changed = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let Ok(connection) = Connection::open(entry.path()) else {
            continue;
        };
        let last = "DELETE FROM orders WHERE id = (SELECT max(id) FROM orders)";
        changed += connection.execute(last, []).unwrap_or_default();
    }
    assert!(changed > 0, "there were rows in {}", folder.display());
}

#[test]
fn whatever_changes_the_verdict_is_found_in_an_archive_whose_digests_fit() {
    let done = doubled();
    let store = |root: &Path| {
        one_row_less(&root.join("cases/lost-reply/stores/end"));
        seal_again(root);
    };
    let observation = |root: &Path| {
        change_observation(root, CASE, "end", |end| {
            let rows = end.pointer_mut("/operations/A/effects/outcome/rows/rows").unwrap();
            assert_eq!(rows.as_array().unwrap().len(), 2);
            rows.as_array_mut().unwrap().pop();
        });
        assert_eq!(judge_again(root, CASE), "pass", "the judge is misled");
    };
    let verdict = |root: &Path| {
        change(root, "cases/lost-reply/verdict.json", |verdict| {
            verdict["verdict"] = json!("pass");
        });
    };
    let run = |root: &Path| {
        change(root, "run.json", |run| run["verdicts"][CASE]["verdict"] = json!("pass"));
    };
    let forgeries: [(Forgery<'_>, &str); 4] = [
        (&store, "cases/lost-reply/"),
        (&observation, "cases/lost-reply/observations/end.json"),
        (&verdict, "cases/lost-reply/verdict.json"),
        (&run, "run.json"),
    ];
    for (forge, path) in forgeries {
        let (found, code) = forged(&done, "run", forge);
        assert_eq!(code, 1, "{path}: {found:?}");
        assert!(
            found.iter().any(|finding| finding.starts_with(path)),
            "{path}: {found:?}"
        );
    }
}

/// Nothing but the record says what went over the wire. A frame that the verdict tells of is found while the verdict is
/// the old one; judged again by the forger it is the runner's word, and the receipt is another one.
#[test]
fn a_frame_that_changes_the_verdict_is_found_or_the_receipt_is_another_one() {
    let done = exported(Harness::new());
    let frame = |root: &Path| {
        let mut changed = 0;
        change_record(root, CASE, |event| {
            let error = json!({ "code": -32000, "message": "no" });
            let Some(payload) = event["payload"].as_object_mut() else {
                return;
            };
            let is_result = payload
                .get("result")
                .is_some_and(|result| result.get("content").is_some());
            if is_result {
                payload.shift_remove("result");
                payload.insert("error".to_owned(), error);
                changed += 1;
            }
        });
        assert!(changed > 0, "a call was answered");
    };
    let (found, code) = forged(&done, "run", &frame);
    assert_eq!(code, 1, "{found:?}");
    assert!(
        found
            .iter()
            .any(|finding| finding.starts_with("cases/lost-reply/verdict.json")),
        "{found:?}"
    );
    // Judged again by the forger it is believed; `forged` compares its receipt.
    let (found, code) = forged(&done, "run", &|root| {
        frame(root);
        assert_ne!(judge_again(root, CASE), "pass", "the verdict is another one");
    });
    assert_eq!((found, code), (vec![], 0));
}

#[test]
fn a_proof_is_exported_and_verified_and_a_forgery_in_one_of_its_runs_is_found() {
    let done = Harness::new()
        .case(CASE)
        .words(&["--defect", "memory-ledger", "--evidence", "proof"])
        .call(&["prove"]);
    done.exits(0);
    export(&done, "proof");
    let verified = done.verify(&done.path("a.zip"));
    assert_eq!(verified.json["runs"]["memory-ledger"]["judged"][CASE], "fail");

    let (found, code) = forged(&done, "proof", &|root| {
        let run = root.join("memory-ledger");
        change(&run, "cases/lost-reply/verdict.json", |verdict| {
            verdict["verdict"] = json!("pass");
        });
        change(&run, "run.json", |run| run["verdicts"][CASE]["verdict"] = json!("pass"));
        seal_proof_again(root);
    });
    assert_eq!(code, 1, "{found:?}");
    let told = "it says pass, and judged again it is fail";
    assert!(found.iter().any(|finding| finding.contains(told)), "{found:?}");
    assert!(
        found.iter().any(|finding| finding.contains("matrix.json")),
        "the matrix names the digest of the run's list: {found:?}"
    );
}
