//! The sealed `requestState` of a Multi Round-Trip Request: what a first round promises and a continuation must bring back.
//!
//! It must not trust a byte that its own key did not seal, and must not use the SDK codec's time to live, which reads the system
//! clock: the deadlines are sealed inside the payload and compared with the injected clock. Nothing is stored for a first round.

use rmcp::model::RequestStateCodec;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::defect::{Defect, Planted};

/// A settings value that cannot seal request state.
#[derive(Debug, Error)]
#[error("a request state key has {} bytes or more", RequestStateCodec::MIN_KEY_LENGTH)]
pub struct StateKeyTooShort;

/// A request state that a continuation must not be built on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StateRefusal {
    /// There is none.
    #[error("requestState is missing; call the tool without inputResponses to get one")]
    Missing,
    /// It was not sealed by this server's key, or was changed on the way.
    #[error("requestState is not one that this server issued")]
    NotOurs,
    /// It was issued to someone else.
    #[error("requestState was issued to another principal")]
    OtherPrincipal,
    /// It was issued for another tool, or another version of it.
    #[error("requestState was issued for another tool")]
    OtherTool,
    /// It was issued for another operation.
    #[error("requestState was issued for another operation_id")]
    OtherOperation,
    /// Its time has passed.
    #[error("requestState has expired; start the operation over")]
    Expired,
}

/// What is sealed. Whoever holds a request state can read it: it is signed, not encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestState {
    /// To whom it was issued.
    pub principal: String,
    /// For which tool.
    pub tool_id: String,
    /// For which version of the tool's contract.
    pub tool_version: String,
    /// For which operation.
    pub operation_id: String,
    /// SHA-256 of the canonical arguments of the first round, in lower-case hex.
    pub arguments_digest: String,
    /// When it was issued, in Unix seconds.
    pub issued_at_s: i64,
    /// The first second at which it is no longer accepted.
    pub expires_at_s: i64,
    /// The first second at which the caller's consent is no longer good.
    pub authority_until_s: i64,
    /// Makes every issuance different from every other one.
    pub nonce: String,
}

impl RequestState {
    /// The payload as the JSON value that a fingerprint binds.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a structure of texts and integers is always JSON")
    }
}

/// Who continues what: the facts that a request state must agree with.
#[derive(Debug, Clone, Copy)]
pub struct Continuation<'a> {
    /// The configured principal.
    pub principal: &'a str,
    /// The tool that is called.
    pub tool_id: &'a str,
    /// Its contract's version.
    pub tool_version: &'a str,
    /// The `operation_id` argument.
    pub operation_id: &'a str,
    /// The defect that is planted, if any: some compare less.
    pub planted: Planted,
}

/// Seals request states and opens them again.
#[derive(Debug, Clone)]
pub struct StateSeal {
    codec: RequestStateCodec,
}

impl StateSeal {
    /// Takes the sealing key's bytes; fails when there are fewer than 32.
    pub fn new(key: Vec<u8>) -> Result<Self, StateKeyTooShort> {
        let codec = RequestStateCodec::try_new(key).map_err(|_too_short| StateKeyTooShort)?;
        Ok(Self { codec })
    }

    /// The opaque text that goes to the client.
    pub fn seal(&self, state: &RequestState) -> String {
        self.codec
            .seal_json(state)
            .expect("a structure of texts and integers is always JSON")
    }

    /// Opens `sealed` and checks, in this order: presence, integrity, principal, tool, operation, time. `now_s` is Unix seconds.
    pub fn open(
        &self,
        sealed: Option<&str>,
        continuation: &Continuation<'_>,
        now_s: i64,
    ) -> Result<RequestState, StateRefusal> {
        let sealed = sealed.ok_or(StateRefusal::Missing)?;
        let state: RequestState = self.codec.open_json(sealed).map_err(|_reason| StateRefusal::NotOurs)?;
        let planted = continuation.planted;
        if state.principal != continuation.principal && !planted.is(Defect::UnboundPrincipal) {
            return Err(StateRefusal::OtherPrincipal);
        }
        if state.tool_id != continuation.tool_id || state.tool_version != continuation.tool_version {
            return Err(StateRefusal::OtherTool);
        }
        if state.operation_id != continuation.operation_id && !planted.is(Defect::StateNotBoundToOperation) {
            return Err(StateRefusal::OtherOperation);
        }
        if now_s >= state.expires_at_s && !planted.is(Defect::NoStateTtl) {
            return Err(StateRefusal::Expired);
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: i64 = 1_790_035_200;
    const ASKED: Continuation<'_> = Continuation {
        principal: "alice",
        tool_id: "create_issue",
        tool_version: "1.0",
        operation_id: "op-1",
        planted: Planted(None),
    };

    fn seal() -> StateSeal {
        StateSeal::new(vec![7; 32]).unwrap()
    }

    fn state() -> RequestState {
        RequestState {
            principal: "alice".to_owned(),
            tool_id: "create_issue".to_owned(),
            tool_version: "1.0".to_owned(),
            operation_id: "op-1".to_owned(),
            arguments_digest: "00".to_owned(),
            issued_at_s: T0,
            expires_at_s: T0 + 600,
            authority_until_s: T0 + 300,
            nonce: "n".to_owned(),
        }
    }

    #[test]
    fn what_was_sealed_is_opened_until_its_time_is_over() {
        let sealed = seal().seal(&state());
        assert_eq!(seal().open(Some(&sealed), &ASKED, T0 + 599), Ok(state()));
        let late = seal().open(Some(&sealed), &ASKED, T0 + 600);
        assert_eq!(late, Err(StateRefusal::Expired));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let sealed = seal().seal(&state());
        for index in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            let opened = seal().open(Some(&changed), &ASKED, T0);
            assert_eq!(opened, Err(StateRefusal::NotOurs), "byte {index}");
        }
        for text in ["", "rs1", "rs1..", "nonsense"] {
            assert_eq!(seal().open(Some(text), &ASKED, T0), Err(StateRefusal::NotOurs));
        }
        let other_key = StateSeal::new(vec![8; 32]).unwrap();
        assert_eq!(other_key.open(Some(&sealed), &ASKED, T0), Err(StateRefusal::NotOurs));
    }

    /// Each row differs in its own fact and in all later ones, and is expired: only the order decides.
    #[test]
    fn the_first_difference_is_the_reason() {
        let rows = [
            (["bob", "other", "2.0", "op-2"], StateRefusal::OtherPrincipal),
            (["alice", "other", "1.0", "op-2"], StateRefusal::OtherTool),
            (["alice", "create_issue", "2.0", "op-2"], StateRefusal::OtherTool),
            (["alice", "create_issue", "1.0", "op-2"], StateRefusal::OtherOperation),
            (["alice", "create_issue", "1.0", "op-1"], StateRefusal::Expired),
        ];
        let sealed = seal().seal(&state());
        for ([principal, tool_id, tool_version, operation_id], expected) in rows {
            let asked = Continuation {
                principal,
                tool_id,
                tool_version,
                operation_id,
                planted: Planted(None),
            };
            assert_eq!(seal().open(Some(&sealed), &asked, T0 + 600), Err(expected));
        }
        assert_eq!(seal().open(None, &ASKED, T0 + 600), Err(StateRefusal::Missing));
    }

    #[test]
    fn a_short_key_is_refused() {
        assert!(StateSeal::new(vec![7; 31]).is_err());
    }
}
