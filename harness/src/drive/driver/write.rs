//! A write, round by round, and the fault at one of them.

use serde_json::Value;

use super::processes::quiet;
use super::{Driver, Exchange, Going, requests};
use crate::case::{From, Round, Rounds, Until, WriteStep};
use crate::drive::DriveError;
use crate::drive::answers::{Answers, ROUNDS_MAX, Written};
use crate::drive::clock::{self, Clock};
use crate::drive::session::{Answer, Received, Session};
use crate::drive::watch::Watch;
use crate::fault::{Act, Delivery, Fault, Moment, ReplyInPipe, Seen, Sight, WithholdReply};
use crate::plan::Call;
use crate::protocol::Reply;
use crate::record::Body;

/// How long one look for a frame may take between two polls of the store (milliseconds).
const LOOK_MS: u64 = 1;

/// Why a fault at the last round missed it where the server did not ask for what the profile answers.
const REPLIED_UNASKED: &str = "the server replied without asking for anything that [write] responses answers, so its reply was \
     delivered; leave responses out if it does not ask";

/// Why a fault at the last round cannot strike after an earlier one that brought nothing.
const NO_LAST_ROUND: &str = ", so the last round, in which it strikes, never began";

/// What a round is called, counted from 0.
fn round_name(round: usize) -> String {
    match round {
        0 => "round one".to_owned(),
        1 => "round two".to_owned(),
        later => format!("round {}", later + 1),
    }
}

impl Driver<'_> {
    pub(super) async fn write(&mut self, write: &WriteStep) -> Result<Going, DriveError> {
        let operation = &self.run.plan.operations[&write.operation];
        let call = if write.changed {
            &operation.changed
        } else {
            &operation.write
        };
        let (Some(call), Some(session)) = (call, self.sessions.get(&write.process)) else {
            return Ok(Err("there is nothing to write, or no server to write to".to_owned()));
        };
        let era = session.era();
        let call = &self.with_gate(&write.operation, operation, call);
        if write.copies > 1 {
            return self.submit_copies(write, call).await;
        }
        let id = self.scribe.new_id();
        let of = write.of.as_ref().and_then(|of| self.exchanges.get(of));
        let first = match write.from {
            From::Start => requests::first(era, id, call, write.without_capabilities),
            From::Repeat => {
                let last = of.map(|of| &of.request).or(self.last_requests.get(&write.operation));
                match last {
                    Some(last) => requests::again(last, id, write.changed.then_some(call)),
                    None => return Ok(Err("there is no earlier request to repeat".to_owned())),
                }
            }
            From::Continuation => {
                let first = requests::first(era, id, call, write.without_capabilities);
                let Some(issued) = of.and_then(|of| of.reply.as_ref()) else {
                    return Ok(Err("the step that it continues got no reply".to_owned()));
                };
                match requests::continuation(&first, issued, call, write.state, write.inputs) {
                    Ok(request) => request,
                    Err(reason) => return Ok(Err(reason)),
                }
            }
        };
        if write.rounds == Rounds::AllButLast && (call.responses.is_empty() || !self.has_second_round(&write.process)) {
            // Nothing comes before the one request, which is kept.
            self.keep(write, &first, None);
            return Ok(Ok(()));
        }
        self.rounds(write, call, first).await
    }

    /// Remembers what a step sent, or would have sent, last, and what came of it.
    fn keep(&mut self, write: &WriteStep, request: &Value, reply: Option<&Value>) {
        if !write.changed {
            self.last_requests.insert(write.operation.clone(), request.clone());
        }
        let exchange = Exchange {
            request: request.clone(),
            reply: reply.cloned(),
        };
        self.exchanges.insert(write.name.clone(), exchange);
    }

    /// Sends a request and answers what the server asks, in replies (modern era) or inside the call (legacy era), until a
    /// reply that asks nothing, the round after which the step goes no further, or the fault.
    async fn rounds(&mut self, write: &WriteStep, call: &Call, first: Value) -> Result<Going, DriveError> {
        let mut request = first;
        let session = self.sessions.get(&write.process);
        let offer = session.map(Session::offer).unwrap_or_default();
        let mut answers = Answers::new(call, offer, self.does_without_answers, self.run.plan.by_flags);
        for round in 0..ROUNDS_MAX {
            self.keep(write, &request, None);
            // Without questions to expect, the first request is the last; else the one that carries the answers is.
            let is_last = call.responses.is_empty() || request.pointer("/params/inputResponses").is_some();
            let is_struck = write.fault.is_some_and(|fault| match fault.at {
                Round::LastRound => is_last,
                Round::FirstRound => round == 0,
            });
            if is_struck {
                return self.break_at(write, &request, &request, &mut answers).await;
            }
            let Some(session) = self.sessions.get_mut(&write.process) else {
                return Ok(Ok(()));
            };
            let reply_ms = self.run.plan.bounds.reply_ms;
            let hold = write.fault.is_some();
            let reply = match session
                .write(self.scribe, &request, &mut answers, reply_ms, hold)
                .await?
            {
                Written::Ended(Answer::Reply(reply)) => {
                    self.does_without_answers |= answers.was_refused();
                    reply
                }
                Written::Ended(Answer::TimedOut) if hold => {
                    let reason = format!(
                        "{} was not answered within {reply_ms} ms{NO_LAST_ROUND}",
                        round_name(round)
                    );
                    return self.missed(write, answers.excuse(reason)).await;
                }
                Written::Ended(Answer::Gone) if hold => {
                    let reason = format!("the server ended by itself in {}{NO_LAST_ROUND}", round_name(round));
                    return self.missed(write, answers.excuse(reason)).await;
                }
                Written::Ended(Answer::TimedOut | Answer::Gone) => return Ok(Ok(())),
                // The answer begins the last round: what came before it has reached the client side.
                Written::Asked(answer) => return self.break_at(write, &request, &answer, &mut answers).await,
                Written::Stuck(reason) => return Ok(Err(reason)),
            };
            self.keep(write, &request, Some(&reply));
            if is_last && write.rounds == Rounds::Submit {
                self.note_execution(&write.operation, &request, &reply);
                return Ok(Ok(()));
            }
            if is_last && write.fault.is_none() && self.run.plan.operations[&write.operation].submitted.is_some() {
                return self.settle(&write.operation, &write.process, &request, &reply).await;
            }
            if write.rounds == Rounds::FirstOnly || write.from == From::Continuation {
                return Ok(Ok(()));
            }
            let id = self.scribe.new_id();
            match requests::next_round(&request, &reply, call, id, self.run.plan.by_flags) {
                Some(Ok(next)) if write.rounds == Rounds::AllButLast => {
                    self.keep(write, &next, Some(&reply));
                    return Ok(Ok(()));
                }
                Some(Ok(next)) => request = next,
                Some(Err(reason)) => return Ok(Err(reason)),
                None if write.rounds == Rounds::AllButLast => {
                    return Ok(Err("the server replied without asking for anything".to_owned()));
                }
                None if write.fault.is_some() => return self.missed(write, REPLIED_UNASKED.to_owned()).await,
                None => return Ok(Ok(())),
            }
        }
        Ok(Err(format!("the server asked for input more than {ROUNDS_MAX} times")))
    }

    /// The write ended, or was given up, before the fault could strike.
    async fn missed(&mut self, write: &WriteStep, reason: String) -> Result<Going, DriveError> {
        self.scribe.write(None, Body::FaultMissed { reason })?;
        // The steps that follow count on a dead server, and what they met instead would hide the reason.
        let Some(session) = self.sessions.remove(&write.process) else {
            return Ok(Ok(()));
        };
        let mut stopped = session.kill(self.scribe, Delivery::Deliver).await?;
        // What was missed is missed, whether or not there was still a server to be killed.
        stopped.trouble = None;
        Ok(quiet(stopped))
    }

    /// Sends the frame that begins the last round of a request (itself, or the answer to what the server asked inside it) with
    /// the fault at work.
    async fn break_at(
        &mut self,
        write: &WriteStep,
        request: &Value,
        last_round: &Value,
        answers: &mut Answers<'_>,
    ) -> Result<Going, DriveError> {
        let bounds = self.run.plan.bounds;
        let mut fault: Box<dyn Fault> = match write.fault.map(|fault| fault.until) {
            Some(Until::ReplyInPipe) => Box::new(ReplyInPipe::new(&bounds)),
            Some(Until::EffectVisible) | None => Box::new(WithholdReply::new(&bounds)),
        };
        let session = self.sessions.get_mut(&write.process);
        let (Some(observer), Some(session)) = (&self.observer, session) else {
            return Ok(Err(
                "the effect cannot be watched: the target has no read-back".to_owned()
            ));
        };
        let (reader, query) = observer.watch(self.run.plan, &write.operation)?;
        let mut watch = Watch::new(reader, query);
        // A store that stays unreadable for so long counts as one that nobody can read beside this server.
        let before = watch.count_until_read(bounds.withheld_reply_ms).await?;
        let mut seen = Seen {
            effects_before: before.unwrap_or_else(|| observer.last_count(&write.operation)),
            store_before: Sight::of(before.is_some()),
            ..Seen::default()
        };
        session.send(self.scribe, last_round, bounds.reply_ms).await?;
        let since = Clock::start();
        let mut told = false;
        let act = loop {
            let look = std::time::Duration::from_millis(LOOK_MS);
            // Once the effect is there, the client side is cut off from everything.
            let received = if told {
                session.receive(self.scribe, look, fault.delivery()).await?
            } else {
                session.receive_or_be_asked(self.scribe, look, fault.delivery()).await?
            };
            if let Received::Frame(frame) = received {
                seen.reply_is_whole |= Reply::to(&frame, &request["id"]).is_some();
                if !told && let Err(reason) = session.respond(self.scribe, &frame, answers, bounds.reply_ms).await? {
                    return Ok(Err(reason));
                }
            }
            seen.stream_ended = session.stream_ended();
            if seen.stream_ended {
                clock::pause().await;
            }
            seen.effects_now = watch.count()?.or(seen.effects_now);
            seen.store_now = Sight::of(watch.unread().is_none());
            seen.elapsed_ms = since.stamp().micros / 1000;
            if let (Some(effects), false) = (seen.effects_now, told)
                && effects > seen.effects_before
            {
                told = true;
                let body = Body::EffectVisible {
                    effects,
                    effects_before: seen.effects_before,
                    polls: watch.polls(),
                };
                self.scribe.write(Some(&session.process), body)?;
            }
            match fault.next(seen) {
                Act::Wait => {}
                act @ (Act::KillTree(_) | Act::Missed(_)) => break act,
            }
        };
        let is_missed = matches!(act, Act::Missed(_));
        self.does_without_answers |= answers.was_refused() && !is_missed;
        match act {
            Act::Wait | Act::KillTree(Moment::Effect | Moment::Planned) => {}
            Act::KillTree(Moment::Reply) => {
                let (why, polls) = (watch.unread().unwrap_or_default().to_owned(), watch.polls());
                let body = Body::ReplyMarkedMoment { why, polls };
                self.scribe.write(Some(&session.process), body)?;
            }
            Act::Missed(reason) => {
                let reason = answers.excuse(reason);
                self.scribe.write(None, Body::FaultMissed { reason })?;
            }
        }
        if let Some(session) = self.sessions.remove(&write.process) {
            let mut stopped = session.kill(self.scribe, fault.delivery()).await?;
            // What was missed is missed, whether or not there was still a server to be killed.
            stopped.trouble = stopped.trouble.filter(|_| !is_missed);
            return Ok(quiet(stopped));
        }
        Ok(Ok(()))
    }
}
