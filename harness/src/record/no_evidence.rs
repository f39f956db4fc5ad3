//! What something that a user takes for evidence is instead.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::evidence::{EvidenceError, RUN_FILE};

/// What a folder or an archive of something else has not.
pub const NO_RUN: &str = "it has no run.json";

/// Why there is no evidence: what cannot be looked at may be there all the same.
pub(super) fn not_evidence(path: &Path) -> EvidenceError {
    let is_absent = |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let why = match (fs::metadata(path), fs::symlink_metadata(path)) {
        (Ok(found), _) if found.is_dir() => match fs::metadata(path.join(RUN_FILE)) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return EvidenceError::file("look at", &path.join(RUN_FILE), source);
            }
            Ok(_) | Err(_) => NO_RUN,
        },
        (Ok(_), _) => "it is neither a folder nor an archive",
        (Err(error), Ok(_)) if is_absent(&error) => "it is a link that leads nowhere",
        (Err(error), Err(_)) if is_absent(&error) => "there is no such file or folder",
        (Err(source), _) => return EvidenceError::file("look at", path, source),
    };
    let path = path.to_path_buf();
    EvidenceError::NotEvidence { path, why }
}
