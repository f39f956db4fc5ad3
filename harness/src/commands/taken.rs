//! A run that is read for what it says: its folder, or its archive unpacked into a folder of our own.

use std::path::Path;

use crate::diff::Side;
use crate::record::{ArchiveFile, Evidence, Found, find_run};
use crate::verify::Unpacked;

/// A run, and the archive that it came in.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) side: Side,
    pub(super) archive_sha256: Option<String>,
    /// Goes with this value, and the files of the run with it.
    _unpacked: Option<Unpacked>,
}

/// Takes the run that a word names. The error says what is wrong with it.
pub(super) fn take(word: &Path) -> Result<Taken, String> {
    match find_run(Path::new("."), word).map_err(|error| error.to_string())? {
        Found::Run(evidence) => Ok(Taken {
            side: Side::open(&evidence, &evidence.root().display().to_string())?,
            archive_sha256: None,
            _unpacked: None,
        }),
        Found::Proof(folder) => Err(is_a_proof(folder.root())),
        Found::Archive(path) => unpacked(&path),
    }
}

fn unpacked(path: &Path) -> Result<Taken, String> {
    let archive = ArchiveFile::open(path).map_err(|error| error.to_string())?;
    let unpacked = Unpacked::of(&archive).map_err(|error| error.to_string())?;
    if let Some(finding) = archive.findings().iter().chain(&unpacked.findings).next() {
        let path = path.display();
        return Err(format!(
            "{path} is not as it was exported: {finding} (`harness verify {path}` lists every difference)"
        ));
    }
    if crate::record::ProofFolder::open(unpacked.folder()).is_some() {
        return Err(is_a_proof(path));
    }
    let evidence = Evidence::open(unpacked.folder()).map_err(|_| format!("{} holds no run", path.display()))?;
    Ok(Taken {
        side: Side::open(&evidence, &path.display().to_string())?,
        archive_sha256: Some(archive.sha256().to_owned()),
        _unpacked: Some(unpacked),
    })
}

fn is_a_proof(path: &Path) -> String {
    format!(
        "{} is a proof, which is made of runs: name the folder of one of them (`harness show` lists them)",
        path.display()
    )
}
