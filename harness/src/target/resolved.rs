//! The target as resolved: what everything after the command line works on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::Contract;
use super::placeholder::mentions;
use crate::case::{Role, Rotation, Surface};
use crate::protocol::{Era, Protocol, Revision};
use crate::readback::Selector;

/// A server under test.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The name that the profile gives it.
    pub name: String,
    /// Where the description came from.
    pub source: TargetSource,
    /// How it is started.
    pub launch: Launch,
    /// What works on its store beside it.
    pub processes: BTreeMap<Role, SideProcess>,
    /// Where it keeps what it writes.
    pub store: Option<Store>,
    /// Its write.
    pub write: Option<Write>,
    /// Where the operation identity travels.
    pub identity: Identity,
    /// What it promises.
    pub contract: Contract,
    /// How its replies are read.
    pub replies: Replies,
    /// Its status tool.
    pub status: Option<Status>,
    /// What counts as an effect, by marker.
    pub read_effects: Option<Selector>,
    /// What counts as an operation row.
    pub read_ledger: Option<Selector>,
    /// What else is read, by the name that it has in `[read]`, such as `watchers` or `events`.
    pub read_more: BTreeMap<String, Selector>,
    /// How time is moved under it.
    pub clock: Clock,
    /// The environment variable that names a failpoint.
    pub failpoints_env: Option<String>,
    /// The environment variable that names a planted defect.
    pub defects_env: Option<String>,
    /// Statements that would change the event log, by name.
    pub tampering: BTreeMap<String, String>,
    /// What a restarted server has another one of, as variables.
    pub rotations: BTreeMap<Rotation, Rotated>,
    /// The command by which the operator settles an operation; words are templates.
    pub reconcile: Option<Vec<String>>,
    /// Whether the server is known to speak the legacy era, in which a request has no second round.
    pub is_legacy: bool,
    /// Which revision of MCP is to be spoken with it.
    pub protocol: Protocol,
}

/// The variables of a rotation, which replace those of `[launch]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Values are templates.
    pub env: BTreeMap<String, String>,
    /// Variables whose values appear in no file.
    pub secrets: BTreeMap<String, SecretSource>,
}

/// Where the description of a target came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TargetSource {
    /// The reference server that this binary carries.
    BuiltIn,
    /// A profile.
    Profile(PathBuf),
    /// A command line alone.
    Command,
}

impl TargetSource {
    /// One line about a target that came from here.
    pub(crate) fn title(&self, name: &str, contract: &str, wanted: Option<Revision>) -> String {
        let wanted = wanted.map_or(String::new(), |revision| format!(", MCP {}", revision.name()));
        let source = match self {
            Self::BuiltIn => "built in".to_owned(),
            Self::Profile(path) => path.display().to_string(),
            Self::Command => "command line".to_owned(),
        };
        format!("{name} ({source}, contract {contract}{wanted})")
    }
}

/// How a server is started. Strings are templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables beside the fixed list of what is passed on.
    pub env: BTreeMap<String, String>,
    /// Variables whose values appear in no file.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Files and folders whose digest says what was tested.
    pub artifact: Vec<String>,
    /// The working directory; the case's data folder where it is absent.
    pub cwd: Option<String>,
    /// Whether somebody said which; else it is where the profile is, or where the harness was called.
    pub cwd_is_said: bool,
    /// Whether the caller's whole environment is passed on.
    pub inherit_env: bool,
    /// The command that kills the server, where what is launched does not own it; never empty.
    pub kill: Option<Vec<String>>,
}

impl Launch {
    /// Whether a placeholder occurs in the command or in a variable.
    pub fn mentions(&self, name: &str) -> bool {
        let mut texts = self.command.iter().chain(self.env.values());
        texts.any(|text| text.contains(&format!("{{{name}}}")))
    }
}

/// A process that works on the server's store beside it. Strings are templates; the rest is as in [`Launch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideProcess {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables beside those of the server, or in their place.
    pub env: BTreeMap<String, String>,
}

impl SideProcess {
    fn mentions(&self, placeholder: &str) -> bool {
        let mut texts = self.command.iter().chain(self.env.values());
        texts.any(|text| text.contains(placeholder))
    }
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// So many random bytes, as lower-case hex, made for the run.
    Random(usize),
    /// A variable of the caller's environment.
    Env(String),
    /// This value, read from a file of variables.
    Value(String),
}

/// Where a server keeps what it writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Its path, of a file or a folder; a template.
    pub path: String,
    /// What makes a new store before the first start.
    pub seed: Option<Seed>,
}

/// What makes a new store before the first start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Seed {
    /// An SQL script, run on a new SQLite file.
    Script(PathBuf),
    /// A file or a folder that is copied to the store's path.
    Copy(PathBuf),
}

/// The kinds of stores that read-back knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// A SQLite database file.
    Sqlite,
    /// A file of any other kind, or a folder.
    Files,
}

/// One effectful tool call. Values are templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What to replace in the arguments for changed data.
    pub change: Map<String, Value>,
    /// Answers to the server's input requests, by the key that they have in the modern era; a question of the legacy era has
    /// none, and gets the only answer, or the one whose `content` has what is required. Empty for a write of one round.
    pub responses: Map<String, Value>,
    /// Whether `{input}` occurs, so that another input changes the data.
    pub takes_input: bool,
    /// Members of `_meta` beside the identity.
    pub meta: Map<String, Value>,
    /// What to replace in the arguments for an execution that fails.
    pub failing: Map<String, Value>,
    /// How the execution is followed, where the write is only submitted.
    pub submitted: Option<Submitted>,
}

/// How the execution of a submitted write is followed. Values of arguments are templates, with `{execution}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Submitted {
    /// JSON pointer of what names the execution, from the result of the submission.
    pub id: String,
    /// The tool that says how an execution stands.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// JSON pointer of the state in its result.
    pub state: String,
    /// The states after which nothing comes.
    pub ended: Vec<String>,
    /// The tool that ends an execution before its time, and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<(String, Map<String, Value>)>,
}

/// Where the operation identity travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Identity {
    /// In this argument.
    Argument(String),
    /// In this key of the request's `_meta`.
    Meta(String),
    /// In this member of `params`, beside the arguments.
    Params(String),
    /// The server's own natural key, at this JSON pointer of the arguments.
    Natural(String),
    /// Nowhere.
    None,
}

/// JSON pointers into what a server answers. Pointers start at the JSON-RPC `result` or `error` object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Replies {
    /// The result that replays are compared by. Where the profile does not say: the structured content, else the content.
    pub result: Option<String>,
    /// Where the server says that it replayed.
    pub replayed: Option<String>,
    /// Where the reason of a refusal stands.
    pub refusal: RefusalAt,
}

/// Where the reason of a refusal stands, in both styles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RefusalAt {
    /// In a JSON-RPC error object.
    pub error: Option<String>,
    /// In a tool result with `isError: true`.
    pub tool_error: Option<String>,
}

/// The tool that reports what became of an operation. Values are templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// JSON pointer of the observation in the result.
    pub result: String,
    /// JSON pointer, in the observation's stored result, of what a reply holds as its result; absent where that is all of it.
    pub stored: Option<String>,
    /// The structured scope that an authoritative observation must have.
    pub scope: Map<String, Value>,
}

/// How time is moved under a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// A file with Unix seconds that the server reads; a template.
    pub file: Option<String>,
    /// An SQL statement that ages an operation.
    pub age: Option<String>,
}

impl Target {
    /// Whether the target offers a surface.
    pub fn has(&self, surface: Surface) -> bool {
        match surface {
            Surface::Write => self.write.is_some(),
            Surface::WriteChange => self
                .write
                .as_ref()
                .is_some_and(|write| write.takes_input || !write.change.is_empty()),
            Surface::Identity => match self.identity {
                Identity::Argument(_) | Identity::Meta(_) | Identity::Params(_) => true,
                Identity::Natural(_) | Identity::None => false,
            },
            Surface::ReadEffects => self.read_effects.is_some() && self.store.is_some(),
            Surface::ReadLedger => self.read_ledger.is_some() && self.store.is_some(),
            Surface::Status => self.status.is_some(),
            Surface::RepliesReplayed => self.replies.replayed.is_some(),
            Surface::ContractConflict => self.contract.conflict.is_some(),
            Surface::WriteContinuation => {
                !self.is_legacy && self.write.as_ref().is_some_and(|write| !write.responses.is_empty())
            }
            Surface::WriteMode => self
                .write
                .as_ref()
                .is_some_and(|write| mentions(&write.arguments, "mode")),
            Surface::ReadWatchers => self.reads("watchers"),
            Surface::ReadCompensations => self.reads("compensations"),
            Surface::ReadSteps => self.reads("steps"),
            Surface::WriteSubmit => self.write.as_ref().is_some_and(|write| write.submitted.is_some()),
            Surface::WriteGate => self
                .write
                .as_ref()
                .is_some_and(|write| mentions(&write.arguments, "gate")),
            Surface::WriteFailing => self.write.as_ref().is_some_and(|write| !write.failing.is_empty()),
            Surface::WriteCancel => {
                let submitted = self.write.as_ref().and_then(|write| write.submitted.as_ref());
                submitted.is_some_and(|submitted| submitted.cancel.is_some())
            }
            Surface::Workers => self.launch.mentions("workers"),
            Surface::Leases => ["lease_s", "heartbeat_s", "attempts", "backoff_s"]
                .iter()
                .all(|name| self.some_process_mentions(name)),
            Surface::OutsideKey => self.some_process_mentions("outside_key"),
            Surface::Worker => self.processes.contains_key(&Role::Worker),
            Surface::Reaper => self.processes.contains_key(&Role::Reaper),
            Surface::Tampering => !self.tampering.is_empty(),
            Surface::ReadEvents => self.reads("events"),
            Surface::ReadExecutions => self.reads("executions"),
            Surface::ReadLeases => self.reads("leases"),
            Surface::ReadRetries => self.reads("retries"),
            Surface::ReadOutside => self.reads("outside"),
            Surface::Principal => self.launch.mentions("principal"),
            Surface::Deadlines => ["authority_s", "retention_s", "state_s"]
                .iter()
                .all(|name| self.launch.mentions(name)),
            Surface::BusyTimeout => self.launch.mentions("busy_ms"),
            Surface::Rotations => Rotation::ALL
                .iter()
                .all(|rotation| self.rotations.contains_key(rotation)),
            Surface::Clock => self.clock != Clock::default(),
            Surface::Failpoints => self.failpoints_env.is_some(),
            Surface::StoreLock => {
                let asks_inside =
                    self.is_legacy && self.write.as_ref().is_some_and(|write| !write.responses.is_empty());
                self.sqlite_path().is_some() && !asks_inside
            }
            Surface::Reconcile => self.reconcile.is_some(),
        }
    }

    /// Whether a placeholder occurs in how the server, or a process beside it, is started.
    fn some_process_mentions(&self, name: &str) -> bool {
        let placeholder = format!("{{{name}}}");
        self.launch.mentions(name) || self.processes.values().any(|process| process.mentions(&placeholder))
    }

    fn reads(&self, name: &str) -> bool {
        self.read_more.contains_key(name) && self.store.is_some()
    }

    /// Where the SQLite file is that holds the effects: the store itself (empty), or a path in its folder; none where they are
    /// kept in something else.
    pub fn sqlite_path(&self) -> Option<&str> {
        match self.read_effects.as_ref()?.while_living() {
            Selector::Sql { path, .. } => Some(path.as_deref().unwrap_or_default()),
            Selector::Files(_) | Selector::Places { .. } => None,
        }
    }

    /// Says which revision of MCP is to be spoken.
    pub fn want(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.is_legacy = protocol.era() == Some(Era::Legacy);
    }

    /// What errors about the profile begin with.
    pub fn place(&self) -> String {
        match &self.source {
            TargetSource::BuiltIn => "the built-in profile".to_owned(),
            TargetSource::Profile(path) => path.display().to_string(),
            TargetSource::Command => "the command".to_owned(),
        }
    }

    /// One line for people: name, source, contract, and the revision that is wanted.
    pub fn title(&self) -> String {
        let wanted = self.protocol.revision();
        self.source.title(&self.name, self.contract.preset.name(), wanted)
    }
}
