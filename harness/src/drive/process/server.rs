//! One started server: seeing it end, signalling it, pausing it, and ending its whole tree.
//!
//! Its zombie is kept until the tree has been killed, so its pid and group mean this server all the time.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::exit::{self, Exit, ExitWait, ExitWatch};
use super::kill::{self, UNSURE_ROUNDS_MAX};
use super::stderr::{StderrDrain, StderrSummary};
use super::tree::Tree;
use super::{Pid, registry, typed};
use crate::drive::clock;

/// Longest time for all processes of a tree to be stopped after SIGSTOP.
pub const PAUSE_TIME_MAX: Duration = Duration::from_secs(2);

/// Longest time for the root to be seen dead after its tree was killed.
const ROOT_EXIT_TIME_MAX: Duration = Duration::from_secs(1);

/// Longest time that dropping a live server may take.
const DROP_TIME_MAX: Duration = Duration::from_secs(2);

/// What a kill of a tree did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// The processes that were sent SIGKILL one by one, first to last. Those that the signal to the process group
    /// reached before they were seen are not in it.
    pub signalled: Vec<Pid>,
    /// Live processes of the tree when the kill gave up; zero unless a bound was reached.
    pub survivors: usize,
    /// How the root ended; by an earlier exit, if there was one.
    pub exit: Exit,
}

/// What a pause of a tree did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// The processes that were sent SIGSTOP, in the order of their pids.
    pub signalled: Vec<Pid>,
    /// Live processes of the tree that were not seen stopped within the bound.
    pub running: usize,
}

/// A started server; dropping it kills its whole tree.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    root: Pid,
    token: String,
    watch: ExitWatch,
    tree: Tree,
    stderr: Option<StderrDrain>,
    exit: Option<Exit>,
    is_reaped: bool,
}

impl ServerProcess {
    pub(super) fn new(child: Child, token: String) -> Self {
        let root = child.id().cast_signed();
        let (watch, tree) = (ExitWatch::new(root), Tree::of_server(root, &token));
        Self {
            child,
            root,
            token,
            watch,
            tree,
            stderr: None,
            exit: None,
            is_reaped: false,
        }
    }

    pub(super) fn drain_stderr(&mut self, drain: StderrDrain) {
        self.stderr = Some(drain);
    }

    /// The pid that was spawned, which is also its process group. A launcher, often, and not the server.
    pub fn pid(&self) -> Pid {
        self.root
    }

    /// The value of the marker variable in its environment.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// How the root ended, if it has.
    pub fn exit_now(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = exit::peek(self.root);
        }
        self.exit
    }

    /// Waits for the root to end, within a bound. May be dropped at any time.
    pub async fn wait(&mut self, bound: Duration) -> ExitWait {
        if let Some(exit) = self.exit_now() {
            return ExitWait::Ended(exit);
        }
        let wait = self.watch.wait(bound).await;
        if let ExitWait::Ended(exit) = wait {
            self.exit = Some(exit);
        }
        wait
    }

    /// Sends a signal to the root alone, as a supervisor does; returns whether it was still there.
    pub fn signal(&mut self, signal: Signal) -> bool {
        self.exit_now().is_none() && kill_process(typed(self.root), signal).is_ok()
    }

    /// Stops every process of the tree and waits until they are seen stopped.
    pub async fn pause(&mut self) -> Paused {
        let tree = &mut self.tree;
        let mut signalled = BTreeSet::from_iter(tree.freeze());
        let mut running = 0;
        clock::wait_until(PAUSE_TIME_MAX, || {
            running = tree.running();
            if running > 0 || tree.is_unsure() {
                // Somebody may have come to the tree since.
                signalled.extend(tree.freeze());
                return false;
            }
            true
        })
        .await;
        Paused {
            signalled: signalled.into_iter().collect(),
            running,
        }
    }

    /// Lets every process of the tree go on; returns how many were there.
    pub fn resume(&mut self) -> usize {
        self.tree.thaw()
    }

    /// Number of live processes of the tree, the root among them. Zombies are not live.
    ///
    /// May block for [`UNSURE_ROUNDS_MAX`] polls where another server is live and it cannot be told whose an orphan is.
    pub fn survivors(&mut self) -> usize {
        for _ in 0..UNSURE_ROUNDS_MAX {
            let live = self.tree.live();
            if live > 0 || !self.tree.is_unsure() {
                return live;
            }
            clock::pause_blocking();
        }
        self.tree.live()
    }

    /// Whether any thread of the tree does something at this moment, or waits only for a processor or a disk. One that waits
    /// for a lock or for input does not. Where the system does not show it (not Linux), nothing is at work.
    pub fn is_at_work(&mut self) -> bool {
        self.tree.is_at_work()
    }

    /// Ends every process of the tree with SIGKILL: first all are stopped, so that none reacts to the death of
    /// another, then killed until none is left. Bounded by [`KILL_TIME_MAX`](kill::KILL_TIME_MAX) and
    /// [`KILL_ROUNDS_MAX`](kill::KILL_ROUNDS_MAX). May be repeated.
    pub async fn kill_tree(&mut self) -> Killed {
        let survivors = kill::kill(&mut self.tree).await;
        let exit = match self.wait(ROOT_EXIT_TIME_MAX).await {
            ExitWait::Ended(exit) => exit,
            ExitWait::StillRunning => Exit::Unobserved,
        };
        self.reap();
        Killed {
            signalled: self.tree.killed(),
            survivors,
            exit,
        }
    }

    /// Ends the file of standard error, after its end or after the bound. Call it after the tree was killed.
    pub async fn finish_stderr(&mut self, bound: Duration) -> StderrSummary {
        match &mut self.stderr {
            Some(drain) => drain.finish(bound).await,
            None => StderrSummary {
                kept_bytes: 0,
                dropped_bytes: 0,
                complete: false,
            },
        }
    }

    fn reap(&mut self) {
        if !self.is_reaped && self.exit_now().is_some() {
            // It is a zombie, so this does not wait. An error means that the system reaped it by itself.
            let _ = self.child.wait();
            self.is_reaped = true;
            self.tree.root_was_reaped();
            registry::lock().remove_server(&self.token);
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if !self.is_reaped {
            kill::kill_blocking(&mut self.tree, DROP_TIME_MAX);
            clock::wait_until_blocking(ROOT_EXIT_TIME_MAX, || exit::peek(self.root).is_some());
            self.reap();
            registry::lock().remove_server(&self.token);
        }
    }
}
