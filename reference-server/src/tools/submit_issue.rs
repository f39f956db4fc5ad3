//! `submit_issue`: writes a call down under the caller's key, and answers before anything is done about it.
//!
//! The identity is (namespace, tool, key), from `_meta`. It must not dispatch: workers find what is on disk.

use serde_json::{Map, Value, json};

use super::arguments::{self, BODY_BYTES_MAX, TITLE_BYTES_MAX};
use super::{Answer, Call, CallError, Description, Tools, execution};
use crate::execution::messages::{Ask, Identity, Submission, Told};
use crate::guard::canonical::canonical_json;

/// The name by which the tool is called.
pub const NAME: &str = "submit_issue";

/// The member of `_meta` that holds the key, and the one that holds its namespace.
pub(super) const KEY: &str = "idempotency_key";
pub(super) const NAMESPACE: &str = "namespace";
/// The namespace of a key that names none.
pub(super) const DEFAULT_NAMESPACE: &str = "default";
/// The longest key or namespace, in bytes.
pub(super) const KEY_BYTES_MAX: usize = 200;
/// The longest path of a gate, in bytes.
const GATE_BYTES_MAX: usize = 4_096;

/// What the tool says of itself.
pub fn description() -> Description {
    Description {
        name: NAME,
        title: "Submit an issue",
        text: "Writes an issue down for a worker to create, and returns its execution_id before that is done. The identity is \
               _meta.idempotency_key (with _meta.namespace): the same call again gets the same execution.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "minLength": 1, "maxLength": TITLE_BYTES_MAX, "description": "The issue's title." },
                "body": { "type": "string", "minLength": 1, "maxLength": BODY_BYTES_MAX, "description": "The issue's body." },
                "fail": { "type": "boolean", "default": false, "description": "Whether each attempt fails; for tests." },
                "gate": {
                    "type": "string", "minLength": 1, "maxLength": GATE_BYTES_MAX,
                    "description": "The absolute path of a file: a worker holds the execution until it exists; for tests."
                }
            },
            "required": ["title", "body"],
            "additionalProperties": false
        }),
        output_schema: execution::output_schema(true),
        read_only: false,
        idempotent: true,
    }
}

/// Submits.
pub(super) async fn call(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    let submission = Submission {
        identity: Identity {
            namespace: identity(&call.meta, NAMESPACE)?.unwrap_or(DEFAULT_NAMESPACE).to_owned(),
            tool: NAME,
            key: identity(&call.meta, KEY)?
                .ok_or_else(|| invalid("idempotency_key_missing", "give each write a key of its own"))?
                .to_owned(),
        },
        arguments: read_arguments(&call.arguments)?,
    };
    let key = submission.identity.key.clone();
    let refused = |reason: &str, message: &str| {
        Answer::Refused(json!({ "idempotency_key": key, "reason": reason, "message": message }))
    };
    match tools.ledger.ask(Ask::Submit(submission)).await {
        Ok(Told::Execution { snapshot, .. }) if call.takes_tasks => Ok(Answer::Task(snapshot)),
        Ok(Told::Execution { snapshot, replayed }) => {
            let mut told = snapshot.to_value();
            told["replayed"] = Value::Bool(replayed);
            Ok(Answer::Done(told))
        }
        Ok(Told::Conflict) => Ok(refused(
            "idempotency_conflict",
            "this key was used for a different request; nothing was written",
        )),
        Ok(Told::RetentionExpired) => Ok(refused(
            "execution_retention_expired",
            "this request has ended, and its result is no longer replayed; nothing was written",
        )),
        Ok(Told::Unknown | Told::Found { .. }) => Err(CallError::Internal("a submission has no execution".to_owned())),
        Err(error) => execution::fail(&error, refused),
    }
}

/// The member `name` of `_meta`: a printable text, if it is there.
fn identity<'a>(meta: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, CallError> {
    let Some(value) = meta.get(name) else { return Ok(None) };
    let text = value.as_str().filter(|text| {
        let fits = (1..=KEY_BYTES_MAX).contains(&text.len());
        fits && !text.chars().any(char::is_control) && !text.trim().is_empty()
    });
    let wrong = || {
        invalid(
            "idempotency_key_invalid",
            &format!("{name} must be printable text of 1 to {KEY_BYTES_MAX} bytes"),
        )
    };
    text.map(Some).ok_or_else(wrong)
}

fn invalid(reason: &'static str, words: &str) -> CallError {
    CallError::Invalid {
        message: format!(
            "{NAME} takes its identity from _meta.{KEY} and _meta.{NAMESPACE}: {words}; nothing was written"
        ),
        reason: Some(reason),
    }
}

/// The arguments, read and checked, in the canonical form that a repeat must equal: what was left out stands there too.
fn read_arguments(given: &Map<String, Value>) -> Result<String, CallError> {
    arguments::refuse_unknown(given, &["title", "body", "fail", "gate"])?;
    let title = arguments::text(given, "title", TITLE_BYTES_MAX)?;
    let body = given.get("body").and_then(Value::as_str);
    let body = body.filter(|body| (1..=BODY_BYTES_MAX).contains(&body.len()));
    let body = body
        .ok_or_else(|| CallError::invalid(format!("argument body must be a string of 1 to {BODY_BYTES_MAX} bytes")))?;
    let fail = given.get("fail").unwrap_or(&Value::Bool(false));
    let fail = fail
        .as_bool()
        .ok_or_else(|| CallError::invalid("argument fail must be true or false"))?;
    let gate = match given.get("gate") {
        None => None,
        Some(_) => Some(arguments::text(given, "gate", GATE_BYTES_MAX)?),
    };
    if gate.is_some_and(|gate| !gate.starts_with('/')) {
        return Err(CallError::invalid("argument gate must be an absolute path"));
    }
    canonical_json(&json!({ "title": title, "body": body, "fail": fail, "gate": gate }))
        .map_err(|error| CallError::invalid(error.to_string()))
}
