//! Case format 1 as it stands in a file. Unknown keys are refused; meaning is checked in [`super::resolve`].

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::Spanned;

use super::definition::{Basis, CheckSource, Mode, Promise};
use super::start::{Rotation, Settings};
use super::step::{Condition, Doubled, From, Inputs, Round, Rounds, State, Then, Until, When};
use super::surface::Surface;

/// The version of the case format that this harness writes and reads.
pub const CASE_FORMAT: u32 = 1;

/// A whole case file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CaseWritten {
    /// The version of this format: 1.
    #[cfg_attr(test, schemars(with = "u32"))]
    pub(super) format: Spanned<u32>,
    /// What users type, and no other case has.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) id: Spanned<String>,
    /// The number in the original twelve-case matrix.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub(super) number: Option<Spanned<u32>>,
    /// The kind of case; `control` for one that speaks about the read-back.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) family: Spanned<String>,
    /// From 1 on; goes up with every change.
    #[cfg_attr(test, schemars(with = "u32", range(min = 1)))]
    pub(super) revision: Spanned<u32>,
    /// A few words for tables.
    pub(super) title: String,
    /// What a pass proves, in one sentence.
    pub(super) proves: String,
    /// Why anybody should care.
    pub(super) matters: String,
    /// How to mend a server that fails.
    #[serde(default)]
    pub(super) mend: Option<String>,
    /// Where the demand comes from.
    #[serde(default)]
    pub(super) sources: Vec<String>,
    /// Without one of these the case is `unsupported`.
    #[cfg_attr(test, schemars(with = "Vec<Surface>"))]
    pub(super) needs: Spanned<Vec<Surface>>,
    /// Without one of these only the steps and checks that name it in `only` are switched off.
    #[serde(default)]
    pub(super) uses: Vec<Surface>,
    /// Cases that must have passed in the same run before this one's effects are believed.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Vec<String>>"))]
    pub(super) controls: Option<Spanned<Vec<Spanned<String>>>>,
    /// Every wait, by name.
    #[serde(default)]
    pub(super) bounds: BoundsWritten,
    /// What is done, in order.
    #[cfg_attr(test, schemars(with = "Vec<StepWritten>"))]
    pub(super) step: Vec<Spanned<StepWritten>>,
    /// What must be found.
    #[cfg_attr(test, schemars(with = "Vec<CheckWritten>"))]
    pub(super) check: Vec<Spanned<CheckWritten>>,
}

/// The named bounds of a case, milliseconds each, from 1 to an hour.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct BoundsWritten {
    /// From launch to a finished handshake.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) start_ms: Option<Spanned<u64>>,
    /// From sending the last round to its effect showing in the store.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) effect_visible_ms: Option<Spanned<u64>>,
    /// From the visible effect to the whole reply lying in our pipe.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) withheld_reply_ms: Option<Spanned<u64>>,
    /// From a request to its reply.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) reply_ms: Option<Spanned<u64>>,
    /// From a kill to the last process of the tree being gone.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) quiet_ms: Option<Spanned<u64>>,
    /// From the end of standard input, or from SIGTERM, to the exit of a process.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) stop_ms: Option<Spanned<u64>>,
    /// From a step that waits for something in the store to that being there.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) condition_ms: Option<Spanned<u64>>,
    /// From a submission to the end of its execution.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 3_600_000)))]
    pub(super) settled_ms: Option<Spanned<u64>>,
}

/// One `[[step]]`: exactly one of the verbs, and what goes with it.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct StepWritten {
    /// Launches a process: `server`, with its handshake, `worker` or `reaper`.
    pub(super) start: Option<String>,
    /// Ends this process as its kind is ended, and waits for its exit.
    pub(super) stop: Option<String>,
    /// SIGKILL for the whole tree of this process.
    pub(super) kill: Option<String>,
    /// SIGSTOP for the whole tree of this process.
    pub(super) pause: Option<String>,
    /// SIGCONT for the whole tree of this process.
    pub(super) resume: Option<String>,
    /// Opens the gate of this operation.
    pub(super) open: Option<String>,
    /// Reads the store back, under this label.
    pub(super) observe: Option<String>,
    /// The write of this operation; the second time its last request again.
    pub(super) write: Option<String>,
    /// The last request of this operation, without waiting for its reply.
    pub(super) send: Option<String>,
    /// Waits for the reply to this `send` step.
    #[serde(rename = "await")]
    pub(super) awaited: Option<String>,
    /// Cancels the request of this `send` step.
    pub(super) cancel: Option<String>,
    /// Asks the status tool for this operation.
    pub(super) status: Option<String>,
    /// Asks for the end of this operation's execution.
    pub(super) cancel_execution: Option<String>,
    /// Moves the server's clock by so many seconds.
    pub(super) advance_s: Option<u64>,
    /// Takes the store's write lock: `store`.
    pub(super) hold: Option<String>,
    /// Gives the lock back: `store`.
    pub(super) release: Option<String>,
    /// The operator's command for this operation.
    pub(super) reconcile: Option<String>,
    /// The name by which checks know the step.
    #[serde(rename = "as")]
    pub(super) name: Option<String>,
    /// Which process, where several live.
    pub(super) on: Option<String>,
    /// Left out where the target lacks this surface.
    pub(super) only: Option<Surface>,
    /// Of `observe`: while the server may live, or frozen.
    pub(super) when: Option<When>,
    /// Of `observe`: also counts on a copy with doubled rows.
    pub(super) doubled: Option<Doubled>,
    /// Of `observe`: what is waited for in the living store before.
    #[cfg_attr(test, schemars(with = "Option<Condition>"))]
    pub(super) until: Option<Spanned<Condition>>,
    /// Of `observe`: also tries the statements of `[tampering]` on a copy.
    pub(super) tampered: Option<bool>,
    /// Of `write`: from round one, the last request again, or a continuation.
    pub(super) from: Option<From>,
    /// Of `write`: the step that is repeated, or whose request state is taken.
    pub(super) of: Option<String>,
    /// Of `write`: which of its requests are sent.
    pub(super) rounds: Option<Rounds>,
    /// Of `write`: how many writes it stands for, each under an identity of its own.
    pub(super) copies: Option<u32>,
    /// Of the first `write` of an operation: `closed` holds its execution at a gate.
    pub(super) gate: Option<Gate>,
    /// Of `write`: with changed data.
    pub(super) changed: Option<bool>,
    /// Of `write`: carries this operation's marker.
    pub(super) marker: Option<String>,
    /// Of `write`: all of it, or two steps of which the second fails.
    pub(super) mode: Option<Mode>,
    /// Of a continuation: what becomes of the request state.
    pub(super) state: Option<State>,
    /// Of a continuation: what is answered.
    pub(super) inputs: Option<Inputs>,
    /// Of `write`: what the client declares.
    pub(super) capabilities: Option<Capabilities>,
    /// Of `write`: keeps the reply from the client side, then kills.
    pub(super) fault: Option<FaultWritten>,
    /// Of `start`: for another caller.
    pub(super) principal: Option<String>,
    /// Of `start`: with this failpoint.
    pub(super) failpoint: Option<String>,
    /// Of `start`: with another key or version than before.
    pub(super) rotate: Option<Rotation>,
    /// Of `start`: with other lengths.
    pub(super) settings: Option<Settings>,
}

impl StepWritten {
    /// The one verb of the step and its object.
    pub(super) fn verb(&self) -> Result<(&'static str, String), String> {
        let verbs = [
            ("start", self.start.clone()),
            ("stop", self.stop.clone()),
            ("kill", self.kill.clone()),
            ("pause", self.pause.clone()),
            ("resume", self.resume.clone()),
            ("open", self.open.clone()),
            ("observe", self.observe.clone()),
            ("write", self.write.clone()),
            ("send", self.send.clone()),
            ("await", self.awaited.clone()),
            ("cancel", self.cancel.clone()),
            ("status", self.status.clone()),
            ("cancel_execution", self.cancel_execution.clone()),
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

/// Whether a gate holds an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Gate {
    /// Until a step opens it.
    Closed,
}

/// What a client declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Capabilities {
    /// Nothing.
    None,
}

/// `fault = { … }` of a `write` step.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct FaultWritten {
    /// Of which round the reply is withheld.
    pub(super) at: Round,
    /// What marks the moment of the kill.
    pub(super) withhold_reply_until: Until,
    /// What is done then.
    pub(super) then: Then,
}

/// One `[[check]]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CheckWritten {
    /// Its name in the case.
    pub(super) id: String,
    /// Whose promise it is, and so what a break means.
    pub(super) basis: Basis,
    /// Whether the case is about it.
    #[serde(default)]
    pub(super) about: bool,
    /// One sentence for when it breaks.
    pub(super) say: Option<String>,
    /// Not applicable where the target lacks this surface.
    pub(super) only: Option<Surface>,
    /// The promise of a contract that covers it, for `basis = "contract"`.
    pub(super) promise: Option<Promise>,
    /// The sentence that it quotes, for a basis in the specification.
    pub(super) source: Option<CheckSource>,
    /// Path of a fact → the literal it must equal.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Value>"))]
    pub(super) expect: BTreeMap<Spanned<String>, Spanned<Value>>,
    /// Path of a fact → the literals of which it must equal one.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Vec<Value>>"))]
    pub(super) among: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<Value>>>>,
    /// Pairs of paths whose facts must be equal.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<(String, String)>"))]
    pub(super) same: Vec<(Spanned<String>, Spanned<String>)>,
}

/// The schema of the file.
#[cfg(test)]
pub(crate) fn schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<CaseWritten>()
}
