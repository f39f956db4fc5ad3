//! Forgeries in which every digest fits: `evidence/verify.py` has to refuse each, as `harness verify` does.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::second_verifier::{Second, Subject, believes_the_archive_of, second};
use crate::support::forge::{change, change_observation, change_record, copy, seal_again, seal_proof_again};
use crate::support::python::has_python;
use crate::support::run::Harness;

/// A change to evidence, and what it is about.
type Lie = (&'static str, fn(&Path));

const VERDICT: &str = "cases/lost-reply/verdict.json";

/// What was counted, concluded or withheld is another thing, and all digests are right.
#[test]
fn a_lie_with_right_digests_is_noticed_by_both() {
    if !has_python("a lie is noticed by both verifiers") {
        return;
    }
    let lies: [Lie; 18] = [
        ("a check that broke, as not judged", |root| {
            change(root, VERDICT, |json| json["checks"][3]["outcome"] = json!("not-judged"));
        }),
        ("another query", |root| {
            change_end(root, |end| {
                end["operations"]["A"]["effects"]["query"]["sql"] = json!("SELECT 1");
            });
        }),
        ("another marker", |root| {
            change_end(root, |end| {
                end["operations"]["A"]["effects"]["query"]["parameters"]["marker"] = json!("mk-none");
            });
        }),
        ("a reading less", |root| {
            change_end(root, |end| {
                let readings = end["operations"]["A"].as_object_mut().unwrap();
                readings.remove("ledger").expect("the ledger was read");
            });
        }),
        ("no read copy", |root| {
            change_end(root, |end| {
                end["read"]["store"]["databases"][0]["read_copy"] = json!(null);
            });
        }),
        ("a whole store, as one that cannot be read", unreadable),
        ("no database", |root| {
            change_end(root, |end| end["read"]["store"]["databases"] = json!([]));
        }),
        ("a living store where a frozen one is planned", |root| {
            change_end(root, |end| end["read"] = json!({ "from": "live" }));
        }),
        ("a surface less", a_surface_less),
        ("the verdict", |root| {
            change(root, VERDICT, |json| json["verdict"] = json!("fail"));
        }),
        ("a check", |root| {
            change(root, VERDICT, |json| json["checks"][3]["outcome"] = json!("broken"));
        }),
        ("a check left out", |root| {
            change(root, VERDICT, |json| {
                drop(json["checks"].as_array_mut().unwrap().remove(3));
            });
        }),
        ("a count among the facts", |root| {
            change(root, VERDICT, |json| json["facts"]["end"]["effects"]["A"] = json!(2));
        }),
        ("a verdict of the run", |root| {
            change(root, "run.json", |json| {
                json["verdicts"]["lost-reply"]["verdict"] = json!("unguarded");
            });
        }),
        ("rows", |root| {
            change_observation(root, "lost-reply", "end", |json| {
                json["operations"]["A"]["effects"]["outcome"]["rows"]["rows"] = json!([]);
            });
        }),
        ("a withheld reply", |root| {
            change_record(root, "lost-reply", |event| {
                if event["withheld"] == true {
                    event["withheld"] = json!(false);
                }
            });
        }),
        ("a number of the record", |root| {
            change_record(root, "lost-reply", |event| {
                if event["kind"] == "case-ended" {
                    event["seq"] = json!(99);
                }
            });
        }),
        ("the case", |root| {
            let file = root.join("cases/lost-reply/case.toml");
            let text = fs::read_to_string(&file).unwrap();
            fs::write(file, text.replace("\"end.effects.A\" = 1", "\"end.effects.A\" = 2")).unwrap();
            seal_again(root);
        }),
    ];
    let subject = Subject::of_sqlite();
    let mut second = Second::start();
    for (what, lie) in lies {
        let [(harness, findings), (python, text)] = subject.both_asking(|evidence| second.ask(evidence), lie);
        assert_eq!((harness, python), (1, 1), "{what}: {findings}, {text}");
        assert!(text.contains("DIFFERS"), "{what}: {text}");
    }
    second.end();
}

/// The plan lacks a surface that the case needs, so that it is said to be unsupported.
fn a_surface_less(root: &Path) {
    change_record(root, "lost-reply", |event| {
        if let Some(surfaces) = event["plan"]["surfaces"].as_array_mut() {
            surfaces.retain(|surface| surface != "read.effects");
        }
    });
    change(root, VERDICT, |json| {
        json["verdict"] = json!("unsupported");
        json["checks"] = json!([]);
    });
    change(root, "run.json", |json| {
        json["verdicts"]["lost-reply"]["verdict"] = json!("unsupported");
    });
}

/// Changes the last observation of the case.
fn change_end(root: &Path, by: impl FnOnce(&mut Value)) {
    change_observation(root, "lost-reply", "end", by);
}

/// The store of the last observation is said to have a problem, and nothing to have been read there.
fn unreadable(root: &Path) {
    let copy = "cases/lost-reply/stores/end/store.sqlite3.read.sqlite3";
    fs::remove_file(root.join(copy)).unwrap();
    change_end(root, |end| {
        let database = &mut end["read"]["store"]["databases"][0];
        database["read_copy"] = json!(null);
        database["problem"] = json!("database disk image is malformed");
        let seen = end["operations"].as_object_mut().unwrap().values_mut();
        for seen in seen {
            let (mut names, more) = (vec!["effects", "ledger"], seen["more"].clone());
            names.retain(|name| seen.get(*name).is_some());
            for name in names {
                seen[name]["outcome"] = json!({ "unreadable": { "reason": "malformed" } });
            }
            for name in more.as_object().into_iter().flat_map(|more| more.keys()) {
                seen["more"][name]["outcome"] = json!({ "unreadable": { "reason": "malformed" } });
            }
        }
    });
}

#[test]
fn a_proof_is_believed_and_its_matrix_compared() {
    if !has_python("a proof is believed by the second verifier") {
        return;
    }
    let done = Harness::new()
        .words(&[
            "--case",
            "identical-retry",
            "--defect",
            "no-ledger",
            "--evidence",
            "proof",
        ])
        .call(&["prove"]);
    done.exits(0);
    let root = done.path("proof");
    let (code, text) = second(&root);
    assert_eq!(code, 0, "{text}");
    believes_the_archive_of(&done, "proof");
    let lies: [Lie; 9] = [
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| {
                matrix["defects"][0]["verdicts"]["identical-retry"] = json!("pass");
            });
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| {
                matrix["defects"][0]["kills"][0]["outcome"] = json!("held");
            });
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| matrix["defects"] = json!([]));
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| drop(matrix["runs"].as_array_mut().unwrap().pop()));
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| matrix["runs"][1]["sums_sha256"] = json!("0".repeat(64)));
        }),
        ("matrix.json: no-ledger", |root| {
            fs::remove_dir_all(root.join("no-ledger")).unwrap();
            seal_proof_again(root);
        }),
        ("matrix.json: no-ledger", |root| {
            change_run_of_proof(root, |run| run["defect"] = json!(null));
        }),
        ("matrix.json: no-ledger", |root| {
            change_run_of_proof(root, |run| run["harness"]["sha256"] = json!("0".repeat(64)));
        }),
        ("matrix.json: no-ledger", |root| {
            change_run_of_proof(root, |run| run["target"]["command"] = json!(["another"]));
        }),
    ];
    let mut second = Second::start();
    for (number, (told, lie)) in lies.into_iter().enumerate() {
        let copied = tempfile::tempdir().unwrap();
        copy(&root, copied.path());
        lie(copied.path());
        let (code, text) = second.ask(copied.path());
        assert_eq!(code, 1, "{number}: {text}");
        assert!(text.contains(told), "{number}: {text}");
        assert_eq!(done.verify(copied.path()).code, 1, "{number}");
    }
    second.end();
}

/// Changes the matrix of a proof, and seals it again.
fn change_matrix(root: &Path, by: impl FnOnce(&mut Value)) {
    change(root, "matrix.json", by);
    seal_proof_again(root);
}

/// Changes what the run with the defect says of itself; the matrix and both seals are made to fit.
fn change_run_of_proof(root: &Path, by: impl FnOnce(&mut Value)) {
    let run = root.join("no-ledger");
    change(&run, "run.json", by);
    let digest = harness::digest::sha256_file(&run.join("SHA256SUMS")).unwrap();
    change_matrix(root, |matrix| {
        for kept in matrix["runs"].as_array_mut().unwrap() {
            if kept["folder"] == "no-ledger" {
                kept["sums_sha256"] = json!(digest);
            }
        }
    });
}
