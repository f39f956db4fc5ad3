//! One reading of a record: what the list of events shows, what the picture shows, and what was observed.

use super::scene::Scene;
use crate::counted::counted;
use crate::plan::Plan;
use crate::protocol::Revision;
use crate::record::{Body, Direction, Event, Line, Message, Observation};
use crate::report::frame::{cut, text_of};
use crate::report::printer::Style;
use crate::report::story::{Narrator, Told};
use crate::report::timeline::in_words;

/// How much of one frame a page holds (bytes); `harness show` has the rest.
const FRAME_BYTES_MAX: usize = 64 * 1024;

/// How many events of one case a page lists.
const EVENTS_MAX: usize = 50_000;

/// How many observations of one case a page holds; a case does not have so many.
const OBSERVATIONS_MAX: usize = 100;

/// How much of a command line or of a reason is shown, in characters.
const TEXT_CHARS_MAX: usize = 400;

/// A record, read.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) items: Vec<Item>,
    /// How many events are not listed.
    pub(super) left_out: usize,
    pub(super) frames: usize,
    pub(super) scene: Scene,
    pub(super) observations: Vec<Observation>,
    pub(super) plan: Option<Plan>,
    /// The revision that the server speaks, where a handshake said it.
    pub(super) spoken: Option<Revision>,
    pub(super) is_begun: bool,
    pub(super) has_ended: bool,
}

/// A line of the list.
#[derive(Debug)]
pub(super) enum Item {
    /// A step begins: its number from 1 on, and what it does.
    Step(usize, String),
    Entry(Entry),
    /// What is to be said between two events.
    Remark(Told),
    /// What is not as a record should be.
    Trouble(String),
}

/// An event.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) seq: u64,
    /// Microseconds since the case began.
    pub(super) at: u64,
    pub(super) process: Option<String>,
    pub(super) told: Vec<Told>,
    pub(super) frame: Option<Frame>,
    /// The observation that it is, by its place among those of the case.
    pub(super) observed: Option<usize>,
    /// Whether no event before has this number or a higher one.
    pub(super) is_in_order: bool,
}

/// A frame in full, or as much of it as a page holds.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) to_server: bool,
    pub(super) withheld: bool,
    /// JSON on several lines.
    pub(super) json: Option<String>,
    /// The bytes as text, where they are not JSON, or not its compact form.
    pub(super) raw: Option<String>,
    /// How much of the two is left out.
    pub(super) left_out: usize,
    pub(super) wire_bytes: u64,
}

/// Reads a record. `budget` is how many bytes of frames the page still has room for.
pub(super) fn gather(
    lines: impl Iterator<Item = Line>,
    mut observation: impl FnMut(&str, &str) -> Result<Observation, String>,
    budget: &mut usize,
) -> Gathered {
    let mut gathered = Gathered::default();
    let mut narrator = Narrator::default();
    let mut last = 0;
    for line in lines {
        let event = match line {
            Line::Event { event, .. } => event,
            Line::Trouble { line, reason } => {
                gathered.push(Item::Trouble(format!("line {line} of the record: {reason}")));
                continue;
            }
        };
        if let Body::StepStarted { step, does } = &event.body {
            if let Some(told) = narrator.unknown() {
                gathered.push(Item::Remark(told));
            }
            gathered.is_begun = true;
            let _ = narrator.tell(&event, &mut observation);
            gathered.scene.add(&event, &[], None);
            gathered.push(Item::Step(step.saturating_add(1), does.clone()));
            continue;
        }
        let mut seen = None;
        let told = narrator.tell(&event, |label, sha256| {
            let observed = observation(label, sha256);
            seen = observed.as_ref().ok().cloned();
            observed
        });
        gathered.event(&event, told, seen, last, budget);
        last = last.max(event.seq);
    }
    if let Some(told) = narrator.unknown() {
        gathered.push(Item::Remark(told));
    }
    gathered.plan = narrator.plan().cloned();
    gathered.spoken = narrator.spoken();
    gathered
}

impl Gathered {
    fn push(&mut self, item: Item) {
        if self.items.len() < EVENTS_MAX {
            self.items.push(item);
        } else {
            self.left_out += 1;
        }
    }

    fn event(&mut self, event: &Event, told: Vec<Told>, seen: Option<Observation>, last: u64, budget: &mut usize) {
        self.scene.add(event, &told, seen.as_ref());
        self.has_ended |= matches!(event.body, Body::CaseEnded { .. });
        let message = if let Body::Message(message) = &event.body {
            Some(message)
        } else {
            None
        };
        self.frames += usize::from(message.is_some());
        let frame = message.map(|message| frame(message, budget));
        let observed = seen.filter(|_| self.observations.len() < OBSERVATIONS_MAX);
        let observed = observed.map(|observation| {
            self.observations.push(observation);
            self.observations.len() - 1
        });
        let told = if told.is_empty() { plainly(&event.body) } else { told };
        self.push(Item::Entry(Entry {
            seq: event.seq,
            at: event.at,
            process: event.process.clone(),
            told,
            frame,
            observed,
            is_in_order: event.seq > last,
        }));
    }
}

/// An event of which the story says nothing.
fn plainly(body: &Body) -> Vec<Told> {
    let (label, text) = if let Body::CasePlanned { plan, .. } = body {
        let steps = counted(plan.steps.len(), "step", "steps");
        ("planned", format!("{steps} on {}", plan.target))
    } else if let Body::ProcessStarted { pid, command, .. } = body {
        ("process", format!("started as pid {pid}: {}", command.join(" ")))
    } else {
        ("then", in_words(body).1)
    };
    if text.is_empty() {
        return Vec::new();
    }
    vec![Told::new(label, cut(&text, TEXT_CHARS_MAX)).styled(Style::Dim)]
}

fn frame(message: &Message, budget: &mut usize) -> Frame {
    let pretty = message.payload.as_ref();
    let pretty = pretty.map(|payload| serde_json::to_string_pretty(payload).expect("what was read as JSON is JSON"));
    let mut left_out = 0;
    let mut keep = |text: String| {
        let room = FRAME_BYTES_MAX.min(*budget);
        let kept = head(&text, room);
        left_out += text.len() - kept.len();
        *budget -= kept.len();
        kept.to_owned()
    };
    let json = pretty.map(&mut keep);
    let raw = message.bytes.as_ref().map(|_| keep(text_of(message).0));
    Frame {
        to_server: message.direction == Direction::ClientToServer,
        withheld: message.withheld,
        json,
        raw,
        left_out,
        wire_bytes: message.length_bytes(),
    }
}

/// The beginning of a text, cut between characters.
fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
