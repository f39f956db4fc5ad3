//! `harness show RUN [CASE]`: what happened in a run, from its evidence alone. No server runs, and nothing is written.
//!
//! Evidence may be cut off, and may come from somebody else: what can be read is shown, and where that ends is said.

pub(super) mod glance;
mod proof;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use self::glance::{PROBE, SHOW_FORMAT, folder, glance, observation, part};
use super::target_arguments::quoted;
use super::{ExitStatus, Format, named_archive, refuse, story, taken};
use crate::record::{Body, Event, Found, Line, Reader, ReaderError};
use crate::report::{
    CaseGlance, Printer, Style, Timeline, TimelineOptions, plain, show_case_heading, show_masked, show_overview, span,
};

/// How much of one log is shown (bytes).
const LOG_BYTES_MAX: u64 = 256 * 1024;

/// Show what happened in a run: frames, processes, faults and counts, from its evidence alone
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(super) struct ShowArguments {
    /// The run: its folder or archive, `latest`, or the name of a folder under evidence/runs, or a beginning of it; of a proof, its runs
    run: PathBuf,
    /// Id, family/id, or number of a case of the run, `probe` for the handshake, or
    /// `calibration` and `calibration-two` for the search for the effect; without it, an overview
    case: Option<String>,
    /// Frames only
    #[arg(long, requires = "case")]
    frames: bool,
    /// One frame in full, by its number in the record
    #[arg(long, value_name = "SEQ", requires = "case", conflicts_with_all = ["frames", "stderr"])]
    frame: Option<u64>,
    /// Payloads in full, on several lines
    #[arg(long, requires = "case")]
    pretty: bool,
    /// What the processes wrote on standard error, too
    #[arg(long, requires = "case")]
    stderr: bool,
    /// The case as a story, step by step: what was done, what broke, what was seen in the store, and why the verdict is
    /// what it is
    #[arg(long, requires = "case", conflicts_with_all = ["frames", "frame", "pretty", "stderr"])]
    story: bool,
    /// How to print; jsonl are the events as they are recorded
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// One case, or the probe, as a document.
#[derive(Serialize)]
struct PartReport<'a> {
    format: u32,
    evidence: String,
    /// Where the events stand.
    file: String,
    #[serde(flatten)]
    case: Option<&'a CaseGlance>,
    events: Vec<Value>,
    troubles: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<Vec<Log>>,
}

/// What one process wrote on standard error.
#[derive(Serialize)]
struct Log {
    file: String,
    text: String,
    left_out_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// What is read from, and what is asked for.
struct Shown<'a> {
    arguments: &'a ShowArguments,
    reader: Reader,
    evidence: String,
    /// The folder in the evidence.
    folder: String,
    /// Absent for the probe.
    case: Option<CaseGlance>,
}

impl ShowArguments {
    /// Whether something is unpacked, and has to be removed whatever ends this.
    pub(super) fn unpacks(&self) -> bool {
        named_archive(&self.run).is_some()
    }
}

/// Shows one run, or one part of it.
pub(super) fn show(arguments: &ShowArguments, printer: &mut Printer) -> ExitStatus {
    if arguments.stderr && arguments.format == Format::Jsonl {
        let message =
            "`--stderr` has no place in `--format jsonl`, which prints events as recorded; use `--format json`";
        return refuse(arguments.format, message, ExitStatus::Usage, printer);
    }
    if arguments.story
        && let Some(status) = story::refuse_beside(arguments.format, false, printer)
    {
        return status;
    }
    let opened = taken::open(&arguments.run).and_then(|opened| {
        opened.refuse_proof_in_archive()?;
        Ok(opened)
    });
    let opened = match opened {
        Ok(opened) => opened,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let reader = match &opened.found {
        Found::Run(evidence) => Reader::new(evidence),
        Found::Proof(folder) => return proof::show(arguments, folder, printer),
        Found::Archive(_) => unreachable!("an archive is unpacked"),
    };
    let Some(word) = &arguments.case else {
        let glance = glance(&opened.name, &reader);
        match arguments.format {
            Format::Human => show_overview(printer, &glance, &arguments.run.display().to_string()),
            Format::Json => printer.json(&glance),
            Format::Jsonl => printer.json_line(&glance),
        }
        return ExitStatus::Success;
    };
    let run = glance::run(&reader).ok();
    let case = match part(&reader, run.as_deref(), word) {
        Ok(case) => case,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let shown = Shown {
        arguments,
        reader,
        evidence: opened.name.clone(),
        folder: case.as_ref().map_or(PROBE.to_owned(), |case| folder(&case.case)),
        case,
    };
    shown
        .print(printer)
        .unwrap_or_else(|message| refuse(arguments.format, &message, ExitStatus::Usage, printer))
}

impl Shown<'_> {
    fn print(&self, printer: &mut Printer) -> Result<ExitStatus, String> {
        if self.arguments.story {
            self.story(printer)?;
        } else if let Some(seq) = self.arguments.frame {
            self.one_frame(seq, printer)?;
        } else {
            match self.arguments.format {
                Format::Human => self.human(printer)?,
                Format::Json => printer.json(&self.report()?),
                Format::Jsonl => self.lines_as_recorded(printer)?,
            }
        }
        Ok(ExitStatus::Success)
    }

    fn record(&self) -> String {
        format!("{}/{}/record.jsonl", self.evidence, self.folder)
    }

    /// The lines of the record; none where the run did not come to the case.
    fn lines(&self) -> Result<impl Iterator<Item = Line>, String> {
        match self.reader.lines(&self.folder) {
            Ok(lines) => Ok(Some(lines).into_iter().flatten()),
            Err(ReaderError::Absent) => Ok(None.into_iter().flatten()),
            Err(error) => Err(format!("read {}: {error}", self.record())),
        }
    }

    fn human(&self, printer: &mut Printer) -> Result<(), String> {
        let lines = self.lines()?;
        match &self.case {
            Some(case) => show_case_heading(printer, case),
            None => printer.line(&[
                span(Style::Bold, PROBE),
                plain("  the handshake that decided the protocol era"),
            ]),
        }
        printer.line(&[span(Style::Dim, "record       "), plain(self.record())]);
        show_masked(printer, glance::masked(&self.reader).as_deref());
        printer.blank();
        let mut timeline = Timeline::new(printer, self.options());
        let (mut last, mut ended) = (None, false);
        for line in lines {
            match line {
                Line::Event { event, .. } => {
                    timeline.event(&event, |label, sha256| {
                        observation(&self.reader, &self.folder, label, sha256)
                    });
                    ended = matches!(event.body, Body::CaseEnded { .. });
                    last = Some(event.seq);
                }
                Line::Trouble { line, reason } => timeline.trouble(line, &reason),
            }
        }
        let shortened = timeline.shortened();
        if !ended && self.case.is_some() {
            printer.line(&[span(Style::Odd, "CUT OFF "), plain(ends_at(last))]);
        }
        if self.arguments.stderr {
            self.logs()
                .iter()
                .for_each(|log| show_log(printer, log, &self.evidence));
        }
        if !self.arguments.pretty {
            self.hint(shortened, printer);
        }
        Ok(())
    }

    fn story(&self, printer: &mut Printer) -> Result<(), String> {
        let Some(case) = &self.case else {
            return Err("the handshake is no case, and has no story; leave out `--story`".to_owned());
        };
        story::tell(
            &self.reader,
            &case.case,
            &self.arguments.run.display().to_string(),
            None,
            printer,
        )
    }

    fn options(&self) -> TimelineOptions {
        TimelineOptions {
            frames_only: self.arguments.frames,
            pretty: self.arguments.pretty,
        }
    }

    /// How to see what was left out.
    fn hint(&self, shortened: usize, printer: &mut Printer) {
        let run = quoted(&self.arguments.run.display().to_string());
        let again = format!("harness show {run} {}", self.name());
        let cut = if shortened > 0 {
            format!("; `+N bytes` of {shortened} frames")
        } else {
            String::new()
        };
        printer.blank();
        let text =
            format!("left out: `_meta`, `jsonrpc`{cut}. In full: {again} --frame SEQ, or --pretty, or --format jsonl");
        printer.line(&[span(Style::Dim, text)]);
        let logged = if self.arguments.stderr { 0 } else { self.logged_bytes() };
        if logged > 0 {
            let text = format!("left out: {logged} bytes of standard error: {again} --stderr");
            printer.line(&[span(Style::Dim, text)]);
        }
    }

    fn name(&self) -> &str {
        self.case.as_ref().map_or(PROBE, |case| &case.case)
    }

    fn one_frame(&self, seq: u64, printer: &mut Printer) -> Result<(), String> {
        let mut frames = Vec::new();
        for line in self.lines()? {
            let Line::Event { event, text } = line else { continue };
            let Body::Message(message) = &event.body else { continue };
            if event.seq != seq {
                frames.push(event.seq);
                continue;
            }
            match self.arguments.format {
                Format::Human => Timeline::new(printer, self.options()).frame_in_full(&event, message),
                Format::Json => printer.json(&value(&text)),
                Format::Jsonl => printer.json_line(&value(&text)),
            }
            return Ok(());
        }
        Err(no_frame(self.name(), seq, &frames))
    }

    fn report(&self) -> Result<PartReport<'_>, String> {
        let (mut events, mut troubles) = (Vec::new(), Vec::new());
        for line in self.lines()? {
            match line {
                Line::Event { event, text } if self.is_asked_for(&event) => events.push(value(&text)),
                Line::Event { .. } => {}
                Line::Trouble { line, reason } => troubles.push(format!("line {line}: {reason}")),
            }
        }
        Ok(PartReport {
            format: SHOW_FORMAT,
            evidence: self.evidence.clone(),
            file: self.record(),
            case: self.case.as_ref(),
            events,
            troubles,
            stderr: self.arguments.stderr.then(|| self.logs()),
        })
    }

    fn lines_as_recorded(&self, printer: &mut Printer) -> Result<(), String> {
        for line in self.lines()? {
            match line {
                Line::Event { event, text } if self.is_asked_for(&event) => printer.json_line(&value(&text)),
                Line::Event { .. } => {}
                Line::Trouble { line, reason } => {
                    printer.note("note: ", &format!("{}:{line}: {reason}", self.record()));
                }
            }
        }
        Ok(())
    }

    fn is_asked_for(&self, event: &Event) -> bool {
        !self.arguments.frames || matches!(event.body, Body::Message(_))
    }

    /// How much the processes wrote on standard error.
    fn logged_bytes(&self) -> u64 {
        let folder = format!("{}/stderr", self.folder);
        let names = self.reader.names(&folder).into_iter();
        let length = |name| {
            self.reader
                .head(&format!("{folder}/{name}"), 0)
                .map_or(0, |(_, bytes)| bytes)
        };
        names.map(|name: String| length(name)).sum()
    }

    fn logs(&self) -> Vec<Log> {
        let names = self.reader.names(&format!("{}/stderr", self.folder));
        let log = |name: String| {
            let file = format!("{}/stderr/{name}", self.folder);
            let (bytes, left_out_bytes, problem) = match self.reader.head(&file, LOG_BYTES_MAX) {
                Ok((bytes, left_out)) => (bytes, left_out, None),
                Err(error) => (Vec::new(), 0, Some(error.to_string())),
            };
            Log {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                file,
                left_out_bytes,
                problem,
            }
        };
        names.into_iter().map(log).collect()
    }
}

fn show_log(printer: &mut Printer, log: &Log, evidence: &str) {
    printer.blank();
    let empty = if log.text.is_empty() && log.problem.is_none() {
        ": nothing"
    } else {
        ""
    };
    printer.line(&[span(Style::Bold, format!("{}{empty}", log.file))]);
    for line in log.text.lines() {
        printer.line(&[span(Style::Dim, "  | "), plain(line)]);
    }
    if log.left_out_bytes > 0 {
        let text = format!("  and {} bytes more, in {evidence}/{}", log.left_out_bytes, log.file);
        printer.line(&[span(Style::Odd, text)]);
    }
    if let Some(problem) = &log.problem {
        printer.line(&[span(Style::Odd, format!("  {problem}"))]);
    }
}

/// A line that was read as an event is JSON.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn ends_at(last: Option<u64>) -> String {
    match last {
        Some(seq) => format!("the record ends here, after event {seq}, and does not say how the case ended"),
        None => "no event of this case can be read: the run did not come to it, or was cut off before".to_owned(),
    }
}

fn no_frame(name: &str, seq: u64, frames: &[u64]) -> String {
    let before = frames.iter().rev().find(|frame| **frame < seq);
    let after = frames.iter().find(|frame| **frame > seq);
    let near = match (before, after) {
        (Some(before), Some(after)) => format!("the nearest are {before} and {after}"),
        (Some(one), None) | (None, Some(one)) => format!("the nearest is {one}"),
        (None, None) => "it has none at all".to_owned(),
    };
    format!("number {seq} in the record of {name} is no frame; {near}")
}
