//! `inspect`: shows what stands in a store: operations, executions, effects, the step log.

use std::ffi::OsString;

use super::inspect_execution::{push_execution, push_totals};
use super::{Failure, say};
use crate::ledger::inspection::{InspectError, Inspection, Operation, Step};
use crate::settings;

/// The arguments of `inspect`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Read-only: it never creates, repairs or changes a store, and works while a server is running.

Of one execution it also shows the event log.

Exit codes: 0 shown; 1 no such operation or execution, or the store cannot be read;
2 wrong usage, setting or store.")]
pub struct InspectArguments {
    /// Only this operation or execution; everything when it is left out
    pub operation: Option<String>,
    /// The SQLite store; it must exist
    #[arg(long, env = "GUARD_DATABASE", value_name = "PATH", hide_env_values = true)]
    pub database: Option<OsString>,
    /// The clock that tells what is left of a lease: `system`, `fixed:UNIX_SECONDS`, or `file:PATH`
    #[arg(
        long,
        env = "GUARD_CLOCK",
        value_name = "CLOCK",
        default_value = "system",
        hide_env_values = true
    )]
    pub clock: OsString,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// One JSON document
    Json,
}

/// Reads the store and shows it on stdout.
pub(super) fn inspect(written: &InspectArguments) -> Result<(), Failure> {
    let database = settings::database(written.database.as_deref())?;
    // A clock that tells no time hides what is left, and nothing else.
    let now_s = settings::clock(&written.clock)?.now_s().ok();
    let found = Inspection::read(&database, written.operation.as_deref(), now_s).map_err(|error| match error {
        InspectError::Open(error) => Failure::store(&database, error),
        InspectError::Sqlite(_) | InspectError::Copy(_) => Failure::Refused(error.to_string()),
    })?;
    if let (Some(operation), true) = (&written.operation, found.is_empty()) {
        let message = format!("nothing is on record of {operation:?}; `inspect` without a name shows everything");
        return Err(Failure::Refused(message));
    }
    say(&match written.format {
        Format::Human => for_people(&found),
        Format::Json => {
            let text = serde_json::to_string_pretty(&found).expect("plain texts and numbers are always JSON");
            text + "\n"
        }
    })
}

/// What callers chose is quoted, and everything is escaped: a title must not move the terminal's cursor.
fn for_people(found: &Inspection) -> String {
    let mut text = String::new();
    let store = format!("store of backend {:?}, schema {}", found.backend, found.schema_version);
    push_line(&mut text, &store);
    push_totals(&mut text, &found.execution);
    if found.is_empty() {
        push_line(&mut text, "no operation is on record, and there is no effect");
    }
    for operation in &found.operations {
        push_operation(&mut text, found, operation);
    }
    for execution in &found.execution.executions {
        push_execution(&mut text, &found.execution, execution);
        push_traces(&mut text, found, &execution.execution_id);
    }
    let executions = &found.execution.executions;
    let on_record = |id: &str| {
        let operation = found.operations.iter().any(|operation| operation.operation_id == id);
        operation || executions.iter().any(|execution| execution.execution_id == id)
    };
    let mut stray: Vec<&str> = Vec::new();
    let of_effects = found.effects.iter().map(|effect| &effect.operation_id);
    let of_steps = found
        .step_log
        .iter()
        .chain(&found.compensations)
        .map(|step| &step.operation_id);
    for id in of_effects.chain(of_steps) {
        if !on_record(id) && !stray.contains(&id.as_str()) {
            stray.push(id);
        }
    }
    for id in stray {
        push_line(&mut text, "");
        push_line(&mut text, &format!("operation {id:?}: not on record"));
        push_traces(&mut text, found, id);
    }
    text
}

fn push_operation(text: &mut String, found: &Inspection, operation: &Operation) {
    push_line(text, "");
    push_line(
        text,
        &format!("operation {:?}: {}", operation.operation_id, operation.state),
    );
    let of = format!(
        "{} {:?}, for {:?}",
        operation.tool, operation.tool_version, operation.principal
    );
    push_line(text, &format!("  asked         {of}"));
    push_line(text, &format!("  admitted      {}", operation.admitted_at));
    if let Some(at) = &operation.committed_at {
        let until = operation.replay_until.as_deref().unwrap_or("never");
        push_line(text, &format!("  settled       {at}, replayed until {until}"));
    }
    if let Some(result) = &operation.result {
        push_line(text, &format!("  result        {result}"));
    }
    push_traces(text, found, &operation.operation_id);
    if operation.state == "in_progress" {
        push_line(text, "  next          find out what became of it, then `reconcile` it");
    }
}

fn push_traces(text: &mut String, found: &Inspection, operation_id: &str) {
    for effect in found
        .effects
        .iter()
        .filter(|effect| effect.operation_id == operation_id)
    {
        let (id, title, bytes) = (effect.issue_id, &effect.title, effect.body.len());
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        let line = format!(
            "  effect        issue {id} {title:?}, body of {bytes} {unit}, {}",
            effect.created_at
        );
        push_line(text, &line);
    }
    for (label, steps) in [("step", &found.step_log), ("compensation", &found.compensations)] {
        for step in steps.iter().filter(|step| step.operation_id == operation_id) {
            push_step(text, label, step);
        }
    }
}

fn push_step(text: &mut String, label: &str, step: &Step) {
    let detail = step
        .detail
        .as_ref()
        .map_or(String::new(), |detail| format!(" ({detail:?})"));
    push_line(
        text,
        &format!("  {label:<12}  {} {} {}{detail}", step.at, step.step, step.outcome),
    );
}

/// The one way into the text: whatever does not print is escaped here.
pub(super) fn push_line(text: &mut String, line: &str) {
    for character in line.chars() {
        match character {
            '"' | '\'' | '\\' => text.push(character),
            another => text.extend(another.escape_debug()),
        }
    }
    text.push('\n');
}
