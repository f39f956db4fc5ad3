//! `harness verify RUN`: the digests of every file, then what can be derived again: counts, searches, verdicts.
//! No server runs. The folder of a proof is verified as a whole, every run in it and its matrix.

mod proof;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{ExitStatus, Format, named_run, refuse};
use crate::counted::counted;
use crate::record::{EvidenceError, Found};
use crate::report::{Printer, Style, plain, show_baseline, span};
use crate::verify::{Verified, verify as verify_evidence};

/// Check evidence of a run or a proof: digests first, then every verdict judged again from its record
#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// The run, or the proof: its folder, `latest` (a run), or the name of a folder under evidence/runs, or a beginning of it
    run: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Serialize)]
struct VerifyReport<'a> {
    evidence: String,
    #[serde(flatten)]
    verified: &'a Verified,
    exit: u8,
}

/// Verifies one folder of evidence.
pub(super) fn verify(arguments: &VerifyArguments, printer: &mut Printer) -> ExitStatus {
    let evidence = match named_run(&arguments.run, arguments.format, printer) {
        Ok(Found::Run(evidence)) => evidence,
        Ok(Found::Proof(folder)) => return proof::verify(arguments.format, &folder, printer),
        Err(status) => return status,
    };
    let verified = match verify_evidence(&evidence) {
        Ok(verified) => verified,
        Err(error) => return unread(arguments.format, &error, printer),
    };
    let is_whole = verified.sealed && verified.finished;
    let status = status(&verified.findings, is_whole);
    let report = VerifyReport {
        evidence: evidence.root().display().to_string(),
        verified: &verified,
        exit: status.code(),
    };
    match arguments.format {
        Format::Human => human(&report, printer),
        Format::Json => printer.json(&report),
        Format::Jsonl => printer.json_line(&report),
    }
    status
}

/// What cannot be read at all.
fn unread(format: Format, error: &EvidenceError, printer: &mut Printer) -> ExitStatus {
    let status = match error {
        EvidenceError::NotEvidence { .. } | EvidenceError::TooLarge { .. } | EvidenceError::Exists { .. } => {
            ExitStatus::Usage
        }
        EvidenceError::File { .. } => ExitStatus::Failed,
    };
    refuse(format, &error.to_string(), status, printer)
}

/// A difference is a difference, also in evidence that is not complete.
fn status(findings: &[String], is_whole: bool) -> ExitStatus {
    if !findings.is_empty() {
        ExitStatus::Failed
    } else if is_whole {
        ExitStatus::Success
    } else {
        ExitStatus::Inconclusive
    }
}

fn human(report: &VerifyReport<'_>, printer: &mut Printer) {
    let verified = report.verified;
    printer.line(&[span(Style::Bold, "evidence  "), plain(report.evidence.as_str())]);
    printer.line(&[span(Style::Bold, "target    "), plain(verified.target.as_str())]);
    for finding in &verified.findings {
        printer.line(&[span(Style::Bad, "DIFFERS   "), plain(finding.as_str())]);
    }
    let incomplete = match (verified.sealed, verified.finished) {
        (true, true) => None,
        (true, false) => Some("the run was interrupted; what it had done until then is here"),
        (false, _) => Some("there is no SHA256SUMS: the run was cut off, and nothing vouches for its files"),
    };
    if let Some(text) = incomplete {
        printer.line(&[span(Style::Odd, "INCOMPLETE "), plain(text)]);
    }
    printer.line(&[
        span(Style::Bold, "files     "),
        plain(format!("{} listed and equal", verified.files_equal)),
    ]);
    printer.line(&[
        span(Style::Bold, "counted   "),
        plain(format!(
            "{} observations again from frozen stores; {} of living stores are the runner's word",
            verified.counted_again, verified.runners_word
        )),
    ]);
    printer.line(&[span(Style::Bold, "effects   "), plain(verified.counted_by.words())]);
    for (case, verdict) in &verified.judged {
        printer.line(&[span(Style::Bold, "judged    "), plain(format!("{case}: {verdict}"))]);
    }
    if let Some(baseline) = &verified.baseline {
        show_baseline(printer, baseline);
    }
    show_redacted(&verified.redacted, printer);
    for note in &verified.notes {
        printer.line(&[span(Style::Odd, "note      "), plain(note.as_str())]);
    }
    let whole = "the evidence is whole, and every verdict comes out the same";
    result(verified.findings.len(), incomplete.is_none(), whole, printer);
}

/// What was masked, and what that means for everything else that is said.
fn show_redacted(redacted: &[String], printer: &mut Printer) {
    for file in redacted {
        printer.line(&[span(Style::Odd, "redacted  "), plain(file.as_str())]);
    }
    if !redacted.is_empty() {
        printer.prose("          ", REDACTED);
    }
}

/// What a mask changes.
const REDACTED: &str = "Digests, counts and verdicts are those of the masked bytes. That a secret stood there, and the digests of \
                        before, are the runner's word.";

/// The last line, and what it does not say.
fn result(differences: usize, is_whole: bool, whole: &str, printer: &mut Printer) {
    let (word, style) = match (differences, is_whole) {
        (0, true) => (whole.to_owned(), Style::Good),
        (0, false) => ("incomplete".to_owned(), Style::Odd),
        (count, _) => (counted(count, "difference", "differences"), Style::Bad),
    };
    printer.line(&[span(Style::Bold, "result    "), span(style, word)]);
    if differences == 0 && is_whole {
        printer.prose("          ", NOT_SHOWN);
    }
}

/// What evidence alone cannot show.
const NOT_SHOWN: &str = "This does not show that the run took place: whoever can write all files can also write their \
                         digests. Run the cases yourself for that.";
