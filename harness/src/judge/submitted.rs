//! The facts of submitted writes: how many were accepted, how their execution stood in the end, what a cancellation was told,
//! and whether what an observation waited for was there.

use serde_json::{Map, Value, json};

use super::facts::Facts;
use super::steps::StepSlice;
use crate::case::Condition;
use crate::plan::Plan;
use crate::protocol::{Reply, ReplyKind};
use crate::readback::Tampering;
use crate::record::{Observation, OperationSeen};

impl Facts {
    /// Adds to the facts of a write what is known of what it submitted.
    pub(super) fn submitted(&mut self, plan: &Plan, slice: &StepSlice<'_>, operation: &str, name: &str) {
        let Some(planned) = plan.operations.get(operation) else {
            return;
        };
        let (Some(call), Some(submitted)) = (&planned.write, &planned.submitted) else {
            return;
        };
        let is_accepted = |request: &_| {
            matches!(
                slice.reply(*request, false).map(Reply::kind),
                Some(ReplyKind::Result(_))
            )
        };
        let accepted = slice
            .requests(&call.tool)
            .iter()
            .filter(|request| is_accepted(request))
            .count();
        let last_look = slice.requests(&submitted.tool).pop();
        let state = last_look.and_then(|look| state_in(slice.reply(look, false)?, &submitted.state));
        // Where nobody looked, the reply to the submission may tell it in the same place.
        let submission = slice.requests(&call.tool).pop().filter(|_| last_look.is_none());
        let state = state.or_else(|| state_in(slice.reply(submission?, false)?, &submitted.state));
        if let Some(facts) = self.tree.get_mut(name).and_then(Value::as_object_mut) {
            facts.insert("accepted".into(), accepted.into());
            if let Some(state) = state {
                facts.insert("execution".into(), json!({ "state": state }));
            }
        }
    }

    /// What a cancellation of an execution was told.
    pub(super) fn cancelled_execution(&mut self, plan: &Plan, slice: &StepSlice<'_>, operation: &str, name: &str) {
        let submitted = plan
            .operations
            .get(operation)
            .and_then(|planned| planned.submitted.as_ref());
        let Some((submitted, (tool, _))) = submitted.and_then(|s| Some((s, s.cancel.as_ref()?))) else {
            return;
        };
        let reply = slice
            .requests(tool)
            .pop()
            .and_then(|request| slice.reply(request, false));
        let mut facts = Map::new();
        facts.insert("outcome".into(), reply.map_or("unknown", Reply::outcome).into());
        if let Some(reply) = reply {
            facts.extend(state_in(reply, &submitted.state).map(|state| ("state".to_owned(), state.clone())));
            let refusal = reply.refusal(&plan.replies, &plan.contract);
            facts.extend(refusal.map(|refusal| ("refusal".to_owned(), refusal)));
        }
        self.tree.insert(name.to_owned(), facts.into());
    }

    /// Whether what an observation waited for was there when it was made.
    pub(super) fn reached(&mut self, observation: &Observation, until: Option<&Condition>) {
        let Some(until) = until else { return };
        let reading = observation
            .operations
            .get(&until.of)
            .and_then(|seen| seen.reading(&until.read));
        let label = &observation.label;
        match reading.and_then(|reading| reading.meets(until)) {
            Some(is_met) => {
                if let Some(facts) = self.tree.get_mut(label).and_then(Value::as_object_mut) {
                    facts.insert("reached".into(), is_met.into());
                }
            }
            None => self.not_observed(
                format!("{label}.reached"),
                reading
                    .and_then(crate::record::Reading::problem)
                    .unwrap_or("it was not read"),
            ),
        }
    }
}

/// What became of each statement that would change the event log, by its name, and the words of a refusal.
pub(super) fn tampering(
    facts: &mut Map<String, Value>,
    operation: &str,
    seen: &OperationSeen,
) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    for (name, tampered) in &seen.tampered {
        let word = match &tampered.outcome {
            Tampering::Refused(_) => "refused",
            Tampering::Changed(_) => "changed",
            Tampering::Nothing => "nothing",
            Tampering::Failed(reason) => {
                failed.push((format!("tampering.{name}.{operation}"), reason.clone()));
                continue;
            }
        };
        let tampering = facts.entry("tampering").or_insert_with(|| json!({}));
        tampering[name][operation] = word.into();
    }
    failed
}

fn state_in<'a>(reply: Reply<'a>, at: &str) -> Option<&'a Value> {
    let ReplyKind::Result(result) = reply.kind() else {
        return None;
    };
    result.pointer(at)
}
