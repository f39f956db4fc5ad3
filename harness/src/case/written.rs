//! Case format 1 as it stands in a file. Unknown keys are refused; meaning is checked in [`super::resolve`].

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::Spanned;

use super::definition::{Basis, CheckSource, Mode, Promise};
use super::step::{Doubled, From, Inputs, Rotation, Round, Rounds, Settings, State, Then, Until, When};
use super::surface::Surface;

/// The version of the case format that this harness writes and reads.
pub const CASE_FORMAT: u32 = 1;

/// A whole case file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseWritten {
    pub(super) format: Spanned<u32>,
    pub(super) id: Spanned<String>,
    #[serde(default)]
    pub(super) number: Option<u32>,
    pub(super) family: Spanned<String>,
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
    pub(super) step: Vec<Spanned<StepWritten>>,
    pub(super) check: Vec<Spanned<CheckWritten>>,
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
    pub(super) send: Option<String>,
    #[serde(rename = "await")]
    pub(super) awaited: Option<String>,
    pub(super) cancel: Option<String>,
    pub(super) status: Option<String>,
    pub(super) advance_s: Option<u64>,
    pub(super) hold: Option<String>,
    pub(super) release: Option<String>,
    pub(super) reconcile: Option<String>,
    #[serde(rename = "as")]
    pub(super) name: Option<String>,
    pub(super) on: Option<String>,
    pub(super) only: Option<Surface>,
    pub(super) when: Option<When>,
    pub(super) doubled: Option<Doubled>,
    pub(super) from: Option<From>,
    pub(super) of: Option<String>,
    pub(super) rounds: Option<Rounds>,
    pub(super) changed: Option<bool>,
    pub(super) marker: Option<String>,
    pub(super) mode: Option<Mode>,
    pub(super) state: Option<State>,
    pub(super) inputs: Option<Inputs>,
    pub(super) capabilities: Option<Capabilities>,
    pub(super) fault: Option<FaultWritten>,
    pub(super) principal: Option<String>,
    pub(super) failpoint: Option<String>,
    pub(super) rotate: Option<Rotation>,
    pub(super) settings: Option<Settings>,
}

impl StepWritten {
    /// The one verb of the step and its object.
    pub(super) fn verb(&self) -> Result<(&'static str, String), String> {
        let verbs = [
            ("start", self.start.clone()),
            ("stop", self.stop.clone()),
            ("kill", self.kill.clone()),
            ("observe", self.observe.clone()),
            ("write", self.write.clone()),
            ("send", self.send.clone()),
            ("await", self.awaited.clone()),
            ("cancel", self.cancel.clone()),
            ("status", self.status.clone()),
            ("advance_s", self.advance_s.map(|seconds| seconds.to_string())),
            ("hold", self.hold.clone()),
            ("release", self.release.clone()),
            ("reconcile", self.reconcile.clone()),
        ];
        let names = verbs.each_ref().map(|(verb, _)| *verb).join(", ");
        let mut used = verbs
            .into_iter()
            .filter_map(|(verb, object)| object.map(|object| (verb, object)));
        match (used.next(), used.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(format!("it needs exactly one of {names}")),
        }
    }
}

/// What a client declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Capabilities {
    /// Nothing.
    None,
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
    pub(super) among: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    pub(super) same: Vec<(String, String)>,
}
