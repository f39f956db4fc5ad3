//! Opening and reading files that somebody else may have put there: a store's own server, or the author of evidence.
//!
//! Only regular files are opened. A pipe would block for ever, a device would never end, and what a name leads to can
//! change between a look and the opening, so the look comes after.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::libc;

/// Opens a regular file for reading; a link is followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_NONBLOCK)
}

/// Opens a regular file for reading; a link is an error.
pub(crate) fn open_unlinked(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_NONBLOCK | libc::O_NOFOLLOW)
}

fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// Reads a whole file of at most `bytes_max` bytes; a link is an error.
pub(crate) fn read_bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_at_most(open_unlinked(path)?, bytes_max)
}

/// Reads a whole file that is said to have so many bytes; one that has more or fewer is an error, and a link is too.
pub(crate) fn read_recorded(path: &Path, bytes_recorded: u64) -> io::Result<Vec<u8>> {
    let file = open_unlinked(path)?;
    let bytes_now = file.metadata()?.len();
    let is_said = bytes_now == bytes_recorded;
    let bytes = if is_said {
        read_at_most(file, bytes_now)?
    } else {
        Vec::new()
    };
    if is_said && bytes.len() as u64 == bytes_recorded {
        return Ok(bytes);
    }
    let reason = format!("it is said to have {bytes_recorded} bytes, and has {bytes_now}");
    Err(io::Error::new(io::ErrorKind::InvalidData, reason))
}

/// Reads to the end of what is open, at most `bytes_max` bytes.
pub(crate) fn read_at_most(from: impl io::Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let reason = format!("it has more than the {bytes_max} bytes that such a file may have");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// Reads a whole text of at most `bytes_max` bytes; a link is an error.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;

    #[test]
    fn only_regular_files_are_opened_and_nothing_blocks() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(open(path).is_err(), "{}", path.display());
        }
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "text").expect("write");
        std::os::unix::fs::symlink(&file, &link).expect("link");
        assert!(open(&link).is_ok());
        assert!(open_unlinked(&link).is_err());
        assert_eq!(read_text(&file, 4).expect("read"), "text");
        assert!(read_text(&file, 3).is_err());
        assert_eq!(read_recorded(&file, 4).expect("read"), b"text");
        for said in [0, 3, 5, u64::MAX] {
            assert!(read_recorded(&file, said).is_err(), "{said}");
        }
    }
}
