//! `harness list --defects`: what the built-in server can be made to get wrong.

use reference_server::defect::Defect;
use serde::Serialize;

use crate::commands::{ExitStatus, Format};
use crate::report::{Printer, Style, plain, span};
use crate::target::BUILT_IN_NAMES;

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    /// The built-in target that it is planted in.
    target: &'static str,
    description: &'static str,
    /// The checks that must notice it, each as `case:check`.
    noticed_by: &'static [&'static str],
}

/// Prints every defect.
pub(super) fn list(format: Format, printer: &mut Printer) -> ExitStatus {
    let of = |defects: &'static [Defect], target| defects.iter().map(move |defect| listed(*defect, target));
    let [single, execution] = BUILT_IN_NAMES;
    let defects: Vec<Listed> = of(Defect::ALL, single)
        .chain(of(Defect::EXECUTION, execution))
        .collect();
    match format {
        Format::Json => printer.json(&defects),
        Format::Jsonl => defects.iter().for_each(|defect| printer.json_line(defect)),
        Format::Human => {
            for defect in &defects {
                let with = match defect.target {
                    target if target == single => String::new(),
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

fn listed(defect: Defect, target: &'static str) -> Listed {
    Listed {
        target,
        name: defect.name(),
        description: defect.description(),
        noticed_by: defect.killed_by(),
    }
}
