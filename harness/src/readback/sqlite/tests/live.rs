//! Tests of reading beside a living server.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::child::Server;
use super::{NOTES, all_bytes, by_marker, everything, folder, notes, only_column, store_at, store_in};
use crate::readback::error::Bound;
use crate::readback::query::LIVE_STORE_BYTES_MAX;
use crate::readback::sqlite::locks::turn;
use crate::readback::{LiveReader, Poll, ReadError, SqlQuery, observe_live};

const INSERT: &str = "INSERT INTO notes (note) VALUES ('m1')";

fn found(poll: Poll) -> usize {
    let Poll::Rows(rows) = poll else {
        panic!("expected rows, not {poll:?}")
    };
    rows.count()
}

fn wal_server(store: &std::path::Path) -> Server {
    let mut server = Server::start(store);
    assert_eq!(server.value("PRAGMA journal_mode=WAL"), "wal");
    server.run(NOTES);
    server
}

#[test]
fn under_wal_a_row_is_seen_after_its_commit_and_not_before() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = wal_server(&store);
    let mut reader = LiveReader::open(&store);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 0);
    server.run(&format!("BEGIN IMMEDIATE; {INSERT}"));
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 0);
    server.run("COMMIT");
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 1);
    server.run(INSERT);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 2);
}

#[test]
fn under_wal_no_commit_fails_under_constant_polling() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let server = wal_server(&store);
    let (failed, reader) = commits_under_polling(server, LiveReader::open(&store), 1_000);
    assert_eq!(failed, "0 failed");
    assert_eq!(found({ reader }.poll(&by_marker()).unwrap()), 1_000);
}

#[test]
fn under_a_rollback_journal_no_commit_fails_under_constant_polling() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let server = Server::with(&store, NOTES);
    let (failed, reader) = commits_under_polling(server, LiveReader::open(&store), 1_000);
    assert_eq!(failed, "0 failed");
    assert_eq!(found(LiveReader::open(&store).poll(&by_marker()).unwrap()), 1_000);
    drop(reader);
}

/// Polls without a pause for as long as the server commits.
fn commits_under_polling(mut server: Server, mut reader: LiveReader, commits: u32) -> (String, LiveReader) {
    let writing = thread::spawn(move || server.commits(commits));
    let mut seen = 0;
    while !writing.is_finished() {
        if let Poll::Rows(rows) = reader.poll(&by_marker()).unwrap() {
            assert!(rows.count() >= seen, "a committed row went away");
            seen = rows.count();
        }
    }
    (writing.join().unwrap(), reader)
}

#[test]
fn under_a_rollback_journal_a_row_is_seen_after_its_commit_and_not_before() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    for mode in ["DELETE", "TRUNCATE", "PERSIST", "MEMORY"] {
        let mut server = Server::start(&store);
        server.value(&format!("PRAGMA journal_mode={mode}"));
        server.run(&format!("DROP TABLE IF EXISTS notes; {NOTES}"));
        let mut reader = LiveReader::open(&store);
        assert_eq!(found(reader.poll(&by_marker()).unwrap()), 0, "{mode}");
        assert_eq!(reader.poll(&by_marker()).unwrap(), Poll::Unchanged);
        server.run(&format!("BEGIN IMMEDIATE; {INSERT}"));
        assert_eq!(reader.poll(&by_marker()).unwrap(), Poll::Unchanged);
        assert_eq!(reader.poll(&everything()).unwrap(), Poll::Busy);
        server.run("COMMIT");
        assert_eq!(found(reader.poll(&by_marker()).unwrap()), 1, "{mode}");
        assert_eq!(reader.poll(&by_marker()).unwrap(), Poll::Unchanged);
        assert_eq!(
            found(reader.poll(&everything()).unwrap()),
            1,
            "another query is not unchanged"
        );
    }
}

#[test]
fn spilled_pages_of_an_open_transaction_are_not_seen() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = Server::with(&store, &format!("{NOTES}; {INSERT}; PRAGMA cache_size=1; BEGIN"));
    server.run(
        "INSERT INTO notes (note) SELECT hex(randomblob(999)) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL \
         SELECT i + 1 FROM n LIMIT 200) SELECT i FROM n)",
    );
    assert_eq!(LiveReader::open(&store).poll(&everything()).unwrap(), Poll::Busy);
    server.run("ROLLBACK");
    assert_eq!(found(LiveReader::open(&store).poll(&everything()).unwrap()), 1);
}

#[test]
fn a_store_too_large_to_copy_is_left_alone_while_its_server_lives() {
    let folder = folder();
    let store = store_in(&folder, NOTES);
    fs::File::options()
        .write(true)
        .open(&store)
        .unwrap()
        .set_len(LIVE_STORE_BYTES_MAX + 1)
        .unwrap();
    let error = LiveReader::open(&store).poll(&by_marker()).unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::TooMuch {
                bound: Bound::Store { .. },
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn between_polls_no_lock_is_held() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = wal_server(&store);
    server.run(INSERT);
    let mut reader = LiveReader::open(&store);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 1);
    assert_eq!(
        server.value("PRAGMA journal_mode=DELETE"),
        "delete",
        "needs the store for itself"
    );
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 1);
    server.run("BEGIN EXCLUSIVE");
    assert_eq!(reader.poll(&everything()).unwrap(), Poll::Busy);
    server.run("COMMIT");
    assert_eq!(server.value("PRAGMA journal_mode=WAL"), "wal");
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 1);
    server.close();
    assert_eq!(
        all_bytes(folder.path()).len(),
        1,
        "the last connection could take its log away"
    );
}

#[test]
fn a_reader_outlives_its_server_and_sees_the_next_ones_log() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut reader = LiveReader::open(&store);
    assert_eq!(reader.poll(&by_marker()).unwrap(), Poll::Absent);
    let mut first = wal_server(&store);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 0);
    first.run(INSERT);
    first.close();
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 1);
    let mut second = Server::with(&store, INSERT);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 2);
    second.run(INSERT);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 3);
}

#[test]
fn reading_leaves_nothing_beside_a_closed_wal_store() {
    let folder = folder();
    let store = store_in(&folder, &format!("PRAGMA journal_mode=WAL; {NOTES}; {INSERT}"));
    let before = all_bytes(folder.path());
    assert_eq!(before.len(), 1);
    assert_eq!(found(LiveReader::open(&store).poll(&by_marker()).unwrap()), 1);
    assert_eq!(all_bytes(folder.path()), before);
}

#[test]
fn reading_what_a_dead_server_left_changes_nothing() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = wal_server(&store);
    server.run(INSERT);
    server.kill();
    let before = all_bytes(folder.path());
    assert_eq!(before.len(), 3, "main file, -wal, -shm");
    assert_eq!(found(LiveReader::open(&store).poll(&by_marker()).unwrap()), 1);
    assert_eq!(all_bytes(folder.path()), before);
}

#[test]
fn a_hot_journal_is_busy_and_stays_hot() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    super::freeze::die_mid_transaction(&store);
    let before = all_bytes(folder.path());
    assert_eq!(LiveReader::open(&store).poll(&everything()).unwrap(), Poll::Busy);
    assert_eq!(all_bytes(folder.path()), before);
}

#[test]
fn a_wal_held_exclusively_is_busy() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = Server::start(&store);
    assert_eq!(server.value("PRAGMA locking_mode=EXCLUSIVE"), "exclusive");
    assert_eq!(server.value("PRAGMA journal_mode=WAL"), "wal");
    server.run(&format!("{NOTES}; {INSERT}"));
    let before = all_bytes(folder.path());
    assert_eq!(LiveReader::open(&store).poll(&by_marker()).unwrap(), Poll::Busy);
    assert_eq!(all_bytes(folder.path()), before);
}

#[test]
fn an_empty_file_is_absent_until_it_has_a_header() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    fs::write(&store, "").unwrap();
    let mut reader = LiveReader::open(&store);
    assert_eq!(reader.poll(&by_marker()).unwrap(), Poll::Absent);
    store_at(&store, "CREATE TABLE other (a)");
    assert!(matches!(reader.poll(&by_marker()), Err(ReadError::NoSuchTable { .. })));
    store_at(&store, NOTES);
    assert_eq!(found(reader.poll(&by_marker()).unwrap()), 0);
}

#[test]
fn a_link_is_followed_to_the_files_beside_the_store() {
    let folder = folder();
    let elsewhere = super::folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = wal_server(&store);
    server.run(INSERT);
    let link = elsewhere.path().join("link.sqlite3");
    std::os::unix::fs::symlink(&store, &link).unwrap();
    assert_eq!(found(LiveReader::open(&link).poll(&by_marker()).unwrap()), 1);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn two_threads_of_this_process_do_not_break_each_others_locks() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let mut server = wal_server(&store);
    let polling: Vec<_> = (0..2)
        .map(|_| {
            let mut reader = LiveReader::open(&store);
            thread::spawn(move || (0..200).map(|_| reader.poll(&by_marker())).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(server.commits(300), "0 failed");
    for poll in polling.into_iter().flat_map(|thread| thread.join().unwrap()) {
        // A poll that meets the server at the beginning of a new log says so, and is asked again by its caller.
        assert!(matches!(poll, Ok(Poll::Rows(_) | Poll::Busy)), "{poll:?}");
    }
    assert_eq!(found(LiveReader::open(&store).poll(&by_marker()).unwrap()), 300);
    assert_eq!(server.value("PRAGMA integrity_check"), "ok");
}

#[test]
fn the_files_of_one_store_are_open_in_one_thread_at_a_time() {
    let folder = folder();
    let store = store_in(&folder, NOTES);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&store, &link).unwrap();
    let inside = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = [store.clone(), link, store]
        .into_iter()
        .map(|path| {
            let inside = Arc::clone(&inside);
            thread::spawn(move || {
                (0..500).all(|_| {
                    let _turn = turn(&path).unwrap();
                    let alone = inside.fetch_add(1, Ordering::SeqCst) == 0;
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    alone
                })
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
}

#[test]
fn observing_leaves_the_waiting_to_the_caller() {
    let folder = folder();
    let store = folder.path().join("store.sqlite3");
    let query = by_marker();
    assert!(matches!(
        observe_live(&store, &query, 3, || {}),
        Err(ReadError::Absent { .. })
    ));

    let mut server = Server::with(&store, &format!("{NOTES}; BEGIN IMMEDIATE; {INSERT}"));
    let mut waits = 0;
    assert!(matches!(
        observe_live(&store, &query, 3, || waits += 1),
        Err(ReadError::Busy { .. })
    ));
    assert_eq!(waits, 2);
    let rows = observe_live(&store, &query, 3, || server.run("COMMIT")).unwrap();
    assert_eq!(only_column(&rows), notes(&["m1"]));
}

#[test]
fn distinct_and_limit_are_the_querys_own_affair() {
    let folder = folder();
    let store = store_in(&folder, &format!("{NOTES}; {INSERT}; {INSERT}"));
    let ask = |sql: &str| {
        found(
            LiveReader::open(&store)
                .poll(&SqlQuery::new(sql, [("marker", "m1")]))
                .unwrap(),
        )
    };
    assert_eq!(ask("SELECT id FROM notes WHERE note = $marker"), 2);
    assert_eq!(ask("SELECT DISTINCT note FROM notes WHERE note = $marker"), 1);
    assert_eq!(ask("SELECT id FROM notes WHERE note = $marker LIMIT 1"), 1);
}
