//! A record taken apart into lanes: what one process did, and what was done by the case itself, each in its own order.
//!
//! Two processes are never interleaved twice in the same way, and neither are requests and replies that are on their way
//! at once: so every process has its lane, and a reply belongs to its request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::side::{Side, observation};
use super::told::{self, Frame, Part};
use super::words::Names;
use crate::case::Step;
use crate::plan::Plan;
use crate::record::{Body, Event, Line, Message, ReaderError};
use crate::values::{VALUES_MAX, values_in};

/// How many JSON values of one record and its observations are held: two records are held at once.
const RECORD_VALUES_MAX: usize = VALUES_MAX / 4;

/// Which events are in an order of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// Steps, observations, and what the case did itself.
    Script,
    /// Requests with their replies.
    Frames,
    /// The end of a standard output: a pipe ends before or after its process is known to have ended.
    Output,
    /// Start, signals, end.
    Life,
}

/// A lane: what belongs to one process (empty: to the case), of one sort.
pub(super) type Lane = (String, Sort);

/// One thing that happened, and what answered it.
#[derive(Debug)]
pub(super) struct Item {
    /// Its step, in words.
    pub(super) step: usize,
    pub(super) began: Moment,
    pub(super) answer: Option<Moment>,
}

/// One event of it.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) seq: u64,
    /// In words; items are the same thing where these are the same words.
    pub(super) what: String,
    pub(super) value: Value,
    pub(super) kind: MomentKind,
}

/// What is known of an event beside what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MomentKind {
    /// What a store was found to hold.
    Observation,
    /// A frame, and what is marked at it.
    Frame(Vec<&'static str>),
    /// Anything else.
    Other,
}

/// What is compared in any order: what a store is asked for has none of its own.
pub(super) const ANY_ORDER: &str = "rows";

impl Item {
    /// The last event that belongs to it.
    pub(super) fn last(&self) -> u64 {
        self.answer.as_ref().map_or(u64::MAX, |answer| answer.seq)
    }

    /// Whether one was begun before the other was answered.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.began.seq < other.last() && other.began.seq < self.last()
    }
}

/// A whole record.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub(super) lanes: BTreeMap<Lane, Vec<Item>>,
    /// Steps in words, in the order in which they were begun; the first stands for what was before any.
    pub(super) steps: Vec<String>,
    pub(super) plan: Option<Box<Plan>>,
    /// What could not be read, or was not.
    pub(super) troubles: Vec<String>,
    names: Names,
    /// Whether the step waits for what it observes.
    waits: bool,
    /// Requests without a reply so far: process, who asked, id; lane and place.
    open: BTreeMap<(String, bool, String), Vec<(Lane, usize)>>,
}

/// How many damages of a record are told.
const TROUBLES_MAX: usize = 5;

impl Lanes {
    /// Reads the record of one case.
    pub(super) fn read(side: &Side, folder: &str) -> Self {
        let mut lanes = Self {
            steps: vec!["before the first step".to_owned()],
            ..Self::default()
        };
        let lines = match side.reader().lines(folder) {
            Ok(lines) => lines,
            Err(ReaderError::Absent) => {
                lanes.trouble("there is no record".to_owned());
                return lanes;
            }
            Err(error) => {
                lanes.trouble(format!("record.jsonl: {error}"));
                return lanes;
            }
        };
        let mut values_left = RECORD_VALUES_MAX;
        for line in lines {
            match line {
                Line::Trouble { line, reason } => lanes.trouble(format!("record.jsonl:{line}: {reason}")),
                Line::Event { event, text } => {
                    let Some(left) = values_left.checked_sub(values_in(text.as_bytes())) else {
                        lanes.trouble(too_many(event.seq));
                        break;
                    };
                    values_left = lanes.event(*event, side, folder, left);
                }
            }
        }
        lanes.collapse_looks();
        lanes
    }

    fn trouble(&mut self, text: String) {
        if self.troubles.len() < TROUBLES_MAX {
            self.troubles.push(text);
        }
    }

    /// Takes an event; returns how many values may still be held.
    fn event(&mut self, event: Event, side: &Side, folder: &str, values_left: usize) -> usize {
        let (seq, process) = (event.seq, event.process.unwrap_or_default());
        match event.body {
            Body::CasePlanned { plan, .. } => {
                self.names = Names::of(&plan);
                self.plan = Some(plan);
            }
            Body::StepStarted { step, does } => {
                let step = self.plan.as_ref().and_then(|plan| plan.steps.get(step));
                self.waits = matches!(step, Some(Step::Observe(observe)) if observe.until.is_some());
                let what = self.names.put_back(&does);
                self.steps.push(what.clone());
                self.push((String::new(), Sort::Script), seq, what, Value::Null, MomentKind::Other);
            }
            Body::Message(message) => self.message(seq, process, &message),
            // What else there is at the moment at which a wait is over is chance.
            Body::Observed { label, .. } if self.waits => {
                let what = format!("observed `{}`", told::cut(&label));
                self.push((String::new(), Sort::Script), seq, what, Value::Null, MomentKind::Other);
            }
            Body::Observed { label, sha256 } => {
                let (value, left) = match observation(side.reader(), folder, &label, &sha256, values_left) {
                    Ok((observation, left)) => (told::observed(&observation, &self.names), left),
                    Err(reason) => (json!({ "not_read": reason }), values_left),
                };
                let what = format!("observed `{}`", told::cut(&label));
                self.push((String::new(), Sort::Script), seq, what, value, MomentKind::Observation);
                return left;
            }
            body @ (Body::ProcessStarted { .. }
            | Body::StreamEnded
            | Body::SendFailed { .. }
            | Body::Signalled { .. }
            | Body::KillCommandRun { .. }
            | Body::ClockAdvanced { .. }
            | Body::LockHeld
            | Body::LockReleased { .. }
            | Body::OperatorRan { .. }
            | Body::ProcessEnded { .. }
            | Body::EffectVisible { .. }
            | Body::ReplyMarkedMoment { .. }
            | Body::FaultMissed { .. }
            | Body::TimedOut { .. }
            | Body::CaseEnded { .. }) => {
                if let Some((what, value)) = told::happened(&body) {
                    let sort = if body == Body::StreamEnded {
                        Sort::Output
                    } else if process.is_empty() {
                        Sort::Script
                    } else {
                        Sort::Life
                    };
                    let value = told::put_back(&value, &self.names);
                    self.push((process, sort), seq, what.to_owned(), value, MomentKind::Other);
                }
            }
        }
        values_left
    }

    fn push(&mut self, lane: Lane, seq: u64, what: String, value: Value, kind: MomentKind) -> usize {
        let item = Item {
            step: self.steps.len() - 1,
            began: Moment { seq, what, value, kind },
            answer: None,
        };
        let items = self.lanes.entry(lane).or_default();
        items.push(item);
        items.len() - 1
    }

    fn message(&mut self, seq: u64, process: String, message: &Message) {
        let Frame { part, what, value } = told::frame(message, &self.names);
        let kind = MomentKind::Frame(told::marks(message));
        let is_ours = message.direction == crate::record::Direction::ClientToServer;
        let lane = (process.clone(), Sort::Frames);
        match part {
            Part::Request(id) => {
                let at = self.push(lane.clone(), seq, what, value, kind);
                self.open.entry((process, is_ours, id)).or_default().push((lane, at));
            }
            Part::Reply(id) => {
                let asked = self.open.get_mut(&(process, !is_ours, id)).and_then(Vec::pop);
                let item = asked.and_then(|(lane, at)| self.lanes.get_mut(&lane)?.get_mut(at));
                if let Some(item) = item {
                    item.answer = Some(Moment { seq, what, value, kind });
                } else {
                    let what = format!("{what}, to nothing that was asked");
                    self.push(lane, seq, what, value, kind);
                }
            }
            Part::Alone => {
                self.push(lane, seq, what, value, kind);
            }
        }
    }

    /// How often one looked until something had come is chance: of the same request again and again in one step, the last
    /// stays.
    fn collapse_looks(&mut self) {
        for ((_, sort), items) in &mut self.lanes {
            if *sort == Sort::Frames {
                let mut kept: Vec<Item> = Vec::with_capacity(items.len());
                for item in items.drain(..) {
                    let is_again = kept.last().is_some_and(|last| is_look_again(last, &item));
                    if is_again {
                        kept.pop();
                    }
                    kept.push(item);
                }
                *items = kept;
            }
        }
        self.open.clear();
    }
}

fn too_many(seq: u64) -> String {
    format!("event {seq} and what follows was not compared: the record has more than {RECORD_VALUES_MAX} JSON values")
}

/// Whether the second asks what the first asked, in the same step and after its reply.
fn is_look_again(first: &Item, second: &Item) -> bool {
    first.step == second.step
        && first.answer.is_some()
        && !first.overlaps(second)
        && first.began.what == second.began.what
        && first.began.value == second.began.value
}
