//! The three files as they are written (format 1). Unknown members are refused, so that nothing is believed to be checked
//! that is not.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What all of them begin with.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) format: u64,
    pub(super) set: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FingerprintFile {
    #[serde(rename = "format")]
    _format: u64,
    #[serde(rename = "set")]
    _set: String,
    pub(super) key_hex: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(super) vectors: Vec<FingerprintVector>,
    #[serde(default)]
    pub(super) same: Vec<[String; 2]>,
    #[serde(default)]
    pub(super) different: Vec<[String; 2]>,
    #[serde(rename = "invalid_note")]
    _invalid_note: Option<String>,
    #[serde(default)]
    pub(super) invalid: Vec<InvalidVector>,
    #[serde(default)]
    pub(super) equal_numbers: EqualNumbers,
    #[serde(rename = "spellings_note")]
    _spellings_note: Option<String>,
    #[serde(default)]
    pub(super) spellings: Vec<SpellingVector>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FingerprintVector {
    pub(super) name: String,
    pub(super) request: Map<String, Value>,
    pub(super) canonical: String,
    pub(super) fingerprint: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpellingVector {
    pub(super) name: String,
    pub(super) request_json: String,
    pub(super) canonical: String,
    pub(super) fingerprint: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EqualNumbers {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(super) pairs: Vec<[String; 2]>,
    pub(super) canonical: Vec<String>,
    pub(super) fingerprints: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InvalidVector {
    pub(super) name: String,
    pub(super) key_hex: Option<String>,
    pub(super) request_json: String,
    pub(super) error_path: String,
    pub(super) refused_by: RefusedBy,
}

/// Who finds the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RefusedBy {
    /// The parser, which may name any place, or none.
    Json,
    /// The canonical form, which names the place.
    Canonical,
    /// The check of the key, before the request is looked at.
    Key,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecoveryFile {
    #[serde(rename = "format")]
    _format: u64,
    #[serde(rename = "set")]
    _set: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(rename = "kind")]
    _kind: String,
    pub(super) attempt: Value,
    pub(super) vectors: Vec<RecoveryVector>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecoveryVector {
    pub(super) name: String,
    /// Absent where nothing has been observed; null is an observation like any other.
    #[serde(default, deserialize_with = "present")]
    pub(super) observation: Option<Value>,
    pub(super) action: String,
    pub(super) reason: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContinuationFile {
    #[serde(rename = "format")]
    _format: u64,
    #[serde(rename = "set")]
    _set: String,
    pub(super) key_hex: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(rename = "kind_note")]
    _kind_note: Option<String>,
    pub(super) base: Map<String, Value>,
    pub(super) vectors: Vec<ContinuationVector>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContinuationVector {
    pub(super) name: String,
    pub(super) changes: Map<String, Value>,
    pub(super) transport: Option<String>,
    pub(super) expected: String,
    /// Whose policy it is.
    pub(super) kind: String,
}
