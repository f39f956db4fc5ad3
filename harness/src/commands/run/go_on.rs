//! What is said at the end of a run that was interrupted: where it is, what was not begun, and the command for the rest.

use std::collections::BTreeSet;

use super::{Asked, RunArguments, repeat_words};
use crate::commands::target_arguments::quoted;
use crate::judge::INTERRUPTED;
use crate::report::RunReport;

/// The cases that were asked for, and of which the run has nothing.
pub(super) fn not_begun(requested: &[String], report: &RunReport) -> Vec<String> {
    let begun: BTreeSet<&str> = report.cases.iter().map(|case| case.verdict.case.as_str()).collect();
    let left = requested.iter().filter(|id| !begun.contains(id.as_str()));
    left.cloned().collect()
}

/// The command for what an interrupted run has not come to the end of. Its evidence is sealed, so nothing can be added to it.
pub(super) fn left(arguments: &RunArguments, asked: &Asked<'_>, report: &RunReport) -> String {
    let is_cut_off = |id: &&String| {
        let mut cases = report.cases.iter().filter(|case| case.verdict.case == **id);
        cases.all(|case| {
            let reason = case.verdict.reason.as_deref().unwrap_or_default();
            reason.contains(INTERRUPTED)
        })
    };
    let left: Vec<&String> = asked.requested.iter().filter(is_cut_off).collect();
    if left.is_empty() || left.len() == asked.requested.len() {
        return again(arguments);
    }
    let embedded: Vec<&str> = (left.iter())
        .filter(|id| asked.catalogue.file_of(id).is_none())
        .map(|id| id.as_str())
        .collect();
    let mut words = Vec::new();
    if !embedded.is_empty() {
        words.push(format!("--case {}", embedded.join(",")));
    }
    // A control of a case of one's own may stand in any of these files.
    if embedded.len() < left.len() {
        words.extend(case_files(arguments));
    }
    words.extend(more_words(arguments));
    told("to run what is left", &words)
}

/// Where the evidence is, and the command that runs all of it again: for a run that nobody could seal.
pub(super) fn when_cut_short(arguments: &RunArguments, evidence: &str) -> String {
    let shown = quoted(evidence);
    format!(
        "it is in {evidence}; harness show {shown} shows it\n{}",
        again(arguments)
    )
}

fn again(arguments: &RunArguments) -> String {
    let mut words = Vec::new();
    for (flag, values) in [("--case", &arguments.cases), ("--skip", &arguments.skip)] {
        if !values.is_empty() {
            words.push(format!("{flag} {}", quoted(&values.join(","))));
        }
    }
    words.extend(case_files(arguments));
    words.extend(more_words(arguments));
    told("to run it again", &words)
}

fn told(what: &str, words: &[String]) -> String {
    format!("{what}: harness run {}", words.join(" ")).trim_end().to_owned()
}

fn case_files(arguments: &RunArguments) -> impl Iterator<Item = String> {
    let files = arguments.case_files.iter();
    files.map(|path| format!("--case-file {}", quoted(&path.display().to_string())))
}

/// How it was run, whatever the cases; the words of the server come last.
fn more_words(arguments: &RunArguments) -> Vec<String> {
    let jobs = arguments.jobs.map(|jobs| format!("--jobs {jobs}"));
    let rest = Some(repeat_words(arguments, None)).filter(|words| !words.is_empty());
    jobs.into_iter()
        .chain(arguments.baseline.repeat_words())
        .chain(rest)
        .collect()
}
