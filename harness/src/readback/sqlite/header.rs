//! The first 100 bytes of an SQLite file, read without SQLite. Source: <https://sqlite.org/fileformat2.html>, §1.3.
//!
//! Must not open anything: it is given bytes.

/// How many bytes the header has.
pub(super) const HEADER_BYTES: usize = 100;

/// How every file of SQLite begins, unless it is empty or encrypted.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const WRITE_VERSION_AT: usize = 18;
const READ_VERSION_AT: usize = 19;
const CHANGE_COUNTER_AT: usize = 24;
const VERSION_WAL: u8 = 2;

/// What the header tells about how the store is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// How commits reach the file.
    pub(super) journal: Journal,
    /// Moved by every commit under a rollback journal; says nothing under a write-ahead log.
    pub(super) change_counter: u32,
}

/// The two ways of SQLite to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Journal {
    /// Changed in place, with a journal to undo it.
    Rollback,
    /// Appended to a write-ahead log.
    Wal,
}

impl Header {
    /// Reads the head of a file; `None` when this is no SQLite file (or an encrypted one).
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER_BYTES)?;
        if !header.starts_with(MAGIC) {
            return None;
        }
        let wal = header[WRITE_VERSION_AT] == VERSION_WAL || header[READ_VERSION_AT] == VERSION_WAL;
        let counter = header[CHANGE_COUNTER_AT..].first_chunk()?;
        Some(Self {
            journal: if wal { Journal::Wal } else { Journal::Rollback },
            change_counter: u32::from_be_bytes(*counter),
        })
    }
}
