//! Evidence that came to its end and is as it was sealed: the only kind that is handed on.

use std::path::PathBuf;

use serde::Deserialize;

use super::archive::{ArchiveError, ArchiveFile};
use super::evidence::{Evidence, EvidenceError, RUN_FILE};
use super::proof_folder::{MATRIX_FILE, ProofFolder};
use super::run::RunState;
use super::runs::Found;
use crate::plain_file;
use crate::shell_word::quoted;

/// A `run.json` or `matrix.json` is never larger than this, in bytes.
const JSON_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Why evidence is not handed on.
#[derive(Debug, thiserror::Error)]
pub enum SealedError {
    /// It is one already.
    #[error("{path} is an archive already; verify it with `harness verify {}`, and copy it", quoted(&path.display().to_string()))]
    Archive {
        /// The archive.
        path: PathBuf,
    },
    /// It is a file, and no archive either.
    #[error(transparent)]
    NotAnArchive(#[from] ArchiveError),
    /// It did not come to its end.
    #[error(
        "{path} is incomplete: {reason}; run it again to its end (`harness verify {}` says what is there)",
        quoted(&path.display().to_string())
    )]
    Incomplete {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        reason: &'static str,
    },
    /// It is not what was sealed.
    #[error(
        "{path} is not as it was sealed: {first}{more}; `harness verify {}` lists every difference",
        quoted(&path.display().to_string())
    )]
    Differs {
        /// The folder.
        path: PathBuf,
        /// The first difference.
        first: String,
        /// How many there are beside it, in words.
        more: String,
    },
    /// It could not be read.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// The folder of evidence that came to its end and has the digests of its `SHA256SUMS`.
pub fn require_sealed(found: &Found) -> Result<PathBuf, SealedError> {
    match found {
        Found::Archive(path) => {
            ArchiveFile::open(path)?;
            Err(SealedError::Archive { path: path.clone() })
        }
        Found::Run(evidence) => sealed_run(evidence),
        Found::Proof(proof) => sealed_proof(proof),
    }
}

fn sealed_run(evidence: &Evidence) -> Result<PathBuf, SealedError> {
    let path = evidence.root().to_path_buf();
    let inventory = evidence.inventory()?;
    require(
        &path,
        inventory.sealed,
        inventory.findings.iter().map(ToString::to_string).collect(),
    )?;
    finished(path, RUN_FILE)
}

fn sealed_proof(proof: &ProofFolder) -> Result<PathBuf, SealedError> {
    let path = proof.root().to_path_buf();
    let inventory = proof.inventory()?;
    require(
        &path,
        inventory.sealed,
        inventory.findings.iter().map(ToString::to_string).collect(),
    )?;
    for name in proof.runs()? {
        let evidence = Evidence::open(&proof.run(&name))?;
        sealed_run(&evidence)?;
    }
    finished(path, MATRIX_FILE)
}

fn require(path: &std::path::Path, sealed: bool, findings: Vec<String>) -> Result<(), SealedError> {
    let path = path.to_path_buf();
    let others = findings.len().saturating_sub(1);
    match findings.into_iter().next() {
        Some(first) => Err(SealedError::Differs {
            path,
            first,
            more: if others == 0 {
                String::new()
            } else {
                format!(", and {others} more")
            },
        }),
        None if !sealed => Err(SealedError::Incomplete {
            path,
            reason: "it has no SHA256SUMS, so it was cut off",
        }),
        None => Ok(()),
    }
}

/// Whether its document says that it came to its end; one that cannot be read does not.
fn finished(path: PathBuf, file: &str) -> Result<PathBuf, SealedError> {
    #[derive(Deserialize)]
    struct Stated {
        state: RunState,
    }
    let document = path.join(file);
    let text = plain_file::read_text(&document, JSON_BYTES_MAX)
        .map_err(|error| EvidenceError::file("read", &document, error))?;
    match serde_json::from_str::<Stated>(&text) {
        Ok(stated) if stated.state == RunState::Finished => Ok(path),
        Ok(_) | Err(_) => Err(SealedError::Incomplete {
            path,
            reason: "it was interrupted",
        }),
    }
}
