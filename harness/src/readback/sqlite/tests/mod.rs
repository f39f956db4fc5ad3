//! Tests of reading SQLite stores, on real files and beside real processes.
//!
//! Whoever plays the server is another process ([`child`]): POSIX locks of one process do not show its quarrels.

mod child;
mod doctor;
mod freeze;
mod live;
mod query;
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::readback::{Rows, SqlQuery};

/// A store that grows by one table with a key and a text.
const NOTES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT)";

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Makes a store in this process, and closes it again.
fn store_at(store: &Path, sql: &str) {
    let connection = Connection::open(store).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

fn store_in(folder: &TempDir, sql: &str) -> PathBuf {
    let store = folder.path().join("store.sqlite3");
    store_at(&store, sql);
    store
}

fn by_marker() -> SqlQuery {
    SqlQuery::new(
        "SELECT note FROM notes WHERE note = $marker ORDER BY id",
        [("marker", "m1")],
    )
}

fn everything() -> SqlQuery {
    SqlQuery::new("SELECT note FROM notes ORDER BY id", [])
}

fn only_column(rows: &Rows) -> Vec<Value> {
    rows.rows.iter().map(|row| row[0].clone()).collect()
}

fn notes(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!(name)).collect()
}

/// Every file of a folder with its bytes, to see that nothing came, went or changed.
fn all_bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect()
}
