//! A dry run: everything that would be launched, written and killed, as a value. Nothing is started, and nothing is kept.

use serde::Serialize;

use super::conductor::{case_named, plan_case, setting_of};
use super::request::{ConductError, Request};
use crate::case::{Role, StartStep};
use crate::plan::Plan;
use crate::protocol::Protocol;
use crate::readback::Selector;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DryRun {
    /// The target in one line.
    pub target: String,
    /// The revision of MCP that is wanted.
    pub protocol: Protocol,
    /// Program and arguments, filled in for the first case.
    pub command: Vec<String>,
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
    /// The plans of the cases, in order, controls first.
    pub plans: Vec<Plan>,
    /// Ids of those that the target lacks a surface for.
    pub unsupported: Vec<String>,
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
    let kill = setting.kill_command(&launch).map_err(staged)?;
    let store = setting.store_path(&stage).map_err(staged)?;
    let mut target = setting.target.clone();
    if target.write.is_some() && target.store.is_some() {
        // Where nobody said it, the query is found before any case.
        target.read_effects.get_or_insert_with(|| Selector::sql("$marker"));
    }
    let mut plans = Vec::new();
    let mut unsupported = Vec::new();
    for id in &request.selection.execute {
        let plan = plan_case(&target, case_named(&request.catalogue, id), request)?;
        if !plan.missing(case_named(&request.catalogue, id)).is_empty() {
            unsupported.push(id.clone());
        }
        plans.push(plan);
    }
    let text = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
    Ok(DryRun {
        target: request.target.title(),
        protocol: request.target.protocol,
        command: std::iter::once(&spec.program).chain(&spec.args).map(text).collect(),
        kill: kill.map(|kill| kill.words()),
        cannot_kill: target.launch.cannot_kill(),
        cwd: spec.cwd.display().to_string(),
        home: spec.env.get(std::ffi::OsStr::new("HOME")).map(text).unwrap_or_default(),
        environment: spec.env.keys().map(text).collect(),
        store: store.map(|path| path.display().to_string()),
        read_effects: setting.target.read_effects.as_ref().map(ToString::to_string),
        plans,
        unsupported,
    })
}
