//! Asking a read copy: a store that [`freeze`](super::freeze) made, and that nobody will ever write again.
//!
//! The only place where `immutable=1` is used. Beside a write-ahead log it would silently leave out committed rows, so a
//! file that says it has one is refused. Must not be given a server's own store.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::header::{HEADER_BYTES, Header, Journal};
use super::run::{STEPS_MAX, code_and_message, guard, run_guarded, store_trouble};
use crate::readback::{ReadError, Rows, SqlQuery};

/// Asks a read copy. Leaves it, and the folder it is in, byte for byte as they were.
pub fn query_read_copy(read_copy: &Path, query: &SqlQuery) -> Result<Rows, ReadError> {
    OpenReadCopy::open(read_copy)?.query(query)
}

/// A read copy that is open. To open one costs more than to ask it, because SQLite reads the schema each time.
#[derive(Debug)]
pub(in crate::readback) struct OpenReadCopy {
    path: PathBuf,
    connection: Connection,
}

impl OpenReadCopy {
    /// Opens a read copy.
    pub(in crate::readback) fn open(path: &Path) -> Result<Self, ReadError> {
        let mut connection = open_read_copy(path)?;
        guard(&mut connection).map_err(|error| trouble(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            connection,
        })
    }

    /// Asks it; as often as one likes, with the same bounds for each query.
    pub(in crate::readback) fn query(&mut self, query: &SqlQuery) -> Result<Rows, ReadError> {
        run_guarded(&mut self.connection, &self.path, query, STEPS_MAX)
    }
}

/// A connection to a read copy that can change nothing.
pub(super) fn open_read_copy(read_copy: &Path) -> Result<Connection, ReadError> {
    refuse_what_is_no_read_copy(read_copy)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let uri = immutable_uri(read_copy).map_err(|error| unreadable(read_copy, &error.to_string()))?;
    Connection::open_with_flags(uri, flags).map_err(|error| trouble(read_copy, &error))
}

fn trouble(read_copy: &Path, error: &rusqlite::Error) -> ReadError {
    let (code, message) = code_and_message(error);
    store_trouble(read_copy, code, &message).unwrap_or_else(|| unreadable(read_copy, &message))
}

fn refuse_what_is_no_read_copy(read_copy: &Path) -> Result<(), ReadError> {
    let absent_or = |error: io::Error| {
        if error.kind() == io::ErrorKind::NotFound {
            ReadError::Absent {
                store: read_copy.into(),
            }
        } else {
            unreadable(read_copy, &format!("{error}; check who may read it"))
        }
    };
    if !read_copy.metadata().map_err(absent_or)?.is_file() {
        return Err(unreadable(
            read_copy,
            "not a regular file; give the file `<name>.read.sqlite3`",
        ));
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    let head = u64::try_from(HEADER_BYTES).expect("a small constant fits");
    File::open(read_copy)
        .and_then(|file| file.take(head).read_to_end(&mut bytes))
        .map_err(absent_or)?;
    match Header::parse(&bytes) {
        Some(Header {
            journal: Journal::Wal, ..
        }) => Err(unreadable(
            read_copy,
            "it is under a write-ahead log, so no read copy; give `<name>.read.sqlite3`",
        )),
        Some(Header {
            journal: Journal::Rollback,
            ..
        }) => Ok(()),
        None if bytes.is_empty() => Ok(()),
        None => Err(unreadable(
            read_copy,
            "not an SQLite store; give the file `<name>.read.sqlite3`",
        )),
    }
}

fn unreadable(read_copy: &Path, reason: &str) -> ReadError {
    ReadError::Unreadable {
        store: read_copy.into(),
        reason: reason.into(),
    }
}

/// The URI by which SQLite opens a file as one that nobody changes. Everything outside a small safe set is
/// percent-encoded; the empty authority keeps a path that starts with two slashes a path.
pub(super) fn immutable_uri(file: &Path) -> io::Result<String> {
    let mut uri = String::from("file://");
    for &byte in path::absolute(file)?.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(byte.into()),
            _ => write!(uri, "%{byte:02X}").expect("a string takes any text"),
        }
    }
    uri.push_str("?immutable=1&mode=ro");
    Ok(uri)
}
