//! What belongs to handing evidence on: no secret goes along, somebody may sign, and policy engines may read it.
//!
//! Must not change the run: what is masked is a copy.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::super::{ExitStatus, Format, refuse, refuse_standard_output};
use super::{Fresh, exists};
use crate::counted::counted;
use crate::record::{Evidence, EvidenceError, Found, Packed, RUN_FILE, Run};
use crate::report::{NamedArchive, Printer, Statement, Style, attestation, plain, span};
use crate::secrets::{FileFind, RedactError, Redacted, SearchedFolder, Unsought, redact_into, search_folder};
use crate::signature::{self, SignatureError, signature_of};
use crate::verify::{judge_masked, verify};

/// More finds than this are counted and not shown.
const SHOWN_MAX: usize = 100;

#[derive(Debug, Args)]
pub(in crate::commands) struct HandingOnArguments {
    /// Mask what looks like a secret, in the archive alone; what was masked stands in its `redactions.json`
    #[arg(long)]
    redact: bool,
    /// Sign the archive with this key, as `ssh-keygen -Y sign -n harness-evidence -f KEY FILE`; the signature is FILE.sig
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Write an in-toto test result about the digest of what was launched into this file, which must not exist
    #[arg(long, value_name = "FILE")]
    attest: Option<PathBuf>,
}

/// Why nothing is handed on.
pub(super) struct Refusal {
    message: String,
    status: ExitStatus,
    secrets: Vec<FileFind>,
}

impl From<(String, ExitStatus)> for Refusal {
    fn from((message, status): (String, ExitStatus)) -> Self {
        Self {
            message,
            status,
            secrets: Vec::new(),
        }
    }
}

/// What is handed on.
pub(super) struct Prepared {
    /// The folder that is packed: the run's own, or the masked copy.
    pub(super) folder: PathBuf,
    searched: SearchedFolder,
    redacted: Option<Redacted>,
    /// What is attested, where something is.
    run: Option<Run>,
    _copy: Option<tempfile::TempDir>,
}

/// What became of it, beside the archive.
#[derive(Serialize)]
pub(super) struct HandedOn {
    secrets_sought: Vec<String>,
    secrets_not_sought: Vec<Unsought>,
    #[serde(skip_serializing_if = "Option::is_none")]
    masked: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attestation: Option<String>,
}

impl HandingOnArguments {
    /// Whether a key is used.
    pub(super) fn signs(&self) -> bool {
        self.sign.is_some()
    }

    /// The files that are written beside the archive.
    pub(super) fn files(&self, archive: &Path) -> Vec<PathBuf> {
        let signature = self.sign.as_ref().map(|_| signature_of(archive));
        signature.into_iter().chain(self.attest.clone()).collect()
    }

    /// Whether each of them is to be a file.
    pub(super) fn is_of_files(&self) -> Result<(), String> {
        let why = "standard output is for what the export prints";
        refuse_standard_output("--attest", self.attest.as_deref(), why)
    }

    /// Looks for secrets in a sealed folder, and masks them where that is wanted.
    pub(super) fn prepare(&self, found: &Found, folder: &Path) -> Result<Prepared, Refusal> {
        if let Some(key) = self.sign.as_ref().filter(|key| !key.is_file()) {
            let message = format!("--sign {}: there is no such key", key.display());
            return Err((message, ExitStatus::Usage).into());
        }
        let run = self.attest.as_ref().map(|_| attested(found, folder)).transpose()?;
        let searched = search_folder(folder, here);
        let searched = searched.map_err(|error| (error.to_string(), ExitStatus::Inconclusive))?;
        if searched.finds.is_empty() {
            return Ok(Prepared {
                folder: folder.to_path_buf(),
                searched,
                redacted: None,
                run,
                _copy: None,
            });
        }
        let Found::Run(evidence) = found else {
            return Err(found_secrets(
                searched,
                "mend the server, or export the runs of the proof one by one with --redact (`harness show` lists them); masked, they are \
                 not the runs whose digests the proof has, so no proof is left to be sealed",
            ));
        };
        if !self.redact {
            return Err(found_secrets(
                searched,
                "mend the server that writes them down, or export with --redact",
            ));
        }
        let failed = |error: std::io::Error| (format!("make a temporary folder: {error}"), ExitStatus::Inconclusive);
        let copy = tempfile::tempdir().map_err(failed)?;
        let into = copy.path().join("masked");
        let judge = |masked: &Evidence| judge_masked(evidence, masked);
        let redacted = redact_into(evidence, &searched.finds, &into, here, judge)
            .map_err(|error| (error.to_string(), status(&error)))?;
        still_verifies(evidence, &into)?;
        Ok(Prepared {
            folder: into,
            searched,
            redacted: Some(redacted),
            run,
            _copy: Some(copy),
        })
    }

    /// Signs and attests what was packed.
    pub(super) fn finish(&self, prepared: &Prepared, archive: &Path, packed: &Packed) -> Result<HandedOn, Refusal> {
        let written = |message: String| {
            let message = format!("{message}; {} is written whole", archive.display());
            Refusal::from((message, ExitStatus::Inconclusive))
        };
        let signed = self.sign.as_ref().map(|key| signature::sign(archive, key)).transpose();
        let signed = signed.map_err(|error: SignatureError| written(error.to_string()))?;
        if let (Some(path), Some(run)) = (&self.attest, &prepared.run) {
            let statement = statement(run, archive, &packed.sha256).map_err(written)?;
            let failed = |error: std::io::Error| written(format!("write {}: {error}", path.display()));
            let mut fresh = Fresh::beside(path).map_err(failed)?;
            let text = serde_json::to_string_pretty(&statement).expect("a statement has string keys only");
            writeln!(fresh, "{text}").map_err(failed)?;
            fresh.name().map_err(failed)?;
        }
        Ok(HandedOn {
            secrets_sought: prepared.searched.sought.clone(),
            secrets_not_sought: prepared.searched.unsought.clone(),
            masked: prepared.redacted.as_ref().map(|redacted| redacted.places),
            signature: signed.map(|path| path.display().to_string()),
            attestation: self.attest.as_ref().map(|path| path.display().to_string()),
        })
    }
}

impl HandedOn {
    /// For people.
    pub(super) fn show(&self, printer: &mut Printer) {
        if let Some(masked) = self.masked {
            let places = counted(masked, "place", "places");
            let text =
                format!("{places}; the run itself is as it was. What was written down is known to others: change it");
            printer.line(&[span(Style::Odd, "masked    "), plain(text)]);
        }
        for secret in &self.secrets_not_sought {
            let text = format!("the value of {} was not looked for: {}", secret.name, secret.reason);
            printer.line(&[span(Style::Odd, "note      "), plain(text)]);
        }
        for (word, path) in [("signed    ", &self.signature), ("attested  ", &self.attestation)] {
            if let Some(path) = path {
                printer.line(&[span(Style::Bold, word), plain(path.as_str())]);
            }
        }
    }
}

impl Refusal {
    /// Says it, with what was found.
    pub(super) fn tell(&self, format: Format, printer: &mut Printer) -> ExitStatus {
        if self.secrets.is_empty() {
            return refuse(format, &self.message, self.status, printer);
        }
        let document = serde_json::json!({
            "error": self.message,
            "secrets": self.secrets,
            "exit": self.status.code(),
        });
        match format {
            Format::Human => {
                for secret in self.secrets.iter().take(SHOWN_MAX) {
                    printer.line(&[span(Style::Bad, "SECRET    "), plain(secret.to_string())]);
                }
                if let Some(more) = self.secrets.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
                    printer.line(&[plain(format!("          and {more} more"))]);
                }
            }
            Format::Json => printer.json(&document),
            Format::Jsonl => printer.json_line(&document),
        }
        printer.error(&self.message);
        self.status
    }
}

/// A variable of the caller.
fn here(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn found_secrets(searched: SearchedFolder, next: &str) -> Refusal {
    let secrets = counted(searched.finds.len(), "place holds", "places hold");
    Refusal {
        message: format!("nothing was written: {secrets} a secret; {next}"),
        status: ExitStatus::Failed,
        secrets: searched.finds,
    }
}

fn status(error: &RedactError) -> ExitStatus {
    match error {
        RedactError::NotWhole(_)
        | RedactError::Twice
        | RedactError::Left(_)
        | RedactError::Breaks { .. }
        | RedactError::Concludes(_) => ExitStatus::Failed,
        RedactError::Search(_) | RedactError::Evidence(_) => ExitStatus::Inconclusive,
    }
}

/// Whoever gets masked evidence finds in it what is found in the run; of a run with differences it has them too.
fn still_verifies(evidence: &Evidence, masked: &Path) -> Result<(), Refusal> {
    let failed = |error: EvidenceError| Refusal::from((error.to_string(), ExitStatus::Inconclusive));
    let masked = verify(&Evidence::open(masked).map_err(failed)?).map_err(failed)?;
    let Some(finding) = masked.findings.first() else {
        return Ok(());
    };
    if !verify(evidence).map_err(failed)?.findings.is_empty() {
        return Ok(());
    }
    let message = format!(
        "nothing was written: with what was found masked the evidence does not hold any more: {finding}; mend the server, or \
         leave the case out"
    );
    Err((message, ExitStatus::Failed).into())
}

/// The run of which something is attested; whether that is possible is known before anything is written.
fn attested(found: &Found, folder: &Path) -> Result<Run, Refusal> {
    let usage = |message: String| Refusal::from((format!("--attest: {message}"), ExitStatus::Usage));
    let Found::Run(_) = found else {
        return Err(usage(
            "a proof is about planted defects, and no test of an artifact; name a run".to_owned(),
        ));
    };
    let path = folder.join(RUN_FILE);
    let read = |error: String| usage(format!("{}: {error}", path.display()));
    let text = std::fs::read(&path).map_err(|error| read(error.to_string()))?;
    let run: Run = serde_json::from_slice(&text).map_err(|error| read(error.to_string()))?;
    statement(&run, Path::new("archive"), "").map_err(usage)?;
    Ok(run)
}

fn statement(run: &Run, archive: &Path, sha256: &str) -> Result<Statement, String> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sha256 = sha256.to_owned();
    attestation(run, &NamedArchive { name, sha256 }).map_err(|error| error.to_string())
}

/// What lies where something is to be written.
pub(super) fn in_the_way<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), (String, ExitStatus)> {
    let mut there = paths.into_iter().filter(|path| path.symlink_metadata().is_ok());
    there
        .next()
        .map_or(Ok(()), |path| Err((exists(path), ExitStatus::Usage)))
}
