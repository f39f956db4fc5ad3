//! The steps as written, one after the other, to the steps as resolved: which process lives, which operation was written,
//! which name is taken.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{BOUND_MS_MAX, Mode, OperationUse};
use super::resolve::require_word;
use super::step::{Fault, From, Inputs, Round, Rounds, SendStep, Settings, StartStep, State, Step, When, WriteStep};
use super::surface::Surface;
use super::written::{Capabilities, StepWritten};

/// The first part of the paths that hold what the recovery rules conclude.
pub(super) const RECOVERY: &str = "recovery";

/// The only thing that can be started, and the only one that can be held.
const SERVER: &str = "server";
const STORE: &str = "store";

/// No clock is moved further than this, and no server is told of a longer time, in seconds: about three years.
const SECONDS_MAX: u64 = 100_000_000;

/// The steps resolved so far, and what they have made true.
#[derive(Default)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) operations: BTreeMap<String, OperationUse>,
    /// Names that checks may use as the first part of a path.
    pub(super) names: BTreeSet<String>,
    /// Names that are there only with a surface.
    pub(super) conditional: BTreeMap<String, Surface>,
    /// Processes that live, in the order of their start.
    alive: Vec<String>,
    /// Names of steps that sent a write.
    writes: BTreeSet<String>,
    /// Names of `send` steps.
    sends: BTreeSet<String>,
    is_held: bool,
}

impl Script {
    pub(super) fn push(&mut self, written: &StepWritten) -> Result<(), String> {
        let (verb, object) = written.verb()?;
        refuse_strangers(verb, written)?;
        let step = match verb {
            "start" => self.start(&object, written)?,
            "observe" => self.observe(&object, written)?,
            "write" => Step::Write(self.write(&object, written)?),
            "send" => self.send(&object, written)?,
            "await" => Step::Await {
                sent: self.sent(&object)?,
            },
            "cancel" => Step::Cancel {
                sent: self.sent(&object)?,
            },
            "status" => self.status(&object, written)?,
            "advance_s" => advance(written.advance_s.unwrap_or_default())?,
            "hold" => self.hold(&object, written)?,
            "release" => self.release(&object, written)?,
            "reconcile" => self.reconcile(&object, written)?,
            ending => self.end(ending, &object)?,
        };
        self.steps.push(step);
        Ok(())
    }

    fn start(&mut self, what: &str, written: &StepWritten) -> Result<Step, String> {
        if what != SERVER {
            return Err(format!("start = \"{what}\": the only thing to start is \"{SERVER}\""));
        }
        let settings = written.settings.unwrap_or_default();
        require_lengths(&settings)?;
        let process = self.new_name(written.name.as_deref().unwrap_or(SERVER))?;
        self.alive.push(process.clone());
        Ok(Step::Start(StartStep {
            process,
            principal: written.principal.clone(),
            failpoint: written.failpoint.clone(),
            rotate: written.rotate,
            settings,
        }))
    }

    fn end(&mut self, verb: &str, process: &str) -> Result<Step, String> {
        if !self.alive.iter().any(|alive| alive == process) {
            return Err(format!("{verb} = \"{process}\": no such process lives at this point"));
        }
        self.ended(process);
        let process = process.to_owned();
        Ok(if verb == "stop" {
            Step::Stop { process }
        } else {
            Step::Kill { process }
        })
    }

    fn ended(&mut self, process: &str) {
        self.alive.retain(|alive| alive != process);
    }

    fn observe(&mut self, label: &str, written: &StepWritten) -> Result<Step, String> {
        let when = written.when.unwrap_or(When::Now);
        if when == When::Quiet && !self.alive.is_empty() {
            return Err("when = \"quiet\" needs every process stopped or killed before".to_owned());
        }
        if written.doubled.is_some() && when == When::Now {
            return Err("`doubled` works on a frozen copy: add when = \"quiet\"".to_owned());
        }
        let label = self.new_name(label)?;
        Ok(Step::Observe {
            label,
            when,
            doubled: written.doubled,
        })
    }

    fn write(&mut self, operation: &str, written: &StepWritten) -> Result<WriteStep, String> {
        require_word("write", operation)?;
        let process = self.on(written)?;
        let first = !self.operations.contains_key(operation);
        self.use_operation(operation, written, first)?;
        let from = match written.from {
            Some(from) => from,
            None if first => From::Start,
            None => From::Repeat,
        };
        let of = self.of(from, operation, written, first)?;
        let (state, inputs) = (written.state.unwrap_or_default(), written.inputs.unwrap_or_default());
        if from != From::Continuation && (state != State::default() || inputs != Inputs::default()) {
            return Err("`state` and `inputs` belong to from = \"continuation\"".to_owned());
        }
        let rounds = written.rounds.unwrap_or_default();
        if from == From::Continuation && rounds != Rounds::All {
            return Err("a continuation is one request: leave out `rounds`".to_owned());
        }
        let fault = written.fault.as_ref().map(|fault| Fault {
            at: fault.at,
            until: fault.withhold_reply_until,
            then: fault.then,
        });
        if fault.is_some() && rounds != Rounds::All {
            return Err("a fault has its own place in the write: leave out `rounds`".to_owned());
        }
        if fault.is_some() {
            self.ended(&process);
        }
        let name = self.new_name(written.name.as_deref().unwrap_or(operation))?;
        self.writes.insert(name.clone());
        Ok(WriteStep {
            operation: operation.to_owned(),
            name,
            process,
            from,
            of,
            rounds,
            changed: written.changed.unwrap_or(false),
            state,
            inputs,
            without_capabilities: written.capabilities == Some(Capabilities::None),
            fault,
        })
    }

    /// What a first write says of its operation; a later one says nothing of it.
    fn use_operation(&mut self, operation: &str, written: &StepWritten, first: bool) -> Result<(), String> {
        let marked_as = written.marker.as_deref().unwrap_or(operation).to_owned();
        if marked_as != operation && !self.operations.contains_key(&marked_as) {
            return Err(format!(
                "marker = \"{marked_as}\": no earlier step writes that operation"
            ));
        }
        if !first && (written.marker.is_some() || written.mode.is_some()) {
            return Err(format!("marker and mode belong to the first write of `{operation}`"));
        }
        if first {
            let mode = written.mode.unwrap_or_default();
            self.operations
                .insert(operation.to_owned(), OperationUse { marked_as, mode });
        }
        Ok(())
    }

    /// The step that a write takes a request or a state from.
    fn of(&self, from: From, operation: &str, written: &StepWritten, first: bool) -> Result<Option<String>, String> {
        let of = written.of.clone();
        match (from, &of) {
            (From::Start, Some(_)) => return Err("`of` belongs to a repeat or a continuation".to_owned()),
            (From::Repeat, None) if first => {
                return Err(format!(
                    "`{operation}` was not written before, so there is nothing to repeat"
                ));
            }
            (From::Continuation, None) => {
                return Err("a continuation needs `of`: the step whose request state is sent back".to_owned());
            }
            (From::Start | From::Repeat | From::Continuation, _) => {}
        }
        match of {
            Some(of) if !self.writes.contains(&of) => {
                Err(format!("of = \"{of}\": no earlier step writes by that name"))
            }
            of => Ok(of),
        }
    }

    fn send(&mut self, operation: &str, written: &StepWritten) -> Result<Step, String> {
        let process = self.on(written)?;
        self.require_written("send", operation)?;
        let name = self.new_name(written.name.as_deref().unwrap_or(operation))?;
        self.sends.insert(name.clone());
        self.writes.insert(name.clone());
        Ok(Step::Send(SendStep {
            operation: operation.to_owned(),
            name,
            process,
        }))
    }

    fn sent(&self, name: &str) -> Result<String, String> {
        if self.sends.contains(name) {
            return Ok(name.to_owned());
        }
        Err(format!("`{name}`: no earlier step sends by that name"))
    }

    fn status(&mut self, operation: &str, written: &StepWritten) -> Result<Step, String> {
        let process = self.on(written)?;
        self.require_written("status", operation)?;
        let name = self.conditional_name("status", written)?;
        Ok(Step::Status {
            operation: operation.to_owned(),
            name,
            process,
            only: written.only,
        })
    }

    fn hold(&mut self, what: &str, written: &StepWritten) -> Result<Step, String> {
        if what != STORE || self.is_held {
            return Err(format!(
                "hold = \"{what}\": only the \"{STORE}\" can be held, and only once at a time"
            ));
        }
        self.is_held = true;
        Ok(Step::Hold { only: written.only })
    }

    fn release(&mut self, what: &str, written: &StepWritten) -> Result<Step, String> {
        if what != STORE || !self.is_held {
            return Err(format!("release = \"{what}\": no step before holds it"));
        }
        self.is_held = false;
        Ok(Step::Release {
            name: self.conditional_name("release", written)?,
            only: written.only,
        })
    }

    fn reconcile(&mut self, operation: &str, written: &StepWritten) -> Result<Step, String> {
        self.require_written("reconcile", operation)?;
        Ok(Step::Reconcile {
            operation: operation.to_owned(),
            name: self.conditional_name("reconcile", written)?,
            only: written.only,
        })
    }

    /// A name that is there only where the step is.
    fn conditional_name(&mut self, usual: &str, written: &StepWritten) -> Result<String, String> {
        let name = self.new_name(written.name.as_deref().unwrap_or(usual))?;
        if let Some(surface) = written.only {
            self.conditional.insert(name.clone(), surface);
        }
        Ok(name)
    }

    /// The process that a step is about: the one it names, or the only one that lives.
    fn on(&self, written: &StepWritten) -> Result<String, String> {
        match (&written.on, self.alive.as_slice()) {
            (_, []) => Err("no server lives at this point: put a `start = \"server\"` step before it".to_owned()),
            (Some(on), alive) if !alive.contains(on) => {
                Err(format!("on = \"{on}\": no such process lives at this point"))
            }
            (Some(on), _) => Ok(on.clone()),
            (None, [only]) => Ok(only.clone()),
            (None, several) => Err(format!(
                "several processes live ({}): say which with `on`",
                several.join(", ")
            )),
        }
    }

    fn require_written(&self, verb: &str, operation: &str) -> Result<(), String> {
        if self.operations.contains_key(operation) {
            return Ok(());
        }
        Err(format!(
            "{verb} = \"{operation}\": no earlier step writes that operation"
        ))
    }

    fn new_name(&mut self, name: &str) -> Result<String, String> {
        require_word("name", name)?;
        if name == RECOVERY {
            return Err(format!("the name `{RECOVERY}` is taken by the recovery facts"));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(format!(
                "the name `{name}` is used twice; give one of them another with `as`"
            ));
        }
        Ok(name.to_owned())
    }

    /// A step that needs a surface must say so in the case's `needs`, or be conditional on it.
    pub(super) fn require_surfaces(&self, allowed: &BTreeSet<Surface>) -> Result<(), String> {
        let mut wanted: BTreeSet<Surface> = self.steps.iter().flat_map(wanted).collect();
        let is_partial = |operation: &OperationUse| operation.mode != Mode::default();
        if self.operations.values().any(is_partial) {
            wanted.insert(Surface::WriteMode);
        }
        match wanted.difference(allowed).next() {
            Some(missing) => Err(format!(
                "a step uses `{}`: name it in `needs`, or in `uses` with `only` at the step",
                missing.name()
            )),
            None => Ok(()),
        }
    }
}

fn advance(seconds: u64) -> Result<Step, String> {
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(format!("advance_s = {seconds}: it has 1 to {SECONDS_MAX} seconds"));
    }
    Ok(Step::Advance { seconds })
}

/// Whether a server can be told of these times.
fn require_lengths(settings: &Settings) -> Result<(), String> {
    for (name, length) in settings.values() {
        let (max, unit) = match name {
            "busy_ms" => (BOUND_MS_MAX, "milliseconds"),
            _ => (SECONDS_MAX, "seconds"),
        };
        if length > max {
            return Err(format!("settings: {name} = {length}: it has at most {max} {unit}"));
        }
    }
    Ok(())
}

/// What one step asks of a target.
fn wanted(step: &Step) -> Vec<Surface> {
    match step {
        Step::Write(write) => {
            let is_continued = write.from == From::Continuation
                || write.rounds == Rounds::FirstOnly
                || write.without_capabilities
                || write.fault.is_some_and(|fault| fault.at == Round::FirstRound);
            let more = [
                (write.changed, Surface::WriteChange),
                (is_continued, Surface::WriteContinuation),
            ];
            let more = more.into_iter().filter(|(is, _)| *is).map(|(_, surface)| surface);
            std::iter::once(Surface::Write).chain(more).collect()
        }
        Step::Start(start) => started_with(start),
        Step::Send(_) => vec![Surface::Write],
        Step::Status { only, .. } => vec![only.unwrap_or(Surface::Status)],
        Step::Advance { .. } => vec![Surface::Clock],
        Step::Hold { only } | Step::Release { only, .. } => vec![only.unwrap_or(Surface::StoreLock)],
        Step::Reconcile { only, .. } => vec![only.unwrap_or(Surface::Reconcile)],
        Step::Stop { .. } | Step::Kill { .. } | Step::Observe { .. } | Step::Await { .. } | Step::Cancel { .. } => {
            Vec::new()
        }
    }
}

fn started_with(start: &StartStep) -> Vec<Surface> {
    let asked = [
        (start.principal.is_some(), Surface::Principal),
        (start.failpoint.is_some(), Surface::Failpoints),
        (start.rotate.is_some(), Surface::Rotations),
        (start.settings.moves_a_deadline(), Surface::Deadlines),
        (start.settings.busy_ms.is_some(), Surface::BusyTimeout),
    ];
    asked
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, surface)| surface)
        .collect()
}

/// A key beside a verb that has no use for it is a misunderstanding, and is refused.
fn refuse_strangers(verb: &str, written: &StepWritten) -> Result<(), String> {
    let belongs: &[&str] = match verb {
        "start" => &["as", "principal", "failpoint", "rotate", "settings"],
        "observe" => &["when", "doubled"],
        "write" => &[
            "as",
            "on",
            "from",
            "of",
            "rounds",
            "changed",
            "marker",
            "mode",
            "state",
            "inputs",
            "capabilities",
            "fault",
        ],
        "send" => &["as", "on"],
        "status" => &["as", "on", "only"],
        "release" | "reconcile" => &["as", "only"],
        "hold" => &["only"],
        _ => &[],
    };
    let present = [
        ("as", written.name.is_some()),
        ("on", written.on.is_some()),
        ("only", written.only.is_some()),
        ("when", written.when.is_some()),
        ("doubled", written.doubled.is_some()),
        ("from", written.from.is_some()),
        ("of", written.of.is_some()),
        ("rounds", written.rounds.is_some()),
        ("changed", written.changed.is_some()),
        ("marker", written.marker.is_some()),
        ("mode", written.mode.is_some()),
        ("state", written.state.is_some()),
        ("inputs", written.inputs.is_some()),
        ("capabilities", written.capabilities.is_some()),
        ("fault", written.fault.is_some()),
        ("principal", written.principal.is_some()),
        ("failpoint", written.failpoint.is_some()),
        ("rotate", written.rotate.is_some()),
        ("settings", written.settings.is_some()),
    ];
    match present.iter().find(|(key, set)| *set && !belongs.contains(key)) {
        Some((key, _)) => Err(format!("`{key}` does not belong to a `{verb}` step")),
        None => Ok(()),
    }
}
