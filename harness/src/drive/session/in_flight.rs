//! What a server does with requests whose replies are not waited for, as far as that is seen without waiting.

use std::time::Duration;

use serde_json::Value;

use super::{Received, Session, UNCLAIMED_MAX};
use crate::drive::DriveError;
use crate::drive::scribe::Scribe;
use crate::fault::Delivery;
use crate::protocol::{self, Era, Reply};

impl Session {
    /// How many bytes were sent so far.
    pub(in crate::drive) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Whether the server has taken in the first so many bytes of what was sent. One that serves a request at a time leaves
    /// what comes behind it in the pipe.
    pub(in crate::drive) fn has_taken_in(&self, sent_bytes: u64) -> bool {
        self.sent_bytes - self.launched.transport.unread_bytes().min(self.sent_bytes) >= sent_bytes
    }

    /// Whether anything of its tree works at this moment. Of a server elsewhere only what was launched is seen.
    pub(in crate::drive) fn is_at_work(&mut self) -> bool {
        self.launched.process.is_at_work()
    }

    /// Whether a request has been answered by now.
    pub(in crate::drive) async fn has_answered(
        &mut self,
        scribe: &mut Scribe,
        request: &Value,
    ) -> Result<bool, DriveError> {
        self.put_aside_what_came(scribe).await?;
        let claimed = |frame: &Value| Reply::to(frame, &request["id"]).is_some();
        Ok(self.unclaimed.iter().any(claimed))
    }

    /// What the server has asked by now inside a call (legacy era), the first of it.
    pub(in crate::drive) async fn has_asked(&mut self, scribe: &mut Scribe) -> Result<Option<Value>, DriveError> {
        self.put_aside_what_came(scribe).await?;
        let asked = self.unclaimed.iter().position(protocol::is_request);
        let asked = asked.filter(|_| self.era == Era::Legacy);
        Ok(asked.map(|at| self.unclaimed.remove(at)))
    }

    async fn put_aside_what_came(&mut self, scribe: &mut Scribe) -> Result<(), DriveError> {
        // A server that never stops to send is not listened to for ever.
        for _ in 0..UNCLAIMED_MAX {
            match self.receive(scribe, Duration::ZERO, Delivery::Deliver).await? {
                Received::Frame(frame) => self.put_aside(frame),
                Received::Nothing => break,
            }
        }
        Ok(())
    }
}
