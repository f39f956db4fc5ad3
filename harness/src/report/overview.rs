//! A run of the past for people: what it was, and its cases with verdict, reason and time.

use serde::Serialize;

use super::baseline::show_baseline;
use super::console::{millis, word};
use super::missing::{Lacking, show_missing};
use super::printer::{Printer, Span, Style, plain, span};
use super::result::TargetReport;
use crate::baseline::BaselineReport;
use crate::record::{CaseSummary, Run, RunState};
use crate::shell_word::quoted;

/// Indent of what belongs to a line before, under the label column.
const INDENT: &str = "          ";

/// How many damages of one record a summary names.
const TROUBLES_SHOWN_MAX: usize = 3;

/// A whole run, as far as it can be read.
#[derive(Debug, Serialize)]
pub struct RunGlance {
    /// The version of this document.
    pub format: u32,
    /// The folder.
    pub evidence: String,
    /// Whether there is a `SHA256SUMS`; without it the run is at work, or was cut off.
    pub sealed: bool,
    /// What was masked before it was handed on, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<String>,
    /// `run.json`, where it can be read.
    pub run: Option<Box<Run>>,
    /// Why it cannot.
    pub problem: Option<String>,
    /// What comes of comparing it with its baseline, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineReport>,
    /// The handshake, where it was recorded.
    pub probe: Option<Glance>,
    /// The cases, in the order in which they were run.
    pub cases: Vec<CaseGlance>,
}

/// One case of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseGlance {
    /// Its id.
    pub case: String,
    /// Its family, where its definition can be read.
    pub family: Option<String>,
    /// Its number in the original matrix.
    pub number: Option<u32>,
    /// Its title.
    pub title: Option<String>,
    /// What it came to; absent where the run did not come to that.
    pub verdict: Option<CaseSummary>,
    /// Its record; absent where the case was not begun.
    pub record: Option<Glance>,
    /// Why the record cannot be read at all, where there is one.
    pub problem: Option<String>,
    /// The surfaces that the target lacks, where it is unsupported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<&'static str>,
}

/// A record in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Glance {
    /// How many events can be read.
    pub events: usize,
    /// How many of them are frames.
    pub frames: usize,
    /// How many of these were withheld from the client.
    pub withheld: usize,
    /// The time of the latest event, in microseconds since the case began.
    pub micros: u64,
    /// The last step that was begun, in words.
    pub last_step: Option<String>,
    /// Whether the record says how the case ended.
    pub ended: bool,
    /// What is not as a record should be.
    pub troubles: Vec<String>,
}

impl RunGlance {
    /// Whether this run came to its end, or was stopped in order.
    pub(super) fn is_complete(&self) -> bool {
        self.sealed && self.run.as_ref().is_some_and(|run| run.state == RunState::Finished)
    }
}

/// Prints a run. `word` is how the user named it.
pub fn show_overview(printer: &mut Printer, glance: &RunGlance, word: &str) {
    labelled(printer, "evidence", &glance.evidence);
    show_masked(printer, glance.masked.as_deref());
    if let Some(run) = &glance.run {
        show_run(printer, run);
    }
    if let Some(problem) = &glance.problem {
        printer.line(&[span(Style::Odd, "DAMAGED   "), plain(format!("run.json: {problem}"))]);
    }
    if !glance.is_complete() {
        let state = glance.run.as_ref().map(|run| run.state);
        printer.line(&[span(Style::Odd, "INCOMPLETE "), plain(incomplete(glance.sealed, state))]);
    }
    if let Some(probe) = &glance.probe {
        let last = probe
            .troubles
            .first()
            .map_or(String::new(), |trouble| format!("; {trouble}"));
        labelled(printer, "probe", &format!("{}{last}", numbers(probe)));
    }
    let run = glance.run.as_deref();
    let is_told = |case: &&CaseGlance| !run.is_some_and(|run| is_summed_up(run, case));
    for case in glance.cases.iter().filter(is_told) {
        show_case_heading(printer, case);
        if let Some(record) = &case.record {
            printer.line(&[span(Style::Dim, format!("{INDENT}   {}", numbers(record)))]);
        }
    }
    if let Some(run) = run {
        let cases: Vec<Lacking<'_>> = glance.cases.iter().map(|case| lacking(run, case)).collect();
        show_missing(printer, &TargetReport::of(run, run.target.title()), &cases);
    }
    if let Some(baseline) = &glance.baseline {
        show_baseline(printer, baseline);
    }
    printer.blank();
    let word = quoted(word);
    let text =
        format!("harness show {word} CASE shows what happened in a case, harness show {word} probe the handshake");
    printer.line(&[span(Style::Dim, text)]);
}

/// Says that the evidence is not as the run left it, where that is so.
pub fn show_masked(printer: &mut Printer, masked: Option<&str>) {
    if let Some(masked) = masked {
        printer.line(&[span(Style::Odd, "redacted  "), plain(masked)]);
    }
}

/// Whether a case could not be run, and nobody asked for it by name: a line for its family says as much.
fn is_summed_up(run: &Run, case: &CaseGlance) -> bool {
    let is_whole = case.problem.is_none() && case.record.as_ref().is_some_and(|record| record.troubles.is_empty());
    is_whole && !case.missing.is_empty() && !run.named.contains(&case.case)
}

fn lacking<'a>(run: &Run, case: &'a CaseGlance) -> Lacking<'a> {
    Lacking {
        family: case.family.as_deref().unwrap_or_default(),
        case: &case.case,
        missing: &case.missing,
        named: run.named.contains(&case.case),
    }
}

fn show_run(printer: &mut Printer, run: &Run) {
    labelled(printer, "target", &TargetReport::of(run, run.target.title()).line());
    if let Some(server) = &run.server {
        let name = server.name.as_deref().unwrap_or("a server without a name");
        let version = server
            .version
            .as_deref()
            .filter(|version| !version.is_empty())
            .unwrap_or("without a version");
        printer.line(&[plain(format!("{INDENT}{name} {version}, MCP {}", server.protocol))]);
    }
    let until = run.ended_at.as_ref().map_or(String::new(), |end| format!(" to {end}"));
    let state = match run.state {
        RunState::Running => "not ended",
        RunState::Finished => "finished",
        RunState::Interrupted => "interrupted",
    };
    labelled(printer, "when", &format!("{}{until}, {state}", run.started_at));
    let host = &run.host;
    let kernel = host
        .kernel
        .as_ref()
        .map_or(String::new(), |kernel| format!(" {kernel}"));
    let text = format!(
        "{}, judge {}, on {} {}{kernel}",
        run.harness.version, run.harness.judge, host.os, host.arch
    );
    labelled(printer, "harness", &text);
    labelled(printer, "seed", &run.naming.seed.to_string());
    if let Some(nothing) = &run.nothing_run {
        let word = format!("{:<13}", nothing.kind.word());
        printer.line(&[span(Style::Odd, word), plain(format!("  {}", nothing.reason))]);
    }
}

/// Why evidence is not whole.
pub(super) fn incomplete(sealed: bool, state: Option<RunState>) -> &'static str {
    match (sealed, state) {
        (false, _) => "there is no SHA256SUMS: the run is still at work, or was cut off",
        (true, Some(RunState::Interrupted)) => "the user stopped the run; what it had done until then is here",
        (true, Some(RunState::Running | RunState::Finished) | None) => "it does not say that the run came to its end",
    }
}

/// What one case came to, in a word.
pub(super) fn case_word(case: &CaseGlance) -> (&'static str, Style) {
    match (&case.verdict, &case.record) {
        (Some(summary), _) => word(summary.verdict),
        (None, Some(record)) if record.ended => ("NO VERDICT", Style::Odd),
        (None, Some(_)) => ("CUT OFF", Style::Odd),
        (None, None) if case.problem.is_some() => ("UNREADABLE", Style::Odd),
        (None, None) => ("NOT BEGUN", Style::Odd),
    }
}

/// One case: verdict, name, title, time; and why, where it is not a pass.
pub fn show_case_heading(printer: &mut Printer, case: &CaseGlance) {
    let (text, style) = case_word(case);
    let family = case
        .family
        .as_ref()
        .map_or(String::new(), |family| format!("{family}/"));
    let number = case.number.map_or(String::new(), |number| format!(" ({number:02})"));
    let title = case.title.as_ref().map_or(String::new(), |title| format!("  {title}"));
    let mut line: Vec<Span> = vec![
        span(style, format!("{text:<13}")),
        span(Style::Bold, format!("{family}{}{number}", case.case)),
        plain(title),
    ];
    if let Some(summary) = &case.verdict {
        line.push(span(Style::Dim, format!("  {} ms", millis(summary.micros))));
    }
    printer.line(&line);
    let below = |printer: &mut Printer, text: &str| printer.line(&[plain(format!("{INDENT}   ")), plain(text)]);
    if let Some(reason) = case.verdict.as_ref().and_then(|summary| summary.reason.as_ref()) {
        below(printer, reason);
    }
    if let Some(problem) = &case.problem {
        below(printer, &format!("record.jsonl: {problem}"));
    }
    let Some(record) = &case.record else { return };
    if case.verdict.is_none() {
        let step = record.last_step.as_deref().unwrap_or("the first step");
        below(printer, &format!("no verdict; the record ends in: {step}"));
    }
    for trouble in record.troubles.iter().take(TROUBLES_SHOWN_MAX) {
        below(printer, &format!("record.jsonl: {trouble}"));
    }
    if record.troubles.len() > TROUBLES_SHOWN_MAX {
        let more = record.troubles.len() - TROUBLES_SHOWN_MAX;
        below(printer, &format!("and {more} more, shown with the events"));
    }
}

fn numbers(glance: &Glance) -> String {
    let withheld = match glance.withheld {
        0 => String::new(),
        count => format!(", {count} of them withheld"),
    };
    format!(
        "{} events in {} ms, {} frames{withheld}",
        glance.events,
        millis(glance.micros),
        glance.frames
    )
}

fn labelled(printer: &mut Printer, label: &str, text: &str) {
    printer.line(&[span(Style::Bold, format!("{label:<10}")), plain(text)]);
}
