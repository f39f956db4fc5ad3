//! How many commits a store has seen, by SQLite's own count.
//!
//! The header of the index of a write-ahead log (the file `-shm`) holds a number that grows by one with each transaction that is
//! committed (`iChange`; <https://www.sqlite.org/walformat.html>, section 2.1). Reading it asks for no lock and disturbs nobody.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::Connection;

/// The version of the header, at its beginning.
const VERSION: u32 = 3_007_000;
/// Where the number of commits stands.
const COMMITS_AT: u64 = 8;

/// Counts from the moment at which it is made.
#[derive(Debug)]
pub(crate) struct Commits {
    /// While it is open, nobody is the last one to close the store: the index stays, and no process that is measured pays for
    /// moving the log into the store at its end.
    keeper: Connection,
    index: File,
    before: u32,
}

impl Commits {
    /// Of the store at `path`, which has a write-ahead log.
    pub(crate) fn of(path: &Path) -> Self {
        let keeper = Connection::open(path).expect("open a store");
        let tables = keeper.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        assert!(tables.expect("read a store") > 0, "{} is no store yet", path.display());
        let index = File::open(path.with_extension("sqlite3-shm")).expect("the index of the write-ahead log");
        assert_eq!(
            number(&index, 0),
            VERSION,
            "SQLite has another index than the one known here"
        );
        let before = number(&index, COMMITS_AT);
        Self { keeper, index, before }
    }

    /// Commits since then. Nobody may be writing.
    pub(crate) fn count(&self) -> u32 {
        number(&self.index, COMMITS_AT).wrapping_sub(self.before)
    }

    /// A connection to the store.
    pub(crate) fn connection(&self) -> &Connection {
        &self.keeper
    }
}

/// A number of the header, in the order of bytes of this machine.
fn number(index: &File, at: u64) -> u32 {
    let mut bytes = [0; 4];
    index.read_exact_at(&mut bytes, at).expect("the header of the index");
    u32::from_ne_bytes(bytes)
}
