//! The steps as written, one after the other, to the steps as resolved: which process lives, which operation was written,
//! which name is taken.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Mode, OperationUse};
use super::resolve::require_word;
use super::start::{Role, SECONDS_MAX, StartStep};
use super::step::{Condition, Fault, From, Inputs, ObserveStep, Rounds, SendStep, State, Step, When, WriteStep};
use super::strangers::refuse_strangers;
use super::surface::Surface;
use super::wanted::wanted;
use super::written::{Capabilities, StepWritten};

/// The first part of the paths that hold what the recovery rules conclude.
pub(super) const RECOVERY: &str = "recovery";

/// The only thing that can be held.
const STORE: &str = "store";

/// Most writes that one step stands for.
const COPIES_MAX: u32 = 1_000;

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
    alive: Vec<(String, Role)>,
    /// Those of them that are paused.
    paused: BTreeSet<String>,
    /// Operations whose gate is closed.
    gated: BTreeSet<String>,
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
            "pause" => self.pause(&object)?,
            "resume" => self.resume(&object)?,
            "open" => self.open(&object)?,
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
            "cancel_execution" => self.cancel_execution(&object, written)?,
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
        let settings = written.settings.unwrap_or_default();
        settings.require_lengths()?;
        let Some(role) = Role::ALL.into_iter().find(|role| role.name() == what) else {
            let names = Role::ALL.map(Role::name).join("\", \"");
            return Err(format!("start = \"{what}\": what can be started is \"{names}\""));
        };
        let process = self.new_name(written.name.as_deref().unwrap_or(what))?;
        self.alive.push((process.clone(), role));
        Ok(Step::Start(StartStep {
            role,
            process,
            principal: written.principal.clone(),
            failpoint: written.failpoint.clone(),
            rotate: written.rotate,
            settings,
        }))
    }

    fn end(&mut self, verb: &str, process: &str) -> Result<Step, String> {
        self.require_alive(verb, process)?;
        if verb == "stop" && self.paused.contains(process) {
            return Err(format!(
                "stop = \"{process}\": it is paused, and would not end; resume it before, or kill it"
            ));
        }
        self.ended(process);
        let process = process.to_owned();
        Ok(if verb == "stop" {
            Step::Stop { process }
        } else {
            Step::Kill { process }
        })
    }

    fn require_alive(&self, verb: &str, process: &str) -> Result<(), String> {
        if self.alive.iter().any(|(alive, _)| alive == process) {
            return Ok(());
        }
        Err(format!("{verb} = \"{process}\": no such process lives at this point"))
    }

    fn ended(&mut self, process: &str) {
        self.alive.retain(|(alive, _)| alive != process);
        self.paused.remove(process);
    }

    fn pause(&mut self, process: &str) -> Result<Step, String> {
        self.require_alive("pause", process)?;
        if !self.paused.insert(process.to_owned()) {
            return Err(format!("pause = \"{process}\": it is paused already"));
        }
        Ok(Step::Pause {
            process: process.to_owned(),
        })
    }

    fn resume(&mut self, process: &str) -> Result<Step, String> {
        if !self.paused.remove(process) {
            return Err(format!("resume = \"{process}\": no step before pauses it"));
        }
        Ok(Step::Resume {
            process: process.to_owned(),
        })
    }

    fn open(&mut self, operation: &str) -> Result<Step, String> {
        if !self.gated.remove(operation) {
            return Err(format!(
                "open = \"{operation}\": no closed gate holds it; its first write has gate = \"closed\""
            ));
        }
        Ok(Step::Open {
            operation: operation.to_owned(),
        })
    }

    fn observe(&mut self, label: &str, written: &StepWritten) -> Result<Step, String> {
        let when = written.when.unwrap_or(When::Now);
        if when == When::Quiet && !self.alive.is_empty() {
            return Err("when = \"quiet\" needs every process stopped or killed before".to_owned());
        }
        let on_a_copy = [
            ("doubled", written.doubled.is_some()),
            ("tampered", written.tampered.is_some()),
        ];
        if let Some((key, _)) = on_a_copy.iter().find(|(_, set)| *set && when == When::Now) {
            return Err(format!("`{key}` works on a frozen copy: add when = \"quiet\""));
        }
        if let Some(until) = &written.until {
            self.require_condition(until, when)?;
        }
        let label = self.new_name(label)?;
        Ok(Step::Observe(ObserveStep {
            label,
            when,
            doubled: written.doubled,
            until: written.until.clone(),
            tampered: written.tampered.unwrap_or_default(),
        }))
    }

    fn require_condition(&self, until: &Condition, when: When) -> Result<(), String> {
        if when == When::Quiet {
            return Err("`until` waits for something in the living store: leave out when = \"quiet\"".to_owned());
        }
        if Surface::of_reading(&until.read).is_none() {
            return Err(format!(
                "until: read = \"{}\": there is no [read.{0}] in a profile",
                until.read
            ));
        }
        if until.rows == 0 {
            return Err("until: rows = 0 is always there: wait for at least 1".to_owned());
        }
        self.require_written("until: of", &until.of)
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
        let copies = written.copies.unwrap_or(1);
        if copies == 0 || copies > COPIES_MAX {
            return Err(format!("copies = {copies}: it must be 1 to {COPIES_MAX}"));
        }
        if copies > 1 && (from != From::Start || rounds != Rounds::Submit) {
            return Err(
                "several `copies` are submitted: add rounds = \"submit\", and begin with the first write".to_owned(),
            );
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
            copies,
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
        if !first && (written.marker.is_some() || written.mode.is_some() || written.gate.is_some()) {
            return Err(format!(
                "marker, mode and gate belong to the first write of `{operation}`"
            ));
        }
        if first {
            let is_gated = written.gate.is_some();
            if is_gated {
                self.gated.insert(operation.to_owned());
            }
            let used = OperationUse {
                marked_as,
                mode: written.mode.unwrap_or_default(),
                is_gated,
            };
            self.operations.insert(operation.to_owned(), used);
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

    fn cancel_execution(&mut self, operation: &str, written: &StepWritten) -> Result<Step, String> {
        let process = self.on(written)?;
        self.require_written("cancel_execution", operation)?;
        let name = self.new_name(written.name.as_deref().unwrap_or("cancelled"))?;
        Ok(Step::CancelExecution {
            operation: operation.to_owned(),
            name,
            process,
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

    /// The server that a step is about: the one it names, or the only one that lives and is not paused.
    fn on(&self, written: &StepWritten) -> Result<String, String> {
        let servers = self
            .alive
            .iter()
            .filter(|(process, role)| *role == Role::Server && !self.paused.contains(process));
        let servers: Vec<&str> = servers.map(|(process, _)| process.as_str()).collect();
        match (written.on.as_deref(), servers.as_slice()) {
            (_, []) => Err("no server lives at this point: put a `start = \"server\"` step before it".to_owned()),
            (Some(on), servers) if !servers.contains(&on) => {
                Err(format!("on = \"{on}\": no such server lives at this point"))
            }
            (Some(on), _) => Ok(on.to_owned()),
            (None, [only]) => Ok((*only).to_owned()),
            (None, several) => Err(format!(
                "several servers live ({}): say which with `on`",
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
        for operation in self.operations.values() {
            match operation.mode {
                Mode::Atomic => {}
                Mode::Partial => drop(wanted.insert(Surface::WriteMode)),
                Mode::Failing => drop(wanted.insert(Surface::WriteFailing)),
            }
            if operation.is_gated {
                wanted.insert(Surface::WriteGate);
            }
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
