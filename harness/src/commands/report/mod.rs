//! `harness report RUN`: a run of the past, as one HTML file or as the text that `harness run` printed. From its evidence
//! alone; no server runs, and nothing is checked.

mod kept;
mod page;
mod repeat;

use std::path::PathBuf;

use clap::Args;

use self::kept::Kept;
use super::taken::{self, Opened};
use super::target_arguments::quoted;
use super::{ExitStatus, Format, is_standard_output, named_archive, refuse};
use crate::matrix::BASELINE;
use crate::record::{Evidence, Found, ProofFolder};
use crate::report::Printer;

/// How many runs of a proof a message names.
const RUNS_NAMED_MAX: usize = 8;

/// Report a run that is kept: as one HTML file that opens anywhere, or as the text that `harness run` printed
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// The run: its folder or archive, `latest`, or the name of a folder under evidence/runs, or a beginning of it
    run: PathBuf,
    /// Write one HTML file, with a picture of each case, its frames, rows and checks; it loads nothing and runs no script. `-` is
    /// standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace FILE where it is there already
    #[arg(long, requires = "html")]
    force: bool,
}

impl ReportArguments {
    /// Whether something is unpacked, and has to be removed whatever ends this.
    pub(super) fn unpacks(&self) -> bool {
        named_archive(&self.run).is_some()
    }
}

/// Reports one run.
pub(super) fn report(arguments: &ReportArguments, printer: &mut Printer) -> ExitStatus {
    let opened = match taken::open(&arguments.run) {
        Ok(opened) => opened,
        Err(message) => return refuse(Format::Human, &message, ExitStatus::Usage, printer),
    };
    let evidence = match run(&opened) {
        Ok(evidence) => evidence,
        Err(message) => return refuse(Format::Human, &message, ExitStatus::Usage, printer),
    };
    let kept = || Kept::of(evidence, &opened.name, &arguments.run.display().to_string());
    let Some(file) = &arguments.html else {
        kept().print(printer);
        return ExitStatus::Success;
    };
    if is_standard_output(file) {
        printer.own_text(&page::of(&kept()));
        return ExitStatus::Success;
    }
    // What would be refused is refused before anything is read.
    let written = page::may_be_written(file, evidence, arguments)
        .and_then(|()| page::write(file, &page::of(&kept()), arguments.force));
    match written {
        Ok(bytes) => {
            page::say(file, bytes, printer);
            ExitStatus::Success
        }
        Err(message) => refuse(Format::Human, &message, ExitStatus::Usage, printer),
    }
}

/// The run that is reported: the one place where evidence comes from.
fn run(opened: &Opened) -> Result<&Evidence, String> {
    opened.refuse_proof_in_archive()?;
    match &opened.found {
        Found::Run(evidence) => Ok(evidence),
        Found::Proof(folder) => Err(is_proof(folder)),
        Found::Archive(_) => unreachable!("an archive is unpacked"),
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
         `harness show {}` says what came of each",
        shown.join(", "),
        quoted(&root.to_string())
    )
}
