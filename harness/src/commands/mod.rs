//! The command line: one file per subcommand, with its arguments and its function, which returns an exit status.
//!
//! Nobody imports this room.

mod baseline_arguments;
mod built_in_defects;
mod completions;
mod diff;
mod explain;
mod export;
#[cfg(feature = "reference-server")]
mod fingerprint;
mod list;
mod next_command;
mod prove;
mod report;
mod rerun;
mod run;
mod schema;
mod show;
mod story;
mod taken;
mod target_arguments;
mod vectors;
mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::drive::guard::{self, Role};
use crate::record::{Found, find_run};
use crate::report::Printer;

/// What a command came to. Where several apply, the first in this order wins: usage, failed, inconclusive, success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: everything that had to pass passed. `unguarded` and `unsupported` found by a wildcard or a whole run are shown,
    /// not failed.
    Success,
    /// 1: a fail, a named case that is `unguarded`, a baseline that is not met, evidence that differs.
    Failed,
    /// 2: usage or configuration; nothing was run.
    Usage,
    /// 3: inconclusive, nothing run, a named case that is `unsupported`, or output that could not be written.
    Inconclusive,
    /// 130: interrupted by the user.
    Interrupted,
    /// The guard passes on how the run ended.
    OfRun(u8),
}

impl ExitStatus {
    /// The number that the process exits with. (101 is a bug of ours: a panic.)
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::Interrupted => 130,
            Self::OfRun(code) => code,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// Output format of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Human,
    /// One JSON document on standard output, and nothing else there
    Json,
    /// One JSON document a line, as things happen
    Jsonl,
}

/// Counts what an MCP server really did: launches it, breaks it at a chosen point, restarts it, retries, and reads the
/// server's own store back.
#[derive(Debug, Parser)]
#[command(
    name = "harness",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 passed; 1 failed, or a named case is unguarded; 2 usage or configuration; 3 inconclusive, \
                  nothing run, a named case is unsupported, or the output could not be written; 130 interrupted.",
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunArguments>),
    List(list::ListArguments),
    Explain(explain::ExplainArguments),
    Show(show::ShowArguments),
    Report(report::ReportArguments),
    Diff(diff::DiffArguments),
    Verify(verify::VerifyArguments),
    Rerun(Box<rerun::RerunArguments>),
    Export(export::ExportArguments),
    Prove(prove::ProveArguments),
    Vectors(vectors::VectorsArguments),
    #[cfg(feature = "reference-server")]
    Fingerprint(fingerprint::FingerprintArguments),
    Schema(schema::SchemaArguments),
    Completions(completions::CompletionsArguments),
    /// The guarded MCP server that this binary carries
    #[cfg(feature = "reference-server")]
    ReferenceServer(reference_server::Cli),
}

/// Reads `arguments` (the program's name first), runs, and gives the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    // This program is also the child that holds a store's lock.
    if let Some(code) = crate::drive::play_lock_holder() {
        return code;
    }
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut printer = Printer::from_environment();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let status = no_command(&error, &arguments, &mut printer);
            return when_printed(status, &mut printer).into();
        }
    };
    let status = match cli.command {
        Command::Run(arguments) => guarded(&mut printer, |printer, run| run::run(&arguments, run, printer)),
        Command::Rerun(arguments) => guarded(&mut printer, |printer, run| rerun::rerun(&arguments, run, printer)),
        Command::Prove(arguments) => guarded(&mut printer, |printer, run| prove::prove(&arguments, run, printer)),
        Command::List(arguments) => list::list(&arguments, &mut printer),
        Command::Explain(arguments) => explain::explain(&arguments, &mut printer),
        // What is unpacked is removed by the guard, whatever ends this.
        Command::Show(arguments) if arguments.unpacks() => {
            guarded(&mut printer, |printer, _| show::show(&arguments, printer))
        }
        Command::Show(arguments) => show::show(&arguments, &mut printer),
        Command::Report(arguments) if arguments.unpacks() => {
            guarded(&mut printer, |printer, _| report::report(&arguments, printer))
        }
        Command::Report(arguments) => report::report(&arguments, &mut printer),
        Command::Diff(arguments) if arguments.unpacks() => {
            guarded(&mut printer, |printer, _| diff::diff(&arguments, printer))
        }
        Command::Diff(arguments) => diff::diff(&arguments, &mut printer),
        // Stores are copied to be counted again, of a folder too.
        Command::Verify(arguments) => guarded(&mut printer, |printer, _| verify::verify(&arguments, printer)),
        Command::Export(arguments) if arguments.asks_nobody() => {
            guarded(&mut printer, |printer, _| export::export(&arguments, printer))
        }
        Command::Export(arguments) => export::export(&arguments, &mut printer),
        Command::Vectors(arguments) if arguments.starts_a_program() => guarded(&mut printer, |printer, run| {
            vectors::vectors(&arguments, Some(run), printer)
        }),
        Command::Vectors(arguments) => vectors::vectors(&arguments, None, &mut printer),
        #[cfg(feature = "reference-server")]
        Command::Fingerprint(arguments) => fingerprint::fingerprint(&arguments, &mut printer),
        Command::Schema(arguments) => schema::schema(&arguments, &mut printer),
        Command::Completions(arguments) => completions::completions(&arguments, Cli::command(), &mut printer),
        #[cfg(feature = "reference-server")]
        Command::ReferenceServer(cli) => return cli.run(),
    };
    when_printed(status, &mut printer).into()
}

/// Help and version go to standard output, everything else that is no command to standard error.
fn no_command(error: &clap::Error, arguments: &[OsString], printer: &mut Printer) -> ExitStatus {
    let printed = error.print();
    if error.exit_code() == 0 {
        printer.keep(printed);
        return ExitStatus::Success;
    }
    let message = error.render().to_string();
    let message = message.lines().next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    refuse_in(format_among(arguments), message, ExitStatus::Usage, printer);
    ExitStatus::Usage
}

/// What a command comes to once it has printed: nobody may take half a document for a green one. What is red stays red, and
/// evidence is whole whatever became of the output.
fn when_printed(status: ExitStatus, printer: &mut Printer) -> ExitStatus {
    let Some(error) = printer.output_error().map(ToString::to_string) else {
        return status;
    };
    printer.error(&format!(
        "cannot write the output: {error}; what was printed is not whole"
    ));
    match status {
        ExitStatus::Success => ExitStatus::Inconclusive,
        ExitStatus::Failed
        | ExitStatus::Usage
        | ExitStatus::Inconclusive
        | ExitStatus::Interrupted
        | ExitStatus::OfRun(_) => status,
    }
}

/// Said where the run could not say it any more.
const CUT_SHORT: &str =
    "interrupted twice, so it was cut short; the evidence holds what was done until then, and is not sealed";

/// Runs a command that starts servers under the guard, so that whatever ends it leaves no process behind.
fn guarded(printer: &mut Printer, run: impl FnOnce(&mut Printer, &guard::Run) -> ExitStatus) -> ExitStatus {
    match guard::enter() {
        Ok(Role::Run(role)) => {
            if let Some(note) = role.note() {
                printer.note("note: ", note);
            }
            // Throw-away copies go there too, because the guard removes it whatever ends the run. Fails only if somebody
            // has chosen a folder before, whose affair it then is.
            let _ = tempfile::env::override_temp_dir(role.scratch());
            run(printer, &role)
        }
        Ok(Role::Guard(ended)) => {
            if ended.cut_short {
                printer.note("", CUT_SHORT);
                for line in ended.last_word.lines() {
                    printer.note("", line);
                }
            }
            if ended.survivors > 0 {
                printer.error(&format!("{} processes could not be ended", ended.survivors));
            }
            if let Some(path) = ended.scratch_left {
                printer.error(&format!(
                    "the scratch folder {} could not be removed; remove it",
                    path.display()
                ));
            }
            ExitStatus::OfRun(ended.code)
        }
        Err(error) => {
            printer.error(&error.to_string());
            ExitStatus::Inconclusive
        }
    }
}

/// The run, or the proof, that a user's word names; where it names none, that is said.
fn named_run(word: &Path, format: Format, printer: &mut Printer) -> Result<Found, ExitStatus> {
    find_run(Path::new("."), word).map_err(|error| refuse(format, &error.to_string(), ExitStatus::Usage, printer))
}

/// Refuses `-` where something cannot go to standard output, for a reason that is a sentence's end: a file that is called so
/// would be a surprise.
fn refuse_standard_output(flag: &str, path: Option<&Path>, why: &str) -> Result<(), String> {
    match path {
        Some(path) if is_standard_output(path) => {
            Err(format!("{flag} -: {why}; name another, or `./-` if that is meant"))
        }
        Some(_) | None => Ok(()),
    }
}

/// What every command that can write there calls standard output.
fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Why the evidence of a run cannot go to standard output.
const EVIDENCE_IS_A_FOLDER: &str = "evidence is a folder";

/// The archive that a user's word names, where it names one: by its path, or by a name such as `latest`.
fn named_archive(word: &Path) -> Option<PathBuf> {
    match find_run(Path::new("."), word) {
        Ok(Found::Archive(path)) => Some(path),
        Ok(Found::Run(_) | Found::Proof(_)) | Err(_) => None,
    }
}

/// Says why a command came to nothing: on standard error for people, and as the one document of the format that was asked for.
fn refuse(format: Format, message: &str, status: ExitStatus, printer: &mut Printer) -> ExitStatus {
    printer.error(message);
    refuse_in(format, message, status, printer);
    status
}

fn refuse_in(format: Format, message: &str, status: ExitStatus, printer: &mut Printer) {
    let document = serde_json::json!({"error": message, "exit": status.code()});
    match format {
        Format::Human => {}
        Format::Json => printer.json(&document),
        Format::Jsonl => printer.json_line(&document),
    }
}

/// The format that a command line asks for which cannot be read otherwise.
fn format_among(arguments: &[OsString]) -> Format {
    let words = arguments.iter().take_while(|word| *word != "--");
    let words: Vec<&str> = words.filter_map(|word| word.to_str()).collect();
    let asks_for = |format: &str| {
        words.contains(&format!("--format={format}").as_str())
            || words.windows(2).any(|two| two == ["--format", format])
    };
    if asks_for("json") {
        Format::Json
    } else if asks_for("jsonl") {
        Format::Jsonl
    } else {
        Format::Human
    }
}
