//! Freezing a store after its server died: its bytes as the death left them, and beside them a copy to ask.
//!
//! Must not open the original or the frozen bytes with SQLite: that would repair what the server should repair, and a
//! reviewer must find what the death left. Never copies `-shm`: it is a cache, and reading it drops locks.
//!
//! The read copy holds no time and no randomness, so equal bytes give an equal read copy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::run::{code_and_message, limit_steps};
use super::{JOURNAL_SUFFIX, WAL_SUFFIX, beside, locks};
use crate::plain_file;
use crate::readback::files::walk::{TREE_DEPTH_MAX, TREE_ENTRIES_MAX};

/// Largest file that is frozen.
pub const FROZEN_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// What the name of a read copy adds to that of the store.
pub const READ_COPY_SUFFIX: &str = ".read.sqlite3";

/// Most steps of SQLite's machine for recovering and checking one copy: some tens of seconds.
const CHECK_STEPS_MAX: u64 = 4_000_000_000;

/// How many faults of a damaged store are told.
const FAULTS_TOLD_MAX: usize = 5;

/// How many bytes are copied at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// A store as a death left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Frozen {
    /// The copied files, main file first. Empty when there was no store at all.
    pub files: Vec<FrozenFile>,
    /// The copy to ask with [`query_read_copy`](super::read_copy::query_read_copy), if the store could be recovered.
    pub read_copy: Option<PathBuf>,
    /// Why there is no read copy although there is a store: it is damaged, or no database. Whoever judges has to see it.
    pub problem: Option<String>,
}

/// One file of a frozen store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrozenFile {
    /// Its name, the same as beside the original.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hex.
    pub sha256: String,
}

/// Why a store could not be frozen. All of these are about the machine or its user, none about the store's contents.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// The path leads to a folder, a device or the like.
    #[error("freeze {store}: not a regular file; check `[store] path`")]
    NotAFile {
        /// The path.
        store: PathBuf,
    },
    /// The name cannot be written into evidence.
    #[error("freeze {store}: its name is not UTF-8; give it another name in `[store] path`")]
    Name {
        /// The path.
        store: PathBuf,
    },
    /// Larger than [`FROZEN_BYTES_MAX`].
    #[error("freeze {file}: larger than {FROZEN_BYTES_MAX} bytes; let the server start from a smaller store")]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// Somebody still writes.
    #[error("freeze {file}: it changed while it was copied; look for a process that survived and still writes")]
    Moved {
        /// The file.
        file: PathBuf,
    },
    /// More entries than [`TREE_ENTRIES_MAX`].
    #[error(
        "freeze {store}: more than {TREE_ENTRIES_MAX} files and folders; let `[store] path` lead to a smaller folder"
    )]
    TooManyEntries {
        /// The store.
        store: PathBuf,
    },
    /// Deeper than [`TREE_DEPTH_MAX`].
    #[error("freeze {folder}: more than {TREE_DEPTH_MAX} folders deep; let `[store] path` lead to a flatter folder")]
    TooDeep {
        /// The folder that is too deep.
        folder: PathBuf,
    },
    /// The copies would become part of the store.
    #[error("freeze {store}: the copies would go to {into}, which is inside; keep evidence outside the store")]
    Inside {
        /// The store.
        store: PathBuf,
        /// Where the copies were to go.
        into: PathBuf,
    },
    /// The file system refused.
    #[error("{act} {file}: {source}")]
    File {
        /// What was tried.
        act: &'static str,
        /// The file.
        file: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Copies the bytes of a store whose users are all dead into a folder (made if need be, nothing in it overwritten), and
/// makes the read copy `<name>.read.sqlite3` there. That nobody lives is the caller's to know; what moves is an error.
pub fn freeze(store: &Path, into: &Path) -> Result<Frozen, FreezeError> {
    let name = name_of(store)?;
    fs::create_dir_all(into).map_err(failed("create the folder", into))?;
    let real = match fs::canonicalize(store) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => store.to_owned(),
        Err(error) => return Err(failed("open", store)(error)),
    };
    let files = copy_files(&real, into, &name)?;
    if files.is_empty() {
        return Ok(Frozen {
            files,
            read_copy: None,
            problem: None,
        });
    }
    let read_copy = into.join(format!("{name}{READ_COPY_SUFFIX}"));
    let problem = recover(into, &name, &read_copy)?;
    Ok(Frozen {
        files,
        read_copy: problem.is_none().then_some(read_copy),
        problem,
    })
}

/// Makes a read copy of the frozen bytes of a store, at a path that is free. Whoever reviews the bytes does it again, and
/// nothing is written beside them. What is returned is the store's problem, because of which there is no read copy.
pub fn recover(frozen: &Path, name: &str, read_copy: &Path) -> Result<Option<String>, FreezeError> {
    let mut sizes = Vec::new();
    for suffix in ["", WAL_SUFFIX, JOURNAL_SUFFIX] {
        let file = open_if_there(&frozen.join(format!("{name}{suffix}")))?;
        let size = file.map(|file| file.metadata().map(|metadata| metadata.len()));
        sizes.push(size.transpose().map_err(failed("look at", frozen))?);
    }
    let problem = match sizes[0] {
        None => "the main file is missing; only files beside it are there",
        Some(0) if sizes.iter().flatten().any(|bytes| *bytes > 0) => {
            "the main file is empty; the files beside it belong to another"
        }
        Some(_) => return make_read_copy(frozen, name, read_copy),
    };
    Ok(Some(problem.to_owned()))
}

/// The name of a store, as evidence writes it.
pub(in crate::readback) fn name_of(store: &Path) -> Result<String, FreezeError> {
    let Some(name) = store.file_name() else {
        return Err(FreezeError::NotAFile { store: store.into() });
    };
    name.to_str()
        .map(str::to_owned)
        .ok_or_else(|| FreezeError::Name { store: store.into() })
}

fn failed(act: &'static str, file: &Path) -> impl FnOnce(io::Error) -> FreezeError {
    let file = file.to_owned();
    move |source| FreezeError::File { act, file, source }
}

/// Copies what there is, then reads the originals again: all of them must be as they were copied, and none be new.
fn copy_files(store: &Path, into: &Path, name: &str) -> Result<Vec<FrozenFile>, FreezeError> {
    let _turn = match locks::turn(store) {
        Ok(turn) => Some(turn),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("open", store)(error)),
    };
    let mut copied = Vec::new();
    for suffix in ["", WAL_SUFFIX, JOURNAL_SUFFIX] {
        let original = beside(store, suffix);
        if let Some(file) = open_if_there(&original)? {
            let copy = into.join(format!("{name}{suffix}"));
            copied.push((suffix, copy_one(file, &original, &copy, format!("{name}{suffix}"))?));
        }
    }
    for suffix in ["", WAL_SUFFIX, JOURNAL_SUFFIX] {
        let original = beside(store, suffix);
        let now = open_if_there(&original)?
            .map(|file| digest(file, &mut io::sink()).map_err(failed("read", &original)))
            .transpose()?;
        let then = copied
            .iter()
            .find(|(copied, _)| *copied == suffix)
            .map(|(_, file)| (file.bytes, &file.sha256));
        if now.as_ref().map(|(bytes, sha256)| (*bytes, sha256)) != then {
            return Err(FreezeError::Moved { file: original });
        }
    }
    Ok(copied.into_iter().map(|(_, file)| file).collect())
}

fn open_if_there(original: &Path) -> Result<Option<File>, FreezeError> {
    // The way to the store was followed before; what stands here is no link that SQLite or its server would make.
    match fs::symlink_metadata(original) {
        Ok(metadata) if !metadata.is_file() => Err(FreezeError::NotAFile { store: original.into() }),
        Ok(metadata) if metadata.len() > FROZEN_BYTES_MAX => Err(FreezeError::TooLarge { file: original.into() }),
        Ok(_) => (plain_file::open_unlinked(original).map(Some)).map_err(failed("open", original)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("open", original)(error)),
    }
}

/// Copies an open file to a path that is free.
pub(in crate::readback) fn copy_one(
    file: File,
    original: &Path,
    copy: &Path,
    name: String,
) -> Result<FrozenFile, FreezeError> {
    let mut target = create_new(copy)?;
    let (bytes, sha256) = digest(file, &mut target).map_err(failed("copy", original))?;
    Ok(FrozenFile { name, bytes, sha256 })
}

fn create_new(file: &Path) -> Result<File, FreezeError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .map_err(failed("create", file))
}

/// Passes everything on and returns its size and SHA-256.
pub(in crate::readback) fn digest(file: File, target: &mut impl Write) -> io::Result<(u64, String)> {
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut chunk = [0; CHUNK_BYTES];
    let mut source = file.take(FROZEN_BYTES_MAX);
    loop {
        let read = source.read(&mut chunk)?;
        if read == 0 {
            return Ok((bytes, base16ct::lower::encode_string(&hasher.finalize())));
        }
        hasher.update(&chunk[..read]);
        target.write_all(&chunk[..read])?;
        bytes += u64::try_from(read).expect("a chunk is small");
    }
}

/// Makes the read copy from a throw-away copy of the frozen bytes, or returns the store's problem.
fn make_read_copy(frozen: &Path, name: &str, read_copy: &Path) -> Result<Option<String>, FreezeError> {
    let folder = tempfile::tempdir().map_err(failed("make a folder in", &std::env::temp_dir()))?;
    let work = folder.path().join("store");
    for suffix in ["", WAL_SUFFIX, JOURNAL_SUFFIX] {
        if let Some(file) = open_if_there(&frozen.join(format!("{name}{suffix}")))? {
            let copy = beside(&work, suffix);
            digest(file, &mut create_new(&copy)?).map_err(failed("write", &copy))?;
        }
    }
    if names_another_file(&beside(&work, JOURNAL_SUFFIX)).map_err(failed("read", &work))? {
        return Ok(Some(ANOTHER_FILE.to_owned()));
    }
    if let Err(problem) = recover_and_check(&work) {
        return Ok(Some(problem));
    }
    let recovered = File::open(&work).map_err(failed("open", &work))?;
    digest(recovered, &mut create_new(read_copy)?).map_err(failed("write", read_copy))?;
    Ok(None)
}

/// Why a store is not recovered alone whose journal names another file.
const ANOTHER_FILE: &str = "its journal belongs to a transaction over several stores: whether that was committed says a \
                            file beside another of them, so it cannot be known from this store alone";

/// Whether a journal of a transaction ends with the name of a super-journal. SQLite looks whether that file is there, wherever
/// the name leads: a reviewer elsewhere would come to another result (and older versions delete the file). Source: <https://sqlite.org/fileformat2.html>, §3, and `pager.c`.
fn names_another_file(journal: &Path) -> io::Result<bool> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    if !journal.exists() || holds_no_transaction(journal)? {
        return Ok(false);
    }
    let mut file = File::open(journal)?;
    if file.metadata()?.len() < MAGIC.len() as u64 {
        return Ok(false);
    }
    let mut tail = [0; MAGIC.len()];
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut tail)?;
    Ok(tail == MAGIC)
}

/// Lets SQLite do what the next opening would do: roll back a hot journal, take over a write-ahead log.
fn recover_and_check(work: &Path) -> Result<(), String> {
    let told = |error: rusqlite::Error| code_and_message(&error).1;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(work, flags).map_err(told)?;
    limit_steps(&mut connection, CHECK_STEPS_MAX).map_err(told)?;
    // The schema is what somebody else wrote, and is looked at when it is checked.
    connection.pragma_update(None, "trusted_schema", "OFF").map_err(told)?;
    // A throw-away copy need not survive a power cut; the flushes were a third of a read-back.
    connection.pragma_update(None, "synchronous", "OFF").map_err(told)?;
    let mode: String = connection
        .query_row("PRAGMA journal_mode=DELETE", [], |row| row.get(0))
        .map_err(told)?;
    if mode != "delete" {
        return Err(format!("it could not leave journal mode {mode}"));
    }
    check(&connection)?;
    connection.close().map_err(|(_, error)| told(error))?;
    // SQLite leaves a journal alone that belongs to no transaction; it says nothing about the store.
    let journal = beside(work, JOURNAL_SUFFIX);
    if holds_no_transaction(&journal).map_err(|error| error.to_string())? {
        fs::remove_file(&journal).map_err(|error| error.to_string())?;
    }
    for suffix in [WAL_SUFFIX, JOURNAL_SUFFIX] {
        if beside(work, suffix).exists() {
            return Err(format!("its `{suffix}` file could not be taken over"));
        }
    }
    Ok(())
}

/// Whether there is a journal that is empty (`journal_mode=TRUNCATE`), or whose head is zero (`PERSIST`, or one that was
/// never written to disk).
fn holds_no_transaction(journal: &Path) -> io::Result<bool> {
    let mut head = [0_u8; 1];
    match File::open(journal) {
        Ok(mut file) => Ok(file.read(&mut head)? == 0 || head == [0]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// `PRAGMA quick_check`. A store that uses an extension that is not here (a module, a collation, a function) cannot be
/// checked as a whole; that is no damage, so then each table that can be checked is.
fn check(connection: &Connection) -> Result<(), String> {
    match faults(connection, "PRAGMA quick_check") {
        Ok(faults) => none(faults),
        Err(error) if lacks_an_extension(&error) => {
            let tables = "SELECT 'PRAGMA quick_check(\"' || replace(name, '\"', '\"\"') || '\")' \
                          FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
            for pragma in faults(connection, tables).map_err(|error| code_and_message(&error).1)? {
                match faults(connection, &pragma) {
                    Ok(faults) => none(faults)?,
                    Err(error) if lacks_an_extension(&error) => {}
                    Err(error) => return Err(code_and_message(&error).1),
                }
            }
            Ok(())
        }
        Err(error) => Err(code_and_message(&error).1),
    }
}

fn faults(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let lines = statement.query_map([], |row| row.get(0))?;
    lines.collect()
}

fn none(mut faults: Vec<String>) -> Result<(), String> {
    faults.retain(|line| line != "ok");
    if faults.is_empty() {
        return Ok(());
    }
    faults.truncate(FAULTS_TOLD_MAX);
    Err(format!("damaged, says quick_check: {}", faults.join("; ")))
}

/// SQLite has one code for all errors in a statement; damage has codes of its own.
fn lacks_an_extension(error: &rusqlite::Error) -> bool {
    code_and_message(error).0 == Some(ErrorCode::Unknown)
}
