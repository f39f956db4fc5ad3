//! `harness verify` of a proof: a line for each run, then the matrix.

use serde::Serialize;

use super::super::{ExitStatus, Format};
use super::{Looked, result, show_findings, show_place, status};
use crate::counted::counted;
use crate::report::{Printer, Style, plain, span};
use crate::verify::{ArchiveSeen, Verified, VerifiedProof};

#[derive(Serialize)]
struct ProofReport<'a> {
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a ArchiveSeen>,
    #[serde(flatten)]
    verified: &'a VerifiedProof,
    exit: u8,
}

/// Tells what verifying a proof came to.
pub(super) fn verified(format: Format, looked: &Looked, verified: &VerifiedProof, printer: &mut Printer) -> ExitStatus {
    let status = status(&verified.findings, is_whole(verified));
    let report = ProofReport {
        evidence: &looked.evidence,
        archive: looked.archive.as_ref(),
        verified,
        exit: status.code(),
    };
    match format {
        Format::Human => human(&report, printer),
        Format::Json => printer.json(&report),
        Format::Jsonl => printer.json_line(&report),
    }
    status
}

fn is_whole(verified: &VerifiedProof) -> bool {
    let mut runs = verified.runs.values();
    verified.sealed && verified.finished && runs.all(|run| run.sealed && run.finished)
}

fn human(report: &ProofReport<'_>, printer: &mut Printer) {
    let verified = report.verified;
    show_place(report.evidence, report.archive, printer);
    printer.line(&[span(Style::Bold, "target    "), plain(verified.target.as_str())]);
    let width = verified.runs.keys().map(String::len).max().unwrap_or(0);
    for (name, run) in &verified.runs {
        let (word, style) = in_words(run);
        printer.line(&[
            span(Style::Bold, "run       "),
            plain(format!("{name:<width$}  ")),
            span(style, word),
        ]);
    }
    show_findings(&verified.findings, printer);
    for text in incomplete(verified) {
        printer.line(&[span(Style::Odd, "INCOMPLETE "), plain(text)]);
    }
    let word = counted(verified.runners_word, "verdict", "verdicts");
    printer.line(&[
        span(Style::Bold, "matrix    "),
        plain(format!(
            "{} of {} named kills happen when they are judged again; {word} of cases that no defect had to be noticed by, the \
             runner's word",
            verified.kills_again, verified.kills_named
        )),
    ]);
    if verified.problems > 0 {
        let problems = counted(verified.problems, "problem", "problems");
        let text = format!("it is no proof: the matrix tells {problems}");
        printer.line(&[span(Style::Odd, "NOT PROVED "), plain(text)]);
    }
    let whole = "the evidence is whole, and every verdict and the matrix come out the same";
    result(verified.findings.len(), is_whole(verified), whole, printer);
}

fn in_words(run: &Verified) -> (String, Style) {
    let did = format!(
        "{} judged again, {} counted again, {} equal",
        counted(run.judged.len(), "case", "cases"),
        counted(run.counted_again, "observation", "observations"),
        counted(run.files_equal, "file", "files"),
    );
    match (run.findings.len(), run.sealed && run.finished) {
        (0, true) => (did, Style::Plain),
        (0, false) => (format!("incomplete; {did}"), Style::Odd),
        (count, _) => (
            format!("{}; {did}", counted(count, "difference", "differences")),
            Style::Bad,
        ),
    }
}

fn incomplete(verified: &VerifiedProof) -> Vec<String> {
    let runs = verified.runs.iter();
    let cut_off: Vec<&str> = runs
        .filter(|(_, run)| !(run.sealed && run.finished))
        .map(|(name, _)| name.as_str())
        .collect();
    let mut told = Vec::new();
    if !verified.sealed {
        told.push("there is no SHA256SUMS: the proof was cut off, and nothing vouches for its matrix".to_owned());
    } else if !verified.finished {
        told.push("the proof was interrupted; what it had done until then is here".to_owned());
    }
    if !cut_off.is_empty() {
        told.push(format!("cut off before their end: {}", cut_off.join(", ")));
    }
    told
}
