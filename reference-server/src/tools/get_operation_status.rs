//! `get_operation_status`: what the ledger says of an operation, to the principal who asked for it.
//!
//! Read-only. It must not tell one principal that another one's operation exists, and must not say "not applied": a row that is
//! absent or unfinished leaves the operation unknown, and nothing it says authorises a fresh write.

use serde_json::json;

use super::arguments::{self, OPERATION_ID_BYTES_MAX};
use super::observation::{self, Known, Settled};
use super::{Answer, Call, CallError, Description, Tools, create_issue};
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
        output_schema: observation::schema(),
        read_only: true,
        idempotent: true,
    }
}

/// Reads the status.
pub(super) async fn call(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    arguments::refuse_unknown(&call.arguments, &["operation_id"])?;
    let operation_id = arguments::text(&call.arguments, "operation_id", OPERATION_ID_BYTES_MAX)?;
    let observation = match tools.ledger.observe(operation_id.to_owned(), create_issue::NAME).await {
        Ok(observation) => observation,
        Err(LedgerError::Busy) => {
            return Ok(observation::busy(operation_id));
        }
        Err(error) => return Err(CallError::Internal(error.to_string())),
    };
    let settled = observation.settled.map(|settled| Settled {
        state: state_name(settled.state),
        effect_ids: settled.issue_id.into_iter().collect(),
        result: settled.result,
    });
    Ok(Answer::Done(observation::told(
        &tools.settings,
        Known {
            operation_id,
            scope: json!({ "tool": create_issue::NAME }),
            settled,
            observed_at_s: observation.observed_at_s,
        },
    )))
}

fn state_name(state: RowState) -> &'static str {
    match state {
        RowState::InProgress => "in_progress",
        RowState::NotApplied => "unknown",
        RowState::Applied => "applied",
        RowState::Partial => "partial",
    }
}
