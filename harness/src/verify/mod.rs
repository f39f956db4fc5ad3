//! Evidence checked by somebody who was not there: the inventory first, then whatever follows from something else in it is
//! derived again: plans, queries, read copies, counts, what a search found, verdicts.
//!
//! No process is started, and nothing is written into the evidence. What differs is collected; nothing stops at the first
//! difference. Every file, every query and the whole is bounded, because the evidence may be hostile.
//!
//! - [`about`]: what a reviewer has to know beside the verdicts, and what is not shown; pure.
//! - [`archive`]: an archive, as one and as what it holds.
//! - `differs`: what of a verdict is another one than what comes out again; pure.
//! - `layout`: which files there can be, and must be; pure.
//! - `named`: the cases that `run.json` names, beside the folders and the catalogue.
//! - `masked`: the verdicts of masked evidence as they come out of it.
//! - `planned`: records belong to the run, plans to their cases, observations to the steps of the plan; pure.
//! - `handshake`: the revision that was spoken, by the frames of the probe.
//! - `launched`: processes were launched by the words of `run.json`; pure.
//! - `store`: a frozen store, and its databases recovered once more.
//! - `recount`: frozen stores asked once more.
//! - `redacted`: what was masked, told and looked at.
//! - `search`: the effect looked for once more.
//! - [`proof`]: all runs of a proof, and its matrix beside what they come to.

mod about;
mod archive;
mod differs;
mod handshake;
mod launched;
mod layout;
mod masked;
mod named;
mod planned;
mod proof;
mod recount;
mod redacted;
mod search;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::baseline::{self, BaselineReport};
use crate::case::{self, Case, Catalogue};
use crate::document;
use crate::drive::clock::Deadline;
use crate::judge::{JUDGE_VERSION, gate_by_controls, judge};
use crate::parallel;
use crate::plain_file;
use crate::record::{
    CaseFolder, CaseVerdict, CheckResult, Evidence, EvidenceError, Finding, Inventory, RUN_FORMAT, Record, Run,
    RunState,
};
use crate::values::{VALUES_MAX, refuse_keys_twice, values_in};
pub use about::{
    About, ArtifactCompared, NOT_SHOWN, Required, by_families, compare_artifact, not_shown, require, required_by,
};
pub use archive::{ArchiveSeen, Unpacked, VerifiedArchive, VerifyArchiveError, WHAT_TO_NAME, verify_archive};
use layout::Layout;
pub use masked::judge_masked;
pub use proof::{VerifiedProof, verify_proof};
use recount::{Recount, Recounted};
pub use search::CountedBy;
use store::Files;

/// A verdict or a `run.json` is never larger than this, in bytes.
const JSON_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// For so long stores are asked again; each query has a bound of its own. What is left then was not counted again.
const COUNT_TIME_MAX: Duration = Duration::from_secs(60 * 60);

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
    /// Who says what is counted as an effect.
    pub counted_by: CountedBy,
    /// What is not wrong and has to be known: a case of a revision that this harness does not carry.
    pub notes: Vec<String>,
    /// What was masked before the evidence was handed on, a line for each file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<String>,
    /// What comes of comparing the run with its baseline, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineReport>,
    /// The cases of this harness's catalogue that were judged by a file of the evidence with other bytes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub judged_by_other_files: BTreeSet<String>,
    /// The verdict of each case as it comes out now.
    pub judged: BTreeMap<String, String>,
    /// The cases that a run which was killed was in: there is a record, and nobody has judged it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub not_finished: BTreeSet<String>,
    /// What the run says of itself; absent where its `run.json` cannot be read.
    pub about: Option<About>,
}

/// So many cases are looked at again before their verdicts are compared: what is in memory at once does not grow with the run.
const CASES_AT_ONCE: usize = 32;

/// Verifies the evidence of one run.
pub fn verify(evidence: &Evidence) -> Result<Verified, EvidenceError> {
    Ok(verify_run(evidence, parallel::threads())?.0)
}

/// A run as it comes out again, for what is derived from several.
struct Rerun {
    run: Run,
    cases: Vec<Case>,
    verdicts: Vec<CaseVerdict>,
}

fn verify_run(evidence: &Evidence, threads: usize) -> Result<(Verified, Option<Rerun>), EvidenceError> {
    let inventory = evidence.inventory()?;
    let mut verified = Verified {
        target: "unknown".to_owned(),
        sealed: inventory.sealed,
        finished: false,
        files_equal: inventory.equal,
        findings: inventory.findings.iter().map(ToString::to_string).collect(),
        counted_again: 0,
        runners_word: 0,
        counted_by: CountedBy::Nobody,
        notes: Vec::new(),
        redacted: Vec::new(),
        baseline: None,
        judged_by_other_files: BTreeSet::new(),
        judged: BTreeMap::new(),
        not_finished: BTreeSet::new(),
        about: None,
    };
    // A link could lead to a file of the reviewer's, a device has no end, a pipe keeps a reader waiting: nothing is read.
    let is_no_file = |finding: &Finding| matches!(finding, Finding::NotAFile(_));
    if inventory.findings.iter().any(is_no_file) {
        return Ok((verified, None));
    }
    match read_json::<Run>(&evidence.run_file()) {
        Ok(run) if run.format != RUN_FORMAT => {
            let reason = format!(
                "format {} is not one this harness reads (it reads {RUN_FORMAT})",
                run.format
            );
            verified.findings.push(format!("run.json: {reason}"));
        }
        Ok(run) => {
            let (cases, verdicts) = compare(evidence, &inventory, &run, threads, &mut verified);
            verified.about = Some(About::of(&run, &cases, &verdicts));
            return Ok((verified, Some(Rerun { run, cases, verdicts })));
        }
        Err(reason) => verified.findings.push(format!("run.json: {reason}")),
    }
    Ok((verified, None))
}

fn compare(
    evidence: &Evidence,
    inventory: &Inventory,
    run: &Run,
    threads: usize,
    verified: &mut Verified,
) -> (Vec<Case>, Vec<CaseVerdict>) {
    verified.target.clone_from(&run.target.name);
    verified.finished = run.state == RunState::Finished;
    let (mut cases, mut done): (Vec<Case>, Vec<CaseVerdict>) = (Vec::new(), Vec::new());
    let files = Files {
        evidence,
        seen: &inventory.files,
    };
    let deadline = Deadline::after(COUNT_TIME_MAX);
    verified.findings.extend(named::strange_cases(evidence, run));
    verified.findings.extend(named::taken_names(run));
    verified.findings.extend(handshake::spoken_otherwise(evidence, run));
    let mut layout = Layout::of_a_run();
    redacted::look(files, &mut layout, verified);
    verified.counted_by = search::search_again(files, run, &mut layout, verified);
    let ids: Vec<&str> = named::executed(run).collect();
    for ids in ids.chunks(CASES_AT_ONCE) {
        let look = |id: &&str| CaseAgain::look(files, run, id, deadline);
        for (id, again) in ids.iter().zip(parallel::map(ids, threads, &mut |_| {}, look)) {
            match again {
                Ok(again) => {
                    let (case, verdict) = again.compare(evidence, run, &done, &mut layout, verified);
                    done.extend(verdict.map(as_a_control));
                    cases.push(case);
                }
                // A run that was killed has no folder of the cases after the one it was in.
                Err(_) if !verified.finished && !run.verdicts.contains_key(*id) => {
                    layout.add_unread(&format!("cases/{id}"));
                }
                Err(reason) => {
                    let place = format!("cases/{id}");
                    layout.add_unread(&place);
                    verified.findings.push(format!("{place}: {reason}"));
                }
            }
        }
    }
    verified.findings.extend(layout.differences(inventory));
    verified.baseline = baseline::compare(run, &done);
    // A run that was cut off did not come to all that was asked of it.
    let executed_nothing = run.nothing_run.is_some() || !verified.finished;
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
    (cases, done)
}

/// What is needed of a verdict to judge later cases, and to compare the run with its baseline.
fn as_a_control(verdict: CaseVerdict) -> CaseVerdict {
    let outcome_only = |check: CheckResult| CheckResult {
        say: None,
        whose: None,
        findings: Vec::new(),
        ..check
    };
    CaseVerdict {
        checks: verdict.checks.into_iter().map(outcome_only).collect(),
        rows: Vec::new(),
        facts: serde_json::Map::new(),
        ..verdict
    }
}

/// A case looked at again by itself, before its controls are asked.
struct CaseAgain {
    case: Case,
    verdict: CaseVerdict,
    layout: Layout,
    recounted: Recounted,
}

impl CaseAgain {
    fn look(files: Files<'_>, run: &Run, id: &str, deadline: Deadline) -> Result<Self, String> {
        let place = format!("cases/{id}");
        let (case, record, verdict) = judge_alone(&files.evidence.case(id), id)?;
        let mut layout = Layout::default();
        layout.add_case(&place, &record);
        let recount = Recount {
            files,
            folder: files.evidence.case(id),
            place,
            deadline,
        };
        let recounted = check_record(&recount, run, &case, &record);
        Ok(Self {
            case,
            verdict,
            layout,
            recounted,
        })
    }

    /// Adds what it came to, and compares its verdict; the case, and its verdict after its controls, where it came to one.
    fn compare(
        self,
        evidence: &Evidence,
        run: &Run,
        done: &[CaseVerdict],
        layout: &mut Layout,
        verified: &mut Verified,
    ) -> (Case, Option<CaseVerdict>) {
        let Self { case, .. } = self;
        let id = &case.id;
        layout.join(self.layout);
        verified.counted_again += self.recounted.counted_again;
        verified.runners_word += self.recounted.runners_word;
        verified.findings.extend(self.recounted.findings);
        verified.notes.extend(self.recounted.notes);
        let verdict = gate_by_controls(self.verdict, &case, done);
        verified.notes.extend(named::unknown_revision(run, &case));
        let carried = Catalogue::embedded().get(id);
        if carried.is_some_and(|carried| carried.digest != case.digest) {
            verified.judged_by_other_files.insert(id.clone());
        }
        // A run that was killed leaves the case it was in with a record and without a verdict.
        if !verified.finished && !run.verdicts.contains_key(id) {
            verified.not_finished.insert(id.clone());
            return (case, None);
        }
        (verified.judged).insert(id.clone(), verdict.verdict.name().to_owned());
        differences(evidence, run, &case, &verdict, verified);
        (case, Some(verdict))
    }
}

/// Whether a record belongs to its run, case and stores.
fn check_record(recount: &Recount<'_>, run: &Run, case: &Case, record: &Record) -> Recounted {
    let mut recounted = Recounted::default();
    let Some(plan) = record.plan() else { return recounted };
    let place = &recount.place;
    let found = [
        planned::spliced(place, plan, run),
        planned::planned_otherwise(place, plan, case),
        planned::reads_otherwise(place, plan, &run.target),
        planned::offers_otherwise(place, plan, &run.target),
    ];
    recounted.findings.extend(found.into_iter().flatten());
    let launched = launched::launched_otherwise(place, plan, record, &run.target);
    recounted.findings.extend(launched);
    let (wanted, found) = planned::observations(place, plan, record, run);
    recounted.findings.extend(found);
    recount.all(&wanted, record, &mut recounted);
    recounted
}

fn rejudge(folder: &CaseFolder, id: &str, done: &[CaseVerdict]) -> Result<(Case, Record, CaseVerdict), String> {
    let (case, record, verdict) = judge_alone(folder, id)?;
    let verdict = gate_by_controls(verdict, &case, done);
    Ok((case, record, verdict))
}

/// The verdict as it is before the controls are asked.
fn judge_alone(folder: &CaseFolder, id: &str) -> Result<(Case, Record, CaseVerdict), String> {
    let text = document::read(&folder.case_file()).map_err(|error| error.to_string())?;
    let case = case::parse("case.toml", &text).map_err(|error| error.to_string())?;
    if case.id != id {
        return Err(format!("case.toml is the case {}", case.id));
    }
    let record = Record::read(folder).map_err(|error| error.to_string())?;
    let verdict = judge(&case, &record);
    Ok((case, record, verdict))
}

fn differences(evidence: &Evidence, run: &Run, case: &Case, now: &CaseVerdict, verified: &mut Verified) {
    let id = &case.id;
    differences_of_verdict(&evidence.case(id), &format!("cases/{id}"), run, now, verified);
    let found = &mut verified.findings;
    match run.verdicts.get(id) {
        Some(summary) if summary.verdict != now.verdict => found.push(format!(
            "run.json: it says that {id} is {}, and judged again it is {}",
            summary.verdict.name(),
            now.verdict.name()
        )),
        Some(summary) if summary.reason != now.reason && run.harness.judge == JUDGE_VERSION => {
            found.push(format!(
                "run.json: it says otherwise why {id} is {}",
                now.verdict.name()
            ));
        }
        Some(_) => {}
        None => found.push(format!("run.json: it has no verdict of {id}")),
    }
    if let Some(known) = Catalogue::embedded().get(id)
        && known.revision == case.revision
        && known.digest != case.digest
    {
        found.push(format!(
            "cases/{id}/case.toml: it is not revision {} as it was frozen",
            case.revision
        ));
    }
}

/// How a `verdict.json` differs from what is judged now.
fn differences_of_verdict(folder: &CaseFolder, place: &str, run: &Run, now: &CaseVerdict, verified: &mut Verified) {
    let path = format!("{place}/verdict.json");
    let then: CaseVerdict = match read_json(&folder.verdict_file()) {
        Ok(then) => then,
        Err(reason) => return verified.findings.push(format!("{path}: {reason}")),
    };
    if then.judge != run.harness.judge {
        verified.findings.push(format!(
            "{path}: it is of judge {}, and run.json of judge {}",
            then.judge, run.harness.judge
        ));
    }
    if then.verdict != now.verdict {
        verified.findings.push(format!(
            "{path}: it says {}, and judged again it is {}",
            then.verdict.name(),
            now.verdict.name()
        ));
    } else if then.judge != JUDGE_VERSION {
        verified.notes.push(format!(
            "{path}: it is of judge {}, and this harness has judge {JUDGE_VERSION}; the verdict comes out the same, and the rest \
             was not compared",
            then.judge
        ));
    } else if then != *now {
        verified
            .findings
            .push(format!("{path}: {}", differs::what_differs(&then, now)));
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = plain_file::read_text(path, JSON_BYTES_MAX).map_err(|error| error.to_string())?;
    if values_in(text.as_bytes()) > VALUES_MAX {
        return Err(format!("it has more than {VALUES_MAX} JSON values"));
    }
    refuse_keys_twice(&text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
