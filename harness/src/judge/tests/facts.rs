//! The facts that the judge makes are those that a case can ask for: the retained evidence of every frozen case is judged once
//! more, and each of its facts is looked for in the list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::case::{Catalogue, known_facts, parse, unknown_facts};
use crate::judge::judge;
use crate::record::{ArchiveFile, Evidence, Record};

/// Archives in `evidence/`, whose cases together are all of the catalogue.
const ARCHIVES: [&str; 5] = [
    "reference-server.zip",
    "reference-execution.zip",
    "ten-lines.zip",
    "server-memory.zip",
    "mcp-server-sqlite.zip",
];

/// What no retained run came to: a refused cancellation of an execution, a store that could not be read, questions inside the call
/// (none of these servers asks so), and a refusal that was withheld. Tests elsewhere make such records.
const NEVER_THERE: [&str; 5] = [
    "CANCEL.refusal",
    "LABEL.problem",
    "WRITE.asked_inside",
    "WRITE.withheld.refusal",
    "WRITE.withheld.refusal_text",
];

#[test]
fn every_fact_that_is_made_is_in_the_list_and_the_other_way_round() {
    let evidence = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence");
    let (mut cases, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for archive in ARCHIVES {
        let folder = tempfile::tempdir().expect("a folder");
        let file = ArchiveFile::open(&evidence.join(archive)).expect("a retained archive");
        file.unpack(folder.path()).expect("it can be unpacked");
        for run in runs(folder.path()) {
            for id in names(&run.join("cases")) {
                let case = Evidence::open(&run).expect("evidence").case(&id);
                let text = std::fs::read_to_string(case.case_file()).expect("a case");
                let definition = parse("case.toml", &text).expect("it reads as it did");
                let record = Record::read(&case).expect("a record");
                let facts = judge(&definition, &record).facts;
                let made = unknown_facts(&text, &facts);
                seen.extend(made.unwrap_or_else(|error| panic!("{archive}, {id}: {error}")));
                cases.insert(id);
            }
        }
    }
    let frozen: BTreeSet<String> = Catalogue::embedded().all().iter().map(|case| case.id.clone()).collect();
    assert!(
        frozen.is_subset(&cases),
        "no evidence of {:?}",
        frozen.difference(&cases)
    );
    let never: Vec<String> = known_facts().difference(&seen).cloned().collect();
    assert_eq!(never, NEVER_THERE);
}

/// The folders of runs: the folder itself, or those in that of a proof.
fn runs(folder: &Path) -> Vec<PathBuf> {
    if folder.join("run.json").is_file() {
        return vec![folder.to_path_buf()];
    }
    let inside = names(folder).into_iter().map(|name| folder.join(name));
    inside.filter(|path| path.join("run.json").is_file()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
