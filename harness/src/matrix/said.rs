//! What a stored matrix says beside its rows: what is wrong, and the exit code that follows from it. Pure.
//!
//! What is wrong with the list of defects is the runner's word, as the list is; everything else follows from the runs.

use super::{Again, CutShort, Kill, Problem, Proof, Row};
use crate::record::RunState;

/// How the problems and the exit code of a matrix differ from what the runs come to: `must` are the problems that follow from
/// them, `baseline` is the run without a defect.
pub(super) fn differences(proof: &Proof, must: &[Problem], baseline: &Again) -> Vec<String> {
    let silent = must.iter().filter(|problem| !is_said(problem, proof));
    let mut found: Vec<String> = silent
        .map(|problem| format!("it does not say that {problem}"))
        .collect();
    // A proof that was cut off may tell what a case came to that was judged once more afterwards.
    if proof.state == RunState::Finished {
        let follows = |said: &&String| may_be_said(said, must, proof, baseline);
        let invented = proof.problems.iter().filter(|said| !follows(said));
        found.extend(invented.map(|said| format!("it says that {said}, and nothing of the runs shows that")));
    }
    found.extend(ending(proof));
    found
}

/// Why a run could not be made is told in words that nothing implies; that it could not is all that is asked for.
fn is_said(problem: &Problem, proof: &Proof) -> bool {
    let not_run = |on: &str| proof.problems.iter().any(|said| is_of(said, on));
    let is_listed = proof.problems.contains(&problem.to_string());
    match problem {
        Problem::NotRun { on, .. } => not_run(on),
        Problem::NotKilled { defect, .. } => is_listed || not_run(defect),
        Problem::NoDefect
        | Problem::BaselineNotGreen { .. }
        | Problem::NamesNone { .. }
        | Problem::Unknown { .. }
        | Problem::NotAbout { .. }
        | Problem::Lonely { .. } => is_listed,
    }
}

/// Whether a sentence tells why the run on this server could not be made.
fn is_of(said: &str, on: &str) -> bool {
    said.strip_prefix(on).is_some_and(|rest| rest.starts_with(": "))
}

/// Whether a problem follows from the runs, or from a list of defects that fits to them.
fn may_be_said(said: &str, must: &[Problem], proof: &Proof, baseline: &Again) -> bool {
    let is_one = |problem: &Problem| said == problem.to_string();
    let is_baseline_not_run = |problem: &Problem| problem.not_run_on().is_some_and(|on| is_of(said, on));
    let is_nothing_planted = proof.defects.is_empty() && proof.not_begun.is_empty();
    must.iter()
        .any(|problem| is_one(problem) || is_baseline_not_run(problem))
        || proof.defects.iter().any(|row| is_not_run(said, row))
        || (is_nothing_planted && is_one(&Problem::NoDefect))
        || is_lonely(said, proof)
        || is_wrong_in_the_list(said, proof, baseline)
}

fn is_not_run(said: &str, row: &Row) -> bool {
    match &row.cut_short {
        Some(CutShort::NotRun { reason }) => {
            let (on, reason) = (row.defect.clone(), reason.clone());
            said == Problem::NotRun { on, reason }.to_string()
        }
        Some(CutShort::Unfinished) | None => false,
    }
}

/// Whether it is said of a case that no defect has to be noticed by it, and no row says otherwise.
fn is_lonely(said: &str, proof: &Proof) -> bool {
    let Some(case) = said.split('`').nth(1) else {
        return false;
    };
    let lonely = Problem::Lonely { case: case.to_owned() };
    let mut kills = proof.defects.iter().flat_map(|row| &row.kills);
    said == lonely.to_string() && kills.all(|kill| kill.kill.case != case)
}

/// Whether it is said that a defect names what is not there, and the cases of the runs do not have it.
fn is_wrong_in_the_list(said: &str, proof: &Proof, baseline: &Again) -> bool {
    let mut names = said.split('`').skip(1).step_by(2);
    let (Some(defect), Some(Ok(kill))) = (names.next(), names.next().map(str::parse::<Kill>)) else {
        return false;
    };
    let planted = proof.defects.iter().map(|row| &row.defect);
    let mut listed = planted.chain(&proof.not_begun).chain(&proof.left_out);
    let case = baseline.cases.iter().find(|case| case.id == kill.case);
    let check = case.and_then(|case| case.checks.iter().find(|check| check.id == kill.check));
    let unknown = |what: &'static str| Problem::Unknown {
        defect: defect.to_owned(),
        kill: kill.clone(),
        what,
    };
    let not_about = Problem::NotAbout {
        defect: defect.to_owned(),
        kill: kill.clone(),
    };
    let is_it = (case.is_none() && said == unknown("case").to_string())
        || (check.is_none() && said == unknown("check").to_string())
        || (check.is_none_or(|check| !check.about) && said == not_about.to_string());
    is_it && listed.any(|name| name == defect)
}

/// The exit code follows from the state and the problems, and what came to its end leaves nothing.
fn ending(proof: &Proof) -> Option<String> {
    let is_left = !proof.not_begun.is_empty() || proof.defects.iter().any(Row::is_unfinished);
    if proof.state == RunState::Finished && is_left && proof.problems.is_empty() {
        return Some("it says that it came to its end, and that there are defects which it did not come to".to_owned());
    }
    let fits = match proof.state {
        RunState::Running => proof.exit.is_none(),
        RunState::Interrupted => proof.exit == Some(130),
        RunState::Finished => proof.exit == Some(finished_with(proof)),
    };
    (!fits).then(|| "its exit code does not follow from its state and its problems".to_owned())
}

/// A run that could not be made says nothing against the cases; everything else does.
fn finished_with(proof: &Proof) -> u8 {
    let is_not_run =
        |said: &String| is_of(said, Problem::ON_BASELINE) || proof.defects.iter().any(|row| is_not_run(said, row));
    match proof.problems.as_slice() {
        [] => 0,
        problems if problems.iter().all(is_not_run) => 3,
        _ => 1,
    }
}
