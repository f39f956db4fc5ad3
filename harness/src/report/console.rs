//! A run for people: the target first and last, a line for each case, and for one that does not pass everything that is
//! needed to believe it.

use super::baseline::show_baseline;
use super::missing::{Lacking, show_missing};
use super::origin::made_by;
use super::printer::{Printer, Span, Style, plain, span};
use super::result::{CaseReport, ControlReport, RunReport, RunTotals, TargetReport};
use super::{offer, summary};
use crate::case::Case;
use crate::readback::Selector;
use crate::record::{CheckOutcome, CheckResult, RowOrigin, Verdict};
use crate::shell_word::quoted;

/// Indent of everything that belongs to a case.
const INDENT: &str = "      ";

/// How many rows of one operation are shown.
const ROWS_SHOWN_MAX: usize = 10;

/// Says what is tested, before anything is.
pub fn show_target(printer: &mut Printer, target: &TargetReport) {
    printer.line(&[span(Style::Bold, "target    "), plain(target.line())]);
    if let Some(note) = target.note {
        printer.line(&[span(Style::Dim, format!("          {note}"))]);
    }
}

/// Says how the server introduced itself, and what of the profile does not fit it.
pub fn show_server(printer: &mut Printer, report: &RunReport) {
    if let Some(server) = &report.target.server {
        let name = server.name.as_deref().unwrap_or("a server without a name");
        let version = server
            .version
            .as_deref()
            .filter(|version| !version.is_empty())
            .unwrap_or("without a version");
        printer.line(&[plain(format!("          {name} {version}, MCP {}", server.protocol))]);
    }
    for warning in &report.warnings {
        printer.line(&[span(Style::Odd, "warning   "), plain(warning.as_str())]);
    }
}

/// Says where the effect was found.
pub fn show_effect(printer: &mut Printer, selector: &Selector) {
    let found = match selector {
        Selector::Places { places, .. } if places.one().count() > 1 => {
            let places = places.one().count();
            format!("found by marker in {places} places that grow alike: {selector}")
        }
        Selector::Sql { .. } | Selector::Files(_) | Selector::Places { .. } => format!("found by marker: {selector}"),
    };
    printer.line(&[span(Style::Bold, "effects   "), plain(found)]);
}

/// Says what one case came to.
pub fn show_case(printer: &mut Printer, case: &Case, report: &CaseReport, control: Option<&ControlReport>) {
    // What is missing is summed up at the end, unless somebody asked for this very case.
    if report.verdict.verdict == Verdict::Unsupported && !report.named {
        return;
    }
    if let Some(control) = control {
        show_control(printer, case, control, report);
        return;
    }
    show_case_line(printer, report);
    if report.verdict.verdict == Verdict::Unsupported {
        return show_reason(printer, report);
    }
    if report.blocked {
        // Why is said at the control.
        printer.line(&[plain(format!(
            "{INDENT}it was not run, because the control did not pass"
        ))]);
        return;
    }
    let warned = report
        .verdict
        .checks
        .iter()
        .any(|check| check.outcome == CheckOutcome::Warning);
    if report.verdict.verdict != Verdict::Pass || warned {
        show_trouble(printer, case, report);
    }
    if report.named || report.verdict.verdict != Verdict::Pass {
        show_summary(printer, case, report);
    }
    show_remarks(printer, report);
    if report.verdict.verdict != Verdict::Pass {
        show_next(printer, case, report);
    }
}

/// A line for each case that was told at length before, and that is no control.
pub fn show_case_lines(printer: &mut Printer, report: &RunReport) {
    let is_control = |case: &CaseReport| report.control.as_ref().is_some_and(|it| it.case == case.verdict.case);
    let is_listed =
        |case: &&CaseReport| !is_control(case) && (case.named || case.verdict.verdict != Verdict::Unsupported);
    let lines: Vec<&CaseReport> = report.cases.iter().filter(is_listed).collect();
    if !lines.is_empty() {
        printer.blank();
    }
    for case in lines {
        show_case_line(printer, case);
    }
}

fn show_case_line(printer: &mut Printer, report: &CaseReport) {
    let (word, style) = word(report.verdict.verdict);
    let number = report.number.map_or(String::new(), |number| format!(" ({number:02})"));
    printer.line(&[
        span(style, format!("{word:<13}")),
        span(
            Style::Bold,
            format!("{}/{}{number}", report.family, report.verdict.case),
        ),
        plain(format!("  {}", report.title)),
        span(Style::Dim, format!("  {} ms", millis(report.micros))),
    ]);
}

fn show_control(printer: &mut Printer, case: &Case, control: &ControlReport, report: &CaseReport) {
    // The case that asks for it lacks the same surfaces, and says so.
    if control.verdict == Verdict::Unsupported && !report.requested {
        return;
    }
    show_control_line(printer, control);
    match control.verdict {
        Verdict::Pass => show_warnings(printer, report),
        Verdict::Unsupported => show_reason(printer, report),
        Verdict::Fail | Verdict::Unguarded | Verdict::Inconclusive => {
            show_trouble(printer, case, report);
            show_summary(printer, case, report);
            if let Some(elsewhere) = &report.elsewhere {
                printer.line(&[
                    span(Style::Dim, format!("{INDENT}{:<14}", "elsewhere")),
                    plain(elsewhere.as_str()),
                ]);
            }
            show_remarks(printer, report);
            show_next(printer, case, report);
        }
    }
}

/// What the control showed, in a line.
pub fn show_control_line(printer: &mut Printer, control: &ControlReport) {
    let counts: Vec<String> = control.counts.iter().map(ToString::to_string).collect();
    let copy = if control.doctored {
        " (the server keeps one of a kind, so a second one was seen on a copy of its store with every row doubled)"
    } else {
        ""
    };
    let text = match control.verdict {
        Verdict::Pass => format!("{}: the read-back counted {}{copy}", control.case, counts.join(", ")),
        Verdict::Fail | Verdict::Unguarded | Verdict::Unsupported | Verdict::Inconclusive => {
            let counted = if counts.is_empty() {
                String::new()
            } else {
                format!("; it counted {}", counts.join(", "))
            };
            format!("{}: {}{counted}", control.case, control.verdict.name())
        }
    };
    printer.line(&[span(Style::Bold, "control   "), plain(text)]);
}

fn show_summary(printer: &mut Printer, case: &Case, report: &CaseReport) {
    for (label, text) in summary::lines(case, report) {
        printer.line(&[
            span(Style::Dim, format!("{INDENT}{}", summary::padded(&label))),
            plain(text),
        ]);
    }
}

fn show_remarks(printer: &mut Printer, report: &CaseReport) {
    show_warnings(printer, report);
    for text in &report.verdict.notes {
        printer.line(&[
            span(Style::Dim, format!("{INDENT}{:<14}", "note")),
            plain(text.as_str()),
        ]);
    }
}

fn show_warnings(printer: &mut Printer, report: &CaseReport) {
    for text in &report.verdict.warnings {
        printer.line(&[
            span(Style::Odd, format!("{INDENT}{:<14}", "warning")),
            plain(text.as_str()),
        ]);
    }
}

fn show_reason(printer: &mut Printer, report: &CaseReport) {
    if let Some(reason) = &report.verdict.reason {
        printer.line(&[plain(format!("{INDENT}{reason}"))]);
    }
}

/// What was expected and found, whose promise it is, and the rows with the frames that made them.
fn show_trouble(printer: &mut Printer, case: &Case, report: &CaseReport) {
    let troubling = |check: &&CheckResult| match check.outcome {
        CheckOutcome::Broken | CheckOutcome::Unguarded | CheckOutcome::Warning | CheckOutcome::Inconclusive => true,
        CheckOutcome::Held | CheckOutcome::Noted | CheckOutcome::NotApplicable | CheckOutcome::NotJudged => false,
    };
    let broken: Vec<&CheckResult> = report.verdict.checks.iter().filter(troubling).collect();
    if report.verdict.verdict == Verdict::Inconclusive {
        return show_obstacle(printer, report, &broken);
    }
    // What the case is about is shown in full; what merely came with it, by name.
    let (about, collateral): (Vec<&CheckResult>, Vec<&CheckResult>) = broken.iter().partition(|check| check.about);
    let (shown, named) = if about.is_empty() {
        (collateral, Vec::new())
    } else {
        (about, collateral)
    };
    for check in shown {
        show_check(printer, check);
    }
    show_names(printer, &named);
    show_rows(printer, case, &report.verdict.rows);
}

/// What kept us from testing. Checks that broke because of it are named only, where they are not the reason.
fn show_obstacle(printer: &mut Printer, report: &CaseReport, broken: &[&CheckResult]) {
    let reason = report.verdict.reason.as_deref().unwrap_or_default();
    let is_reason = |check: &CheckResult| reason.starts_with(&format!("{}: ", check.id));
    let (shown, named): (Vec<&CheckResult>, Vec<&CheckResult>) = broken.iter().partition(|check| is_reason(check));
    if shown.is_empty() {
        return show_reason(printer, report);
    }
    for check in shown {
        show_check(printer, check);
    }
    show_names(printer, &named);
}

fn show_names(printer: &mut Printer, checks: &[&CheckResult]) {
    if !checks.is_empty() {
        let names: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        printer.line(&[span(Style::Dim, format!("{INDENT}also broken: {}", names.join(", ")))]);
    }
}

fn show_check(printer: &mut Printer, check: &CheckResult) {
    let say = check.say.as_deref().unwrap_or("it is not as the case expects");
    printer.line(&[
        plain(INDENT),
        span(Style::Bold, check.id.as_str()),
        plain(format!(": {say}")),
    ]);
    for finding in &check.findings {
        let instead = || {
            finding
                .instead
                .clone()
                .unwrap_or_else(|| "nothing of the kind".to_owned())
        };
        let found = finding.found.as_ref().map_or_else(instead, ToString::to_string);
        printer.line(&[plain(format!(
            "{INDENT}  {}: expected {}, found {found}",
            finding.path, finding.expected
        ))]);
    }
    if let Some(whose) = &check.whose {
        printer.line(&[plain(format!("{INDENT}  promise: {whose}"))]);
    }
}

fn show_rows(printer: &mut Printer, case: &Case, rows: &[RowOrigin]) {
    for (index, origin) in rows.iter().enumerate().take(ROWS_SHOWN_MAX) {
        let cells: Vec<String> = origin
            .row
            .iter()
            .map(|(column, value)| format!("{column}={value}"))
            .collect();
        let made_by = made_by(origin, Some(case), |frame| {
            format!("{} (frame {})", frame.step, frame.seq)
        });
        printer.line(&[
            span(Style::Dim, format!("{INDENT}row {:<10}", index + 1)),
            plain(cells.join("  ")),
            span(Style::Bold, format!("  made by {made_by}")),
        ]);
    }
    if rows.len() > ROWS_SHOWN_MAX {
        printer.line(&[plain(format!("{INDENT}and {} rows more", rows.len() - ROWS_SHOWN_MAX))]);
    }
}

fn show_next(printer: &mut Printer, case: &Case, report: &CaseReport) {
    let mut line = |label: &str, text: &str| {
        printer.line(&[span(Style::Dim, format!("{INDENT}{label:<14}")), plain(text)]);
    };
    let run = report.record.strip_suffix(&format!("/cases/{}/record.jsonl", case.id));
    line(
        "frames",
        &format!("harness show {} {}", quoted(run.unwrap_or("latest")), case.id),
    );
    line("repeat", &report.repeat);
    let explain = match &report.case_file {
        Some(file) => format!("harness explain --case-file {}", quoted(file)),
        None => format!("harness explain {}", case.id),
    };
    line("explain", &explain);
}

/// Says where the evidence is, and last what the run came to and on which target.
pub fn show_end(printer: &mut Printer, report: &RunReport) {
    if let Some(reason) = &report.did_not_start {
        printer.line(&[span(Style::Odd, "DID NOT START"), plain(format!("  {reason}"))]);
        for line in &report.last_words {
            printer.line(&[
                span(Style::Dim, format!("{INDENT}stderr        ")),
                plain(line.as_str()),
            ]);
        }
        if let Some(hint) = &report.hint {
            printer.line(&[
                span(Style::Dim, format!("{INDENT}hint          ")),
                plain(hint.as_str()),
            ]);
        }
    }
    if let Some(reason) = &report.blind {
        printer.line(&[span(Style::Odd, "INCONCLUSIVE "), plain(reason.as_str())]);
    }
    if let Some(frames) = &report.frames {
        printer.line(&[
            span(Style::Dim, format!("{INDENT}{:<14}", "frames")),
            plain(frames.as_str()),
        ]);
    }
    let lacks_write = CaseReport::lacks_write;
    if let Some(tools) = &report.tools {
        offer::show_tools(printer, tools, report.next.as_deref());
    } else {
        show_missing(printer, &report.target, &Lacking::of_report(report));
        if report.cases.iter().any(lacks_write) {
            let text = "name its write with --write and --store, or describe the server in a target.toml";
            printer.line(&[span(Style::Dim, format!("{INDENT}hint          ")), plain(text)]);
        }
    }
    if let Some(baseline) = &report.baseline {
        show_baseline(printer, baseline);
    }
    if !report.not_begun.is_empty() {
        printer.line(&[span(Style::Dim, "not begun "), plain(report.not_begun.join(", "))]);
    }
    printer.blank();
    if let Some(reason) = report.exit_reason {
        printer.line(&[
            span(Style::Bold, "exit      "),
            plain(format!("{}: {reason}", report.exit)),
        ]);
    }
    printer.line(&[span(Style::Bold, "evidence  "), plain(report.evidence.as_str())]);
    printer.line(&totals(report));
}

fn totals(report: &RunReport) -> Vec<Span> {
    let RunTotals {
        pass,
        fail,
        unguarded,
        unsupported,
        inconclusive,
    } = report.totals;
    let counted = [
        (pass, "passed", Style::Good),
        (fail, "failed", Style::Bad),
        (unguarded, "unguarded", Style::Odd),
        (unsupported, "unsupported", Style::Dim),
        (inconclusive, "inconclusive", Style::Odd),
    ];
    let mut spans = vec![span(Style::Bold, "result    ")];
    for (count, what, style) in counted {
        if count > 0 {
            if spans.len() > 1 {
                spans.push(plain(", "));
            }
            spans.push(span(style, format!("{count} {what}")));
        }
    }
    // Before a write is named it says nothing of the server how many cases there are.
    if report.names_no_write() {
        spans.truncate(1);
        spans.push(span(Style::Odd, "nothing was tested"));
    } else if spans.len() == 1 {
        spans.push(span(Style::Odd, "nothing was run"));
    }
    let expected = report.cases.iter().filter(|case| case.requested && case.is_expected());
    match expected.count() {
        0 => {}
        count => spans.push(plain(format!(" ({count} as expected)"))),
    }
    spans.push(plain(format!(" on {}", report.target.line())));
    spans
}

pub(super) fn word(verdict: Verdict) -> (&'static str, Style) {
    match verdict {
        Verdict::Pass => ("PASS", Style::Good),
        Verdict::Fail => ("FAIL", Style::Bad),
        Verdict::Unguarded => ("UNGUARDED", Style::Odd),
        Verdict::Unsupported => ("UNSUPPORTED", Style::Dim),
        Verdict::Inconclusive => ("INCONCLUSIVE", Style::Odd),
    }
}

pub(super) fn millis(micros: u64) -> u64 {
    micros.div_ceil(1000)
}
