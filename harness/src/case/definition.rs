//! The resolved types of a case. A value of these types has passed every rule of format 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A surface: something a target must offer before a case, a step or a check makes sense on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Surface {
    /// One effectful tool call, spelled out in the profile's `[write]`.
    #[serde(rename = "write")]
    Write,
    /// A way to send the same write with changed data under the same identity.
    #[serde(rename = "write.change")]
    WriteChange,
    /// An operation identity that the client chooses: a retry reuses it, a new write takes a new one.
    #[serde(rename = "identity")]
    Identity,
    /// Effects can be counted in the server's own store.
    #[serde(rename = "read.effects")]
    ReadEffects,
    /// Operation rows can be counted in the server's own ledger.
    #[serde(rename = "read.ledger")]
    ReadLedger,
    /// A tool that reports what became of an operation.
    #[serde(rename = "status")]
    Status,
    /// The place in a result where the server says that it replayed.
    #[serde(rename = "replies.replayed")]
    RepliesReplayed,
    /// A conflict can be told from other refusals.
    #[serde(rename = "contract.conflict")]
    ContractConflict,
}

impl Surface {
    /// Every surface, in the order in which help and `explain` list them.
    pub const ALL: [Self; 8] = [
        Self::Write,
        Self::WriteChange,
        Self::Identity,
        Self::ReadEffects,
        Self::ReadLedger,
        Self::Status,
        Self::RepliesReplayed,
        Self::ContractConflict,
    ];

    /// The name that case files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::WriteChange => "write.change",
            Self::Identity => "identity",
            Self::ReadEffects => "read.effects",
            Self::ReadLedger => "read.ledger",
            Self::Status => "status",
            Self::RepliesReplayed => "replies.replayed",
            Self::ContractConflict => "contract.conflict",
        }
    }

    /// What to put into a profile so that the target has it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Write => "[write] names no tool",
            Self::WriteChange => "[write] has neither `change` nor an `{input}` to change",
            Self::Identity => "[identity] is missing, `none` or natural: the client cannot choose an identity",
            Self::ReadEffects => "[read.effects] is missing: effects cannot be counted",
            Self::ReadLedger => "[read.ledger] is missing: operation rows cannot be counted",
            Self::Status => "[status] names no tool",
            Self::RepliesReplayed => "[replies] does not say where `replayed` is",
            Self::ContractConflict => "[contract] conflict does not say how a refusal as a conflict looks",
        }
    }
}

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
    /// The operations that the steps write, each with the operation whose marker it carries (mostly itself).
    pub operations: BTreeMap<String, String>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What must be found.
    pub checks: Vec<Check>,
    /// SHA-256 of the file's bytes, lower-case hex.
    pub digest: String,
    /// The file itself, kept so that evidence holds what was run.
    pub text: String,
}

/// The named bounds of a case, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// From the end of standard input to the server's exit.
    pub stop_ms: u64,
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
        }
    }
}

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// Launch a server process and finish the handshake.
    Start {
        /// The name by which later steps and checks know the process.
        process: String,
    },
    /// Close a process's standard input and wait for its exit; whatever is left of its tree is then killed.
    Stop {
        /// Which process.
        process: String,
    },
    /// SIGKILL a process's whole tree.
    Kill {
        /// Which process.
        process: String,
    },
    /// Read the store back.
    Observe {
        /// The name of the observation.
        label: String,
        /// Whether the server may live meanwhile.
        when: When,
        /// Whether to count on a copy with doubled rows too.
        doubled: Option<Doubled>,
    },
    /// Send the write of an operation.
    Write(WriteStep),
    /// Ask the status tool for an operation.
    Status {
        /// Which operation.
        operation: String,
        /// The name by which checks know this step.
        name: String,
        /// Skipped where the target lacks this surface.
        only: Option<Surface>,
    },
}

/// `write = "A"` and what goes with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteStep {
    /// Which operation.
    pub operation: String,
    /// The name by which checks know this step.
    pub name: String,
    /// From which round it starts.
    pub from: From,
    /// With changed data under the same identity.
    pub changed: bool,
    /// What breaks meanwhile.
    pub fault: Option<Fault>,
}

/// From which round a `write` step starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// The whole write, round one first.
    Start,
    /// The last request of the operation again, with a new JSON-RPC id (the default once it has been sent).
    Repeat,
}

/// Whether the server may live while the store is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Read the live store, without harming its writer.
    Now,
    /// Only when no process of the server is left; the store is frozen first, and the frozen copy is read.
    Quiet,
}

/// When to double the marked rows in a copy of the frozen store, and count there with the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubled {
    /// Beside the count itself. It catches a query that groups by the identity, which two writes with two identities
    /// would not.
    Always,
    /// Instead of the count, where no effect came since the observation before: the server's own natural key forbids a
    /// second row.
    IfNeeded,
}

/// The fault of a `write` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Which request of the write it belongs to.
    pub at: Round,
    /// Until when the reply is withheld.
    pub until: Until,
    /// What happens then.
    pub then: Then,
}

/// A request of a write, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Round {
    /// The request that makes the effect: the only one, or the final continuation.
    LastRound,
}

/// Until when a reply is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// Until read-back of the live store shows the effect; where nobody can read it, until the whole reply is there.
    EffectVisible,
}

/// What a fault does at its moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// SIGKILL for the whole process tree, helpers that left the group included.
    KillGroup,
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
    /// Pairs of paths whose facts must be equal.
    pub same: Vec<(String, String)>,
}

/// Whose promise a check is, and so what it means when it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(deny_unknown_fields)]
pub struct CheckSource {
    /// The page of the specification.
    pub page: String,
    /// Its revision.
    pub revision: String,
    /// The sentence.
    pub sentence: String,
}
