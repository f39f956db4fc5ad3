//! Making a new store from the seed that a profile names: an SQL script that is run, or a file or folder that is copied.
//!
//! Must not make a link in the case's folder, and must not open what is no regular file: a pipe keeps a reader waiting, a
//! device has no end. A seed is looked at as a whole before anything is started.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use crate::plain_file;
use crate::readback::{FROZEN_BYTES_MAX, TREE_DEPTH_MAX, TREE_ENTRIES_MAX};
use crate::target::Seed;

/// Largest script, in bytes.
const SCRIPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Whether a store can be made from a seed; a script is run once, on a store in memory.
pub(super) fn check(seed: &Seed) -> Result<(), String> {
    match seed {
        Seed::Script(script) => run(script, Path::new(":memory:")),
        Seed::Copy(original) => Copying::default().one(original, None, 0),
    }
}

/// Makes a store from a seed.
pub(super) fn make(seed: &Seed, store: &Path) -> Result<(), String> {
    match seed {
        Seed::Script(script) => run(script, store),
        Seed::Copy(original) => Copying::default().one(original, Some(store), 0),
    }
}

fn run(script: &Path, store: &Path) -> Result<(), String> {
    let bytes = plain_file::open(script).and_then(|file| plain_file::read_at_most(file, SCRIPT_BYTES_MAX));
    let text = String::from_utf8(bytes.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let connection = rusqlite::Connection::open(store).map_err(|error| error.to_string())?;
    connection.execute_batch(&text).map_err(|error| error.to_string())?;
    connection.close().map_err(|(_, error)| error.to_string())
}

/// What was met so far, within the bounds of what can be frozen later.
#[derive(Default)]
struct Copying {
    entries: usize,
    bytes: u64,
}

impl Copying {
    /// Copies a file, or a folder with all that is in it; only looks where there is nowhere to copy to. The path of the seed
    /// itself may be a link, which the profile's author made; nothing in it may be one.
    fn one(&mut self, original: &Path, into: Option<&Path>, depth: usize) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", original.display());
        let look = if depth == 0 { fs::metadata } else { fs::symlink_metadata };
        let found = look(original).map_err(failed)?;
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(if found.is_file() { found.len() } else { 0 });
        let refused = if found.is_symlink() {
            "is a link, and links are not copied; put what it leads to in its place".to_owned()
        } else if !found.is_file() && !found.is_dir() {
            "is neither a file nor a folder; take it out of the seed".to_owned()
        } else if depth > TREE_DEPTH_MAX {
            format!("is more than {TREE_DEPTH_MAX} folders deep; make the seed flatter")
        } else if self.entries > TREE_ENTRIES_MAX || self.bytes > FROZEN_BYTES_MAX {
            format!(
                "is one too many: a seed may have {TREE_ENTRIES_MAX} files and folders and {FROZEN_BYTES_MAX} bytes; make it smaller"
            )
        } else if found.is_dir() {
            return self.folder(original, into, depth).map_err(failed)?;
        } else {
            return into.map_or(Ok(()), |into| copy_file(original, into, depth == 0).map_err(failed));
        };
        Err(format!("{} {refused}", original.display()))
    }

    fn folder(&mut self, original: &Path, into: Option<&Path>, depth: usize) -> io::Result<Result<(), String>> {
        if let Some(into) = into {
            fs::create_dir_all(into)?;
        }
        for entry in fs::read_dir(original)? {
            let entry = entry?;
            let inside = into.map(|into| into.join(entry.file_name()));
            if let Err(refused) = self.one(&entry.path(), inside.as_deref(), depth + 1) {
                return Ok(Err(refused));
            }
        }
        Ok(Ok(()))
    }
}

fn copy_file(original: &Path, into: &Path, may_be_link: bool) -> io::Result<()> {
    let file = if may_be_link {
        plain_file::open(original)?
    } else {
        plain_file::open_unlinked(original)?
    };
    let permissions = file.metadata()?.permissions();
    let copied = File::create(into)?;
    io::copy(&mut file.take(FROZEN_BYTES_MAX), &mut &copied)?;
    copied.set_permissions(permissions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use std::os::unix::fs::symlink;

    fn seed() -> (tempfile::TempDir, Seed) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let seed = folder.path().join("seed");
        fs::create_dir_all(seed.join("inside")).expect("a folder");
        fs::write(seed.join("inside/a.txt"), "text").expect("write");
        (folder, Seed::Copy(seed))
    }

    fn refused(folder: &Path, seed: &Seed) -> String {
        let told = check(seed).expect_err("it is refused before anything is started");
        assert_eq!(make(seed, &folder.join("store")), Err(told.clone()));
        told
    }

    #[test]
    fn files_and_folders_are_copied_and_the_seed_itself_may_be_a_link() {
        let (folder, Seed::Copy(original)) = seed() else {
            panic!("a copy")
        };
        let link = folder.path().join("link");
        symlink(&original, &link).expect("link");
        for (seed, store) in [(original, "one"), (link, "two")] {
            let store = folder.path().join(store);
            check(&Seed::Copy(seed.clone())).expect("it can be copied");
            make(&Seed::Copy(seed), &store).expect("it is copied");
            assert_eq!(fs::read(store.join("inside/a.txt")).expect("read"), b"text");
        }
        assert!(!folder.path().join("one").is_symlink());
    }

    #[test]
    fn a_pipe_does_not_hang_and_is_refused_by_name() {
        let (folder, seed) = seed();
        nix::unistd::mkfifo(&folder.path().join("seed/inside/pipe"), Mode::S_IRWXU).expect("a pipe");
        let told = refused(folder.path(), &seed);
        assert!(told.contains("inside/pipe is neither a file nor a folder"), "{told}");
        let pipe = folder.path().join("seed.sql");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
        assert!(check(&Seed::Script(pipe)).is_err());
    }

    #[test]
    fn a_link_in_it_is_refused_with_the_next_step() {
        let (folder, seed) = seed();
        symlink("/etc/hostname", folder.path().join("seed/name")).expect("link");
        let told = refused(folder.path(), &seed);
        assert!(
            told.ends_with("seed/name is a link, and links are not copied; put what it leads to in its place"),
            "{told}"
        );
    }

    #[test]
    fn too_many_entries_are_refused() {
        let (folder, seed) = seed();
        for number in 0..TREE_ENTRIES_MAX {
            fs::write(folder.path().join(format!("seed/{number}")), "").expect("write");
        }
        let told = check(&seed).expect_err("too many");
        assert!(told.contains("a seed may have 10000 files and folders"), "{told}");
    }
}
