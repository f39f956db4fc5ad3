//! Evidence that was moved says the same; evidence that was changed is found out, file by file.

use std::fs;
use std::path::PathBuf;

use harness::record::Evidence;
use serde_json::{Value, json};

use crate::support::forge::{SUMS, change, name_again, seal_again};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report, Verification, files};

/// A run whose evidence holds everything that evidence can hold: a pass, a fail, an unsupported case.
fn evidence() -> (Done, PathBuf) {
    let report = Harness::new()
        .target(&Profile::with_status().flags("--conflict apply"))
        .case("lost-reply,changed-input")
        .words(&["--evidence", "run"])
        .run();
    report.exits(1);
    let Report { done, .. } = report;
    let path = done.path("run");
    (done, path)
}

#[track_caller]
fn differs(verification: &Verification, part: &str) {
    let findings = verification.findings();
    assert!(
        findings.iter().any(|finding| finding.contains(part)),
        "{part:?} is not in {findings:#?}"
    );
    assert_eq!(verification.code, 1);
}

#[test]
fn moved_evidence_gives_the_same_verdicts() {
    let (done, path) = evidence();
    let here = done.verify(&path);
    assert_eq!(here.code, 0, "{here:?}");
    assert_eq!(here.json["judged"]["changed-input"], "fail");
    assert_eq!(here.json["judged"]["lost-reply"], "pass");

    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("a folder with spaces");
    fs::rename(&path, &moved).unwrap();
    let there = done.verify(&moved);
    assert_eq!(there.code, 0, "{there:?}");
    assert_eq!(there.json["judged"], here.json["judged"]);
    assert_eq!(there.json["counted_again"], here.json["counted_again"]);
}

/// Two processes may check the same evidence, and none of them may change it.
#[test]
fn verifying_changes_nothing() {
    let (done, path) = evidence();
    let state = || -> Vec<(String, Vec<u8>)> {
        let read = |file: String| (file.clone(), fs::read(path.join(file)).unwrap());
        files(&path).into_iter().map(read).collect()
    };
    let before = state();
    for _ in 0..2 {
        assert_eq!(done.verify(&path).code, 0);
    }
    assert!(state() == before, "verify wrote into the evidence");
}

#[test]
fn one_flipped_bit_in_any_file_is_found_and_the_file_named() {
    let (done, path) = evidence();
    let all = files(&path);
    assert!(all.len() > 25, "{all:?}");
    for file in &all {
        let target = path.join(file);
        let bytes = fs::read(&target).unwrap();
        if bytes.is_empty() {
            fs::write(&target, "x").unwrap();
            differs(&done.verify(&path), file);
            fs::write(&target, &bytes).unwrap();
            continue;
        }
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&target, &changed).unwrap();
            let verification = done.verify(&path);
            assert_eq!(verification.code, 1, "byte {at} of {file}: {verification:?}");
            // A digest that was changed names the file to which it belonged; which of the two changed, nobody can know.
            if file != SUMS {
                differs(&verification, file);
            }
        }
        fs::write(&target, &bytes).unwrap();
    }
    assert_eq!(done.verify(&path).code, 0, "everything was put back");
}

#[test]
fn files_that_are_missing_extra_cut_or_links_are_found() {
    let (done, path) = evidence();
    for file in files(&path).iter().filter(|file| *file != SUMS) {
        let target = path.join(file);
        let bytes = fs::read(&target).unwrap();
        fs::remove_file(&target).unwrap();
        differs(&done.verify(&path), file);
        std::os::unix::fs::symlink("/etc/hostname", &target).unwrap();
        differs(&done.verify(&path), &format!("not a file: {file}"));
        fs::remove_file(&target).unwrap();
        if !bytes.is_empty() {
            fs::write(&target, &bytes[..bytes.len() / 2]).unwrap();
            differs(&done.verify(&path), &format!("changed: {file}"));
        }
        fs::write(&target, &bytes).unwrap();
    }
    fs::write(path.join("cases/lost-reply/extra"), "").unwrap();
    differs(&done.verify(&path), "extra: cases/lost-reply/extra");
    fs::remove_file(path.join("cases/lost-reply/extra")).unwrap();
    fs::create_dir(path.join("cases/empty")).unwrap();
    fs::remove_dir(path.join("cases/empty")).unwrap();
    assert_eq!(done.verify(&path).code, 0);
}

/// A device never ends and a pipe never begins: neither may be read, whether there is a seal or not.
#[test]
fn devices_and_pipes_in_place_of_files_are_not_read() {
    let (done, path) = evidence();
    for file in [
        "run.json",
        "cases/lost-reply/record.jsonl",
        "cases/lost-reply/observations/end.json",
        SUMS,
    ] {
        let (target, kept) = (path.join(file), done.path("kept"));
        fs::rename(&target, &kept).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &target).unwrap();
        let verification = done.verify(&path);
        if file == "run.json" || file == SUMS {
            assert!([1, 2].contains(&verification.code), "{verification:?}");
        } else {
            differs(&verification, &format!("not a file: {file}"));
        }
        fs::remove_file(&target).unwrap();
        nix::unistd::mkfifo(&target, nix::sys::stat::Mode::S_IRWXU).unwrap();
        differs(&done.verify(&path), &format!("not a file: {file}"));
        fs::rename(&kept, &target).unwrap();
    }
    fs::remove_file(path.join(SUMS)).unwrap();
    let record = path.join("cases/lost-reply/record.jsonl");
    fs::remove_file(&record).unwrap();
    nix::unistd::mkfifo(&record, nix::sys::stat::Mode::S_IRWXU).unwrap();
    differs(&done.verify(&path), "not a file: cases/lost-reply/record.jsonl");
}

/// Whoever changes a verdict and writes the digests again is found by judging again.
#[test]
fn a_changed_verdict_with_fresh_digests_is_found() {
    let (done, path) = evidence();
    let file = "cases/changed-input/verdict.json";
    change(&path, file, |verdict| verdict["verdict"] = json!("pass"));
    differs(&done.verify(&path), file);

    let (done, path) = evidence();
    change(&path, "run.json", |run| {
        run["verdicts"]["changed-input"]["verdict"] = json!("pass");
    });
    differs(&done.verify(&path), "run.json");

    let (done, path) = evidence();
    change(&path, file, |verdict| verdict["rows"] = json!([]));
    differs(&done.verify(&path), "differs in rows");

    let (done, path) = evidence();
    change(&path, "run.json", |run| {
        run["executed"] = json!(["sees-duplicates", "lost-reply"]);
        run["verdicts"].as_object_mut().unwrap().remove("changed-input");
    });
    differs(&done.verify(&path), "changed-input was requested and not executed");

    let (done, path) = evidence();
    change(&path, "run.json", |run| {
        run["executed"] = json!(["lost-reply", "changed-input"]);
    });
    assert_eq!(done.verify(&path).code, 1, "without its control nothing passes");
}

/// A count that was changed no longer is the one that the record names; changed in both, the store copy answers.
#[test]
fn a_changed_observation_with_fresh_digests_is_found() {
    let (done, path) = evidence();
    let file = "cases/changed-input/observations/end.json";
    let fewer = |observation: &mut Value| {
        let rows = observation
            .pointer_mut("/operations/A/effects/outcome/rows/rows")
            .unwrap();
        rows.as_array_mut().unwrap().pop();
    };
    change(&path, file, fewer);
    differs(&done.verify(&path), "its digest differs");

    // The record too, and then the verdict as the harness itself judges it.
    name_again(&path, "changed-input", "end");
    differs(&done.verify(&path), "the frozen store answers otherwise for A");
}

/// Whoever softens a case, and makes everything else fit with the harness's own judge, is found by the frozen digests.
#[test]
fn a_softened_case_with_everything_else_made_to_fit_is_found() {
    let (done, path) = evidence();
    let folder = path.join("cases/changed-input");
    let replace = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{from} is not in {file}");
        fs::write(folder.join(file), text.replace(from, to)).unwrap();
    };
    let frozen = harness::case::Catalogue::embedded().get("changed-input").unwrap();
    fs::write(folder.join("case.toml"), softened(&frozen.text)).unwrap();
    let case = harness::case::parse("case.toml", &softened(&frozen.text)).unwrap();
    replace("record.jsonl", &frozen.digest, &case.digest);

    let record = harness::record::Record::read(&Evidence::open(&path).unwrap().case("changed-input")).unwrap();
    let verdict = harness::judge::judge(&case, &record);
    assert_eq!(
        verdict.verdict.name(),
        "pass",
        "the softened case is passed: {:?}",
        verdict.reason
    );
    Evidence::write_json(&folder.join("verdict.json"), &verdict).unwrap();
    change(&path, "run.json", |run| {
        run["verdicts"]["changed-input"]["verdict"] = json!("pass");
        run["verdicts"]["changed-input"]["reason"] = json!(verdict.reason);
    });
    let verification = done.verify(&path);
    assert_eq!(
        verification.findings(),
        ["cases/changed-input/case.toml: it is not revision 1 as it was frozen"]
    );
    assert_eq!(verification.code, 1);
}

/// The case, passed by a server that applies changed data too.
fn softened(text: &str) -> String {
    text.replace("\"changed.outcome\" = \"refused\"", "\"changed.outcome\" = \"result\"")
        .replace("\"changed.refusal\" = \"conflict\"", "\"changed.outcome\" = \"result\"")
        .replace("\"end.effects.A\" = 1", "\"end.effects.A\" = 2")
        .replace("\"end.new_data.A\" = 0", "\"end.new_data.A\" = 1")
        .replace("\"changed.disclosed\" = []", "\"changed.outcome\" = \"result\"")
}

#[test]
fn evidence_without_its_seal_is_incomplete_and_a_difference_comes_first() {
    let (done, path) = evidence();
    fs::remove_file(path.join(SUMS)).unwrap();
    let verification = done.verify(&path);
    assert_eq!(verification.code, 3, "{verification:?}");
    assert_eq!(verification.json["judged"]["changed-input"], "fail");
    let file = path.join("cases/lost-reply/verdict.json");
    fs::write(
        &file,
        fs::read_to_string(&file).unwrap().replace("\"held\"", "\"noted\""),
    )
    .unwrap();
    assert_eq!(done.verify(&path).code, 1);
}

#[test]
fn what_is_no_evidence_is_refused() {
    let done = Harness::new().file("file", "").words(&["nowhere"]).call(&["verify"]);
    done.exits(2).says_only(&["nowhere is not evidence"]);
    for place in [".", "tmp"] {
        let done = done.then().words(&[place]).call(&["verify"]);
        done.exits(2).says_only(&["is not evidence: it has no run.json"]);
    }
    let done = done.then().words(&["file"]).call(&["verify"]);
    done.exits(2)
        .says_only(&["file is not evidence: it is a file, and no archive"]);
    done.then().call(&["verify"]).exits(2);
}

#[test]
fn garbage_in_place_of_the_files_is_a_difference_and_no_crash() {
    let (done, path) = evidence();
    for file in [
        "run.json",
        "cases/lost-reply/record.jsonl",
        "cases/lost-reply/case.toml",
        SUMS,
    ] {
        let target = path.join(file);
        let bytes = fs::read(&target).unwrap();
        for garbage in [&b"\xff\xfe\x00"[..], b"", b"{}", b"[[[[", b"null\n"] {
            fs::write(&target, garbage).unwrap();
            assert_eq!(done.verify(&path).code, 1, "{garbage:?} as {file}");
            if file != SUMS {
                seal_again(&path);
                assert_eq!(done.verify(&path).code, 1, "{garbage:?} as {file}, sealed again");
            }
        }
        fs::write(&target, &bytes).unwrap();
        if file != SUMS {
            seal_again(&path);
        }
    }
}
