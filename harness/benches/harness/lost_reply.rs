//! The wall time of the main job, `harness run --case lost-reply`, and where it goes.
//!
//! The command is the one that users run, with its guard, its probe and the control that it brings along. The parts of
//! the case are read from the record's own times; what no record tells is measured apart, by doing it once more after
//! the command, on the evidence that it has left.

use std::collections::BTreeMap;
use std::path::Path;

use harness::digest;
use harness::judge::judge;
use harness::record::{Body, CaseFolder, Direction, Event, Evidence, Record, Run};
use serde_json::Value;

use crate::report::{Row, Section, Unit};
use crate::stage::{CASE, Stage, case, milliseconds, timed};

/// The case that proves that the read-back counts; it runs before the other.
const CONTROL: &str = "sees-duplicates";

/// Something that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Command,
    Probe,
    Control,
    Case,
    Launch,
    Spawn,
    Protocol,
    Commit,
    Withhold,
    Kill,
    Stop,
    ReadBack,
    Judging,
    RestOfCase,
    RestOfCommand,
    Start,
    Digest,
    Seal,
}

/// Each part with how far it is indented (a part stands under its whole), its name, and what it is.
#[rustfmt::skip] // A table, one line a row.
const PARTS: [(Part, usize, &str, &str); 18] = [
    (Part::Command,       0, "command",   "the whole of it, from its start to its exit"),
    (Part::Probe,         1, "probe",     "a server is started and ended once: does it start, and what does it speak"),
    (Part::Control,       1, "control",   "sees-duplicates: its server, its writes, its looks into the store"),
    (Part::Case,          1, "case",      "lost-reply alone: driven, recorded, judged"),
    (Part::Launch,        2, "launch",    "both servers: the step begins -> the process is started"),
    (Part::Spawn,         2, "spawn",     "both servers: the process is started -> it has answered the handshake"),
    (Part::Protocol,      2, "protocol",  "rounds without a fault (first round, status, retry): request -> reply"),
    (Part::Commit,        2, "commit",    "the last round is sent -> its effect is seen in the living store"),
    (Part::Withhold,      2, "withhold",  "the effect is seen -> the reply lies in our pipe (often it lies there before)"),
    (Part::Kill,          2, "kill",      "effect seen and reply withheld -> no process of the tree is left"),
    (Part::Stop,          2, "stop",      "the second server's input is closed -> no process of its tree is left"),
    (Part::ReadBack,      2, "read-back", "one look into the living store, two frozen copies, their queries"),
    (Part::Judging,       2, "judging",   "judge(case, record); measured apart"),
    (Part::RestOfCase,    2, "rest of case", "folders, the count before the fault, reading the record, the verdict"),
    (Part::RestOfCommand, 1, "rest",      "the guard, the end, and what of the next three is waited for"),
    (Part::Start,         2, "start",     "one start of the executable, of two; measured apart, by `harness --version`"),
    (Part::Digest,        2, "digest",    "SHA-256 of the executable, on a thread beside the cases; measured apart"),
    (Part::Seal,          2, "seal",      "SHA256SUMS over the evidence; measured apart"),
];

/// Microseconds by part.
type Micros = BTreeMap<Part, u64>;

/// Runs the command once a round.
pub(crate) fn measure(stage: &Stage, rounds: u32) -> Section {
    let all: Vec<Micros> = (0..rounds).map(|round| once(stage, round)).collect();
    let row = |(part, depth, name, means): (Part, usize, &'static str, &'static str)| {
        let values = all.iter().map(|micros| milliseconds(micros[&part])).collect();
        Row::new(depth, name, Unit::Milliseconds, values, means)
    };
    Section {
        name: "lost-reply",
        about: format!("`harness run --case {CASE} --format json` on the built-in reference server"),
        rows: PARTS.into_iter().map(row).collect(),
    }
}

fn once(stage: &Stage, round: u32) -> Micros {
    let folder = stage.round(CASE, round);
    let (output, whole) = timed(|| {
        stage.command(
            &folder,
            &["run", "--case", CASE, "--format", "json", "--evidence", "run"],
        )
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the case did not pass, {}: {said}",
        output.status
    );
    serde_json::from_slice::<Value>(&output.stdout).expect("one JSON document");

    let evidence = Evidence::open(&folder.join("run")).expect("the evidence of the run");
    let run = read_run(&evidence.run_file());
    let mut micros = case_micros(&evidence.case(CASE), run.verdicts[CASE].micros);
    micros.insert(Part::Command, whole);
    micros.insert(Part::Control, run.verdicts[CONTROL].micros);
    let probe = Record::read(&evidence.probe()).expect("the record of the probe");
    micros.insert(Part::Probe, probe.events.last().map_or(0, |event| event.at));
    let parts = [Part::Probe, Part::Control, Part::Case].map(|part| micros[&part]);
    micros.insert(Part::RestOfCommand, whole.saturating_sub(parts.iter().sum()));

    micros.insert(Part::Start, timed(|| stage.command(&folder, &["--version"])).1);
    let (digested, digest) = timed(|| digest::sha256_file(&stage.harness));
    assert_eq!(digested.ok(), run.harness.sha256, "the executable is the one that ran");
    micros.insert(Part::Digest, digest);
    let (sealed, seal) = timed(|| evidence.seal());
    sealed.expect("the evidence can be sealed again");
    micros.insert(Part::Seal, seal);
    micros
}

fn read_run(path: &Path) -> Run {
    let bytes = std::fs::read(path).expect("run.json");
    serde_json::from_slice(&bytes).expect("run.json is a run")
}

/// The parts of the case, which took `whole`.
fn case_micros(folder: &CaseFolder, whole: u64) -> Micros {
    let record = Record::read(folder).expect("the record of the case");
    let mut reading = Reading::default();
    for event in &record.events {
        reading.event(event);
    }
    let mut micros = reading.micros;
    micros.insert(Part::Judging, timed(|| judge(case(), &record)).1);
    for part in [
        Part::Launch,
        Part::Spawn,
        Part::Protocol,
        Part::Commit,
        Part::Withhold,
        Part::Kill,
        Part::Stop,
    ] {
        micros.entry(part).or_default();
    }
    let parts: u64 = micros.values().sum();
    micros.insert(Part::RestOfCase, whole.saturating_sub(parts));
    micros.insert(Part::Case, whole);
    micros
}

/// A record, read event by event.
#[derive(Debug, Default)]
struct Reading {
    micros: Micros,
    step_began: u64,
    process_started: u64,
    /// The last request, and whether it is the handshake's.
    sent: (u64, bool),
    /// When the effect was seen, within the step that breaks.
    effect_seen: Option<u64>,
    /// When the withheld reply came, within that step.
    withheld: Option<u64>,
}

impl Reading {
    fn add(&mut self, part: Part, from: u64, to: u64) {
        *self.micros.entry(part).or_default() += to.saturating_sub(from);
    }

    fn event(&mut self, event: &Event) {
        let at = event.at;
        match &event.body {
            Body::StepStarted { .. } => {
                self.step_began = at;
                (self.effect_seen, self.withheld) = (None, None);
            }
            Body::ProcessStarted { .. } => {
                self.add(Part::Launch, self.step_began, at);
                self.process_started = at;
            }
            Body::Message(message) => match message.direction {
                Direction::ClientToServer => {
                    let method = message.payload.as_ref().and_then(|frame| frame["method"].as_str());
                    self.sent = (at, method == Some("server/discover"));
                }
                Direction::ServerToClient if message.withheld => self.withheld = Some(at),
                Direction::ServerToClient if self.sent.1 => self.add(Part::Spawn, self.process_started, at),
                Direction::ServerToClient => self.add(Part::Protocol, self.sent.0, at),
            },
            Body::EffectVisible { .. } => {
                self.add(Part::Commit, self.sent.0, at);
                self.effect_seen = Some(at);
            }
            Body::ProcessEnded { .. } => self.ended(at),
            Body::Observed { .. } => self.add(Part::ReadBack, self.step_began, at),
            Body::CasePlanned { .. }
            | Body::StreamEnded
            | Body::SendFailed { .. }
            | Body::Signalled { .. }
            | Body::KillCommandRun { .. }
            | Body::ClockAdvanced { .. }
            | Body::LockHeld
            | Body::LockReleased { .. }
            | Body::OperatorRan { .. }
            | Body::ReplyMarkedMoment { .. }
            | Body::FaultMissed { .. }
            | Body::TimedOut { .. }
            | Body::CaseEnded { .. } => {}
        }
    }

    fn ended(&mut self, at: u64) {
        let Some(seen) = self.effect_seen else {
            self.add(Part::Stop, self.step_began, at);
            return;
        };
        let ready = self.withheld.map_or(seen, |withheld| withheld.max(seen));
        self.add(Part::Withhold, seen, ready);
        self.add(Part::Kill, ready, at);
    }
}
