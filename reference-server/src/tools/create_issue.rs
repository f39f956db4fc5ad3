//! `create_issue`: the first round asks for a body and stores nothing; the continuation writes, once.
//!
//! The order of checks is fixed: era, declared capability, arguments, request state, input, and then what the ledger decides. It must not write
//! before all of them have said yes.

use serde_json::{Map, Value, json};

use super::arguments::{self, BODY_BYTES_MAX, OPERATION_ID_BYTES_MAX, TITLE_BYTES_MAX};
use super::{Answer, Call, CallError, Description, InputRequest, Tools};
use crate::defect::Defect;
use crate::guard::decision::{Attempt, Refusal};
use crate::guard::fingerprint::{FingerprintRequest, digest, fingerprint};
use crate::guard::request_state::{Continuation, RequestState, StateRefusal};
use crate::ledger::messages::{LedgerError, Mode, Write, Written};

/// The name by which the tool is called.
pub const NAME: &str = "create_issue";

/// The key of the one input request, and the name of the one field of its form.
const BODY: &str = "body";

/// The arguments, read and checked.
struct Arguments<'a> {
    operation_id: &'a str,
    title: &'a str,
    mode: Mode,
}

/// What the user's response comes to.
enum Input<'a> {
    Missing,
    Body(&'a str),
    Refused(&'static str, &'static str),
}

/// What the tool says of itself.
pub fn description() -> Description {
    Description {
        name: NAME,
        title: "Create an issue",
        text: "Creates one issue. The first call asks for the body and writes nothing; calling again with the answer writes the \
               issue. Repeating that second call (same requestState, same inputResponses) returns the stored result and writes \
               nothing more.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "operation_id": {
                    "type": "string", "minLength": 1, "maxLength": OPERATION_ID_BYTES_MAX,
                    "description": "The identity of this write. A repeat of the same write uses the same identity."
                },
                "title": { "type": "string", "minLength": 1, "maxLength": TITLE_BYTES_MAX, "description": "The issue's title." },
                "mode": {
                    "type": "string", "enum": ["atomic", "partial"], "default": "atomic",
                    "description": "atomic: one transaction. partial: the issue commits first, then adding a watcher fails, and \
                                    so does the rollback; it shows how a partial outcome is recorded."
                }
            },
            "required": ["operation_id", "title"],
            "additionalProperties": false
        }),
        output_schema: output_schema(),
        read_only: false,
        // A first round repeated asks again, a continuation repeated is replayed: neither writes more.
        idempotent: true,
    }
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation_id": { "type": "string" },
            "state": { "type": "string", "enum": ["applied", "partial"] },
            "issue_id": { "type": "integer" },
            "receipt": { "type": "string", "description": "Random, made when the write was first done." },
            "replayed": { "type": "boolean", "description": "Whether this is the stored result of an earlier call." },
            "reason": { "type": "string", "description": "Why the operation was refused." },
            "message": { "type": "string" }
        },
        "oneOf": [
            { "required": ["operation_id", "state", "issue_id", "receipt", "replayed"] },
            { "required": ["operation_id", "reason", "message"] }
        ]
    })
}

/// Serves a first round or a continuation.
pub(super) async fn call(tools: &Tools, call: &Call) -> Result<Answer, CallError> {
    if !call.continues {
        return Err(CallError::Invalid {
            message: format!(
                "{NAME} asks for input in a second round, which needs protocol version 2026-07-28 or later"
            ),
            reason: Some("continuation_unsupported"),
        });
    }
    let planted = tools.settings.planted;
    if !call.shows_forms && !planted.is(Defect::AsksUndeclaredCapability) {
        return Err(CallError::FormsNotDeclared);
    }
    let arguments = read_arguments(&call.arguments)?;
    if call.request_state.is_none() && call.input_responses.is_none() {
        let state = issue_state(tools, call, &arguments)?;
        if planted.is(Defect::ReservesOnFirstRound) && !reserve(tools, &arguments).await? {
            return refuse(&arguments, Refusal::InProgress);
        }
        return Ok(ask(&arguments, tools.settings.state_seal.seal(&state)));
    }
    continue_with(tools, call, &arguments).await
}

fn read_arguments(given: &Map<String, Value>) -> Result<Arguments<'_>, CallError> {
    arguments::refuse_unknown(given, &["operation_id", "title", "mode"])?;
    Ok(Arguments {
        operation_id: arguments::text(given, "operation_id", OPERATION_ID_BYTES_MAX)?,
        title: arguments::text(given, "title", TITLE_BYTES_MAX)?,
        mode: arguments::choice(given, "mode", &[("atomic", Mode::Atomic), ("partial", Mode::Partial)])?,
    })
}

fn issue_state(tools: &Tools, call: &Call, arguments: &Arguments<'_>) -> Result<RequestState, CallError> {
    let now_s = tools.settings.clock.now_s()?;
    let limits = tools.settings.limits;
    Ok(RequestState {
        principal: tools.settings.principal.clone(),
        tool_id: NAME.to_owned(),
        tool_version: tools.settings.tool_version.clone(),
        operation_id: arguments.operation_id.to_owned(),
        arguments_digest: arguments_digest(call)?,
        issued_at_s: now_s,
        expires_at_s: now_s + limits.state_ttl_s,
        authority_until_s: now_s + limits.authority_s,
        nonce: uuid::Uuid::new_v4().to_string(),
    })
}

fn arguments_digest(call: &Call) -> Result<String, CallError> {
    digest(&Value::Object(call.arguments.clone())).map_err(|error| CallError::invalid(error.to_string()))
}

fn ask(arguments: &Arguments<'_>, request_state: String) -> Answer {
    Answer::AskInput(InputRequest {
        key: BODY,
        message: format!("What is the body of the issue {:?}?", arguments.title),
        schema: json!({
            "type": "object",
            "properties": {
                "body": { "type": "string", "title": "Body", "minLength": 1, "maxLength": BODY_BYTES_MAX }
            },
            "required": ["body"]
        }),
        request_state,
    })
}

async fn continue_with(tools: &Tools, call: &Call, arguments: &Arguments<'_>) -> Result<Answer, CallError> {
    let settings = &tools.settings;
    let planted = settings.planted;
    let continuation = Continuation {
        principal: &settings.principal,
        tool_id: NAME,
        tool_version: &settings.tool_version,
        operation_id: arguments.operation_id,
        planted,
    };
    let sealed = call.request_state.as_deref();
    let opened = settings.state_seal.open(sealed, &continuation, settings.clock.now_s()?);
    let state = match opened {
        Err(StateRefusal::NotOurs) if planted.is(Defect::UnsealedState) => issue_state(tools, call, arguments)?,
        Err(StateRefusal::Missing) if planted.is(Defect::AcceptsStrippedState) => issue_state(tools, call, arguments)?,
        opened => opened?,
    };
    let body = match read_input(call.input_responses.as_ref()) {
        Input::Body(body) => body,
        Input::Missing if planted.is(Defect::AppliesWithoutInput) => "",
        Input::Refused(..) if planted.is(Defect::AppliesDeclinedInput) => "",
        // The same state goes out again, so that asking twice moves no deadline.
        Input::Missing => return Ok(ask(arguments, sealed.unwrap_or_default().to_owned())),
        Input::Refused(reason, message) => return Ok(refused(arguments, reason, message)),
    };
    let attempt = Attempt {
        fingerprint: fingerprint_of(tools, call, &state, body)?,
        authority_until_s: if planted.is(Defect::NoAuthorityDeadline) {
            i64::MAX
        } else {
            state.authority_until_s
        },
        arguments_as_issued: state.arguments_digest == arguments_digest(call)?
            || planted.is(Defect::StateNotBoundToOperation),
    };
    let write = Write {
        operation_id: arguments.operation_id.to_owned(),
        tool: NAME,
        tool_version: settings.tool_version.clone(),
        attempt,
        title: arguments.title.to_owned(),
        body: body.to_owned(),
        mode: arguments.mode,
    };
    match tools.ledger.write(write).await {
        Ok(Written::Done { result, replayed }) => Ok(Answer::Done(with_replayed(result, replayed))),
        Ok(Written::Refused(Refusal::Conflict)) if planted.is(Defect::ConflictDisclosesResult) => {
            disclose(tools, arguments).await
        }
        Ok(Written::Refused(refusal)) => refuse(arguments, refusal),
        Err(error) => fail(arguments, &error),
    }
}

/// Reads the declared fields of the response, and no others: `action`, and `content.body` of an accepted form.
fn read_input(responses: Option<&Map<String, Value>>) -> Input<'_> {
    let Some(response) = responses.and_then(|responses| responses.get(BODY)) else {
        return Input::Missing;
    };
    match response.get("action").and_then(Value::as_str) {
        Some("accept") => {}
        Some("decline") => {
            return Input::Refused(
                "input_declined",
                "the user declined to give a body; nothing was written",
            );
        }
        Some("cancel") => {
            return Input::Refused(
                "input_cancelled",
                "the user dismissed the question; nothing was written",
            );
        }
        _ => {
            return Input::Refused(
                "input_invalid",
                "the response to body has no action accept, decline or cancel",
            );
        }
    }
    match response
        .get("content")
        .and_then(|content| content.get(BODY))
        .and_then(Value::as_str)
    {
        Some(body) if (1..=BODY_BYTES_MAX).contains(&body.len()) => Input::Body(body),
        Some(_) => Input::Refused(
            "input_invalid",
            "the body must have 1 to 65536 bytes; nothing was written",
        ),
        None => Input::Refused("input_invalid", "content.body must be a string; nothing was written"),
    }
}

fn fingerprint_of(tools: &Tools, call: &Call, state: &RequestState, body: &str) -> Result<String, CallError> {
    let settings = &tools.settings;
    let bound_unless = |defect, value| {
        if settings.planted.is(defect) {
            Value::Null
        } else {
            value
        }
    };
    let input_responses = json!({ BODY: { "action": "accept", "content": { BODY: body } } });
    let request = FingerprintRequest {
        principal: if settings.planted.is(Defect::UnboundPrincipal) {
            String::new()
        } else {
            settings.principal.clone()
        },
        tool_id: NAME.to_owned(),
        tool_version: settings.tool_version.clone(),
        arguments: Value::Object(call.arguments.clone()),
        continuation_state: bound_unless(Defect::UnboundState, state.to_value()),
        input_responses: bound_unless(Defect::UnboundInput, input_responses),
    };
    fingerprint(&settings.fingerprint_key, &request).map_err(|error| CallError::invalid(error.to_string()))
}

fn with_replayed(mut result: Value, replayed: bool) -> Value {
    if let Some(members) = result.as_object_mut() {
        members.insert("replayed".to_owned(), Value::Bool(replayed));
    }
    result
}

fn refuse(arguments: &Arguments<'_>, refusal: Refusal) -> Result<Answer, CallError> {
    let (reason, message) = match refusal {
        Refusal::Conflict => (
            "operation_conflict",
            "this operation_id was used by a different request; nothing was written",
        ),
        Refusal::InProgress => (
            "operation_in_progress",
            "this operation was begun and how it ended is not known; ask for its status",
        ),
        Refusal::NotApplied => (
            "operation_not_applied",
            "an operator has settled this operation as not applied, and its operation_id stays taken; nothing was written",
        ),
        Refusal::AuthorityExpired => (
            "operation_authority_expired",
            "the consent for this operation has expired; nothing was written, ask for its status",
        ),
        Refusal::RetentionExpired => (
            "operation_retention_expired",
            "the stored result is no longer replayed; nothing was written, ask for its status",
        ),
        Refusal::ArgumentsChanged => {
            return Err(CallError::Invalid {
                message: "requestState was issued for other arguments".to_owned(),
                reason: Some("request_state_invalid"),
            });
        }
    };
    Ok(refused(arguments, reason, message))
}

fn fail(arguments: &Arguments<'_>, error: &LedgerError) -> Result<Answer, CallError> {
    match error {
        LedgerError::Busy => Ok(refused(
            arguments,
            "ledger_busy",
            "another writer holds the ledger; nothing was written, repeat the same call",
        )),
        LedgerError::EffectFailed => Ok(refused(
            arguments,
            "effect_failed",
            "the effect failed and was rolled back; nothing was written, repeat the same call",
        )),
        LedgerError::SettledMeanwhile => refuse(arguments, Refusal::InProgress),
        LedgerError::Clock(_)
        | LedgerError::Sqlite(_)
        | LedgerError::StoredResult(_)
        | LedgerError::Unworkable { .. }
        | LedgerError::NoAnswer => Err(CallError::Internal(error.to_string())),
    }
}

/// The planted reservation of a first round; says whether the identity was free.
async fn reserve(tools: &Tools, arguments: &Arguments<'_>) -> Result<bool, CallError> {
    let reserved = tools.ledger.reserve(arguments.operation_id.to_owned(), NAME).await;
    reserved.map_err(|error| CallError::Internal(error.to_string()))
}

/// The planted refusal of a conflict, which tells what the operation's first request got.
async fn disclose(tools: &Tools, arguments: &Arguments<'_>) -> Result<Answer, CallError> {
    let mut answer = refuse(arguments, Refusal::Conflict)?;
    let observed = tools.ledger.observe(arguments.operation_id.to_owned(), NAME).await;
    let settled = observed.ok().and_then(|observation| observation.settled);
    if let (Answer::Refused(refusal), Some(settled)) = (&mut answer, settled) {
        refusal["result"] = settled.result;
    }
    Ok(answer)
}

/// A refusal tells only what the caller said, never what the ledger holds.
fn refused(arguments: &Arguments<'_>, reason: &str, message: &str) -> Answer {
    Answer::Refused(json!({ "operation_id": arguments.operation_id, "reason": reason, "message": message }))
}
