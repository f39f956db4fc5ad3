//! What a server offers, where nobody has named its write yet: its tools, and the next thing to type.

use super::printer::{Printer, Style, plain, span};
use super::result::ToolReport;

/// How many tools are listed, and how many arguments of one.
const TOOLS_MAX: usize = 40;
const ARGUMENTS_MAX: usize = 12;

/// Lists the tools, and says how one of them is tested.
pub(super) fn show_tools(printer: &mut Printer, tools: &[ToolReport], next: Option<&str>) {
    for (index, tool) in tools.iter().enumerate().take(TOOLS_MAX) {
        let label = if index == 0 { "tools" } else { "" };
        let reads = if tool.reads_only {
            "  (it only reads, by its name or annotation)"
        } else {
            ""
        };
        printer.line(&[
            span(Style::Bold, format!("{label:<10}")),
            span(Style::Bold, tool.name.as_str()),
            plain(arguments(tool)),
            span(Style::Dim, reads),
        ]);
    }
    if tools.is_empty() {
        printer.line(&[span(Style::Bold, "tools     "), plain("it lists none")]);
    }
    if tools.len() > TOOLS_MAX {
        printer.line(&[plain(format!("          and {} more", tools.len() - TOOLS_MAX))]);
    }
    if let Some(next) = next {
        for (index, line) in next.lines().enumerate() {
            let label = if index == 0 { "next" } else { "" };
            printer.line(&[span(Style::Bold, format!("{label:<10}")), plain(line)]);
        }
    }
}

fn arguments(tool: &ToolReport) -> String {
    let listed = |names: &[String]| {
        let more = names.len().saturating_sub(ARGUMENTS_MAX);
        let shown = names[..names.len() - more].join(", ");
        if more == 0 {
            shown
        } else {
            format!("{shown} and {more} more")
        }
    };
    match (tool.required.as_slice(), tool.optional.as_slice()) {
        ([], []) => "  its inputSchema names no arguments".to_owned(),
        (required, []) => format!("  needs {}", listed(required)),
        ([], optional) => format!("  takes {}", listed(optional)),
        (required, optional) => format!("  needs {}; takes {}", listed(required), listed(optional)),
    }
}
