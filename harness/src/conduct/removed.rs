//! Whether the evidence of a run stays: what is removed anyway is neither digested nor sealed.
//!
//! The digest of an unoptimised test binary takes seconds, and under a runner that starts one process for each trial it would
//! be taken for each of them.

use std::sync::Arc;

/// Whether evidence is removed by whoever asked for the run, which may depend on what the run comes to.
#[derive(Clone)]
pub struct IsRemoved(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl IsRemoved {
    /// It stays.
    pub fn never() -> Self {
        Self(None)
    }

    /// It goes where this is true once every case was told.
    pub fn when(is_removed: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_removed)))
    }

    /// Whether it stays in any case.
    pub(super) fn is_never(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it goes, now that every case was told.
    pub(super) fn now(&self) -> bool {
        self.0.as_ref().is_some_and(|is_removed| is_removed())
    }
}

impl std::fmt::Debug for IsRemoved {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.is_never() { "never" } else { "depends" })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use tokio::sync::watch;

    use super::*;
    use crate::case::{Catalogue, Selection};
    use crate::conduct::{Progress, Repeat, Request, conduct_until, fresh_naming};
    use crate::record::{Baseline, SUMS_FILE};
    use crate::target::command_only;

    /// The request of a run on a server that is not there, with its evidence in `folder`.
    pub(in super::super) fn request(folder: &Path, is_removed: IsRemoved) -> Request {
        Request {
            target: command_only(vec!["/there/is/no/such/server".to_owned()]),
            catalogue: Arc::new(Catalogue::embedded().clone()),
            selection: Selection::default(),
            naming: fresh_naming(Some(1)),
            timeout_ms: None,
            keep: None,
            jobs: 1,
            baseline: Baseline::default(),
            defect: None,
            rerun_of: None,
            evidence: Some(folder.join("run")),
            is_removed,
            folder: folder.to_path_buf(),
            scratch: folder.to_path_buf(),
            harness: Path::new("/proc/self/exe").to_path_buf(),
            orphaned: watch::channel(false).1,
            repeat: Repeat {
                before: String::new(),
                own: std::collections::BTreeMap::new(),
                rest: String::new(),
            },
        }
    }

    /// Whether the evidence of a run that comes to nothing is sealed.
    fn is_sealed(is_removed: IsRemoved) -> bool {
        let folder = tempfile::tempdir().expect("a folder");
        let evidence = folder.path().join("run");
        let request = request(folder.path(), is_removed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (_stop, stopped) = watch::channel(false);
        let mut tell = |_: Progress<'_>| {};
        let conducted = Box::pin(conduct_until(request, stopped, &mut tell));
        let (report, _) = runtime.expect("a runtime").block_on(conducted).expect("a run");
        assert!(report.did_not_start.is_some());
        evidence.join(SUMS_FILE).is_file()
    }

    #[test]
    fn only_what_stays_is_sealed() {
        assert!(is_sealed(IsRemoved::never()));
        assert!(is_sealed(IsRemoved::when(|| false)));
        assert!(!is_sealed(IsRemoved::when(|| true)));
    }
}
