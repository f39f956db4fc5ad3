//! Two runs beside each other, for people.

use serde_json::Value;

use super::console::word;
use super::printer::{Printer, Style, plain, span};
use crate::counted::counted;
use crate::diff::{
    AboutDifference, CaseDiff, CheckChange, EventDifference, OnlyIn, PathDifference, RunDiff, SideReport, VerdictChange,
};
use crate::record::{CheckOutcome, PathFinding, Verdict};

/// How much of a value is shown, in characters.
const VALUE_CHARS_MAX: usize = 160;

/// How many differences of one event are shown where only the first event is.
const FIRST_PATHS_MAX: usize = 8;

/// How many cases that one run lacks are named.
const CASES_NAMED_MAX: usize = 60;

/// What is said where one run has nothing.
const NOTHING: &str = "nothing";

/// Prints two runs. `all` shows every event that differs, and not the first one alone; `again` is the command that does.
pub fn show_diff(printer: &mut Printer, diff: &RunDiff, all: bool, again: &str) {
    show_side(printer, "a", &diff.a);
    show_side(printer, "b", &diff.b);
    for about in &diff.about {
        show_about(printer, "          ", about);
    }
    for note in &diff.notes {
        printer.line(&[span(Style::Odd, "CONTRADICTS "), plain(note.as_str())]);
    }
    for change in &diff.verdicts {
        show_change(printer, change);
    }
    show_only(printer, "a", &diff.only_in_a);
    show_only(printer, "b", &diff.only_in_b);
    for case in &diff.cases {
        show_case(printer, case, all);
    }
    let first_only = diff.cases.iter().any(|case| case.events_differ > 1) && !all;
    if first_only {
        printer.blank();
        printer.line(&[span(Style::Dim, format!("every event that differs: {again} --frames"))]);
    }
    show_result(printer, diff);
}

fn show_side(printer: &mut Printer, name: &str, side: &SideReport) {
    let unsealed = if side.sealed { "" } else { ", no SHA256SUMS" };
    printer.line(&[
        span(Style::Bold, format!("{name:<10}")),
        plain(format!(
            "{}: {}, {}{unsealed}",
            side.evidence, side.target, side.started_at
        )),
    ]);
}

fn show_about(printer: &mut Printer, indent: &str, about: &AboutDifference) {
    let said = |text: &Option<String>| text.as_deref().map_or_else(|| NOTHING.to_owned(), cut);
    printer.line(&[
        plain(indent),
        span(Style::Bold, about.what.as_str()),
        plain(format!(": {} → {}", said(&about.a), said(&about.b))),
    ]);
}

fn show_change(printer: &mut Printer, change: &VerdictChange) {
    let (label, style) = change.b.map_or(("NO VERDICT", Style::Odd), word);
    let verdict = |verdict: Option<Verdict>| verdict.map_or("no verdict", Verdict::name);
    let how = if change.is_other() {
        format!("{} → {}", verdict(change.a), verdict(change.b))
    } else {
        format!("{} in both, by other checks", verdict(change.b))
    };
    printer.line(&[
        span(style, format!("{label:<12} ")),
        span(Style::Bold, change.case.as_str()),
        plain(format!("  {how}")),
    ]);
    let reasons = [("a", &change.reason_a), ("b", &change.reason_b)];
    for (side, reason) in reasons.into_iter().filter(|_| change.checks.is_empty()) {
        if let Some(reason) = reason {
            printer.line(&[plain(format!("      {side}: {}", cut(reason)))]);
        }
    }
    change.checks.iter().for_each(|check| show_check(printer, check));
}

fn show_check(printer: &mut Printer, check: &CheckChange) {
    let outcome = |outcome: Option<CheckOutcome>| outcome.map_or("not there", CheckOutcome::name);
    let say = check
        .say
        .as_ref()
        .map_or(String::new(), |say| format!(": {}", cut(say)));
    printer.line(&[
        plain("      "),
        span(Style::Bold, check.check.as_str()),
        plain(format!("  {} → {}{say}", outcome(check.a), outcome(check.b))),
    ]);
    for (side, found) in [("a", &check.found_a), ("b", &check.found_b)] {
        for finding in found {
            show_finding(printer, side, finding);
        }
    }
}

fn show_finding(printer: &mut Printer, side: &str, finding: &PathFinding) {
    let found = match (&finding.found, &finding.instead) {
        (Some(found), _) => cut(&found.to_string()),
        (None, Some(instead)) => cut(instead),
        (None, None) => NOTHING.to_owned(),
    };
    let expected = cut(&finding.expected.to_string());
    printer.line(&[plain(format!(
        "        {side}: {}: expected {expected}, found {found}",
        finding.path
    ))]);
}

fn show_only(printer: &mut Printer, side: &str, cases: &[OnlyIn]) {
    for only in cases.iter().take(CASES_NAMED_MAX) {
        let verdict = only.verdict.map_or("no verdict", Verdict::name);
        printer.line(&[
            span(Style::Odd, format!("ONLY IN {side}    ")),
            span(Style::Bold, only.case.as_str()),
            plain(format!("  {verdict}")),
        ]);
    }
    if let Some(more) = cases.len().checked_sub(CASES_NAMED_MAX + 1) {
        printer.line(&[plain(format!("             and {} more", more + 1))]);
    }
}

fn show_case(printer: &mut Printer, case: &CaseDiff, all: bool) {
    printer.blank();
    let events = match case.events_differ {
        0 => "no event differs".to_owned(),
        1 => "one event differs".to_owned(),
        count if all => format!("{count} events differ"),
        count => format!("{count} events differ; the first of them"),
    };
    printer.line(&[span(Style::Bold, case.case.as_str()), plain(format!("  {events}"))]);
    if let Some(definition) = &case.definition {
        show_about(printer, "      ", definition);
    }
    for (side, troubles) in [("a", &case.records.unread_a), ("b", &case.records.unread_b)] {
        for trouble in troubles {
            printer.line(&[
                span(Style::Odd, format!("      DAMAGED in {side}  ")),
                plain(cut(trouble)),
            ]);
        }
    }
    if all {
        case.records
            .events
            .iter()
            .for_each(|event| show_event(printer, event, usize::MAX));
        if case.records.more > 0 {
            printer.line(&[span(Style::Odd, format!("      and {} events more", case.records.more))]);
        }
    } else if let Some(first) = &case.first {
        show_event(printer, first, FIRST_PATHS_MAX);
    }
}

fn show_event(printer: &mut Printer, event: &EventDifference, paths_max: usize) {
    let number = |seq: Option<u64>| seq.map_or_else(|| "—".to_owned(), |seq| format!("[{seq}]"));
    let process = event
        .process
        .as_ref()
        .map_or(String::new(), |name| format!("{}  ", cut(name)));
    printer.line(&[span(Style::Dim, format!("      step  {}", cut(&event.step)))]);
    printer.line(&[plain(format!(
        "      {} | {}  {process}{}",
        number(event.a),
        number(event.b),
        cut(&event.what)
    ))]);
    for difference in event.differences.iter().take(paths_max) {
        show_path(printer, difference);
    }
    let left_out = event.differences.len().saturating_sub(paths_max) + event.more;
    if left_out > 0 {
        let more = counted(left_out, "difference", "differences");
        printer.line(&[span(Style::Dim, format!("          and {more} more"))]);
    }
}

fn show_path(printer: &mut Printer, difference: &PathDifference) {
    let value = |value: &Option<Value>| {
        value
            .as_ref()
            .map_or_else(|| NOTHING.to_owned(), |value| cut(&value.to_string()))
    };
    let (a, b) = (value(&difference.a), value(&difference.b));
    let path = match difference.path.as_str() {
        "" => String::new(),
        path => format!("{}: ", cut(path)),
    };
    let again = if difference.a == difference.b {
        ", which stood for something else before"
    } else {
        ""
    };
    printer.line(&[plain(format!("          {path}{a} → {b}{again}"))]);
}

fn show_result(printer: &mut Printer, diff: &RunDiff) {
    let (changed, alone) = (
        diff.verdicts.iter().filter(|change| change.is_other()).count(),
        diff.only_in_a.len() + diff.only_in_b.len(),
    );
    let both = counted(diff.cases_in_both, "case", "cases");
    let mut parts = Vec::new();
    if changed > 0 {
        parts.push(format!("{} changed", counted(changed, "verdict", "verdicts")));
    }
    if alone > 0 {
        parts.push(format!("{} in one run only", counted(alone, "case is", "cases are")));
    }
    if !diff.notes.is_empty() {
        parts.push("evidence contradicts itself".to_owned());
    }
    let is_red = !parts.is_empty();
    if !is_red {
        parts.push(format!("the same verdicts in {both}"));
    }
    let other_ways = diff.cases.len();
    if other_ways > 0 {
        parts.push(format!("{} went another way", counted(other_ways, "case", "cases")));
    } else if !is_red {
        parts.push("and nothing else that a case did differs".to_owned());
    }
    let style = if is_red { Style::Bad } else { Style::Good };
    printer.line(&[span(Style::Bold, "result    "), span(style, parts.join("; "))]);
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… +{} bytes", &text[..at], text.len() - at),
    }
}
