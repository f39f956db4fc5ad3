//! Telling an SQLite store from other files of a folder, without SQLite.
//!
//! Must not open a file outside a turn: closing it would drop the locks that another thread holds on it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::header::MAGIC;
use super::{JOURNAL_SUFFIX, SHM_SUFFIX, WAL_SUFFIX, beside, locks};

/// What SQLite puts behind the name of a store for the files beside it.
pub(in crate::readback) const SUFFIXES_BESIDE: [&str; 3] = [WAL_SUFFIX, JOURNAL_SUFFIX, SHM_SUFFIX];

/// Whether this regular file is an SQLite store: it opens as one, or it is still empty and has a log or a journal. A
/// store of which only the first bytes are left is one too; that it is damaged is then said by who freezes it.
pub fn is_sqlite(file: &Path) -> io::Result<bool> {
    let _turn = locks::turn(file)?;
    let mut head = Vec::with_capacity(MAGIC.len());
    let head_bytes = u64::try_from(MAGIC.len()).expect("a small constant fits");
    File::open(file)?.take(head_bytes).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(beside(file, WAL_SUFFIX).try_exists()? || beside(file, JOURNAL_SUFFIX).try_exists()?);
    }
    Ok(head == MAGIC)
}
