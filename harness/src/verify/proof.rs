//! A proof checked by somebody who was not there: its seal, every run in it, and its matrix beside what the runs come to.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Rerun, Verified, read_json, verify_run};
use crate::digest;
use crate::matrix::{Again, BASELINE, CutShort, MATRIX_FORMAT, Proof, differences, is_name};
use crate::parallel;
use crate::record::{
    Evidence, EvidenceError, Finding, HarnessSummary, MATRIX_FILE, ProofFolder, Run, RunState, SUMS_FILE, TargetSummary,
};

/// What verifying a proof came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedProof {
    /// The target that the matrix names.
    pub target: String,
    /// Whether there is a `SHA256SUMS`.
    pub sealed: bool,
    /// Whether the matrix says that it came to its end.
    pub finished: bool,
    /// How many files are listed and equal: the matrix, and the list of each run.
    pub files_equal: usize,
    /// Every difference, with its place; those of the runs among them.
    pub findings: Vec<String>,
    /// What each run came to, by its folder.
    pub runs: BTreeMap<String, Verified>,
    /// How many problems the matrix tells; evidence is whole also where it shows that there is no proof.
    pub problems: usize,
    /// How many checks the matrix names that have to notice a defect.
    pub kills_named: usize,
    /// How many of them break again.
    pub kills_again: usize,
    /// How many verdicts of the matrix are the runner's word, because their evidence is not kept.
    pub runners_word: usize,
}

/// Verifies a proof; `tell` hears of each run before it is looked at.
pub fn verify_proof(folder: &ProofFolder, tell: &mut dyn FnMut(&str)) -> Result<VerifiedProof, EvidenceError> {
    let inventory = folder.inventory()?;
    let mut verified = VerifiedProof {
        target: "unknown".to_owned(),
        sealed: inventory.sealed,
        finished: false,
        files_equal: inventory.equal,
        findings: inventory.findings.iter().map(ToString::to_string).collect(),
        runs: BTreeMap::new(),
        problems: 0,
        kills_named: 0,
        kills_again: 0,
        runners_word: 0,
    };
    if inventory
        .findings
        .iter()
        .any(|found| matches!(found, Finding::NotAFile(_)))
    {
        return Ok(verified);
    }
    let proof = match read_json::<Proof>(&folder.matrix_file()) {
        Ok(proof) if proof.format == MATRIX_FORMAT => Some(proof),
        Ok(proof) => {
            let format = proof.format;
            let reason = format!("format {format} is not one this harness reads (it reads {MATRIX_FORMAT})");
            verified.findings.push(format!("{MATRIX_FILE}: {reason}"));
            None
        }
        Err(reason) => {
            verified.findings.push(format!("{MATRIX_FILE}: {reason}"));
            None
        }
    };
    let reruns = runs(folder, tell, &mut verified)?;
    if let Some(proof) = proof {
        compare(folder, &proof, &reruns, &mut verified);
    }
    Ok(verified)
}

fn runs(
    folder: &ProofFolder,
    tell: &mut dyn FnMut(&str),
    verified: &mut VerifiedProof,
) -> Result<BTreeMap<String, Rerun>, EvidenceError> {
    let (names, strange): (Vec<String>, Vec<String>) =
        (folder.runs()?.into_iter()).partition(|name| name == BASELINE || is_name(name));
    let extra = |name: String| format!("extra: {name:?} is no name of a run");
    verified.findings.extend(strange.into_iter().map(extra));
    // One that was killed before it had written anything is not opened.
    let opened = |name: String| Some((Evidence::open(&folder.run(&name)).ok()?, name));
    let runs: Vec<(Evidence, String)> = names.into_iter().filter_map(opened).collect();
    // The runs are small: one thread for each of some of them, and not several for one.
    let looked = parallel::map(&runs, parallel::threads(), &mut |(_, name)| tell(name), |(run, _)| {
        verify_run(run, 1)
    });
    let mut reruns = BTreeMap::new();
    for ((_, name), looked) in runs.into_iter().zip(looked) {
        let (run, rerun) = looked?;
        let found = run.findings.iter().map(|found| format!("{name}: {found}"));
        verified.findings.extend(found);
        verified.runs.insert(name.clone(), run);
        if let Some(rerun) = rerun {
            reruns.insert(name, rerun);
        }
    }
    Ok(reruns)
}

fn compare(folder: &ProofFolder, proof: &Proof, reruns: &BTreeMap<String, Rerun>, verified: &mut VerifiedProof) {
    verified.target.clone_from(&proof.target);
    verified.finished = proof.state == RunState::Finished;
    verified.problems = proof.problems.len();
    let again: BTreeMap<String, Again> = reruns
        .iter()
        .map(|(name, rerun)| (name.clone(), again(rerun)))
        .collect();
    let mut found = kept(folder, proof, &verified.runs);
    found.extend(rows(proof, &verified.runs));
    found.extend(belongings(proof, reruns));
    found.extend(differences(proof, &again));
    let found = found.into_iter().map(|found| format!("{MATRIX_FILE}: {found}"));
    verified.findings.extend(found);
    let is_kept = |run: &str, case: &str| again.get(run).is_some_and(|run| run.verdicts.contains_key(case));
    for row in &proof.defects {
        let cases = row.verdicts.keys();
        verified.runners_word += cases.filter(|case| !is_kept(&row.defect, case)).count();
        verified.kills_named += row.kills.len();
        verified.kills_again += again.get(&row.defect).map_or(0, |run| run.broken(&row.kills));
    }
}

fn again(rerun: &Rerun) -> Again {
    let verdicts = rerun.verdicts.iter();
    Again {
        cases: rerun.cases.clone(),
        verdicts: verdicts
            .map(|verdict| (verdict.case.clone(), verdict.clone()))
            .collect(),
        finished: rerun.run.state == RunState::Finished,
        nothing_run: rerun.run.nothing_run.as_ref().map(|nothing| nothing.reason.clone()),
    }
}

/// The runs of the matrix are those that are there, by the digests of their lists.
fn kept(folder: &ProofFolder, proof: &Proof, runs: &BTreeMap<String, Verified>) -> Vec<String> {
    let mut found = Vec::new();
    let listed: BTreeMap<&str, Option<&str>> = (proof.runs.iter())
        .map(|run| (run.folder.as_str(), run.sums_sha256.as_deref()))
        .collect();
    for name in runs.keys() {
        let now = digest::sha256_file(&folder.run(name).join(SUMS_FILE)).ok();
        match listed.get(name.as_str()) {
            // Between two looks of a proof that was killed, a run begins and is sealed.
            None | Some(None) if proof.state == RunState::Running => {}
            None => found.push(format!("{name}: it does not speak of this run")),
            Some(then) if *then != now.as_deref() => {
                found.push(format!("{name}: it names another digest of its {SUMS_FILE}"));
            }
            Some(_) => {}
        }
    }
    let gone = listed.keys().filter(|name| !runs.contains_key(**name));
    if proof.state == RunState::Finished {
        found.extend(gone.map(|name| format!("{name}: it speaks of this run, and there is no evidence of it")));
    }
    found
}

/// Each run with a defect has its row, and each row its run: a defect that was not noticed could be left out otherwise.
fn rows(proof: &Proof, runs: &BTreeMap<String, Verified>) -> Vec<String> {
    let mut found = Vec::new();
    let mut named = BTreeSet::new();
    let planted = proof.defects.iter().map(|row| &row.defect);
    for name in planted.chain(&proof.not_begun).chain(&proof.left_out) {
        if !named.insert(name) {
            found.push(format!("{name}: it names this defect twice"));
        }
    }
    // Of a proof that is at work or was killed, the last matrix may be older than the run.
    let is_running = proof.state == RunState::Running;
    for name in runs.keys().filter(|name| *name != BASELINE) {
        let has_row = proof.defects.iter().any(|row| row.defect == *name);
        let is_not_told_yet = is_running && proof.not_begun.contains(name);
        if !has_row && !is_not_told_yet {
            found.push(format!(
                "{name}: it has no row of this defect, and there is a run with it"
            ));
        }
    }
    for row in proof.defects.iter().filter(|row| !runs.contains_key(&row.defect)) {
        let may_lack_it = match row.cut_short {
            Some(CutShort::NotRun { .. }) => true,
            Some(CutShort::Unfinished) => is_running,
            None => false,
        };
        if !may_lack_it {
            let defect = &row.defect;
            found.push(format!(
                "{defect}: it has a row of this defect, and there is no run with it"
            ));
        }
    }
    found
}

/// Each run is of this proof: the same server, harness, seed and nonce, and the defect that its folder is called like.
fn belongings(proof: &Proof, reruns: &BTreeMap<String, Rerun>) -> Vec<String> {
    let mut found = Vec::new();
    let baseline = reruns.get(BASELINE).map(|rerun| &rerun.run);
    for (name, rerun) in reruns {
        let run = &rerun.run;
        let planted = (name != BASELINE).then_some(name);
        if run.defect.as_ref() != planted {
            let with = run.defect.as_deref().unwrap_or("none");
            found.push(format!("{name}: it is a run with another defect: {with}"));
        }
        if run.target.title() != proof.target || run.harness.version != proof.harness {
            found.push(format!("{name}: it is a run on another server, or by another harness"));
        }
        let differs = baseline.is_some_and(|baseline| {
            run.naming != baseline.naming || launched(run, baseline) != launched(baseline, run)
        });
        if differs {
            found.push(format!("{name}: it is not a run of the same proof as {BASELINE}"));
        }
    }
    found
}

/// By whom a run was made and on what, as far as it can be compared with another one: digests are taken at the end of a run,
/// and what a search found to be the effect, each run finds for itself.
fn launched(run: &Run, other: &Run) -> (HarnessSummary, TargetSummary) {
    let (mut harness, mut target) = (run.harness.clone(), run.target.clone());
    target.read_effects = None;
    if [run, other].iter().any(|run| run.state == RunState::Running) {
        harness.sha256 = None;
        target.artifacts.clear();
    }
    (harness, target)
}
