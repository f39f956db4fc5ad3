//! Reading a store while its server lives, without doing it harm.
//!
//! What harm would be, and what is done instead:
//!
//! * Under a **rollback journal** a reader's lock makes a commit fail whose connection has no busy timeout. Choosing the
//!   moment does not help: reading through SQLite only after a moved change counter, and while nobody was writing, made
//!   1,560 of 5,000 commits fail under constant polling. So a poll takes no lock: once the counter moved it copies the
//!   bytes and asks the copy. The copy counts only if two readings were equal and nobody was inside a writing transaction
//!   between them. A store too large to copy is not read at all while its server lives.
//! * Under a **write-ahead log** readers are in nobody's way, so SQLite reads the store itself, with busy timeout 0, but
//!   only while a living connection holds the log and its index is ready. Otherwise a reader would create `-shm` and
//!   `-wal`, or do the recovery that the server is about to do; then a copy is asked instead. Before looking, the poll
//!   takes SQLite's SHARED lock itself, so that the server cannot remove these files between the look and the opening.
//! * **No connection is kept between polls.** One that is kept holds SHARED for as long as it is open, even between
//!   transactions: the server's last connection could then not take its log away, nor change the journal mode.
//!
//! The header is read from a descriptor that is opened before SQLite opens the file and closed after SQLite closed it,
//! all inside one turn (`locks`): closing it drops the locks of this process on the store, and then there
//! are none left.
//!
//! Must not run in a process that has the store open in another way, must not wait, and must not leave a file or a lock.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::copy::{Still, is_being_written};
use super::header::{HEADER_BYTES, Header, Journal};
use super::locks::{self, WalUse};
use super::run::{STEPS_MAX, run};
use super::{JOURNAL_SUFFIX, WAL_SUFFIX, beside};
use crate::plain_file;
use crate::readback::error::Bound;
use crate::readback::query::LIVE_STORE_BYTES_MAX;
use crate::readback::{ReadError, Rows, SqlQuery};

/// What one poll of a living store found.
#[derive(Debug, Clone, PartialEq)]
pub enum Poll {
    /// The answer, as of a committed state.
    Rows(Rows),
    /// No commit since the last [`Poll::Rows`] of the same query.
    Unchanged,
    /// There is no store, or an empty file that has no tables yet.
    Absent,
    /// Somebody is writing, or recovering; ask again.
    Busy,
}

/// Reads one store again and again. Between polls it holds no file, no lock and no connection.
#[derive(Debug)]
pub struct LiveReader {
    store: PathBuf,
    last: Option<(SqlQuery, Mark)>,
}

/// Tells one committed state of a store under a rollback journal from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    change_counter: u32,
}

impl LiveReader {
    /// A reader of the store at this path, which need not exist yet. Opens nothing.
    pub fn open(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            last: None,
        }
    }

    /// Asks once and returns at once.
    pub fn poll(&mut self, query: &SqlQuery) -> Result<Poll, ReadError> {
        match self.poll_store(query) {
            Ok(poll) => Ok(poll),
            Err(Trouble::Read(ReadError::Busy { .. })) => Ok(Poll::Busy),
            Err(Trouble::Read(error)) => Err(error),
            Err(Trouble::File(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Poll::Absent),
            Err(Trouble::File(error)) => Err(self.unreadable(format!("{error}; check who may read it"))),
        }
    }

    fn poll_store(&mut self, query: &SqlQuery) -> Result<Poll, Trouble> {
        let store = fs::canonicalize(&self.store)?;
        if !fs::metadata(&store)?.is_file() {
            return Err(Trouble::Read(
                self.unreadable("not a regular file; check `[store] path`"),
            ));
        }
        let _turn = locks::turn(&store)?;
        let main = plain_file::open(&store)?;
        if main.metadata()?.len() == 0 {
            return Ok(Poll::Absent);
        }
        let mut bytes = [0; HEADER_BYTES];
        let read = main.read_at(&mut bytes, 0)?;
        let Some(header) = Header::parse(&bytes[..read]) else {
            let reason = "not an SQLite store; check `[store] path` (an encrypted store cannot be read)";
            return Err(Trouble::Read(self.unreadable(reason)));
        };
        match header.journal {
            Journal::Wal => self.poll_wal(&store, &main, query),
            Journal::Rollback => self.poll_rollback(&store, &main, header, query),
        }
    }

    fn poll_wal(&mut self, store: &Path, main: &File, query: &SqlQuery) -> Result<Poll, Trouble> {
        self.last = None;
        if !locks::hold_shared(main)? {
            return Ok(Poll::Busy);
        }
        match locks::wal_use(store)? {
            WalUse::Living => Ok(Poll::Rows(query_beside(store, query)?)),
            WalUse::Starting => Ok(Poll::Busy),
            WalUse::Nobody => {
                locks::release_shared(main)?;
                let wal = beside(store, WAL_SUFFIX);
                let wal_bytes = fs::metadata(&wal).map_or(0, |metadata| metadata.len());
                refuse_too_large(store, &[main.metadata()?.len(), wal_bytes], query)?;
                match Still::under_wal(main, &wal)? {
                    Some(still) => Ok(Poll::Rows(still.query(store, query)?)),
                    None => Ok(Poll::Busy),
                }
            }
        }
    }

    fn poll_rollback(&mut self, store: &Path, main: &File, header: Header, query: &SqlQuery) -> Result<Poll, Trouble> {
        let metadata = main.metadata()?;
        let seen = |change_counter| {
            Some((
                query.clone(),
                Mark {
                    inode: metadata.ino(),
                    change_counter,
                },
            ))
        };
        if self.last == seen(header.change_counter) {
            return Ok(Poll::Unchanged);
        }
        let journal = beside(store, JOURNAL_SUFFIX);
        if is_being_written(main, &journal)? {
            return Ok(Poll::Busy);
        }
        refuse_too_large(store, &[metadata.len()], query)?;
        let Some(still) = Still::under_rollback(main, &journal)? else {
            return Ok(Poll::Busy);
        };
        let rows = still.query(store, query)?;
        self.last = Header::parse(&still.main).and_then(|header| seen(header.change_counter));
        Ok(Poll::Rows(rows))
    }

    fn unreadable(&self, reason: impl Into<String>) -> ReadError {
        ReadError::Unreadable {
            store: self.store.clone(),
            reason: reason.into(),
        }
    }
}

/// Asks a living store for rows, at most `attempts_max` times while it is busy. Never waits itself: `between` is called
/// before each further attempt, and is where the caller waits. With one attempt a busy store is [`ReadError::Busy`].
pub fn observe_live(
    store: &Path,
    query: &SqlQuery,
    attempts_max: u32,
    mut between: impl FnMut(),
) -> Result<Rows, ReadError> {
    let mut reader = LiveReader::open(store);
    for attempt in 0..attempts_max {
        if attempt > 0 {
            between();
        }
        match reader.poll(query)? {
            Poll::Rows(rows) => return Ok(rows),
            Poll::Absent => {
                return Err(ReadError::Absent { store: store.into() });
            }
            Poll::Busy | Poll::Unchanged => {}
        }
    }
    Err(ReadError::Busy { store: store.into() })
}

fn refuse_too_large(store: &Path, sizes: &[u64], query: &SqlQuery) -> Result<(), ReadError> {
    match sizes.iter().max() {
        Some(&bytes) if bytes > LIVE_STORE_BYTES_MAX => Err(ReadError::TooMuch {
            store: store.into(),
            sql: query.sql.clone(),
            bound: Bound::Store { bytes },
        }),
        _ => Ok(()),
    }
}

/// Asks the store itself through a read-only connection that waits for nobody and is closed again at once.
fn query_beside(store: &Path, query: &SqlQuery) -> Result<Rows, ReadError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(store, flags).and_then(|connection| {
        connection.busy_timeout(std::time::Duration::ZERO)?;
        Ok(connection)
    });
    let mut connection = opened.map_err(|error| ReadError::Unreadable {
        store: store.into(),
        reason: format!("{error}; check who may read it"),
    })?;
    run(&mut connection, store, query, STEPS_MAX)
}

/// What can go wrong inside a poll, before it is told apart.
enum Trouble {
    Read(ReadError),
    File(io::Error),
}

impl From<ReadError> for Trouble {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
