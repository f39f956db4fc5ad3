//! `harness verify RUN`: the digests of every file, then what can be derived again: counts, searches, verdicts.
//! No server runs. The folder of a proof is verified as a whole, every run in it and its matrix.

mod about;
mod asked;
mod patience;
mod proof;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use self::about::show_about;
use self::asked::Asked;
use self::patience::{LOOK_TIME_MAX, within};
use super::{ExitStatus, Format, named_run, refuse};
use crate::counted::counted;
use crate::record::{ArchiveError, ArchiveFile, EvidenceError, Found, Verdict};
use crate::report::{Printer, Style, plain, show_baseline, span};
use crate::signature::{self, SignatureError};
use crate::verify::{
    ArchiveSeen, Verified, VerifiedArchive, VerifiedProof, VerifyArchiveError, by_families, verify as verify_evidence,
    verify_archive, verify_proof,
};

/// Check evidence of a run or a proof: digests first, then every verdict judged again from its record
#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// The run, or the proof: its folder or archive, `latest` (a run), or the name of a folder under evidence/runs, or a
    /// beginning of it
    run: PathBuf,
    /// A case, or each one of a family or a pattern (`retry/*`), that has to have been executed and to have passed, else the exit
    /// is 1 (repeatable; of a proof, without a defect)
    #[arg(long, value_name = "CASE")]
    require: Vec<String>,
    /// A file or folder that has to be what was launched, by its digest, else the exit is 1 (repeatable)
    #[arg(long, value_name = "PATH")]
    artifact: Vec<PathBuf>,
    /// Check who signed the archive, against a list of allowed signers as ssh-keygen(1) describes it
    #[arg(long, value_name = "FILE")]
    signers: Option<PathBuf>,
    /// Who must have signed it, as the list calls them
    #[arg(long, value_name = "NAME", requires = "signers")]
    identity: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Where evidence is, and what it is as a file, where it is one.
struct Looked {
    evidence: String,
    archive: Option<ArchiveSeen>,
}

#[derive(Serialize)]
struct VerifyReport<'a> {
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a ArchiveSeen>,
    #[serde(flatten)]
    verified: &'a Verified,
    #[serde(flatten)]
    asked: &'a Asked,
    exit: u8,
}

/// An archive of which nothing was unpacked.
#[derive(Serialize)]
struct NothingReport<'a> {
    evidence: &'a str,
    archive: Option<&'a ArchiveSeen>,
    findings: &'a [String],
    exit: u8,
}

/// Verifies one folder or archive of evidence.
pub(super) fn verify(arguments: &VerifyArguments, printer: &mut Printer) -> ExitStatus {
    let found = match named_run(&arguments.run, arguments.format, printer) {
        Ok(found) => found,
        Err(status) => return status,
    };
    // Opened once, so that what is signed, what is unpacked and what the receipt names are the same bytes.
    let archive = match opened(&found) {
        Ok(archive) => archive,
        Err(error) => return unread_archive(arguments.format, &error.into(), printer),
    };
    let signed = match signer(arguments, archive.as_ref()) {
        Ok(signed) => signed,
        Err((message, status)) => return refuse(arguments.format, &message, status, printer),
    };
    let path = place(&found);
    let looked = {
        let mut tell = |run: &str| printer.progress(&format!("verifying {run}"));
        within(LOOK_TIME_MAX, &mut tell, move |tell| {
            look(&found, archive.as_ref(), tell)
        })
    };
    let evidence = path.display().to_string();
    let (seen, checked) = match looked {
        Some(Ok(looked)) => looked,
        Some(Err(error)) => return unread_archive(arguments.format, &error, printer),
        None => (None, Checked::Nothing(vec![GIVEN_UP.to_owned()])),
    };
    let (archive, checked) = match seen {
        Some(seen) => {
            let (seen, checked) = with_signer(seen, checked, signed);
            (Some(seen), checked)
        }
        None => (None, checked),
    };
    let looked = Looked { evidence, archive };
    match checked {
        Checked::Run(verified) => of_run(arguments, &looked, &verified, printer),
        Checked::Proof(verified) => proof::verified(arguments, &looked, &verified, printer),
        Checked::Nothing(findings) => of_nothing(arguments, &looked, &findings, printer),
    }
}

/// What is said of evidence that keeps SQLite busy.
const GIVEN_UP: &str = "it was given up after 70 minutes: a query of it, or a constraint in a store of it, does not end; look at \
                        the queries in its observations before anything else";

fn place(found: &Found) -> PathBuf {
    match found {
        Found::Run(evidence) => evidence.root().to_path_buf(),
        Found::Proof(folder) => folder.root().to_path_buf(),
        Found::Archive(path) => path.clone(),
    }
}

fn look(
    found: &Found,
    archive: Option<&ArchiveFile>,
    tell: &mut dyn FnMut(&str),
) -> Result<(Option<ArchiveSeen>, Checked), VerifyArchiveError> {
    match (found, archive) {
        (Found::Run(evidence), _) => Ok((None, Checked::Run(Box::new(verify_evidence(evidence)?)))),
        (Found::Proof(folder), _) => Ok((None, Checked::Proof(verify_proof(folder, tell)?))),
        (Found::Archive(_), None) => unreachable!("an archive was opened"),
        (Found::Archive(_), Some(archive)) => {
            let (seen, verified) = verify_archive(archive, tell)?;
            Ok((Some(seen), verified.into()))
        }
    }
}

/// The archive, where it is one.
fn opened(found: &Found) -> Result<Option<ArchiveFile>, ArchiveError> {
    match found {
        Found::Archive(path) => ArchiveFile::open(path).map(Some),
        Found::Run(_) | Found::Proof(_) => Ok(None),
    }
}

/// Who signed, or what is wrong with the signature.
type Signed = Option<Result<String, String>>;

/// Checks the signature, where that is wanted.
fn signer(arguments: &VerifyArguments, archive: Option<&ArchiveFile>) -> Result<Signed, (String, ExitStatus)> {
    let Some(signers) = &arguments.signers else {
        return Ok(None);
    };
    let Some(archive) = archive else {
        let message = "--signers: an archive is signed, and this is a folder; name the archive".to_owned();
        return Err((message, ExitStatus::Usage));
    };
    match signature::check(archive, signers, arguments.identity.as_deref()) {
        Ok(name) => Ok(Some(Ok(name))),
        Err(error @ SignatureError::NoProgram(_)) => Err((error.to_string(), ExitStatus::Inconclusive)),
        Err(error @ SignatureError::File { .. }) => Err((error.to_string(), ExitStatus::Usage)),
        Err(
            error @ (SignatureError::Missing { .. }
            | SignatureError::Exists { .. }
            | SignatureError::NotSigned { .. }
            | SignatureError::Unknown { .. }
            | SignatureError::Bad { .. }),
        ) => Ok(Some(Err(error.to_string()))),
    }
}

fn with_signer(seen: ArchiveSeen, mut checked: Checked, signed: Signed) -> (ArchiveSeen, Checked) {
    match signed {
        None => (seen, checked),
        Some(Ok(name)) => {
            let signed_by = Some(name);
            (ArchiveSeen { signed_by, ..seen }, checked)
        }
        Some(Err(reason)) => {
            let findings = match &mut checked {
                Checked::Run(verified) => &mut verified.findings,
                Checked::Proof(verified) => &mut verified.findings,
                Checked::Nothing(findings) => findings,
            };
            findings.insert(0, reason);
            let signature_refused = true;
            (
                ArchiveSeen {
                    signature_refused,
                    ..seen
                },
                checked,
            )
        }
    }
}

/// What was verified.
enum Checked {
    Run(Box<Verified>),
    Proof(VerifiedProof),
    Nothing(Vec<String>),
}

impl From<VerifiedArchive> for Checked {
    fn from(verified: VerifiedArchive) -> Self {
        match verified {
            VerifiedArchive::Run(verified) => Self::Run(verified),
            VerifiedArchive::Proof(verified) => Self::Proof(*verified),
            VerifiedArchive::Nothing { findings } => Self::Nothing(findings),
        }
    }
}

fn of_run(arguments: &VerifyArguments, looked: &Looked, verified: &Verified, printer: &mut Printer) -> ExitStatus {
    let is_whole = verified.sealed && verified.finished;
    let asked = Asked::of(arguments, Some(verified));
    let status = status(&verified.findings, &asked, is_whole);
    let report = VerifyReport {
        evidence: &looked.evidence,
        archive: looked.archive.as_ref(),
        verified,
        asked: &asked,
        exit: status.code(),
    };
    match arguments.format {
        Format::Human => human(&report, printer),
        Format::Json => printer.json(&report),
        Format::Jsonl => printer.json_line(&report),
    }
    status
}

/// An archive of which nothing was unpacked: what is wrong with it is all that can be said.
fn of_nothing(arguments: &VerifyArguments, looked: &Looked, findings: &[String], printer: &mut Printer) -> ExitStatus {
    let status = ExitStatus::Failed;
    let report = NothingReport {
        evidence: &looked.evidence,
        archive: looked.archive.as_ref(),
        findings,
        exit: status.code(),
    };
    match arguments.format {
        Format::Human => {
            show_place(report.evidence, report.archive, printer);
            show_findings(findings, printer);
            result(findings, &[], false, "", printer);
        }
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

fn unread_archive(format: Format, error: &VerifyArchiveError, printer: &mut Printer) -> ExitStatus {
    let status = match error {
        VerifyArchiveError::Evidence(error) => return unread(format, error, printer),
        VerifyArchiveError::Archive(ArchiveError::NotAnArchive { .. } | ArchiveError::TooLarge { .. }) => {
            ExitStatus::Usage
        }
        VerifyArchiveError::Archive(ArchiveError::File { .. }) => ExitStatus::Failed,
        VerifyArchiveError::Folder(_) => ExitStatus::Inconclusive,
    };
    refuse(format, &error.to_string(), status, printer)
}

fn show_place(evidence: &str, archive: Option<&ArchiveSeen>, printer: &mut Printer) {
    printer.line(&[span(Style::Bold, "evidence  "), plain(evidence)]);
    if let Some(archive) = archive {
        let files = counted(archive.files, "file", "files");
        let text = format!("sha256 {} ({files}, {} bytes)", archive.sha256, archive.bytes);
        printer.line(&[span(Style::Bold, "archive   "), plain(text)]);
        let signed = match &archive.signed_by {
            Some(name) => format!("by {name}, as the list of signers calls the key"),
            None if archive.signature_refused => {
                "a signature was asked for and none holds, so nothing shows who made it".to_owned()
            }
            None => "no signature was checked, so nothing shows who made it (`--signers FILE`)".to_owned(),
        };
        printer.line(&[span(Style::Bold, "signed    "), plain(signed)]);
    }
}

fn show_findings(findings: &[String], printer: &mut Printer) {
    for finding in findings {
        printer.line(&[span(Style::Bad, "DIFFERS   "), plain(finding.as_str())]);
    }
}

/// A difference is a difference, also in evidence that is not complete.
fn status(findings: &[String], asked: &Asked, is_whole: bool) -> ExitStatus {
    if !findings.is_empty() || !asked.problems().is_empty() {
        ExitStatus::Failed
    } else if is_whole {
        ExitStatus::Success
    } else {
        ExitStatus::Inconclusive
    }
}

fn human(report: &VerifyReport<'_>, printer: &mut Printer) {
    let verified = report.verified;
    show_place(report.evidence, report.archive, printer);
    printer.line(&[span(Style::Bold, "target    "), plain(verified.target.as_str())]);
    show_findings(&verified.findings, printer);
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
    if let Some(about) = &verified.about {
        show_about(about, printer);
    }
    let is_unsupported = |verdict: &str| verdict == Verdict::Unsupported.name();
    for (case, verdict) in verified.judged.iter().filter(|(_, verdict)| !is_unsupported(verdict)) {
        printer.line(&[span(Style::Bold, "judged    "), plain(format!("{case}: {verdict}"))]);
    }
    let unsupported = verified.judged.iter().filter(|(_, verdict)| is_unsupported(verdict));
    let unsupported: Vec<String> = unsupported.map(|(case, _)| case.clone()).collect();
    if !unsupported.is_empty() {
        let text = format!("{}: {}", by_families(&unsupported), Verdict::Unsupported.name());
        printer.line(&[span(Style::Bold, "judged    "), plain(text)]);
    }
    for case in &verified.not_finished {
        let text = format!("{case}: the run was cut off in it, so it has no verdict");
        printer.line(&[span(Style::Odd, "unfinished "), plain(text)]);
    }
    if let Some(baseline) = &verified.baseline {
        show_baseline(printer, baseline);
    }
    show_redacted(&verified.redacted, printer);
    for note in &verified.notes {
        printer.line(&[span(Style::Odd, "note      "), plain(note.as_str())]);
    }
    let whole = "the evidence is whole, and every verdict comes out the same";
    report.asked.show(printer);
    if result(
        &verified.findings,
        &report.asked.problems(),
        incomplete.is_none(),
        whole,
        printer,
    ) {
        report.asked.show_not_shown(printer);
    }
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

/// The last line; true where the evidence is whole.
fn result(findings: &[String], problems: &[String], is_whole: bool, whole: &str, printer: &mut Printer) -> bool {
    let (word, style) = match (findings.len(), is_whole) {
        (0, true) => (whole.to_owned(), Style::Good),
        (0, false) => ("incomplete".to_owned(), Style::Odd),
        (count, _) => (counted(count, "difference", "differences"), Style::Bad),
    };
    let mut spans = vec![span(Style::Bold, "result    "), span(style, word)];
    if !problems.is_empty() {
        let text = format!("; {} not met", counted(problems.len(), "requirement", "requirements"));
        spans.push(span(Style::Bad, text));
    }
    printer.line(&spans);
    findings.is_empty() && is_whole
}
