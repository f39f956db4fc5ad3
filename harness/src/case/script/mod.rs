//! The steps as written, one after the other, to the steps as resolved: which process lives, which operation was written,
//! which name is taken.
//!
//! | file | for |
//! |---|---|
//! | `mod.rs` | what the steps share: names, operations, surfaces, and what must not be left at the end |
//! | `processes.rs` | processes: started, paused, resumed, ended; which of them a step is about |
//! | `write.rs` | writes: first and repeated, copies, gates |
//! | `observe.rs` | observations, and what they wait for |

mod observe;
mod processes;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Mode, OperationUse};
use super::resolve::{Refused, require_word};
use super::start::{Role, SECONDS_MAX};
use super::step::Step;
use super::strangers::refuse_strangers;
use super::surface::Surface;
use super::wanted::wanted;
use super::written::StepWritten;

/// The first part of the paths that hold what the recovery rules conclude.
pub(super) const RECOVERY: &str = "recovery";

/// The only thing that can be held.
const STORE: &str = "store";

/// The steps resolved so far, and what they have made true. Places of steps are counted from 0.
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
    /// Those of them that are paused, and the step that paused each.
    paused: BTreeMap<String, usize>,
    /// Operations whose gate is closed, and the step that closed it.
    gated: BTreeMap<String, usize>,
    /// The step that holds the store.
    held: Option<usize>,
    /// Names of steps that sent one write.
    writes: BTreeSet<String>,
    /// Operations of which one request can be said to be the last, so that it can be sent again.
    repeatable: BTreeSet<String>,
    /// Names of `send` steps.
    sends: BTreeSet<String>,
}

impl Script {
    /// Resolves one more step; where no place of its own is named, all of it is refused.
    pub(super) fn push(&mut self, written: &StepWritten) -> Result<(), Refused> {
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
        if what != STORE || self.held.is_some() {
            return Err(format!(
                "hold = \"{what}\": only the \"{STORE}\" can be held, and only once at a time"
            ));
        }
        if !self.steps.iter().any(|step| matches!(step, Step::Start(_))) {
            return Err(format!(
                "hold = \"{STORE}\": nothing was started before, so there may be no store to hold, and nobody who could be kept \
                 waiting; put a `start` step before it"
            ));
        }
        self.held = Some(self.steps.len());
        Ok(Step::Hold { only: written.only })
    }

    fn release(&mut self, what: &str, written: &StepWritten) -> Result<Step, String> {
        if what != STORE || self.held.take().is_none() {
            return Err(format!("release = \"{what}\": no step before holds it"));
        }
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

    fn require_written(&self, verb: &str, operation: &str) -> Result<(), String> {
        if self.operations.contains_key(operation) {
            return Ok(());
        }
        Err(format!("{verb} = \"{operation}\": {}", self.not_written()))
    }

    /// That no step before writes an operation, and which are written.
    fn not_written(&self) -> String {
        let written: Vec<&str> = self.operations.keys().map(String::as_str).collect();
        if written.is_empty() {
            return "no earlier step writes that operation, or any".to_owned();
        }
        format!(
            "no earlier step writes that operation; those that are written before are {}",
            written.join(", ")
        )
    }

    fn new_name(&mut self, name: &str) -> Result<String, String> {
        require_word("name", name)?;
        if name == RECOVERY {
            return Err(format!("the name `{RECOVERY}` is taken by the recovery facts"));
        }
        if self.names.contains(name) {
            return Err(format!(
                "the name `{name}` is used twice; give one of them another with `as`"
            ));
        }
        // Names are files of the evidence, and not every file system tells letter cases apart.
        if let Some(known) = self.names.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            return Err(format!(
                "the name `{name}` differs from `{known}` in letter case only; take another"
            ));
        }
        self.names.insert(name.to_owned());
        Ok(name.to_owned())
    }

    /// What must not be left as it is when a case ends; the step that made it so, counted from 0, and what to do.
    pub(super) fn require_end(&self) -> Result<(), (usize, String)> {
        let held = self.held.iter().map(|at| {
            let message = format!("no step gives it back: add release = \"{STORE}\"");
            (*at, format!("hold = \"{STORE}\": {message}"))
        });
        let paused = self.paused.iter().map(|(process, at)| {
            let message =
                format!("no step lets it go on or kills it: add resume = \"{process}\", or kill = \"{process}\"");
            (*at, format!("pause = \"{process}\": {message}"))
        });
        let gated = self.gated.iter().map(|(operation, at)| {
            let message =
                format!("no step opens the gate of `{operation}`: add open = \"{operation}\", or leave `gate` out");
            (*at, format!("gate = \"closed\": {message}"))
        });
        match held.chain(paused).chain(gated).min() {
            Some(left) => Err(left),
            None => Ok(()),
        }
    }

    /// A step that needs a surface must say so in the case's `needs`, or be conditional on it.
    pub(super) fn require_surfaces(&self, allowed: &BTreeSet<Surface>) -> Result<(), String> {
        let steps = self.steps.iter().enumerate();
        let all = steps.flat_map(|(at, step)| {
            let of_operation = self.wanted_by_operation(step);
            wanted(step)
                .into_iter()
                .chain(of_operation)
                .map(move |surface| (surface, at))
        });
        match all.filter(|(surface, _)| !allowed.contains(surface)).min() {
            Some((missing, at)) => Err(format!(
                "step {} ({}) uses `{}`: name it in `needs`, or in `uses` with `only` at the step",
                at + 1,
                self.steps[at].in_words(),
                missing.name()
            )),
            None => Ok(()),
        }
    }

    /// What the operation that a step writes asks of a target, which its first write says.
    fn wanted_by_operation(&self, step: &Step) -> Vec<Surface> {
        let Step::Write(write) = step else { return Vec::new() };
        let Some(operation) = self.operations.get(&write.operation) else {
            return Vec::new();
        };
        let mode = match operation.mode {
            Mode::Atomic => None,
            Mode::Partial => Some(Surface::WriteMode),
            Mode::Failing => Some(Surface::WriteFailing),
        };
        let gate = operation.is_gated.then_some(Surface::WriteGate);
        mode.into_iter().chain(gate).collect()
    }
}

fn advance(seconds: u64) -> Result<Step, String> {
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(format!("advance_s = {seconds}: it has 1 to {SECONDS_MAX} seconds"));
    }
    Ok(Step::Advance { seconds })
}
