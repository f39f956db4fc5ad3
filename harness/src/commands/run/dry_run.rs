//! What a run would do, for people and programs.

use super::{ExitStatus, Format};
use crate::conduct::DryRun;
use crate::plan::Plan;
use crate::report::{Printer, Style, plain, span};

/// Prints a dry run.
pub(super) fn show(format: Format, dry: &DryRun, printer: &mut Printer) -> ExitStatus {
    match format {
        Format::Json => printer.json(dry),
        Format::Jsonl => printer.json_line(dry),
        Format::Human => show_plan(printer, dry),
    }
    ExitStatus::Success
}

fn show_plan(printer: &mut Printer, dry: &DryRun) {
    let mut line = |label: &str, text: &str| printer.line(&[span(Style::Bold, format!("{label:<10}")), plain(text)]);
    line("target", &dry.target);
    line("protocol", &dry.protocol.in_words());
    line("launch", &dry.command.join(" "));
    for (role, beside) in &dry.processes {
        line(role.name(), &beside.command.join(" "));
        let is_own = |name: &&String| !dry.environment.contains(name);
        let own: Vec<&str> = beside.environment.iter().filter(is_own).map(String::as_str).collect();
        if !own.is_empty() {
            line("", &format!("with its own variables {}", own.join(" ")));
        }
    }
    if let Some(kill) = &dry.kill {
        line("kill with", &kill.join(" "));
    }
    if let Some(reason) = &dry.cannot_kill {
        line("no kill", reason);
    }
    line("in", &dry.cwd);
    line("HOME", &format!("{} (new for each case)", dry.home));
    line("variables", &dry.environment.join(" "));
    if let Some(store) = &dry.store {
        line("store", store);
        line(
            "effects",
            dry.read_effects
                .as_deref()
                .unwrap_or("looked for by marker, after one write"),
        );
    }
    for (name, statement) in &dry.tampering {
        line(
            "tampering",
            &format!("{name}, on a copy of the frozen store: {statement}"),
        );
    }
    let can_be_run = |plan: &&Plan| !dry.unsupported.contains(&plan.case);
    for plan in dry.plans.iter().filter(can_be_run) {
        printer.blank();
        printer.line(&[span(Style::Bold, plan.case.as_str())]);
        for (index, step) in plan.steps.iter().enumerate() {
            printer.line(&[
                span(Style::Dim, format!("  {:>2}  ", index + 1)),
                plain(step.in_words()),
            ]);
        }
        for (name, operation) in &plan.operations {
            if let Some(call) = &operation.write {
                let arguments = serde_json::Value::from(call.arguments.clone());
                printer.line(&[plain(format!("      {name}: {} {arguments}", call.tool))]);
            }
        }
    }
    if !dry.lacking.is_empty() {
        printer.blank();
    }
    for (advice, cases) in &dry.lacking {
        let cases = cases.join(", ");
        printer.line(&[span(Style::Dim, format!("unsupported  {advice}: {cases}"))]);
    }
}
