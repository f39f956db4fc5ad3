//! A dry run: everything that would be launched, written and killed, as a value. Nothing is started, and nothing is kept.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::Serialize;

use super::conductor::{case_named, plan_case, setting_of};
use super::request::{ConductError, Request};
use crate::case::{Role, StartStep};
use crate::drive::process::LaunchSpec;
use crate::drive::{RunSetting, StageError};
use crate::plan::Plan;
use crate::protocol::Protocol;
use crate::readback::Selector;
use crate::target::Target;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DryRun {
    /// The target in one line.
    pub target: String,
    /// The revision of MCP that is wanted.
    pub protocol: Protocol,
    /// Program and arguments, filled in for the first case.
    pub command: Vec<String>,
    /// What is launched beside the server, by role, where a case starts it.
    pub processes: BTreeMap<Role, Beside>,
    /// The command that kills the server, filled in likewise, where what is launched does not own it.
    pub kill: Option<Vec<String>>,
    /// Why no case that kills can be run, where that is known.
    pub cannot_kill: Option<String>,
    /// The working directory.
    pub cwd: String,
    /// The new HOME of the server.
    pub home: String,
    /// The names of all variables that it gets.
    pub environment: Vec<String>,
    /// The store that is read back.
    pub store: Option<String>,
    /// The query that counts effects; absent where it is looked for first.
    pub read_effects: Option<String>,
    /// The statements that would change the event log, by name, which are tried on copies of a frozen store.
    pub tampering: BTreeMap<String, String>,
    /// The plans of the cases, in order, controls first.
    pub plans: Vec<Plan>,
    /// Ids of those that the target lacks a surface for.
    pub unsupported: Vec<String>,
    /// The same, by the first thing that each of them lacks, in words.
    pub lacking: BTreeMap<String, Vec<String>>,
}

/// What is launched beside the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// Program and arguments, filled in for the first case and a process that is called like its role.
    pub command: Vec<String>,
    /// The names of all variables that it gets.
    pub environment: Vec<String>,
}

/// Plans a run, with every check that a run begins with.
pub fn dry_run(request: &Request) -> Result<DryRun, ConductError> {
    let staged = |error| ConductError::stage(request, error);
    let setting = setting_of(request)?;
    let stage = setting.dry_stage();
    let launch = setting.for_launch(&stage, &StartStep::default());
    let spec = setting
        .launch_spec(&launch, Role::Server, std::path::PathBuf::new())
        .map_err(staged)?;
    let processes = beside(&setting).map_err(staged)?;
    let kill = setting.kill_command(&launch).map_err(staged)?;
    let store = setting.store_path(&stage).map_err(staged)?;
    let target = with_effects_found(&setting.target);
    let mut plans = Vec::new();
    let mut unsupported = Vec::new();
    let mut lacking = BTreeMap::new();
    for id in &request.selection.execute {
        let plan = plan_case(&target, case_named(&request.catalogue, id), request)?;
        if let Some(surface) = plan.missing(case_named(&request.catalogue, id)).first() {
            unsupported.push(id.clone());
            let advice = surface.advice(plan.by_flags);
            let cases: &mut Vec<String> = lacking.entry(advice).or_default();
            cases.push(id.clone());
        }
        plans.push(plan);
    }
    Ok(DryRun {
        target: request.target.title(),
        protocol: request.target.protocol,
        command: words(&spec),
        processes,
        kill: kill.map(|kill| kill.words()),
        cannot_kill: target.launch.cannot_kill(),
        cwd: spec.cwd.display().to_string(),
        home: spec.env.get(std::ffi::OsStr::new("HOME")).map(text).unwrap_or_default(),
        environment: spec.env.keys().map(text).collect(),
        store: store.map(|path| path.display().to_string()),
        read_effects: setting.target.read_effects.as_ref().map(ToString::to_string),
        tampering: setting.target.tampering.clone(),
        plans,
        unsupported,
        lacking,
    })
}

/// The target as it is once its effect was looked for: where nobody said how it is counted, that is found before any case.
pub fn with_effects_found(target: &Target) -> Target {
    let mut target = target.clone();
    if target.write.is_some() && target.store.is_some() {
        target.read_effects.get_or_insert_with(|| Selector::sql("$marker"));
    }
    target
}

/// How each kind of process is launched that the target has beside its server.
fn beside(setting: &RunSetting) -> Result<BTreeMap<Role, Beside>, StageError> {
    let stage = setting.dry_stage();
    let launched = setting.target.processes.keys().map(|role| {
        let start = StartStep {
            role: *role,
            process: role.name().to_owned(),
            ..StartStep::default()
        };
        let launch = setting.for_launch(&stage, &start);
        let spec = setting.launch_spec(&launch, *role, std::path::PathBuf::new())?;
        let beside = Beside {
            command: words(&spec),
            environment: spec.env.keys().map(text).collect(),
        };
        Ok((*role, beside))
    });
    launched.collect()
}

fn words(spec: &LaunchSpec) -> Vec<String> {
    std::iter::once(&spec.program).chain(&spec.args).map(text).collect()
}

fn text(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}
