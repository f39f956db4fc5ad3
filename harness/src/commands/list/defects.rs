//! `harness list --defects`: what the built-in servers can be made to get wrong.

use serde::Serialize;

use crate::commands::{ExitStatus, Format, built_in_defects};
use crate::matrix::Planted;
use crate::report::{Printer, Style, plain, span};
use crate::target::BUILT_IN_NAMES;

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    /// The built-in target that it is planted in.
    target: &'static str,
    description: &'a str,
    /// The checks that must notice it, each as `case:check`.
    noticed_by: Vec<String>,
}

/// Prints every defect.
pub(super) fn list(format: Format, printer: &mut Printer) -> ExitStatus {
    let built_in = built_in_defects::all();
    let defects: Vec<Listed<'_>> = built_in
        .iter()
        .flat_map(|built_in| built_in.list.iter().map(|planted| listed(planted, built_in.target)))
        .collect();
    match format {
        Format::Json => printer.json(&defects),
        Format::Jsonl => defects.iter().for_each(|defect| printer.json_line(defect)),
        Format::Human => {
            for defect in &defects {
                let with = match defect.target {
                    target if target == BUILT_IN_NAMES[0] => String::new(),
                    target => format!("  (--target {target})"),
                };
                printer.line(&[span(Style::Bold, defect.name), span(Style::Dim, with)]);
                printer.prose("    ", defect.description);
                printer.line(&[span(Style::Dim, "    noticed by "), plain(defect.noticed_by.join(", "))]);
            }
            printer.blank();
            let text = "harness run --defect NAME plants one in the built-in server";
            printer.line(&[span(Style::Dim, text)]);
        }
    }
    ExitStatus::Success
}

fn listed<'a>(planted: &'a Planted, target: &'static str) -> Listed<'a> {
    Listed {
        target,
        name: &planted.name,
        description: &planted.says,
        noticed_by: planted.kills.iter().map(ToString::to_string).collect(),
    }
}
