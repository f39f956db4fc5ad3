//! What a reviewer has to know of a run beside its verdicts, and what its evidence does not show. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::Verified;
use crate::case::{self, Case, Catalogue};
use crate::counted::counted;
use crate::digest;
use crate::record::{ArtifactDigest, CaseVerdict, ExpectedFailure, HarnessSummary, Host, Run, ServerSeen, Verdict};

/// What a run says of itself. All of it is the runner's word but the controls and the seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct About {
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// By which harness, with the digest of its executable.
    pub harness: HarnessSummary,
    /// Where.
    pub host: Host,
    /// On what: target, where its description came from, contract.
    pub target: String,
    /// What the server said of itself.
    pub server: Option<ServerSeen>,
    /// Digests of what was launched.
    pub artifacts: Vec<ArtifactDigest>,
    /// The seed that names and markers follow from.
    pub seed: u64,
    /// The defect that was planted, where one was.
    pub defect: Option<String>,
    /// The cases asked for.
    pub requested: Vec<String>,
    /// How many cases the harness of the run carried.
    pub catalogue: usize,
    /// Those of them that were neither asked for nor run as controls.
    pub not_tested: Vec<String>,
    /// Failures that were declared before the run.
    pub declared: Vec<ExpectedFailure>,
    /// What each control came to, judged again.
    pub controls: BTreeMap<String, Verdict>,
}

impl About {
    /// What `run` says, and what its controls came to.
    pub(super) fn of(run: &Run, cases: &[Case], verdicts: &[CaseVerdict]) -> Self {
        let is_control = |id: &String| cases.iter().any(|case| case.controls.contains(id));
        let controls = verdicts.iter().filter(|verdict| is_control(&verdict.case));
        let declared = run.baseline.expected_failures.as_ref();
        Self {
            started_at: run.started_at.clone(),
            ended_at: run.ended_at.clone(),
            harness: run.harness.clone(),
            host: run.host.clone(),
            target: run.target.title(),
            server: run.server.clone(),
            artifacts: run.target.artifacts.clone(),
            seed: run.naming.seed,
            defect: run.defect.clone(),
            requested: run.requested.clone(),
            catalogue: run.catalogue.len(),
            not_tested: (run.catalogue.iter())
                .filter(|id| !run.requested.contains(id) && !run.executed.contains(id))
                .cloned()
                .collect(),
            declared: declared.map(|list| list.entries.clone()).unwrap_or_default(),
            controls: controls
                .map(|verdict| (verdict.case.clone(), verdict.verdict))
                .collect(),
        }
    }
}

/// The case that a gate asks for, and what is wrong with it: it has to be executed, and to come out as a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Required {
    /// The case.
    pub case: String,
    /// Why the gate is shut; absent where the case passed.
    pub problem: Option<String>,
}

/// The cases that a word requires: of this harness's catalogue whatever `--case` takes (a family and a pattern are all of its
/// cases), else one of somebody's own, with its family or without.
pub fn required_by(word: &str) -> Vec<String> {
    if let Ok(selection) = Catalogue::embedded().select(&[word.to_owned()], &[]) {
        return selection.requested;
    }
    let last = word.rsplit('/').next().filter(|last| case::is_plain_word(last));
    vec![last.unwrap_or(word).to_owned()]
}

/// Whether a case was executed and passed, judged again.
pub fn require(case: &str, verified: &Verified) -> Required {
    let problem = match verified.judged.get(case).map(String::as_str) {
        Some(verdict) if verdict == Verdict::Pass.name() => other_case(case, verified),
        Some(verdict) => Some(format!("{case} is required to pass, and is {verdict}")),
        None if verified.not_finished.contains(case) => {
            Some(format!("{case} is required to pass, and was not finished"))
        }
        None => {
            let executed: Vec<&str> = verified.judged.keys().map(String::as_str).collect();
            let executed = executed.join(", ");
            Some(format!(
                "{case} is required to pass, and was not executed; executed were {executed}"
            ))
        }
    };
    Required {
        case: case.to_owned(),
        problem,
    }
}

/// Whoever makes evidence can write a case of the same name that asks for nothing, or such a control of it.
fn other_case(case: &str, verified: &Verified) -> Option<String> {
    let carried = Catalogue::embedded().get(case)?;
    let mut relied_on = std::iter::once(&carried.id).chain(&carried.controls);
    let other = relied_on.find(|id| verified.judged_by_other_files.contains(*id))?;
    Some(format!(
        "{case} is required to pass, and {other} was judged by a file of the evidence that is not the case this harness carries; \
         verify it with a harness that carries that one"
    ))
}

/// Whether a file or folder at hand is one that the run says it launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArtifactCompared {
    /// The file or folder, as it was named.
    pub path: String,
    /// Its digest now.
    pub sha256: String,
    /// The path that the run launched it by; absent where it launched nothing with this digest.
    pub launched_as: Option<String>,
}

/// Compares a file or folder with the digests of what was launched.
pub fn compare_artifact(path: &Path, about: Option<&About>) -> std::io::Result<ArtifactCompared> {
    let sha256 = digest::sha256_tree(path)?;
    let artifacts = about.map_or(&[][..], |about| about.artifacts.as_slice());
    let same = artifacts
        .iter()
        .find(|artifact| artifact.sha256.as_ref() == Some(&sha256));
    Ok(ArtifactCompared {
        path: path.display().to_string(),
        launched_as: same.map(|artifact| artifact.path.clone()),
        sha256,
    })
}

/// What evidence alone cannot show.
pub const NOT_SHOWN: &str = "that the run took place: whoever can write all files can also write their \
                             digests. Run the cases yourself for that";

/// Cases by their families, so that dozens are told in a line: where it is a whole family, by its name alone.
pub fn by_families(ids: &[String]) -> String {
    let family_of = |id: &str| Catalogue::embedded().get(id).map(|case| case.family.as_str());
    let mut families: Vec<Option<&str>> = Vec::new();
    for id in ids {
        let family = family_of(id);
        if !families.contains(&family) {
            families.push(family);
        }
    }
    // What this harness does not carry belongs to no family that it knows.
    families.sort_by_key(Option::is_none);
    let told = families.into_iter().map(|family| {
        let names: Vec<&str> = ids
            .iter()
            .map(String::as_str)
            .filter(|id| family_of(id) == family)
            .collect();
        let Some(family) = family else {
            return format!("and {}", names.join(", "));
        };
        let all = Catalogue::embedded()
            .all()
            .into_iter()
            .filter(|case| case.family == family);
        if names.len() > 1 && names.len() == all.count() {
            format!("all {} of {family}", names.len())
        } else {
            format!("{} of {family} ({})", names.len(), names.join(", "))
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// What the evidence of a run does not show, a sentence each.
pub fn not_shown(about: Option<&About>) -> Vec<String> {
    let mut told = vec![NOT_SHOWN.to_owned()];
    if let Some(about) = about.filter(|about| !about.not_tested.is_empty()) {
        let cases = counted(about.not_tested.len(), "case", "cases");
        told.push(format!(
            "anything of the {cases} that were not asked for: {}",
            by_families(&about.not_tested)
        ));
    }
    told
}
