//! A run that is read for what it says: its folder, or its archive unpacked into a folder of our own.

use std::path::Path;

use super::target_arguments::quoted;
use crate::diff::Side;
use crate::record::{ArchiveFile, Evidence, Found, NO_RUN, ProofFolder, find_run};
use crate::verify::{Unpacked, WHAT_TO_NAME};

/// A run, and the archive that it came in.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) side: Side,
    pub(super) archive_sha256: Option<String>,
    /// Goes with this value, and the files of the run with it.
    _unpacked: Option<Unpacked>,
}

/// What a word names, in a folder: the run's own, or one of ours that an archive was unpacked into.
#[derive(Debug)]
pub(super) struct Opened {
    /// Never an archive.
    pub(super) found: Found,
    /// What the user calls it.
    pub(super) name: String,
    archive_sha256: Option<String>,
    /// Goes with this value, and the files with it.
    unpacked: Option<Unpacked>,
}

/// Takes the run that a word names. The error says what is wrong with it.
pub(super) fn take(word: &Path) -> Result<Taken, String> {
    let opened = open(word)?;
    match &opened.found {
        Found::Run(evidence) => Ok(Taken {
            side: Side::open(evidence, &opened.name)?,
            archive_sha256: opened.archive_sha256,
            _unpacked: opened.unpacked,
        }),
        Found::Proof(_) => Err(is_a_proof(&opened.name)),
        Found::Archive(_) => unreachable!("an archive is unpacked"),
    }
}

/// Opens what a word names. The error says what is wrong with it.
pub(super) fn open(word: &Path) -> Result<Opened, String> {
    let found = find_run(Path::new("."), word).map_err(|error| error.to_string())?;
    let name = match &found {
        Found::Run(evidence) => evidence.root().display().to_string(),
        Found::Proof(folder) => folder.root().display().to_string(),
        Found::Archive(path) => return unpacked(path),
    };
    Ok(Opened {
        found,
        name,
        archive_sha256: None,
        unpacked: None,
    })
}

fn unpacked(path: &Path) -> Result<Opened, String> {
    let archive = ArchiveFile::open(path).map_err(|error| error.to_string())?;
    let unpacked = Unpacked::of(&archive).map_err(|error| error.to_string())?;
    let name = path.display().to_string();
    let holds_a_run = ProofFolder::open(unpacked.folder()).is_some() || Evidence::open(unpacked.folder()).is_ok();
    if archive.is_safe() && !holds_a_run {
        return Err(format!("{name} is not evidence: {NO_RUN}; {WHAT_TO_NAME}"));
    }
    if let Some(finding) = archive.findings().iter().chain(&unpacked.findings).next() {
        return Err(format!(
            "{name} is not as it was exported: {finding} (`harness verify {}` lists every difference)",
            quoted(&name)
        ));
    }
    let found = match ProofFolder::open(unpacked.folder()) {
        Some(proof) => Found::Proof(proof),
        None => Found::Run(Evidence::open(unpacked.folder()).map_err(|error| error.to_string())?),
    };
    Ok(Opened {
        found,
        name,
        archive_sha256: Some(archive.sha256().to_owned()),
        unpacked: Some(unpacked),
    })
}

impl Opened {
    /// The runs of a proof have folders of their own only where it is unpacked to stay.
    pub(super) fn refuse_proof_in_archive(&self) -> Result<(), String> {
        match (&self.found, &self.unpacked) {
            (Found::Proof(_), Some(_)) => Err(format!(
                "{0} is the archive of a proof, which is made of runs: unpack it to look at one of them (`unzip -d FOLDER {1}`)",
                self.name,
                quoted(&self.name)
            )),
            (Found::Proof(_) | Found::Run(_) | Found::Archive(_), _) => Ok(()),
        }
    }
}

fn is_a_proof(name: &str) -> String {
    format!("{name} is a proof, which is made of runs: name the folder of one of them (`harness show` lists them)")
}
