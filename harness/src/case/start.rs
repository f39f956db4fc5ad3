//! The `start` step: what kind of process, and how it differs from the usual one.

use serde::{Deserialize, Serialize};

use super::definition::BOUND_MS_MAX;
use super::step::is_usual;

/// No clock is moved further than this, and no server is told of a longer time, in seconds: about three years.
pub(super) const SECONDS_MAX: u64 = 100_000_000;

/// Most workers that one server is told to have.
const WORKERS_MAX: u64 = 64;

/// Most attempts that an execution is given.
const ATTEMPTS_MAX: u64 = 1_000;

/// What kind of process a step starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// An MCP server: `[launch]`.
    #[default]
    Server,
    /// One that does what was submitted: `[processes.worker]`.
    Worker,
    /// One that expires leases and makes retries ready: `[processes.reaper]`.
    Reaper,
}

impl Role {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Server, Self::Worker, Self::Reaper];

    /// The name that cases and profiles use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Worker => "worker",
            Self::Reaper => "reaper",
        }
    }

    /// A process of this kind, by the name that its case gives it, in a sentence.
    pub fn of_process(self, process: &str) -> String {
        match self {
            Self::Server => "the server".to_owned(),
            Self::Worker | Self::Reaper if process == self.name() => format!("the {process}"),
            Self::Worker | Self::Reaper => format!("the {} `{process}`", self.name()),
        }
    }
}

/// `start = "server"` and what goes with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StartStep {
    /// What kind of process.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub role: Role,
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
    /// How many workers the server itself has (1 where absent); of submitted writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
    /// How long a lease is good without a heartbeat (seconds; 30 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<u64>,
    /// How often a worker says that it lives (seconds; 10 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_s: Option<u64>,
    /// How many attempts an execution gets (3 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// The wait after the first failed attempt, which doubles (seconds; 5 where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_s: Option<u64>,
    /// Which key an effect outside the store is given (the execution id where absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_key: Option<OutsideKey>,
}

/// Which key an effect outside the store is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutsideKey {
    /// The execution id: the other side can know a repeat.
    #[default]
    ExecutionId,
    /// None.
    None,
}

impl OutsideKey {
    /// What `{outside_key}` is filled in with.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExecutionId => "execution-id",
            Self::None => "none",
        }
    }
}

impl Settings {
    /// The lengths, by the names of the placeholders that stand for them in a profile.
    fn lengths(&self) -> [(&'static str, u64); 9] {
        [
            ("authority_s", self.authority_s.unwrap_or(300)),
            ("retention_s", self.retention_s.unwrap_or(360)),
            ("state_s", self.state_s.unwrap_or(600)),
            ("busy_ms", self.busy_ms.unwrap_or(5_000)),
            ("workers", self.workers.unwrap_or(1)),
            ("lease_s", self.lease_s.unwrap_or(30)),
            ("heartbeat_s", self.heartbeat_s.unwrap_or(10)),
            ("attempts", self.attempts.unwrap_or(3)),
            ("backoff_s", self.backoff_s.unwrap_or(5)),
        ]
    }

    /// The placeholders of a profile that stand for them, with the values here.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, String)> {
        let lengths = self.lengths().map(|(name, length)| (name, length.to_string()));
        let key = ("outside_key", self.outside_key.unwrap_or_default().name().to_owned());
        lengths.into_iter().chain([key])
    }

    /// Whether a server can be told of them.
    pub(super) fn require_lengths(&self) -> Result<(), String> {
        for (name, length) in self.lengths() {
            // A lease that is over when it begins, and no attempt at all, are no execution.
            let (min, max, unit) = match name {
                "busy_ms" => (0, BOUND_MS_MAX, "milliseconds"),
                "workers" => (0, WORKERS_MAX, "workers"),
                "attempts" => (1, ATTEMPTS_MAX, "attempts"),
                "lease_s" | "heartbeat_s" => (1, SECONDS_MAX, "seconds"),
                _ => (0, SECONDS_MAX, "seconds"),
            };
            if length > max {
                return Err(format!("settings: {name} = {length}: it has at most {max} {unit}"));
            }
            if length < min {
                return Err(format!("settings: {name} = {length}: it has at least {min} {unit}"));
            }
        }
        Ok(())
    }

    /// Whether a length of leases or retries differs from the usual one.
    pub fn moves_a_lease(&self) -> bool {
        let lengths = [self.lease_s, self.heartbeat_s, self.attempts, self.backoff_s];
        lengths.iter().any(Option::is_some)
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
