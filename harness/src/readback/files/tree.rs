//! Freezing a folder or a single file after its server died: the bytes as the death left them.
//!
//! Must not follow a link, must not open what is no regular file (a pipe would never answer), and must not let SQLite
//! open an original: SQLite stores in the folder are frozen by [`freeze`], each with a read copy beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use serde::{Deserialize, Serialize};

use super::walk::{Listing, Stranger, failed, walk};
use crate::readback::sqlite::cells::table_counts;
use crate::readback::sqlite::freeze::{FROZEN_BYTES_MAX, copy_one, digest, freeze, name_of};
use crate::readback::sqlite::recognise::{SUFFIXES_BESIDE, is_sqlite};
use crate::readback::{FreezeError, FrozenFile};

/// A store of files as a death left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrozenTree {
    /// The folder that holds the copies. Evidence is moved about, so it is not recorded: whoever reads it later sets it anew.
    #[serde(skip)]
    pub root: PathBuf,
    /// What stood at the path of the store.
    pub shape: Shape,
    /// The copied files by their paths under the root, sorted; those of SQLite stores too, but no read copies.
    pub files: Vec<FrozenFile>,
    /// The SQLite stores among them.
    pub databases: Vec<FrozenDatabase>,
    /// The folders, empty ones too; these are not made anew under the root.
    pub folders: BTreeSet<String>,
    /// What was not copied, by name.
    pub strangers: BTreeMap<String, Stranger>,
}

/// What a store of files is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Nothing is there, or a link that leads nowhere.
    Absent,
    /// One file. What stands beside it is no part of the store.
    File,
    /// A folder with all that is in it.
    Folder,
}

/// An SQLite store in a frozen folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrozenDatabase {
    /// The path of its main file under the root.
    pub name: String,
    /// The path of its read copy under the root, if it could be recovered.
    pub read_copy: Option<String>,
    /// Why there is no read copy.
    pub problem: Option<String>,
    /// How many rows each of its tables has, as far as they can be counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, u64>,
}

/// Copies a folder, or one file, whose users are all dead into a folder (made if need be, nothing in it overwritten).
/// That nobody lives is the caller's to know; what changes meanwhile is an error. The path itself may be a link.
pub fn freeze_tree(store: &Path, into: &Path) -> Result<FrozenTree, FreezeError> {
    fs::create_dir_all(into).map_err(failed("create the folder", into))?;
    let original = Original::look(store)?;
    original.refuse_inside(into)?;
    let listing = original.list()?;
    let bytes = listing
        .files
        .values()
        .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    if bytes > FROZEN_BYTES_MAX {
        return Err(FreezeError::TooLarge { file: store.into() });
    }
    let databases = original.databases(&listing)?;
    let mut tree = FrozenTree {
        root: into.into(),
        shape: original.shape(),
        files: Vec::new(),
        databases: Vec::new(),
        folders: listing.folders.clone(),
        strangers: listing.strangers.clone(),
    };
    for name in &databases {
        let (files, database) = freeze_database(&original, name, into)?;
        tree.files.extend(files);
        tree.databases.push(database);
    }
    let mut plain = Vec::new();
    for name in listing.files.keys().filter(|name| !belongs_to_sqlite(name, &databases)) {
        plain.push(copy_plain(&original.path(name), &into.join(name), name)?);
    }
    original.refuse_moved(&listing, &plain, &databases)?;
    tree.files.extend(plain);
    tree.files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tree)
}

/// Whether SQLite is the one to read this file: a store, or a file beside one.
pub(in crate::readback) fn belongs_to_sqlite(name: &str, databases: &BTreeSet<String>) -> bool {
    let stem = |suffix: &&str| name.strip_suffix(suffix);
    databases.contains(name)
        || SUFFIXES_BESIDE
            .iter()
            .filter_map(stem)
            .any(|stem| databases.contains(stem))
}

fn copy_plain(original: &Path, copy: &Path, name: &str) -> Result<FrozenFile, FreezeError> {
    let folder = copy.parent().expect("a path in a folder has a parent");
    fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
    copy_one(open_plain(original)?, original, copy, name.to_owned())
}

/// Opens a regular file and nothing else: never a link, and a pipe that took its place does not block.
pub(super) fn open_plain(original: &Path) -> Result<File, FreezeError> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(original);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FreezeError::Moved { file: original.into() });
        }
        Err(error) => return Err(failed("open", original)(error)),
    };
    if !file.metadata().map_err(failed("look at", original))?.is_file() {
        return Err(FreezeError::Moved { file: original.into() });
    }
    Ok(file)
}

fn freeze_database(
    original: &Original,
    name: &str,
    into: &Path,
) -> Result<(Vec<FrozenFile>, FrozenDatabase), FreezeError> {
    let prefix = name.rfind('/').map_or("", |at| &name[..=at]);
    let frozen = freeze(&original.path(name), &into.join(prefix))?;
    let under_root = |mut file: FrozenFile| {
        file.name = format!("{prefix}{}", file.name);
        file
    };
    let read_copy = frozen.read_copy.as_deref().and_then(Path::file_name);
    let tables = frozen.read_copy.as_deref().map(table_counts).unwrap_or_default();
    let database = FrozenDatabase {
        tables,
        name: name.to_owned(),
        read_copy: read_copy.map(|file| format!("{prefix}{}", file.to_string_lossy())),
        problem: frozen.problem,
    };
    Ok((frozen.files.into_iter().map(under_root).collect(), database))
}

/// What is to be copied.
pub(super) enum Original {
    /// Nothing.
    Absent,
    /// One file: its name, and where it is.
    File(String, PathBuf),
    /// A folder.
    Folder(PathBuf),
}

impl Original {
    /// Follows the path of a store, which may be a link, and says what is there.
    pub(super) fn look(store: &Path) -> Result<Self, FreezeError> {
        let real = match fs::canonicalize(store) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Absent),
            Err(error) => return Err(failed("open", store)(error)),
        };
        let metadata = fs::metadata(&real).map_err(failed("look at", &real))?;
        if metadata.is_dir() {
            Ok(Self::Folder(real))
        } else if metadata.is_file() {
            Ok(Self::File(name_of(store)?, real))
        } else {
            Err(FreezeError::NotAFile { store: store.into() })
        }
    }

    /// What it is.
    pub(super) fn shape(&self) -> Shape {
        match self {
            Self::Absent => Shape::Absent,
            Self::File(..) => Shape::File,
            Self::Folder(_) => Shape::Folder,
        }
    }

    /// What it holds now.
    pub(super) fn list(&self) -> Result<Listing, FreezeError> {
        match self {
            Self::Absent => Ok(Listing::default()),
            Self::File(name, path) => {
                let bytes = fs::metadata(path).map_err(failed("look at", path))?.len();
                Ok(Listing {
                    files: BTreeMap::from([(name.clone(), bytes)]),
                    ..Listing::default()
                })
            }
            Self::Folder(path) => walk(path),
        }
    }

    /// Where a listed file is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Absent => PathBuf::from(name),
            Self::File(_, path) => path.clone(),
            Self::Folder(path) => path.join(name),
        }
    }

    /// The SQLite stores among the listed files.
    pub(super) fn databases(&self, listing: &Listing) -> Result<BTreeSet<String>, FreezeError> {
        let mut found = BTreeSet::new();
        for name in listing.files.keys() {
            let path = self.path(name);
            if is_sqlite(&path).map_err(failed("open", &path))? {
                found.insert(name.clone());
            }
        }
        Ok(found)
    }

    /// Copies within the original would be copied in turn.
    fn refuse_inside(&self, into: &Path) -> Result<(), FreezeError> {
        let into = fs::canonicalize(into).map_err(failed("open", into))?;
        match self {
            Self::Folder(store) if into.starts_with(store) => Err(FreezeError::Inside {
                store: store.clone(),
                into,
            }),
            Self::Folder(_) | Self::File(..) | Self::Absent => Ok(()),
        }
    }

    /// Reads everything again: nothing may have come, gone or changed. SQLite stores were read twice when frozen.
    fn refuse_moved(
        &self,
        then: &Listing,
        copied: &[FrozenFile],
        databases: &BTreeSet<String>,
    ) -> Result<(), FreezeError> {
        if let Some(name) = different(then, &self.list()?) {
            return Err(FreezeError::Moved { file: self.path(&name) });
        }
        for file in copied {
            debug_assert!(!databases.contains(&file.name), "plain files only");
            let path = self.path(&file.name);
            let now = digest(open_plain(&path)?, &mut io::sink()).map_err(failed("read", &path))?;
            if now != (file.bytes, file.sha256.clone()) {
                return Err(FreezeError::Moved { file: path });
            }
        }
        Ok(())
    }
}

/// A path that is in one of two listings only, or has changed.
fn different(then: &Listing, now: &Listing) -> Option<String> {
    let files = then.files.keys().chain(now.files.keys());
    let changed = files
        .into_iter()
        .find(|name| then.files.get(*name) != now.files.get(*name));
    let folder = then.folders.symmetric_difference(&now.folders).next();
    let strangers = then.strangers.keys().chain(now.strangers.keys());
    let stranger = strangers
        .into_iter()
        .find(|name| then.strangers.get(*name) != now.strangers.get(*name));
    changed.or(folder).or(stranger).cloned()
}
