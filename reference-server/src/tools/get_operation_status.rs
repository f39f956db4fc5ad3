//! `get_operation_status`: what the ledger says of an operation, to the principal who asked for it.
//!
//! Read-only. It must not tell one principal that another one's operation exists, and must not say "not applied": a row that is
//! absent or unfinished leaves the operation unknown, and nothing it says authorises a fresh write.

use serde_json::{Value, json};

use super::arguments::{self, OPERATION_ID_BYTES_MAX};
use super::{Answer, Call, CallError, Description, Tools, create_issue};
use crate::clock::rfc3339;
use crate::defect::Defect;
use crate::guard::decision::RowState;
use crate::ledger::messages::LedgerError;

/// The name by which the tool is called.
pub const NAME: &str = "get_operation_status";

/// What the tool says of itself.
pub fn description() -> Description {
    Description {
        name: NAME,
        title: "Status of an operation",
        text: "Says what the ledger knows of an operation. applied and partial come with the stored result. unknown is no proof \
               that nothing happened, and never authorises a fresh write.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "operation_id": { "type": "string", "minLength": 1, "maxLength": OPERATION_ID_BYTES_MAX }
            },
            "required": ["operation_id"],
            "additionalProperties": false
        }),
        output_schema: output_schema(),
        read_only: true,
        idempotent: true,
    }
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation_id": { "type": "string" },
            "state": { "type": "string", "enum": ["unknown", "in_progress", "applied", "partial"] },
            "authoritative": { "type": "boolean", "description": "Whether the state settles what happened." },
            "scope": {
                "type": "object",
                "properties": {
                    "backend": { "type": "string" }, "principal": { "type": "string" }, "tool": { "type": "string" }
                },
                "required": ["backend", "principal", "tool"]
            },
            "observed_at": { "type": "string", "format": "date-time" },
            "effect_ids": { "type": "array", "items": { "type": "integer" } },
            "result": { "type": ["object", "null"] },
            "fresh_write_authorized": { "type": "boolean", "const": false },
            "reason": { "type": "string" },
            "message": { "type": "string" }
        },
        "oneOf": [
            { "required": [
                "operation_id", "state", "authoritative", "scope", "observed_at", "effect_ids", "result", "fresh_write_authorized"
            ] },
            { "required": ["operation_id", "reason", "message"] }
        ]
    })
}

/// Reads the status.
pub(super) async fn call(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    arguments::refuse_unknown(&call.arguments, &["operation_id"])?;
    let operation_id = arguments::text(&call.arguments, "operation_id", OPERATION_ID_BYTES_MAX)?;
    let observation = match tools.ledger.observe(operation_id.to_owned(), create_issue::NAME).await {
        Ok(observation) => observation,
        Err(LedgerError::Busy) => {
            let message = "the ledger is busy; ask again";
            return Ok(Answer::Refused(json!({
                "operation_id": operation_id, "reason": "ledger_busy", "message": message
            })));
        }
        Err(error) => return Err(CallError::Internal(error.to_string())),
    };
    let planted = tools.settings.planted;
    let settled = observation.settled.is_some();
    let (state, effect_ids, result) = match observation.settled {
        Some(settled) => (
            state_name(settled.state),
            settled.issue_id.into_iter().collect(),
            settled.result,
        ),
        None if planted.is(Defect::AbsentMeansNotApplied) => ("not_applied", Vec::new(), Value::Null),
        None => ("unknown", Vec::new(), Value::Null),
    };
    Ok(Answer::Done(json!({
        "operation_id": operation_id,
        "state": state,
        "authoritative": settled || planted.is(Defect::AbsentMeansNotApplied),
        "scope": {
            "backend": tools.settings.backend,
            "principal": tools.settings.principal,
            "tool": create_issue::NAME
        },
        "observed_at": rfc3339(observation.observed_at_s),
        "effect_ids": effect_ids,
        "result": result,
        "fresh_write_authorized": planted.is(Defect::StatusAuthorisesWrite)
    })))
}

fn state_name(state: RowState) -> &'static str {
    match state {
        RowState::InProgress => "in_progress",
        RowState::NotApplied => "unknown",
        RowState::Applied => "applied",
        RowState::Partial => "partial",
    }
}
