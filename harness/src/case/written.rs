//! Case format 1 as it stands in a file. Unknown keys are refused; meaning is checked in [`super::resolve`].

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

use super::definition::{Basis, CheckSource, Doubled, From, Promise, Round, Surface, Then, Until, When};

/// The version of the case format that this harness writes and reads.
pub const CASE_FORMAT: u32 = 1;

/// A whole case file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseWritten {
    pub(super) format: u32,
    pub(super) id: String,
    #[serde(default)]
    pub(super) number: Option<u32>,
    pub(super) family: String,
    pub(super) revision: u32,
    pub(super) title: String,
    pub(super) proves: String,
    pub(super) matters: String,
    #[serde(default)]
    pub(super) mend: Option<String>,
    #[serde(default)]
    pub(super) sources: Vec<String>,
    pub(super) needs: Vec<Surface>,
    #[serde(default)]
    pub(super) uses: Vec<Surface>,
    #[serde(default)]
    pub(super) controls: Vec<String>,
    #[serde(default)]
    pub(super) bounds: BoundsWritten,
    pub(super) step: Vec<StepWritten>,
    pub(super) check: Vec<CheckWritten>,
}

/// The named bounds of a case, milliseconds each.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundsWritten {
    pub(super) start_ms: Option<u64>,
    pub(super) effect_visible_ms: Option<u64>,
    pub(super) withheld_reply_ms: Option<u64>,
    pub(super) reply_ms: Option<u64>,
    pub(super) quiet_ms: Option<u64>,
    pub(super) stop_ms: Option<u64>,
}

/// One `[[step]]`: exactly one of the verbs, and what goes with it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepWritten {
    pub(super) start: Option<String>,
    pub(super) stop: Option<String>,
    pub(super) kill: Option<String>,
    pub(super) observe: Option<String>,
    pub(super) write: Option<String>,
    pub(super) status: Option<String>,
    #[serde(rename = "as")]
    pub(super) name: Option<String>,
    pub(super) only: Option<Surface>,
    pub(super) when: Option<When>,
    pub(super) doubled: Option<Doubled>,
    pub(super) from: Option<From>,
    pub(super) changed: Option<bool>,
    pub(super) marker: Option<String>,
    pub(super) fault: Option<FaultWritten>,
}

/// `fault = { … }` of a `write` step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultWritten {
    pub(super) at: Round,
    pub(super) withhold_reply_until: Until,
    pub(super) then: Then,
}

/// One `[[check]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckWritten {
    pub(super) id: String,
    pub(super) basis: Basis,
    #[serde(default)]
    pub(super) about: bool,
    pub(super) say: Option<String>,
    pub(super) only: Option<Surface>,
    pub(super) promise: Option<Promise>,
    pub(super) source: Option<CheckSource>,
    #[serde(default)]
    pub(super) expect: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) same: Vec<(String, String)>,
}
