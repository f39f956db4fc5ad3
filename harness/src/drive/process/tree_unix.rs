//! The process group of a server, on systems where nothing better is known: what left the group is neither seen nor
//! signalled. The same interface as `tree_linux.rs`, best effort.

use rustix::process::{Signal, kill_process_group, test_kill_process_group};

use super::{Pid, typed};

/// A process group; see the module's documentation.
#[derive(Debug)]
pub(crate) struct Tree {
    root: Pid,
    root_is_reaped: bool,
    is_killed: bool,
}

/// What one round of killing found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Groups that were signalled for the first time.
    pub(crate) fresh: usize,
    /// One if there still was anything in the group, a zombie included.
    pub(crate) live: usize,
    /// Always zero: no orphans are looked for.
    pub(crate) unsure: usize,
}

/// There are no subreapers here.
#[expect(clippy::unnecessary_wraps, reason = "the same interface as on Linux")]
pub(crate) fn become_subreaper() -> std::io::Result<()> {
    Ok(())
}

/// No orphans come to us here.
pub(crate) fn unclaimed() -> usize {
    0
}

impl Tree {
    pub(crate) fn of_server(root: Pid, _token: &str) -> Self {
        Self {
            root,
            root_is_reaped: false,
            is_killed: false,
        }
    }

    pub(crate) fn root_was_reaped(&mut self) {
        self.root_is_reaped = true;
    }

    /// One if there is anything in the group besides a dead root.
    pub(crate) fn live(&mut self) -> usize {
        let root_is_dead = self.root_is_reaped || super::exit::peek(self.root).is_some();
        let only_zombies = root_is_dead && self.is_killed;
        usize::from(!self.root_is_reaped && !only_zombies && test_kill_process_group(typed(self.root)).is_ok())
    }

    #[expect(clippy::unused_self, reason = "the same interface as on Linux")]
    pub(crate) fn is_unsure(&self) -> bool {
        false
    }

    /// Not known here; taken to be none.
    #[expect(clippy::unused_self, reason = "the same interface as on Linux")]
    pub(crate) fn running(&mut self) -> usize {
        0
    }

    /// Not known here; taken for being at rest.
    #[expect(clippy::unused_self, reason = "the same interface as on Linux")]
    pub(crate) fn is_at_work(&mut self) -> bool {
        false
    }

    pub(crate) fn killed(&self) -> Vec<Pid> {
        if self.is_killed { vec![self.root] } else { Vec::new() }
    }

    pub(crate) fn freeze(&mut self) -> Vec<Pid> {
        if self.signal(Signal::STOP) {
            vec![self.root]
        } else {
            Vec::new()
        }
    }

    pub(crate) fn thaw(&mut self) -> usize {
        usize::from(self.signal(Signal::CONT))
    }

    pub(crate) fn kill_round(&mut self) -> Round {
        let signalled = self.signal(Signal::KILL);
        let fresh = usize::from(signalled && !self.is_killed);
        self.is_killed |= signalled;
        Round {
            fresh,
            live: self.live(),
            unsure: 0,
        }
    }

    fn signal(&self, signal: Signal) -> bool {
        !self.root_is_reaped && kill_process_group(typed(self.root), signal).is_ok()
    }
}
