//! SQLite stores.
//!
//! Must not let SQLite itself open a store that a dead server left behind: it would repair what the server should.
//!
//! | file | for |
//! |---|---|
//! | [`live`] | reading while a server lives |
//! | [`freeze`] | copying the bytes after a death, and making the read copy |
//! | [`read_copy`] | asking a read copy |
//! | [`doctor`] | a copy with every marked row twice, for the control |
//! | [`tamper`] | trying on a copy to change what must not be changed |
//! | `cells` | every cell of a read copy, for the whole-store scan |
//! | `recognise` | telling SQLite stores from other files of a folder |
//! | `run` | one reading statement on an open connection, within bounds |
//! | `header`, `locks`, `copy` | the file format, SQLite's locks, bytes that stand still: what the above share |

pub(in crate::readback) mod cells;
mod copy;
pub mod doctor;
pub mod freeze;
mod header;
pub mod live;
mod locks;
pub mod read_copy;
pub mod recognise;
mod run;
pub mod tamper;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) use locks::is_being_written;

/// The suffix of the write-ahead log beside a store.
const WAL_SUFFIX: &str = "-wal";
/// The suffix of the rollback journal beside a store.
const JOURNAL_SUFFIX: &str = "-journal";
/// The suffix of the shared-memory index of a write-ahead log. Never copied.
const SHM_SUFFIX: &str = "-shm";

/// The path of a store with a suffix put after its whole name, as SQLite names the files beside it.
fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(suffix);
    PathBuf::from(name)
}
