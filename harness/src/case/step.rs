//! The steps of a case: everything a script can do, as resolved values. `words.rs` says each of them to people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::start::StartStep;
use super::surface::Surface;

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// Launch a process: a server, with its handshake, or one that works on the server's store beside it.
    Start(StartStep),
    /// End a process as its kind is ended (a server by the end of its standard input, any other by SIGTERM) and wait for its exit;
    /// whatever is left of its tree is then killed.
    Stop {
        /// Which process.
        process: String,
    },
    /// SIGKILL a process's whole tree.
    Kill {
        /// Which process.
        process: String,
    },
    /// SIGSTOP for a process's whole tree, at a moment at which it does not hold the store's write lock.
    Pause {
        /// Which process.
        process: String,
    },
    /// SIGCONT for a paused process's whole tree.
    Resume {
        /// Which process.
        process: String,
    },
    /// Open the gate of an operation: make the file that its execution waits for.
    Open {
        /// Which operation.
        operation: String,
    },
    /// Read the store back.
    Observe(ObserveStep),
    /// Send the write of an operation, and wait for its reply.
    Write(WriteStep),
    /// Send the last request of an operation, and go on without its reply.
    Send(SendStep),
    /// Wait for the reply to a request that was sent.
    Await {
        /// The name of the `send` step.
        sent: String,
    },
    /// Tell the server that a request that was sent is cancelled (`notifications/cancelled`).
    Cancel {
        /// The name of the `send` step.
        sent: String,
    },
    /// Ask the status tool for an operation.
    Status {
        /// Which operation.
        operation: String,
        /// The name by which checks know this step.
        name: String,
        /// Which process is asked.
        process: String,
        /// Skipped where the target lacks this surface.
        only: Option<Surface>,
    },
    /// Ask for the end of an operation's execution, before its time.
    CancelExecution {
        /// Which operation.
        operation: String,
        /// The name by which checks know this step.
        name: String,
        /// Which process is asked.
        process: String,
    },
    /// Move the server's clock.
    Advance {
        /// By so many seconds.
        seconds: u64,
    },
    /// Let a child of ours take the store's write lock, and keep it.
    Hold {
        /// Skipped where the target lacks this surface.
        only: Option<Surface>,
    },
    /// Give the lock back, once every process has taken in what was sent to it.
    Release {
        /// The name by which checks know this step.
        name: String,
        /// Skipped where the target lacks this surface.
        only: Option<Surface>,
    },
    /// Let the operator settle an operation, by the command that the profile names.
    Reconcile {
        /// Which operation.
        operation: String,
        /// The name by which checks know this step.
        name: String,
        /// Skipped where the target lacks this surface.
        only: Option<Surface>,
    },
}

impl Step {
    /// The surface without which the step is left out, and the case goes on.
    pub fn only(&self) -> Option<Surface> {
        match self {
            Self::Status { only, .. }
            | Self::Hold { only }
            | Self::Release { only, .. }
            | Self::Reconcile { only, .. } => *only,
            Self::Start(_)
            | Self::Stop { .. }
            | Self::Kill { .. }
            | Self::Pause { .. }
            | Self::Resume { .. }
            | Self::Open { .. }
            | Self::Observe(_)
            | Self::CancelExecution { .. }
            | Self::Write(_)
            | Self::Send(_)
            | Self::Await { .. }
            | Self::Cancel { .. }
            | Self::Advance { .. } => None,
        }
    }
}

/// What is usual need not be written.
pub(super) fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_one(copies: &u32) -> bool {
    *copies == 1
}

/// `write = "A"` and what goes with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WriteStep {
    /// Which operation.
    pub operation: String,
    /// The name by which checks know this step.
    pub name: String,
    /// Which process it is sent to.
    pub process: String,
    /// From which request it starts.
    pub from: From,
    /// The step whose last request is repeated, or whose request state is continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How many of its rounds are done.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub rounds: Rounds,
    /// How many writes it stands for: each under an identity of its own, all with one marker.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub copies: u32,
    /// With changed data under the same identity.
    pub changed: bool,
    /// What becomes of the request state in a continuation.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub state: State,
    /// How the questions of the server are answered in a continuation.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub inputs: Inputs,
    /// Whether the client declares no capability at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_capabilities: bool,
    /// What breaks meanwhile.
    pub fault: Option<Fault>,
}

/// `send = "A"` and what goes with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SendStep {
    /// Which operation.
    pub operation: String,
    /// The name by which checks know this step.
    pub name: String,
    /// Which process it is sent to.
    pub process: String,
}

/// From which request a `write` step starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// The whole write, round one first.
    Start,
    /// The last request of the operation again, with a new JSON-RPC id (the default once it has been sent).
    Repeat,
    /// One continuation: the call of the operation with answers, and with the request state that another step got.
    Continuation,
}

/// How many rounds of a write are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    /// All of them.
    #[default]
    All,
    /// The first; what the server asks is not answered.
    FirstOnly,
    /// All but the last request, the one that makes the effect: it is kept for a `send`, or a repeat.
    AllButLast,
    /// The submission, whose execution is not waited for.
    Submit,
}

/// What becomes of a request state before it is sent back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing.
    #[default]
    AsIssued,
    /// One character in its middle is another one.
    Changed,
    /// It is left out.
    None,
}

/// How the questions of a server are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// As the profile says.
    #[default]
    AsPlanned,
    /// Not at all: `inputResponses` is empty.
    None,
    /// As the profile says, with an answer to a question that nobody asked beside.
    Extra,
    /// Declined.
    Declined,
    /// Cancelled.
    Cancelled,
    /// Accepted, with numbers where the answers were texts.
    Mistyped,
}

/// `observe = "label"` and what goes with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ObserveStep {
    /// The name of the observation.
    pub label: String,
    /// Whether the server may live meanwhile.
    pub when: When,
    /// Whether to count on a copy with doubled rows too.
    pub doubled: Option<Doubled>,
    /// What is waited for in the living store before the observation is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Condition>,
    /// Whether the profile's statements that change the event log are tried on a copy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tampered: bool,
}

/// What an observation waits for: so many rows of one reading, in which these columns hold these values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Of which operation.
    pub of: String,
    /// Which reading: `effects`, `ledger`, `events` ….
    pub read: String,
    /// The least number of rows.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rows: u32,
    /// Columns and what they must hold; every row counts where it is empty.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub holds: BTreeMap<String, Value>,
}

impl Condition {
    /// The condition in words, such as `2 rows of A's events with event = "claimed"`.
    pub fn in_words(&self) -> String {
        let holds: Vec<String> = self
            .holds
            .iter()
            .map(|(column, value)| format!("{column} = {value}"))
            .collect();
        let with = if holds.is_empty() { "" } else { " with " };
        let rows = if self.rows == 1 { "row" } else { "rows" };
        format!(
            "{} {rows} of {}'s {}{with}{}",
            self.rows,
            self.of,
            self.read,
            holds.join(" and ")
        )
    }
}

/// Whether the server may live while the store is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Read the live store, without harming its writer.
    Now,
    /// Only when no process of the server is left; the store is frozen first, and the frozen copy is read.
    Quiet,
}

/// When to double the marked rows in a copy of the frozen store, and count there with the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Round {
    /// The request that makes the effect: the only one, or the final continuation.
    LastRound,
    /// The first request, to which a server with questions answers by asking them.
    FirstRound,
}

/// Until when a reply is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// Until read-back of the live store shows the effect.
    EffectVisible,
    /// Until the whole reply lies in our pipe.
    ReplyInPipe,
}

/// What a fault does at its moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// SIGKILL for the whole process tree, helpers that left the group included.
    KillGroup,
}
