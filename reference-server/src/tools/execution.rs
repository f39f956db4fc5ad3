//! `get_execution` and `cancel_execution`: how an execution stands, and its end before its time; and what they share with the
//! submission. They must not tell one principal that another one's execution exists.

use serde_json::{Value, json};

use super::arguments;
use super::{Answer, Call, CallError, Description, Tools};
use crate::execution::event::State;
use crate::execution::messages::{Ask, Told};
use crate::ledger::messages::LedgerError;

/// The name by which looking is called.
pub const GET: &str = "get_execution";
/// The name by which cancelling is called.
pub const CANCEL: &str = "cancel_execution";
/// The longest name of an execution, in bytes.
const EXECUTION_ID_BYTES_MAX: usize = 200;

/// What `get_execution` says of itself.
pub fn get_description() -> Description {
    Description {
        name: GET,
        title: "State of an execution",
        text: "Says how a submitted execution stands; with its result once it is completed, or why it failed.",
        read_only: true,
        ..cancel_description()
    }
}

/// What `cancel_execution` says of itself.
pub fn cancel_description() -> Description {
    Description {
        name: CANCEL,
        title: "Cancel an execution",
        text: "Cancels an execution for good, also while a worker holds it: what the worker then completes is refused. What has \
               ended stays as it ended, and its state is the answer.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "execution_id": { "type": "string", "minLength": 1, "maxLength": EXECUTION_ID_BYTES_MAX }
            },
            "required": ["execution_id"],
            "additionalProperties": false
        }),
        output_schema: output_schema(false),
        read_only: false,
        idempotent: true,
    }
}

/// The schema of what the three tools give.
pub(super) fn output_schema(replays: bool) -> Value {
    let states = [
        State::Ready,
        State::Running,
        State::RetryWait,
        State::Completed,
        State::Failed,
        State::Cancelled,
    ];
    let mut required = vec!["execution_id", "state", "attempts", "result", "error"];
    let (named_by, mut replayed) = if replays {
        required.push("replayed");
        ("idempotency_key", json!({ "type": "boolean" }))
    } else {
        ("execution_id", json!({ "type": "boolean" }))
    };
    replayed["description"] = json!("Whether this key was submitted before.");
    json!({
        "type": "object",
        "properties": {
            "execution_id": { "type": "string" },
            "idempotency_key": { "type": "string" },
            "state": { "type": "string", "enum": states.map(State::name) },
            "attempts": { "type": "integer" },
            "result": {
                "type": ["object", "null"],
                "properties": {
                    "execution_id": { "type": "string" }, "issue_id": { "type": "integer" }, "receipt": { "type": "string" }
                }
            },
            "error": { "type": ["string", "null"] },
            "replayed": replayed,
            "reason": { "type": "string" },
            "message": { "type": "string" }
        },
        "oneOf": [{ "required": required }, { "required": [named_by, "reason", "message"] }]
    })
}

/// Looks.
pub(super) async fn get(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    let execution_id = execution_id(call)?;
    let ask = Ask::Observe {
        execution_id: execution_id.clone(),
    };
    told(tools, execution_id, ask).await
}

/// Cancels.
pub(super) async fn cancel(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    let execution_id = execution_id(call)?;
    let ask = Ask::Cancel {
        execution_id: execution_id.clone(),
    };
    told(tools, execution_id, ask).await
}

fn execution_id(call: &Call) -> Result<String, CallError> {
    arguments::refuse_unknown(&call.arguments, &["execution_id"])?;
    let text = arguments::text(&call.arguments, "execution_id", EXECUTION_ID_BYTES_MAX)?;
    Ok(text.to_owned())
}

async fn told(tools: &Tools, execution_id: String, ask: Ask) -> Result<Answer, CallError> {
    let refused = |reason: &str, message: &str| {
        Answer::Refused(json!({ "execution_id": execution_id, "reason": reason, "message": message }))
    };
    match tools.ledger.ask(ask).await {
        Ok(Told::Execution { snapshot, .. }) => Ok(Answer::Done(snapshot.to_value())),
        Ok(Told::Unknown) => Ok(refused(
            "execution_unknown",
            "there is no such execution; get_submission_status finds one by the key that it was submitted under",
        )),
        Ok(Told::Conflict | Told::RetentionExpired | Told::Found { .. }) => Err(CallError::Internal(
            "an execution was told like a submission".to_owned(),
        )),
        Err(error) => fail(&error, refused),
    }
}

/// What a caller hears when the store gave no answer.
pub(super) fn fail(error: &LedgerError, refused: impl FnOnce(&str, &str) -> Answer) -> Result<Answer, CallError> {
    match error {
        LedgerError::Busy => Ok(refused(
            "ledger_busy",
            "another writer holds the store; nothing was written, repeat the same call",
        )),
        LedgerError::EffectFailed
        | LedgerError::SettledMeanwhile
        | LedgerError::Clock(_)
        | LedgerError::Sqlite(_)
        | LedgerError::StoredResult(_)
        | LedgerError::Unworkable { .. }
        | LedgerError::NoAnswer => Err(CallError::Internal(error.to_string())),
    }
}
