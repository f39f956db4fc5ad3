//! How a proof is printed: a bar while it is made, then a line for each defect, and everything that is wrong.

use crate::conduct::{Progress, Proving};
use crate::counted::counted;
use crate::matrix::{Proof, Row};
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

/// The matrix; and what else could be proved, as commands with the number of their defects.
pub(super) fn end(matrix: &Proof, others: &[(String, usize)], printer: &mut Printer) {
    let passed = matrix
        .baseline
        .values()
        .filter(|verdict| **verdict == Verdict::Pass)
        .count();
    printer.line(&[
        span(Style::Bold, "baseline  "),
        plain(format!(
            "{passed} of {} without a defect",
            counted(matrix.cases.len(), "case passes", "cases pass")
        )),
    ]);
    let width = matrix.defects.iter().map(|row| row.defect.len()).max().unwrap_or(0);
    for row in &matrix.defects {
        defect(row, width, printer);
    }
    if !matrix.left_out.is_empty() {
        let text = format!("none of these cases has to notice {}", matrix.left_out.join(", "));
        printer.line(&[span(Style::Dim, "left out  "), plain(text)]);
    }
    for problem in &matrix.problems {
        printer.line(&[span(Style::Bad, "PROBLEM   "), plain(problem.as_str())]);
    }
    printer.blank();
    printer.line(&[span(Style::Bold, "evidence  "), plain(matrix.evidence.as_str())]);
    let (named, happened) = matrix.kills();
    let (word, style) = if matrix.state == RunState::Interrupted {
        ("INTERRUPTED", Style::Odd)
    } else if matrix.problems.is_empty() {
        ("PROVED", Style::Good)
    } else {
        ("NOT PROVED", Style::Bad)
    };
    printer.line(&[
        span(Style::Bold, "result    "),
        span(style, word),
        plain(format!(
            "  {happened} of {} by {} in {} on {}",
            counted(named, "named kill", "named kills"),
            counted(matrix.defects.len(), "defect", "defects"),
            counted(matrix.cases.len(), "case", "cases"),
            matrix.target
        )),
    ]);
    for (command, defects) in others {
        let text = format!("{command} ({})", counted(*defects, "defect", "defects"));
        printer.line(&[span(Style::Dim, format!("other     {text}"))]);
    }
}

fn defect(row: &Row, width: usize, printer: &mut Printer) {
    let is_noticed = !row.kills.is_empty() && row.kills.iter().all(crate::matrix::NamedKill::happened);
    let (word, style) = if is_noticed {
        ("NOTICED", Style::Good)
    } else {
        ("UNNOTICED", Style::Bad)
    };
    let kills: Vec<String> = row.kills.iter().map(|kill| kill.kill.to_string()).collect();
    printer.line(&[
        span(style, format!("{word:<10}")),
        span(Style::Bold, format!("{:<width$}", row.defect)),
        plain(format!("  {}", kills.join(", "))),
        span(Style::Dim, format!("  {} ms", row.micros.div_ceil(1000))),
    ]);
    if !row.collateral.is_empty() {
        let text = format!("          also broken: {}", row.collateral.join(", "));
        printer.line(&[span(Style::Dim, text)]);
    }
}
