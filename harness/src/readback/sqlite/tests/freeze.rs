//! Tests of freezing a store after a death, and of asking the read copy.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};

use super::child::Server;
use super::{NOTES, all_bytes, everything, folder, notes, only_column, store_at, store_in};
use crate::readback::sqlite::read_copy::immutable_uri;
use crate::readback::{FreezeError, Frozen, freeze, query_read_copy};

fn rows_of(frozen: &Frozen) -> Vec<serde_json::Value> {
    assert_eq!(frozen.problem, None);
    only_column(&query_read_copy(frozen.read_copy.as_ref().unwrap(), &everything()).unwrap())
}

fn names(frozen: &Frozen) -> Vec<&str> {
    frozen.files.iter().map(|file| file.name.as_str()).collect()
}

/// Leaves a log that holds the second of two rows.
fn die_with_a_log(store: &Path) {
    let mut server = Server::start(store);
    assert_eq!(server.value("PRAGMA journal_mode=WAL"), "wal");
    server.run(&format!("{NOTES}; INSERT INTO notes (note) VALUES ('checkpointed')"));
    server.value("PRAGMA wal_checkpoint(TRUNCATE)");
    server.run("INSERT INTO notes (note) VALUES ('in the log')");
    server.kill();
}

/// Leaves a journal that must be rolled back, and a main file with pages of the unfinished transaction.
pub(super) fn die_mid_transaction(store: &Path) {
    let mut server = Server::with(
        store,
        &format!("{NOTES}; INSERT INTO notes (note) VALUES ('committed')"),
    );
    server.run("PRAGMA cache_size=1; BEGIN; UPDATE notes SET note = 'not committed'");
    server.run(
        "INSERT INTO notes (note) SELECT hex(randomblob(999)) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL \
         SELECT i + 1 FROM n LIMIT 200) SELECT i FROM n)",
    );
    server.kill();
}

#[test]
fn a_left_over_log_is_read_where_immutable_alone_would_not_see_it() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    die_with_a_log(&store);
    let before = all_bytes(folder.path());
    let into = super::folder();
    let frozen = freeze(&store, into.path()).unwrap();
    assert_eq!(rows_of(&frozen), notes(&["checkpointed", "in the log"]));
    assert_eq!(names(&frozen), ["store.sqlite3", "store.sqlite3-wal"]);
    assert_eq!(all_bytes(folder.path()), before, "the original is untouched");

    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let raw = Connection::open_with_flags(immutable_uri(&into.path().join("store.sqlite3")).unwrap(), flags).unwrap();
    let seen: i64 = raw
        .query_row("SELECT count(*) FROM notes", [], |row| row.get(0))
        .unwrap();
    assert_eq!(seen, 1, "why the frozen main file is never asked");
}

#[test]
fn a_hot_journal_is_rolled_back_in_the_read_copy_only() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    die_mid_transaction(&store);
    let before = all_bytes(folder.path());
    let into = super::folder();
    let frozen = freeze(&store, into.path()).unwrap();
    assert_eq!(rows_of(&frozen), notes(&["committed"]));
    assert_eq!(names(&frozen), ["store.sqlite3", "store.sqlite3-journal"]);
    assert_eq!(all_bytes(folder.path()), before);
    for file in ["store.sqlite3", "store.sqlite3-journal"] {
        assert_eq!(
            fs::read(into.path().join(file)).unwrap(),
            before[&folder.path().join(file)],
            "{file}"
        );
    }
}

#[test]
fn asking_the_read_copy_changes_nothing_in_its_folder() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    die_with_a_log(&store);
    let into = super::folder();
    let frozen = freeze(&store, into.path()).unwrap();
    let before = all_bytes(into.path());
    assert_eq!(before.len(), 3);
    assert_eq!(rows_of(&frozen).len(), 2);
    assert_eq!(all_bytes(into.path()), before);
}

#[test]
fn equal_bytes_give_an_equal_read_copy() {
    let folder = folder();
    let logged = folder.path().join("logged.sqlite3");
    let cut_off = folder.path().join("cut-off.sqlite3");
    die_with_a_log(&logged);
    die_mid_transaction(&cut_off);
    for store in [logged, cut_off] {
        let (first, second) = (super::folder(), super::folder());
        let (one, two) = (
            freeze(&store, first.path()).unwrap(),
            freeze(&store, second.path()).unwrap(),
        );
        assert_eq!(one.files, two.files);
        assert_eq!(
            fs::read(one.read_copy.unwrap()).unwrap(),
            fs::read(two.read_copy.unwrap()).unwrap()
        );
    }
}

#[test]
fn the_digests_are_those_of_the_copies() {
    let folder = folder();
    let store = store_in(&folder, NOTES);
    let into = super::folder();
    let frozen = freeze(&store, into.path()).unwrap();
    for file in &frozen.files {
        let bytes = fs::read(into.path().join(&file.name)).unwrap();
        assert_eq!(file.bytes, u64::try_from(bytes.len()).unwrap());
        assert_eq!(file.sha256, base16ct::lower::encode_string(&Sha256::digest(&bytes)));
    }
    assert_eq!(
        serde_json::from_str::<Frozen>(&serde_json::to_string(&frozen).unwrap()).unwrap(),
        frozen
    );
}

#[test]
fn an_absent_store_freezes_to_no_files() {
    let folder = folder();
    let into = super::folder();
    let frozen = freeze(&folder.path().join("store.sqlite3"), into.path()).unwrap();
    assert_eq!(
        frozen,
        Frozen {
            files: vec![],
            read_copy: None,
            problem: None
        }
    );
}

#[test]
fn an_empty_store_is_a_store_without_tables() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    fs::write(&store, "").unwrap();
    let frozen = freeze(&store, super::folder().path()).unwrap();
    assert_eq!((frozen.files.len(), frozen.problem), (1, None));
    fs::write(folder.path().join("store.sqlite3-wal"), "left").unwrap();
    let frozen = freeze(&store, super::folder().path()).unwrap();
    assert!(frozen.problem.unwrap().contains("empty"));
}

#[test]
fn damage_is_kept_and_said() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    store_at(&store, NOTES);
    let mut connection = Connection::open(&store).unwrap();
    let transaction = connection.transaction().unwrap();
    for _ in 0..500 {
        transaction
            .execute("INSERT INTO notes (note) VALUES (hex(zeroblob(100)))", [])
            .unwrap();
    }
    transaction.commit().unwrap();
    connection.close().unwrap();
    let whole = fs::read(&store).unwrap();

    let torn = folder.path().join("torn.sqlite3");
    fs::write(&torn, &whole[..whole.len() / 2]).unwrap();
    let overwritten = folder.path().join("overwritten.sqlite3");
    fs::write(&overwritten, &whole).unwrap();
    fs::File::options()
        .write(true)
        .open(&overwritten)
        .unwrap()
        .write_all_at(&[0xAA; 2], 8192 + 8)
        .unwrap();
    let text = folder.path().join("text.sqlite3");
    fs::write(&text, "no database at all, whatever its name says".repeat(20)).unwrap();
    for (damaged, expected) in [
        (torn, "malformed"),
        (overwritten, "quick_check"),
        (text, "not a database"),
    ] {
        let into = super::folder();
        let frozen = freeze(&damaged, into.path()).unwrap();
        assert_eq!(frozen.read_copy, None);
        assert_eq!(all_bytes(into.path()).len(), 1, "the bytes are kept");
        let problem = frozen.problem.unwrap();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn a_missing_main_file_beside_a_log_is_a_problem() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    die_with_a_log(&store);
    fs::remove_file(&store).unwrap();
    let frozen = freeze(&store, super::folder().path()).unwrap();
    assert_eq!(names(&frozen), ["store.sqlite3-wal"]);
    assert!(frozen.problem.unwrap().contains("main file is missing"));
}

#[test]
fn an_extension_that_is_not_here_is_no_damage() {
    let changes = [
        "INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING vec0(a)')",
        "INSERT INTO sqlite_schema VALUES ('view', 'v', 'v', 0, 'CREATE VIEW v AS SELECT unknown(note) FROM notes')",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE other (a CHECK (unknown(a)))' WHERE name = 'other'",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE other (a AS (unknown(1)), b)' WHERE name = 'other'",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE other (a COLLATE unknown)' WHERE name = 'other'",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX by_a ON other (a COLLATE unknown)' WHERE name = 'by_a'",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX by_a ON other (unknown(a))' WHERE name = 'by_a'",
    ];
    for change in changes {
        let folder = folder();
        let store = store_in(
            &folder,
            &format!(
                "{NOTES}; INSERT INTO notes (note) VALUES ('m1'); CREATE TABLE other (a); CREATE INDEX by_a ON other (a);
                 INSERT INTO other VALUES ('x'); PRAGMA writable_schema=ON; {change};"
            ),
        );
        let into = super::folder();
        assert_eq!(
            rows_of(&freeze(&store, into.path()).unwrap()),
            notes(&["m1"]),
            "{change}"
        );
    }
}

#[test]
fn nothing_is_overwritten() {
    let folder = folder();
    let store = store_in(&folder, NOTES);
    let into = super::folder();
    freeze(&store, into.path()).unwrap();
    let before = all_bytes(into.path());
    assert!(matches!(
        freeze(&store, into.path()),
        Err(FreezeError::File { act: "create", .. })
    ));
    assert_eq!(all_bytes(into.path()), before);
}

#[test]
fn a_folder_is_no_store() {
    let folder = folder();
    assert!(matches!(
        freeze(folder.path(), super::folder().path()),
        Err(FreezeError::NotAFile { .. })
    ));
}

#[test]
fn odd_names_are_only_names() {
    for name in [
        "a b",
        "what?mode=rw",
        "50%41",
        "a#b",
        "größe 数",
        "file:x",
        "it's\"",
        "-",
        "a//b",
    ] {
        let folder = folder();
        let inner = folder.path().join(name);
        fs::create_dir_all(&inner).unwrap();
        let store = inner.join(format!("{}.sqlite3", name.replace('/', "")));
        store_at(
            &store,
            &format!("PRAGMA journal_mode=WAL; {NOTES}; INSERT INTO notes (note) VALUES ('m1')"),
        );
        let frozen = freeze(&store, &inner.join("frozen")).unwrap();
        assert_eq!(rows_of(&frozen), notes(&["m1"]), "{name}");
        let rows = crate::readback::observe_live(&store, &everything(), 1, || {}).unwrap();
        assert_eq!(only_column(&rows), notes(&["m1"]), "{name}");
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 2, "{name}");
    }
}

/// Whether such a transaction was committed would depend on whether a file is there, on the machine of the reviewer too.
#[test]
fn a_journal_that_names_another_file_is_not_recovered_and_the_file_is_left() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    die_mid_transaction(&store);
    let victim = super::folder();
    let victim = victim.path().join("id_rsa");
    fs::write(&victim, "not a list of journals").unwrap();
    let name = victim.to_str().unwrap().as_bytes();
    let journal = folder.path().join("store.sqlite3-journal");
    let mut bytes = fs::read(&journal).unwrap();
    // A page number behind the pages, the name, its length and sum, and the first bytes of every journal.
    bytes.extend_from_slice(&u32::MAX.to_be_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&u32::try_from(name.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&name.iter().map(|byte| u32::from(*byte)).sum::<u32>().to_be_bytes());
    bytes.extend_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(&journal, bytes).unwrap();
    let into = super::folder();
    let frozen = freeze(&store, into.path()).unwrap();
    assert!(frozen.problem.unwrap().contains("several stores"));
    assert_eq!(frozen.read_copy, None);
    assert!(victim.exists());
}

/// A server may put one beside its store; what it leads to is somebody else's.
#[test]
fn a_link_beside_the_store_is_not_followed() {
    let folder = folder();
    let store = store_in(&folder, NOTES);
    let outside = super::folder();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    for suffix in ["-wal", "-journal"] {
        let beside = folder.path().join(format!("store.sqlite3{suffix}"));
        std::os::unix::fs::symlink(outside.path().join("secret"), &beside).unwrap();
        let refused = freeze(&store, &outside.path().join(suffix));
        assert!(matches!(refused, Err(FreezeError::NotAFile { .. })), "{refused:?}");
        fs::remove_file(beside).unwrap();
    }
}
