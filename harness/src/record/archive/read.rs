//! An archive that somebody else made: checked before anything of it reaches a disk, compared with the one archive that its
//! files make, and unpacked into a folder of our own.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::crc::Crc32;
use super::directory::{Bytes, Contents, Listed, by_directory, by_headers};
use super::headers::{ARCHIVE_BYTES_MAX, Entry, LOCAL, end};
use super::name;
use super::pack::CHUNK_BYTES;
use crate::plain_file;

/// Why an archive cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It does not look like one at all.
    #[error(
        "{path} is not evidence: it is a file, and no archive (.zip) that `harness export` writes; name that, or the folder of a run"
    )]
    NotAnArchive {
        /// The file.
        path: PathBuf,
    },
    /// It is larger than any archive of evidence.
    #[error("{path} is not evidence: it has more than the {ARCHIVE_BYTES_MAX} bytes that an archive can have")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It could not be read, or not be unpacked.
    #[error("{act} {path}: {source}")]
    File {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// An archive, and what is wrong with it as one.
#[derive(Debug)]
pub struct ArchiveFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    sha256: String,
    files: Vec<Listed>,
    /// Whether its files can be unpacked: nothing in it leads elsewhere, and nothing grows.
    is_safe: bool,
    findings: Vec<String>,
}

impl ArchiveFile {
    /// Looks at an archive; nothing is written.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let at = |source| ArchiveError::File {
            act: "read",
            path: path.to_path_buf(),
            source,
        };
        let file = plain_file::open(path).map_err(at)?;
        let bytes = file.metadata().map_err(at)?.len();
        if bytes > ARCHIVE_BYTES_MAX {
            let path = path.to_path_buf();
            return Err(ArchiveError::TooLarge { path });
        }
        let Some((contents, mut findings)) = look(&Bytes { file: &file, bytes }).map_err(at)? else {
            let path = path.to_path_buf();
            return Err(ArchiveError::NotAnArchive { path });
        };
        let is_safe = contents.refused.is_empty();
        findings.extend(contents.refused.iter().map(|refused| format!("archive: {refused}")));
        Ok(Self {
            path: path.to_path_buf(),
            sha256: sha256(&file, bytes).map_err(at)?,
            file,
            bytes,
            files: contents.files,
            is_safe,
            findings,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its SHA-256.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many files it holds.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// What is wrong with it as an archive.
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Whether its files can be unpacked.
    pub fn is_safe(&self) -> bool {
        self.is_safe
    }

    /// Writes its files into a folder that is new, empty and our own, and tells those whose checksum is another one.
    ///
    /// Whoever can write the file can change it after its digest was taken. So the digest is taken once more, of what is
    /// written: as far as nothing was found before, every byte of the archive follows from that.
    pub fn unpack(&self, folder: &Path) -> Result<Vec<String>, ArchiveError> {
        let mut found = Vec::new();
        let (mut sha256, mut directory, mut at) = (Sha256::new(), Vec::new(), 0);
        for listed in self.files.iter().filter(|_| self.is_safe) {
            let path = folder.join(&listed.path);
            let (header, central) = listed.headers(at);
            sha256.update(&header);
            directory.extend(central);
            let unpacked = self.unpack_one(listed, &path, &mut sha256);
            let crc32 = unpacked.map_err(|source| ArchiveError::File {
                act: "unpack into",
                path: path.clone(),
                source,
            })?;
            at += header.len() as u64 + u64::from(listed.bytes);
            if crc32 != listed.crc32 {
                found.push(format!(
                    "archive: {}: its checksum is not that of its bytes",
                    listed.path
                ));
            }
        }
        sha256.update(&directory);
        sha256.update(ending(self.files.len(), directory.len(), at));
        if self.findings.is_empty() && hex(sha256) != self.sha256 {
            found.push("archive: it was changed while it was looked at".to_owned());
        }
        Ok(found)
    }

    fn unpack_one(&self, listed: &Listed, path: &Path, sha256: &mut Sha256) -> io::Result<u32> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut out = File::create_new(path)?;
        let mut crc = Crc32::new();
        pieces(&self.file, listed.at, u64::from(listed.bytes), |piece| {
            crc.update(piece);
            sha256.update(piece);
            out.write_all(piece)
        })?;
        Ok(crc.value())
    }

    /// Hands on all of its bytes, which are those of [`ArchiveFile::sha256`] and no others; false where the file has others
    /// by now, which is known only in the end.
    pub fn hand_on(&self, to: &mut impl io::Write) -> io::Result<bool> {
        let mut sha256 = Sha256::new();
        pieces(&self.file, 0, self.bytes, |piece| {
            sha256.update(piece);
            to.write_all(piece)
        })?;
        Ok(hex(sha256) == self.sha256)
    }
}

impl Listed {
    /// What stands before its bytes, and in the directory, in the one archive of its files; `at` is where that begins.
    fn headers(&self, at: u64) -> (Vec<u8>, Vec<u8>) {
        let entry = Entry {
            path: self.path.clone(),
            bytes: self.bytes,
            crc32: self.crc32,
        };
        // Larger than an archive can be, it is none of ours, and that was found before.
        (entry.local(), entry.central(u32::try_from(at).unwrap_or(u32::MAX)))
    }
}

/// The last record of the one archive of its files.
fn ending(files: usize, directory_bytes: usize, directory_at: u64) -> Vec<u8> {
    let files = u16::try_from(files).unwrap_or(u16::MAX);
    let bytes = u32::try_from(directory_bytes).unwrap_or(u32::MAX);
    end(files, bytes, u32::try_from(directory_at).unwrap_or(u32::MAX))
}

fn hex(sha256: Sha256) -> String {
    base16ct::lower::encode_string(&sha256.finalize())
}

/// What is in it and what is wrong with it; nothing where it is no archive.
fn look(archive: &Bytes<'_>) -> io::Result<Option<(Contents, Vec<String>)>> {
    let begins = archive.at(0, 4)? == LOCAL.to_le_bytes();
    let (mut contents, findings) = match by_directory(archive)? {
        Ok(contents) => (contents, Vec::new()),
        Err(_) if !begins => return Ok(None),
        Err(reason) => {
            let (contents, last) = by_headers(archive)?;
            let cut_off = last.map(|path| format!("archive: it ends, or cannot be read, in {path:?}"));
            (
                contents,
                [Some(format!("archive: {reason}")), cut_off]
                    .into_iter()
                    .flatten()
                    .collect(),
            )
        }
    };
    contents.files.sort_by(|one, other| one.path.cmp(&other.path));
    let paths = contents.files.iter().map(|listed| listed.path.as_str());
    contents.refused.extend(name::clashes(paths));
    // Files that share their bytes would be more on the disk than in the archive.
    let bytes: u64 = contents.files.iter().map(|listed| u64::from(listed.bytes)).sum();
    if bytes > archive.bytes {
        contents.refused.push("its files are larger than it is".to_owned());
    }
    let mut findings: Vec<String> = findings;
    if contents.refused.is_empty() && findings.is_empty() {
        let difference = first_difference(archive, &contents.files)?;
        findings.extend(
            difference.map(|found| {
                format!("archive: it is not the archive that `harness export` makes of its files: {found}")
            }),
        );
    }
    Ok(Some((contents, findings)))
}

/// Where it differs from the one archive that its files make, as far as it is not in a file's own bytes.
fn first_difference(archive: &Bytes<'_>, files: &[Listed]) -> io::Result<Option<String>> {
    let (mut at, mut directory) = (0, Vec::new());
    for listed in files {
        let (header, central) = listed.headers(at);
        if let Some(byte) = differs_at(archive, at, &header)? {
            return Ok(Some(format!("byte {byte}, in the header of {:?}", listed.path)));
        }
        at += header.len() as u64 + u64::from(listed.bytes);
        directory.push((&listed.path, central));
    }
    let (begins, mut directory_bytes) = (at, 0);
    for (path, header) in directory {
        if let Some(byte) = differs_at(archive, at, &header)? {
            return Ok(Some(format!("byte {byte}, in what its directory says of {path:?}")));
        }
        at += header.len() as u64;
        directory_bytes += header.len();
    }
    let last = ending(files.len(), directory_bytes, begins);
    if let Some(byte) = differs_at(archive, at, &last)? {
        return Ok(Some(format!("byte {byte}, in its end")));
    }
    at += last.len() as u64;
    Ok((at < archive.bytes).then(|| format!("byte {at}, where it should end")))
}

/// The first byte from `at` on that is not the expected one.
fn differs_at(archive: &Bytes<'_>, at: u64, expected: &[u8]) -> io::Result<Option<u64>> {
    let found = archive.at(at, expected.len())?;
    let same = found
        .iter()
        .zip(expected)
        .take_while(|(found, expected)| found == expected)
        .count();
    Ok((same < expected.len()).then_some(at + same as u64))
}

fn sha256(file: &File, bytes: u64) -> io::Result<String> {
    let mut hasher = Sha256::new();
    pieces(file, 0, bytes, |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hex(hasher))
}

/// So many bytes from there, in pieces; an error where the file ends before.
fn pieces(file: &File, from: u64, bytes: u64, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut at, until) = (from, from + bytes);
    while at < until {
        let count = usize::try_from(until - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        file.read_exact_at(&mut chunk[..count], at)?;
        each(&chunk[..count])?;
        at += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
