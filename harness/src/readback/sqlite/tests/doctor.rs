//! Tests of the doctored copy.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{folder, store_in};
use crate::readback::sqlite::doctor::kept_type;
use crate::readback::{DoctorError, Doctored, SqlQuery, duplicate_marked_rows, query_read_copy};

fn doctored(schema: &str) -> (TempDir, Doctored) {
    let folder = folder();
    let store = store_in(&folder, schema);
    let before = fs::read(&store).unwrap();
    let doctored = duplicate_marked_rows(&store, "m1", &folder.path().join("doctored.sqlite3")).unwrap();
    assert_eq!(fs::read(&store).unwrap(), before, "the read copy is untouched");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing is left beside the copy"
    );
    (folder, doctored)
}

fn count(doctored: &Doctored, sql: &str) -> usize {
    query_read_copy(&doctored.file, &SqlQuery::new(sql, [("marker", "m1")]))
        .unwrap()
        .count()
}

fn doubled(doctored: &Doctored) -> Vec<(&str, u64)> {
    doctored
        .tables
        .iter()
        .map(|table| (table.table.as_str(), table.rows))
        .collect()
}

#[test]
fn a_natural_key_no_longer_forbids_the_second_row() {
    let (_folder, doctored) = doctored(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT NOT NULL UNIQUE, qty INT CHECK (qty < 9));
         CREATE UNIQUE INDEX one ON orders (note, qty);
         CREATE TRIGGER no_more BEFORE INSERT ON orders WHEN (SELECT count(*) FROM orders) > 1
             BEGIN SELECT RAISE(ABORT, 'no more'); END;
         CREATE VIEW open_orders AS SELECT id, note FROM orders;
         INSERT INTO orders (id, note) VALUES (7, 'm1'), (9, 'other');",
    );
    assert_eq!(doubled(&doctored), [("orders", 1)]);
    assert_eq!(count(&doctored, "SELECT id FROM orders WHERE note = $marker"), 2);
    assert_eq!(
        count(&doctored, "SELECT DISTINCT id FROM orders WHERE note = $marker"),
        2
    );
    assert_eq!(
        count(&doctored, "SELECT DISTINCT note FROM orders WHERE note = $marker"),
        1
    );
    assert_eq!(
        count(&doctored, "SELECT id FROM orders WHERE note = $marker LIMIT 1"),
        1
    );
    assert_eq!(count(&doctored, "SELECT id FROM open_orders WHERE note = $marker"), 2);
    assert_eq!(count(&doctored, "SELECT id FROM orders"), 3);
    assert_eq!(
        count(
            &doctored,
            "SELECT id FROM orders WHERE rowid = 10 AND id = 10 AND note = $marker"
        ),
        1
    );
}

#[test]
fn every_table_with_the_marker_is_doubled_and_no_other() {
    let (_folder, doctored) = doctored(
        "CREATE TABLE a (key TEXT PRIMARY KEY, v) WITHOUT ROWID;  INSERT INTO a VALUES ('m1', 1), ('m2', 2);
         CREATE TABLE b (payload BLOB);  INSERT INTO b VALUES (CAST('{\"note\":\"m1\"}' AS BLOB)), (x'00'), ('see m1');
         CREATE TABLE c (x REFERENCES a (key) ON DELETE CASCADE);  INSERT INTO c VALUES ('m1');
         CREATE TABLE d (x);  INSERT INTO d VALUES ('nothing');
         CREATE TABLE e (first TEXT, second TEXT, PRIMARY KEY (first, second));  INSERT INTO e VALUES ('m1', 'x');
         CREATE TABLE f (s TEXT, g TEXT AS (s || '!') STORED UNIQUE, h AS (s || '?'));  INSERT INTO f VALUES ('m1');",
    );
    assert_eq!(doubled(&doctored), [("a", 1), ("b", 2), ("c", 1), ("e", 1), ("f", 1)]);
    assert_eq!(count(&doctored, "SELECT * FROM a WHERE key = $marker"), 2);
    assert_eq!(count(&doctored, "SELECT * FROM b"), 5);
    assert_eq!(count(&doctored, "SELECT * FROM d"), 1);
    assert_eq!(
        count(
            &doctored,
            "SELECT * FROM f WHERE g = $marker || '!' AND h = $marker || '?'"
        ),
        2
    );
}

#[test]
fn values_and_declared_types_stay() {
    let schema =
        "CREATE TABLE t (a VARCHAR(20), b \"odd 'type\", c DECIMAL(10, 5), d, e REAL, note TEXT COLLATE NOCASE);
                  CREATE TABLE s (a ANY, b INT, note TEXT) STRICT;
                  INSERT INTO t VALUES (1, '2', '3.5', x'04', 5, 'm1'); INSERT INTO s VALUES ('007', 8, 'm1');";
    let (_folder, doctored) = doctored(schema);
    let connection = Connection::open(&doctored.file).unwrap();
    let value = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let types = "SELECT group_concat(type, '|') FROM pragma_table_info('t')";
    assert_eq!(value(types), "VARCHAR(20)|NUMERIC|DECIMAL(10, 5)||REAL|TEXT");
    let all = "quote(a) || quote(b) || quote(c) || quote(d) || quote(e)";
    assert_eq!(value(&format!("SELECT DISTINCT {all} FROM t")), "'1'23.5X'04'5.0");
    assert_eq!(value("SELECT DISTINCT quote(a) || quote(b) FROM s"), "'007'8");
    assert_eq!(value("PRAGMA integrity_check"), "ok");
    assert_eq!(value("PRAGMA journal_mode"), "delete");
}

#[test]
fn odd_names_are_only_names() {
    let (_folder, doctored) = doctored(
        "CREATE TABLE \"or\"\"der;--\" (\"sel ect\" TEXT UNIQUE, \"rowid\" TEXT, \"'\" TEXT);
         CREATE TABLE \"held\" (note TEXT PRIMARY KEY);
         INSERT INTO \"or\"\"der;--\" VALUES ('m1', 'r', 'q'); INSERT INTO held VALUES ('m1');",
    );
    assert_eq!(doubled(&doctored), [("held", 1), ("or\"der;--", 1)]);
    assert_eq!(
        count(&doctored, "SELECT * FROM \"or\"\"der;--\" WHERE \"sel ect\" = $marker"),
        2
    );
    assert_eq!(count(&doctored, "SELECT * FROM held"), 2);
}

#[test]
fn full_text_search_beside_a_table_is_left_alone() {
    let (_folder, doctored) = doctored(
        "CREATE TABLE notes (note TEXT UNIQUE); CREATE VIRTUAL TABLE words USING fts5(note);
         CREATE TRIGGER also AFTER INSERT ON notes BEGIN INSERT INTO words VALUES (new.note); END;
         INSERT INTO notes VALUES ('m1');",
    );
    assert_eq!(doubled(&doctored), [("notes", 1)]);
    assert_eq!(count(&doctored, "SELECT * FROM words WHERE words MATCH $marker"), 1);
}

#[test]
fn an_extension_that_is_not_here_is_no_hindrance() {
    let (_folder, doctored) = doctored(
        "CREATE TABLE notes (note TEXT UNIQUE); INSERT INTO notes VALUES ('m1'); PRAGMA writable_schema=ON;
         INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING vec0(a)');
         UPDATE sqlite_schema SET sql = 'CREATE TABLE notes (note TEXT UNIQUE CHECK (unknown(note)))'
             WHERE name = 'notes';",
    );
    assert_eq!(count(&doctored, "SELECT note FROM notes WHERE note = $marker"), 2);
}

#[test]
fn a_marker_nowhere_and_an_empty_one_are_errors() {
    let folder = folder();
    let store = store_in(&folder, "CREATE TABLE t (a); INSERT INTO t VALUES ('x')");
    let into = |name: &str| -> PathBuf { folder.path().join(name) };
    assert!(matches!(
        duplicate_marked_rows(&store, "m1", &into("a")),
        Err(DoctorError::NotFound { .. })
    ));
    assert!(matches!(
        duplicate_marked_rows(&store, "", &into("b")),
        Err(DoctorError::EmptyMarker { .. })
    ));
    assert!(matches!(
        duplicate_marked_rows(&store, "x", &store),
        Err(DoctorError::Copy { .. })
    ));
    assert!(matches!(
        duplicate_marked_rows(Path::new("/nowhere"), "x", &into("c")),
        Err(DoctorError::Copy { .. })
    ));
}

proptest! {
    /// Whatever type a table was declared with, a column of the kept type gives the same value back.
    #[test]
    fn a_kept_type_converts_values_alike(declared in "[A-Za-z0-9 _().,'-]{1,16}", value in "[0-9.]{1,6}") {
        let connection = Connection::open_in_memory().unwrap();
        let create = |table: &str, declared: &str| format!("CREATE TABLE {table} (a {declared})");
        if connection.execute_batch(&create("original", &format!("\"{declared}\""))).is_ok() {
            let reported: String =
                connection.query_row("SELECT type FROM pragma_table_info('original')", [], |row| row.get(0)).unwrap();
            connection.execute_batch(&create("rebuilt", &kept_type(&reported).unwrap())).unwrap();
            let stored = |table: &str| -> String {
                connection.execute(&format!("INSERT INTO {table} VALUES (?1)"), [&value]).unwrap();
                connection.query_row(&format!("SELECT quote(a) FROM {table}"), [], |row| row.get(0)).unwrap()
            };
            prop_assert_eq!(stored("original"), stored("rebuilt"));
        }
    }
}
