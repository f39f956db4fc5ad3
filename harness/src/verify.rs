//! Evidence checked by somebody who was not there: the inventory first, then every count that a frozen store allows, then
//! every verdict judged again.
//!
//! No process is started, and nothing is written. What differs is collected; nothing stops at the first difference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::Serialize;
use serde_json::Value;

use crate::baseline::{self, BaselineReport};
use crate::case::{self, Case, Catalogue};
use crate::document;
use crate::judge::{JUDGE_VERSION, gate_by_controls, judge};
use crate::plain_file;
use crate::readback::{self, FrozenTree, ReadError, Shape};
use crate::record::{
    CaseFolder, CaseVerdict, Evidence, EvidenceError, Finding, RUN_FORMAT, ReadFrom, Reading, ReadingOutcome, Record,
    Run, RunState,
};

/// A verdict or a `run.json` is never larger than this, in bytes.
const JSON_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What verifying came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// The target that the evidence names.
    pub target: String,
    /// Whether there is a `SHA256SUMS`.
    pub sealed: bool,
    /// Whether the run says that it came to its end.
    pub finished: bool,
    /// How many files are listed and equal.
    pub files_equal: usize,
    /// Every difference, with its path.
    pub findings: Vec<String>,
    /// How many observations were counted again from frozen stores, with the same result.
    pub counted_again: usize,
    /// How many observations are the runner's word: the living store was read, and nothing of it is kept.
    pub runners_word: usize,
    /// What is not wrong and has to be known: a case of a revision that this harness does not carry.
    pub notes: Vec<String>,
    /// What comes of comparing the run with its baseline, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineReport>,
    /// The verdict of each case as it comes out now.
    pub judged: BTreeMap<String, String>,
}

/// Verifies the evidence of one run.
pub fn verify(evidence: &Evidence) -> Result<Verified, EvidenceError> {
    let inventory = evidence.inventory()?;
    let mut verified = Verified {
        target: "unknown".to_owned(),
        sealed: inventory.sealed,
        finished: false,
        files_equal: inventory.equal,
        findings: inventory.findings.iter().map(ToString::to_string).collect(),
        counted_again: 0,
        runners_word: 0,
        notes: Vec::new(),
        baseline: None,
        judged: BTreeMap::new(),
    };
    // A link could lead to a file of the reviewer's, a device has no end, a pipe keeps a reader waiting: nothing is read.
    let is_no_file = |finding: &Finding| matches!(finding, Finding::NotAFile(_));
    if inventory.findings.iter().any(is_no_file) {
        return Ok(verified);
    }
    match read_json::<Run>(&evidence.run_file()) {
        Ok(run) if run.format != RUN_FORMAT => {
            let reason = format!(
                "format {} is not one this harness reads (it reads {RUN_FORMAT})",
                run.format
            );
            verified.findings.push(format!("run.json: {reason}"));
        }
        Ok(run) => compare(evidence, &run, &mut verified),
        Err(reason) => verified.findings.push(format!("run.json: {reason}")),
    }
    Ok(verified)
}

fn compare(evidence: &Evidence, run: &Run, verified: &mut Verified) {
    verified.target.clone_from(&run.target.name);
    verified.finished = run.state == RunState::Finished;
    let mut done: Vec<CaseVerdict> = Vec::new();
    verified.findings.extend(strange_cases(evidence, run));
    for id in run.executed.iter().filter(|id| case::is_plain_word(id)) {
        match rejudge(evidence, id, &done) {
            Ok((case, record, verdict)) => {
                recount(&evidence.case(id), id, &record, verified);
                verified.judged.insert(id.clone(), verdict.verdict.name().to_owned());
                verified.notes.extend(unknown_revision(run, &case));
                verified.findings.extend(spliced(id, &record, run));
                // A run that was killed leaves the case it was in with a record and without a verdict.
                if verified.finished || run.verdicts.contains_key(id) {
                    verified.findings.extend(differences(evidence, run, &case, &verdict));
                }
                done.push(verdict);
            }
            // And those after it without a folder.
            Err(_) if !verified.finished && !run.verdicts.contains_key(id) => {}
            Err(reason) => verified.findings.push(format!("cases/{id}: {reason}")),
        }
    }
    verified.baseline = baseline::compare(run, &done);
    // A run that was cut off did not come to all that was asked of it.
    let executed_nothing = run.did_not_start.is_some() || !verified.finished;
    for id in run
        .requested
        .iter()
        .filter(|id| !run.executed.contains(*id) && !executed_nothing)
    {
        verified
            .findings
            .push(format!("run.json: {id} was requested and not executed"));
    }
    for id in run.verdicts.keys().filter(|id| !run.executed.contains(*id)) {
        verified
            .findings
            .push(format!("run.json: {id} has a verdict and was not executed"));
    }
}

/// Cases that the run says it executed and that cannot be folders, and folders that it does not speak of.
fn strange_cases(evidence: &Evidence, run: &Run) -> Vec<String> {
    let odd = run.executed.iter().filter(|id| !case::is_plain_word(id));
    let mut found: Vec<String> = odd.map(|id| format!("run.json: {id:?} is no name of a case")).collect();
    let folders = std::fs::read_dir(evidence.root().join("cases"))
        .into_iter()
        .flatten()
        .flatten();
    for folder in folders {
        let name = folder.file_name().to_string_lossy().into_owned();
        if !run.executed.contains(&name) {
            found.push(format!("cases/{name}: run.json does not say that it was executed"));
        }
    }
    found.sort();
    found
}

/// Whether a record belongs to the run whose folder it lies in.
fn spliced(id: &str, record: &Record, run: &Run) -> Option<String> {
    let plan = record.plan()?;
    let differs = [
        ("target", plan.target != run.target.name),
        ("seed or nonce", plan.naming != run.naming),
        ("contract", plan.contract != run.target.contract),
        ("identity", plan.identity != run.target.identity),
        ("replies", plan.replies != run.target.replies),
    ];
    let names: Vec<&str> = differs
        .iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| *name)
        .collect();
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "cases/{id}/record.jsonl: it was planned with another {} than run.json names",
        names.join(", ")
    ))
}

fn rejudge(evidence: &Evidence, id: &str, done: &[CaseVerdict]) -> Result<(Case, Record, CaseVerdict), String> {
    let folder = evidence.case(id);
    let text = document::read(&folder.case_file()).map_err(|error| error.to_string())?;
    let case = case::parse("case.toml", &text).map_err(|error| error.to_string())?;
    if case.id != id {
        return Err(format!("case.toml is the case {}", case.id));
    }
    let record = Record::read(&folder).map_err(|error| error.to_string())?;
    let verdict = gate_by_controls(judge(&case, &record), &case, done);
    Ok((case, record, verdict))
}

/// Asks the frozen stores once more what the observations say that they answered.
fn recount(folder: &CaseFolder, id: &str, record: &Record, verified: &mut Verified) {
    for (label, observation) in &record.observations {
        let ReadFrom::Frozen { folder: named, store } = &observation.read else {
            verified.runners_word += 1;
            continue;
        };
        let mut tree = store.clone();
        tree.root = folder.store_folder(label);
        let place = format!("cases/{id}/observations/{label}.json");
        if let Some(reason) = not_what_lies_there(&tree, named.as_deref(), label) {
            verified.findings.push(format!("{place}: {reason}"));
            continue;
        }
        let differing = observation.operations.iter().filter(|(_, seen)| {
            let more = seen.ledger.iter().chain(seen.more.values());
            more.chain([&seen.effects])
                .any(|reading| !comes_out_the_same(&tree, reading))
        });
        let names: Vec<&str> = differing.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            verified.counted_again += 1;
        } else {
            verified.findings.push(format!(
                "{place}: the store copy answers otherwise for {}",
                names.join(", ")
            ));
        }
    }
}

/// Why a frozen store is not the one that lies in the evidence: every file that an observation speaks of has to be there,
/// and none that it is silent about.
fn not_what_lies_there(tree: &FrozenTree, folder: Option<&str>, label: &str) -> Option<String> {
    let usual = format!("stores/{label}");
    if folder != (tree.shape != Shape::Absent).then_some(usual.as_str()) {
        return Some(format!("its store copy is not {usual}"));
    }
    let copies = tree.databases.iter().filter_map(|database| database.read_copy.as_ref());
    let named: BTreeSet<&str> = (tree.files.iter().map(|file| &file.name))
        .chain(copies)
        .map(String::as_str)
        .collect();
    let is_inside = |name: &&str| {
        Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    if let Some(name) = named.iter().find(|name| !is_inside(name)) {
        return Some(format!("{name:?} lies outside {usual}"));
    }
    let there = match tree.files_there() {
        Ok(there) => there,
        Err(error) => return Some(error.to_string()),
    };
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    let odd = named.symmetric_difference(&there).next()?;
    Some(format!("{odd:?} is in only one of its list of files and {usual}"))
}

fn comes_out_the_same(tree: &FrozenTree, reading: &Reading) -> bool {
    match (&reading.outcome, readback::ask_frozen(tree, &tree.root, &reading.query)) {
        (ReadingOutcome::Rows(then), Ok(now)) => *then == now,
        (ReadingOutcome::Nothing { .. }, Err(ReadError::Absent { .. } | ReadError::NoSuchTable { .. })) => true,
        // Why it was unreadable names paths of the machine where it was run; that it still is, is what counts.
        (ReadingOutcome::Unreadable { .. }, Err(_)) => true,
        (ReadingOutcome::Rows(_) | ReadingOutcome::Nothing { .. } | ReadingOutcome::Unreadable { .. }, _) => false,
    }
}

fn differences(evidence: &Evidence, run: &Run, case: &Case, now: &CaseVerdict) -> Vec<String> {
    let mut found = Vec::new();
    let id = &case.id;
    let path = format!("cases/{id}/verdict.json");
    match read_json::<CaseVerdict>(&evidence.case(id).verdict_file()) {
        Err(reason) => found.push(format!("{path}: {reason}")),
        Ok(then) if then.judge != JUDGE_VERSION => {}
        Ok(then) if then.verdict != now.verdict => {
            found.push(format!(
                "{path}: it says {}, and judged again it is {}",
                then.verdict.name(),
                now.verdict.name()
            ));
        }
        Ok(then) if then != *now => found.push(format!("{path}: {}", first_difference(&then, now))),
        Ok(_) => {}
    }
    match run.verdicts.get(id) {
        Some(summary) if summary.verdict == now.verdict => {}
        Some(summary) => found.push(format!(
            "run.json: it says that {id} is {}, and judged again it is {}",
            summary.verdict.name(),
            now.verdict.name()
        )),
        None => found.push(format!("run.json: it has no verdict of {id}")),
    }
    if !run.case_files.contains_key(id)
        && let Some(known) = Catalogue::embedded().get(id)
        && known.revision == case.revision
        && known.digest != case.digest
    {
        found.push(format!(
            "cases/{id}/case.toml: it is not revision {} as it was frozen",
            case.revision
        ));
    }
    found
}

/// Evidence is judged by the case that it holds. Whether that one was ever frozen, only a harness that carries it can say.
fn unknown_revision(run: &Run, case: &Case) -> Option<String> {
    let carried = Catalogue::embedded().get(&case.id).map(|known| known.revision);
    let id = &case.id;
    let what = match (run.case_files.get(id), carried) {
        (Some(file), None) => {
            format!("a case of the runner's own ({file:?}), and no case of this harness's catalogue")
        }
        (Some(file), Some(_)) => {
            format!("a case of the runner's own ({file:?}), and not the `{id}` of this harness's catalogue")
        }
        (None, Some(revision)) if revision == case.revision => return None,
        (None, Some(revision)) => {
            format!(
                "revision {}, and this harness carries revision {revision}",
                case.revision
            )
        }
        (None, None) => "no case of this harness's catalogue".to_owned(),
    };
    Some(format!(
        "cases/{id}/case.toml: {what}; it was judged by the file in the evidence"
    ))
}

fn first_difference(then: &CaseVerdict, now: &CaseVerdict) -> String {
    let value = |verdict: &CaseVerdict| serde_json::to_value(verdict).unwrap_or(Value::Null);
    let (then, now) = (value(then), value(now));
    let keys = then.as_object().into_iter().flat_map(|members| members.keys());
    let differing = keys.filter(|key| then[*key] != now[*key]).map(String::as_str);
    format!(
        "judged again, it differs in {}",
        differing.collect::<Vec<_>>().join(", ")
    )
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = plain_file::read_text(path, JSON_BYTES_MAX).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
