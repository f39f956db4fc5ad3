//! Tests of what is no store, no longer one, or not to be read: the same words from a live reader and a read copy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::{NOTES, everything, folder, store_in};
use crate::readback::{FreezeError, LiveReader, Poll, ReadError, freeze, query_read_copy};

const FORBIDDEN: &str = "HARNESS_TEST_FORBIDDEN";
/// `nobody` on Linux and macOS alike is far above the ids of people; any id that owns nothing will do.
const NOBODY: u32 = 65534;

fn reason(error: ReadError) -> String {
    let ReadError::Unreadable { reason, .. } = error else {
        panic!("expected unreadable, not {error:?}")
    };
    reason
}

fn both(path: &Path) -> [ReadError; 2] {
    let live = LiveReader::open(path).poll(&everything()).unwrap_err();
    [live, query_read_copy(path, &everything()).unwrap_err()]
}

#[test]
fn a_missing_file_is_absent() {
    let folder = folder();
    let path = folder.path().join("nothing");
    assert_eq!(LiveReader::open(&path).poll(&everything()).unwrap(), Poll::Absent);
    assert_eq!(
        query_read_copy(&path, &everything()),
        Err(ReadError::Absent { store: path.clone() })
    );
    assert!(!path.exists());
}

#[test]
fn a_folder_a_text_and_a_torn_store_are_unreadable() {
    let folder = folder();
    for error in both(folder.path()) {
        assert!(reason(error).contains("not a regular file"));
    }
    let text = folder.path().join("text");
    fs::write(&text, "hello").unwrap();
    for error in both(&text) {
        assert!(reason(error).contains("not an SQLite store"));
    }
    let store = store_in(
        &folder,
        &format!("{NOTES}; INSERT INTO notes (note) VALUES (hex(zeroblob(9000)))"),
    );
    let whole = fs::read(&store).unwrap();
    fs::write(&store, &whole[..4096]).unwrap();
    for error in both(&store) {
        assert!(reason(error).contains("malformed"));
    }
}

#[test]
fn a_store_under_a_log_is_no_read_copy() {
    let folder = folder();
    let store = store_in(&folder, &format!("PRAGMA journal_mode=WAL; {NOTES}"));
    assert!(reason(query_read_copy(&store, &everything()).unwrap_err()).contains("write-ahead log"));
}

/// Root may read everything, so this runs again as nobody.
#[test]
fn a_forbidden_store_is_unreadable() {
    if let Some(store) = std::env::var_os(FORBIDDEN) {
        return assert_forbidden(Path::new(&store));
    }
    let folder = folder();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let store = store_in(&folder, NOTES);
    fs::set_permissions(&store, Permissions::from_mode(0o000)).unwrap();
    if !rustix::process::geteuid().is_root() {
        return assert_forbidden(&store);
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "readback::sqlite::tests::trouble::a_forbidden_store_is_unreadable",
            "--nocapture",
        ])
        .env(FORBIDDEN, &store)
        .uid(NOBODY)
        .output()
        .unwrap();
    assert!(again.status.success(), "{again:?}");
}

fn assert_forbidden(store: &Path) {
    for error in both(store) {
        assert!(reason(error).contains("Permission denied"));
    }
    let error = freeze(store, folder().path()).unwrap_err();
    assert!(matches!(error, FreezeError::File { act: "open", .. }), "{error:?}");
    assert!(error.to_string().contains("Permission denied"), "{error}");
}
