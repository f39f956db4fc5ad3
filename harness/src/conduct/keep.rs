//! What stays of a run that was one of many, and what many runs of one process need only once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::conductor::case_named;
use crate::case::Catalogue;
use crate::digest;
use crate::drive::RunSetting;
use crate::record::{Evidence, EvidenceError, Run};
use crate::secrets::search_values;

/// Takes everything out of a run but these cases and their controls, from its folder and from what it says of itself, so
/// that what stays is whole.
pub(super) fn keep_only(
    keep: &BTreeSet<String>,
    catalogue: &Catalogue,
    run: &mut Run,
    evidence: &Evidence,
) -> Result<(), EvidenceError> {
    let controls = keep.iter().flat_map(|id| &case_named(catalogue, id).controls);
    let kept: BTreeSet<&String> = keep.iter().chain(controls).collect();
    for id in run.executed.iter().filter(|id| !kept.contains(id)) {
        evidence.case(id).remove()?;
    }
    for list in [&mut run.requested, &mut run.named, &mut run.executed] {
        list.retain(|id| kept.contains(id));
    }
    run.verdicts.retain(|id, _| kept.contains(id));
    Ok(())
}

/// Looks for the values of the run's secrets in all that was written: afterwards nobody knows them any more.
pub(super) fn look_for_secrets(setting: &RunSetting, evidence: &Evidence, run: &mut Run) -> Result<(), EvidenceError> {
    let secrets = setting.secrets();
    if secrets.is_empty() {
        return Ok(());
    }
    // A file that cannot be looked through now stops `export` later, which looks through it again.
    run.secrets_search = search_values(evidence.root(), &secrets).ok();
    Evidence::write_json(&evidence.run_file(), run)?;
    Ok(())
}

/// The digest of the harness itself: it is large, and the same in every run of a process.
pub(super) fn own_digest(harness: &Path) -> Option<String> {
    static TAKEN: Mutex<Option<(PathBuf, String)>> = Mutex::new(None);
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, sha256)) = taken.as_ref().filter(|(path, _)| path == harness) {
        return Some(sha256.clone());
    }
    let sha256 = digest::sha256_file(harness).ok()?;
    *taken = Some((harness.to_path_buf(), sha256.clone()));
    Some(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_digest_is_that_of_the_file_and_is_taken_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::write(&one, "1").expect("write");
        fs::write(&other, "2").expect("write");
        let first = own_digest(&one);
        assert_eq!(first, digest::sha256_file(&one).ok());
        fs::write(&one, "changed").expect("write");
        assert_eq!(own_digest(&one), first);
        assert_eq!(own_digest(&other), digest::sha256_file(&other).ok());
        assert_eq!(own_digest(&folder.path().join("nothing")), None);
    }
}
