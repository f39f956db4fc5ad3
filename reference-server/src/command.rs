//! The command line: what the binary, and any binary that embeds this server, runs.
//!
//! It must not know a rule of the guard. Exit statuses: 0 done, 1 the session or the runtime failed, or an operator's command was
//! refused, or its output could not be written, 2 wrong usage, a wrong setting or store (said in one line on stderr, before
//! anything is written).
//!
//! - [`inspect`]: shows what stands in a store (`inspect_execution`: the part about executions)
//! - [`reconcile`]: settles an operation in progress
//! - [`work`], [`reap`]: the processes of durable execution
//! - `staff`: the same as threads of a server

pub mod inspect;
mod inspect_execution;
pub mod reap;
pub mod reconcile;
mod staff;
pub mod work;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::clock::Stop;
use crate::execution::settings::Workplace;
use crate::ledger::schema::OpenError;
use crate::ledger::thread::LedgerThread;
use crate::server::{self, Ended, SessionError};
use crate::settings::{self, ServeArguments, SettingError, Settings};
use crate::tools::Tools;
use staff::Staff;

const STATUS_FAILED: u8 = 1;
const STATUS_USAGE: u8 = 2;

/// How long the ledger may take to end what is queued after stdin was closed.
const CLOSE_BOUND: Duration = Duration::from_secs(5);
/// How long it may take after SIGTERM; a wait for a locked store is cut short by it.
const CLOSE_BOUND_TERMINATED: Duration = Duration::from_millis(500);

/// The command line. An embedding binary takes it as the arguments of one of its own subcommands.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "reference-server",
    version,
    about = "A guarded MCP server with a durable ledger"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What this server can be told to do.
#[derive(Debug, Clone, clap::Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// Serve MCP over stdin and stdout until stdin closes
    Serve(Box<ServeArguments>),
    /// Work on what was submitted, until told to end
    Work(Box<work::WorkArguments>),
    /// Expire leases, and make retries ready that are due
    Reap(Box<reap::ReapArguments>),
    /// Settle an operation that is in progress, as an operator who has found out what became of it
    Reconcile(reconcile::ReconcileArguments),
    /// Show what stands in a store: operations, executions, effects and logs; nothing is changed
    Inspect(inspect::InspectArguments),
}

/// A run that failed.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("{}", settings::about_store(path, error))]
    Store { path: PathBuf, error: OpenError },
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot write the output: {0}; what it tells of was done, what was printed is not whole")]
    Output(std::io::Error),
    #[error("the runtime cannot be started: {0}")]
    Runtime(std::io::Error),
}

impl Failure {
    fn store(path: &Path, error: OpenError) -> Self {
        Self::Store {
            path: path.to_owned(),
            error,
        }
    }

    fn status(&self) -> u8 {
        match self {
            Self::Setting(_) | Self::Store { .. } => STATUS_USAGE,
            Self::Refused(_) | Self::Session(_) | Self::Output(_) | Self::Runtime(_) => STATUS_FAILED,
        }
    }
}

/// Reads `arguments` (the program's name first), runs, and gives the exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.run(),
        Err(error) => {
            // Help and version go to stdout, everything else to stderr; a closed one changes nothing.
            let _closed = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(STATUS_USAGE))
        }
    }
}

impl Cli {
    /// Runs, says in one line on stderr what failed, if anything, and gives the exit status.
    pub fn run(&self) -> ExitCode {
        let outcome = match &self.command {
            Command::Serve(arguments) => serve(arguments),
            Command::Work(arguments) => work::work(arguments),
            Command::Reap(arguments) => reap::reap(arguments),
            Command::Reconcile(arguments) => reconcile::reconcile(arguments),
            Command::Inspect(arguments) => inspect::inspect(arguments),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure.to_string());
                ExitCode::from(failure.status())
            }
        }
    }
}

fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let settings = Settings::resolve(arguments, |name| std::env::var_os(name))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let (ledger, thread) = LedgerThread::start(&settings).map_err(|error| Failure::store(&settings.database, error))?;
    let staff = Staff::start(&Workplace::of(&settings), settings.workers)?;
    let outcome = runtime.block_on(server::serve_stdio(Tools { settings, ledger }));
    // A blocking read of a stdin that is no pipe cannot be cancelled, and must not hold up the end.
    runtime.shutdown_background();
    let bound = match outcome {
        Ok(Ended::Terminated) => CLOSE_BOUND_TERMINATED,
        Ok(Ended::StdinClosed) | Err(_) => CLOSE_BOUND,
    };
    thread.close(bound);
    staff.close(bound);
    outcome?;
    Ok(())
}

/// Runs `task` on a thread of its own until it ends; SIGTERM or SIGINT tells it to, through `stop`.
fn until_terminated(stop: &Stop, task: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate()).map_err(Failure::Runtime)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(Failure::Runtime)?;
        let (end, mut ended) = oneshot::channel();
        std::thread::spawn(move || end.send(task()));
        let outcome = tokio::select! {
            outcome = &mut ended => outcome,
            _ = terminated.recv() => { stop.set(); ended.await }
            _ = interrupted.recv() => { stop.set(); ended.await }
        };
        let outcome = outcome.unwrap_or_else(|_panicked| Err("it failed unexpectedly".to_owned()));
        outcome.map_err(Failure::Refused)
    })
}

/// Writes what was asked for to stdout. A reader that went away (`| head`) has seen what it wanted.
fn say(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes one line to stderr. A closed stderr changes nothing.
pub(crate) fn complain(message: &str) {
    let line: String = message
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    let _closed = writeln!(std::io::stderr(), "reference-server: {line}");
}
