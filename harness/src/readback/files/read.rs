//! Which files a query is about, and their bytes: from a frozen store, or beside a living server.
//!
//! Beside a living server files are only opened for reading and closed again; nothing is created, locked or waited for.
//! Bytes count when they were read twice and were equal, and no file that matters came or went between. A text that ends
//! too early is then taken for one that is being written. Must not read the files of an SQLite store as bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::answer::{FileAnswer, Question};
use super::aside::is_set_aside;
use super::double::double;
use super::query::{FileQuery, matcher};
use super::tree::{FrozenTree, Original, Shape, belongs_to_sqlite, open_plain};
use super::walk::Listing;
use crate::plain_file;
use crate::readback::query::LIVE_STORE_BYTES_MAX;
use crate::readback::sqlite::live::Poll;
use crate::readback::{FreezeError, FrozenFile, Marker, ReadError, Rows};

/// Most bytes that one query of files reads into memory.
pub const FILES_READ_BYTES_MAX: u64 = LIVE_STORE_BYTES_MAX;

/// Asks a frozen store. A torn file is in the answer; [`FileAnswer::whole`] makes an error of it.
pub fn query_tree(tree: &FrozenTree, query: &FileQuery, marker: &Marker) -> Result<FileAnswer, ReadError> {
    let question = Question {
        store: &tree.root,
        query,
        marker,
    };
    question.answer(&question.frozen_bytes(tree)?)
}

/// Asks a frozen store as if every marked element, line or file in it stood twice; with the files that would have changed.
/// Nothing is written. `None` where nothing can be doubled: there is no marked one, or no second name fits the glob.
pub fn query_doubled(
    tree: &FrozenTree,
    query: &FileQuery,
    marker: &Marker,
) -> Result<Option<(FileAnswer, Vec<String>)>, ReadError> {
    let question = Question {
        store: &tree.root,
        query,
        marker,
    };
    let bytes = question.frozen_bytes(tree)?;
    let doubled = double(query, marker, &bytes);
    let changed: Vec<String> = doubled
        .iter()
        .filter(|(name, now)| bytes.get(*name) != Some(now))
        .map(|(name, _)| name.clone())
        .collect();
    if changed.is_empty() {
        return Ok(None);
    }
    Ok(Some((question.answer(&doubled)?, changed)))
}
/// The files of a frozen store that carry a marker and by their names were left behind by a save: no query counts them. A file
/// that cannot be read, or is too large to be, is not among them.
pub fn set_aside(tree: &FrozenTree, marker: &str) -> Vec<String> {
    let Ok(marker) = Marker::new(marker) else {
        return Vec::new();
    };
    let carries = |file: &&FrozenFile| {
        let read = || plain_file::open(&tree.root.join(&file.name)).and_then(read_bounded);
        is_set_aside(&file.name)
            && (marker.is_in(&file.name) || read().is_ok_and(|bytes| marker.occurrences(&bytes) > 0))
    };
    let left = tree.files.iter().filter(carries);
    left.map(|file| file.name.clone()).collect()
}

/// Reads one store of files again and again beside its living server. Between polls it holds no file.
#[derive(Debug)]
pub struct LiveFiles {
    store: PathBuf,
    last: Option<(FileQuery, Marker, String)>,
}

impl LiveFiles {
    /// A reader of the file or folder at this path, which need not exist yet. Opens nothing.
    pub fn open(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            last: None,
        }
    }

    /// Asks once and returns at once.
    pub fn poll(&mut self, query: &FileQuery, marker: &Marker) -> Result<Poll, ReadError> {
        let question = Question {
            store: &self.store,
            query,
            marker,
        };
        let bytes = match question.read_still() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Poll::Busy),
            Err(ReadError::Absent { .. }) => return Ok(Poll::Absent),
            Err(error) => return Err(error),
        };
        let state = Some((query.clone(), marker.clone(), digest_of(&bytes)));
        if self.last == state {
            return Ok(Poll::Unchanged);
        }
        let answer = question.answer(&bytes)?;
        if answer.torn.is_some() {
            return Ok(Poll::Busy);
        }
        self.last = state;
        Ok(Poll::Rows(answer.rows))
    }
}

/// Asks a living store for rows, at most `attempts_max` times while it moves. Never waits itself: `between` is called
/// before each further attempt, and is where the caller waits. A store that does not stand still is [`ReadError::Busy`].
pub fn observe_live_files(
    store: &Path,
    query: &FileQuery,
    marker: &Marker,
    attempts_max: u32,
    mut between: impl FnMut(),
) -> Result<Rows, ReadError> {
    let mut reader = LiveFiles::open(store);
    for attempt in 0..attempts_max {
        if attempt > 0 {
            between();
        }
        match reader.poll(query, marker)? {
            Poll::Rows(rows) => return Ok(rows),
            Poll::Absent => return Err(ReadError::Absent { store: store.into() }),
            Poll::Busy | Poll::Unchanged => {}
        }
    }
    Err(ReadError::Busy { store: store.into() })
}

impl Question<'_> {
    /// The bytes of all wanted files of a frozen store.
    fn frozen_bytes(&self, tree: &FrozenTree) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
        let databases = tree.databases.iter().map(|database| database.name.clone()).collect();
        let files = tree.files.iter().map(|file| (file.name.clone(), file.bytes)).collect();
        let mut bytes = BTreeMap::new();
        for name in self.wanted(tree.shape, &files, &databases)? {
            let path = tree.root.join(&name);
            let recorded = files.get(&name).copied().unwrap_or_default();
            let read = plain_file::read_recorded(&path, recorded);
            bytes.insert(name, read.map_err(|error| self.unreadable(&path, &error))?);
        }
        Ok(bytes)
    }

    /// The files that the query is about.
    fn wanted(
        &self,
        shape: Shape,
        files: &BTreeMap<String, u64>,
        databases: &BTreeSet<String>,
    ) -> Result<Vec<String>, ReadError> {
        let is_wanted: Box<dyn Fn(&str) -> bool> = match self.query {
            FileQuery::Json { path, .. } | FileQuery::JsonLines { path } => match (shape, path.clone()) {
                (Shape::File, Some(path)) if !files.contains_key(&path) => {
                    return Err(self.bad(format!("the store is one file; leave out `path = \"{path}\"`")));
                }
                (Shape::Folder, None) => {
                    return Err(self.bad("the store is a folder; add `path = \"…\"`, the file in it"));
                }
                (_, Some(path)) => Box::new(move |name| name == path),
                (_, None) => Box::new(|_| true),
            },
            FileQuery::Files { glob } | FileQuery::Text { glob } => {
                let glob = matcher(glob).map_err(|error| self.bad(error.to_string()))?;
                Box::new(move |name| glob.is_match(name) && !belongs_to_sqlite(name, databases))
            }
        };
        let wanted: BTreeMap<&String, &u64> = files.iter().filter(|(name, _)| is_wanted(name)).collect();
        if shape == Shape::Absent || self.is_about_one_file() && wanted.is_empty() {
            return Err(ReadError::Absent {
                store: self.store.into(),
            });
        }
        let bytes = wanted.values().fold(0_u64, |sum, bytes| sum.saturating_add(**bytes));
        if bytes > FILES_READ_BYTES_MAX {
            let reason = format!(
                "`{}` is about {bytes} bytes, more than {FILES_READ_BYTES_MAX}; name fewer files, or start from a smaller store",
                self.query
            );
            return Err(self.problem(reason));
        }
        Ok(wanted.into_keys().cloned().collect())
    }

    fn is_about_one_file(&self) -> bool {
        matches!(self.query, FileQuery::Json { .. } | FileQuery::JsonLines { .. })
    }

    /// The bytes of all wanted files at one instant; `None` if they did not stand still.
    fn read_still(&self) -> Result<Option<BTreeMap<String, Vec<u8>>>, ReadError> {
        twice(|| self.read_now())
    }

    /// One reading; `None` if a file went away meanwhile.
    fn read_now(&self) -> Result<Option<BTreeMap<String, Vec<u8>>>, ReadError> {
        let moved_or = |error: FreezeError| {
            if moved(&error) {
                Ok(None)
            } else {
                Err(self.problem(error.to_string()))
            }
        };
        let original = match Original::look(self.store) {
            Ok(original) => original,
            Err(error) => return moved_or(error),
        };
        let (listing, databases): (Listing, _) = match original.list().and_then(|listing| {
            let databases = if self.is_about_one_file() {
                BTreeSet::new()
            } else {
                original.databases(&listing)?
            };
            Ok((listing, databases))
        }) {
            Ok(listed) => listed,
            Err(error) => return moved_or(error),
        };
        let mut bytes = BTreeMap::new();
        for name in self.wanted(original.shape(), &listing.files, &databases)? {
            let path = original.path(&name);
            let file = match open_plain(&path) {
                Ok(file) => file,
                Err(error) => return moved_or(error),
            };
            bytes.insert(
                name,
                read_bounded(file).map_err(|error| self.unreadable(&path, &error))?,
            );
        }
        Ok(Some(bytes))
    }

    fn problem(&self, reason: String) -> ReadError {
        ReadError::Unreadable {
            store: self.store.into(),
            reason,
        }
    }

    fn unreadable(&self, path: &Path, error: &io::Error) -> ReadError {
        self.problem(format!("read {}: {error}; check who may read it", path.display()))
    }
}

/// What two readings have both found; `None` if they differ, or one of them saw something move.
pub(super) fn twice<T: PartialEq>(
    mut read: impl FnMut() -> Result<Option<T>, ReadError>,
) -> Result<Option<T>, ReadError> {
    let Some(first) = read()? else {
        return Ok(None);
    };
    let second = match read() {
        Err(ReadError::Absent { .. }) => None,
        second => second?,
    };
    Ok(second.filter(|second| *second == first))
}

/// Whether the store changed under our hands, which is no fault while its server lives.
fn moved(error: &FreezeError) -> bool {
    match error {
        FreezeError::Moved { .. } => true,
        FreezeError::File { source, .. } => source.kind() == io::ErrorKind::NotFound,
        FreezeError::NotAFile { .. }
        | FreezeError::Name { .. }
        | FreezeError::TooLarge { .. }
        | FreezeError::TooManyEntries { .. }
        | FreezeError::TooDeep { .. }
        | FreezeError::Inside { .. } => false,
    }
}

/// Everything within the bound; a file that outgrew it after its size was looked at is not equal the second time, or is
/// cut off in both.
fn read_bounded(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(FILES_READ_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn digest_of(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut hasher = Sha256::new();
    for (name, bytes) in files {
        hasher.update(name.as_bytes());
        hasher.update([0]);
        hasher.update(Sha256::digest(bytes));
    }
    base16ct::lower::encode_string(&hasher.finalize())
}
