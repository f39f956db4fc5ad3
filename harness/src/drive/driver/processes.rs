//! Processes: a server with its handshake, or one that works on the server's store beside it.

use std::time::Duration;

use super::{Driver, Going};
use crate::case::{Role, StartStep};
use crate::drive::DriveError;
use crate::drive::clock::{self, Deadline};
use crate::drive::session::{Answer, Ending, Session, Stopped};
use crate::fault::Delivery;
use crate::protocol::{self, Era};
use crate::readback;

impl Driver<'_> {
    pub(super) async fn start(&mut self, start: &StartStep) -> Result<Going, DriveError> {
        let setting = self.run.setting;
        let stage = setting.for_launch(&self.stage, start);
        let spec = setting.launch_spec(&stage, start.role, self.run.folder.stderr_file(&start.process))?;
        let kill = match start.role {
            Role::Server => setting.kill_command(&stage)?,
            Role::Worker | Role::Reaper => None,
        };
        let mut session = match Session::launch(self.scribe, &start.process, &spec, kill, self.run.era) {
            Ok(session) => session
                .playing(start.role)
                .asking_for(setting.target.protocol, setting.offer()),
            Err(DriveError::Launch(error)) => return Ok(Err(format!("did not start: {error}"))),
            Err(error) => return Err(error),
        };
        self.roles.insert(start.process.clone(), start.role);
        if start.role != Role::Server {
            // It speaks no MCP. That it works is seen in the store.
            self.sessions.insert(start.process.clone(), session);
            return Ok(Ok(()));
        }
        let bounds = self.run.plan.bounds;
        let bound_ms = bounds.start_ms;
        let answer = session.shake_hands(self.scribe, bound_ms).await?;
        let (instead, _) = session.instead();
        self.sessions.insert(start.process.clone(), session);
        Ok(match answer {
            Answer::Reply(reply) if self.run.era == Era::Legacy => {
                let read = protocol::read_initialize(&reply, setting.target.protocol);
                read.map(|_| ()).map_err(|reason| format!("did not start: {reason}"))
            }
            Answer::Reply(_) => Ok(()),
            Answer::TimedOut => Err(format!(
                "did not start: no answer to the handshake within {bound_ms} ms{instead}"
            )),
            Answer::Gone => {
                let Some(session) = self.sessions.remove(&start.process) else {
                    return Ok(Ok(()));
                };
                let stopped = session
                    .stop(self.scribe, Ending::StandardInput, bounds.stop_ms, bounds.quiet_ms)
                    .await?;
                Err(format!(
                    "did not start: {} before it answered the handshake{}",
                    stopped.exit,
                    stopped
                        .last_words
                        .map_or(String::new(), |words| format!("; its last words: {words}"))
                ))
            }
        })
    }

    /// Tells a process to end, as its kind is told.
    pub(super) async fn stop(&mut self, process: &str) -> Result<Going, DriveError> {
        let bounds = self.run.plan.bounds;
        let how = match self.roles.get(process) {
            Some(Role::Worker | Role::Reaper) => Ending::Terminate,
            Some(Role::Server) | None => Ending::StandardInput,
        };
        let Some(session) = self.sessions.remove(process) else {
            return Ok(Ok(()));
        };
        let stopped = session.stop(self.scribe, how, bounds.stop_ms, bounds.quiet_ms).await?;
        Ok(quiet(stopped))
    }

    /// Kills a process's whole tree.
    pub(super) async fn kill(&mut self, process: &str) -> Result<Going, DriveError> {
        let Some(session) = self.sessions.remove(process) else {
            return Ok(Ok(()));
        };
        Ok(quiet(session.kill(self.scribe, Delivery::Deliver).await?))
    }

    /// Stops a process's whole tree at a moment at which nobody writes to the store. What a process has committed is seen by
    /// others a moment before it lets the store's lock go: stopped in between, it would keep everybody out.
    pub(super) async fn pause(&mut self, process: &str) -> Result<Going, DriveError> {
        let store = self.run.setting.sqlite_path(&self.stage)?;
        let bound_ms = self.run.plan.bounds.quiet_ms;
        let deadline = Deadline::after(Duration::from_millis(bound_ms));
        let Some(session) = self.sessions.get_mut(process) else {
            return Ok(Err("there is no such process".to_owned()));
        };
        loop {
            if session.pause(self.scribe).await?.is_none() {
                session.resume(self.scribe)?;
                return Ok(Err("not all of its processes could be paused".to_owned()));
            }
            let is_written = match &store {
                Some(store) => readback::is_being_written(store),
                None => Ok(false),
            };
            match is_written {
                Ok(false) => return Ok(Ok(())),
                Err(error) => return Ok(Err(format!("the locks of the store cannot be seen: {error}"))),
                Ok(true) if deadline.has_passed() => {
                    session.resume(self.scribe)?;
                    return Ok(Err(format!(
                        "whenever it was paused within {bound_ms} ms, somebody held the store's write lock"
                    )));
                }
                Ok(true) => {
                    session.resume(self.scribe)?;
                    clock::pause().await;
                }
            }
        }
    }

    /// Lets a paused process go on.
    pub(super) fn resume(&mut self, process: &str) -> Result<Going, DriveError> {
        if let Some(session) = self.sessions.get_mut(process) {
            session.resume(self.scribe)?;
        }
        Ok(Ok(()))
    }
}

pub(super) fn quiet(stopped: Stopped) -> Going {
    match stopped {
        Stopped {
            trouble: Some(trouble), ..
        } => Err(trouble),
        Stopped { survivors: 0, .. } => Ok(()),
        Stopped { survivors, who, .. } => Err(format!(
            "{survivors} processes of {who} could not be ended, so nothing can be counted"
        )),
    }
}
