//! Tests of reading files beside a living server.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{marker, put, store_of};
use crate::readback::files::read::twice;
use crate::readback::{FileQuery, LiveFiles, Poll, ReadError, observe_live_files};

fn lines() -> FileQuery {
    FileQuery::JsonLines { path: None }
}

#[test]
fn a_poll_sees_what_came_and_nothing_twice_and_creates_nothing() {
    let folder = store_of(&[]);
    let store = folder.path().join("m.jsonl");
    let mut reader = LiveFiles::open(&store);
    assert_eq!(reader.poll(&lines(), &marker()), Ok(Poll::Absent));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    put(folder.path(), "m.jsonl", "{\"a\":\"mk-1\"}\n");
    assert!(matches!(reader.poll(&lines(), &marker()), Ok(Poll::Rows(rows)) if rows.count() == 1));
    assert_eq!(reader.poll(&lines(), &marker()), Ok(Poll::Unchanged));
    put(folder.path(), "m.jsonl", "{\"a\":\"mk-1\"}\n{\"a\":\"mk");
    assert_eq!(
        reader.poll(&lines(), &marker()),
        Ok(Poll::Busy),
        "half a line is being written"
    );
    put(folder.path(), "m.jsonl", "{\"a\":\"mk-1\"}\n{\"a\":\"mk-1\"}\n");
    assert!(matches!(reader.poll(&lines(), &marker()), Ok(Poll::Rows(rows)) if rows.count() == 2));
    put(folder.path(), "m.jsonl", "nonsense\n");
    assert!(matches!(
        reader.poll(&lines(), &marker()),
        Err(ReadError::Unreadable { .. })
    ));
}

#[test]
fn a_folder_is_polled_by_its_glob() {
    let folder = store_of(&[("notes/a.md", "mk-1"), ("notes/b.md.tmp", "mk-1")]);
    let query = FileQuery::Files { glob: "notes/*".into() };
    let rows = observe_live_files(folder.path(), &query, &marker(), 1, || {}).unwrap();
    assert_eq!(rows.count(), 1);
}

#[test]
fn attempts_are_bounded_and_the_caller_waits_between_them() {
    let folder = store_of(&[("m.json", "{")]);
    let query = FileQuery::Json {
        path: None,
        pointer: String::new(),
    };
    let mut waited = 0;
    let store = folder.path().join("m.json");
    let error = observe_live_files(&store, &query, &marker(), 4, || waited += 1).unwrap_err();
    assert_eq!((waited, error), (3, ReadError::Busy { store }));
}

#[test]
fn what_two_readings_do_not_agree_on_does_not_count() {
    let absent = || ReadError::Absent { store: "s".into() };
    let cases = [
        (vec![Ok(Some(1)), Ok(Some(1))], Ok(Some(1))),
        (vec![Ok(Some(1)), Ok(Some(2))], Ok(None)),
        (vec![Ok(None)], Ok(None)),
        (vec![Ok(Some(1)), Ok(None)], Ok(None)),
        (vec![Ok(Some(1)), Err(absent())], Ok(None)),
        (vec![Err(absent())], Err(absent())),
    ];
    for (readings, expected) in cases {
        let mut readings = readings.into_iter();
        assert_eq!(twice(|| readings.next().unwrap()), expected);
        assert_eq!(readings.count(), 0);
    }
}

/// The writer saves by truncating and writing in two parts: what is read between the parts is no count.
#[test]
fn a_count_beside_a_writer_is_always_one_of_a_whole_save() {
    let folder = store_of(&[]);
    let store = folder.path().join("m.json");
    let whole = |count: usize| format!("[{}]", vec!["{\"note\":\"mk-1\"}"; count].join(","));
    fs::write(&store, whole(1)).unwrap();
    let stop = AtomicBool::new(false);
    let query = FileQuery::Json {
        path: None,
        pointer: String::new(),
    };
    let counts: Vec<usize> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for count in [1, 500] {
                    use std::io::Write;
                    let text = whole(count);
                    let (head, tail) = text.split_at(text.len() / 2);
                    let mut file = fs::File::create(&store).unwrap();
                    file.write_all(head.as_bytes()).unwrap();
                    file.write_all(tail.as_bytes()).unwrap();
                }
            }
        });
        let mut reader = LiveFiles::open(&store);
        let polls = (0..2_000).map(|_| reader.poll(&query, &marker()).unwrap());
        let counts = polls.filter_map(|poll| {
            if let Poll::Rows(rows) = poll {
                Some(rows.count())
            } else {
                None
            }
        });
        let counts = counts.collect();
        stop.store(true, Ordering::Relaxed);
        counts
    });
    assert!(counts.iter().all(|count| [1, 500].contains(count)), "{counts:?}");
}
