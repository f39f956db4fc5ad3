//! Evidence of somebody who wants it to be believed, or to reach further than evidence may; and archives that are looked at.

use std::fs;
use std::path::Path;

use harness::digest::sha256_hex;
use serde_json::json;

use crate::support::forge::{change, name_again, seal_again};
use crate::support::run::{Done, Harness};

const CASE: &str = "lost-reply";

/// A run in the folder `run`, and its archive.
fn exported() -> Done {
    let done = Harness::new().case(CASE).words(&["--evidence", "run"]).run_human();
    done.exits(0);
    done.then().words(&["run", "-o", "run.zip"]).call(&["export"]).exits(0);
    done
}

fn require(done: &Done, words: &[&str]) -> Done {
    done.then()
        .words(&["run", "--require", CASE])
        .words(words)
        .call(&["verify"])
}

/// Lets a case of the evidence be one of the runner's own, with these bytes.
fn replace_case(root: &Path, case: &str, change_text: impl FnOnce(&str) -> String) {
    let file = root.join("cases").join(case).join("case.toml");
    let text = fs::read_to_string(&file).unwrap();
    let other = change_text(&text);
    assert_ne!(other, text, "nothing was changed");
    fs::write(&file, &other).unwrap();
    // The record names the case that it is of by its digest.
    let (before, now) = (sha256_hex(text.as_bytes()), sha256_hex(other.as_bytes()));
    for part in ["record.jsonl", "verdict.json"] {
        let path = root.join("cases").join(case).join(part);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(&before, &now)).unwrap();
    }
    change(root, "run.json", |run| {
        run["case_files"] = json!({ case: "mine.toml" });
    });
    seal_again(root);
}

/// A case of the same name that asks for less, or such a control, opens no gate, and no harness has made it.
#[test]
fn another_case_of_the_required_name_is_not_the_required_one() {
    for case in [CASE, "sees-duplicates"] {
        let done = exported();
        require(&done, &[]).exits(0);
        replace_case(&done.path("run"), case, |text| format!("{text}\n# as it pleases me\n"));
        let verified = done.verify(&done.path("run"));
        let taken = format!("run.json: its case_files name {case:?}, a case of the catalogue");
        let other = format!("cases/{case}/case.toml: it is not revision ");
        let (found, wanted) = (verified.findings(), [taken, other]);
        let is_told = |told: &String| found.iter().any(|found| found.starts_with(told.as_str()));
        assert!(found.len() == 2 && wanted.iter().all(is_told), "{found:#?}");
        assert_eq!(verified.code, 1);
        assert_eq!(verified.json["judged_by_other_files"], json!([case]));
        let shut = require(&done, &[]);
        shut.exits(1);
        let told = format!("{case} was judged by a file of the evidence that is not the case this harness carries");
        assert!(shut.stdout.contains(&told), "{told:?} is not in:\n{}", shut.stdout);
    }
}

/// Whoever changes the list of cases that his harness carried does not change the one of the reviewer's.
#[test]
fn no_case_of_the_runners_own_has_the_name_of_a_case_of_the_catalogue() {
    let done = exported();
    let root = done.path("run");
    change(&root, "run.json", |run| {
        run["case_files"] = json!({ CASE: "mine.toml" });
        run["catalogue"].as_array_mut().unwrap().retain(|id| id != CASE);
    });
    let told = "run.json: its case_files name \"lost-reply\", a case of the catalogue, and no harness runs another one under that id";
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![told], 1));
}

/// A list of what was masked cannot be made to cost more than the evidence has bytes.
#[test]
fn what_was_masked_is_named_once() {
    let done = exported();
    let root = done.path("run");
    let log = "cases/lost-reply/stderr/first.log";
    fs::write(root.join(log), "****").unwrap();
    let digest = harness::digest::sha256_file(&root.join(log)).unwrap();
    let place = json!({"range": {"start": 0, "end": 4}, "kind": {"shape": "a token"}});
    let file = |places: usize| json!({"path": log, "sha256_before": digest, "sha256_now": digest, "masked": vec![place.clone(); places]});
    for (files, told) in [
        (vec![file(1)], vec![]),
        (
            vec![file(2)],
            vec![format!("redactions.json: {log}: its places do not follow each other")],
        ),
        (
            vec![file(1), file(1)],
            vec![format!("redactions.json: {log} is named twice")],
        ),
    ] {
        let redactions = json!({"format": 1, "sums_sha256_before": digest, "files": files});
        fs::write(root.join("redactions.json"), redactions.to_string()).unwrap();
        seal_again(&root);
        assert_eq!(done.verify(&root).findings(), told);
    }
}

#[test]
fn nothing_is_exported_into_the_evidence_or_twice_into_one_file() {
    let done = exported();
    for (words, told) in [
        (vec!["run", "-o", "run/a.zip"], "run/a.zip lies in the evidence"),
        (vec!["run", "-o", "run/cases/../a.zip"], "lies in the evidence"),
        (
            vec!["run", "-o", "a.zip", "--attest", "run/a.json"],
            "run/a.json lies in the evidence",
        ),
        (
            vec!["run", "-o", "a.zip", "--attest", "./a.zip"],
            "./a.zip would be written twice",
        ),
        (
            vec!["run", "-o", "a.zip", "--attest", "a.zip.sha256"],
            "a.zip.sha256 would be written twice",
        ),
    ] {
        done.then().words(&words).call(&["export"]).exits(2).says_only(&[told]);
        assert!(!done.path("a.zip").exists());
    }
    assert_eq!(done.verify(&done.path("run")).code, 0);
}

#[test]
fn an_archive_is_shown_and_reported_like_its_folder() {
    let done = exported();
    let call = |words: &[&str]| {
        let said = done.then().words(&words[1..]).call(&words[..1]);
        said.exits(0);
        said.stdout
    };
    for words in [
        &["show", "run"][..],
        &["show", "run", CASE],
        &["show", "run", CASE, "--story"],
        &["show", "run", CASE, "--format", "jsonl"],
        &["report", "run"],
    ] {
        let folder = call(words);
        let archive: Vec<&str> = words
            .iter()
            .map(|word| if *word == "run" { "run.zip" } else { word })
            .collect();
        assert_eq!(call(&archive).replace("run.zip", "run"), folder, "{words:?}");
    }
    call(&["report", "run.zip", "--html", "page.html"]);
    let page = fs::read_to_string(done.path("page.html")).unwrap();
    assert!(page.contains("harness show run.zip lost-reply"), "{page}");
    assert!(!page.contains("harness-archive-"), "a folder that is gone is named");
    let before = fs::read(done.path("run.zip")).unwrap();
    let over = ["run.zip", "--html", "./run.zip", "--force"];
    done.then()
        .words(&over)
        .call(&["report"])
        .exits(2)
        .says_only(&["it is the archive that is reported"]);
    assert_eq!(fs::read(done.path("run.zip")).unwrap(), before);

    let mut cut = before;
    cut.truncate(cut.len() / 2);
    fs::write(done.path("cut.zip"), cut).unwrap();
    for words in [&["show", "cut.zip"][..], &["report", "cut.zip", "--html", "cut.html"]] {
        let said = done.then().words(&words[1..]).call(&words[..1]);
        said.exits(2)
            .says_only(&["cut.zip is not as it was exported", "`harness verify cut.zip`"]);
    }
    assert!(!done.path("cut.html").exists());
}

/// One reader takes the first of two keys, another one the last: what it says is nothing that two people read.
#[test]
fn a_key_that_stands_twice_is_a_difference_wherever_it_does() {
    let done = exported();
    let root = done.path("run");
    let observation = format!("cases/{CASE}/observations/end.json");
    let record = format!("cases/{CASE}/record.jsonl");
    let verdict = format!("cases/{CASE}/verdict.json");
    for (file, once, twice) in [
        (
            "run.json",
            r#""lost-reply": {"#,
            r#""lost-reply": {"verdict": "fail"}, "lost-reply": {"#,
        ),
        (&observation, r#""A": {"#, r#""A": {"effects": null}, "A": {"#),
        (
            &record,
            r#""kind":"case-ended""#,
            r#""note":1,"note":2,"kind":"case-ended""#,
        ),
        (&verdict, r#""facts": {"#, r#""facts": {}, "facts": {"#),
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let other = text.replace(once, twice);
        assert_ne!(other, text, "{file} has no {once}");
        fs::write(root.join(file), other).unwrap();
        if file == observation {
            name_again(&root, CASE, "end");
        }
        seal_again(&root);
        let verified = done.verify(&root);
        assert_eq!(verified.code, 1, "{file}");
        let findings = verified.findings();
        let is_told = findings
            .iter()
            .any(|finding| finding.contains("stands twice in one object"));
        assert!(is_told, "{file}: {findings:?}");
        fs::write(root.join(file), text).unwrap();
        if file == observation {
            name_again(&root, CASE, "end");
        }
    }
}
