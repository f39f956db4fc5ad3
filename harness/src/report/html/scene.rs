//! What a picture of one case shows, as a value: lanes, and marks from top to bottom. `picture` draws it.

use crate::readback::Rows;
use crate::record::{Body, Direction, EFFECTS, Event, LEDGER, Message, Observation, ReadFrom, Reading, ReadingOutcome};
use crate::report::frame::{gist, shortened};
use crate::report::story::{Kind, Told};
use crate::report::timeline::ended;

/// How many marks a picture has; what is behind them is in the list of events.
const MARKS_MAX: usize = 400;

/// How many lanes of processes a picture has; further processes share the last one.
const PROCESSES_MAX: usize = 8;

/// How many frames that answer nothing are drawn one after the other.
const NOISE_MAX: usize = 3;

/// How much of a name a lane shows, in characters.
const NAME_CHARS_MAX: usize = 24;

/// How many operations are counted on one flag.
const OPERATIONS_MAX: usize = 4;

/// How much of a text a mark keeps, in characters.
const TEXT_CHARS_MAX: usize = 160;

/// The picture of one case.
#[derive(Debug, Default)]
pub(super) struct Scene {
    /// The processes, in the order in which they come in, by the names that the case gives them.
    pub(super) processes: Vec<String>,
    pub(super) marks: Vec<Mark>,
    /// How many more there would be.
    pub(super) left_out: usize,
    noise: usize,
}

/// Something that has a place of its own from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Its event in the record.
    pub(super) seq: u64,
    /// When, in microseconds.
    pub(super) at: u64,
    pub(super) what: What,
    /// In a sentence.
    pub(super) told: String,
}

/// What a mark is. A process is named by its place among the lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A step begins: its number from 1 on, and what it does.
    Step(usize, String),
    /// A frame.
    Frame {
        process: usize,
        to_server: bool,
        withheld: bool,
        text: String,
    },
    /// A frame that did not get there.
    Unsent(usize, String),
    /// A process begins.
    Started(usize),
    /// It ended, in order or otherwise.
    Ended { process: usize, killed: bool, text: String },
    /// A signal to it.
    Signal {
        process: usize,
        signal: Signal,
        text: String,
    },
    /// Something at the store: a count, or a lock. The first text is its name.
    Store {
        name: String,
        lines: Vec<String>,
        tone: Tone,
    },
    /// Something of the harness itself.
    Harness { text: String, tone: Tone },
    /// Time was moved.
    Clock(String),
    /// So many frames that answer nothing.
    Noise(usize),
}

/// What a signal does to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Kill,
    Pause,
    Resume,
    Other,
}

/// How a mark is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Odd,
}

impl Scene {
    /// Adds an event, with what is said of it and what was observed, where it is an observation.
    pub(super) fn add(&mut self, event: &Event, told: &[Told], observed: Option<&Observation>) {
        let is_noise = told.iter().any(|told| told.kind == Kind::Noise);
        if is_noise && self.is_too_noisy() {
            return;
        }
        if !is_noise {
            self.noise = 0;
        }
        let Some(what) = self.what(event, observed) else { return };
        let sentences: Vec<&str> = told.iter().map(|told| told.text.as_str()).collect();
        self.push(Mark {
            seq: event.seq,
            at: event.at,
            what,
            told: cut(&sentences.join("; ")),
        });
    }

    /// Counts a frame that answers nothing; whether it is one too many to be drawn.
    fn is_too_noisy(&mut self) -> bool {
        self.noise += 1;
        if self.noise <= NOISE_MAX {
            return false;
        }
        let more = self.noise - NOISE_MAX;
        match self.marks.last_mut() {
            Some(Mark {
                what: What::Noise(count),
                ..
            }) => *count = more,
            Some(Mark { seq, at, .. }) => {
                let (seq, at) = (*seq, *at);
                self.push(Mark {
                    seq,
                    at,
                    what: What::Noise(more),
                    told: String::new(),
                });
            }
            None => {}
        }
        true
    }

    fn push(&mut self, mark: Mark) {
        if self.marks.len() < MARKS_MAX {
            self.marks.push(mark);
        } else {
            self.left_out += 1;
        }
    }

    /// The lane of a process, which comes in with its first event.
    fn lane(&mut self, name: Option<&str>) -> usize {
        let name = shortened(name.unwrap_or("a process"), NAME_CHARS_MAX).0;
        if let Some(at) = self.processes.iter().position(|known| *known == name) {
            return at;
        }
        if self.processes.len() < PROCESSES_MAX {
            self.processes.push(name);
        } else if let Some(last) = self.processes.last_mut() {
            "others".clone_into(last);
        }
        self.processes.len() - 1
    }

    fn what(&mut self, event: &Event, observed: Option<&Observation>) -> Option<What> {
        let name = event.process.as_deref();
        Some(match &event.body {
            Body::StepStarted { step, does } => What::Step(step.saturating_add(1), cut(does)),
            Body::ProcessStarted { .. } => What::Started(self.lane(name)),
            Body::Message(message) => What::Frame {
                process: self.lane(name),
                to_server: message.direction == Direction::ClientToServer,
                withheld: message.withheld,
                text: label(message),
            },
            Body::SendFailed { reason } => What::Unsent(self.lane(name), cut(reason)),
            Body::Signalled { signal, .. } => What::Signal {
                process: self.lane(name),
                signal: signal_of(signal),
                text: cut(signal),
            },
            Body::KillCommandRun { command, trouble, .. } => What::Signal {
                process: self.lane(name),
                signal: if trouble.is_none() { Signal::Kill } else { Signal::Other },
                text: cut(&command.join(" ")),
            },
            Body::ProcessEnded {
                code,
                signal,
                survivors,
                ..
            } => What::Ended {
                process: self.lane(name),
                killed: *code != Some(0),
                text: ended(*code, *signal, *survivors).1,
            },
            Body::Observed { label, .. } => What::Store {
                name: cut(label),
                lines: observed.map_or_else(|| vec!["cannot be read".to_owned()], counts),
                tone: if observed.is_some() { Tone::Plain } else { Tone::Odd },
            },
            Body::EffectVisible {
                effects,
                effects_before,
                ..
            } => What::Store {
                name: "effect visible".to_owned(),
                lines: vec![format!("{effects}, before {effects_before}")],
                tone: Tone::Good,
            },
            Body::LockHeld => lock("the write lock is held"),
            Body::LockReleased { .. } => lock("the write lock is given back"),
            Body::ClockAdvanced { seconds } => What::Clock(format!("the clock is moved by {seconds} s")),
            Body::OperatorRan { command, trouble, .. } => What::Harness {
                text: cut(&format!("the operator ran {}", program(command))),
                tone: if trouble.is_none() { Tone::Plain } else { Tone::Odd },
            },
            Body::ReplyMarkedMoment { .. } => harness("the whole reply marks the moment", Tone::Odd),
            Body::FaultMissed { .. } => harness("the fault missed its moment", Tone::Odd),
            Body::TimedOut { what, bound_ms } => {
                harness(&format!("waited {bound_ms} ms in vain for {what}"), Tone::Odd)
            }
            Body::CasePlanned { .. } | Body::StreamEnded | Body::CaseEnded { .. } => return None,
        })
    }
}

fn lock(text: &str) -> What {
    What::Store {
        name: "lock".to_owned(),
        lines: vec![text.to_owned()],
        tone: Tone::Plain,
    }
}

fn harness(text: &str, tone: Tone) -> What {
    What::Harness { text: cut(text), tone }
}

fn program(command: &[String]) -> String {
    let words = command.iter().enumerate().map(|(index, word)| match index {
        0 => word.rsplit('/').next().unwrap_or_default(),
        _ => word.as_str(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn signal_of(name: &str) -> Signal {
    match name {
        "SIGKILL" => Signal::Kill,
        "SIGSTOP" => Signal::Pause,
        "SIGCONT" => Signal::Resume,
        _ => Signal::Other,
    }
}

/// A frame in the few words that stand at its arrow.
fn label(message: &Message) -> String {
    let what = gist(message).what;
    let what = what
        .replacen(" tools/call", "", 1)
        .replacen(", with answers to", " + answer:", 1);
    cut(&what.replacen("notification notifications/", "notice ", 1))
}

/// What was counted, in the few words that stand on a flag.
fn counts(observation: &Observation) -> Vec<String> {
    if matches!(observation.read, ReadFrom::Frozen { folder: None, .. }) {
        return vec!["no store yet".to_owned()];
    }
    let of = |kind: &str| {
        let counted = observation.operations.iter().take(OPERATIONS_MAX);
        let counted = counted.filter_map(|(name, seen)| Some((name, count(seen.reading(kind)?))));
        let is_one = observation.operations.len() == 1;
        let counted: Vec<String> = counted
            .map(|(name, count)| if is_one { count } else { format!("{name} {count}") })
            .collect();
        (!counted.is_empty()).then(|| format!("{kind} {}", counted.join(", ")))
    };
    let lines = [EFFECTS, LEDGER].into_iter().filter_map(of);
    if observation.operations.len() == 1 {
        return vec![cut(&lines.collect::<Vec<_>>().join(", "))];
    }
    let more = observation.operations.len().saturating_sub(OPERATIONS_MAX);
    let more = (more > 0).then(|| format!("and {more} operations more"));
    lines.chain(more).map(|line| cut(&line)).collect()
}

/// How many rows a reading has, in a word.
pub(super) fn count(reading: &Reading) -> String {
    match &reading.outcome {
        ReadingOutcome::Rows(rows) => rows.count().to_string(),
        ReadingOutcome::Nothing { .. } => "0".to_owned(),
        ReadingOutcome::Unreadable { .. } => "unreadable".to_owned(),
    }
}

/// The rows of a reading, where it has any.
pub(super) fn rows(reading: &Reading) -> Option<&Rows> {
    match &reading.outcome {
        ReadingOutcome::Rows(rows) => Some(rows),
        ReadingOutcome::Nothing { .. } | ReadingOutcome::Unreadable { .. } => None,
    }
}

fn cut(text: &str) -> String {
    shortened(text, TEXT_CHARS_MAX).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn scene(bodies: impl IntoIterator<Item = Value>) -> Scene {
        let mut scene = Scene::default();
        for (index, mut event) in bodies.into_iter().enumerate() {
            event["seq"] = (index + 1).into();
            event["at"] = 1000.into();
            let event: Event = serde_json::from_value(event).expect("an event");
            let kind = if event.process.as_deref() == Some("noisy") {
                Kind::Noise
            } else {
                Kind::Plain
            };
            let mut told = Told::new("then", "it happened");
            told.kind = kind;
            scene.add(&event, &[told], None);
        }
        scene
    }

    fn frame(process: &str) -> Value {
        json!({"process": process, "kind": "message", "direction": "server-to-client", "transport": "stdio", "payload": {}})
    }

    #[test]
    fn signals_are_told_apart_and_an_end_otherwise_than_in_order_is_one() {
        let signal = |name: &str| json!({"process": "first", "kind": "signalled", "signal": name, "processes": 1});
        let ended = |code: Value| json!({"process": "first", "kind": "process-ended", "code": code, "survivors": 0});
        let names = ["SIGSTOP", "SIGCONT", "SIGKILL", "SIGTERM"];
        let all = names
            .map(signal)
            .into_iter()
            .chain([ended(0.into()), ended(1.into()), ended(Value::Null)]);
        let found: Vec<String> = scene(all)
            .marks
            .iter()
            .map(|mark| {
                if let What::Signal { signal, .. } = &mark.what {
                    format!("{signal:?}")
                } else if let What::Ended { killed, .. } = &mark.what {
                    killed.to_string()
                } else {
                    panic!("{mark:?}")
                }
            })
            .collect();
        assert_eq!(found, ["Pause", "Resume", "Kill", "Other", "false", "true", "true"]);
    }

    #[test]
    fn noise_is_counted_and_what_comes_after_it_is_drawn() {
        let all = (0..9).map(|_| frame("noisy")).chain([frame("first")]);
        let scene = scene(all);
        assert_eq!(scene.marks.len(), NOISE_MAX + 2);
        assert_eq!(scene.marks[NOISE_MAX].what, What::Noise(9 - NOISE_MAX));
        assert_eq!(scene.left_out, 0);
    }

    #[test]
    fn a_picture_has_bounds_and_counts_what_is_beyond_them() {
        let processes: Vec<String> = (0..30).map(|index| format!("process {index}")).collect();
        let scene = scene((0..1000).map(|index| frame(&processes[index % processes.len()])));
        assert_eq!(scene.marks.len(), MARKS_MAX);
        assert_eq!(scene.left_out, 1000 - MARKS_MAX);
        assert_eq!(scene.processes.len(), PROCESSES_MAX);
        assert_eq!(scene.processes.last().map(String::as_str), Some("others"));
    }
}
