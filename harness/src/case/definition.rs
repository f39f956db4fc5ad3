//! The resolved types of a case. A value of these types has passed every rule of format 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step::Step;
use super::surface::Surface;
use crate::protocol::{Era, Revision};

/// A frozen script of steps plus checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What users type.
    pub id: String,
    /// The number in the original twelve-case matrix, where it has one.
    pub number: Option<u32>,
    /// The folder it lives in: `retry`, `control`, …
    pub family: String,
    /// Goes up whenever the file changes.
    pub revision: u32,
    /// A few words for tables.
    pub title: String,
    /// What a pass proves, in one sentence.
    pub proves: String,
    /// Why anybody should care.
    pub matters: String,
    /// How to mend a server that fails.
    pub mend: Option<String>,
    /// Where the demand comes from.
    pub sources: Vec<String>,
    /// Without these the case is `unsupported`.
    pub needs: Vec<Surface>,
    /// Without these only the checks that ask for them are switched off.
    pub uses: Vec<Surface>,
    /// Cases that must have passed, in the same run, before this one's effects are believed.
    pub controls: Vec<String>,
    /// Every wait of the case, by name.
    pub bounds: Bounds,
    /// The operations that the steps write.
    pub operations: BTreeMap<String, OperationUse>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What must be found.
    pub checks: Vec<Check>,
    /// SHA-256 of the file's bytes, lower-case hex.
    pub digest: String,
    /// The file itself, kept so that evidence holds what was run.
    pub text: String,
}

/// An operation as a case uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationUse {
    /// The operation whose marker it carries, mostly itself.
    pub marked_as: String,
    /// What the write is told to do, where it can be told.
    pub mode: Mode,
    /// Whether its execution is held at a gate until a step opens it.
    pub is_gated: bool,
}

/// What a write is told to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All of it in one transaction.
    #[default]
    Atomic,
    /// Two steps of which the second fails, and so does its compensation.
    Partial,
    /// Every attempt fails; of submitted writes.
    Failing,
}

impl Mode {
    /// What `{mode}` is filled in with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Partial => "partial",
            Self::Failing => "failing",
        }
    }
}

/// No wait of a case is longer than this, in milliseconds: an hour.
pub const BOUND_MS_MAX: u64 = 60 * 60 * 1000;

/// The named bounds of a case, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// From launch to a finished handshake.
    pub start_ms: u64,
    /// From sending the last round to its effect showing in the store.
    pub effect_visible_ms: u64,
    /// From the visible effect to the whole reply lying in our pipe. Also how long a store has to stay unreadable, before the
    /// request and after the reply, for the whole reply to mark the moment instead.
    pub withheld_reply_ms: u64,
    /// From a request to its reply.
    pub reply_ms: u64,
    /// From a kill to the last process of the tree being gone.
    pub quiet_ms: u64,
    /// From the end of standard input, or from SIGTERM, to the exit of a process.
    pub stop_ms: u64,
    /// From a step that waits for something in the store to that being there.
    #[serde(default = "condition_ms")]
    pub condition_ms: u64,
    /// From a submission to the end of its execution.
    #[serde(default = "settled_ms")]
    pub settled_ms: u64,
}

fn condition_ms() -> u64 {
    10_000
}

fn settled_ms() -> u64 {
    10_000
}

impl Bounds {
    /// The same bounds, none of them longer than `ms`.
    #[must_use]
    pub fn at_most(self, ms: u64) -> Self {
        Self {
            start_ms: self.start_ms.min(ms),
            effect_visible_ms: self.effect_visible_ms.min(ms),
            withheld_reply_ms: self.withheld_reply_ms.min(ms),
            reply_ms: self.reply_ms.min(ms),
            quiet_ms: self.quiet_ms.min(ms),
            stop_ms: self.stop_ms.min(ms),
            condition_ms: self.condition_ms.min(ms),
            settled_ms: self.settled_ms.min(ms),
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            start_ms: 30_000,
            effect_visible_ms: 5_000,
            withheld_reply_ms: 2_000,
            reply_ms: 10_000,
            quiet_ms: 5_000,
            stop_ms: 10_000,
            condition_ms: condition_ms(),
            settled_ms: settled_ms(),
        }
    }
}

/// One assertion of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its name inside the case.
    pub id: String,
    /// Whose promise it is, and so what a break means.
    pub basis: Basis,
    /// Whether it is what the case is about.
    pub about: bool,
    /// What to say when it breaks.
    pub say: Option<String>,
    /// Not applicable where the target lacks this surface.
    pub only: Option<Surface>,
    /// The promise of a contract that covers it.
    pub promise: Promise,
    /// The sentence it quotes, for specification bases.
    pub source: Option<CheckSource>,
    /// Path of a fact → the literal it must equal.
    pub expect: BTreeMap<String, Value>,
    /// Path of a fact → the literals of which it must equal one.
    pub among: BTreeMap<String, Vec<Value>>,
    /// Pairs of paths whose facts must be equal.
    pub same: Vec<(String, String)>,
}

/// Whose promise a check is, and so what it means when it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A MUST of the specification: fail.
    SpecMust,
    /// A SHOULD: a warning (a fail under the contract preset `guarded`).
    SpecShould,
    /// The target's own contract: fail where it promises it, else `unguarded`.
    Contract,
    /// What the server says of itself in an annotation: fail.
    Annotation,
    /// This project's own policy: applies only under the contract preset `guarded`.
    Reference,
    /// Our own machinery: inconclusive.
    Machinery,
}

/// What a contract can promise, as far as contract checks ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// One operation, one effect; an effect that was acknowledged or seen stays. Broken without a promise: `unguarded`.
    Effects,
    /// A retry gets the first result. Broken without a promise: a note.
    FirstResult,
    /// A changed request under a used identity is refused. Broken without a promise: `unguarded`.
    Conflict,
    /// A refusal tells nothing of another request's result. Broken without a promise: a note.
    Discretion,
    /// A retry is answered. Broken without a promise: inconclusive, since a retry that nobody served shows nothing.
    Answer,
}

/// The sentence that a specification check quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckSource {
    /// The page of the specification.
    pub page: String,
    /// Its revision.
    pub revision: String,
    /// The sentence.
    pub sentence: String,
    /// What stands in its place in the revisions of the legacy era, all alike; absent where no server of that era is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<LegacySource>,
}

/// A sentence that every revision of the legacy era has on the same page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LegacySource {
    /// The page of the specification.
    pub page: String,
    /// The sentence.
    pub sentence: String,
}

impl CheckSource {
    /// What a server is held to that speaks this revision; where none is known, or it has no sentence of its own, the one that
    /// the case names.
    pub fn cited(&self, spoken: Option<Revision>) -> String {
        let legacy = spoken.filter(|spoken| spoken.era() == Era::Legacy);
        let (revision, page, sentence) = match (legacy, &self.legacy) {
            (Some(spoken), Some(legacy)) => (spoken.name(), &legacy.page, &legacy.sentence),
            (Some(_), None) | (None, _) => (self.revision.as_str(), &self.page, &self.sentence),
        };
        format!("MCP {revision}, {page}: \"{sentence}\"")
    }
}
