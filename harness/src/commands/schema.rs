//! `harness schema [NAME]`: the JSON Schema of a stored format.

use clap::Args;

use super::ExitStatus;
use crate::document::nearest;
use crate::report::{Printer, Style, plain, span};
use crate::schema::SCHEMAS;

/// Print the JSON Schema of a stored format
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {
    /// Which one; without it, they are listed
    name: Option<String>,
}

/// Prints one schema, or says which there are.
pub(super) fn schema(arguments: &SchemaArguments, printer: &mut Printer) -> ExitStatus {
    let Some(name) = &arguments.name else {
        for (name, of, _) in SCHEMAS {
            printer.line(&[span(Style::Bold, format!("{name:<13}")), plain(of)]);
        }
        return ExitStatus::Success;
    };
    if let Some((_, _, text)) = SCHEMAS.iter().find(|(known, ..)| known == name) {
        printer.own_text(text);
        return ExitStatus::Success;
    }
    let names = SCHEMAS.map(|(name, ..)| name);
    let near = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    };
    printer.error(&format!("there is no schema `{name}`; {near}"));
    ExitStatus::Usage
}
