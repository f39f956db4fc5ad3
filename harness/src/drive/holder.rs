//! Who has a store open although every process of the server is gone: a daemon, a container, a server of somebody else.
//!
//! Killing what was launched does not crash such a holder, so a pass would say nothing. Looks at what `/proc` shows to this
//! user, which is not everything: a holder of another user goes unseen, and so does one that opens the store for each
//! write.
//!
//! A child that another thread is just starting has, until it executes its program, a copy of every descriptor of this
//! process: it is no holder.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::process::registry;

/// A process that has a file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    /// Its process id.
    pub(super) pid: i32,
    /// Its name.
    pub(super) name: String,
}

/// The first process other than this one and those in `except` that has the file at `path`, or a file in the folder there,
/// open for writing or reading, if any is seen.
pub(super) fn holder_of(path: &Path, except: &[i32]) -> Option<Holder> {
    let store = Place::of(path)?;
    let own = i32::try_from(std::process::id()).ok()?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut others = pids.filter(|pid| *pid != own && !except.contains(pid));
    let pid = others.find(|pid| store.is_open_in(*pid) && is_still_open_in(*pid, &store))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Holder {
        pid,
        name: name.trim().to_owned(),
    })
}

/// Whether a process has the store open at a moment in which no thread of this process is starting a child.
fn is_still_open_in(pid: i32, store: &Place) -> bool {
    let _nobody_is_starting = registry::lock();
    store.is_open_in(pid)
}

/// Whether one of these processes has the file at `path`, or a file in the folder there, open.
pub(super) fn is_open_in(path: &Path, pids: &[i32]) -> bool {
    Place::of(path).is_some_and(|store| pids.iter().any(|pid| store.is_open_in(*pid)))
}

/// A store as descriptors lead to it.
enum Place {
    /// By device and inode.
    File(u64, u64),
    /// By its path without links.
    Folder(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let metadata = fs::metadata(&path).ok()?;
        Some(if metadata.is_dir() {
            Self::Folder(path)
        } else {
            Self::File(metadata.dev(), metadata.ino())
        })
    }

    fn is_open_in(&self, pid: i32) -> bool {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        descriptors.map(|entry| entry.path()).any(|descriptor| match self {
            Self::File(device, inode) => {
                fs::metadata(descriptor).is_ok_and(|file| (file.dev(), file.ino()) == (*device, *inode))
            }
            Self::Folder(folder) => {
                fs::read_link(descriptor).is_ok_and(|file| file.starts_with(folder) && file != *folder)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_the_file_open_is_found_until_it_ends() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("store");
        fs::write(&path, "x").expect("write");
        assert_eq!(holder_of(&path, &[]), None);
        let file = fs::File::open(&path).expect("open");
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(file)
            .spawn()
            .expect("cat");
        let holder = holder_of(&path, &[]);
        let of_folder = holder_of(folder.path(), &[]).map(|holder| holder.pid);
        let child_pid = i32::try_from(child.id()).expect("a pid");
        assert_eq!(holder_of(&path, &[child_pid]), None);
        assert!(is_open_in(&path, &[1, child_pid]));
        assert!(!is_open_in(&path, &[]));
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert_eq!(holder.map(|holder| holder.pid), Some(child_pid));
        assert_eq!(of_folder, Some(child_pid));
        assert_eq!(holder_of(&path, &[]), None);
    }
}
