//! The end of a server process: killed, or stopped as a client does that is done.

use std::time::Duration;

use super::Session;
use crate::drive::DriveError;
use crate::drive::clock::{self, Deadline};
use crate::drive::last_words::last_words;
use crate::drive::outside::Outside;
use crate::drive::process::{Exit, ExitWait};
use crate::drive::scribe::Scribe;
use crate::fault::Delivery;
use crate::record::{AWAITED_EXIT, AWAITED_HELPERS, Body};

/// From the end of a tree to the end of its standard output and error.
const DRAIN_MS: u64 = 2_000;

/// How a stopped or killed server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) struct Stopped {
    /// How its root process ended.
    pub(in crate::drive) exit: Exit,
    /// Processes of its tree that could not be ended.
    pub(in crate::drive) survivors: usize,
    /// The last line of its standard error, where it ended otherwise than it should.
    pub(in crate::drive) last_words: Option<String>,
    /// Why a server elsewhere is not believed to be dead.
    pub(in crate::drive) trouble: Option<String>,
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

    /// End of standard input, as a client does that is done; whatever is left after the bound is killed.
    pub(in crate::drive) async fn stop(
        mut self,
        scribe: &mut Scribe,
        bound_ms: u64,
        quiet_ms: u64,
    ) -> Result<Stopped, DriveError> {
        let wait = self
            .launched
            .close_stdin_and_wait(Duration::from_millis(bound_ms))
            .await;
        if wait == ExitWait::StillRunning {
            let what = AWAITED_EXIT.to_owned();
            scribe.write(Some(&self.process), Body::TimedOut { what, bound_ms })?;
        }
        // Helpers may still be writing: they get their time, and only then is a count taken.
        let quiet = Duration::from_millis(quiet_ms);
        let process = &mut self.launched.process;
        if wait != ExitWait::StillRunning && !clock::wait_until(quiet, || process.survivors() == 0).await {
            let what = AWAITED_HELPERS.to_owned();
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
            last_words,
            exit: killed.exit,
            survivors: killed.survivors,
            trouble,
        })
    }

    pub(super) fn signalled(&self, scribe: &mut Scribe, signal: &str, processes: usize) -> Result<(), DriveError> {
        if processes == 0 {
            return Ok(());
        }
        let signal = signal.to_owned();
        Ok(scribe.write(Some(&self.process), Body::Signalled { signal, processes })?)
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
