//! Evidence as one file: exported with a receipt, verified like a folder, and never believed where anything in it was changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use harness::digest::sha256_hex;
use harness::record::{ArchiveFile, pack};
use harness::verify::{VerifiedArchive, verify_archive};

use crate::support::forge::{SUMS, copy, seal_again};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, files, names};

/// A run in the folder `run`.
pub(super) fn evidence() -> Done {
    let done = Harness::new()
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run_human();
    done.exits(0);
    done
}

pub(super) fn export(done: &Done, run: &str, file: &str) -> Done {
    done.then().words(&[run, "-o", file]).call(&["export"])
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).unwrap();
        (name, bytes)
    };
    files(folder).into_iter().map(read).collect()
}

#[test]
fn a_run_is_exported_with_its_receipt_and_verified_without_its_folder() {
    let done = evidence();
    let before = contents(&done.path("run"));
    let exported = export(&done, "run", "a.zip");
    exported.exits(0);
    let bytes = fs::read(done.path("a.zip")).unwrap();
    let sha256 = sha256_hex(&bytes);
    let count = before.len();
    let size = bytes.len();
    assert_eq!(
        exported.stdout,
        format!("sha256 {sha256}  a.zip ({count} files, {size} bytes)\n")
    );
    let receipt = fs::read_to_string(done.path("a.zip.sha256")).unwrap();
    assert_eq!(receipt, format!("{sha256}  a.zip\n"));
    assert_eq!(
        contents(&done.path("run")),
        before,
        "nothing is written into the evidence"
    );

    // The same evidence again is the same file, also from a copy elsewhere.
    copy(&done.path("run"), &done.path("copied"));
    fs::remove_dir_all(done.path("run")).unwrap();
    export(&done, "copied", "b.zip").exits(0);
    assert_eq!(fs::read(done.path("b.zip")).unwrap(), bytes);

    let verified = done.verify(&done.path("a.zip"));
    assert_eq!((verified.code, verified.findings()), (0, vec![]), "{}", verified.stderr);
    assert_eq!(verified.json["archive"]["sha256"], sha256);
    assert_eq!(verified.json["judged"]["lost-reply"], "pass");
    assert_eq!(verified.json["about"]["controls"]["sees-duplicates"], "pass");
    assert_eq!(verified.json["about"]["requested"], serde_json::json!(["lost-reply"]));
    let mut listed = names(&done.path("."));
    listed.retain(|name| name.contains(".zip"));
    listed.sort();
    assert_eq!(
        listed,
        ["a.zip", "a.zip.sha256", "b.zip", "b.zip.sha256"],
        "and nothing half-written"
    );
}

#[test]
fn no_file_is_ever_replaced() {
    let done = evidence()
        .then()
        .file("a.zip", "mine")
        .file("b.zip.sha256", "mine")
        .call(&["list"]);
    export(&done, "run", "a.zip")
        .exits(2)
        .says_only(&["a.zip exists already"]);
    export(&done, "run", "b.zip")
        .exits(2)
        .says_only(&["b.zip.sha256 exists already"]);
    assert_eq!(fs::read_to_string(done.path("a.zip")).unwrap(), "mine");
    assert!(!done.path("b.zip").exists());
}

#[test]
fn only_complete_evidence_as_it_was_sealed_is_exported() {
    let done = evidence();
    let log = done.path("run/cases/lost-reply/stderr/first.log");
    fs::write(&log, "more").unwrap();
    let told = ["changed: cases/lost-reply/stderr/first.log", "harness verify run"];
    export(&done, "run", "a.zip").exits(1).says_only(&told);
    fs::remove_file(done.path("run/SHA256SUMS")).unwrap();
    export(&done, "run", "a.zip")
        .exits(3)
        .says_only(&["run is incomplete: it has no SHA256SUMS"]);
    let run = done.path("run/run.json");
    let text = fs::read_to_string(&run).unwrap();
    fs::write(&run, text.replace("\"finished\"", "\"interrupted\"")).unwrap();
    seal_again(&done.path("run"));
    export(&done, "run", "a.zip")
        .exits(3)
        .says_only(&["run is incomplete: it was interrupted"]);
    assert!(!done.path("a.zip").exists() && !done.path("a.zip.sha256").exists());
    export(&done, "run/run.json", "a.zip")
        .exits(2)
        .says_only(&["run.json is not evidence: it is a file, and no archive"]);
}

#[test]
fn a_gate_is_open_only_for_a_case_that_passed_and_for_the_artifact_that_was_launched() {
    let done = evidence();
    export(&done, "run", "a.zip").exits(0);
    let artifact = env!("CARGO_BIN_EXE_harness");
    let verify = |words: &[&str]| done.then().words(&["a.zip"]).words(words).call(&["verify"]);
    verify(&["--require", "retry/lost-reply", "--artifact", artifact]).exits(0);
    let shut = verify(&["--require", "changed-input"]);
    assert!(
        shut.exits(1)
            .stdout
            .contains("changed-input is required to pass, and was not executed")
    );
    // Each case of a family or a pattern has to have passed, as `run --case` would take them.
    verify(&["--require", "control"]).exits(0);
    verify(&["--require", "lost-repl*", "--require", "03"]).exits(0);
    for words in ["retry/*", "retry"] {
        let shut = verify(&["--require", words]);
        shut.exits(1);
        assert!(shut.stdout.contains("required  lost-reply: pass\n"), "{}", shut.stdout);
        let told = "REQUIRED  changed-input is required to pass, and was not executed";
        assert!(shut.stdout.contains(told), "{}", shut.stdout);
    }
    for word in ["no/such*", "such*"] {
        let told = format!("REQUIRED  {word} is required to pass, and was not executed");
        let shut = verify(&["--require", word]);
        assert!(shut.exits(1).stdout.contains(&told), "{}", shut.stdout);
    }
    let other = verify(&["--artifact", "run"]);
    assert!(other.exits(1).stdout.contains("run is not what was launched"));
    verify(&["--artifact", "nowhere"]).exits(1);
}

#[test]
fn a_file_that_is_no_archive_of_evidence_is_refused() {
    let done = Harness::new().file("text.zip", "no archive").call(&["list"]);
    let verify = |file: &str| done.then().words(&[file]).call(&["verify"]);
    verify("text.zip").exits(2).says_only(&["text.zip is not evidence"]);
    fs::create_dir(done.path("other")).unwrap();
    fs::write(done.path("other/SHA256SUMS"), "").unwrap();
    fs::write(done.path("other/note"), "").unwrap();
    let mut file = fs::File::create(done.path("other.zip")).unwrap();
    pack(&done.path("other"), &mut file).unwrap();
    // It has a list of digests, so it is evidence, of which everything is missing.
    verify("other.zip").exits(1);
}

/// What is found in the archive that this folder makes, as a forger makes it who has the harness.
fn found(root: &Path, archive: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    pack(root, &mut bytes).unwrap();
    fs::write(archive, bytes).unwrap();
    findings(archive)
}

fn findings(archive: &Path) -> Vec<String> {
    let archive = ArchiveFile::open(archive).unwrap();
    match verify_archive(&archive, &mut |_| {}).unwrap().1 {
        VerifiedArchive::Run(verified) => verified.findings,
        VerifiedArchive::Proof(verified) => verified.findings,
        VerifiedArchive::Nothing { findings } => findings,
    }
}

/// Flipped, dropped, added, renamed and truncated, every file in each way, and the archive made anew of what came of it.
/// With the digests made anew too it is another archive with another receipt; `mutated` has what still differs then.
#[test]
fn whatever_is_changed_of_any_file_is_found_with_its_path() {
    let path = "{data}/orders.jsonl";
    let profile = Profile::plain()
        .database(path)
        .flags("--keep-in lines --dedupe none")
        .part("store", &format!("kind = \"files\"\npath = \"{path}\""))
        .part("read.effects", "jsonl = true");
    let harness = Harness::new().target(&profile).case("lost-reply");
    let done = harness.words(&["--evidence", "run"]).call(&["run"]);
    let (root, archive) = (done.path("run"), done.path("a.zip"));
    assert_eq!(found(&root, &archive), [""; 0]);
    let receipt = sha256_hex(&fs::read(&archive).unwrap());
    let kept = contents(&root);
    let mut tried = 0;
    for (name, bytes) in kept.iter().filter(|(name, _)| *name != SUMS) {
        let file = root.join(name);
        let mut mutated: Vec<(String, Option<Vec<u8>>)> = vec![
            (name.clone(), None),
            (format!("{name}.added"), Some(b"x".to_vec())),
            (name.clone(), Some([bytes.as_slice(), b"x"].concat())),
        ];
        for at in (0..bytes.len()).step_by(bytes.len() / 12 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            mutated.push((name.clone(), Some(flipped)));
            mutated.push((name.clone(), Some(bytes[..at].to_vec())));
        }
        for (path, change) in mutated {
            let place = root.join(&path);
            match &change {
                Some(bytes) => fs::write(&place, bytes).unwrap(),
                None => fs::remove_file(&place).unwrap(),
            }
            let found = found(&root, &archive);
            assert!(found.iter().any(|found| found.contains(&path)), "{path}: {found:?}");
            seal_again(&root);
            let again = pack(&root, &mut std::io::sink()).unwrap();
            assert_ne!(again.sha256, receipt, "{path}: another receipt");
            if path != *name {
                fs::remove_file(&place).unwrap();
            }
            fs::write(&file, bytes).unwrap();
            fs::write(root.join(SUMS), &kept[SUMS]).unwrap();
            tried += 1;
        }
        fs::rename(&file, root.join("renamed")).unwrap();
        let found = found(&root, &archive);
        for told in [format!("missing: {name}"), "extra: renamed".to_owned()] {
            assert!(found.contains(&told), "{told}: {found:?}");
        }
        fs::rename(root.join("renamed"), &file).unwrap();
        tried += 1;
    }
    assert!(tried >= 400, "only {tried} mutations were tried");
    assert_eq!(found(&root, &archive), [""; 0], "all was put back");
}
