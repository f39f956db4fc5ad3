//! What came of comparing a run with its baseline, for people.

use super::printer::{Printer, Style, plain, span};
use crate::baseline::{BaselineReport, Change, ChangeKind, EntryOutcome, EntryReport};
use crate::record::Verdict;

/// Prints what is listed, what differs, and what to do about it. Entries of cases that were not asked for are left out, unless
/// their date has passed.
pub fn show_baseline(printer: &mut Printer, report: &BaselineReport) {
    let file = report.expected_failures.as_deref().unwrap_or_default();
    for entry in &report.entries {
        show_entry(printer, file, entry);
    }
    for name in &report.unexpected {
        let text = format!("{name} fails, and {file} does not list it");
        line(printer, Style::Bad, "UNEXPECTED", &text);
    }
    let file = report.expected.as_deref().unwrap_or_default();
    for change in &report.changes {
        show_change(printer, file, change, report.is_kept);
    }
    let text = match report.not_run.as_slice() {
        [] => return,
        [case] => format!("{case}, which {file} has, was not run"),
        cases => format!("{} cases of {file} were not run", cases.len()),
    };
    line(printer, Style::Dim, "not compared", &text);
}

fn show_entry(printer: &mut Printer, file: &str, report: &EntryReport) {
    let entry = &report.entry;
    let place = format!("{file}:{}", entry.line);
    let name = entry.name();
    let told = match report.outcome {
        EntryOutcome::Fails => Some((
            Style::Odd,
            "expected",
            format!("{name} fails, as {place} says{}", why(report)),
        )),
        EntryOutcome::Passes => Some((
            Style::Bad,
            "STALE",
            format!("{name} does not fail, although {place} lists it: take the line out"),
        )),
        EntryOutcome::NotTested => Some((
            Style::Dim,
            "not tested",
            format!("{name}, which {place} lists{}", why(report)),
        )),
        EntryOutcome::NotRun => None,
    };
    if let Some((style, label, text)) = told {
        line(printer, style, label, &text);
    }
    if report.past_its_date {
        let until = entry.until.as_deref().unwrap_or_default();
        let not_run = match report.outcome {
            EntryOutcome::NotRun => ", and was not run",
            EntryOutcome::Fails | EntryOutcome::Passes | EntryOutcome::NotTested => "",
        };
        let text = format!("{name} was to fail until {until} ({place}){not_run}: mend it, or agree on another date");
        line(printer, Style::Bad, "PAST DATE", &text);
    }
}

/// The reason, the issue and the date, as far as the entry has them.
fn why(report: &EntryReport) -> String {
    let entry = &report.entry;
    let until = entry.until.as_ref().map(|until| format!("until {until}"));
    let more: Vec<String> = entry.issue.clone().into_iter().chain(until).collect();
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(" ({})", more.join(", "))
    };
    match &entry.reason {
        Some(reason) => format!(": {reason}{more}"),
        None => more,
    }
}

fn show_change(printer: &mut Printer, file: &str, change: &Change, is_kept: bool) {
    let case = &change.case;
    let is = change.is.map_or("not run", Verdict::name);
    let was = change.was.map_or("not there", Verdict::name);
    let (keep, add) = if is_kept {
        ("which the file says now".to_owned(), "which it says now".to_owned())
    } else {
        (
            format!("keep it with --write-expected {file}"),
            format!("add it with --write-expected {file}"),
        )
    };
    let (style, label, text) = match change.kind {
        ChangeKind::Regression => (
            Style::Bad,
            "REGRESSED",
            format!("{case} was {was}, and is {is} ({file})"),
        ),
        ChangeKind::Improvement => (
            Style::Good,
            "improved",
            format!("{case} was {was}, and is {is}: {keep}"),
        ),
        ChangeKind::New => (
            Style::Dim,
            "new",
            format!("{case} is {is}, and {file} does not have it: {add}"),
        ),
    };
    line(printer, style, label, &text);
}

fn line(printer: &mut Printer, style: Style, label: &str, text: &str) {
    printer.line(&[span(style, format!("{label:<13}")), plain(text)]);
}
