//! The recovery rules of a client after a lost reply.
//!
//! After a lost reply the outcome is `unknown`, and `unknown` never authorises a fresh write. Only an authoritative
//! observation whose operation id and structured scope equal the attempt's, and whose content is consistent, may
//! settle it as applied; then the stored result is the answer. Anything else means stop: an absent or unfinished
//! operation row stays unknown, and never becomes "not applied".

use jiff::Timestamp;
use serde_json::{Map, Value};

/// What the client knows of its own attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt<'a> {
    /// The operation identity that it sent.
    pub operation: &'a str,
    /// The scope it acted in: backend, principal, tool, as the profile spells it.
    pub scope: &'a Map<String, Value>,
}

/// What the client may do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<'a> {
    /// Hand out this result; the write is done.
    ReturnStoredResult(&'a Value),
    /// Do nothing, least of all write again.
    Stop {
        /// Which rule was not met.
        reason: String,
    },
}

impl Action<'_> {
    /// The word that records and checks use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReturnStoredResult(_) => "return-stored-result",
            Self::Stop { .. } => "stop",
        }
    }
}

/// What a status observation permits after a lost reply. Strict: what is missing or odd means stop.
pub fn conclude<'a>(attempt: &Attempt<'_>, observation: &'a Value) -> Action<'a> {
    match settle(attempt, observation) {
        Ok(result) => Action::ReturnStoredResult(result),
        Err(reason) => Action::Stop { reason },
    }
}

fn settle<'a>(attempt: &Attempt<'_>, observation: &'a Value) -> Result<&'a Value, String> {
    let observation = observation.as_object().ok_or("the observation is no object")?;
    let member = |name: &str| observation.get(name).ok_or(format!("the observation has no `{name}`"));
    if member("operation_id")?.as_str() != Some(attempt.operation) {
        return Err("the observation is about another operation".to_owned());
    }
    if member("authoritative")? != &Value::Bool(true) {
        return Err("the observation is not authoritative".to_owned());
    }
    if member("fresh_write_authorized")? != &Value::Bool(false) {
        return Err("the observation offers a fresh write, which no observation may".to_owned());
    }
    if member("scope")?.as_object() != Some(attempt.scope) {
        return Err("the observation has another scope than the attempt".to_owned());
    }
    let observed_at = member("observed_at")?.as_str().unwrap_or_default();
    // A timestamp without a zone does not parse: it could mean any of 26 hours.
    if observed_at.parse::<Timestamp>().is_err() {
        return Err("`observed_at` is no timestamp with a zone".to_owned());
    }
    if member("state")?.as_str() != Some("applied") {
        return Err("the operation is not known to be applied".to_owned());
    }
    let effects = member("effect_ids")?.as_array().ok_or("`effect_ids` is no list")?;
    let [effect] = effects.as_slice() else {
        return Err(format!("applied means one effect id, and there are {}", effects.len()));
    };
    let result = member("result")?;
    let members = result.as_object().ok_or("there is no stored result")?;
    if !members.values().any(|value| value == effect) {
        return Err("the stored result does not name the effect".to_owned());
    }
    if members
        .get("operation_id")
        .is_some_and(|id| id.as_str() != Some(attempt.operation))
    {
        return Err("the stored result belongs to another operation".to_owned());
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn observation() -> Value {
        json!({
            "operation_id": "op-1", "state": "applied", "authoritative": true, "fresh_write_authorized": false,
            "scope": {"backend": "sqlite:x", "principal": "alice", "tool": "create_issue"},
            "observed_at": "2026-09-22T00:00:00Z", "effect_ids": [5],
            "result": {"operation_id": "op-1", "issue_id": 5, "receipt": "r", "state": "applied"},
        })
    }

    fn conclude_with(change: impl FnOnce(&mut Value)) -> String {
        let scope = observation()["scope"].as_object().cloned().expect("a scope");
        let attempt = Attempt {
            operation: "op-1",
            scope: &scope,
        };
        let mut observation = observation();
        change(&mut observation);
        match conclude(&attempt, &observation) {
            Action::ReturnStoredResult(result) => format!("return {}", result["issue_id"]),
            Action::Stop { reason } => reason,
        }
    }

    #[test]
    fn a_consistent_authoritative_observation_settles_it() {
        assert_eq!(conclude_with(|_| {}), "return 5");
    }

    #[test]
    fn everything_else_means_stop() {
        type Change = fn(&mut Value);
        let table: [(&str, Change); 14] = [
            ("about another operation", |o| o["operation_id"] = json!("op-2")),
            ("no `operation_id`", |o| {
                drop(o.as_object_mut().expect("object").remove("operation_id"));
            }),
            ("not authoritative", |o| o["authoritative"] = json!("true")),
            ("offers a fresh write", |o| o["fresh_write_authorized"] = json!(true)),
            ("another scope", |o| o["scope"]["principal"] = json!("bob")),
            ("another scope", |o| o["scope"]["extra"] = json!(1)),
            ("no timestamp with a zone", |o| {
                o["observed_at"] = json!("2026-09-22T00:00:00");
            }),
            ("not known to be applied", |o| o["state"] = json!("unknown")),
            ("not known to be applied", |o| o["state"] = json!("in_progress")),
            ("there are 0", |o| o["effect_ids"] = json!([])),
            ("there are 2", |o| o["effect_ids"] = json!([5, 5])),
            ("no stored result", |o| o["result"] = Value::Null),
            ("does not name the effect", |o| o["effect_ids"] = json!([6])),
            ("belongs to another operation", |o| {
                o["result"]["operation_id"] = json!("op-2");
            }),
        ];
        for (reason, change) in table {
            let stopped = conclude_with(change);
            assert!(stopped.contains(reason), "expected {reason:?}, got {stopped:?}");
        }
    }
}
