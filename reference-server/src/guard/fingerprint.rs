//! The fingerprint of an operation: what must be equal for a request to count as a repeat of an earlier one.
//!
//! It must not read a clock, a store or the environment. A fingerprint reveals to its reader that two inputs were equal; it
//! authenticates nobody, and it is no secret.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::canonical::{CanonicalError, canonical_json};

/// The shortest key that is accepted, in bytes.
pub const KEY_BYTES_MIN: usize = 32;

/// A request that has no fingerprint, or a key that must not make one.
#[derive(Debug, Error)]
pub enum FingerprintError {
    /// The key is shorter than [`KEY_BYTES_MIN`].
    #[error("key: {bytes} bytes are too few; a fingerprint key has {KEY_BYTES_MIN} bytes or more")]
    KeyTooShort {
        /// How long the refused key was.
        bytes: usize,
    },
    /// Some number has no canonical form.
    #[error(transparent)]
    NotCanonical(#[from] CanonicalError),
    /// The text is not JSON, or not a fingerprint request.
    #[error("$: not a fingerprint request: {0}")]
    NotARequest(#[from] serde_json::Error),
}

impl FingerprintError {
    /// The place that the error is about: a path from the root `$` of the request, or `key`.
    pub fn path(&self) -> &str {
        match self {
            Self::KeyTooShort { .. } => "key",
            Self::NotCanonical(error) => &error.path,
            Self::NotARequest(_) => "$",
        }
    }
}

/// A key for fingerprints. Its bytes are shown nowhere, not even by `Debug`.
#[derive(Clone)]
pub struct FingerprintKey(Vec<u8>);

impl FingerprintKey {
    /// Takes the key's bytes; fails when there are fewer than [`KEY_BYTES_MIN`].
    pub fn new(bytes: Vec<u8>) -> Result<Self, FingerprintError> {
        if bytes.len() < KEY_BYTES_MIN {
            return Err(FingerprintError::KeyTooShort { bytes: bytes.len() });
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FingerprintKey(hidden)")
    }
}

/// Everything that a fingerprint binds. Unknown members are refused, so that nothing is believed to be bound that is not.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FingerprintRequest {
    /// Who asks.
    pub principal: String,
    /// Which tool is asked.
    pub tool_id: String,
    /// Which version of that tool's contract.
    pub tool_version: String,
    /// The arguments as they were received.
    pub arguments: Value,
    /// The verified continuation state (the opened payload, not its sealed form), or null.
    pub continuation_state: Value,
    /// The declared input responses, or null.
    pub input_responses: Value,
}

impl FingerprintRequest {
    /// Reads a request from JSON text. Of duplicate object keys the last wins; an unpaired surrogate, a number beyond the range of
    /// a double and text that is not a request are [`FingerprintError::NotARequest`].
    pub fn from_json(text: &str) -> Result<Self, FingerprintError> {
        // By way of a value: read as the structure itself, a member given twice would be an error.
        let value: Value = serde_json::from_str(text)?;
        Ok(serde_json::from_value(value)?)
    }

    /// The canonical text whose SHA-256 is the fingerprint. State and input responses appear in it as keyed digests only.
    pub fn canonical_text(&self, key: &FingerprintKey) -> Result<String, FingerprintError> {
        // The whole request is checked first, so that an error names its place from the root.
        canonical_json(&json!({
            "arguments": self.arguments,
            "continuation_state": self.continuation_state,
            "input_responses": self.input_responses,
        }))?;
        Ok(canonical_json(&json!({
            "principal": self.principal,
            "tool_id": self.tool_id,
            "tool_version": self.tool_version,
            "arguments": self.arguments,
            "continuation_state": keyed_digest(key, "continuation_state", &self.continuation_state)?,
            "input_responses": keyed_digest(key, "input_responses", &self.input_responses)?,
        }))?)
    }
}

/// The fingerprint of `request`: SHA-256 of its canonical text, in lower-case hex.
pub fn fingerprint(key: &FingerprintKey, request: &FingerprintRequest) -> Result<String, FingerprintError> {
    Ok(hex_digest(request.canonical_text(key)?.as_bytes()))
}

/// SHA-256 of a value's canonical form, in lower-case hex. Unlike a fingerprint it needs no key, and hides nothing.
pub fn digest(value: &Value) -> Result<String, CanonicalError> {
    Ok(hex_digest(canonical_json(value)?.as_bytes()))
}

/// HMAC-SHA256(key, field name ‖ 0x00 ‖ canonical value), in lower-case hex.
fn keyed_digest(key: &FingerprintKey, field: &str, value: &Value) -> Result<String, CanonicalError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.0).expect("HMAC takes a key of any length");
    mac.update(field.as_bytes());
    mac.update(&[0]);
    mac.update(canonical_json(value)?.as_bytes());
    Ok(base16ct::lower::encode_string(&mac.finalize().into_bytes()))
}

fn hex_digest(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}
