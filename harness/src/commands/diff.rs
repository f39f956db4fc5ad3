//! `harness diff A B`: two runs beside each other, from their evidence alone. No server runs, and nothing is written.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::taken::take;
use super::target_arguments::quoted;
use super::{ExitStatus, Format, named_archive, refuse};
use crate::case::{Catalogue, is_name_of};
use crate::diff::{RunDiff, Side, compare_runs};
use crate::report::{Printer, show_diff};

/// Compare two runs: what they were of, verdicts that changed, and the first event in which a case went another way
#[derive(Debug, Args)]
#[command(
    after_help = "What only names something (ids, operations, markers, tokens, rows, times, paths, process ids) is no difference as \
                  long as it names the same thing all along; two processes are compared each for itself. What the evidence says is \
                  believed; `harness verify` judges it again.\n\n\
                  Exit codes: 0 the same verdicts, also where frames differ; 1 a verdict changed, or one run has a case that the \
                  other does not have; 2 usage, or not evidence; 3 the output could not be written."
)]
pub(super) struct DiffArguments {
    /// The first run: its folder or archive, `latest`, or the name of a folder under evidence/runs, or a beginning of it
    a: PathBuf,
    /// The second run
    b: PathBuf,
    /// Every event that differs, and not only the first of each case
    #[arg(long)]
    frames: bool,
    /// Id, family/id, or number of a case to compare; all when absent. May be repeated
    #[arg(long = "case", value_name = "CASE", value_delimiter = ',')]
    cases: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl DiffArguments {
    /// Whether something is unpacked, and has to be removed whatever ends this.
    pub(super) fn unpacks(&self) -> bool {
        [&self.a, &self.b].into_iter().any(|run| named_archive(run).is_some())
    }
}

#[derive(Serialize)]
struct DiffReport<'a> {
    #[serde(flatten)]
    diff: &'a RunDiff,
    exit: u8,
}

/// Compares two runs.
pub(super) fn diff(arguments: &DiffArguments, printer: &mut Printer) -> ExitStatus {
    let both = take(&arguments.a).and_then(|a| Ok((a, take(&arguments.b)?)));
    let compared = both.and_then(|(a, b)| {
        let only = wanted(&arguments.cases, &a.side, &b.side)?;
        Ok(compare_runs(&a.side, &b.side, &only))
    });
    let diff = match compared {
        Ok(diff) => diff,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let status = if diff.verdicts_differ() {
        ExitStatus::Failed
    } else {
        ExitStatus::Success
    };
    match arguments.format {
        Format::Human => show_diff(printer, &diff, arguments.frames, &again(arguments)),
        Format::Json => printer.json(&report(&first_only(arguments.frames, diff), status)),
        Format::Jsonl => printer.json_line(&report(&first_only(arguments.frames, diff), status)),
    }
    status
}

fn report(diff: &RunDiff, status: ExitStatus) -> DiffReport<'_> {
    DiffReport {
        diff,
        exit: status.code(),
    }
}

/// Without `--frames`, the first event of each case stands for all of them.
pub(super) fn first_only(frames: bool, mut diff: RunDiff) -> RunDiff {
    if !frames {
        for case in &mut diff.cases {
            case.records.events.clear();
            case.records.more = case.events_differ;
        }
    }
    diff
}

/// The ids of the cases that are named; none where none is.
fn wanted(words: &[String], a: &Side, b: &Side) -> Result<Vec<String>, String> {
    let catalogue = Catalogue::embedded();
    let executed = a.run().executed.iter().chain(&b.run().executed);
    let executed: Vec<&String> = executed.collect();
    let id = |word: &String| {
        let names_it = |id: &&&String| **id == word || catalogue.get(id).is_some_and(|case| is_name_of(word, case));
        let found = executed.iter().find(names_it);
        found.map(|id| (*id).clone()).ok_or_else(|| {
            let near = crate::document::nearest(word, executed.iter().map(|id| id.as_str()));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("neither run has a case `{word}`{near}")
        })
    };
    words.iter().map(id).collect()
}

fn again(arguments: &DiffArguments) -> String {
    let (a, b) = (arguments.a.display().to_string(), arguments.b.display().to_string());
    let mut words = format!("harness diff {} {}", quoted(&a), quoted(&b));
    for case in &arguments.cases {
        words = format!("{words} --case {}", quoted(case));
    }
    words
}
