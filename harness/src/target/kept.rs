//! A target as `run.json` keeps it, so that the run can be repeated; and the way back. No value of a secret is in it.
//!
//! What comes back was written by whoever made the evidence: nothing of it may be run because it stands there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::resolve::SECRET_BYTES;
use super::resolved::{Clock, Rotated, SecretSource, Status, Store, Target, Write};
use crate::case::{Role, Rotation};

/// What nobody needs who only reads evidence: the rest of what a target is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptTarget {
    /// The working directory, where somebody said which; a template. Older harnesses kept the folder that they were called in
    /// where nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether the caller's whole environment was passed on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherit_env: bool,
    /// Where the secrets come from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, KeptSecret>,
    /// Variables of what works on the store beside the server, by role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub process_env: BTreeMap<Role, BTreeMap<String, String>>,
    /// Where it keeps what it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Store>,
    /// Its write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Write>,
    /// Its status tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// How time is moved under it.
    #[serde(default)]
    pub clock: Clock,
    /// The variable that names a failpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failpoints_env: Option<String>,
    /// The variable that names a planted defect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defects_env: Option<String>,
    /// What a restarted server has another one of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rotations: BTreeMap<Rotation, KeptRotation>,
    /// The command by which the operator settles an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile: Option<Vec<String>>,
    /// Whether nobody said how effects are counted, so that it was looked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effects_looked_for: bool,
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeptSecret {
    /// So many random bytes, made for the run.
    Random(usize),
    /// A variable of the caller's environment. What stood in a file of variables is expected there too, under its own name.
    Env(String),
}

/// The variables of a rotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptRotation {
    /// Templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where the secrets come from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, KeptSecret>,
}

impl KeptTarget {
    /// What is kept of a target.
    pub fn of(target: &Target) -> Self {
        let rotation = |(rotation, rotated): (&Rotation, &Rotated)| {
            let kept = KeptRotation {
                env: rotated.env.clone(),
                secrets: kept_secrets(&rotated.secrets),
            };
            (*rotation, kept)
        };
        let launch = &target.launch;
        Self {
            cwd: launch.cwd.clone().filter(|_| launch.cwd_is_said),
            inherit_env: launch.inherit_env,
            secrets: kept_secrets(&launch.secrets),
            process_env: (target.processes.iter())
                .filter(|(_, process)| !process.env.is_empty())
                .map(|(role, process)| (*role, process.env.clone()))
                .collect(),
            store: target.store.clone(),
            write: target.write.clone(),
            status: target.status.clone(),
            clock: target.clock.clone(),
            failpoints_env: target.failpoints_env.clone(),
            defects_env: target.defects_env.clone(),
            rotations: target.rotations.iter().map(rotation).collect(),
            reconcile: target.reconcile.clone(),
            effects_looked_for: target.read_effects.is_none(),
        }
    }

    /// Adds it to a target of which the rest is known. Artifacts are not: what was launched may lie elsewhere now, and its
    /// program is digested all the same.
    pub fn complete(self, mut target: Target) -> Target {
        let rotation = |(rotation, kept): (Rotation, KeptRotation)| {
            let rotated = Rotated {
                env: kept.env,
                secrets: secrets(kept.secrets),
            };
            (rotation, rotated)
        };
        for (role, env) in self.process_env {
            if let Some(process) = target.processes.get_mut(&role) {
                process.env = env;
            }
        }
        let launch = &mut target.launch;
        launch.cwd_is_said = self.cwd.is_some();
        launch.cwd = self.cwd;
        launch.inherit_env = self.inherit_env;
        launch.secrets = secrets(self.secrets);
        if self.effects_looked_for {
            target.read_effects = None;
        }
        Target {
            store: self.store,
            write: self.write,
            status: self.status,
            clock: self.clock,
            failpoints_env: self.failpoints_env,
            defects_env: self.defects_env,
            rotations: self.rotations.into_iter().map(rotation).collect(),
            reconcile: self.reconcile,
            ..target
        }
    }
}

fn kept_secrets(sources: &BTreeMap<String, SecretSource>) -> BTreeMap<String, KeptSecret> {
    let kept = |(name, source): (&String, &SecretSource)| {
        let kept = match source {
            SecretSource::Random(bytes) => KeptSecret::Random(*bytes),
            SecretSource::Env(variable) => KeptSecret::Env(variable.clone()),
            SecretSource::Value(_) => KeptSecret::Env(name.clone()),
        };
        (name.clone(), kept)
    };
    sources.iter().map(kept).collect()
}

fn secrets(kept: BTreeMap<String, KeptSecret>) -> BTreeMap<String, SecretSource> {
    let source = |(name, kept)| {
        let source = match kept {
            KeptSecret::Random(bytes) => SecretSource::Random(bytes.clamp(*SECRET_BYTES.start(), *SECRET_BYTES.end())),
            KeptSecret::Env(variable) => SecretSource::Env(variable),
        };
        (name, source)
    };
    kept.into_iter().map(source).collect()
}
