//! `harness list`: the cases, and which of them apply to nothing special.

#[cfg(feature = "reference-server")]
mod defects;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::target_arguments::quoted;
use super::{ExitStatus, Format, refuse};
use crate::case::{Case, Catalogue};
use crate::report::{Printer, Style, plain, span};

/// List the cases
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// List the defects that can be planted in the built-in server, instead
    #[cfg(feature = "reference-server")]
    #[arg(long, conflicts_with = "case_files")]
    defects: bool,
    /// File of a case of your own, to be listed among them; no such case is said to notice a defect, so not with --defects. May
    /// be repeated
    #[arg(long = "case-file", value_name = "FILE")]
    case_files: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    family: &'a str,
    number: Option<u32>,
    revision: u32,
    title: &'a str,
    needs: Vec<&'static str>,
    digest: &'a str,
}

/// Prints every case of the catalogue.
pub(super) fn list(arguments: &ListArguments, printer: &mut Printer) -> ExitStatus {
    #[cfg(feature = "reference-server")]
    if arguments.defects {
        return defects::list(arguments.format, printer);
    }
    let catalogue = match Catalogue::embedded().with_files(&arguments.case_files, Path::new(".")) {
        Ok(catalogue) => catalogue,
        Err(error) => return refuse(arguments.format, &error.to_string(), ExitStatus::Usage, printer),
    };
    show(&catalogue.all(), &catalogue, arguments.format, printer);
    ExitStatus::Success
}

/// Prints these cases, one line each, and how to explain and to run one.
pub(super) fn show(cases: &[&Case], catalogue: &Catalogue, format: Format, printer: &mut Printer) {
    match format {
        Format::Human => table(cases, catalogue, printer),
        Format::Json => printer.json(&cases.iter().map(|case| listed(case)).collect::<Vec<_>>()),
        Format::Jsonl => cases.iter().for_each(|case| printer.json_line(&listed(case))),
    }
}

fn table(cases: &[&Case], catalogue: &Catalogue, printer: &mut Printer) {
    let width = cases.iter().map(|case| case.id.len()).max().unwrap_or(0);
    let mut family = "";
    for case in cases {
        if case.family != family {
            if !family.is_empty() {
                printer.blank();
            }
            family = &case.family;
            printer.line(&[span(Style::Bold, family)]);
        }
        let number = case.number.map_or("  ".to_owned(), |number| format!("{number:02}"));
        printer.line(&[
            span(Style::Dim, format!("  {number}  ")),
            span(Style::Bold, format!("{:<width$}", case.id)),
            plain(format!("  {}", case.title)),
        ]);
    }
    printer.blank();
    let files: Vec<&str> = cases.iter().filter_map(|case| catalogue.file_of(&case.id)).collect();
    if files.len() < cases.len() {
        let text = "harness explain CASE says what a case proves; harness run --case CASE runs it";
        printer.line(&[span(Style::Dim, text)]);
    }
    // The catalogue alone does not know such a case.
    for file in files {
        let file = quoted(file);
        let text = format!(
            "harness explain --case-file {file} says what that case proves; harness run --case-file {file} runs it"
        );
        printer.line(&[span(Style::Dim, text)]);
    }
}

fn listed(case: &Case) -> Listed<'_> {
    Listed {
        id: &case.id,
        family: &case.family,
        number: case.number,
        revision: case.revision,
        title: &case.title,
        needs: case.needs.iter().map(|surface| surface.name()).collect(),
        digest: &case.digest,
    }
}
