//! The benchmark: where the time of a run goes, and what the harness and its guarded server cost beside bare ones.
//!
//! ```text
//! cargo bench -p harness                          a table
//! cargo bench -p harness -- --format json         one JSON document
//! cargo bench -p harness -- --rounds 20           more rounds, steadier numbers
//! cargo bench -p harness -- --folder DIR          the stores and the evidence on another disk
//! ```
//!
//! Five questions, each answered by minimum, median and 90th percentile over the rounds:
//!
//! - [`lost_reply`]: the wall time of `harness run --case lost-reply` on the built-in reference server, and its parts.
//! - [`frames`]: frames per second through the driver with recording on, beside a bare client on the same server.
//! - [`writes`]: guarded writes per second, beside bare SQLite commits of the same durability on the same disk.
//! - [`evidence`]: MB/s of verifying, exporting and showing a whole run, beside `sha256sum` on the same bytes.
//! - [`many`]: how long a page of a hundred cases with ten thousand frames takes, and what else looks at such a run.
//!
//! What stands beside each other is measured in turns within one run, first one first and then the other, because only
//! a ratio means something on a machine that does other things too. Percentiles are of the number that is printed: the
//! 90th of a rate is a fast round, the 90th of a time a slow one. Nothing here asserts a time.
//!
//! Servers are started under no guard. Each is ended by the end of its standard input, and killed by its own pid where
//! that is not enough, or where this program fails.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

#[path = "harness/evidence.rs"]
mod evidence;
#[path = "harness/frames.rs"]
mod frames;
#[path = "harness/lost_reply.rs"]
mod lost_reply;
#[path = "harness/many.rs"]
mod many;
#[path = "harness/raw_server.rs"]
mod raw_server;
#[path = "harness/report.rs"]
mod report;
#[path = "harness/stage.rs"]
mod stage;
#[path = "harness/writes.rs"]
mod writes;

/// Measures where the time of a run goes, and what guarding and recording cost
#[derive(Debug, Parser)]
struct Arguments {
    /// How often each thing is measured
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Where stores and evidence are made, in a folder that is removed afterwards; the usual one when absent
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Human,
    /// One JSON document
    Json,
}

fn main() {
    let arguments = Arguments::parse();
    // Without `--bench` it is a test run of everything, as `cargo test --benches` makes it: that it works is enough.
    let rounds = if arguments.bench { arguments.rounds } else { 1 };
    let folder = arguments.folder.unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new().prefix("harness-bench-").tempdir_in(&folder);
    let scratch = scratch.expect("a folder in the one that --folder names");
    let report = measure(scratch.path(), rounds);
    let text = match arguments.format {
        Format::Human => report.table(),
        Format::Json => report.json(),
    };
    // A reader that has gone does not want the rest.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn measure(scratch: &Path, rounds: u32) -> report::Report {
    let stage = stage::Stage::new(scratch);
    report::Report::new(
        rounds,
        scratch,
        vec![
            lost_reply::measure(&stage, rounds),
            frames::measure(&stage, rounds),
            writes::measure(&stage, rounds),
            evidence::measure(&stage, rounds),
            many::measure(&stage, rounds),
        ],
    )
}
