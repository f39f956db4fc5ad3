//! `redactions.json`: what of the evidence was masked before it was handed on, and the digests from before.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::secret::Kind;

/// The version of `redactions.json` that this harness writes.
pub const REDACTIONS_FORMAT: u32 = 1;

/// The file, beside `run.json`.
pub const REDACTIONS_FILE: &str = "redactions.json";

/// The byte that stands for one byte of what was masked.
pub const MASK: u8 = b'*';

/// What was masked. The evidence around it is sealed anew: digests in it are those of the masked bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Redactions {
    /// [`REDACTIONS_FORMAT`].
    pub format: u32,
    /// The SHA-256 of `SHA256SUMS` as it was when the run ended.
    pub sums_sha256_before: String,
    /// Every file that has other bytes than before, by path.
    pub files: Vec<RedactedFile>,
}

/// A file that has other bytes than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RedactedFile {
    /// Its path.
    pub path: String,
    /// Its SHA-256 before.
    pub sha256_before: String,
    /// And now.
    pub sha256_now: String,
    /// What was masked in it; empty where only digests of other files were put right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<MaskedPlace>,
    /// How many digests of masked files it names, each of which was put right.
    #[serde(default, skip_serializing_if = "is_none")]
    pub digests_put_right: usize,
    /// Whether it is a verdict that was concluded again, from the masked record: a fact is made of a text that is masked now.
    #[serde(default, skip_serializing_if = "is_false")]
    pub judged_again: bool,
}

/// A place that was masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MaskedPlace {
    /// The bytes of the file as it is now, from and to.
    pub range: Range<usize>,
    /// What stood there.
    pub kind: Kind,
    /// Whether the range is the base64 of a frame that has masked bytes in it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_frame: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_false(value: &bool) -> bool {
    !*value
}
