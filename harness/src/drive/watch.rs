//! Polls the living store for the effects of one operation, and tells a store that says nothing new from one that cannot be read.

use std::time::Duration;

use super::DriveError;
use super::clock::{self, Deadline};
use crate::readback::{Bound, LiveStore, Poll, Query, ReadError};

/// Why a store under a lock is not read.
const LOCKED: &str =
    "the store is locked, or being written, at every look (`locking_mode=EXCLUSIVE`, or a transaction left open)";

/// Polls the living store for the effects of one operation.
#[derive(Debug)]
pub(super) struct Watch {
    reader: LiveStore,
    query: Query,
    polls: u64,
    /// Why the last look could not read the store, where it could not.
    unread: Option<String>,
}

impl Watch {
    /// A watch that has not looked yet.
    pub(super) fn new(reader: LiveStore, query: Query) -> Self {
        Self {
            reader,
            query,
            polls: 0,
            unread: None,
        }
    }

    /// How often it has looked.
    pub(super) fn polls(&self) -> u64 {
        self.polls
    }

    /// Why the last look could not read the store, where it could not.
    pub(super) fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// How many effects there are; nothing when nothing new is known.
    pub(super) fn count(&mut self) -> Result<Option<usize>, DriveError> {
        self.polls += 1;
        self.unread = None;
        match self.reader.poll(&self.query) {
            Ok(Poll::Rows(rows)) => Ok(Some(rows.count())),
            Ok(Poll::Absent) | Err(ReadError::NoSuchTable { .. }) => Ok(Some(0)),
            Ok(Poll::Unchanged) => Ok(None),
            Ok(Poll::Busy) => {
                self.unread = Some(LOCKED.to_owned());
                Ok(None)
            }
            Err(ReadError::TooMuch {
                bound: bound @ Bound::Store { .. },
                ..
            }) => {
                self.unread = Some(bound.to_string());
                Ok(None)
            }
            Err(error) => Err(DriveError::Watch(error)),
        }
    }

    /// The first count that comes within the bound; nothing where the store could not be read all the time.
    pub(super) async fn count_until_read(&mut self, bound_ms: u64) -> Result<Option<usize>, DriveError> {
        let deadline = Deadline::after(Duration::from_millis(bound_ms));
        loop {
            match self.count()? {
                Some(count) => return Ok(Some(count)),
                None if deadline.has_passed() => return Ok(None),
                None => clock::pause().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::readback::Selector;

    const BYTES_TOO_MANY: u64 = 129 * 1024 * 1024;

    fn watch(path: &Path, sql: &str) -> Watch {
        Watch::new(
            LiveStore::open(path, &Selector::sql(sql)),
            Query::new(Selector::sql(sql), [("marker", "mk")]),
        )
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
        assert_eq!(watch.unread(), None);
        let file = std::fs::File::options().write(true).open(&path).expect("the file");
        file.set_len(BYTES_TOO_MANY).expect("a sparse file");
        let mut watch = self::watch(&path, "SELECT note FROM orders WHERE note = $marker");
        assert_eq!(watch.count().expect("a look"), None);
        let why = watch.unread().expect("a reason");
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
}
