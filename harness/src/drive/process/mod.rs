//! Processes: starting a server, seeing it end, and ending all of it.
//!
//! - [`Launch`]: the seam by which a server is started. Plain now; a traced launch gives the same process and more events.
//! - [`ServerProcess`]: one started server. It owns the whole tree: its kill leaves no descendant, wherever it went.
//! - [`Helper`]: a child of ours that is no server, so that no kill takes it for an orphan of one.
//!
//! Whose an orphan is, is decided in `registry`; finding and signalling a tree is in `tree_linux` (everywhere) and
//! `tree_unix` (the process group only); `kill` repeats it until nothing is left.

use rustix::process::Pid as TypedPid;

mod exit;
mod helper;
pub(crate) mod kill;
mod launch;
#[cfg(target_os = "linux")]
pub(crate) mod procfs;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "orphans come to us on Linux only")
)]
pub(crate) mod registry;
mod server;
mod stderr;
#[cfg_attr(target_os = "linux", path = "tree_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "tree_unix.rs")]
pub(crate) mod tree;

#[cfg(target_os = "linux")]
pub(crate) use exit::ExitWatch;
pub use exit::{Exit, ExitWait};
pub use helper::{Helper, HelperError};
pub use kill::{KILL_ROUNDS_MAX, KILL_TIME_MAX, UNSURE_ROUNDS_MAX};
pub use launch::{Launch, LaunchError, LaunchSpec, Launched};
pub use rustix::process::Signal;
pub use server::{Killed, PAUSE_TIME_MAX, Paused, ServerProcess};
pub use stderr::StderrSummary;
pub(crate) use tree::unclaimed;

/// A process id, as the system numbers it.
pub type Pid = i32;

/// Variable in the environment of every server that is started: its value marks the processes of one tree.
pub const MARKER_VARIABLE: &str = "HARNESS_PROCESS";

pub(crate) fn typed(pid: Pid) -> TypedPid {
    TypedPid::from_raw(pid).expect("the ids of other processes are above zero")
}

#[cfg(target_os = "linux")]
pub(crate) fn raw(pid: TypedPid) -> Pid {
    pid.as_raw_nonzero().get()
}
