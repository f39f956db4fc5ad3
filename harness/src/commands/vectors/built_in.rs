//! The built-in implementation: the reference server's guard for fingerprints and continuations, the library's own rules for
//! recovery. It reads the same questions as an adapter.

use serde_json::Value;

use crate::vectors::{Set, recover};

/// What it is called.
pub(super) const NAME: &str = if cfg!(feature = "reference-server") {
    "built in: the reference server, and harness::recovery"
} else {
    "built in: harness::recovery"
};

const MISSING: &str = "this build carries no reference server to check; name an --adapter, or --set recovery";

/// Why this build has no answer to any question of a set, where that is so.
pub(super) fn missing(set: Set) -> Option<&'static str> {
    (set != Set::Recovery && !cfg!(feature = "reference-server")).then_some(MISSING)
}

/// The answer to one question, or why there is none.
pub(super) fn answer(set: Set, question: &Value) -> Result<Value, String> {
    match set {
        Set::Recovery => recover(question),
        Set::Fingerprint => carried::fingerprint_answer(question),
        Set::Continuation => carried::continuation_answer(question),
    }
}

#[cfg(not(feature = "reference-server"))]
mod carried {
    //! There is none: this build carries no reference server. [`super::missing`] says so before anything is asked.

    use serde_json::Value;

    pub(super) fn fingerprint_answer(_question: &Value) -> Result<Value, String> {
        Err(super::MISSING.to_owned())
    }

    pub(super) fn continuation_answer(_question: &Value) -> Result<Value, String> {
        Err(super::MISSING.to_owned())
    }
}

#[cfg(feature = "reference-server")]
mod carried {
    //! What the reference server's guard says.

    use reference_server::defect::Planted;
    use reference_server::guard::decision::{Attempt, Decision, KnownOperation, Refusal, RowState, decide};
    use reference_server::guard::fingerprint::{FingerprintError, FingerprintKey, FingerprintRequest, fingerprint};
    use reference_server::guard::request_state::{Continuation, StateSeal};
    use serde_json::{Value, json};

    use crate::recovery::{Action, Attempt as LostAttempt, StopReason, permitted};

    /// When the request comes, in Unix seconds; all deadlines of the vectors lie later.
    const NOW_S: i64 = 1_790_035_200;
    const LATER_S: i64 = NOW_S + 300;

    pub(super) fn fingerprint_answer(question: &Value) -> Result<Value, String> {
        let (hex, request) = (text(question, "key_hex")?, text(question, "request_json")?);
        let made = key(hex)?.and_then(|key| {
            let request = FingerprintRequest::from_json(request)?;
            Ok((request.canonical_text(&key)?, fingerprint(&key, &request)?))
        });
        Ok(match made {
            Ok((canonical, fingerprint)) => {
                json!({"name": question["name"], "canonical": canonical, "fingerprint": fingerprint})
            }
            Err(error) => json!({"name": question["name"], "refused": error.path()}),
        })
    }

    pub(super) fn continuation_answer(question: &Value) -> Result<Value, String> {
        let decision = match question["transport"].as_str() {
            Some(transport) => client_decision(transport)?,
            None => server_decision(question)?,
        };
        Ok(json!({"name": question["name"], "decision": decision}))
    }

    /// What the client does whose reply was lost: the recovery rules, on the observation that it has.
    fn client_decision(transport: &str) -> Result<&'static str, String> {
        let unknown = json!({
            "operation_id": "op-1", "state": "unknown", "authoritative": false, "scope": {},
            "observed_at": "2026-09-22T00:00:00Z", "effect_ids": [], "result": null, "fresh_write_authorized": false,
        });
        let observation = match transport {
            "lost_reply" => None,
            "lost_reply_missing_record" => Some(&unknown),
            other => return Err(format!("the transport {other:?} is not known")),
        };
        let attempt = LostAttempt {
            operation: "op-1",
            scope: &serde_json::Map::new(),
        };
        match permitted(&attempt, observation) {
            Action::StatusOnly => Ok("status_only"),
            Action::Stop {
                reason: StopReason::OutcomeUnknown,
            } => Ok("stop_unknown"),
            action @ (Action::ReturnStoredResult(_) | Action::Stop { .. }) => Err(format!(
                "the recovery rules say {}, for which there is no word",
                action.name()
            )),
        }
    }

    /// What the server does that has applied the base, and now gets the request.
    fn server_decision(question: &Value) -> Result<&'static str, String> {
        let key = key(text(question, "key_hex")?)?.map_err(|error| error.to_string())?;
        let of = |member: &str| -> Result<(FingerprintRequest, String), String> {
            let request: FingerprintRequest =
                serde_json::from_value(question[member].clone()).map_err(|error| format!("`{member}`: {error}"))?;
            let made = fingerprint(&key, &request).map_err(|error| error.to_string())?;
            Ok((request, made))
        };
        let ((_, base), (request, made)) = (of("base")?, of("request")?);
        if request.continuation_state.is_null() && !opens_nothing(&request)? {
            return Ok("reject");
        }
        let known = KnownOperation {
            fingerprint: base,
            state: RowState::Applied,
            replay_until_s: LATER_S,
        };
        let attempt = Attempt {
            fingerprint: made,
            authority_until_s: LATER_S,
            arguments_as_issued: true,
        };
        match decide(Some(&known), &attempt, NOW_S) {
            Decision::Replay => Ok("replay"),
            Decision::Refuse(Refusal::Conflict) => Ok("conflict"),
            decision @ (Decision::Apply | Decision::Refuse(_)) => {
                Err(format!("the guard says {decision:?}, for which there is no word"))
            }
        }
    }

    /// Whether the server takes a continuation without a request state.
    fn opens_nothing(request: &FingerprintRequest) -> Result<bool, String> {
        // No state was sealed, so any key of the right length does.
        let seal = StateSeal::new(vec![0; 32]).map_err(|error| error.to_string())?;
        let continuation = Continuation {
            principal: &request.principal,
            tool_id: &request.tool_id,
            tool_version: &request.tool_version,
            operation_id: request.arguments["operation_id"].as_str().unwrap_or_default(),
            planted: Planted::default(),
        };
        Ok(seal.open(None, &continuation, NOW_S).is_ok())
    }

    fn key(hex: &str) -> Result<Result<FingerprintKey, FingerprintError>, String> {
        let bytes = base16ct::mixed::decode_vec(hex).map_err(|_not_hex| "`key_hex` is not hex".to_owned())?;
        Ok(FingerprintKey::new(bytes))
    }

    fn text<'a>(question: &'a Value, member: &str) -> Result<&'a str, String> {
        question[member]
            .as_str()
            .ok_or_else(|| format!("`{member}` is no text"))
    }
}
