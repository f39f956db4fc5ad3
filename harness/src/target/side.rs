//! What happens beside the server's own process: executions of submitted writes, processes that work on the store, and
//! statements that would change its event log.

use std::collections::BTreeMap;

use super::placeholder::{Values, mentions};
use super::resolve::pointer;
use super::resolved::{SideProcess, Submitted};
use super::written::{ProcessWritten, ProcessesWritten, SubmittedWritten};
use crate::case::Role;
use crate::readback::Selector;

/// The placeholder of what names an execution.
pub(crate) const EXECUTION: &str = "execution";

/// Resolves `[processes]`.
pub(super) fn processes(written: ProcessesWritten) -> Result<BTreeMap<Role, SideProcess>, String> {
    let ProcessesWritten { worker, reaper } = written;
    let mut processes = BTreeMap::new();
    for (role, process) in [(Role::Worker, worker), (Role::Reaper, reaper)] {
        if let Some(ProcessWritten { command, env }) = process {
            if command.first().is_none_or(String::is_empty) {
                return Err(format!(
                    "[processes.{}] command is empty: name the program",
                    role.name()
                ));
            }
            processes.insert(role, SideProcess { command, env });
        }
    }
    Ok(processes)
}

/// Resolves `[write.submitted]`.
pub(super) fn submitted(written: SubmittedWritten) -> Result<Submitted, String> {
    let known = Values::default().with(EXECUTION, "");
    let cancel = written.cancel.map(|cancel| (cancel.tool, cancel.arguments));
    let arguments = cancel.iter().map(|(_, arguments)| ("cancel.arguments", arguments));
    for (key, template) in arguments.chain([("arguments", &written.arguments)]) {
        known
            .fill_map(template)
            .map_err(|error| format!("write.submitted.{key}: {error}"))?;
        if !mentions(template, EXECUTION) {
            return Err(format!(
                "write.submitted.{key} carries no {{{EXECUTION}}}, so it is not said which execution is meant"
            ));
        }
    }
    if written.ended.is_empty() {
        return Err("write.submitted.ended is empty: name the states after which nothing comes".to_owned());
    }
    Ok(Submitted {
        id: pointer("write.submitted.id", &written.id)?,
        tool: written.tool,
        arguments: written.arguments,
        state: pointer("write.submitted.state", &written.state)?,
        ended: written.ended,
        cancel,
    })
}

/// Resolves `[tampering]`: names become parts of the paths of facts, and what is tried is compared by what `[read.events]` reads.
pub(super) fn tampering(
    written: BTreeMap<String, String>,
    reads: &BTreeMap<String, Selector>,
) -> Result<BTreeMap<String, String>, String> {
    if !written.is_empty() && !matches!(reads.get("events"), Some(Selector::Sql { .. })) {
        return Err("[tampering] changes what [read.events] reads by `sql`: add it".to_owned());
    }
    let is_word = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    match written.keys().find(|name| !is_word(name)) {
        Some(name) => Err(format!(
            "[tampering] {name}: the name must be letters, digits and underscores"
        )),
        None => Ok(written),
    }
}
