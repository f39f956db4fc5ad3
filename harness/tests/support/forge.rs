//! Forgeries: evidence that was changed, and in which every digest was made anew.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::run::files;

/// The file with the digests of all others.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// Writes the digests again, as somebody would who wants changed evidence to be believed.
pub(crate) fn seal_again(root: &Path) {
    let listed = files(root).into_iter().filter(|file| file != SUMS);
    let line = |file: String| format!("{}  {file}\n", harness::digest::sha256_file(&root.join(&file)).unwrap());
    fs::write(root.join(SUMS), listed.map(line).collect::<String>()).unwrap();
}

/// The same for the folder of a proof, whose list names the matrix and the list of each run.
pub(crate) fn seal_proof_again(root: &Path) {
    let is_listed =
        |file: &String| file == "matrix.json" || (file.ends_with("/SHA256SUMS") && file.matches('/').count() == 1);
    let listed = files(root).into_iter().filter(is_listed);
    let line = |file: String| format!("{}  {file}\n", harness::digest::sha256_file(&root.join(&file)).unwrap());
    fs::write(root.join(SUMS), listed.map(line).collect::<String>()).unwrap();
}

/// Changes a JSON file of the evidence, lets the record name what it is now, and seals it again.
pub(crate) fn change(root: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = root.join(file);
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let before = json.clone();
    change(&mut json);
    assert_ne!(json, before, "nothing was changed");
    fs::write(&path, serde_json::to_string_pretty(&json).unwrap() + "\n").unwrap();
    seal_again(root);
}

/// Changes an observation of a case, and the digest of it in the record.
pub(crate) fn change_observation(root: &Path, case: &str, label: &str, by: impl FnOnce(&mut Value)) {
    change(root, &format!("cases/{case}/observations/{label}.json"), by);
    name_again(root, case, label);
}

/// Lets the record name an observation by the digest that it has now.
pub(crate) fn name_again(root: &Path, case: &str, label: &str) {
    let digest = harness::digest::sha256_file(&root.join(format!("cases/{case}/observations/{label}.json"))).unwrap();
    change_record(root, case, |event| {
        if event["kind"] == "observed" && event["label"] == label {
            event["sha256"] = json!(digest);
        }
    });
}

/// Changes the events of a record.
pub(crate) fn change_record(root: &Path, case: &str, mut by: impl FnMut(&mut Value)) {
    let record = root.join(format!("cases/{case}/record.jsonl"));
    let text = fs::read_to_string(&record).unwrap();
    let lines = text.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        by(&mut event);
        event.to_string() + "\n"
    });
    fs::write(&record, lines.collect::<String>()).unwrap();
    seal_again(root);
}

/// Judges a case again with the harness's own judge, and writes everywhere what comes out: a forger has the harness too.
pub(crate) fn judge_again(root: &Path, case: &str) -> String {
    use harness::record::{Evidence, Record};
    let folder = Evidence::open(root).unwrap().case(case);
    let record = Record::read(&folder).unwrap();
    let definition = fs::read_to_string(folder.case_file()).unwrap();
    let definition = harness::case::parse("case.toml", &definition).unwrap();
    let verdict = harness::judge::judge(&definition, &record);
    Evidence::write_json(&folder.verdict_file(), &verdict).unwrap();
    let mut run: Value = serde_json::from_slice(&fs::read(root.join("run.json")).unwrap()).unwrap();
    run["verdicts"][case]["verdict"] = json!(verdict.verdict.name());
    run["verdicts"][case]["reason"] = json!(verdict.reason);
    fs::write(root.join("run.json"), serde_json::to_string_pretty(&run).unwrap()).unwrap();
    seal_again(root);
    verdict.verdict.name().to_owned()
}

/// A copy of a folder.
pub(crate) fn copy(from: &Path, into: &Path) {
    for file in files(from) {
        let copy = into.join(&file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(from.join(&file), copy).unwrap();
    }
}
