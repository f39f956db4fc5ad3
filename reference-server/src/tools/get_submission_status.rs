//! `get_submission_status`: what became of a submission, for a client that lost its reply and so has no `execution_id`.
//!
//! Read-only. It finds by the identity of the submission, (namespace, tool, key), and tells the principal who submitted; everybody
//! else hears what they would hear of a key that was never used.

use serde_json::{Value, json};

use super::arguments;
use super::observation::{self, Known, Settled};
use super::submit_issue::{self, DEFAULT_NAMESPACE, KEY, KEY_BYTES_MAX, NAMESPACE};
use super::{Answer, Call, CallError, Description, Tools};
use crate::execution::event::State;
use crate::execution::messages::{Ask, Identity, Snapshot, Told};
use crate::ledger::messages::LedgerError;

/// The name by which the tool is called.
pub const NAME: &str = "get_submission_status";

/// What the tool says of itself.
pub fn description() -> Description {
    let name = json!({ "type": "string", "minLength": 1, "maxLength": KEY_BYTES_MAX });
    Description {
        name: NAME,
        title: "Status of a submission",
        text: "Says what became of a submit_issue by its idempotency_key and namespace; with the execution_id, once it was accepted, \
               and the stored result, once it is completed. unknown is no proof that nothing happened, and never authorises a \
               fresh write.",
        input_schema: json!({
            "type": "object",
            "properties": { KEY: name, NAMESPACE: name },
            "required": [KEY],
            "additionalProperties": false
        }),
        output_schema: output_schema(),
        read_only: true,
        idempotent: true,
    }
}

fn output_schema() -> Value {
    let mut schema = observation::schema();
    schema["properties"]["scope"]["properties"]["namespace"] = json!({ "type": "string" });
    schema["properties"]["execution_id"] = json!({ "type": ["string", "null"] });
    schema["properties"]["execution_state"] = json!({
        "type": ["string", "null"],
        "description": "The state that get_execution gives. A failed or cancelled execution leaves the operation unknown."
    });
    schema
}

/// Reads the status.
pub(super) async fn call(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    arguments::refuse_unknown(&call.arguments, &[KEY, NAMESPACE])?;
    let key = arguments::text(&call.arguments, KEY, KEY_BYTES_MAX)?;
    let namespace = match call.arguments.get(NAMESPACE) {
        None => DEFAULT_NAMESPACE,
        Some(_) => arguments::text(&call.arguments, NAMESPACE, KEY_BYTES_MAX)?,
    };
    let identity = Identity {
        namespace: namespace.to_owned(),
        tool: submit_issue::NAME,
        key: key.to_owned(),
    };
    let (found, observed_at_s) = match tools.ledger.ask(Ask::Find(identity)).await {
        Ok(Told::Found { found, observed_at_s }) => (found, observed_at_s),
        Ok(Told::Execution { .. } | Told::Conflict | Told::RetentionExpired | Told::Unknown) => {
            return Err(CallError::Internal("a question was told like a submission".to_owned()));
        }
        Err(LedgerError::Busy) => return Ok(observation::busy(key)),
        Err(error) => return Err(CallError::Internal(error.to_string())),
    };
    let mut told = observation::told(
        &tools.settings,
        Known {
            operation_id: key,
            scope: json!({ "namespace": namespace, "tool": submit_issue::NAME }),
            settled: found.as_ref().and_then(settled),
            observed_at_s,
        },
    );
    told["execution_id"] = json!(found.as_ref().map(|found| &found.execution_id));
    told["execution_state"] = json!(found.as_ref().map(|found| found.state.name()));
    Ok(Answer::Done(told))
}

/// A failure and a cancellation settle nothing: an attempt may have acted outside of the store before it ended.
fn settled(found: &Snapshot) -> Option<Settled> {
    let (state, result) = match found.state {
        State::Completed => ("applied", found.result.clone()?),
        State::Submitted | State::Ready | State::Running | State::Interrupted | State::Failing | State::RetryWait => {
            ("in_progress", Value::Null)
        }
        State::Failed | State::Cancelled => return None,
    };
    Some(Settled {
        state,
        effect_ids: found.issue_id.into_iter().collect(),
        result,
    })
}
