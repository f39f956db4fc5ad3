//! `harness completions SHELL`: a completion script on standard output.

use clap::{Args, Command};
use clap_complete::Shell;

use super::ExitStatus;
use crate::report::Printer;

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Prints the script for `command`.
pub(super) fn completions(arguments: &CompletionsArguments, mut command: Command, printer: &mut Printer) -> ExitStatus {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "harness", &mut script);
    printer.own_text(&String::from_utf8_lossy(&script));
    ExitStatus::Success
}
