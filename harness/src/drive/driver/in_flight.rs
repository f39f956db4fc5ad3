//! Requests whose replies are not waited for, and the lock that keeps what they start from ending.

use std::time::Duration;

use serde_json::json;

use super::{Driver, Exchange, Going, InFlight, requests};
use crate::case::SendStep;
use crate::drive::DriveError;
use crate::drive::answers::Answers;
use crate::drive::clock;
use crate::drive::rest::Rest;
use crate::drive::session::{Answer, Heard, Session};
use crate::drive::store_lock::StoreLock;
use crate::protocol::{self, Era};
use crate::record::Body;

/// How long a server that serves one request at a time may leave the question behind a cancellation unanswered (milliseconds).
const CANCEL_TAKEN_MS: u64 = 1_000;

/// How long a server may leave a request in its pipe, or work on it, while the lock is held (milliseconds). Less than the five
/// seconds for which the usual bindings of SQLite wait for a lock, and long enough for a machine that is busy otherwise.
const TAKEN_IN_MS: u64 = 4_000;

impl Driver<'_> {
    /// Sends the last request of an operation, with an id of its own, and goes on.
    pub(super) async fn send(&mut self, send: &SendStep) -> Result<Going, DriveError> {
        let Some(last) = self.last_requests.get(&send.operation) else {
            return Ok(Err("there is no request to send".to_owned()));
        };
        let Some(session) = self.sessions.get_mut(&send.process) else {
            return Ok(Err("there is no server to send it to".to_owned()));
        };
        let request = requests::again(last, self.scribe.new_id(), None);
        session
            .send(self.scribe, &request, self.run.plan.bounds.reply_ms)
            .await?;
        let exchange = Exchange {
            request: request.clone(),
            reply: None,
        };
        self.exchanges.insert(send.name.clone(), exchange);
        let in_flight = InFlight {
            process: send.process.clone(),
            operation: send.operation.clone(),
            request,
            sent_bytes: session.sent_bytes(),
        };
        self.in_flight.insert(send.name.clone(), in_flight);
        Ok(Ok(()))
    }

    /// Waits for the reply to a request that was sent.
    pub(super) async fn await_reply(&mut self, sent: &str) -> Result<Going, DriveError> {
        let Some(InFlight {
            process,
            request,
            operation,
            ..
        }) = self.in_flight.get(sent).cloned()
        else {
            return Ok(Ok(()));
        };
        let Some(session) = self.sessions.get_mut(&process) else {
            return Ok(Ok(()));
        };
        let plan = self.run.plan;
        let bound_ms = plan.bounds.reply_ms;
        let Some(call) = &plan.operations[&operation].write else {
            return Ok(Ok(()));
        };
        let mut answers = Answers::new(call, session.offer(), self.does_without_answers, plan.by_flags);
        let deadline = clock::Deadline::after(Duration::from_millis(bound_ms));
        let answer = loop {
            match session.listen(self.scribe, &request, bound_ms, deadline).await? {
                Heard::Ended(answer) => break answer,
                Heard::Request(frame) => {
                    if let Err(reason) = session.respond(self.scribe, &frame, &mut answers, bound_ms).await? {
                        return Ok(Err(reason));
                    }
                }
            }
        };
        self.in_flight.remove(sent);
        if let (Answer::Reply(reply), Some(_)) = (answer, &plan.operations[&operation].submitted) {
            return self.settle(&operation, &process, &request, &reply).await;
        }
        Ok(Ok(()))
    }

    /// Tells the server that a request is cancelled, and asks it something else: when that is answered, it knows.
    pub(super) async fn cancel(&mut self, sent: &str) -> Result<Going, DriveError> {
        let Some(InFlight { process, request, .. }) = self.in_flight.get(sent).cloned() else {
            return Ok(Ok(()));
        };
        let Some(session) = self.sessions.get_mut(&process) else {
            return Ok(Ok(()));
        };
        let params = json!({"requestId": request["id"], "reason": "the caller has gone"});
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let bound_ms = self.run.plan.bounds.reply_ms;
        session.send(self.scribe, &cancelled, bound_ms).await?;
        let question = protocol::list_tools(session.era(), self.scribe.new_id());
        session
            .ask(self.scribe, &question, bound_ms.min(CANCEL_TAKEN_MS))
            .await?;
        Ok(Ok(()))
    }

    /// Lets a child of ours hold the store's write lock.
    pub(super) async fn hold(&mut self) -> Result<Going, DriveError> {
        let Some(store) = self.run.setting.sqlite_path(&self.stage)? else {
            return Ok(Err("the store is no SQLite file, so its lock cannot be held".to_owned()));
        };
        match StoreLock::hold(&self.run.setting.harness, &store).await {
            Ok(lock) => self.lock = Some(lock),
            Err(reason) => return Ok(Err(reason)),
        }
        self.scribe.write(None, Body::LockHeld)?;
        Ok(Ok(()))
    }

    /// Gives the lock back, once every process has taken in what was sent to it, and has done what it can without the lock.
    /// What was answered before that is written down, because it was not inside.
    pub(super) async fn release(&mut self) -> Result<Going, DriveError> {
        let Some(lock) = self.lock.take() else {
            return Ok(Ok(()));
        };
        let drained = match self.come_to_rest().await? {
            Ok(drained) => drained,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut answered = 0;
        for sent in self.in_flight.values() {
            if let Some(session) = self.sessions.get_mut(&sent.process)
                && session.has_answered(self.scribe, &sent.request).await?
            {
                answered += 1;
            }
        }
        let in_flight = self.in_flight.len();
        self.scribe.write(
            None,
            Body::LockReleased {
                drained,
                in_flight,
                answered,
            },
        )?;
        lock.release().await;
        Ok(Ok(()))
    }

    /// Waits until all that is in flight has been taken in, and every server that got any of it is at rest: from then on only
    /// the lock keeps it. A slow server that still works on a request is not inside the store yet. Whether that came to be
    /// within the bound.
    async fn come_to_rest(&mut self) -> Result<Result<bool, String>, DriveError> {
        let bound = Duration::from_millis(self.run.plan.bounds.reply_ms.min(TAKEN_IN_MS));
        let deadline = clock::Deadline::after(bound);
        let mut rest = Rest::default();
        while !self.in_flight.is_empty() {
            if let Err(reason) = self.answer_in_flight().await? {
                return Ok(Err(reason));
            }
            let (mut taken_in, mut at_work) = (true, false);
            for sent in self.in_flight.values() {
                let session = self.sessions.get_mut(&sent.process);
                taken_in &= session
                    .as_ref()
                    .is_some_and(|session| session.has_taken_in(sent.sent_bytes));
                at_work |= session.is_some_and(Session::is_at_work);
            }
            if !taken_in {
                rest.forget();
            } else if rest.after(at_work) {
                break;
            }
            if deadline.has_passed() {
                return Ok(Ok(false));
            }
            clock::pause().await;
        }
        Ok(Ok(true))
    }

    /// Answers what was asked inside the requests in flight (legacy era): who waits for an answer does not wait for the store.
    async fn answer_in_flight(&mut self) -> Result<Going, DriveError> {
        let plan = self.run.plan;
        for sent in self.in_flight.values_mut() {
            let call = plan.operations[&sent.operation].write.as_ref();
            let (Some(call), Some(session)) = (call, self.sessions.get_mut(&sent.process)) else {
                continue;
            };
            let mut answers = Answers::new(call, session.offer(), self.does_without_answers, plan.by_flags);
            let bound_ms = plan.bounds.reply_ms;
            while let Some(frame) = session.has_asked(self.scribe).await? {
                if let Err(reason) = session.respond(self.scribe, &frame, &mut answers, bound_ms).await? {
                    return Ok(Err(reason));
                }
                sent.sent_bytes = session.sent_bytes();
            }
        }
        Ok(Ok(()))
    }

    /// Whether the last round of a write carries answers: MRTR, which only the modern era has.
    pub(super) fn has_second_round(&self, process: &str) -> bool {
        let era = self.sessions.get(process).map(Session::era);
        era == Some(Era::Modern)
    }
}
