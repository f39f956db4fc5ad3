//! Whether a store still lies in the case's own folder: a server can put a link in its place.
//!
//! What the link leads to is somebody else's, and would end in the evidence. So it is looked at before anything is read or
//! written there. A server that swaps the link in between these two goes unseen; it runs as the same user, and could
//! have copied the file into its store itself.

use std::fs;
use std::path::Path;

use super::stage::StageError;

/// An error if what is at `store` lies outside `data`. What is not there lies nowhere.
pub(super) fn refuse_outside(store: &Path, data: &Path) -> Result<(), StageError> {
    // Where one of them cannot be resolved, whoever opens it meets the same trouble, and says so.
    let (Ok(real), Ok(inside)) = (fs::canonicalize(store), fs::canonicalize(data)) else {
        return Ok(());
    };
    if real.starts_with(inside) {
        return Ok(());
    }
    Err(StageError::Outside {
        store: store.into(),
        real,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_out_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        fs::create_dir_all(data.join("real")).expect("a folder");
        std::os::unix::fs::symlink("real", data.join("near")).expect("link");
        std::os::unix::fs::symlink("/etc", data.join("far")).expect("link");
        std::os::unix::fs::symlink("/nowhere/at/all", data.join("nowhere")).expect("link");
        for name in ["real", "near", "nowhere", "absent"] {
            assert!(refuse_outside(&data.join(name), &data).is_ok(), "{name}");
        }
        let told = refuse_outside(&data.join("far"), &data).expect_err("it leads out");
        assert!(
            told.to_string()
                .contains("leads out of the case's own folder ({data}), to /etc"),
            "{told}"
        );
        assert!(refuse_outside(&data.join("far/hostname"), &data).is_err());
    }
}
