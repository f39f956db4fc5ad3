//! A stored matrix beside the verdicts that come out again of the evidence of its runs. Pure.
//!
//! Of a run with a defect only the cases are kept that had to notice it, and their controls. What the others came to is the
//! runner's word, and so is the list of defects.

use std::collections::{BTreeMap, BTreeSet};

use super::row::outcome;
use super::{BASELINE, CutShort, NamedKill, Planted, Problem, Proof, Ran, Row, baseline_problems, is_control, said};
use crate::case::{Case, Catalogue};
use crate::record::{CaseVerdict, CheckOutcome, RunState, Verdict};

/// One run of a proof, as it comes out again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Again {
    /// The cases of which evidence is kept, in the order of the run.
    pub cases: Vec<Case>,
    /// Every verdict, by case.
    pub verdicts: BTreeMap<String, CaseVerdict>,
    /// Whether the run says that it came to its end.
    pub finished: bool,
    /// Why it ran no case, where it ran none.
    pub nothing_run: Option<String>,
}

/// How the matrix differs from what the runs come to, by their folders.
pub fn differences(proof: &Proof, runs: &BTreeMap<String, Again>) -> Vec<String> {
    let nothing = Again::default();
    let baseline = runs.get(BASELINE).unwrap_or(&nothing);
    let mut found = columns(proof, baseline);
    found.extend(verdicts(BASELINE, &proof.baseline, baseline, true, baseline.finished));
    let mut must = must_say_of_baseline(proof, baseline);
    for row in &proof.defects {
        let again = runs.get(&row.defect).unwrap_or(&nothing);
        let now = again.row(row);
        let are_all_told = again.finished && !row.is_unfinished();
        found.extend(verdicts(&row.defect, &row.verdicts, again, false, are_all_told));
        found.extend(cut_short(proof, row, runs.get(&row.defect)));
        found.extend(kills(row, &now));
        found.extend(collateral(row, &now, again));
        must.extend(now.problems());
        must.extend(row.kills.is_empty().then(|| Problem::NamesNone {
            defect: row.defect.clone(),
        }));
    }
    found.extend(said::differences(proof, &must, baseline));
    found
}

impl Again {
    /// How many of these checks broke.
    pub fn broken(&self, kills: &[NamedKill]) -> usize {
        let outcome = |kill: &NamedKill| outcome(self.verdicts.get(&kill.kill.case)?, &kill.kill.check);
        let broken = kills.iter().filter(|kill| outcome(kill) == Some(CheckOutcome::Broken));
        broken.count()
    }

    /// What the row of a defect is by these verdicts.
    fn row(&self, stored: &Row) -> Row {
        let planted = Planted {
            name: stored.defect.clone(),
            says: stored.says.clone(),
            kills: stored.kills.iter().map(|kill| kill.kill.clone()).collect(),
        };
        let mut ran = self.ran();
        // What the run came to after the matrix was written for the last time, the matrix cannot tell.
        if stored.is_unfinished() {
            ran.verdicts.retain(|case, _| stored.verdicts.contains_key(case));
            ran.cut_short = Some(CutShort::Unfinished);
        }
        Row::of(&planted, &ran)
    }

    fn ran(&self) -> Ran {
        let not_run = self.nothing_run.clone().map(|reason| CutShort::NotRun { reason });
        Ran {
            verdicts: self.verdicts.clone(),
            cut_short: not_run.or((!self.finished).then_some(CutShort::Unfinished)),
            micros: 0,
        }
    }
}

/// The cases are those of the run without a defect, called as there.
fn columns(proof: &Proof, baseline: &Again) -> Vec<String> {
    let mut found = Vec::new();
    let listed: Vec<&str> = proof.cases.iter().map(|column| column.case.as_str()).collect();
    let run: Vec<&str> = baseline.cases.iter().map(|case| case.id.as_str()).collect();
    if baseline.finished && baseline.nothing_run.is_none() && listed != run {
        found.push(format!("its cases are not those of {BASELINE}: {}", run.join(", ")));
    }
    let known: Vec<&Case> = baseline.cases.iter().chain(Catalogue::embedded().all()).collect();
    for column in &proof.cases {
        let Some(case) = baseline.cases.iter().find(|case| case.id == column.case) else {
            continue;
        };
        if (&column.family, &column.title) != (&case.family, &case.title) {
            found.push(format!("`{}` is called otherwise in its case file", case.id));
        }
        if column.is_control != is_control(case, &known) {
            found.push(format!("it says wrongly whether `{}` is a control", case.id));
        }
    }
    found
}

/// Whether a run came to its end is said by the run itself, too. A proof that is at work, or was killed, may not know it yet.
fn cut_short(proof: &Proof, row: &Row, again: Option<&Again>) -> Option<String> {
    let again = again?;
    let is_cut_off = !again.finished;
    let mut kept = proof.runs.iter().filter(|run| run.folder == row.defect);
    let is_sealed = kept.any(|run| run.sums_sha256.is_some());
    let defect = &row.defect;
    match (&row.cut_short, proof.state) {
        (None, _) if is_cut_off => Some(format!(
            "{defect}: it does not say that its run did not come to its end"
        )),
        (Some(CutShort::Unfinished), RunState::Interrupted | RunState::Finished) if !is_cut_off => Some(format!(
            "{defect}: it says that its run did not come to its end, and that one did"
        )),
        (Some(CutShort::NotRun { .. }), _) if !is_cut_off && is_sealed && again.nothing_run.is_none() => Some(format!(
            "{defect}: it says that its run could not be made, and that one came to its end"
        )),
        (None | Some(CutShort::NotRun { .. } | CutShort::Unfinished), _) => None,
    }
}

fn verdicts(
    run: &str,
    stored: &BTreeMap<String, Verdict>,
    again: &Again,
    are_all_kept: bool,
    are_all_told: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (case, verdict) in stored {
        let says = format!("{run}: it says that `{case}` is {}", verdict.name());
        match again.verdicts.get(case) {
            Some(now) if now.verdict != *verdict => {
                found.push(format!("{says}, and judged again it is {}", now.verdict.name()));
            }
            None if are_all_kept => found.push(format!("{says}, and there is no evidence of it")),
            Some(_) | None => {}
        }
    }
    let missing = again.verdicts.keys().filter(|case| !stored.contains_key(*case));
    if are_all_told {
        found.extend(missing.map(|case| format!("{run}: it has no verdict of `{case}`")));
    }
    found
}

fn kills(stored: &Row, now: &Row) -> Vec<String> {
    let name = |outcome: Option<CheckOutcome>| outcome.map_or("not judged", CheckOutcome::name);
    let both = stored.kills.iter().zip(&now.kills);
    let different = both.filter(|(stored, now)| stored.outcome != now.outcome);
    let told = different.map(|(then, now)| {
        let (then, again) = (name(then.outcome), name(now.outcome));
        let (defect, kill) = (&stored.defect, &now.kill);
        format!("{defect}: it says that `{kill}` is {then}, and judged again it is {again}")
    });
    told.collect()
}

/// What else broke, in the cases of which evidence is kept.
fn collateral(stored: &Row, now: &Row, again: &Again) -> Option<String> {
    let is_kept = |kill: &&String| {
        let case = kill.split_once(':').map_or(kill.as_str(), |(case, _)| case);
        again.verdicts.contains_key(case)
    };
    let then: BTreeSet<&String> = stored.collateral.iter().filter(is_kept).collect();
    let now: BTreeSet<&String> = now.collateral.iter().collect();
    (then != now).then(|| {
        format!(
            "{}: other checks are broken than it says beside the named ones",
            stored.defect
        )
    })
}

/// A proof that was cut off says it by its state. It knows nothing of the case that its run was in.
fn must_say_of_baseline(proof: &Proof, baseline: &Again) -> Vec<Problem> {
    let is_finished = proof.state == RunState::Finished;
    let is_known = |case: &&Case| is_finished || proof.baseline.contains_key(&case.id);
    let cases: Vec<&Case> = baseline.cases.iter().filter(is_known).collect();
    let mut must = baseline_problems(&cases, &baseline.ran());
    if !is_finished || !must.is_empty() {
        return must;
    }
    if !baseline.finished || baseline.cases.is_empty() {
        must.push(Problem::NotRun {
            on: Problem::ON_BASELINE.to_owned(),
            reason: "it did not come to its end".to_owned(),
        });
    } else if proof.defects.is_empty() {
        must.push(Problem::NoDefect);
    }
    must
}
