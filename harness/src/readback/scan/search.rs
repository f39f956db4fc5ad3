//! The search of a whole frozen store for one marker.
//!
//! Must not open anything but the frozen copies, and of SQLite stores only the read copies. Answers the same whoever asks
//! and whenever: a reviewer scans the same bytes again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::place::{Inside, Place, Places, Sighting, general_path};
use super::walk::{self, Pointers};
use crate::plain_file;
use crate::readback::files::aside::is_set_aside;
use crate::readback::files::json::Broken;
use crate::readback::files::tree::belongs_to_sqlite;
use crate::readback::sqlite::cells::each_cell;
use crate::readback::{FrozenDatabase, FrozenTree, Marker, ReadError, Shape, Stranger};

/// Most bytes of files that one scan reads.
pub const SCAN_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Largest file that is held in memory to be searched. SQLite stores are read row by row and may be larger.
pub const SCAN_FILE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Most places that one marker may have.
pub const PLACES_MAX: usize = 1_000;

/// Why a store could not be scanned.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// More bytes than a bound.
    #[error(
        "scan {file}: {bytes} bytes, more than {bytes_max}; say what is counted in [read.effects], or start from a smaller store"
    )]
    TooLarge {
        /// The file, or the whole store.
        file: PathBuf,
        /// Its size.
        bytes: u64,
        /// [`SCAN_BYTES_MAX`] or [`SCAN_FILE_BYTES_MAX`].
        bytes_max: u64,
    },
    /// More places than [`PLACES_MAX`].
    #[error("scan {store}: `{marker}` stands in more than {PLACES_MAX} places; say which count in [read.effects]")]
    TooManyPlaces {
        /// The frozen store.
        store: PathBuf,
        /// The marker.
        marker: String,
    },
    /// A frozen file could not be read.
    #[error("scan {file}: {source}; freeze the store again")]
    File {
        /// The file.
        file: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A read copy could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Finds every place of a marker in a frozen store. A store that is not there has none.
pub fn scan(tree: &FrozenTree, marker: &Marker) -> Result<Places, ScanError> {
    let bytes = tree
        .files
        .iter()
        .fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    refuse_too_large(&tree.root, bytes, SCAN_BYTES_MAX)?;
    let mut scan = Scan {
        tree,
        marker,
        places: Places::default(),
    };
    for database in &tree.databases {
        scan.database(database)?;
    }
    let databases: BTreeSet<String> = tree.databases.iter().map(|database| database.name.clone()).collect();
    for file in &tree.files {
        scan.name(&file.name);
        if !belongs_to_sqlite(&file.name, &databases) {
            refuse_too_large(&tree.root.join(&file.name), file.bytes, SCAN_FILE_BYTES_MAX)?;
            scan.file(&file.name, file.bytes)?;
        }
        scan.refuse_too_many()?;
    }
    for folder in &tree.folders {
        scan.folder(folder);
    }
    for (name, stranger) in &tree.strangers {
        if *stranger == Stranger::Name {
            let reason = "its name is not UTF-8 or has control characters, so it was not read";
            scan.places.problems.insert(name.clone(), reason.to_owned());
        }
    }
    scan.refuse_too_many()?;
    Ok(scan.places)
}

fn refuse_too_large(file: &Path, bytes: u64, bytes_max: u64) -> Result<(), ScanError> {
    if bytes > bytes_max {
        return Err(ScanError::TooLarge {
            file: file.into(),
            bytes,
            bytes_max,
        });
    }
    Ok(())
}

struct Scan<'a> {
    tree: &'a FrozenTree,
    marker: &'a Marker,
    places: Places,
}

impl Scan<'_> {
    fn database(&mut self, database: &FrozenDatabase) -> Result<(), ScanError> {
        let Some(read_copy) = &database.read_copy else {
            let problem = database
                .problem
                .clone()
                .unwrap_or_else(|| "there is no read copy".to_owned());
            self.places.problems.insert(database.name.clone(), problem);
            return Ok(());
        };
        let file = match self.tree.shape {
            Shape::File => String::new(),
            Shape::Folder | Shape::Absent => self.general(&database.name),
        };
        let is_aside = is_set_aside(&database.name);
        let (marker, places) = (self.marker, &mut self.places);
        let unread = each_cell(&self.tree.root.join(read_copy), |cell| {
            let count = marker.occurrences(cell.bytes);
            if count == 0 {
                return;
            }
            if is_aside {
                *places.set_aside.entry(database.name.clone()).or_default() += count;
                return;
            }
            let inside = Inside::Cell {
                table: cell.table.to_owned(),
                column: cell.column.to_owned(),
            };
            let seen = Sighting {
                is_whole: cell.bytes == marker.text().as_bytes(),
                ..Sighting::within(count)
            };
            let file = file.clone();
            places.add(Place { file, inside }, seen);
        })?;
        for (table, reason) in unread {
            self.places
                .problems
                .insert(format!("{}: {table}", database.name), reason);
        }
        Ok(())
    }

    fn file(&mut self, name: &str, recorded: u64) -> Result<(), ScanError> {
        let path = self.tree.root.join(name);
        let bytes = plain_file::read_recorded(&path, recorded);
        let bytes = bytes.map_err(|source| ScanError::File { file: path, source })?;
        if is_set_aside(name) {
            let count = self.marker.occurrences(&bytes);
            if count > 0 {
                *self.places.set_aside.entry(name.to_owned()).or_default() += count;
            }
            return Ok(());
        }
        match self.pointers(name, &bytes) {
            Some(Ok(pointers)) => self.json(name, pointers),
            Some(Err(broken)) => {
                self.places.problems.insert(name.to_owned(), broken.to_string());
                self.text(name, &bytes);
            }
            None => self.text(name, &bytes),
        }
        Ok(())
    }

    /// The places in a file that is JSON by its name.
    fn pointers(&self, name: &str, bytes: &[u8]) -> Option<Result<Pointers, Broken>> {
        let ending = name.rsplit_once('.')?.1;
        if ending.eq_ignore_ascii_case("json") {
            Some(walk::document_or_lines(bytes, self.marker))
        } else if ending.eq_ignore_ascii_case("jsonl") || ending.eq_ignore_ascii_case("ndjson") {
            Some(walk::lines(bytes, self.marker))
        } else {
            None
        }
    }

    fn json(&mut self, name: &str, pointers: Pointers) {
        let file = self.general(name);
        for (pointer, seen) in pointers {
            let file = file.clone();
            let inside = Inside::Json(pointer);
            self.places.add(Place { file, inside }, seen);
        }
    }

    fn text(&mut self, name: &str, bytes: &[u8]) {
        let count = self.marker.occurrences(bytes);
        if count > 0 {
            self.places
                .add(Place::text(self.general(name)), Sighting::within(count));
        }
    }

    /// A file whose path carries the marker; one file is one sighting.
    fn name(&mut self, name: &str) {
        if !self.marker.is_in(name) {
            return;
        }
        if is_set_aside(name) {
            *self.places.set_aside.entry(name.to_owned()).or_default() += 1;
            return;
        }
        self.add_name(name);
    }

    /// A folder whose own name carries the marker; what is in it is seen for itself.
    fn folder(&mut self, name: &str) {
        let own = name.rsplit('/').next().unwrap_or(name);
        if self.marker.is_in(own) {
            self.add_name(&format!("{name}/"));
        }
    }

    fn add_name(&mut self, name: &str) {
        let place = Place {
            file: self.general(name),
            inside: Inside::Name,
        };
        self.places.add(place, Sighting::within(1));
    }

    fn general(&self, path: &str) -> String {
        general_path(path, |part| self.marker.is_in(part))
    }

    fn refuse_too_many(&self) -> Result<(), ScanError> {
        if self.places.found.len() > PLACES_MAX {
            return Err(ScanError::TooManyPlaces {
                store: self.tree.root.clone(),
                marker: self.marker.text().to_owned(),
            });
        }
        Ok(())
    }
}
