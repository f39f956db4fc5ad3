//! The record, cut into steps: which events belong to which step of the plan.

use serde_json::Value;

use crate::case::Step;
use crate::plan::Plan;
use crate::protocol::Reply;
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

/// A request that we sent.
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

    /// How many bytes of frames reached the client side after a request was sent.
    pub(super) fn delivered_bytes_after(&self, seq: u64) -> u64 {
        self.frames_after(seq, false).map(Message::length_bytes).sum()
    }

    fn frames_after(&self, seq: u64, withheld: bool) -> impl Iterator<Item = &'a Message> {
        let after = self.events.iter().filter(move |event| event.seq > seq);
        after
            .filter_map(message)
            .filter(move |message| message.direction == Direction::ServerToClient && message.withheld == withheld)
    }
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
