//! Submitted writes: the gate that holds an execution, several submissions at once, and the wait for what was submitted.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Driver, Going, requests};
use crate::case::WriteStep;
use crate::drive::clock::{self, Deadline};
use crate::drive::session::Answer;
use crate::drive::{DriveError, StageError};
use crate::plan::{Call, Operation};
use crate::protocol::{self, Reply, ReplyKind};
use crate::record::Body;
use crate::target::{EXECUTION, Identity, Values};

/// The longest pause between two looks at an execution, which begins with one look of the clock module and doubles.
const LOOKS_BETWEEN_MAX: u32 = 32;

impl Driver<'_> {
    /// Opens every gate that the case does not keep closed.
    pub(super) fn open_what_is_not_gated(&self) -> Result<(), StageError> {
        let operations = self.run.plan.operations.iter();
        for (name, _) in operations.filter(|(_, operation)| !operation.is_gated) {
            self.stage.open_gate(name)?;
        }
        Ok(())
    }

    /// Opens the gate of one operation.
    pub(super) fn open(&self, operation: &str) -> Result<Going, DriveError> {
        self.stage.open_gate(operation)?;
        Ok(Ok(()))
    }

    /// The call with the path of its gate in the place of what stands for it.
    pub(super) fn with_gate(&self, name: &str, operation: &Operation, call: &Call) -> Call {
        let gate = self.stage.gate(name).display().to_string();
        let mut call = call.clone();
        call.arguments = replaced(&call.arguments, &operation.gate(), &gate);
        call
    }

    /// Submits an operation several times, each time under an identity of its own. Nothing is waited for but the replies.
    pub(super) async fn submit_copies(&mut self, write: &WriteStep, call: &Call) -> Result<Going, DriveError> {
        if let Identity::Natural(at) = &self.run.plan.identity {
            return Ok(Err(format!(
                "the natural key at {at} is the same in all copies, so they are one write to this server; nothing can be said of \
                 {} of them",
                write.copies
            )));
        }
        let identity = self.run.plan.operations[&write.operation].identity.clone();
        for copy in 1..=write.copies {
            let own = format!("{identity}-{copy}");
            let call = Call {
                arguments: replaced(&call.arguments, &identity, &own),
                meta: replaced(&call.meta, &identity, &own),
                params: replaced(&call.params, &identity, &own),
                ..call.clone()
            };
            let id = self.scribe.new_id();
            let Some(session) = self.sessions.get_mut(&write.process) else {
                return Ok(Err("there is no server to write to".to_owned()));
            };
            let request = requests::first(session.era(), id, &call, write.without_capabilities);
            let bound_ms = self.run.plan.bounds.reply_ms;
            let Answer::Reply(reply) = session.ask(self.scribe, &request, bound_ms).await? else {
                return Ok(Ok(()));
            };
            self.note_execution(&write.operation, &request, &reply);
        }
        Ok(Ok(()))
    }

    /// Remembers what names the execution that a submission began, or found; returns it.
    pub(super) fn note_execution(&mut self, operation: &str, request: &Value, reply: &Value) -> Option<Value> {
        let submitted = self.run.plan.operations[operation].submitted.as_ref()?;
        let Some(ReplyKind::Result(result)) = Reply::to(reply, &request["id"]).map(Reply::kind) else {
            return None;
        };
        let execution = result.pointer(&submitted.id)?.clone();
        self.executions.insert(operation.to_owned(), execution.clone());
        Some(execution)
    }

    /// Asks how an execution stands until it has ended.
    pub(super) async fn settle(
        &mut self,
        operation: &str,
        process: &str,
        request: &Value,
        reply: &Value,
    ) -> Result<Going, DriveError> {
        let execution = self.note_execution(operation, request, reply);
        let Some(submitted) = &self.run.plan.operations[operation].submitted else {
            return Ok(Ok(()));
        };
        if !matches!(
            Reply::to(reply, &request["id"]).map(Reply::kind),
            Some(ReplyKind::Result(_))
        ) {
            return Ok(Ok(()));
        }
        let Some(execution) = execution else {
            return Ok(Err(format!(
                "the submission was accepted, and its result has nothing at {}: correct [write.submitted] id",
                submitted.id
            )));
        };
        let arguments = filled(&submitted.arguments, &execution);
        let bounds = self.run.plan.bounds;
        let deadline = Deadline::after(Duration::from_millis(bounds.settled_ms));
        let mut looks_between = 1;
        loop {
            let id = self.scribe.new_id();
            let Some(session) = self.sessions.get_mut(process) else {
                return Ok(Ok(()));
            };
            let look = protocol::call_tool(session.era(), id, &submitted.tool, &arguments);
            let Answer::Reply(reply) = session.ask(self.scribe, &look, bounds.reply_ms).await? else {
                return Ok(Err(format!("`{}` was not answered", submitted.tool)));
            };
            let state = reply
                .pointer("/result")
                .and_then(|result| result.pointer(&submitted.state));
            let Some(state) = state.and_then(Value::as_str) else {
                return Ok(Err(format!(
                    "`{}` tells no state at {}: correct [write.submitted] state",
                    submitted.tool, submitted.state
                )));
            };
            if submitted.ended.iter().any(|ended| ended == state) {
                return Ok(Ok(()));
            }
            if deadline.has_passed() {
                let bound_ms = bounds.settled_ms;
                let what = "the end of the execution".to_owned();
                self.scribe.write(Some(process), Body::TimedOut { what, bound_ms })?;
                return Ok(Err(format!(
                    "its execution had not ended {bound_ms} ms after the submission: it was still `{state}`"
                )));
            }
            for _ in 0..looks_between {
                clock::pause().await;
            }
            looks_between = (looks_between * 2).min(LOOKS_BETWEEN_MAX);
        }
    }

    /// Asks for the end of an operation's execution.
    pub(super) async fn cancel_execution(&mut self, operation: &str, process: &str) -> Result<Going, DriveError> {
        let submitted = self.run.plan.operations[operation].submitted.as_ref();
        let cancel = submitted.and_then(|submitted| submitted.cancel.as_ref());
        let (Some((tool, arguments)), Some(execution)) = (cancel, self.executions.get(operation)) else {
            return Ok(Err("no submission was told what names its execution".to_owned()));
        };
        let arguments = filled(arguments, execution);
        let id = self.scribe.new_id();
        if let Some(session) = self.sessions.get_mut(process) {
            let request = protocol::call_tool(session.era(), id, tool, &arguments);
            session
                .ask(self.scribe, &request, self.run.plan.bounds.reply_ms)
                .await?;
        }
        Ok(Ok(()))
    }
}

/// The arguments with what names the execution: as it came where it stands alone, else as text.
fn filled(template: &Map<String, Value>, execution: &Value) -> Map<String, Value> {
    let alone = format!("{{{EXECUTION}}}");
    let text = execution.as_str().map_or_else(|| execution.to_string(), str::to_owned);
    let values = Values::default().with(EXECUTION, text);
    let fill = |value: &Value| {
        if value.as_str() == Some(&alone) {
            return execution.clone();
        }
        values.fill_json(value).unwrap_or_else(|_| value.clone())
    };
    template.iter().map(|(key, value)| (key.clone(), fill(value))).collect()
}

/// The members with one text in the place of another, in every string.
fn replaced(members: &Map<String, Value>, from: &str, to: &str) -> Map<String, Value> {
    members
        .iter()
        .map(|(key, value)| (key.clone(), replaced_in(value, from, to)))
        .collect()
}

fn replaced_in(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) => text.replace(from, to).into(),
        Value::Array(items) => items.iter().map(|item| replaced_in(item, from, to)).collect(),
        Value::Object(members) => replaced(members, from, to).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn what_names_an_execution_keeps_its_type_where_it_stands_alone() {
        let template = object(&json!({"id": "{execution}", "path": "runs/{execution}", "n": 1}));
        let with = |execution: Value| Value::from(filled(&template, &execution));
        assert_eq!(with(json!(7)), json!({"id": 7, "path": "runs/7", "n": 1}));
        assert_eq!(with(json!("e-7")), json!({"id": "e-7", "path": "runs/e-7", "n": 1}));
    }

    #[test]
    fn an_identity_is_replaced_wherever_it_stands() {
        let members = object(&json!({"key": "op-1", "deep": {"list": ["x-op-1", 3]}}));
        assert_eq!(
            Value::from(replaced(&members, "op-1", "op-1-2")),
            json!({"key": "op-1-2", "deep": {"list": ["x-op-1-2", 3]}})
        );
    }
}
