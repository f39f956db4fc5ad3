//! The record, cut into steps: which events belong to which step of the plan.

use serde_json::Value;

use crate::case::Step;
use crate::plan::Plan;
use crate::protocol::{self, Question, Reply};
use crate::record::{Body, Direction, Event, Message, Outcome, Record};

/// The effect was seen in the living store.
pub(super) const MOMENT_EFFECT: &str = "effect";

/// The whole reply had to stand for it: nobody could read the living store.
pub(super) const MOMENT_REPLY: &str = "reply";

/// One step that was begun, and its events in order.
#[derive(Debug)]
pub(super) struct StepSlice<'a> {
    pub(super) step: &'a Step,
    pub(super) events: &'a [Event],
}

/// A request that we sent, or our answer to one of the server's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) seq: u64,
    pub(super) payload: &'a Value,
}

/// Cuts the events of a record at its step marks. Steps that were never begun are not there.
pub(super) fn steps<'a>(plan: &'a Plan, record: &'a Record) -> Vec<StepSlice<'a>> {
    let starts: Vec<(usize, usize)> = record
        .events
        .iter()
        .enumerate()
        .filter_map(|(at, event)| {
            let Body::StepStarted { step, .. } = event.body else {
                return None;
            };
            Some((at, step))
        })
        .collect();
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([record.events.len()]);
    let slices = starts.iter().zip(ends);
    slices
        .filter_map(|((at, step), end)| {
            Some(StepSlice {
                step: plan.steps.get(*step)?,
                events: &record.events[*at..end],
            })
        })
        .collect()
}

/// How the record says that the case ended; nothing when it was cut off.
pub(super) fn outcome(record: &Record) -> Option<&Outcome> {
    let Body::CaseEnded { outcome } = &record.events.last()?.body else {
        return None;
    };
    Some(outcome)
}

pub(super) fn message(event: &Event) -> Option<&Message> {
    if let Body::Message(message) = &event.body {
        Some(message)
    } else {
        None
    }
}

impl<'a> StepSlice<'a> {
    /// The `tools/call` requests to `tool` that this step sent.
    pub(super) fn requests(&self, tool: &str) -> Vec<Request<'a>> {
        requests(self.events, tool)
    }

    /// The reply to a request among this step's frames: delivered or withheld.
    pub(super) fn reply(&self, request: Request<'a>, withheld: bool) -> Option<Reply<'a>> {
        let id = request.payload.get("id")?;
        let frames = self.frames_after(request.seq, withheld);
        frames
            .filter_map(|message| message.payload.as_ref())
            .find_map(|frame| Reply::to(frame, id))
    }

    /// How often the server asked for input inside the calls of this step, as far as it reached the client side.
    pub(super) fn questions(&self) -> usize {
        let delivered = self.frames_after(0, false);
        let payloads = delivered.filter_map(|message| message.payload.as_ref());
        payloads.filter_map(Question::of).count()
    }

    /// Our answers to what the server asked inside a call: each begins a round of it, as a continuation does.
    pub(super) fn answers(&self, request: Request<'a>) -> Vec<Request<'a>> {
        let mut asked = Vec::new();
        let mut answers = Vec::new();
        for event in self.events.iter().filter(|event| event.seq > request.seq) {
            let Some((direction, frame)) =
                message(event).and_then(|message| Some((message.direction, message.payload.as_ref()?)))
            else {
                continue;
            };
            match direction {
                Direction::ServerToClient => asked.extend(Question::of(frame).map(Question::id)),
                // The call that comes next has answers of its own.
                Direction::ClientToServer if frame.get("method").is_some() => break,
                Direction::ClientToServer if asked.iter().any(|id| is_result(frame, id)) => answers.push(Request {
                    seq: event.seq,
                    payload: frame,
                }),
                Direction::ClientToServer => {}
            }
        }
        answers
    }

    /// Where the last round of a call begins: at the call itself, or at the last answer inside it.
    pub(super) fn last_round(&self, request: Request<'a>) -> u64 {
        let answers = self.answers(request);
        answers.last().map_or(request.seq, |answer| answer.seq)
    }

    /// Whether the server's standard output ended in this step.
    pub(super) fn ended_by_itself(&self) -> bool {
        self.events.iter().any(|event| event.body == Body::StreamEnded)
    }

    /// The wait for a reply that ran out in this step, in words.
    pub(super) fn ran_out(&self) -> Option<String> {
        self.events.iter().find_map(|event| {
            let Body::TimedOut { what, bound_ms } = &event.body else {
                return None;
            };
            Some(format!(
                "{what} did not come within {bound_ms} ms, which is the harness's bound"
            ))
        })
    }

    /// What marked the moment of the kill, where one was marked: the effect in the store, or the whole reply in its place.
    pub(super) fn moment(&self) -> Option<&'static str> {
        self.events.iter().find_map(|event| {
            if let Body::EffectVisible { .. } = event.body {
                Some(MOMENT_EFFECT)
            } else if let Body::ReplyMarkedMoment { .. } = event.body {
                Some(MOMENT_REPLY)
            } else {
                None
            }
        })
    }

    /// How many bytes of frames reached the client side after a request was sent. Requests of the server are let through,
    /// because it may wait for the answer, and are not counted: they are no reply to anything.
    pub(super) fn delivered_bytes_after(&self, seq: u64) -> u64 {
        let is_request = |message: &&Message| message.payload.as_ref().is_some_and(protocol::is_request);
        let others = self.frames_after(seq, false).filter(|message| !is_request(message));
        others.map(Message::length_bytes).sum()
    }

    fn frames_after(&self, seq: u64, withheld: bool) -> impl Iterator<Item = &'a Message> {
        let after = self.events.iter().filter(move |event| event.seq > seq);
        after
            .filter_map(message)
            .filter(move |message| message.direction == Direction::ServerToClient && message.withheld == withheld)
    }
}

fn is_result(frame: &Value, id: &Value) -> bool {
    frame.get("id") == Some(id) && frame.get("result").is_some()
}

/// The `tools/call` requests to `tool` among some events.
pub(super) fn requests<'a>(events: &'a [Event], tool: &str) -> Vec<Request<'a>> {
    let sent = events.iter().filter_map(|event| {
        let message = message(event).filter(|message| message.direction == Direction::ClientToServer)?;
        Some(Request {
            seq: event.seq,
            payload: message.payload.as_ref()?,
        })
    });
    let calls = |request: &Request| {
        request.payload["method"] == "tools/call" && request.payload["params"]["name"].as_str() == Some(tool)
    };
    sent.filter(calls).collect()
}
