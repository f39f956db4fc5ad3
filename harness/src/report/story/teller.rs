//! Events in, a story out: the head, a numbered paragraph for each step, and the findings.

use super::findings::Findings;
use super::happened::FAULT;
use super::narrator::Narrator;
use super::page::Page;
use super::told::{Kind, Told};
use super::value::brief;
use crate::case::{Case, Role, Step, Surface};
use crate::plan::Operation;
use crate::record::{Body, CaseVerdict, Event, Observation, Outcome};
use crate::report::console::word;
use crate::report::printer::{Printer, Style, span};
use crate::target::Identity;

/// How many frames that answer nothing are shown of one step.
const NOISE_SHOWN_MAX: usize = 3;

/// How many things are told of one step; a case does not have so many.
const TOLD_MAX: usize = 60;

/// What a submitted write is, for somebody who has not met one.
const SUBMITTED: &str = "The write is submitted: the server writes it down as an execution, answers, and a worker does it later. The \
                         event log tells what became of it.";

/// The words for those who do it.
const WORKERS: &str = "Whoever claims an execution holds a lease on it, which ends at a time that its heartbeats put off. A reaper \
                       ends the lease of a worker that was not heard of in time, and then another one may claim. Each claim gets a \
                       higher fencing token than every one before it, and the store takes nothing from a worker with an older one: \
                       so a worker that stood still, and cannot know it, does not do the work a second time. A worker may be held \
                       at a gate, a file that it waits for. T0 is the time at which the clock of the server began.";

/// What a story is told from, beside the events.
#[derive(Debug)]
pub struct StoryOf<'a> {
    /// The case, by its id.
    pub id: &'a str,
    /// As the evidence defines it, where that can be read.
    pub case: Option<&'a Case>,
    /// On what, in one line.
    pub target: Option<&'a str>,
    /// What was planted, in words.
    pub planted: Option<&'a str>,
    /// What was concluded, where it was.
    pub verdict: Option<&'a CaseVerdict>,
    /// How to look at it again: what it shows, and the command.
    pub again: &'a [(&'static str, String)],
}

/// Tells one case as its events are read.
#[derive(Debug)]
pub struct Story<'a> {
    page: Page<'a>,
    of: StoryOf<'a>,
    narrator: Narrator,
    told: Vec<Told>,
    left_out: usize,
    /// How often the step looked at what was submitted.
    looks: usize,
    /// Of many writes alike, those that are only counted: requests, and results.
    copies: (usize, usize),
    outcome: Option<Outcome>,
}

impl<'a> Story<'a> {
    /// Begins with the head.
    pub fn begin(printer: &'a mut Printer, of: StoryOf<'a>) -> Self {
        let mut story = Self {
            page: Page::new(printer),
            of,
            narrator: Narrator::default(),
            told: Vec::new(),
            left_out: 0,
            looks: 0,
            copies: (0, 0),
            outcome: None,
        };
        story.head();
        story
    }

    /// Something that is not as a record should be.
    pub fn trouble(&mut self, line: usize, reason: &str) {
        let text = format!("line {line} of the record: {reason}");
        self.tell(Told::new("DAMAGED", text).styled(Style::Odd));
    }

    /// One event. `observation` gives what read-back saw under a label, or why that cannot be read.
    pub fn event(&mut self, event: &Event, observation: impl FnOnce(&str, &str) -> Result<Observation, String>) {
        if let Body::StepStarted { step, does } = &event.body {
            self.flush();
            if self.narrator.step().is_none() {
                self.words();
                self.page.section("What was done, step by step");
            }
            self.page.step(step.saturating_add(1), does);
        }
        if let Body::CaseEnded { outcome } = &event.body {
            self.outcome = Some(outcome.clone());
        }
        for told in self.narrator.tell(event, observation) {
            self.tell(told);
        }
    }

    /// The rest of the story: checks, verdict, and how to look again.
    pub fn end(mut self) {
        self.flush();
        self.how_it_ended();
        let findings = self.of.verdict.map(|verdict| Findings {
            case: self.of.case,
            contract: self.narrator.plan().map(|plan| &plan.contract),
            spoken: self.narrator.spoken(),
            verdict,
        });
        if let Some(findings) = findings {
            // Where nothing was done, no check says anything.
            let is_begun = self.narrator.step().is_some();
            if is_begun && !findings.verdict.checks.is_empty() {
                findings.checks(&mut self.page);
                findings.rows(&mut self.page);
            }
            findings.conclude(&mut self.page);
            if is_begun {
                findings.remarks(&mut self.page);
            }
        } else {
            self.page.section("The verdict");
            let text = "there is none in the evidence: the run was cut off before the case was judged";
            self.page.labelled(Style::Odd, "NO VERDICT", text);
        }
        self.again();
    }

    fn head(&mut self) {
        let of = &self.of;
        let (verdict, style) = of
            .verdict
            .map_or(("NO VERDICT", Style::Odd), |verdict| word(verdict.verdict));
        let case = of.case;
        let number = case.and_then(|case| case.number);
        let number = number.map_or(String::new(), |number| format!(" ({number:02})"));
        let family = case.map_or(String::new(), |case| format!("{}/", case.family));
        self.page.rule();
        self.page.line(&[
            span(Style::Bold, "STORY  "),
            span(Style::Bold, format!("{family}{}{number}  ", of.id)),
            span(style, verdict),
        ]);
        self.page.blank();
        let told = [
            ("title", case.map(|case| case.title.as_str())),
            ("on", of.target),
            ("planted", of.planted),
            ("proves", case.map(|case| case.proves.as_str())),
            ("matters", case.map(|case| case.matters.as_str())),
        ];
        for (label, text) in told {
            if let Some(text) = text {
                self.page.labelled(Style::Bold, label, text);
            }
        }
    }

    /// The words that the story needs.
    fn words(&mut self) {
        let Some(plan) = self.narrator.plan() else { return };
        let mut before: Vec<(&String, &Operation)> = Vec::new();
        for (name, operation) in &plan.operations {
            let text = who(operation, &plan.identity, &before);
            self.page
                .labelled(Style::Bold, &format!("write {}", brief(name)), &text);
            before.push((name, operation));
        }
        let ledger = if plan.surfaces.contains(&Surface::ReadLedger) {
            " The ledger is the server's own list of what it has done."
        } else {
            ""
        };
        let text = format!(
            "An effect is what stands in the server's own store and carries the marker, such as a row. The harness reads the \
             store itself, and believes no reply.{ledger} [9] is frame 9 of the record."
        );
        self.page.labelled(Style::Bold, "words", &text);
        if plan.operations.values().any(|operation| operation.submitted.is_some()) {
            self.page.labelled(Style::Bold, "later", SUBMITTED);
        }
        let has_workers = |step: &Step| matches!(step, Step::Start(start) if start.role != Role::Server);
        if plan.steps.iter().any(has_workers) {
            self.page.labelled(Style::Bold, "workers", WORKERS);
        }
    }

    /// Keeps what belongs to the step, each thing with what it completes.
    fn tell(&mut self, mut told: Told) {
        if self.is_only_counted(&mut told) {
            return;
        }
        if let Kind::Handshake(_) = told.kind {
            // Request and reply of a handshake that went well are one thing.
            self.told.retain(|before| before.kind != told.kind);
        }
        if told.label == FAULT {
            // The fault tells what it waited for.
            self.told.retain(|before| before.kind != Kind::Visible);
        }
        let is_end = told.label == "process" || told.label == FAULT;
        if is_end && told.kind == Kind::Plain {
            let of_it = |before: &Told, kind: &Kind| before.process == told.process && before.kind == *kind;
            self.told.retain(|before| !of_it(before, &Kind::StreamEnded));
            let signalled = self
                .told
                .iter_mut()
                .rev()
                .find(|before| of_it(before, &Kind::Signalled));
            if let Some(signalled) = signalled {
                signalled.text = format!("{}; {}", signalled.text, told.text);
                signalled.kind = Kind::Plain;
                return;
            }
        }
        let noise = self.told.iter().filter(|before| before.kind == Kind::Noise).count();
        if self.told.len() >= TOLD_MAX || (told.kind == Kind::Noise && noise >= NOISE_SHOWN_MAX) {
            self.left_out += 1;
            return;
        }
        self.told.push(told);
    }

    /// Whether something is told by what was told before, or by a number at the end of the step.
    fn is_only_counted(&mut self, told: &mut Told) -> bool {
        let is_request = told.label == "sent";
        if told.kind == Kind::Look && is_request {
            // What was found before came to nothing yet, or the step would not look again.
            self.told.retain(|before| before.kind != Kind::Look);
            self.looks += 1;
            if self.looks > 1 {
                told.text = format!("{}; asked {} times, of which this is the last", told.text, self.looks);
            }
        }
        let has_copies = matches!(self.narrator.planned(), Some(Step::Write(write)) if write.copies > 1);
        let is_another = |before: &Told| before.kind == Kind::Copy && before.label == told.label;
        let is_counted = has_copies && told.kind == Kind::Copy && self.told.iter().any(is_another);
        self.copies.0 += usize::from(is_counted && is_request);
        self.copies.1 += usize::from(is_counted && !is_request);
        is_counted
    }

    fn flush(&mut self) {
        self.looks = 0;
        let is_over = |told: &Told| told.kind == Kind::Handshake("notifications/initialized".to_owned());
        for told in std::mem::take(&mut self.told) {
            if !is_over(&told) {
                told.print(&mut self.page);
            }
        }
        let (requests, results) = std::mem::take(&mut self.copies);
        if requests > 0 {
            let text = format!("{requests} more like it, each under its own identity: {results} of them got a result");
            self.page.labelled(Style::Dim, "and", &text);
        }
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            self.page
                .labelled(Style::Dim, "and", &format!("{left_out} more that answer nothing"));
        }
        if let Some(told) = self.narrator.unknown() {
            told.print(&mut self.page);
        }
    }

    /// What of the plan was not done, and why.
    fn how_it_ended(&mut self) {
        let steps = self.narrator.plan().map_or(0, |plan| plan.steps.len());
        let done = self.narrator.step().map_or(0, |step| step.saturating_add(1));
        let rest = match steps.saturating_sub(done) {
            0 => String::new(),
            1 => format!("; step {steps} was not done"),
            _ if done == 0 => "; no step was done".to_owned(),
            _ => format!("; steps {} to {steps} were not done", done + 1),
        };
        let text = match &self.outcome {
            Some(Outcome::Finished | Outcome::Unsupported) => return,
            Some(Outcome::Stopped { reason }) => format!("{reason}{rest}"),
            Some(Outcome::Interrupted) => format!("the user stopped the run{rest}"),
            None => format!("the record ends here, and does not say how the case ended{rest}"),
        };
        self.page.blank();
        self.page.labelled(Style::Odd, "STOPPED", &text);
    }

    fn again(&mut self) {
        self.page.section("To look again");
        for (what, command) in self.of.again {
            self.page.command(what, command);
        }
    }
}

/// What an operation is, for somebody who has not met one; of a further one only what differs.
fn who(operation: &Operation, identity: &Identity, before: &[(&String, &Operation)]) -> String {
    let tool = operation.write.as_ref().map_or("a tool", |call| call.tool.as_str());
    let tool = brief(tool);
    let marker = brief(&operation.marker);
    let has_key = match identity {
        Identity::Argument(_) | Identity::Meta(_) | Identity::Params(_) => true,
        Identity::Natural(_) | Identity::None => false,
    };
    if !before.is_empty() {
        let shared = before.iter().find(|(_, other)| other.marker == operation.marker);
        let marker = shared.map_or_else(
            || format!("marker {marker}"),
            |(name, _)| format!("the marker of {name}"),
        );
        let key = if has_key {
            format!("identity {}, ", brief(&operation.identity))
        } else {
            String::new()
        };
        return format!("another call of `{tool}`: {key}{marker}.");
    }
    let same = match identity {
        Identity::Argument(_) | Identity::Meta(_) | Identity::Params(_) => format!(
            "Its identity {} tells the server which requests are one and the same write; its",
            brief(&operation.identity)
        ),
        Identity::Natural(_) => {
            "Requests with the same natural key in their data are one and the same write; its".to_owned()
        }
        Identity::None => "Nothing in a request tells the server that it is the same write again; its".to_owned(),
    };
    format!("a call of `{tool}`. {same} marker {marker} stands in the data, by which its effects are found.")
}
