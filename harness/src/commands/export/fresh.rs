//! A file that is there whole or not at all, and that replaces none.
//!
//! It has no name until all of it is on the disk, so that nothing is left of it whatever ends this, SIGKILL too. Where the
//! file system knows no files without a name, it lies hidden beside its place, and only what ends this at once leaves it there.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::folder_of;

/// Who may read it.
const MODE: u32 = 0o644;

/// A file that is being written.
pub(super) struct Fresh {
    out: BufWriter<Unnamed>,
    path: PathBuf,
}

enum Unnamed {
    /// It has no name.
    #[cfg(target_os = "linux")]
    File(File),
    /// It has another name, and is removed with this value.
    Hidden(tempfile::NamedTempFile),
}

impl Fresh {
    /// Begins a file for this path, in the folder of the path.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        Ok(Self {
            out: BufWriter::new(Unnamed::beside(path)?),
            path: path.to_path_buf(),
        })
    }

    /// Gives it its name, once all of it is on the disk; a file that has come there meanwhile stays.
    pub(super) fn name(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.file().sync_all()?;
        file.name(&self.path)
    }
}

impl Write for Fresh {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Unnamed {
    #[cfg(target_os = "linux")]
    fn beside(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;

        let mut options = OpenOptions::new();
        options.write(true).mode(MODE).custom_flags(nix::libc::O_TMPFILE);
        match options.open(folder_of(path)) {
            Ok(file) => Ok(Self::File(file)),
            Err(error) if knows_none(&error) => Self::hidden(path),
            Err(error) => Err(error),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn beside(path: &Path) -> io::Result<Self> {
        Self::hidden(path)
    }

    fn hidden(path: &Path) -> io::Result<Self> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".");
        let file = tempfile::Builder::new()
            .prefix(&name)
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(MODE))
            .tempfile_in(folder_of(path))?;
        Ok(Self::Hidden(file))
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::File(file) => file,
            Self::Hidden(file) => file.as_file(),
        }
    }

    fn name(self, path: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::File(file) => {
                use rustix::fs::{AtFlags, CWD, linkat};
                use std::os::fd::AsRawFd as _;

                let open = format!("/proc/self/fd/{}", file.as_raw_fd());
                Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
            }
            Self::Hidden(file) => {
                file.persist_noclobber(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

impl Write for Unnamed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Whether the file system, or the kernel, has no files without a name.
#[cfg(target_os = "linux")]
fn knows_none(error: &io::Error) -> bool {
    let codes = [nix::libc::EOPNOTSUPP, nix::libc::EISDIR, nix::libc::ENOENT];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name().into_string().expect("UTF-8");
        entries.map(name).collect()
    }

    /// A file of which this much is written, without or with another name until then.
    fn begun(begin: fn(&Path) -> io::Result<Unnamed>, path: &Path, text: &str) -> Fresh {
        let mut fresh = Fresh {
            out: BufWriter::new(begin(path).expect("a file")),
            path: path.to_path_buf(),
        };
        fresh.write_all(text.as_bytes()).expect("write");
        fresh
    }

    #[test]
    fn it_is_there_whole_or_not_at_all_and_replaces_nothing() {
        for begin in [Unnamed::beside, Unnamed::hidden] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("a.zip");
            let (one, other) = (begun(begin, &path, "one"), begun(begin, &path, "other"));
            one.name().expect("a name");
            assert!(other.name().is_err(), "it is there already");
            drop(begun(begin, &folder.path().join("b.zip"), "abandoned"));
            assert_eq!(fs::read(&path).expect("read"), b"one");
            assert_eq!(names(folder.path()), ["a.zip"]);
        }
    }

    /// Nobody has to be there to remove what has no name.
    #[cfg(target_os = "linux")]
    #[test]
    fn until_then_it_has_no_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let fresh = Fresh::beside(&folder.path().join("a.zip")).expect("a file");
        assert_eq!(names(folder.path()), [""; 0]);
        drop(fresh);
    }
}
