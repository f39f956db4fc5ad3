//! What an archive that somebody else made says that it holds: by its directory, or, where that is damaged, by the headers
//! before its files. Nothing is believed and nothing is allocated by a number that stands in it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::headers::{ARCHIVE_FILES_MAX, CENTRAL, CENTRAL_BYTES, END, END_BYTES, LOCAL, LOCAL_BYTES};
use super::name::{self, PATH_BYTES_MAX};

/// Longest comment of an archive; behind the end there can be no more.
const COMMENT_BYTES_MAX: u64 = 0xFFFF;

/// What stands in a number that another record has, because it is too large for this one.
const ELSEWHERE: u16 = 0xFFFF;

/// The half of the attributes that is a mode of Unix, and its kinds.
const KIND: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_FOLDER: u32 = 0o040_000;

/// Encrypted, and strongly.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

/// Sizes stand behind the file.
const SIZES_BEHIND: u16 = 1 << 3;

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) bytes: u32,
    pub(super) crc32: u32,
    /// Where its bytes begin.
    pub(super) at: u64,
}

/// What an archive holds.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) files: Vec<Listed>,
    /// Why nothing of it is unpacked, each with its path.
    pub(super) refused: Vec<String>,
}

/// An archive that is read at places.
#[derive(Debug)]
pub(super) struct Bytes<'a> {
    pub(super) file: &'a File,
    pub(super) bytes: u64,
}

impl Bytes<'_> {
    /// So many bytes from there; fewer, where it ends before.
    pub(super) fn at(&self, at: u64, count: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count.min(left)];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

/// The end of an archive, as far as it is needed.
struct End {
    files: u16,
    /// Where the directory begins, and where it ends.
    directory: (u64, u64),
}

/// What the directory says; an error where there is none, or one that cannot be read.
pub(super) fn by_directory(archive: &Bytes<'_>) -> io::Result<Result<Contents, String>> {
    let end = match end(archive)? {
        Ok(end) => end,
        Err(reason) => return Ok(Err(reason)),
    };
    let (mut at, until) = end.directory;
    let mut contents = Contents::default();
    for number in 1..=end.files {
        let header = archive.at(at, CENTRAL_BYTES)?;
        let fields = Fields(&header);
        let lengths = [28, 30, 32].map(|field| usize::from(fields.two(field)));
        let next = at + (CENTRAL_BYTES + lengths.iter().sum::<usize>()) as u64;
        if header.len() < CENTRAL_BYTES || fields.four(0) != CENTRAL || next > until {
            return Ok(Err(format!(
                "byte {at}: entry {number} of its directory cannot be read"
            )));
        }
        let path = archive.at(at + CENTRAL_BYTES as u64, lengths[0].min(PATH_BYTES_MAX + 1))?;
        at = next;
        let path = match String::from_utf8(path) {
            Ok(path) => path,
            Err(error) => {
                let path = String::from_utf8_lossy(error.as_bytes()).into_owned();
                contents.refused.push(format!("{path:?}: its path is not UTF-8"));
                continue;
            }
        };
        add(archive, &fields, path, &mut contents)?;
    }
    if at != until {
        return Ok(Err(format!("byte {at}: its directory is longer than its files")));
    }
    Ok(Ok(contents))
}

/// One entry of the directory: a file, or a reason to unpack nothing.
fn add(archive: &Bytes<'_>, fields: &Fields<'_>, path: String, contents: &mut Contents) -> io::Result<()> {
    let (bytes, local) = (fields.four(24), u64::from(fields.four(42)));
    let kind = if fields.two(4) >> 8 == 3 {
        (fields.four(38) >> 16) & KIND
    } else {
        0
    };
    // A folder without files is not evidence; that it is listed shows elsewhere.
    if path.ends_with('/')
        && bytes == 0
        && [0, KIND_FOLDER].contains(&kind)
        && name::fault(path.trim_end_matches('/')).is_none()
    {
        return Ok(());
    }
    let header = archive.at(local, LOCAL_BYTES)?;
    let before = Fields(&header);
    let at = local + LOCAL_BYTES as u64 + u64::from(before.two(26)) + u64::from(before.two(28));
    let reason = if let Some(fault) = name::fault(&path) {
        Some(format!("it has {fault}"))
    } else if fields.two(8) & ENCRYPTED != 0 {
        Some("it is encrypted".to_owned())
    } else if fields.two(10) != 0 || fields.four(20) != bytes {
        Some(
            "it is compressed, and evidence is stored; pack it again with `harness export`, or unpack it yourself"
                .to_owned(),
        )
    } else if ![0, KIND_FILE].contains(&kind) {
        Some("it is a link, a device or a folder, and no file".to_owned())
    } else if header.len() < LOCAL_BYTES || before.four(0) != LOCAL || at + u64::from(bytes) > archive.bytes {
        Some("its directory leads to where no file is".to_owned())
    } else {
        None
    };
    match reason {
        Some(reason) => contents.refused.push(format!("{path:?}: {reason}")),
        None => contents.files.push(Listed {
            path,
            bytes,
            crc32: fields.four(16),
            at,
        }),
    }
    Ok(())
}

/// The last record, searched from the end of the file on.
fn end(archive: &Bytes<'_>) -> io::Result<Result<End, String>> {
    let from = archive.bytes.saturating_sub(COMMENT_BYTES_MAX + END_BYTES as u64);
    let tail = archive.at(from, usize::MAX)?;
    let begins = |at: &usize| tail[*at..].starts_with(&END.to_le_bytes());
    let Some(at) = (0..=tail.len().saturating_sub(END_BYTES))
        .rev()
        .filter(|at| at + END_BYTES <= tail.len())
        .find(begins)
    else {
        return Ok(Err(
            "it has no end: it was cut off, or its last bytes were changed".to_owned()
        ));
    };
    let fields = Fields(&tail[at..]);
    let (disk, first_disk, here, files) = (fields.two(4), fields.two(6), fields.two(8), fields.two(10));
    let (bytes, offset) = (u64::from(fields.four(12)), u64::from(fields.four(16)));
    let at = from + at as u64;
    if files == ELSEWHERE || usize::from(files) > ARCHIVE_FILES_MAX {
        return Ok(Err(format!(
            "byte {at}: it says that it has more than {ARCHIVE_FILES_MAX} files"
        )));
    }
    if (disk, first_disk, here) != (0, 0, files) || offset + bytes > at {
        return Ok(Err(format!("byte {at}: its end does not say where its directory is")));
    }
    let directory = (offset, offset + bytes);
    Ok(Ok(End { files, directory }))
}

/// The files whose headers follow each other from the first byte on, and where that ends, if it is in the middle of one.
pub(super) fn by_headers(archive: &Bytes<'_>) -> io::Result<(Contents, Option<String>)> {
    let mut contents = Contents::default();
    let mut at = 0;
    loop {
        let header = archive.at(at, LOCAL_BYTES)?;
        let fields = Fields(&header);
        let is_file = header.len() == LOCAL_BYTES && fields.four(0) == LOCAL;
        if !is_file || contents.files.len() == ARCHIVE_FILES_MAX {
            return Ok((contents, None));
        }
        let (path_bytes, extra) = (usize::from(fields.two(26)), u64::from(fields.two(28)));
        let path = archive.at(at + LOCAL_BYTES as u64, path_bytes.min(PATH_BYTES_MAX + 1))?;
        let path = String::from_utf8_lossy(&path).into_owned();
        let bytes = fields.four(22);
        let begins = at + LOCAL_BYTES as u64 + path_bytes as u64 + extra;
        let next = begins + u64::from(bytes);
        let is_stored =
            fields.two(6) & (ENCRYPTED | SIZES_BEHIND) == 0 && fields.two(8) == 0 && fields.four(18) == bytes;
        if next > archive.bytes || !is_stored || name::fault(&path).is_some() {
            return Ok((contents, Some(path)));
        }
        contents.files.push(Listed {
            path,
            bytes,
            crc32: fields.four(14),
            at: begins,
        });
        at = next;
    }
}

/// Numbers in a record, least significant byte first; zero where it ends before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn two(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.byte(at), self.byte(at + 1)])
    }

    fn four(&self, at: usize) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.byte(at + byte)))
    }
}
