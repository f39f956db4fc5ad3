//! Children of ours that are no servers: a holder of a lock, a command that reads a store back.
//!
//! They are registered, so that killing a server does not take them for its orphans.

use std::io;
use std::process::{Child, Command};

use super::registry;

/// A helper could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The system refused.
    #[error("start the helper `{program}`: {source}")]
    Spawn {
        /// The program as it was named.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The guard is ending this process; nothing is started any more.
    #[error("start the helper `{program}`: the run is being ended")]
    Ending {
        /// The program as it was named.
        program: String,
    },
}

/// A running helper; dropping it kills and reaps it.
#[derive(Debug)]
pub struct Helper {
    child: Child,
}

impl Helper {
    /// Starts a child that no kill of a server will touch.
    pub fn spawn(command: &mut Command) -> Result<Self, HelperError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut registry = registry::lock();
        if registry.is_closed() {
            return Err(HelperError::Ending { program });
        }
        let child = command
            .spawn()
            .map_err(|source| HelperError::Spawn { program, source })?;
        registry.add_helper(child.id().cast_signed());
        Ok(Self { child })
    }

    /// The child: its pipes, its pid, its status.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Both fail only where it has been reaped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        registry::lock().remove_helper(self.child.id().cast_signed());
    }
}
