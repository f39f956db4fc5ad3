//! The cases that `run.json` names, beside the folders that are there and the catalogue.

use std::collections::BTreeSet;

use crate::case::{self, Case, Catalogue};
use crate::record::{Evidence, Run};

/// Most cases of one run that are looked at.
const CASES_MAX: usize = 1_000;

/// Cases that the run says it executed and that cannot be folders, and folders that it does not speak of.
pub(super) fn strange_cases(evidence: &Evidence, run: &Run) -> Vec<String> {
    let odd = run.executed.iter().filter(|id| !case::is_plain_word(id));
    let mut found: Vec<String> = odd.map(|id| format!("run.json: {id:?} is no name of a case")).collect();
    let executed: BTreeSet<&str> = run.executed.iter().map(String::as_str).collect();
    if executed.len() < run.executed.len() {
        found.push("run.json: it says of a case twice that it was executed".to_owned());
    }
    if executed.len() > CASES_MAX {
        found.push(format!(
            "run.json: of more than {CASES_MAX} cases the rest was not looked at"
        ));
    }
    let folders = std::fs::read_dir(evidence.root().join("cases"))
        .into_iter()
        .flatten()
        .flatten();
    for folder in folders {
        let name = folder.file_name().to_string_lossy().into_owned();
        if !executed.contains(name.as_str()) {
            found.push(format!("cases/{name}: run.json does not say that it was executed"));
        }
    }
    found.sort();
    found
}

/// The cases that are looked at, each once, in order.
pub(super) fn executed(run: &Run) -> impl Iterator<Item = &str> {
    let mut seen = BTreeSet::new();
    let named = run.executed.iter().map(String::as_str);
    let once = named.filter(move |id| case::is_plain_word(id) && seen.insert(*id));
    once.take(CASES_MAX)
}

/// Cases of the runner's own that are called like one of the catalogue. No harness runs such a file: a weaker case would be
/// taken for the frozen one.
pub(super) fn taken_names(run: &Run) -> Vec<String> {
    let is_taken = |id: &&String| Catalogue::embedded().get(id).is_some() || run.catalogue.contains(id);
    let taken = run.case_files.keys().filter(is_taken);
    let told = |id: &String| {
        format!(
            "run.json: its case_files name {id:?}, a case of the catalogue, and no harness runs another one under that id"
        )
    };
    taken.map(told).collect()
}

/// Evidence is judged by the case that it holds. Whether that one was ever frozen, only a harness that carries it can say.
pub(super) fn unknown_revision(run: &Run, case: &Case) -> Option<String> {
    let carried = Catalogue::embedded().get(&case.id).map(|known| known.revision);
    let id = &case.id;
    let what = match (run.case_files.get(id), carried) {
        (_, Some(revision)) if revision == case.revision => return None,
        (_, Some(revision)) => {
            format!(
                "revision {}, and this harness carries revision {revision}",
                case.revision
            )
        }
        (Some(file), None) => {
            format!("a case of the runner's own ({file:?}), and no case of this harness's catalogue")
        }
        (None, None) => "no case of this harness's catalogue".to_owned(),
    };
    Some(format!(
        "cases/{id}/case.toml: {what}; it was judged by the file in the evidence"
    ))
}
