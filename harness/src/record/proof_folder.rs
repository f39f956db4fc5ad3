//! The folder of a proof: the matrix, and beside it the evidence of each run in a folder of its own.
//!
//! ```text
//! <proof>/matrix.json
//! <proof>/SHA256SUMS            coreutils format: matrix.json, and the SHA256SUMS of each run, which has the digests of its files
//! <proof>/<run>/…               the evidence of a run: `baseline`, or called like its defect
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::evidence::{
    Evidence, EvidenceError, FILES_MAX, RUN_FILE, RUNS_FOLDER, SUMS_BYTES_MAX, SUMS_FILE, files_seen, ignore_runs,
    write_whole,
};
use super::inventory::{Inventory, compare, sums_text};
use crate::plain_file;

/// The file with the whole matrix, beside the folders of the runs.
pub const MATRIX_FILE: &str = "matrix.json";

/// The folder of one proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofFolder {
    root: PathBuf,
}

impl ProofFolder {
    /// Makes the folder that the user named; it must not exist.
    pub fn create_at(path: &Path) -> Result<Self, EvidenceError> {
        let made = Evidence::create_at(path)?;
        Ok(Self {
            root: made.root().to_path_buf(),
        })
    }

    /// Makes a new folder called `name` under `evidence/runs/`. It is no run, and so never `latest`.
    pub fn create_usual(folder: &Path, name: &str) -> Result<Self, EvidenceError> {
        let runs = folder.join(RUNS_FOLDER);
        let made = Self::create_at(&runs.join(name))?;
        ignore_runs(&runs)?;
        Ok(made)
    }

    /// The folder, where it is one of a proof and not of a run.
    pub fn open(path: &Path) -> Option<Self> {
        let is_proof = path.join(MATRIX_FILE).is_file() && !path.join(RUN_FILE).is_file();
        is_proof.then(|| Self {
            root: path.to_path_buf(),
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `matrix.json`.
    pub fn matrix_file(&self) -> PathBuf {
        self.root.join(MATRIX_FILE)
    }

    /// The folder of a run.
    pub fn run(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The names of the folders in it, in order.
    pub fn runs(&self) -> Result<Vec<String>, EvidenceError> {
        Ok(self.look()?.runs)
    }

    /// Writes `SHA256SUMS` over the matrix and the `SHA256SUMS` of each run. After this nothing may be added.
    pub fn seal(&self) -> Result<(), EvidenceError> {
        let seen = files_seen(&self.root, self.look()?.files)?;
        let text = sums_text(seen.iter().map(|(path, file)| (path.as_str(), file.sha256.as_str())));
        write_whole(&self.root.join(SUMS_FILE), text.as_bytes())
    }

    /// Compares the folder with its `SHA256SUMS`; what is in the folders of the runs is compared with theirs.
    pub fn inventory(&self) -> Result<Inventory, EvidenceError> {
        let there = self.look()?;
        if !there.strangers.is_empty() {
            return Ok(Inventory::unsealed(there.strangers));
        }
        let path = self.root.join(SUMS_FILE);
        match plain_file::read_bytes(&path, SUMS_BYTES_MAX) {
            Ok(listed) => Ok(compare(&listed, files_seen(&self.root, there.files)?, Vec::new())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Inventory::unsealed(Vec::new())),
            Err(source) => Err(EvidenceError::file("read", &path, source)),
        }
    }

    fn look(&self) -> Result<There, EvidenceError> {
        let read = |source| EvidenceError::file("read", &self.root, source);
        let mut there = There::default();
        for entry in fs::read_dir(&self.root).map_err(read)? {
            let entry = entry.map_err(read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().map_err(read)?.is_dir() {
                there.add(format!("{name}/{SUMS_FILE}"), &entry.path().join(SUMS_FILE))?;
                there.runs.push(name);
            } else {
                there.add(name, &entry.path())?;
            }
            if there.runs.len() + there.files.len() > FILES_MAX {
                let path = self.root.clone();
                return Err(EvidenceError::TooLarge { path });
            }
        }
        there.files.remove(SUMS_FILE);
        there.runs.sort();
        Ok(there)
    }
}

/// What the seal of a proof is about.
#[derive(Debug, Default)]
struct There {
    runs: Vec<String>,
    files: BTreeMap<String, u64>,
    strangers: Vec<String>,
}

impl There {
    /// A file, or what stands in its place; where there is nothing, nothing.
    fn add(&mut self, name: String, path: &Path) -> Result<(), EvidenceError> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                self.files.insert(name, metadata.len());
            }
            Ok(_) => self.strangers.push(name),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(EvidenceError::file("look at", path, source)),
        }
        Ok(())
    }
}
