//! The evidence folder of a run: its layout, its making, its digests and its inventory.
//!
//! ```text
//! <run>/run.json
//! <run>/SHA256SUMS                       coreutils format, every other file
//! <run>/probe/…                          the handshake that decided the era, laid out like a case
//! <run>/calibration/…                    the search for the effect, where nobody said how it is counted; the same
//! <run>/calibration-two/…                with two effects
//! <run>/calibration*/searched.json       what was frozen there, file by file
//! <run>/cases/<id>/case.toml             the frozen definition that was run
//! <run>/cases/<id>/record.jsonl          one event a line
//! <run>/cases/<id>/observations/<label>.json
//! <run>/cases/<id>/stores/<label>/…      frozen copies
//! <run>/cases/<id>/stderr/<process>.log
//! <run>/cases/<id>/verdict.json
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::inventory::{FileSeen, Inventory, compare, sums_text};
use super::no_evidence::not_evidence;
use crate::digest;
use crate::plain_file;
use crate::readback::TREE_DEPTH_MAX;

/// The file that says what was run.
pub const RUN_FILE: &str = "run.json";

/// The file with the digests of all others.
pub const SUMS_FILE: &str = "SHA256SUMS";

/// The folder under which runs go that were given no folder of their own.
pub(super) const RUNS_FOLDER: &str = "evidence/runs";

/// The link to the newest run.
pub(super) const LATEST: &str = "latest";

/// `SHA256SUMS` is never larger than this, in bytes.
pub(super) const SUMS_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// How deep and how many files evidence may be, so that an endless tree cannot hold up a reader.
pub(super) const DEPTH_MAX: usize = STORE_DEPTH + TREE_DEPTH_MAX;
pub(super) const FILES_MAX: usize = 500_000;

/// How deep the folder of a frozen store lies: `cases/<id>/stores/<label>`.
const STORE_DEPTH: usize = 4;

/// How large evidence may be in all, in bytes: a sparse file of many terabytes would be digested for days.
const BYTES_MAX: u64 = 64 * 1024 * 1024 * 1024;

/// Why evidence could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// `--evidence DIR` names something that exists.
    #[error("evidence folder {path} exists already; name a new one (evidence is never overwritten)")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file or folder could not be made or read.
    #[error("{act} {path}: {source}")]
    File {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is something else, or nothing at all.
    #[error(
        "{path} is not evidence: {why}; name the folder that `harness run` or `harness prove` printed, or `latest`"
    )]
    NotEvidence {
        /// What was named.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// It is deeper or larger than evidence can be.
    #[error(
        "{path} is not evidence: it has more than {FILES_MAX} files or {BYTES_MAX} bytes, or folders deeper than {DEPTH_MAX}"
    )]
    TooLarge {
        /// The folder.
        path: PathBuf,
    },
}

impl EvidenceError {
    pub(super) fn file(act: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File {
            act,
            path: path.to_path_buf(),
            source,
        }
    }
}

/// The evidence folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    root: PathBuf,
}

/// The folder of one case inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFolder {
    root: PathBuf,
}

impl Evidence {
    /// Makes the folder that the user named; it must not exist.
    pub fn create_at(path: &Path) -> Result<Self, EvidenceError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| EvidenceError::file("create", parent, source))?;
        }
        match fs::create_dir(path) {
            Ok(()) => Ok(Self {
                root: path.to_path_buf(),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(EvidenceError::Exists {
                path: path.to_path_buf(),
            }),
            Err(source) => Err(EvidenceError::file("create", path, source)),
        }
    }

    /// Makes a new folder called `name` under `evidence/runs/`, which git is told to ignore, and points `latest` at it.
    pub fn create_usual(folder: &Path, name: &str) -> Result<Self, EvidenceError> {
        let runs = folder.join(RUNS_FOLDER);
        let evidence = Self::create_at(&runs.join(name))?;
        ignore_runs(&runs)?;
        let latest = runs.join(LATEST);
        let fresh = runs.join(format!(".{LATEST}-{name}"));
        // A link cannot be replaced in place: make it beside, and move it over.
        let linked = std::os::unix::fs::symlink(name, &fresh).and_then(|()| fs::rename(&fresh, &latest));
        linked.map_err(|source| EvidenceError::file("link", &latest, source))?;
        Ok(evidence)
    }

    /// Opens a folder that is there.
    pub fn open(path: &Path) -> Result<Self, EvidenceError> {
        // Sealed evidence that has lost its run.json is changed evidence.
        if !path.join(RUN_FILE).is_file() && !path.join(SUMS_FILE).is_file() {
            return Err(not_evidence(path));
        }
        Ok(Self {
            root: path.to_path_buf(),
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a case; not yet made.
    pub fn case(&self, id: &str) -> CaseFolder {
        CaseFolder {
            root: self.root.join("cases").join(id),
        }
    }

    /// The folder of the handshake that decided the era; not yet made.
    pub fn probe(&self) -> CaseFolder {
        CaseFolder {
            root: self.root.join("probe"),
        }
    }

    /// The folder of one case of the search for the effect; not yet made.
    pub fn calibration(&self, id: &str) -> CaseFolder {
        CaseFolder {
            root: self.root.join(id),
        }
    }

    /// Writes a value as pretty JSON, whole or not at all.
    pub fn write_json(path: &Path, value: &impl Serialize) -> Result<String, EvidenceError> {
        let mut text = serde_json::to_string_pretty(value).expect("stored formats have string keys only");
        text.push('\n');
        write_whole(path, text.as_bytes())?;
        Ok(digest::sha256_hex(text.as_bytes()))
    }

    /// Writes a text as it is, whole or not at all.
    pub fn write_text(path: &Path, text: &str) -> Result<(), EvidenceError> {
        write_whole(path, text.as_bytes())
    }

    /// `run.json`.
    pub fn run_file(&self) -> PathBuf {
        self.root.join(RUN_FILE)
    }

    /// Writes `SHA256SUMS` over every other file. After this nothing may be added.
    pub fn seal(&self) -> Result<(), EvidenceError> {
        let (_, files) = walk(&self.root, DEPTH_MAX)?;
        let seen = files_seen(&self.root, files)?;
        let text = sums_text(seen.iter().map(|(path, file)| (path.as_str(), file.sha256.as_str())));
        write_whole(&self.root.join(SUMS_FILE), text.as_bytes())
    }

    /// Compares the folder with its `SHA256SUMS`.
    pub fn inventory(&self) -> Result<Inventory, EvidenceError> {
        let (strangers, files) = walk(&self.root, DEPTH_MAX)?;
        let path = self.root.join(SUMS_FILE);
        // What is no file is not opened: a device has no end, and a pipe keeps a reader waiting.
        if strangers.iter().any(|name| name == SUMS_FILE) {
            return Ok(Inventory::unsealed(strangers));
        }
        let listed = match plain_file::read_bytes(&path, SUMS_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut inventory = Inventory::unsealed(strangers);
                // What nobody vouches for still has to fit together.
                if inventory.findings.is_empty() {
                    inventory.add_clashes(files.keys());
                    inventory.files = files_seen(&self.root, files)?;
                }
                return Ok(inventory);
            }
            Err(source) => return Err(EvidenceError::file("read", &path, source)),
        };
        Ok(compare(&listed, files_seen(&self.root, files)?, strangers))
    }
}

impl CaseFolder {
    /// Makes the folder and its subfolders.
    pub fn create(&self) -> Result<(), EvidenceError> {
        for folder in [
            self.root.clone(),
            self.root.join("observations"),
            self.root.join("stderr"),
        ] {
            fs::create_dir_all(&folder).map_err(|source| EvidenceError::file("create", &folder, source))?;
        }
        Ok(())
    }

    /// Removes it with everything in it; one that is not there is no error. The definition goes first: whatever stays where
    /// this is cut off is no case that could be judged.
    pub(crate) fn remove(&self) -> Result<(), EvidenceError> {
        let definition = self.case_file();
        let gone = |removed: std::io::Result<()>, path: &Path| match removed {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(EvidenceError::file("remove", path, source)),
        };
        gone(fs::remove_file(&definition), &definition)?;
        gone(fs::remove_dir_all(&self.root), &self.root)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `case.toml`.
    pub fn case_file(&self) -> PathBuf {
        self.root.join("case.toml")
    }

    /// `record.jsonl`.
    pub fn record_file(&self) -> PathBuf {
        self.root.join("record.jsonl")
    }

    /// `observations/<label>.json`.
    pub fn observation_file(&self, label: &str) -> PathBuf {
        self.root.join("observations").join(format!("{label}.json"))
    }

    /// `stores/<label>`, the folder of a frozen store.
    pub fn store_folder(&self, label: &str) -> PathBuf {
        self.root.join("stores").join(label)
    }

    /// `searched.json`.
    pub fn searched_file(&self) -> PathBuf {
        self.root.join("searched.json")
    }

    /// `stderr/<process>.log`.
    pub fn stderr_file(&self, process: &str) -> PathBuf {
        self.root.join("stderr").join(format!("{process}.log"))
    }

    /// `verdict.json`.
    pub fn verdict_file(&self) -> PathBuf {
        self.root.join("verdict.json")
    }
}

/// Everything that is neither file nor folder, and the size of every regular file but `SHA256SUMS`, by relative paths.
pub(super) fn walk(root: &Path, depth_max: usize) -> Result<(Vec<String>, BTreeMap<String, u64>), EvidenceError> {
    let mut strangers = Vec::new();
    let mut files = BTreeMap::new();
    let mut bytes = 0_u64;
    let mut folders = vec![(root.to_path_buf(), 0_usize)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|source| EvidenceError::file("read", &folder, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| EvidenceError::file("read", &folder, source))?;
            let path = entry.path();
            let kind = entry.file_type();
            let kind = kind.map_err(|source| EvidenceError::file("read", &path, source))?;
            let name = relative(root, &path);
            if kind.is_dir() {
                folders.push((path, depth + 1));
            } else if !kind.is_file() {
                strangers.push(name);
            } else if name != SUMS_FILE {
                let metadata = entry.metadata();
                let size = metadata
                    .map_err(|source| EvidenceError::file("look at", &path, source))?
                    .len();
                bytes = bytes.saturating_add(size);
                files.insert(name, size);
            }
        }
        if depth > depth_max || files.len() > FILES_MAX || bytes > BYTES_MAX {
            return Err(EvidenceError::TooLarge {
                path: root.to_path_buf(),
            });
        }
    }
    Ok((strangers, files))
}

pub(super) fn files_seen(
    root: &Path,
    files: BTreeMap<String, u64>,
) -> Result<BTreeMap<String, FileSeen>, EvidenceError> {
    let seen = |(name, bytes): (String, u64)| {
        let path = root.join(&name);
        let sha256 = digest::sha256_file(&path).map_err(|source| EvidenceError::file("read", &path, source))?;
        Ok((name, FileSeen { bytes, sha256 }))
    };
    files.into_iter().map(seen).collect()
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.to_string_lossy().into_owned()
}

/// Tells git to ignore the runs.
pub(super) fn ignore_runs(runs: &Path) -> Result<(), EvidenceError> {
    let ignore = runs.join(".gitignore");
    if ignore.exists() {
        return Ok(());
    }
    write_whole(&ignore, b"*\n")
}

/// Writes beside and moves over, so that a reader sees the old file or the new one, and never a half.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let write = |source| EvidenceError::file("write", path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(write)?;
    file.write_all(bytes).map_err(write)?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(permissions).map_err(write)?;
    file.persist(path).map_err(|error| write(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> (tempfile::TempDir, Evidence) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let evidence = Evidence::create_at(&folder.path().join("run")).expect("a new folder");
        let case = evidence.case("lost-reply");
        case.create().expect("the case's folder");
        fs::write(evidence.run_file(), "{}").expect("write");
        fs::write(case.record_file(), "one\ntwo\n").expect("write");
        evidence.seal().expect("seal");
        (folder, evidence)
    }

    fn findings(evidence: &Evidence) -> Vec<String> {
        let inventory = evidence.inventory().expect("an inventory");
        inventory.findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sealed_folder_is_equal_to_its_sums() {
        let (_folder, evidence) = sealed();
        let inventory = evidence.inventory().expect("an inventory");
        assert!(inventory.sealed && inventory.findings.is_empty());
        assert_eq!(inventory.equal, 2);
    }

    #[test]
    fn missing_extra_changed_and_linked_files_are_found_by_path() {
        let (_folder, evidence) = sealed();
        let record = evidence.case("lost-reply").record_file();
        fs::write(&record, "one\ntwO\n").expect("write");
        assert_eq!(findings(&evidence), ["changed: cases/lost-reply/record.jsonl"]);
        fs::remove_file(&record).expect("remove");
        assert_eq!(findings(&evidence), ["missing: cases/lost-reply/record.jsonl"]);
        std::os::unix::fs::symlink("/etc/hostname", &record).expect("link");
        fs::write(evidence.root().join("new"), "").expect("write");
        let expected = [
            "missing: cases/lost-reply/record.jsonl",
            "extra: new",
            "not a file: cases/lost-reply/record.jsonl",
        ];
        assert_eq!(findings(&evidence), expected);
    }

    /// Every byte of `SHA256SUMS` counts too.
    #[test]
    fn one_flipped_bit_anywhere_in_the_sums_is_found() {
        let (_folder, evidence) = sealed();
        let path = evidence.root().join(SUMS_FILE);
        let bytes = fs::read(&path).expect("read");
        for at in 0..bytes.len() {
            for bit in [0x01, 0x20, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= bit;
                fs::write(&path, &changed).expect("write");
                assert!(!findings(&evidence).is_empty(), "byte {at}, bit {bit:#x}");
            }
        }
        for changed in [&bytes[..bytes.len() - 1], &[bytes.as_slice(), b"\n"].concat()] {
            fs::write(&path, changed).expect("write");
            assert!(!findings(&evidence).is_empty());
        }
    }

    /// As deep as a store may be that is frozen into it.
    #[test]
    fn the_deepest_store_can_be_sealed() {
        let (_folder, evidence) = sealed();
        let store = evidence.case("lost-reply").store_folder("end");
        let deepest = (0..TREE_DEPTH_MAX).fold(store, |folder, _| folder.join("d"));
        fs::create_dir_all(&deepest).expect("folders");
        fs::write(deepest.join("file"), "text").expect("write");
        evidence.seal().expect("seal");
        assert_eq!(findings(&evidence), [""; 0]);
        fs::create_dir(deepest.join("d")).expect("a folder");
        assert!(matches!(evidence.inventory(), Err(EvidenceError::TooLarge { .. })));
    }

    #[test]
    fn a_sparse_file_beyond_the_bound_is_refused_and_not_read() {
        let (_folder, evidence) = sealed();
        let file = fs::File::create(evidence.root().join("sparse")).expect("create");
        file.set_len(BYTES_MAX + 1).expect("a sparse file");
        assert!(matches!(evidence.inventory(), Err(EvidenceError::TooLarge { .. })));
    }

    #[test]
    fn a_folder_that_exists_is_refused() {
        let (folder, evidence) = sealed();
        let error = Evidence::create_at(evidence.root()).expect_err("it exists");
        assert!(matches!(error, EvidenceError::Exists { .. }), "{error}");
        drop(folder);
    }

    #[test]
    fn latest_points_at_the_newest_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["one", "two"] {
            Evidence::create_usual(folder.path(), name).expect("a run folder");
        }
        let runs = folder.path().join(RUNS_FOLDER);
        assert_eq!(fs::read_link(runs.join(LATEST)).expect("a link"), Path::new("two"));
        assert_eq!(
            fs::read_to_string(runs.join(".gitignore")).expect("an ignore file"),
            "*\n"
        );
    }
}
