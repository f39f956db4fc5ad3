//! Writes in a script: the first of an operation and those that repeat it, copies, gates.

use super::Script;
use crate::case::definition::OperationUse;
use crate::case::resolve::require_word;
use crate::case::step::{Fault, From, Inputs, Rounds, SendStep, State, Step, Until, WriteStep};
use crate::case::written::{Capabilities, StepWritten};

/// Most writes that one step stands for.
const COPIES_MAX: u32 = 1_000;

impl Script {
    pub(super) fn write(&mut self, operation: &str, written: &StepWritten) -> Result<WriteStep, String> {
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
        let copies = copies(written, from, rounds)?;
        if copies > 1 && !first {
            return Err(format!(
                "copies = {copies}: {operation} was written before, and a copy of it is nobody's repeat; write another operation"
            ));
        }
        let fault = written.fault.as_ref().map(|fault| Fault {
            at: fault.at,
            until: fault.withhold_reply_until,
            then: fault.then,
        });
        if fault.is_some() && rounds != Rounds::All {
            return Err("a fault has its own place in the write: leave out `rounds`".to_owned());
        }
        self.refuse_waiting_at_a_gate(operation, written, first, rounds, fault)?;
        if fault.is_some() {
            self.ended(&process);
        }
        let changed = written.changed.unwrap_or(false);
        let name = self.new_name(written.name.as_deref().unwrap_or(operation))?;
        if copies == 1 {
            self.writes.insert(name.clone());
        }
        if copies == 1 && !changed {
            self.repeatable.insert(operation.to_owned());
        }
        Ok(WriteStep {
            operation: operation.to_owned(),
            name,
            process,
            from,
            of,
            rounds,
            copies,
            changed,
            state,
            inputs,
            without_capabilities: written.capabilities == Some(Capabilities::None),
            fault,
        })
    }

    /// An execution that waits at a closed gate has neither an end nor an effect: who waits for one waits in vain.
    fn refuse_waiting_at_a_gate(
        &self,
        operation: &str,
        written: &StepWritten,
        first: bool,
        rounds: Rounds,
        fault: Option<Fault>,
    ) -> Result<(), String> {
        if first && written.gate.is_some() && rounds != Rounds::Submit {
            return Err(
                "gate = \"closed\": it holds the execution of a write that is only submitted; add rounds = \"submit\", or leave \
                 `gate` out"
                    .to_owned(),
            );
        }
        let waits = fault.map_or(rounds == Rounds::All, |fault| fault.until == Until::EffectVisible);
        if self.gated.contains_key(operation) && waits {
            return Err(format!(
                "write = \"{operation}\": it waits for an execution that the closed gate holds; put open = \"{operation}\" before \
                 it, or add rounds = \"submit\""
            ));
        }
        Ok(())
    }

    /// What a first write says of its operation; a later one says nothing of it.
    fn use_operation(&mut self, operation: &str, written: &StepWritten, first: bool) -> Result<(), String> {
        let marked_as = written.marker.as_deref().unwrap_or(operation).to_owned();
        if marked_as != operation && !self.operations.contains_key(&marked_as) {
            return Err(format!("marker = \"{marked_as}\": {}", self.not_written()));
        }
        if !first && (written.marker.is_some() || written.mode.is_some() || written.gate.is_some()) {
            return Err(format!(
                "marker, mode and gate belong to the first write of `{operation}`"
            ));
        }
        if first {
            let is_gated = written.gate.is_some();
            if is_gated {
                self.gated.insert(operation.to_owned(), self.steps.len());
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
            Some(of) if !self.writes.contains(&of) => Err(format!(
                "of = \"{of}\": no earlier step sends one write by that name; name one that does"
            )),
            None if from == From::Repeat => self.require_repeatable("write", operation).map(|()| None),
            of => Ok(of),
        }
    }

    /// Of copies there is no last request, and one with changed data is not sent again.
    fn require_repeatable(&self, verb: &str, operation: &str) -> Result<(), String> {
        if self.repeatable.contains(operation) {
            return Ok(());
        }
        Err(format!(
            "{verb} = \"{operation}\": only copies of it were written, or only changed data, so there is no last request to send \
             again; put a write of one before it, with from = \"start\""
        ))
    }

    /// Opens the gate of an operation.
    pub(super) fn open(&mut self, operation: &str) -> Result<Step, String> {
        if self.gated.remove(operation).is_none() {
            return Err(format!(
                "open = \"{operation}\": no closed gate holds it; add gate = \"closed\" to its first write, or leave this out"
            ));
        }
        Ok(Step::Open {
            operation: operation.to_owned(),
        })
    }

    pub(super) fn send(&mut self, operation: &str, written: &StepWritten) -> Result<Step, String> {
        let process = self.on(written)?;
        self.require_written("send", operation)?;
        self.require_repeatable("send", operation)?;
        let name = self.new_name(written.name.as_deref().unwrap_or(operation))?;
        self.sends.insert(name.clone());
        self.writes.insert(name.clone());
        Ok(Step::Send(SendStep {
            operation: operation.to_owned(),
            name,
            process,
        }))
    }
}

/// How many writes a step stands for.
fn copies(written: &StepWritten, from: From, rounds: Rounds) -> Result<u32, String> {
    let copies = written.copies.unwrap_or(1);
    if !(1..=COPIES_MAX).contains(&copies) {
        return Err(format!("copies = {copies}: it must be 1 to {COPIES_MAX}"));
    }
    if copies > 1 && (from != From::Start || rounds != Rounds::Submit) {
        return Err(
            "several `copies` are submitted: add rounds = \"submit\", and begin with the first write".to_owned(),
        );
    }
    Ok(copies)
}
