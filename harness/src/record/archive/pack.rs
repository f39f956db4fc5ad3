//! A folder of evidence, written as an archive: read twice, because a file's checksum stands before its bytes.
//!
//! Nothing is written into the evidence. Folders without files have no place in an archive.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::crc::Crc32;
use super::headers::{ARCHIVE_BYTES_MAX, ARCHIVE_FILES_MAX, Entry, archive_bytes, end};
use super::name;
use crate::plain_file;
use crate::record::evidence::{DEPTH_MAX, EvidenceError, SUMS_FILE, walk};

/// How much of a file is held at a time, in bytes.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// Why a folder could not become an archive.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The folder could not be read, or holds more than evidence can.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A file that would not be the same everywhere.
    #[error("an archive cannot hold {path:?}: {reason}; the evidence can be kept and verified as a folder")]
    Name {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// Paths that cannot lie beside each other everywhere, or something that is no file.
    #[error("an archive cannot hold {what}; the evidence can be kept and verified as a folder")]
    Impossible {
        /// What is wrong.
        what: String,
    },
    /// It has more than fits into an archive.
    #[error(
        "the evidence has {files} files, and its archive would have {bytes} bytes; an archive has at most \
         {ARCHIVE_FILES_MAX} files and {ARCHIVE_BYTES_MAX} bytes: run fewer cases, or keep the folder"
    )]
    TooLarge {
        /// How many files it has.
        files: usize,
        /// How large the archive would be.
        bytes: u64,
    },
    /// Somebody wrote to the evidence meanwhile.
    #[error("{path} was changed while it was read; export again when nobody writes to it")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The archive could not be written.
    #[error("write the archive: {0}")]
    Write(#[source] io::Error),
}

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The SHA-256 of all its bytes.
    pub sha256: String,
    /// How many files are in it.
    pub files: usize,
    /// How large it is.
    pub bytes: u64,
}

/// Writes everything in `folder` as an archive: every file, ordered by the bytes of its path.
pub fn pack(folder: &Path, out: &mut impl Write) -> Result<Packed, PackError> {
    let files = files(folder)?;
    let mut out = Counting {
        out,
        sha256: Sha256::new(),
        bytes: 0,
    };
    let mut directory = Vec::new();
    for (path, bytes) in &files {
        let source = folder.join(path);
        let entry = Entry {
            path: path.clone(),
            bytes: u32::try_from(*bytes).expect("the whole archive is smaller"),
            crc32: crc_of(&source).map_err(|error| EvidenceError::file("read", &source, error))?,
        };
        directory.extend(entry.central(out.position()));
        out.put(&entry.local())?;
        copy(&source, &entry, &mut out)?;
    }
    let (at, directory_bytes) = (out.position(), directory.len());
    let count = u16::try_from(files.len()).expect("the number of files is bounded");
    out.put(&directory)?;
    out.put(&end(
        count,
        u32::try_from(directory_bytes).expect("the whole archive is smaller"),
        at,
    ))?;
    Ok(Packed {
        sha256: base16ct::lower::encode_string(&out.sha256.finalize()),
        files: files.len(),
        bytes: out.bytes,
    })
}

/// The files in order with their sizes, if an archive can hold them.
fn files(folder: &Path) -> Result<Vec<(String, u64)>, PackError> {
    // The folder of a proof has those of runs in it.
    let (strangers, mut files) = walk(folder, DEPTH_MAX + 1)?;
    if let Some(path) = strangers.first() {
        let what = format!("{path:?}, which is neither file nor folder");
        return Err(PackError::Impossible { what });
    }
    let sums = folder.join(SUMS_FILE);
    let metadata = std::fs::symlink_metadata(&sums).map_err(|error| EvidenceError::file("look at", &sums, error))?;
    files.insert(SUMS_FILE.to_owned(), metadata.len());
    for path in files.keys() {
        if let Some(reason) = name::fault(path) {
            let (path, reason) = (path.clone(), format!("it has {reason}"));
            return Err(PackError::Name { path, reason });
        }
    }
    if let Some(what) = name::clashes(files.keys().map(String::as_str)).into_iter().next() {
        return Err(PackError::Impossible { what });
    }
    let bytes = archive_bytes(files.iter().map(|(path, bytes)| (path.as_str(), *bytes)));
    if files.len() > ARCHIVE_FILES_MAX || bytes > ARCHIVE_BYTES_MAX {
        let files = files.len();
        return Err(PackError::TooLarge { files, bytes });
    }
    // A map of texts is ordered by their bytes.
    Ok(files.into_iter().collect())
}

fn crc_of(source: &Path) -> io::Result<u32> {
    let mut crc = Crc32::new();
    pieces(plain_file::open_unlinked(source)?, |piece| {
        crc.update(piece);
        Ok(())
    })?;
    Ok(crc.value())
}

fn copy(source: &Path, entry: &Entry, out: &mut Counting<'_, impl Write>) -> Result<(), PackError> {
    let read = |error| EvidenceError::file("read", source, error);
    let mut file = plain_file::open_unlinked(source)
        .map_err(read)?
        .take(u64::from(entry.bytes) + 1);
    let (mut crc, mut bytes) = (Crc32::new(), 0_u64);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = file.read(&mut chunk).map_err(read)?;
        let piece = &chunk[..count];
        bytes += count as u64;
        if bytes > u64::from(entry.bytes)
            || (count == 0 && (bytes < u64::from(entry.bytes) || crc.value() != entry.crc32))
        {
            let path = source.to_path_buf();
            return Err(PackError::Changed { path });
        }
        if count == 0 {
            return Ok(());
        }
        crc.update(piece);
        out.put(piece)?;
    }
}

fn pieces(mut file: File, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(()),
            count => each(&chunk[..count])?,
        }
    }
}

/// Knows the digest and the number of everything that was written.
struct Counting<'a, W> {
    out: &'a mut W,
    sha256: Sha256,
    bytes: u64,
}

impl<W: Write> Counting<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), PackError> {
        self.out.write_all(bytes).map_err(PackError::Write)?;
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn position(&self) -> u32 {
        u32::try_from(self.bytes).expect("the whole archive is smaller")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, bytes) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, bytes).expect("write");
        }
        folder
    }

    fn packed(folder: &tempfile::TempDir) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let packed = pack(folder.path(), &mut bytes).map_err(|error| error.to_string())?;
        assert_eq!(packed.sha256, crate::digest::sha256_hex(&bytes));
        assert_eq!(packed.bytes, bytes.len() as u64);
        Ok(bytes)
    }

    /// The digest comes from a writer of twenty lines in another language, made from the text of `evidence/README.md`. It must
    /// never change: archives are published with it.
    #[test]
    fn the_bytes_of_an_archive_are_those_of_every_other_version() {
        let large: Vec<u8> = (0..=255).cycle().take(256 * 600).collect();
        let folder = folder(&[
            ("run.json", b"{}\n"),
            ("cases/lost-reply/stores/end/notes/T\u{e4}glich.md", &large),
            ("cases/lost-reply/stderr/first.log", b""),
            ("SHA256SUMS", b"listed\n"),
        ]);
        fs::create_dir(folder.path().join("empty")).expect("a folder");
        let bytes = packed(&folder).expect("an archive");
        assert_eq!(
            crate::digest::sha256_hex(&bytes),
            "5dd7663cad4bad8952fe465622d4ddd719f5f71723784c1340070b931cfeb6d6"
        );
    }

    /// Times, modes and the order in which files were made are not in it.
    #[test]
    fn only_paths_and_bytes_of_files_count() {
        let one = folder(&[("SHA256SUMS", b"s"), ("a/b", b"1"), ("a-b", b"2")]);
        let two = folder(&[("a-b", b"2"), ("a/b", b"1"), ("SHA256SUMS", b"s")]);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        fs::set_permissions(two.path().join("a-b"), mode).expect("a mode");
        let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        let file = File::options().write(true).open(two.path().join("a/b")).expect("open");
        file.set_times(long_ago).expect("a time");
        assert_eq!(packed(&one), packed(&two));
    }

    #[test]
    fn what_is_not_the_same_everywhere_is_refused() {
        let refused = |files: &[(&str, &[u8])]| packed(&folder(files)).expect_err("refused");
        let sums = ("SHA256SUMS", &b"s"[..]);
        let told = refused(&[sums, ("a\\b", b"")]);
        assert!(told.contains("a backslash in its path"), "{told}");
        let told = refused(&[sums, ("a\nb", b"")]);
        assert!(told.contains("a control character in its path"), "{told}");
        let told = refused(&[sums, ("Note.md", b""), ("note.md", b"")]);
        assert!(told.contains("Note.md and note.md differ only in case"), "{told}");
        let linked = folder(&[sums]);
        std::os::unix::fs::symlink("SHA256SUMS", linked.path().join("link")).expect("a link");
        let told = packed(&linked).expect_err("refused");
        assert!(told.contains("neither file nor folder"), "{told}");
        let sparse = folder(&[sums]);
        let file = File::create(sparse.path().join("sparse")).expect("create");
        file.set_len(ARCHIVE_BYTES_MAX).expect("a sparse file");
        let told = packed(&sparse).expect_err("refused");
        assert!(told.contains("at most 65534 files and 4294967294 bytes"), "{told}");
    }
}
