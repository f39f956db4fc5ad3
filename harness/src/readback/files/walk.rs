//! What a folder holds, within bounds, without following a link.
//!
//! Must not open any file: names and sizes only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::readback::FreezeError;

/// Most files, folders and strangers that a store may have together.
pub const TREE_ENTRIES_MAX: usize = 10_000;

/// How deep folders may stand in one another.
pub const TREE_DEPTH_MAX: usize = 32;

/// What is not read, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stranger {
    /// A symbolic link, wherever it leads: it may lead out of the store, or to a file that is read anyway.
    Link,
    /// A socket.
    Socket,
    /// A named pipe.
    Pipe,
    /// A block or character device.
    Device,
    /// A file or folder whose name is not UTF-8 or has control characters, so that evidence cannot carry it. Its name
    /// is written here with replacements.
    Name,
}

/// The entries of a folder by their paths in it, with `/` between the parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Listing {
    /// Regular files and their sizes in bytes.
    pub(super) files: BTreeMap<String, u64>,
    /// Folders.
    pub(super) folders: BTreeSet<String>,
    /// Everything else.
    pub(super) strangers: BTreeMap<String, Stranger>,
}

impl Listing {
    fn entries(&self) -> usize {
        self.files.len() + self.folders.len() + self.strangers.len()
    }
}

/// Lists a folder and all in it.
pub(super) fn walk(root: &Path) -> Result<Listing, FreezeError> {
    let mut listing = Listing::default();
    let mut waiting = vec![(root.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = waiting.pop() {
        if depth > TREE_DEPTH_MAX {
            return Err(FreezeError::TooDeep { folder });
        }
        for entry in fs::read_dir(&folder).map_err(failed("list", &folder))? {
            let entry = entry.map_err(failed("list", &folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(failed("look at", &path))?;
            let (name, is_plain) = plain_name(&entry.file_name());
            let name = format!("{prefix}{name}");
            if let Some(stranger) = stranger(kind, is_plain) {
                listing.strangers.insert(name, stranger);
            } else if kind.is_dir() {
                waiting.push((path, format!("{name}/"), depth + 1));
                listing.folders.insert(name);
            } else {
                let bytes = entry.metadata().map_err(failed("look at", &path))?.len();
                listing.files.insert(name, bytes);
            }
            if listing.entries() > TREE_ENTRIES_MAX {
                return Err(FreezeError::TooManyEntries { store: root.into() });
            }
        }
    }
    Ok(listing)
}

fn stranger(kind: FileType, is_plain: bool) -> Option<Stranger> {
    if kind.is_symlink() {
        Some(Stranger::Link)
    } else if kind.is_socket() {
        Some(Stranger::Socket)
    } else if kind.is_fifo() {
        Some(Stranger::Pipe)
    } else if kind.is_block_device() || kind.is_char_device() {
        Some(Stranger::Device)
    } else {
        (!is_plain).then_some(Stranger::Name)
    }
}

/// The name as text, and whether that is the name itself.
fn plain_name(name: &std::ffi::OsStr) -> (String, bool) {
    let text = name.to_string_lossy();
    let is_plain = name.to_str().is_some() && !text.chars().any(char::is_control);
    let shown = text
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    (shown.collect(), is_plain)
}

pub(super) fn failed(act: &'static str, file: &Path) -> impl FnOnce(io::Error) -> FreezeError {
    let file: PathBuf = file.to_owned();
    move |source| FreezeError::File { act, file, source }
}
