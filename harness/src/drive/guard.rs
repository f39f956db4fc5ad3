//! The guard: whatever ends a run, none of its processes and no scratch file is left.
//!
//! The invoked process becomes the *guard*: it makes a scratch folder, starts the same program with the same arguments
//! once more as the *run*, and waits. Both are subreapers and each watches the other. When the run ends, in any way, the
//! guard kills everything below it and removes the scratch folder. When the guard dies, the run does so and ends.
//! Should both die in the same moment, nobody is left to do it; that is the limit of this without cgroups.
//!
//! The run is in a process group of its own, so it gets no Ctrl-C from a terminal: SIGINT, SIGTERM and SIGHUP that reach
//! the guard are forwarded, and a second SIGINT kills the run, which is an interrupt still. Its standard input is
//! `/dev/null`. It may write to a terminal even under `stty tostop`.
//!
//! This file holds what is the same everywhere; `guard/linux.rs` holds the two roles, `guard/unix.rs` their lack.

use std::io;
use std::path::{Path, PathBuf};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

#[cfg_attr(target_os = "linux", path = "guard/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "guard/unix.rs")]
mod platform;
#[cfg(target_os = "linux")]
mod scratch;

#[cfg(target_os = "linux")]
pub use platform::{HOOK_TIME_MAX, SCRATCH_TIME_MAX};

/// The file of the scratch folder in which the run leaves what is said should it be cut short.
const LAST_WORD_FILE: &str = ".last-word";

/// The guard could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("guard the run: {step}: {source}")]
pub struct GuardError {
    /// What was tried.
    step: &'static str,
    /// What the system said.
    source: io::Error,
}

impl GuardError {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has a guard"))]
    fn at<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self {
            step,
            source: source.into(),
        }
    }
}

/// Which of the two processes this is.
#[derive(Debug)]
#[must_use]
pub enum Role {
    /// The guard, and the run has ended: clean up nothing, exit with the code.
    Guard(Ended),
    /// The run: do the work.
    Run(Run),
}

/// How a guarded run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The code to exit with: the run's own, or 128 + n if signal n ended it; 130 if it was cut short.
    pub code: u8,
    /// Whether a second SIGINT ended it: nobody has sealed what it had done.
    pub cut_short: bool,
    /// What the run has left to be said in that case; empty where it has left nothing.
    pub last_word: String,
    /// Live processes that could not be killed; zero unless a bound was reached or a process belongs to another user.
    pub survivors: usize,
    /// The scratch folder, if it could not be removed.
    pub scratch_left: Option<PathBuf>,
}

/// This process is the run. Keep it until the end of `main`: its drop waits for the clean-up after a dead guard.
#[derive(Debug)]
pub struct Run {
    inner: platform::Run,
}

/// Becomes the guard, and returns when the run has ended; or finds itself to be the run.
///
/// Call it first thing in `main`, before any thread is started, in commands that start servers, and in test binaries
/// whose tests start servers.
pub fn enter() -> Result<Role, GuardError> {
    platform::enter()
}

impl Run {
    /// The scratch folder of this run. It is removed after the run, by whoever is left.
    pub fn scratch(&self) -> &Path {
        self.inner.scratch()
    }

    /// Leaves a text to be told by the guard, should a second SIGINT cut this run short; a second text replaces the first.
    pub fn leave_word(&self, text: &str) {
        // Where it cannot be written, less is said; nothing else depends on it.
        let _ = std::fs::write(self.scratch().join(LAST_WORD_FILE), text);
    }

    /// One line to be printed at the start where this system has no guard.
    pub fn note(&self) -> Option<&'static str> {
        platform::NOTE
    }

    /// Called on a thread of its own if the guard dies, before everything is killed; what it may take is bounded.
    /// A second hook replaces the first.
    pub fn on_orphaned(&self, hook: impl FnOnce() + Send + 'static) {
        self.inner.on_orphaned(Box::new(hook));
    }

    /// Becomes true if the guard dies. This is a hook as well: see [`Run::on_orphaned`].
    pub fn orphaned(&self) -> watch::Receiver<bool> {
        let (tell, orphaned) = watch::channel(false);
        self.on_orphaned(move || {
            tell.send_replace(true);
        });
        orphaned
    }
}

/// A request to end the run early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

/// Listens for requests to end the run early. Until one of these exists, such a signal simply ends the run.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Option<Signal>,
}

impl Interrupts {
    /// Starts listening. Must be called within a runtime that has io.
    pub fn listen() -> io::Result<Self> {
        // What `nohup` has us ignore stays ignored.
        let hang_up = if platform::ignores_hang_up() {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    /// The next request; may take for ever, and may be dropped at any time without loss.
    pub async fn interrupted(&mut self) -> Interrupt {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Interrupt,
            _ = self.terminate.recv() => Interrupt::Terminate,
            _ = hang_up => Interrupt::HangUp,
        }
    }
}
