//! An archive checked by somebody who was not there: as an archive, and then, unpacked into a folder of our own, like a folder.

use std::path::Path;

use serde::Serialize;

use super::{Verified, VerifiedProof, verify, verify_proof};
use crate::record::{ArchiveError, ArchiveFile, Evidence, EvidenceError, NO_RUN, ProofFolder};

/// What is known of an archive before it is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArchiveSeen {
    /// The SHA-256 of the whole file, which its receipt names.
    pub sha256: String,
    /// How large it is, in bytes.
    pub bytes: u64,
    /// How many files it holds.
    pub files: usize,
    /// Who signed it, by the reviewer's own list, where that was checked.
    pub signed_by: Option<String>,
    /// Whether a signature was asked for that is missing, of nobody on that list, or of other bytes.
    pub signature_refused: bool,
}

/// What an archive came to.
#[derive(Debug, Clone, PartialEq)]
pub enum VerifiedArchive {
    /// It is one of a run.
    Run(Box<Verified>),
    /// It is one of a proof.
    Proof(Box<VerifiedProof>),
    /// Nothing of it was unpacked, or nothing in it is a run.
    Nothing {
        /// Why.
        findings: Vec<String>,
    },
}

/// Why an archive could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyArchiveError {
    /// It could not be opened or unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What it holds could not be read.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// There was no folder to unpack it into.
    #[error("make a folder for temporary files: {0}")]
    Folder(#[source] std::io::Error),
}

/// The next step for who named an archive of something else.
pub const WHAT_TO_NAME: &str = "name an archive that `harness export` wrote, or the folder of a run";

/// Verifies an archive that was opened once; `tell` hears of each run of a proof before it is looked at.
pub fn verify_archive(
    archive: &ArchiveFile,
    tell: &mut dyn FnMut(&str),
) -> Result<(ArchiveSeen, VerifiedArchive), VerifyArchiveError> {
    let seen = ArchiveSeen {
        sha256: archive.sha256().to_owned(),
        bytes: archive.bytes(),
        files: archive.files(),
        signed_by: None,
        signature_refused: false,
    };
    let unpacked = Unpacked::of(archive)?;
    let mut found = archive.findings().to_vec();
    found.extend(unpacked.findings.iter().cloned());
    let verified = if !archive.is_safe() {
        VerifiedArchive::Nothing { findings: found }
    } else if let Some(proof) = ProofFolder::open(unpacked.folder()) {
        let mut verified = verify_proof(&proof, tell)?;
        verified.findings.splice(0..0, found);
        VerifiedArchive::Proof(Box::new(verified))
    } else {
        match Evidence::open(unpacked.folder()) {
            Ok(evidence) => {
                let mut verified = verify(&evidence)?;
                verified.findings.splice(0..0, found);
                VerifiedArchive::Run(Box::new(verified))
            }
            // Damaged, it is evidence that differs; whole, it is something else.
            Err(_) if !found.is_empty() => {
                found.insert(0, format!("archive: {NO_RUN}: {WHAT_TO_NAME}"));
                VerifiedArchive::Nothing { findings: found }
            }
            Err(_) => {
                let path = archive.path().to_path_buf();
                return Err(EvidenceError::NotEvidence { path, why: NO_RUN }.into());
            }
        }
    };
    Ok((seen, verified))
}

/// The files of an archive in a folder of our own, which goes with this value.
#[derive(Debug)]
pub struct Unpacked {
    folder: tempfile::TempDir,
    /// Files whose checksum is another one.
    pub findings: Vec<String>,
}

impl Unpacked {
    /// Unpacks an archive; one that is not safe stays an empty folder.
    pub fn of(archive: &ArchiveFile) -> Result<Self, VerifyArchiveError> {
        let folder = tempfile::Builder::new().prefix("harness-archive-").tempdir();
        let folder = folder.map_err(VerifyArchiveError::Folder)?;
        let findings = archive.unpack(folder.path())?;
        Ok(Self { folder, findings })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
