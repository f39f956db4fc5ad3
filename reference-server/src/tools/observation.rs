//! What a client is told of a write whose reply it may have lost: one shape, whichever tool writes.
//!
//! It must not say "not applied", and authorises no fresh write: what is absent or unfinished leaves the operation unknown.

use serde_json::{Value, json};

use super::Answer;
use crate::clock::rfc3339;
use crate::defect::Defect;
use crate::settings::Settings;

/// What the store knows of one identity.
pub(super) struct Known<'a> {
    /// The identity that was asked for.
    pub(super) operation_id: &'a str,
    /// What the identity is unique in, beside backend and principal; an object.
    pub(super) scope: Value,
    /// What is on record, if anything is that says how the write stands.
    pub(super) settled: Option<Settled>,
    /// When it was read, in Unix seconds.
    pub(super) observed_at_s: i64,
}

/// How a write stands by its record.
pub(super) struct Settled {
    /// One of the words of the schema.
    pub(super) state: &'static str,
    /// The effects that it has.
    pub(super) effect_ids: Vec<i64>,
    /// The stored result, or null.
    pub(super) result: Value,
}

/// The schema of an observation, refusals included.
pub(super) fn schema() -> Value {
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

/// The structured form of what is known.
pub(super) fn told(settings: &Settings, known: Known<'_>) -> Value {
    let planted = settings.planted;
    let settled = known.settled.is_some();
    let absent = || Settled {
        state: if planted.is(Defect::AbsentMeansNotApplied) {
            "not_applied"
        } else {
            "unknown"
        },
        effect_ids: Vec::new(),
        result: Value::Null,
    };
    let Settled {
        state,
        effect_ids,
        result,
    } = known.settled.unwrap_or_else(absent);
    let mut scope = json!({ "backend": settings.backend, "principal": settings.principal });
    if let (Some(scope), Value::Object(more)) = (scope.as_object_mut(), known.scope) {
        scope.extend(more);
    }
    json!({
        "operation_id": known.operation_id,
        "state": state,
        "authoritative": settled || planted.is(Defect::AbsentMeansNotApplied),
        "scope": scope,
        "observed_at": rfc3339(known.observed_at_s),
        "effect_ids": effect_ids,
        "result": result,
        "fresh_write_authorized": planted.is(Defect::StatusAuthorisesWrite)
    })
}

/// The answer when the store gave none.
pub(super) fn busy(operation_id: &str) -> Answer {
    let message = "the ledger is busy; ask again";
    Answer::Refused(json!({ "operation_id": operation_id, "reason": "ledger_busy", "message": message }))
}
