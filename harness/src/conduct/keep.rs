//! What stays of a run that was one of many, and what many runs of one process need only once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::conductor::case_named;
use crate::case::Catalogue;
use crate::digest;
use crate::drive::RunSetting;
use crate::record::{Evidence, EvidenceError, Run, RunState};
use crate::secrets::search_values;

/// Takes everything out of a run but these cases and their controls, from its folder and from what it says of itself, so
/// that what stays is whole. `run` says that it is at its end; what is killed before it has written that has not come to it.
pub(super) fn keep_only(
    keep: &BTreeSet<String>,
    catalogue: &Catalogue,
    run: &mut Run,
    evidence: &Evidence,
) -> Result<(), EvidenceError> {
    let controls = keep.iter().flat_map(|id| &case_named(catalogue, id).controls);
    let kept: BTreeSet<&String> = keep.iter().chain(controls).collect();
    run.verdicts.retain(|id, _| kept.contains(id));
    // A second interrupt kills this at any moment. From here on these cases have no verdict, as any that a killed run was in,
    // and one without its definition was not begun.
    let at_work = Run {
        state: RunState::Running,
        ..run.clone()
    };
    Evidence::write_json(&evidence.run_file(), &at_work)?;
    for id in run.executed.iter().filter(|id| !kept.contains(id)) {
        evidence.case(id).remove()?;
    }
    for list in [&mut run.requested, &mut run.named, &mut run.executed] {
        list.retain(|id| kept.contains(id));
    }
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
    use crate::conduct::IsRemoved;
    use crate::conduct::conductor::setting_of;
    use crate::conduct::describe::describe;
    use crate::conduct::removed::tests::request;
    use crate::record::{CaseSummary, Verdict};
    use std::fs;

    const CASES: [&str; 3] = ["sees-duplicates", "identical-retry", "lost-reply"];

    /// A run of these cases that has come to its end, as it is before anything is taken out of it.
    fn run_in(folder: &Path) -> (Run, Evidence) {
        let request = request(folder, IsRemoved::never());
        let setting = setting_of(&request).expect("a setting");
        let mut run = describe(&request, &setting);
        run.executed = CASES.map(str::to_owned).to_vec();
        let summary = |id: &str| {
            let summary = CaseSummary {
                verdict: Verdict::Inconclusive,
                reason: Some("the run was interrupted".to_owned()),
                micros: 1,
            };
            (id.to_owned(), summary)
        };
        run.verdicts = CASES.map(summary).into();
        run.state = RunState::Interrupted;
        (run, Evidence::create_at(&folder.join("run")).expect("a folder"))
    }

    fn written(evidence: &Evidence) -> Run {
        serde_json::from_slice(&fs::read(evidence.run_file()).expect("a run")).expect("a run")
    }

    /// A second interrupt may kill it in the middle: what is gone then must not be told of as if it was there.
    #[test]
    fn what_is_taken_out_has_no_verdict_before_it_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut run, evidence) = run_in(folder.path());
        let case = evidence.case("identical-retry");
        fs::create_dir(evidence.root().join("cases")).expect("a folder");
        // No folder of a case, so that it stops here.
        fs::write(case.root(), "").expect("a file");
        let keep = BTreeSet::from(["lost-reply".to_owned()]);
        keep_only(&keep, Catalogue::embedded(), &mut run, &evidence).expect_err("it is no folder");
        let left = written(&evidence);
        assert_eq!(left.state, RunState::Running);
        assert_eq!(left.executed, CASES);
        let judged: Vec<&str> = left.verdicts.keys().map(String::as_str).collect();
        assert_eq!(judged, ["lost-reply", "sees-duplicates"]);

        fs::remove_file(case.root()).expect("a file");
        case.create().expect("a folder");
        keep_only(&keep, Catalogue::embedded(), &mut run, &evidence).expect("it is taken out");
        assert!(!case.root().exists());
        assert_eq!(run.executed, ["sees-duplicates", "lost-reply"]);
        assert_eq!(
            run.state,
            RunState::Interrupted,
            "its end is for the conductor to write"
        );
    }

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
