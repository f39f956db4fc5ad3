//! Contracts: what a server promises, so that a broken check can be called `fail` or only `unguarded`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::resolved::RefusalAt;
use crate::case::{Basis, Check, Promise};
use crate::protocol::Revision;

/// A named set of promises that a profile can claim for its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Everything that the reference server does, its own policies included.
    Guarded,
    /// One identity, at most one effect; a retry gets the first result; changed requests are refused.
    AtMostOnce,
    /// Nothing is promised: doubled or lost effects are shown as `unguarded`, not failed.
    #[default]
    None,
}

impl Preset {
    /// Whether the preset holds this promise.
    pub fn promises(self, promise: Promise) -> bool {
        match (self, promise) {
            (Self::Guarded, _)
            | (
                Self::AtMostOnce,
                Promise::Effects | Promise::FirstResult | Promise::Conflict | Promise::Discretion | Promise::Answer,
            ) => true,
            (Self::None, _) => false,
        }
    }

    /// Whether this project's own policies (`basis = "reference"`) apply.
    pub fn is_reference(self) -> bool {
        self == Self::Guarded
    }

    /// The name that profiles use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guarded => "guarded",
            Self::AtMostOnce => "at-most-once",
            Self::None => "none",
        }
    }
}

/// The contract of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Contract {
    /// The promises.
    pub preset: Preset,
    /// Where the server's author makes them; printed with every fail.
    pub claimed_in: Option<String>,
    /// How a refusal as a conflict looks, where the target has one.
    pub conflict: Option<Conflict>,
}

impl Contract {
    /// Whose promise a check is, and where it is made; of a server that speaks this revision, where that is known.
    pub fn whose(&self, check: &Check, spoken: Option<Revision>) -> Option<String> {
        let promised = |what: String| match &self.claimed_in {
            Some(place) => format!("{what}, claimed in {place}"),
            None => what,
        };
        let preset = self.preset.name();
        Some(match check.basis {
            Basis::SpecMust | Basis::SpecShould => check.source.as_ref()?.cited(spoken),
            Basis::Contract if self.preset.promises(check.promise) => {
                promised(format!("the target's contract `{preset}`"))
            }
            Basis::Contract => format!("nobody's: the contract `{preset}` does not promise it"),
            Basis::Annotation => "the server's own tool annotation".to_owned(),
            Basis::Reference => promised("the policy of the reference server (contract `guarded`)".to_owned()),
            Basis::Machinery => "the harness's own machinery".to_owned(),
        })
    }
}

/// How a refusal as a conflict looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Conflict {
    /// Where the reason stands.
    pub at: RefusalAt,
    /// What stands there.
    pub is: Value,
}

/// The reason that the preset `guarded` gives for a conflict.
pub(super) const GUARDED_CONFLICT: &str = "operation_conflict";
