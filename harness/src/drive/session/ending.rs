//! How a process is ended, and what is known of it afterwards.

use std::time::Duration;

use rustix::process::Signal;

use super::Session;
use crate::drive::DriveError;
use crate::drive::clock::{self, Deadline};
use crate::drive::last_words::last_words;
use crate::drive::outside::Outside;
use crate::drive::process::{Exit, ExitWait};
use crate::drive::scribe::Scribe;
use crate::fault::Delivery;
use crate::record::{AWAITED_EXIT, AWAITED_EXIT_AFTER_TERM, AWAITED_HELPERS, AWAITED_HELPERS_AFTER_TERM, Body};

/// From the end of a tree to the end of its standard output and error.
const DRAIN_MS: u64 = 2_000;

/// How a process is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum Ending {
    /// By the end of its standard input, as a client does that is done: a server.
    StandardInput,
    /// By SIGTERM, as a supervisor does: anything else.
    Terminate,
}

impl Ending {
    fn awaited_exit(self) -> &'static str {
        match self {
            Self::StandardInput => AWAITED_EXIT,
            Self::Terminate => AWAITED_EXIT_AFTER_TERM,
        }
    }

    fn awaited_helpers(self) -> &'static str {
        match self {
            Self::StandardInput => AWAITED_HELPERS,
            Self::Terminate => AWAITED_HELPERS_AFTER_TERM,
        }
    }
}

impl Session {
    /// SIGKILL for the whole tree, then what still lay in the pipes. A server elsewhere is killed before.
    pub(in crate::drive) async fn kill(
        mut self,
        scribe: &mut Scribe,
        delivery: Delivery,
    ) -> Result<Stopped, DriveError> {
        let trouble = self.kill_outside(scribe).await?;
        let killed = self.launched.process.kill_tree().await;
        self.signalled(scribe, "SIGKILL", killed.signalled.len())?;
        self.drain(scribe, delivery).await?;
        let last_words = self.ended(scribe, killed.exit, killed.survivors)?;
        Ok(Stopped {
            who: self.role.of_process(&self.process),
            last_words,
            exit: killed.exit,
            survivors: killed.survivors,
            trouble,
        })
    }

    async fn kill_outside(&mut self, scribe: &mut Scribe) -> Result<Option<String>, DriveError> {
        match &mut self.outside {
            Some(outside) => outside.kill(scribe, &self.process).await,
            None => Ok(None),
        }
    }

    /// Tells it to end, as its kind is told; whatever is left after the bound is killed.
    pub(in crate::drive) async fn stop(
        mut self,
        scribe: &mut Scribe,
        how: Ending,
        bound_ms: u64,
        quiet_ms: u64,
    ) -> Result<Stopped, DriveError> {
        let bound = Duration::from_millis(bound_ms);
        let wait = match how {
            Ending::StandardInput => self.launched.close_stdin_and_wait(bound).await,
            Ending::Terminate => {
                let told = self.launched.process.signal(Signal::TERM);
                self.signalled(scribe, "SIGTERM", usize::from(told))?;
                self.launched.process.wait(bound).await
            }
        };
        if wait == ExitWait::StillRunning {
            let what = how.awaited_exit().to_owned();
            scribe.write(Some(&self.process), Body::TimedOut { what, bound_ms })?;
        }
        // Helpers may still be writing: they get their time, and only then is a count taken.
        let quiet = Duration::from_millis(quiet_ms);
        let process = &mut self.launched.process;
        if wait != ExitWait::StillRunning && !clock::wait_until(quiet, || process.survivors() == 0).await {
            let what = how.awaited_helpers().to_owned();
            let bound_ms = quiet_ms;
            scribe.write(Some(&self.process), Body::TimedOut { what, bound_ms })?;
        }
        let trouble = if wait == ExitWait::StillRunning {
            self.kill_outside(scribe).await?
        } else {
            // A launcher ends when its server did.
            self.outside.iter_mut().for_each(Outside::has_ended);
            None
        };
        let killed = self.launched.process.kill_tree().await;
        self.signalled(scribe, "SIGKILL", killed.signalled.len())?;
        self.drain(scribe, Delivery::Deliver).await?;
        let last_words = self.ended(scribe, killed.exit, killed.survivors)?;
        Ok(Stopped {
            who: self.role.of_process(&self.process),
            last_words,
            exit: killed.exit,
            survivors: killed.survivors,
            trouble,
        })
    }

    async fn drain(&mut self, scribe: &mut Scribe, delivery: Delivery) -> Result<(), DriveError> {
        let deadline = Deadline::after(Duration::from_millis(DRAIN_MS));
        while !self.stream_ended && !deadline.has_passed() {
            self.receive(scribe, deadline.remaining(), delivery).await?;
        }
        self.launched
            .process
            .finish_stderr(Duration::from_millis(DRAIN_MS))
            .await;
        Ok(())
    }

    /// Records the end; returns the last words of a server that did not end as it should.
    fn ended(&self, scribe: &mut Scribe, exit: Exit, survivors: usize) -> Result<Option<String>, DriveError> {
        let (code, signal) = match exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
            Exit::Unobserved => (None, None),
        };
        // A server that ends as it should, or that we kill, has nothing to explain.
        let is_odd = !matches!(exit, Exit::Code(0) | Exit::Signal(9));
        let said = if is_odd {
            last_words(&self.stderr_file, 1).pop()
        } else {
            None
        };
        let body = Body::ProcessEnded {
            code,
            signal,
            survivors,
            last_words: said.clone(),
        };
        scribe.write(Some(&self.process), body)?;
        Ok(said)
    }
}

/// How a stopped or killed server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) struct Stopped {
    /// Which process it was, in a sentence.
    pub(in crate::drive) who: String,
    /// How its root process ended.
    pub(in crate::drive) exit: Exit,
    /// Processes of its tree that could not be ended.
    pub(in crate::drive) survivors: usize,
    /// The last line of its standard error, where it ended otherwise than it should.
    pub(in crate::drive) last_words: Option<String>,
    /// Why a server elsewhere is not believed to be dead.
    pub(in crate::drive) trouble: Option<String>,
}
