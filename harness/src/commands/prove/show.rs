//! How a proof is printed: a bar while it is made, then a line for each defect, and everything that is wrong.

use std::collections::BTreeMap;

use super::super::target_arguments::quoted;
use crate::conduct::{Progress, Proving};
use crate::counted::counted;
use crate::matrix::{BASELINE, CutShort, Proof, Row};
use crate::record::{RunState, Verdict};
use crate::report::{Printer, Style, plain, span};

/// How long the bar is, in characters.
const BAR_CHARS: usize = 24;

/// The first line.
pub(super) fn begin(target: &str, printer: &mut Printer) {
    printer.line(&[span(Style::Bold, "target    "), plain(target)]);
}

/// What is being done.
pub(super) fn progress(proving: &Proving<'_>, is_human: bool, printer: &mut Printer) {
    match proving {
        Proving::Baseline(Progress::Running(running)) => {
            printer.progress(&bar(running.done, running.all, "cases without a defect", &[]));
        }
        Proving::Baseline(Progress::Warning(text)) if is_human => {
            printer.line(&[span(Style::Odd, "warning   "), plain(*text)]);
        }
        Proving::Baseline(
            Progress::Begins(_)
            | Progress::Probed(_)
            | Progress::EffectFound(_)
            | Progress::Warning(_)
            | Progress::CaseJudged(..),
        )
        | Proving::Known(_) => {}
        Proving::Defects { done, all, running } => printer.progress(&bar(*done, *all, "defects", running)),
    }
}

fn bar(done: usize, all: usize, what: &str, running: &[&str]) -> String {
    let filled = (done * BAR_CHARS).checked_div(all).unwrap_or_default();
    let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR_CHARS - filled));
    format!("[{bar}] {done} of {all} {what}  {}", running.join(", "))
}

/// What there is to be told at the end, beside the matrix.
pub(super) struct Ending<'a> {
    /// What keeps the matrix from being a proof.
    pub(super) problems: &'a [String],
    /// The last lines of servers that did not start, by the run.
    pub(super) last_words: &'a BTreeMap<String, Vec<String>>,
    /// What else could be proved, as commands with the number of their defects.
    pub(super) others: &'a [(String, usize)],
}

/// The matrix.
pub(super) fn end(matrix: &Proof, ending: &Ending<'_>, printer: &mut Printer) {
    let passed = passed(matrix);
    let cases = counted(matrix.cases.len(), "case", "cases");
    let text = match matrix.state {
        RunState::Interrupted if !is_baseline_done(matrix) => {
            format!("{passed} of {cases} passed without a defect before the interrupt")
        }
        RunState::Running | RunState::Interrupted | RunState::Finished if matrix.cases.len() == 1 => {
            format!("{passed} of {cases} passes without a defect")
        }
        RunState::Running | RunState::Interrupted | RunState::Finished => {
            format!("{passed} of {cases} pass without a defect")
        }
    };
    printer.line(&[span(Style::Bold, "baseline  "), plain(text)]);
    let last_words = |run: &str| ending.last_words.get(run).map_or(&[][..], Vec::as_slice);
    show_last_words(last_words(BASELINE), &matrix.evidence, BASELINE, printer);
    let width = matrix.defects.iter().map(|row| row.defect.len()).max().unwrap_or(0);
    for row in &matrix.defects {
        defect(row, width, printer);
        show_last_words(last_words(&row.defect), &matrix.evidence, &row.defect, printer);
    }
    let is_cut_off = matrix.state == RunState::Interrupted;
    if is_cut_off && is_baseline_done(matrix) && !matrix.not_begun.is_empty() {
        printer.line(&[span(Style::Dim, "not begun "), plain(matrix.not_begun.join(", "))]);
    }
    if !matrix.left_out.is_empty() {
        let text = format!("none of these cases has to notice {}", matrix.left_out.join(", "));
        printer.line(&[span(Style::Dim, "left out  "), plain(text)]);
    }
    for problem in ending.problems {
        printer.line(&[span(Style::Bad, "PROBLEM   "), plain(problem.as_str())]);
    }
    printer.blank();
    printer.line(&[span(Style::Bold, "evidence  "), plain(matrix.evidence.as_str())]);
    let (word, style) = if is_cut_off {
        ("INTERRUPTED", Style::Odd)
    } else if matrix.problems.is_empty() {
        ("PROVED", Style::Good)
    } else {
        ("NOT PROVED", Style::Bad)
    };
    printer.line(&[
        span(Style::Bold, "result    "),
        span(style, word),
        plain(came_to(matrix)),
    ]);
    for (command, defects) in ending.others.iter().filter(|_| !is_cut_off) {
        let text = format!("{command} ({})", counted(*defects, "defect", "defects"));
        printer.line(&[span(Style::Dim, format!("other     {text}"))]);
    }
}

fn came_to(matrix: &Proof) -> String {
    let target = &matrix.target;
    if matrix.state == RunState::Interrupted && matrix.defects.is_empty() {
        return format!("  before a defect was planted on {target}");
    }
    let (named, happened) = matrix.kills();
    format!(
        "  {happened} of {} by {} in {} on {target}",
        counted(named, "named kill", "named kills"),
        counted(matrix.defects.len(), "defect", "defects"),
        counted(matrix.cases.len(), "case", "cases"),
    )
}

/// How many cases have an end of their own: one that was broken off is inconclusive.
fn ended(verdicts: &BTreeMap<String, Verdict>) -> usize {
    let ended = verdicts.values().filter(|verdict| **verdict != Verdict::Inconclusive);
    ended.count()
}

fn passed(matrix: &Proof) -> usize {
    let verdicts = matrix.baseline.values();
    verdicts.filter(|verdict| **verdict == Verdict::Pass).count()
}

fn is_baseline_done(matrix: &Proof) -> bool {
    passed(matrix) == matrix.cases.len()
}

/// What a server said that did not start, and where all of it is.
fn show_last_words(words: &[String], evidence: &str, run: &str, printer: &mut Printer) {
    for line in words {
        printer.line(&[span(Style::Dim, "          stderr    "), plain(line.as_str())]);
    }
    if !words.is_empty() {
        let folder = quoted(&format!("{evidence}/{run}"));
        let command = format!("harness show {folder} probe --stderr");
        printer.line(&[span(Style::Dim, "          all of it "), plain(command)]);
    }
}

/// What an interrupted proof has come to, for whoever wants to know whether anything is lost.
pub(super) fn kept(matrix: &Proof) -> String {
    let without = counted(ended(&matrix.baseline), "case", "cases");
    let whole = matrix.defects.iter().filter(|row| row.cut_short.is_none()).count();
    let cut_off = matrix.defects.iter().filter(|row| row.is_unfinished());
    let parts = cut_off.map(|row| {
        format!(
            "{} with `{}`",
            counted(ended(&row.verdicts), "case", "cases"),
            row.defect
        )
    });
    let whole = (whole > 0).then(|| format!("{} to the end", counted(whole, "defect", "defects")));
    let told: Vec<String> = std::iter::once(format!("{without} without a defect"))
        .chain(whole)
        .chain(parts)
        .collect();
    format!(
        "interrupted; the evidence holds what was done until then: {}",
        told.join(", ")
    )
}

/// The defects that are left for another proof; none where all of it is to be made again.
pub(super) fn left(matrix: &Proof) -> Vec<&str> {
    if is_baseline_done(matrix) {
        matrix.left()
    } else {
        Vec::new()
    }
}

fn defect(row: &Row, width: usize, printer: &mut Printer) {
    let kills: Vec<String> = row.kills.iter().map(|kill| kill.kill.to_string()).collect();
    let (word, style, text) = match &row.cut_short {
        Some(CutShort::NotRun { reason }) => ("NOT RUN", Style::Bad, reason.clone()),
        Some(CutShort::Unfinished) => ("CUT OFF", Style::Odd, row.in_words()),
        None if row.is_noticed() => ("NOTICED", Style::Good, kills.join(", ")),
        None => ("UNNOTICED", Style::Bad, kills.join(", ")),
    };
    printer.line(&[
        span(style, format!("{word:<10}")),
        span(Style::Bold, format!("{:<width$}", row.defect)),
        plain(format!("  {text}")),
        span(Style::Dim, format!("  {} ms", row.micros.div_ceil(1000))),
    ]);
    if !row.collateral.is_empty() {
        let text = format!("          also broken: {}", row.collateral.join(", "));
        printer.line(&[span(Style::Dim, text)]);
    }
}
