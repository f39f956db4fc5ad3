//! The benchmark: how many executions are submitted and completed a second, beside bare commits of SQLite on the same disk.
//!
//! ```text
//! cargo bench -p reference-server                           a table
//! cargo bench -p reference-server -- --seconds 300          more rounds, steadier numbers
//! cargo bench -p reference-server -- --executions 1000      more executions in each round
//! cargo bench -p reference-server -- --folder DIR           the stores on another disk
//! ```
//!
//! Every commit is durable, so the disk decides, and a rate alone says nothing about the engine. Three things are measured:
//!
//! - [`submissions`]: `submit_issue` through a real server over stdio, one after another
//! - [`workers`]: executions completed by 1, 2 and 4 real worker processes that share one store
//! - [`bare`]: one small row for each commit, by as many processes, opened just as the server opens its store
//!
//! The ratio of a rate to the bare one is what of the disk's speed is left. An execution needs more than one commit; how many,
//! SQLite tells ([`commits`]). The ratio for each commit is the rest: what the engine costs beyond what SQLite asks.
//!
//! What stands beside each other is measured in turns, and every second round backwards, because only a ratio within one run
//! means something on a machine that does other things too. Nothing here asserts a time; that each execution was done once, and
//! that every log comes to what the rows say, is asserted.
//!
//! Ctrl-C, SIGTERM, a panic and an end of patience all end alike: each child is killed by its handle, and the folder removed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::processes::Crew;
use crate::report::Report;
use crate::rounds::Size;

#[path = "execution/bare.rs"]
mod bare;
#[path = "execution/commits.rs"]
mod commits;
#[path = "execution/processes.rs"]
mod processes;
#[path = "execution/report.rs"]
mod report;
#[path = "execution/rounds.rs"]
mod rounds;
#[path = "execution/stopwatch.rs"]
mod stopwatch;
#[path = "execution/submissions.rs"]
mod submissions;
#[path = "execution/workers.rs"]
mod workers;

/// The benchmark takes no longer: what hangs is ended.
const TIME_MAX: Duration = Duration::from_secs(1_800);

/// Measures durable execution beside bare commits of SQLite
#[derive(Debug, Parser)]
struct Arguments {
    /// How long new rounds are begun; two are made in any case, one forwards and one backwards
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(..=1_000))]
    seconds: u64,
    /// How many executions are submitted and completed each time
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    executions: u32,
    /// Where the stores are made, in a folder that is removed afterwards; the usual one when absent
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
    /// Given to the processes that commit bare rows: into which store
    #[arg(long, hide = true, requires = "commits")]
    bare_store: Option<PathBuf>,
    /// Given to them too: up to which row
    #[arg(long, hide = true)]
    commits: Option<i64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let (Some(store), Some(commits)) = (&arguments.bare_store, arguments.commits) {
        bare::commit_until(store, commits);
        return ExitCode::SUCCESS;
    }
    // Without `--bench` it is a test run of everything, as `cargo test --benches` makes it: that it works is enough.
    let size = if arguments.bench {
        Size {
            rounds_min: 2,
            time: Duration::from_secs(arguments.seconds),
            executions: arguments.executions,
        }
    } else {
        Size {
            rounds_min: 1,
            time: Duration::ZERO,
            executions: 20,
        }
    };
    let folder = arguments.folder.unwrap_or_else(std::env::temp_dir);
    // A reader that has gone does not want the rest.
    match measure(&folder, size) {
        Ok(report) => {
            let _ = std::io::stdout().write_all(report.table().as_bytes());
            ExitCode::SUCCESS
        }
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "nothing was measured to its end: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Measures on a thread of its own, so that this one can end it. Says why where it did, or where that thread failed.
fn measure(folder: &Path, size: Size) -> Result<Report, &'static str> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let ends = Ends::new(&runtime);
    let scratch = tempfile::Builder::new().prefix("execution-bench-").tempdir_in(folder);
    let scratch = scratch.expect("a folder in the one that --folder names");
    let crew = Crew::default();
    let (measured, is_measured) = oneshot::channel();
    let measuring = std::thread::spawn({
        let (crew, scratch) = (crew.clone(), scratch.path().to_owned());
        move || measured.send(rounds::measure(&crew, &scratch, size))
    });
    let report = runtime.block_on(ends.or(is_measured));
    if report.is_err() {
        // What the thread says when its children are gone explains nothing.
        std::panic::set_hook(Box::new(|_panic| {}));
    }
    crew.end();
    // It has said why it failed, if it did. Only when it has ended does nobody write into the folder any more.
    let _ = measuring.join();
    scratch.close().expect("remove the folder");
    report
}

/// What ends this program early.
struct Ends {
    interrupted: Signal,
    terminated: Signal,
    hung_up: Signal,
}

impl Ends {
    fn new(runtime: &Runtime) -> Self {
        let _runtime = runtime.enter();
        let on = |kind| signal(kind).expect("listen to a signal");
        Self {
            interrupted: on(SignalKind::interrupt()),
            terminated: on(SignalKind::terminate()),
            hung_up: on(SignalKind::hangup()),
        }
    }

    /// What was measured, unless one of these comes first, or time is over.
    async fn or(mut self, is_measured: oneshot::Receiver<Report>) -> Result<Report, &'static str> {
        tokio::select! {
            report = is_measured => report.map_err(|_panicked| "it failed, as is said above"),
            _ = self.interrupted.recv() => Err("told to end by SIGINT"),
            _ = self.terminated.recv() => Err("told to end by SIGTERM"),
            _ = self.hung_up.recv() => Err("told to end by SIGHUP"),
            () = tokio::time::sleep(TIME_MAX) => Err("half an hour is over; give fewer --executions or --seconds"),
        }
    }
}
