//! Surfaces: what a target must offer before a case, a step or a check makes sense on it. One table, from which help,
//! `explain` and the messages about what is missing are made.

use serde::{Deserialize, Serialize};

macro_rules! surfaces {
    ($($(#[doc = $doc:literal])+ $surface:ident = $name:literal, $advice:literal;)+) => {
        /// A surface of a target.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum Surface {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $surface,)+
        }

        impl Surface {
            /// Every surface, in the order in which help and `explain` list them.
            pub const ALL: &'static [Self] = &[$(Self::$surface),+];

            /// The name that case files use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$surface => $name,)+
                }
            }

            /// What is missing in the profile of a target that does not have it.
            fn advice_for_profile(self) -> &'static str {
                match self {
                    $(Self::$surface => $advice,)+
                }
            }
        }
    };
}

surfaces! {
    /// One effectful tool call, spelled out in the profile's `[write]`.
    Write = "write", "[write] names no tool";
    /// A way to send the same write with changed data under the same identity.
    WriteChange = "write.change", "[write] has neither `change` nor an `{input}` to change";
    /// A write in two rounds: the server asks for input, and gets its request state back with the answers (MRTR).
    WriteContinuation = "write.continuation",
        "[write] responses has no answers, or the server does not speak MCP 2026-07-28, so there is no second round";
    /// A write that can be told to do only a part.
    WriteMode = "write.mode", "[write] arguments have no `{mode}`";
    /// A write that is submitted, and done later: the submission is answered before the effect is there.
    WriteSubmit = "write.submit",
        "[write.submitted] is missing: a write is answered when it is done, so nothing is submitted and done later";
    /// A submitted write whose execution can be held at a gate.
    WriteGate = "write.gate", "[write] arguments have no `{gate}`, so no execution can be held";
    /// A submitted write can be told to fail at each attempt.
    WriteFailing = "write.failing", "[write] failing does not say what an execution that fails is asked for";
    /// An execution can be cancelled.
    WriteCancel = "write.cancel", "[write.submitted] cancel names no tool";
    /// An operation identity that the client chooses: a retry reuses it, a new write takes a new one.
    Identity = "identity", "[identity] names no key that the client chooses, by which the server could know a retry";
    /// Effects can be counted in the server's own store.
    ReadEffects = "read.effects", "[read.effects] is missing: effects cannot be counted";
    /// Operation rows can be counted in the server's own ledger.
    ReadLedger = "read.ledger", "[read.ledger] is missing: operation rows cannot be counted";
    /// The second step of a write of two can be counted.
    ReadWatchers = "read.watchers", "[read.watchers] is missing: the second step of a write cannot be counted";
    /// Attempts to take an effect back can be read.
    ReadCompensations = "read.compensations", "[read.compensations] is missing: compensations cannot be read";
    /// The log of the steps of an operation can be read.
    ReadSteps = "read.steps", "[read.steps] is missing: the log of steps cannot be read";
    /// The event log of durable executions can be read.
    ReadEvents = "read.events", "[read.events] is missing: the event log of executions cannot be read";
    /// How each execution stands, by the server's own row, can be read.
    ReadExecutions = "read.executions", "[read.executions] is missing: how executions stand cannot be read";
    /// The leases of workers can be read.
    ReadLeases = "read.leases", "[read.leases] is missing: the leases of workers cannot be read";
    /// The retries of executions, with their backoff, can be read.
    ReadRetries = "read.retries", "[read.retries] is missing: the retries of executions cannot be read";
    /// A second effect, outside the store that holds the first, can be counted.
    ReadOutside = "read.outside", "[read.outside] is missing: the effect outside the store cannot be counted";
    /// A tool that reports what became of an operation.
    Status = "status", "[status] names no tool";
    /// The place in a result where the server says that it replayed.
    RepliesReplayed = "replies.replayed", "[replies] does not say where `replayed` is";
    /// A conflict can be told from other refusals.
    ContractConflict = "contract.conflict", "[contract] conflict does not say how a refusal as a conflict looks";
    /// The server can be started for another principal.
    Principal = "launch.principal", "[launch] does not mention `{principal}`, so nobody else can be the caller";
    /// The server can be started with other deadlines.
    Deadlines = "launch.deadlines", "[launch] does not mention `{authority_s}`, `{retention_s}` and `{state_s}`";
    /// The server can be told how long to wait for a locked store.
    BusyTimeout = "launch.busy-timeout", "[launch] does not mention `{busy_ms}`, so how long it waits for a lock is not known";
    /// The server can be started without workers of its own.
    Workers = "launch.workers", "[launch] does not mention `{workers}`, so the server cannot be started without workers of its own";
    /// The lengths of leases, heartbeats and retries are known.
    Leases = "launch.leases",
        "neither [launch] nor [processes] mentions `{lease_s}`, `{heartbeat_s}`, `{attempts}` and `{backoff_s}`";
    /// An effect outside the store can be given a key, or none.
    OutsideKey = "launch.outside-key", "neither [launch] nor [processes] mentions `{outside_key}`";
    /// A worker can be started beside the server, as a process of its own.
    Worker = "processes.worker", "[processes.worker] names no command";
    /// A reaper can be started beside the server, as a process of its own.
    Reaper = "processes.reaper", "[processes.reaper] names no command";
    /// The server can be started with another key or version.
    Rotations = "launch.rotations", "[rotations] does not say how the fingerprint key and the tool version change";
    /// The server's time can be moved, or its rows can be aged.
    Clock = "clock", "[clock] says neither a `file` nor an `age` statement: time cannot be moved";
    /// The server ends, or fails, by itself at named points.
    Failpoints = "failpoints", "[failpoints] names no variable";
    /// The store's write lock can be held by somebody else.
    StoreLock = "store.lock",
        "the store is no SQLite file, or the server asks for input inside the call, so it cannot be kept waiting for the store's lock";
    /// The operator can settle an operation.
    Reconcile = "reconcile", "[reconcile] names no command";
    /// It is known how the event log could be changed, so that it can be tried on a copy.
    Tampering = "tampering", "[tampering] names no statement that would change the event log";
}

impl Surface {
    /// The surface that a reading is, such as `events`: `read.events`.
    pub fn of_reading(name: &str) -> Option<Self> {
        let wanted = format!("read.{name}");
        Self::ALL.iter().copied().find(|surface| surface.name() == wanted)
    }

    /// The names of all readings.
    pub(super) fn readings() -> impl Iterator<Item = &'static str> {
        Self::ALL
            .iter()
            .filter_map(|surface| surface.name().strip_prefix("read."))
    }

    /// What is missing in the description of a target that does not have it, in the words of a profile or of flags.
    pub fn advice(self, by_flags: bool) -> String {
        let text = self.advice_for_profile();
        if !by_flags {
            return text.to_owned();
        }
        match self {
            Self::Write => "no --write names a tool".to_owned(),
            Self::WriteChange => {
                "--write has no `{input}` to change: put it into an argument that a repeat may change".to_owned()
            }
            Self::WriteContinuation => {
                "--responses has no answers, or the server does not speak MCP 2026-07-28, so there is no second round"
                    .to_owned()
            }
            Self::WriteMode => "--write has no `{mode}`".to_owned(),
            Self::Identity => {
                "no argument of --write is `{operation}`, a key that the client chooses, by which the server could know a retry".to_owned()
            }
            Self::ReadEffects => "no --store says where effects are counted".to_owned(),
            Self::StoreLock => text.to_owned(),
            Self::Principal | Self::Deadlines | Self::BusyTimeout | Self::Workers => {
                text.replacen("[launch] does not mention", "neither the command nor an -e mentions", 1)
            }
            Self::ReadLedger
            | Self::ReadWatchers
            | Self::ReadCompensations
            | Self::ReadSteps
            | Self::ReadEvents
            | Self::ReadExecutions
            | Self::ReadLeases
            | Self::ReadRetries
            | Self::ReadOutside
            | Self::Status
            | Self::RepliesReplayed
            | Self::ContractConflict
            | Self::Rotations
            | Self::Clock
            | Self::Failpoints
            | Self::WriteSubmit
            | Self::WriteGate
            | Self::WriteFailing
            | Self::WriteCancel
            | Self::Leases
            | Self::OutsideKey
            | Self::Worker
            | Self::Reaper
            | Self::Tampering
            | Self::Reconcile => format!("only a profile (target.toml) can say it: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_for_flags_names_flags_or_the_profile() {
        for &surface in Surface::ALL {
            let advice = surface.advice(true);
            let names_a_key = advice.contains('[') && !advice.contains("profile");
            assert!(!names_a_key, "{advice}");
        }
    }
}
