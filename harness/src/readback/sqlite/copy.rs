//! Copies of a store that take no lock, for the moments when SQLite beside the server would do harm.
//!
//! Must not be trusted without the second reading: a copy counts only if the bytes stood still.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::run::{STEPS_MAX, run};
use super::{WAL_SUFFIX, beside, locks};
use crate::plain_file;
use crate::readback::query::LIVE_STORE_BYTES_MAX;
use crate::readback::{ReadError, Rows, SqlQuery};

/// How many bytes are compared at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// The bytes of a store at one instant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Still {
    /// The main file.
    pub(super) main: Vec<u8>,
    /// The write-ahead log, where there is one.
    pub(super) wal: Option<Vec<u8>>,
}

impl Still {
    /// A store under a rollback journal, at an instant when nobody was inside a writing transaction; `None` if that
    /// cannot be said. Order matters: the look for a writer stands between two equal readings, so the bytes are those of
    /// that instant.
    pub(super) fn under_rollback(main: &File, journal: &Path) -> io::Result<Option<Self>> {
        let bytes = read_whole(main)?;
        let still = !is_being_written(main, journal)? && holds_same(main, &bytes)?;
        Ok(still.then_some(Self { main: bytes, wal: None }))
    }

    /// A store under a write-ahead log that nobody has open through shared memory; `None` if it moved. Both files
    /// were constant between the first reading of the log and the second of the main file.
    pub(super) fn under_wal(main: &File, wal: &Path) -> io::Result<Option<Self>> {
        let main_bytes = read_whole(main)?;
        let wal_bytes = read_if_there(wal)?;
        let still = holds_same(main, &main_bytes)? && read_if_there(wal)? == wal_bytes;
        Ok(still.then_some(Self {
            main: main_bytes,
            wal: wal_bytes,
        }))
    }

    /// Asks a throw-away copy made of these bytes.
    pub(super) fn query(&self, store: &Path, query: &SqlQuery) -> Result<Rows, ReadError> {
        let unreadable = |error: &dyn std::fmt::Display| ReadError::Unreadable {
            store: store.into(),
            reason: format!("copy it to the temporary folder: {error}"),
        };
        let folder = tempfile::tempdir().map_err(|error| unreadable(&error))?;
        let copy = folder.path().join("store");
        fs::write(&copy, &self.main).map_err(|error| unreadable(&error))?;
        if let Some(wal) = &self.wal {
            fs::write(beside(&copy, WAL_SUFFIX), wal).map_err(|error| unreadable(&error))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&copy, flags).map_err(|error| unreadable(&error))?;
        run(&mut connection, store, query, STEPS_MAX)
    }
}

/// Whether a transaction of a rollback journal is under way, or was cut off and waits to be rolled back. A journal whose
/// first byte is zero (`journal_mode=PERSIST`) or that is empty (`TRUNCATE`) belongs to no transaction.
pub(super) fn is_being_written(main: &File, journal: &Path) -> io::Result<bool> {
    if locks::writer_inside(main)? {
        return Ok(true);
    }
    let mut first = [0];
    match plain_file::open(journal) {
        Ok(mut file) => Ok(file.read(&mut first)? == 1 && first != [0]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Everything within the bound; a file that outgrew it after its size was looked at is then found not to be the same.
fn read_whole(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LIVE_STORE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match plain_file::open(path) {
        Ok(file) => read_whole(&file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn holds_same(mut file: &File, bytes: &[u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut chunk = [0; CHUNK_BYTES];
    for expected in bytes.chunks(CHUNK_BYTES) {
        match file.read_exact(&mut chunk[..expected.len()]) {
            Ok(()) if &chunk[..expected.len()] == expected => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(file.read(&mut chunk[..1])? == 0)
}
