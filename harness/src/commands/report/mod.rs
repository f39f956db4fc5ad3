//! `harness report RUN`: a run of the past, as one HTML file or as the text that `harness run` printed. From its evidence
//! alone; no server runs, and nothing is checked.

mod kept;
mod page;
mod repeat;

use std::path::{Path, PathBuf};

use clap::Args;

use self::kept::Kept;
use super::{ExitStatus, Format, named_run, refuse};
use crate::matrix::BASELINE;
use crate::record::{Evidence, Found, ProofFolder};
use crate::report::Printer;

/// How many runs of a proof a message names.
const RUNS_NAMED_MAX: usize = 8;

/// Report a run that is kept: as one HTML file that opens anywhere, or as the text that `harness run` printed
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// The run: its folder, `latest`, or the name of a folder under evidence/runs, or a beginning of it
    run: PathBuf,
    /// Write one HTML file, with a picture of each case, its frames, rows and checks; it loads nothing and runs no script
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace FILE where it is there already
    #[arg(long, requires = "html")]
    force: bool,
}

/// Reports one run.
pub(super) fn report(arguments: &ReportArguments, printer: &mut Printer) -> ExitStatus {
    let evidence = match run(&arguments.run, printer) {
        Ok(evidence) => evidence,
        Err(status) => return status,
    };
    let word = arguments.run.display().to_string();
    let Some(file) = &arguments.html else {
        Kept::of(&evidence, &word).print(printer);
        return ExitStatus::Success;
    };
    // What would be refused is refused before anything is read.
    let written = page::may_be_written(file, &evidence, arguments.force)
        .and_then(|()| page::write(file, &page::of(&Kept::of(&evidence, &word)), arguments.force));
    match written {
        Ok(bytes) => {
            page::say(file, bytes, printer);
            ExitStatus::Success
        }
        Err(message) => refuse(Format::Human, &message, ExitStatus::Usage, printer),
    }
}

/// The run that a word names: the one place where evidence comes from.
fn run(word: &Path, printer: &mut Printer) -> Result<Evidence, ExitStatus> {
    match named_run(word, Format::Human, printer)? {
        Found::Run(evidence) => Ok(evidence),
        Found::Archive(path) => {
            let message = format!(
                "{0} is an archive: `unzip -d FOLDER {0}`, then report FOLDER",
                path.display()
            );
            Err(refuse(Format::Human, &message, ExitStatus::Usage, printer))
        }
        Found::Proof(folder) => {
            let message = is_proof(&folder);
            Err(refuse(Format::Human, &message, ExitStatus::Usage, printer))
        }
    }
}

fn is_proof(folder: &ProofFolder) -> String {
    let root = folder.root().display();
    let names = folder.runs().unwrap_or_default();
    let one = names.iter().find(|name| *name == BASELINE).or(names.first());
    let one = one.map_or(BASELINE, String::as_str);
    let shown: Vec<&str> = names.iter().take(RUNS_NAMED_MAX).map(String::as_str).collect();
    let more = names.len().saturating_sub(RUNS_NAMED_MAX);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "{root} is a proof, and a report is of one run; name one of its runs, such as {root}/{one} (it has {}{more}); \
         `harness show {root}` says what came of each",
        shown.join(", ")
    )
}
