//! The steps of a case: everything a script can do, as resolved values. `words.rs` says each of them to people.

use serde::{Deserialize, Serialize};

use super::surface::Surface;

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// Launch a server process and finish the handshake.
    Start(StartStep),
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
            | Self::Observe { .. }
            | Self::Write(_)
            | Self::Send(_)
            | Self::Await { .. }
            | Self::Cancel { .. }
            | Self::Advance { .. } => None,
        }
    }
}

/// What is usual need not be written.
fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `start = "server"` and what goes with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StartStep {
    /// The name by which later steps and checks know the process.
    pub process: String,
    /// Whom the server takes the caller for, where it is not the usual principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The point at which it ends, or fails, by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failpoint: Option<String>,
    /// What is another one than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<Rotation>,
    /// Other lengths than the usual ones.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub settings: Settings,
}

/// Lengths that a server is started with, where they are not the usual ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long an issued request may be continued (seconds; 300 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_s: Option<u64>,
    /// How long a stored result is replayed (seconds; 360 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_s: Option<u64>,
    /// How long a request state is accepted (seconds; 600 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_s: Option<u64>,
    /// How long a locked store is waited for (milliseconds; 5000 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_ms: Option<u64>,
}

impl Settings {
    /// The placeholders of a profile that stand for them, with the values here.
    pub fn values(&self) -> [(&'static str, u64); 4] {
        [
            ("authority_s", self.authority_s.unwrap_or(300)),
            ("retention_s", self.retention_s.unwrap_or(360)),
            ("state_s", self.state_s.unwrap_or(600)),
            ("busy_ms", self.busy_ms.unwrap_or(5_000)),
        ]
    }

    /// Whether a deadline differs from the usual one, which the profile then has to pass on.
    pub fn moves_a_deadline(&self) -> bool {
        self.authority_s.is_some() || self.retention_s.is_some() || self.state_s.is_some()
    }
}

/// What a restarted server has another one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// The key of request fingerprints.
    FingerprintKey,
    /// The version of the tool.
    ToolVersion,
}

impl Rotation {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::FingerprintKey, Self::ToolVersion];

    /// The name that cases and profiles use.
    pub fn name(self) -> &'static str {
        match self {
            Self::FingerprintKey => "fingerprint-key",
            Self::ToolVersion => "tool-version",
        }
    }
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
