//! Tests of reading stores of files, on real files.

mod live;
mod query;
mod tree;

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::readback::Marker;

/// A folder with these files.
pub(in crate::readback) fn store_of(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        put(folder.path(), name, text);
    }
    folder
}

/// Writes one file, and the folders that it needs.
pub(in crate::readback) fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs statements on an SQLite store, and closes it.
pub(in crate::readback) fn sql(folder: &Path, name: &str, statements: &str) {
    let connection = Connection::open(folder.join(name)).unwrap();
    connection.execute_batch(statements).unwrap();
    connection.close().unwrap();
}

pub(in crate::readback) fn marker() -> Marker {
    Marker::new("mk-1").unwrap()
}
