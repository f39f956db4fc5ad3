//! Systems without subreapers and pidfds: there is no guard; this process is the run, unguarded.

use std::path::Path;

use super::{GuardError, Role};

pub(super) const NOTE: Option<&str> =
    Some("this system has no guard: servers are ended by their process group, and a killed harness may leave some");

#[derive(Debug)]
pub(super) struct Run {
    scratch: tempfile::TempDir,
}

pub(super) fn enter() -> Result<Role, GuardError> {
    let scratch = tempfile::Builder::new().prefix("harness-").tempdir();
    let scratch = scratch.map_err(|source| GuardError {
        step: "make a scratch folder",
        source,
    })?;
    Ok(Role::Run(super::Run { inner: Run { scratch } }))
}

pub(super) fn ignores_hang_up() -> bool {
    false
}

impl Run {
    pub(super) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Nobody watches, so nobody will call it.
    #[expect(clippy::unused_self, reason = "the same interface as on Linux")]
    pub(super) fn on_orphaned(&self, _hook: Box<dyn FnOnce() + Send>) {}
}
