//! A record for people: what happened, in order, a line for each event, with what read-back saw filled in.
//!
//! Everything here comes from a file that somebody else may have written.

use super::frame::{arrow, cut, gist, shortened, text_of};
use super::printer::{Printer, Span, Style, plain, span};
use crate::case::Step;
use crate::counted::counted;
use crate::plan::Plan;
use crate::record::{Body, Event, Message, Observation, OperationSeen, Outcome, ReadFrom, Reading};

/// The width that lines of frames are cut to, in characters; a name may make them longer.
const LINE_CHARS_MAX: usize = 130;

/// A frame gets at least so much of its line, in characters.
const PAYLOAD_CHARS_MIN: usize = 40;

/// How much of a command line or of a reason is shown, in characters.
const TEXT_CHARS_MAX: usize = 200;

/// The column of process names (characters): as wide as the names of the plan, within these.
const PROCESS_CHARS: std::ops::RangeInclusive<usize> = 5..=16;

/// Indent of what belongs to the line before: a column for `seq`, one for the time.
const INDENT: &str = "                  ";

/// What to print.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimelineOptions {
    /// Frames only.
    pub frames_only: bool,
    /// Payloads in full, on several lines.
    pub pretty: bool,
}

/// Prints events as they are read.
#[derive(Debug)]
pub struct Timeline<'a> {
    printer: &'a mut Printer,
    options: TimelineOptions,
    process_chars: usize,
    shortened: usize,
}

impl<'a> Timeline<'a> {
    /// Prints on this printer.
    pub fn new(printer: &'a mut Printer, options: TimelineOptions) -> Self {
        Self {
            printer,
            options,
            process_chars: 8,
            shortened: 0,
        }
    }

    /// How many frames were shortened, or had a part left out, so far.
    pub fn shortened(&self) -> usize {
        self.shortened
    }

    /// Something that is not as a record should be.
    pub fn trouble(&mut self, line: usize, reason: &str) {
        let text = cut(reason, TEXT_CHARS_MAX);
        self.printer.line(&[
            span(Style::Odd, "DAMAGED "),
            plain(format!("line {line} of the record: {text}")),
        ]);
    }

    /// One event. `observation` gives what read-back saw under a label, or why that cannot be read.
    pub fn event(&mut self, event: &Event, observation: impl FnOnce(&str, &str) -> Result<Observation, String>) {
        match &event.body {
            Body::Message(message) => self.frame(event, message),
            _ if self.options.frames_only => {}
            Body::CasePlanned { plan, .. } => self.plan(event, plan),
            Body::StepStarted { does, .. } => {
                let does = cut(does, TEXT_CHARS_MAX);
                self.printer.line(&[span(Style::Bold, does)]);
            }
            Body::Observed { label, sha256 } => {
                let mut spans = vec![plain(format!("  observed `{}`", cut(label, TEXT_CHARS_MAX)))];
                match observation(label, sha256) {
                    Ok(observation) => spans.push(plain(counts(&observation))),
                    Err(reason) => spans.push(span(Style::Odd, format!(": {reason}"))),
                }
                self.line(event, spans);
            }
            Body::ProcessStarted { pid, command, .. } => {
                let words = cut(&command.join(" "), TEXT_CHARS_MAX);
                self.line(event, vec![plain(format!("  started as pid {pid}: {words}"))]);
            }
            Body::StreamEnded
            | Body::SendFailed { .. }
            | Body::Signalled { .. }
            | Body::ProcessEnded { .. }
            | Body::KillCommandRun { .. }
            | Body::ClockAdvanced { .. }
            | Body::LockHeld
            | Body::LockReleased { .. }
            | Body::OperatorRan { .. }
            | Body::EffectVisible { .. }
            | Body::ReplyMarkedMoment { .. }
            | Body::FaultMissed { .. }
            | Body::TimedOut { .. }
            | Body::CaseEnded { .. } => {
                let (style, text) = in_words(&event.body);
                let text = cut(&text, TEXT_CHARS_MAX * 2);
                self.line(event, vec![span(style, format!("  {text}"))]);
            }
        }
    }

    fn plan(&mut self, event: &Event, plan: &Plan) {
        let names = plan.steps.iter().filter_map(|step| {
            let Step::Start(start) = step else { return None };
            Some(start.process.chars().count())
        });
        let (least, most) = (*PROCESS_CHARS.start(), *PROCESS_CHARS.end());
        self.process_chars = names.max().unwrap_or(0).clamp(least, most);
        let steps = plan.steps.len();
        self.line(
            event,
            vec![plain(format!("  planned: {steps} steps on {}", plan.target))],
        );
        for (name, operation) in &plan.operations {
            let text = format!(
                "operation {name}: identity {}, marker {}",
                operation.identity, operation.marker
            );
            self.line_below(&text);
        }
    }

    fn frame(&mut self, event: &Event, message: &Message) {
        let gist = gist(message);
        let mut what = vec![span(
            Style::Plain,
            format!("{} {}", arrow(message.direction), gist.what),
        )];
        if message.withheld {
            what.push(span(Style::Odd, "  WITHHELD from the client"));
        }
        if message.unterminated {
            what.push(span(Style::Odd, "  (the stream ended inside it)"));
        }
        if self.options.pretty {
            self.line(event, what);
            return self.whole(message);
        }
        let used = self.lead(event).chars().count() + what.iter().map(Span::chars).sum::<usize>() + 2;
        let room = LINE_CHARS_MAX.saturating_sub(used).max(PAYLOAD_CHARS_MIN);
        let (part, cut_off) = shortened(&gist.part, room);
        what.push(span(Style::Dim, format!("  {part}")));
        let left_out = cut_off + gist.rest_bytes;
        if left_out > 0 {
            self.shortened += 1;
            what.push(span(Style::Dim, format!(" +{left_out} bytes")));
        }
        self.line(event, what);
    }

    /// One frame in full.
    pub fn frame_in_full(&mut self, event: &Event, message: &Message) {
        self.options.pretty = true;
        self.frame(event, message);
        let length = message.length_bytes();
        self.line_below(&format!("{length} bytes on the wire, without the line end"));
        if message.payload.is_some() && message.bytes.is_some() {
            self.line_below("its bytes are not the compact form of that JSON; they are:");
            self.line_below(&text_of(message).0);
        }
    }

    fn whole(&mut self, message: &Message) {
        if let Some(payload) = &message.payload {
            return self.printer.json_block(INDENT, payload);
        }
        let (text, kept) = text_of(message);
        self.line_below(&text);
        if let Some(left_out) = message.length.map(|length| length.saturating_sub(kept)) {
            self.line_below(&format!(
                "and {left_out} bytes more, which no file holds: the frame was too long to be kept"
            ));
        }
    }

    fn lead(&self, event: &Event) -> String {
        let (ms, tenths) = (event.at / 1000, event.at % 1000 / 100);
        let name = event.process.as_deref().unwrap_or_default();
        let name = cut(name, TEXT_CHARS_MAX);
        format!(
            "{:>5} {:>9} ms  {name:<2$} ",
            event.seq,
            format!("{ms}.{tenths}"),
            self.process_chars
        )
    }

    fn line(&mut self, event: &Event, spans: Vec<Span>) {
        let mut line = vec![span(Style::Dim, self.lead(event))];
        line.extend(spans);
        self.printer.line(&line);
    }

    fn line_below(&mut self, text: &str) {
        self.printer.line(&[plain(INDENT), plain(text)]);
    }
}

/// An event that is no frame and no heading, in words.
pub(super) fn in_words(body: &Body) -> (Style, String) {
    match body {
        Body::StreamEnded => (Style::Plain, "its standard output ended".to_owned()),
        Body::SendFailed { reason } => (Style::Odd, format!("SEND FAILED: {reason}")),
        Body::Signalled { signal, processes } => (
            Style::Bad,
            format!("{signal} to {}", counted(*processes, "process", "processes")),
        ),
        Body::ProcessEnded {
            code,
            signal,
            survivors,
            last_words: _,
        } => ended(*code, *signal, *survivors),
        Body::EffectVisible {
            effects,
            effects_before,
            polls,
        } => {
            let looks = counted(usize::try_from(*polls).unwrap_or(usize::MAX), "look", "looks");
            let text = format!("the effect is visible in the store: {effects}, before {effects_before} ({looks})");
            (Style::Good, text)
        }
        Body::ReplyMarkedMoment { why, polls } => {
            let looks = counted(usize::try_from(*polls).unwrap_or(usize::MAX), "look", "looks");
            let text = format!("the whole reply MARKS THE MOMENT ({looks}): {why}");
            (Style::Odd, text)
        }
        Body::KillCommandRun { command, trouble, .. } => {
            let command = cut(&command.join(" "), TEXT_CHARS_MAX);
            match trouble {
                None => (Style::Bad, format!("kill command run: {command}")),
                Some(trouble) => (Style::Odd, format!("KILL COMMAND FAILED: {trouble}")),
            }
        }
        Body::ClockAdvanced { seconds } => (Style::Plain, format!("the server's clock was moved by {seconds} s")),
        Body::LockHeld => (Style::Plain, "another process holds the store's write lock".to_owned()),
        Body::LockReleased {
            drained,
            in_flight,
            answered,
        } => {
            let taken = if *drained {
                "all taken in"
            } else {
                "NOT all taken in, or still worked on"
            };
            let requests = counted(*in_flight, "request", "requests");
            let text = format!("the lock is given back: {requests} in flight, {taken}, {answered} answered");
            (if *drained { Style::Plain } else { Style::Odd }, text)
        }
        Body::OperatorRan { command, trouble, .. } => {
            let command = cut(&command.join(" "), TEXT_CHARS_MAX);
            match trouble {
                None => (Style::Plain, format!("the operator ran: {command}")),
                Some(trouble) => (Style::Odd, format!("the operator's command {command} {trouble}")),
            }
        }
        Body::FaultMissed { reason } => (Style::Odd, format!("FAULT MISSED: {reason}")),
        Body::TimedOut { what, bound_ms } => (Style::Odd, format!("TIMED OUT after {bound_ms} ms: {what}")),
        Body::CaseEnded { outcome } => match outcome {
            Outcome::Finished => (Style::Plain, "the case ended: every step was done".to_owned()),
            Outcome::Unsupported => (
                Style::Plain,
                "the case ended: the target lacks what it needs".to_owned(),
            ),
            Outcome::Stopped { reason } => (Style::Odd, format!("the case STOPPED: {reason}")),
            Outcome::Interrupted => (Style::Odd, "the case was INTERRUPTED by the user".to_owned()),
        },
        Body::CasePlanned { .. }
        | Body::StepStarted { .. }
        | Body::ProcessStarted { .. }
        | Body::Message(_)
        | Body::Observed { .. } => (Style::Plain, String::new()),
    }
}

pub(super) fn ended(code: Option<i32>, signal: Option<i32>, survivors: usize) -> (Style, String) {
    let how = match (code, signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(9)) => "ended by signal 9 (SIGKILL)".to_owned(),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended; how is not known".to_owned(),
    };
    if survivors == 0 {
        return (Style::Plain, how);
    }
    let left = counted(survivors, "process", "processes");
    (Style::Odd, format!("{how}; {left} of its tree could NOT be ended"))
}

/// What is said of an observation that found no file.
const NO_STORE: &str = " where there was no store";

/// What read-back counted, by operation.
fn counts(observation: &Observation) -> String {
    let from = match &observation.read {
        ReadFrom::Live => " in the living store",
        ReadFrom::Frozen { folder: None, .. } => NO_STORE,
        ReadFrom::Frozen { .. } => " in a frozen copy",
    };
    let is_there = from != NO_STORE;
    let of_operation = |(name, seen): (&String, &OperationSeen)| {
        // What is missing, and where it should be, need not be said of each count.
        let count = |reading: &Reading| match reading.missing() {
            Some(_) if !is_there => "0".to_owned(),
            Some(_) | None => count(reading),
        };
        let ledger = seen.ledger.iter().map(|reading| format!(", ledger {}", count(reading)));
        let doubled = seen
            .doctored
            .iter()
            .map(|copy| format!(", {} on a copy with doubled rows", copy.count));
        let more: String = ledger.chain(doubled).collect();
        format!("{name} effects {}{more}", count(&seen.effects))
    };
    let mut parts: Vec<String> = observation.operations.iter().map(of_operation).collect();
    parts.extend(observation.read.problem().map(str::to_owned));
    cut(&format!("{from}: {}", parts.join("; ")), TEXT_CHARS_MAX * 2)
}

fn count(reading: &Reading) -> String {
    match (reading.count(), reading.missing(), reading.problem()) {
        (_, _, Some(reason)) => format!("UNREADABLE ({reason})"),
        (Some(count), Some(missing), None) => format!("{count} ({missing})"),
        (Some(count), None, None) => count.to_string(),
        (None, _, None) => "unknown".to_owned(),
    }
}
