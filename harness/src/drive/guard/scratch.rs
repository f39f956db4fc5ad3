//! Removes a scratch folder whatever a server has put into it.
//!
//! Only the folder given is touched; links are removed, never followed.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::drive::clock;

/// Removes the folder, within a bound; returns whether it is gone.
///
/// A process that is just dying may still write, so it is tried again; a folder that its owner may not enter is opened.
pub(super) fn remove(folder: &Path, time_max: Duration) -> bool {
    clock::wait_until_blocking(time_max, || match fs::remove_dir_all(folder) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(_) => {
            open(folder);
            false
        }
    })
}

/// Gives the owner every right on the folder and the folders in it.
fn open(folder: &Path) {
    // Where this fails, so does the removal, which is reported.
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_may_not_be_entered_goes_too_and_the_target_of_a_link_stays() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "").unwrap();
        let folder = tempfile::tempdir().unwrap().keep();
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.join("a/link")).unwrap();
        fs::set_permissions(folder.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        assert!(remove(&folder, Duration::from_secs(5)));
        assert!(!folder.exists() && outside.path().join("kept").exists());
    }
}
