//! `run.json`: what was run, where, by whom, on what, and with which verdicts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use super::secret::SecretsSearch;
use super::verdict::Verdict;
use crate::case::Role;
use crate::plan::Naming;
use crate::protocol::{Protocol, Revision};
use crate::readback::Selector;
use crate::target::{Contract, Identity, KeptTarget, Replies, SideProcess, Target, TargetSource, command_only};

/// The version of `run.json` that this harness writes.
pub const RUN_FORMAT: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// Whether it came to its end.
    pub state: RunState,
    /// Who ran it.
    pub harness: HarnessSummary,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Where.
    pub host: Host,
    /// What kind of faults this harness could set here. This version sets them at the stdio boundary only.
    pub tier: String,
    /// On what.
    pub target: TargetSummary,
    /// What the server said of itself.
    pub server: Option<ServerSeen>,
    /// Where identities and markers come from.
    pub naming: Naming,
    /// The run that this one repeats, where it repeats one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<RerunOf>,
    /// The bound on every wait that was asked for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The defect that was planted, where one was.
    pub defect: Option<String>,
    /// Ids of all cases that this harness carries.
    pub catalogue: Vec<String>,
    /// The files of the user's own cases that were run, as they were named, by id. They are no part of the catalogue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub case_files: BTreeMap<String, String>,
    /// Ids of the cases asked for.
    pub requested: Vec<String>,
    /// Those of them that were named one by one, so that each is a gate.
    pub named: Vec<String>,
    /// Ids of the cases run, controls included, in order.
    pub executed: Vec<String>,
    /// Why no case was run, where none was.
    pub nothing_run: Option<NothingRun>,
    /// What it was compared with.
    #[serde(default, skip_serializing_if = "Baseline::is_empty")]
    pub baseline: Baseline,
    /// Verdicts by case.
    pub verdicts: BTreeMap<String, CaseSummary>,
    /// What became of the search for the values of its own secrets; absent where the run was cut off before. The last
    /// member, so that a place in this file stays where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets_search: Option<SecretsSearch>,
}

/// The run that another one repeats, by what identifies its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RerunOf {
    /// When it was begun, by its own word.
    pub started_at: String,
    /// SHA-256 of its `SHA256SUMS`; absent where it has none.
    pub sums_sha256: Option<String>,
    /// SHA-256 of the archive that it came in; absent where it came as a folder.
    pub archive_sha256: Option<String>,
}

/// Why no case of a run was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NothingRun {
    /// What kept us from it.
    pub kind: NothingRunKind,
    /// In a sentence.
    pub reason: String,
}

/// What kept us from running any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NothingRunKind {
    /// The server did not start.
    DidNotStart,
    /// It started, and nothing of what it wrote could be counted.
    Blind,
    /// It started, and does not offer what the target's description names.
    NotOffered,
}

impl NothingRunKind {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::DidNotStart => "DID NOT START",
            Self::Blind => "INCONCLUSIVE",
            Self::NotOffered => "NOT OFFERED",
        }
    }
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Not yet; also what is found after a crash of the harness.
    Running,
    /// All that was to be executed was executed and judged.
    Finished,
    /// The user stopped it.
    Interrupted,
}

/// Who ran it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HarnessSummary {
    /// Version of the harness.
    pub version: String,
    /// SHA-256 of its executable.
    pub sha256: Option<String>,
    /// The version of the judge.
    pub judge: u32,
}

/// Where it was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Operating system.
    pub os: String,
    /// Processor architecture.
    pub arch: String,
    /// Kernel release, where it is known.
    pub kernel: Option<String>,
}

/// The target as resolved; of secrets the names only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetSummary {
    /// Its name.
    pub name: String,
    /// Where its description came from.
    pub source: TargetSource,
    /// Program and arguments, as templates.
    pub command: Vec<String>,
    /// The command that kills the server, where what is launched does not own it; a template too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Vec<String>>,
    /// Variables that the profile sets.
    pub env: BTreeMap<String, String>,
    /// Names of the variables whose values appear in no file.
    pub secrets: Vec<String>,
    /// What it promises.
    pub contract: Contract,
    /// How its replies are read.
    pub replies: Replies,
    /// Where its identity travels.
    pub identity: Identity,
    /// What counts as an effect.
    pub read_effects: Option<Selector>,
    /// What counts as an operation row.
    pub read_ledger: Option<Selector>,
    /// What else is read, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub read_more: BTreeMap<String, Selector>,
    /// Statements that would change the event log, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tampering: BTreeMap<String, String>,
    /// Commands of what works on the store beside the server, by role; templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub processes: BTreeMap<Role, Vec<String>>,
    /// The revision of MCP that was wanted; absent where it was the server's to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Revision>,
    /// Digests of what was launched.
    pub artifacts: Vec<ArtifactDigest>,
    /// Everything else that has to be known to repeat the run; absent in evidence of harnesses that could not repeat any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<KeptTarget>>,
}

impl TargetSummary {
    /// What is said of a target; its artifacts are digested at the end of the run.
    pub fn of(target: &Target) -> Self {
        let processes = target.processes.iter();
        Self {
            name: target.name.clone(),
            source: target.source.clone(),
            command: target.launch.command.clone(),
            kill: target.launch.kill.clone(),
            env: target.launch.env.clone(),
            secrets: target.launch.secrets.keys().cloned().collect(),
            contract: target.contract.clone(),
            replies: target.replies.clone(),
            identity: target.identity.clone(),
            read_effects: target.read_effects.clone(),
            read_ledger: target.read_ledger.clone(),
            read_more: target.read_more.clone(),
            tampering: target.tampering.clone(),
            processes: processes
                .map(|(role, process)| (*role, process.command.clone()))
                .collect(),
            protocol: target.protocol.revision(),
            artifacts: Vec::new(),
            kept: Some(Box::new(KeptTarget::of(target))),
        }
    }

    /// The target again, as whoever made the evidence says; nothing where too little of it was kept.
    pub fn whole(&self) -> Option<Target> {
        let kept = self.kept.as_deref()?.clone();
        let process = |(role, command): (&Role, &Vec<String>)| {
            let process = SideProcess {
                command: command.clone(),
                env: BTreeMap::new(),
            };
            (*role, process)
        };
        let mut target = command_only(self.command.clone());
        target.launch.env.clone_from(&self.env);
        target.launch.kill.clone_from(&self.kill);
        target.want(self.protocol.map_or(Protocol::Auto, Protocol::Only));
        Some(kept.complete(Target {
            name: self.name.clone(),
            source: self.source.clone(),
            contract: self.contract.clone(),
            replies: self.replies.clone(),
            identity: self.identity.clone(),
            read_effects: self.read_effects.clone(),
            read_ledger: self.read_ledger.clone(),
            read_more: self.read_more.clone(),
            tampering: self.tampering.clone(),
            processes: self.processes.iter().map(process).collect(),
            ..target
        }))
    }

    /// One line: name, source, contract; the words of the run itself.
    pub fn title(&self) -> String {
        self.source
            .title(&self.name, self.contract.preset.name(), self.protocol)
    }
}

/// The digest of one file or folder that was launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArtifactDigest {
    /// Its path as it was resolved.
    pub path: String,
    /// Its SHA-256; absent where it could not be read.
    pub sha256: Option<String>,
}

/// What the server said of itself in the handshake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerSeen {
    /// `serverInfo.name`.
    pub name: Option<String>,
    /// `serverInfo.version`.
    pub version: Option<String>,
    /// The protocol revision that was spoken.
    pub protocol: String,
}

/// The verdict on one case, in short; `verdict.json` has the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseSummary {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence, where it is not a pass.
    pub reason: Option<String>,
    /// How long it took, in microseconds.
    pub micros: u64,
}
