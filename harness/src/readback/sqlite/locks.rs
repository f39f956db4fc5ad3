//! SQLite's locks, seen and taken from outside SQLite, and the rule that keeps ours apart.
//!
//! POSIX locks belong to a process and a file: **closing any descriptor of a file drops every lock that this process has
//! on it**, whoever took it. So whoever here opens a store's files, with SQLite or without, does it inside a [`Turn`]:
//! within it no other thread of this process has those files open through this room, and what was opened is closed
//! again before it ends. Nothing else in the process may have a server's store open; a lock that is held as a fault is
//! held by a child process.
//!
//! Must not wait for another process: every look and every attempt returns at once.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::{SHM_SUFFIX, WAL_SUFFIX, beside};
use crate::plain_file;

/// `PENDING_BYTE` of SQLite's `os.h`; RESERVED is the byte after it, then come the bytes of SHARED.
const PENDING_AT: i64 = 0x4000_0000;
const SHARED_AT: i64 = PENDING_AT + 2;
const SHARED_BYTES: i64 = 510;
const ALL_BYTES: i64 = 2 + SHARED_BYTES;

/// `UNIX_SHM_DMS` of SQLite's `os_unix.c`: locked in the `-shm` file by every connection that has it open.
const DEAD_MAN_AT: i64 = 128;

/// `WAL_WRITE_LOCK` of SQLite's `wal.c`, then those of checkpoints and of recovery: byte 120 of the `-shm` file and two more.
const WAL_WRITERS_AT: i64 = 120;
const WAL_WRITERS_BYTES: i64 = 3;

/// `WalIndexHdr`: two copies stand at the start of the `-shm` file, and differ only while it is being written.
const INDEX_HEADER_BYTES: usize = 48;
const INDEX_IS_INIT_AT: usize = 12;

/// How many stores (by inode, modulo) can be read at the same time.
const TURNS: usize = 16;

static IN_TURN: [Mutex<()>; TURNS] = [const { Mutex::new(()) }; TURNS];

/// The sole right, among the threads of this process, to open the files of one store.
pub(super) type Turn = MutexGuard<'static, ()>;

/// Waits for the turn of a store. The longest wait is another thread's copy of a store.
pub(super) fn turn(store: &Path) -> io::Result<Turn> {
    let slots = u64::try_from(TURNS).expect("a small constant fits");
    let slot = usize::try_from(fs::metadata(store)?.ino() % slots).expect("smaller than TURNS");
    Ok(IN_TURN[slot].lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether another process is in a writing transaction of a rollback journal (RESERVED, PENDING or EXCLUSIVE).
pub(super) fn writer_inside(main: &File) -> io::Result<bool> {
    is_locked_against_reading(main, PENDING_AT, ALL_BYTES)
}

/// Whether another process writes to the store right now, or keeps others from writing: in a rollback journal or in a
/// write-ahead log. A store that is not there is not written.
pub(crate) fn is_being_written(store: &Path) -> io::Result<bool> {
    let absent = |error: io::Error| {
        if error.kind() == io::ErrorKind::NotFound {
            Ok(false)
        } else {
            Err(error)
        }
    };
    let store = match fs::canonicalize(store) {
        Ok(store) => store,
        Err(error) => return absent(error),
    };
    let _turn = turn(&store)?;
    if writer_inside(&plain_file::open(&store)?)? {
        return Ok(true);
    }
    match plain_file::open(&beside(&store, SHM_SUFFIX)) {
        Ok(index) => is_locked_against_writing(&index, WAL_WRITERS_AT, WAL_WRITERS_BYTES),
        Err(error) => absent(error),
    }
}

/// Takes SQLite's SHARED lock for this process; false if somebody holds EXCLUSIVE. While it is held, the last
/// connection of a server cannot remove its `-wal` and `-shm`. Closing any descriptor of the file releases it.
pub(super) fn hold_shared(main: &File) -> io::Result<bool> {
    let lock = region(libc::F_RDLCK, SHARED_AT, SHARED_BYTES);
    match fcntl(main, FcntlArg::F_SETLK(&lock)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Gives SHARED back before the file is closed.
pub(super) fn release_shared(main: &File) -> io::Result<()> {
    let lock = region(libc::F_UNLCK, SHARED_AT, SHARED_BYTES);
    fcntl(main, FcntlArg::F_SETLK(&lock))?;
    Ok(())
}

/// Who uses the write-ahead log of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalUse {
    /// A living connection, and the index is ready: SQLite can read beside it and will create and repair nothing.
    Living,
    /// A living connection that has not made the index ready: a reader would do that work, and be in its way.
    Starting,
    /// Nobody through shared memory: left over, cleanly closed, or held exclusively.
    Nobody,
}

/// Looks at the `-wal` and `-shm` files beside a store.
pub(super) fn wal_use(store: &Path) -> io::Result<WalUse> {
    if !beside(store, WAL_SUFFIX).try_exists()? {
        return Ok(WalUse::Nobody);
    }
    let index = match plain_file::open(&beside(store, SHM_SUFFIX)) {
        Ok(index) => index,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(WalUse::Nobody),
        Err(error) => return Err(error),
    };
    if !is_locked_against_writing(&index, DEAD_MAN_AT, 1)? {
        return Ok(WalUse::Nobody);
    }
    Ok(if index_is_ready(&index)? {
        WalUse::Living
    } else {
        WalUse::Starting
    })
}

fn index_is_ready(index: &File) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let mut headers = [0; 2 * INDEX_HEADER_BYTES];
    let read = index.read_at(&mut headers, 0)?;
    let (first, second) = headers.split_at(INDEX_HEADER_BYTES);
    Ok(read == headers.len() && first == second && first[INDEX_IS_INIT_AT] == 1)
}

fn is_locked_against_reading(file: &File, at: i64, bytes: i64) -> io::Result<bool> {
    is_locked(file, region(libc::F_RDLCK, at, bytes))
}

fn is_locked_against_writing(file: &File, at: i64, bytes: i64) -> io::Result<bool> {
    is_locked(file, region(libc::F_WRLCK, at, bytes))
}

/// Asks whether the lock could be taken, without taking it. Locks of this process are not seen.
fn is_locked(file: &File, mut lock: libc::flock) -> io::Result<bool> {
    fcntl(file, FcntlArg::F_GETLK(&mut lock))?;
    Ok(lock.l_type != lock_type(libc::F_UNLCK))
}

fn region(kind: libc::c_int, at: i64, bytes: i64) -> libc::flock {
    libc::flock {
        l_type: lock_type(kind),
        l_whence: lock_type(libc::SEEK_SET),
        l_start: at,
        l_len: bytes,
        l_pid: 0,
    }
}

fn lock_type(constant: libc::c_int) -> libc::c_short {
    constant.try_into().expect("lock constants are small")
}
