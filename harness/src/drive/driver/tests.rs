//! What a look at the living store says, where it cannot be read.

use super::Watch;
use crate::drive::DriveError;
use crate::readback::{LiveStore, Query, Selector};

const BYTES_TOO_MANY: u64 = 129 * 1024 * 1024;

fn watch(path: &std::path::Path, sql: &str) -> Watch {
    Watch {
        reader: LiveStore::open(path, &Selector::sql(sql)),
        query: Query::new(Selector::sql(sql), [("marker", "mk")]),
        polls: 0,
        unread: None,
    }
}

/// Beside a living server it would have to be copied at every look.
#[test]
fn a_store_too_large_to_be_copied_is_unread_and_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let store = rusqlite::Connection::open(&path).expect("a store");
    store.execute_batch("CREATE TABLE orders (note TEXT)").expect("a table");
    drop(store);
    let mut watch = watch(&path, "SELECT note FROM orders WHERE note = $marker");
    assert_eq!(watch.count().expect("a look"), Some(0));
    assert_eq!(watch.unread, None);
    let file = std::fs::File::options().write(true).open(&path).expect("the file");
    file.set_len(BYTES_TOO_MANY).expect("a sparse file");
    let mut watch = self::watch(&path, "SELECT note FROM orders WHERE note = $marker");
    assert_eq!(watch.count().expect("a look"), None);
    let why = watch.unread.clone().expect("a reason");
    assert!(why.contains("are more than"), "{why}");
}

#[test]
fn a_wrong_query_is_an_error_and_a_missing_table_no_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let store = rusqlite::Connection::open(&path).expect("a store");
    store.execute_batch("CREATE TABLE orders (note TEXT)").expect("a table");
    drop(store);
    let wrong = watch(&path, "SELECT nota FROM orders WHERE note = $marker").count();
    assert!(matches!(wrong, Err(DriveError::Watch(_))), "{wrong:?}");
    let mut early = watch(&path, "SELECT 1 FROM order_s WHERE note = $marker");
    assert_eq!(early.count().expect("a look"), Some(0));
}
