//! Tests of the search of a frozen store.

use std::fs;
use std::os::unix::fs::symlink;

use super::{places, told};
use crate::readback::files::tests::{marker, put, sql, store_of};
use crate::readback::scan::search::{PLACES_MAX, SCAN_BYTES_MAX, SCAN_FILE_BYTES_MAX};
use crate::readback::{FrozenTree, Places, ScanError, freeze_tree, scan};

fn sqlite(statements: &str) -> Vec<String> {
    let folder = store_of(&[]);
    sql(folder.path(), "store.sqlite3", statements);
    let found = places(&folder.path().join("store.sqlite3"));
    assert_eq!(found.problems.len(), 0, "{:?}", found.problems);
    told(&found)
}

#[test]
fn a_column_is_a_place_wherever_in_its_cells_the_marker_stands() {
    let orders = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT, memo TEXT); ";
    for (values, expected) in [
        ("('mk-1', NULL)", vec!["orders.note × 1"]),
        ("('buy: mk-1, soon', NULL)", vec!["orders.note × 1"]),
        ("('mk-1 mk-1', NULL)", vec!["orders.note × 2"]),
        ("('mk-1', 'again mk-1')", vec!["orders.memo × 1", "orders.note × 1"]),
        ("('{\"title\":\"mk-1\",\"n\":[1]}', NULL)", vec!["orders.note × 1"]),
        (
            "(x'006d006b002d0031', x'ff6d006b002d003100ff')",
            vec!["orders.memo × 1", "orders.note × 1"],
        ),
        ("('mk-2', 17)", vec![]),
    ] {
        assert_eq!(
            sqlite(&format!("{orders} INSERT INTO orders (note, memo) VALUES {values}")),
            expected,
            "{values}"
        );
    }
}

#[test]
fn the_encoding_of_a_store_makes_no_difference() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let statements =
            format!("PRAGMA encoding='{encoding}'; CREATE TABLE t (note TEXT); INSERT INTO t VALUES ('é mk-1')");
        assert_eq!(sqlite(&statements), ["t.note × 1"], "{encoding}");
    }
}

#[test]
fn indices_views_and_generated_columns_are_not_counted_again() {
    let statements = "CREATE TABLE \"the orders\" (id TEXT PRIMARY KEY, note TEXT, \
             copy TEXT AS (note || '!'), kept TEXT AS (note || '!') STORED) WITHOUT ROWID;
         CREATE INDEX by_note ON \"the orders\" (note); CREATE VIEW v AS SELECT * FROM \"the orders\";
         INSERT INTO \"the orders\" VALUES ('a', 'mk-1'); ANALYZE;";
    assert_eq!(sqlite(statements), ["the orders.note × 1"]);
}

/// The blobs of a full-text index hold terms once for each segment, which is no count of anything.
#[test]
fn a_full_text_index_is_read_by_its_documents() {
    for tokenizer in ["unicode61 tokenchars '-'", "trigram"] {
        let statements = format!(
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT);
             CREATE VIRTUAL TABLE found USING fts5(note, tokenize=\"{tokenizer}\");
             CREATE VIRTUAL TABLE beside USING fts5(note, content='notes', content_rowid='id');
             CREATE VIRTUAL TABLE words USING fts5vocab(found, 'row');
             INSERT INTO notes (note) VALUES ('a mk-1'), ('b mk-1');
             INSERT INTO found SELECT note FROM notes; INSERT INTO beside (rowid, note) SELECT id, note FROM notes;"
        );
        assert_eq!(
            sqlite(&statements),
            ["beside.note × 2", "found.note × 2", "notes.note × 2"]
        );
    }
    let old = "CREATE VIRTUAL TABLE f USING fts4(note); INSERT INTO f VALUES ('mk-1')";
    assert_eq!(sqlite(old), ["f.note × 1"]);
}

#[test]
fn a_document_is_searched_by_general_pointers() {
    let store = store_of(&[(
        "m.json",
        r#"{"entities": [{"name": "mk-1", "tags": ["x mk-1", "mk-1"]}, {"name": "mk-1"}], "by/id": {"mk-1": {"n": "mk-1"}}}"#,
    )]);
    let expected = [
        "m.json#/by~1id/* × 1",
        "m.json#/by~1id/*/n × 1",
        "m.json#/entities/*/name × 2",
        "m.json#/entities/*/tags/* × 2",
    ];
    assert_eq!(told(&places(&store.path().join("m.json"))), expected);
}

/// Older releases of `server-memory` keep JSON Lines in `memory.json`: with one line it is a document too.
#[test]
fn lines_in_a_file_called_json_are_lines() {
    let line = "{\"type\":\"entity\",\"name\":\"mk-1\"}";
    for (name, lines) in [("m.json", 1), ("m.json", 2), ("m.jsonl", 1), ("m.NDJSON", 3)] {
        let store = store_of(&[(name, &vec![line; lines].join("\n"))]);
        assert_eq!(told(&places(store.path())), [format!("{name}#/name × {lines}")]);
    }
}

#[test]
fn a_folder_is_searched_with_all_that_is_in_it() {
    let store = store_of(&[
        ("state.json", r#"{"last": "mk-1"}"#),
        ("log/events.jsonl", "{\"n\":\"mk-1\"}\n{\"n\":\"mk-1\"}\n"),
        ("notes.txt", "mk-1, and mk-1\n"),
        ("notes/mk-1.md", "# mk-1"),
        ("notes/mk-1-2.md", ""),
        ("by/mk-1/deep/a.bin", "\u{0}mk-1"),
        ("m.json.tmp", "mk-1"),
        ("unrelated.json", "{}"),
    ]);
    sql(
        store.path(),
        "app.db",
        "CREATE TABLE t (note TEXT); INSERT INTO t VALUES ('mk-1')",
    );
    symlink("notes.txt", store.path().join("again.txt")).unwrap();
    let found = places(store.path());
    let expected = [
        "app.db: t.note × 1",
        "by/*/ (its name) × 1",
        "by/*/deep/a.bin (its name) × 1",
        "by/*/deep/a.bin × 1",
        "log/events.jsonl#/n × 2",
        "notes.txt × 2",
        "notes/*.md (its name) × 2",
        "notes/*.md × 1",
        "state.json#/last × 1",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.set_aside, [("m.json.tmp".to_owned(), 1)].into());
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Places>(&json).unwrap(), found);
}

#[test]
fn what_cannot_be_read_as_what_it_is_called_is_told() {
    let store = store_of(&[
        ("torn.json", r#"{"a": [{"n": "mk-1"}, {"n": "m"#),
        ("empty.json", ""),
        ("glued.json", "{\"a\":1}}"),
        ("torn.jsonl", "{\"n\":\"mk-1\"}\n{\"n\":"),
        ("broken.db", "SQLite format 3\0 mk-1"),
        ("a\u{1}b", "mk-1"),
        ("deep.json", &"[".repeat(100_000)),
    ]);
    let found = places(store.path());
    let names: Vec<&str> = found.problems.keys().map(String::as_str).collect();
    let expected = [
        "a\u{FFFD}b",
        "broken.db",
        "deep.json",
        "empty.json",
        "glued.json",
        "torn.json",
        "torn.jsonl",
    ];
    assert_eq!(names, expected);
    assert!(found.problems["torn.jsonl"].contains("line 2 is cut off"));
    assert_eq!(told(&found), ["torn.json × 1", "torn.jsonl × 1"]);
}

#[test]
fn a_table_that_cannot_be_read_here_is_told_and_the_others_are_read() {
    let store = store_of(&[]);
    let virtual_table = "CREATE VIRTUAL TABLE v USING fts5(a, tokenize=none_such)";
    let statements = format!(
        "CREATE TABLE t (note TEXT); INSERT INTO t VALUES ('mk-1'); PRAGMA writable_schema=ON;
         INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, '{virtual_table}');"
    );
    sql(store.path(), "app.db", &statements);
    let found = places(store.path());
    assert_eq!(told(&found), ["app.db: t.note × 1"]);
    assert!(
        found.problems["app.db: v"].contains("constructor failed"),
        "{:?}",
        found.problems
    );
}

#[test]
fn a_scan_is_bounded() {
    let store = store_of(&[]);
    let large = fs::File::create(store.path().join("large.bin")).unwrap();
    large.set_len(SCAN_FILE_BYTES_MAX + 1).unwrap();
    let into = tempfile::tempdir().unwrap();
    let mut tree = freeze_tree(store.path(), into.path()).unwrap();
    let refused = |tree: &FrozenTree| scan(tree, &marker()).unwrap_err();
    assert!(matches!(
        refused(&tree),
        ScanError::TooLarge {
            bytes_max: SCAN_FILE_BYTES_MAX,
            ..
        }
    ));
    tree.files[0].bytes = SCAN_BYTES_MAX + 1;
    assert!(matches!(
        refused(&tree),
        ScanError::TooLarge {
            bytes_max: SCAN_BYTES_MAX,
            ..
        }
    ));

    let store = store_of(&[]);
    for index in 0..=PLACES_MAX {
        put(store.path(), &format!("{index}.txt"), "mk-1");
    }
    let into = tempfile::tempdir().unwrap();
    let tree = freeze_tree(store.path(), into.path()).unwrap();
    assert!(matches!(refused(&tree), ScanError::TooManyPlaces { .. }));
}

#[test]
fn a_store_that_is_not_there_has_no_places() {
    let store = store_of(&[]);
    assert_eq!(places(&store.path().join("none")), Places::default());
}
