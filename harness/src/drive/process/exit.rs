//! How a process ended, and waiting for that without taking its pid away.
//!
//! A process is only ever looked at here, never reaped: as long as its zombie is there, its pid and its group cannot
//! come to mean another process.

use std::time::Duration;

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::{Pid, typed};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It did not end within the bound, or the system does not tell how.
    Unobserved,
}

/// The result of a bounded wait for the end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitWait {
    /// It ended.
    Ended(Exit),
    /// It was still there when the bound had passed.
    StillRunning,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "it exited with code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal} ended it"),
            Self::Unobserved => f.write_str("it ended"),
        }
    }
}

impl Exit {
    /// The code that a shell would report: 128 + n for signal n; 1 where it was not observed.
    pub fn shell_code(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code & 0xff).unwrap_or(1),
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Self::Unobserved => 1,
        }
    }
}

/// How a child ended, if it has; leaves its zombie.
pub(crate) fn peek(pid: Pid) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = match waitid(WaitId::Pid(typed(pid)), options) {
        Ok(status) => status?,
        Err(rustix::io::Errno::INTR) => return None,
        Err(_) => return Some(Exit::Unobserved),
    };
    let code = status.exit_status().map(Exit::Code);
    Some(
        code.or_else(|| status.terminating_signal().map(Exit::Signal))
            .unwrap_or(Exit::Unobserved),
    )
}

/// Tells when a child has ended.
#[derive(Debug)]
pub(crate) struct ExitWatch {
    pid: Pid,
    #[cfg(target_os = "linux")]
    pidfd: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

impl ExitWatch {
    /// Watches a child that was not reaped yet. Must be called within a runtime.
    #[cfg(target_os = "linux")]
    #[expect(
        deprecated,
        reason = "its successor is unsafe; an `OwnedFd` keeps the promise that one asks for"
    )]
    pub(crate) fn new(pid: Pid) -> Self {
        let pidfd = rustix::process::pidfd_open(typed(pid), rustix::process::PidfdFlags::empty()).ok();
        let watch = |fd| tokio::io::unix::AsyncFd::with_interest(fd, tokio::io::Interest::READABLE).ok();
        Self {
            pid,
            pidfd: pidfd.and_then(watch),
        }
    }

    /// Watches a child that was not reaped yet.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new(pid: Pid) -> Self {
        Self { pid }
    }

    /// Waits for the end of the child, within a bound. May be dropped at any time.
    pub(crate) async fn wait(&self, bound: Duration) -> ExitWait {
        #[cfg(target_os = "linux")]
        if let Some(pidfd) = &self.pidfd {
            // A timeout and an error both leave it to the look below.
            let _ = tokio::time::timeout(bound, pidfd.readable()).await;
            return peek(self.pid).map_or(ExitWait::StillRunning, ExitWait::Ended);
        }
        crate::drive::clock::wait_until(bound, || peek(self.pid).is_some()).await;
        peek(self.pid).map_or(ExitWait::StillRunning, ExitWait::Ended)
    }
}
