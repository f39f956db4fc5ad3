//! `harness rerun RUN`: the cases, profile and seed of a run that was kept, against a server now, and what differs.
//!
//! Evidence may come from anybody, and says which programs to run: nothing that it names is run or set unless the user says
//! so, but for the reference server that this binary carries.

mod archived;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use self::archived::Archived;
use super::taken::{Taken, take};
use super::target_arguments::quoted;
use super::{EVIDENCE_IS_A_FOLDER, ExitStatus, Format, diff as diff_command, refuse, refuse_standard_output, run};
use crate::conduct::{IsRemoved, Progress, Repeat, Request, conduct, fresh_naming, jobs};
use crate::diff::{RunDiff, Side, compare_runs};
use crate::drive::guard::Run as GuardedRun;
use crate::record::{Baseline, Evidence, RunState};
use crate::report::{Printer, RunReport, Style, plain, show_diff, show_end, span};

/// Repeat a run that was kept: its cases, profile and seed against a server now, with the verdicts compared
#[derive(Debug, Args)]
#[command(
    after_help = "Whoever made the evidence wrote which programs it names. The reference server that this binary carries is repeated \
                  as it is. Of any other target nothing is run, and no variable set, before --run-archived-command says so; what it \
                  would be is printed. With -- COMMAND that server is launched with what the evidence says of its write, store and \
                  promises; with --target FILE the evidence gives the cases and the seed alone. Secrets come from the environment, \
                  by their names.\n\n\
                  Exit codes: 0 the verdicts are equal; 1 a verdict differs; 2 usage or configuration, not evidence, or a command \
                  that nobody has agreed to; 3 a case came to nothing now, or the output could not be written; 130 interrupted."
)]
pub(super) struct RerunArguments {
    /// The run: its folder or archive, `latest`, or the name of a folder under evidence/runs, or a beginning of it
    run: PathBuf,
    /// Case, family, number, or pattern (`retry/*`) of that run to repeat; all that were asked for when absent. May be repeated
    #[arg(long = "case", value_name = "CASE", value_delimiter = ',')]
    cases: Vec<String>,
    /// Profile of the server to test, in place of what the evidence says of its target
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    target: Option<PathBuf>,
    /// Run the commands and set the variables that the evidence names. They are printed without this
    #[arg(long, conflicts_with = "target")]
    run_archived_command: bool,
    /// Working directory of the server, in place of the one that the evidence names; a template, relative to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    cwd: Option<String>,
    /// No wait of a case is longer than this many seconds; that of the run when absent
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,
    /// How many cases to run side by side; as in `harness run`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Folder for the evidence of the new run; must not exist. A new one under evidence/runs/ when absent
    #[arg(long, value_name = "DIR")]
    evidence: Option<PathBuf>,
    /// Every event that differs, and not only the first of each case
    #[arg(long)]
    frames: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Command of the server to test, in place of the one that the evidence names
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Serialize)]
struct RerunReport<'a> {
    /// What could not be repeated as it was.
    notes: &'a [String],
    run: &'a RunReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a RunDiff>,
    exit: u8,
}

/// Repeats a run.
pub(super) fn rerun(arguments: &RerunArguments, guarded: &GuardedRun, printer: &mut Printer) -> ExitStatus {
    let (taken, archived, request) = match prepared(arguments, guarded, printer) {
        Ok(prepared) => prepared,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let side = &taken.side;
    let only = archived.selection.execute.clone();
    run::interruptible(arguments.format, printer, async |interrupts, printer| {
        let folder = request.folder.clone();
        let mut tell = |progress: Progress<'_>| {
            if let (Format::Human, Progress::Begins(_)) = (arguments.format, &progress) {
                show_head(side, &archived.notes, printer);
            }
            run::show_progress(arguments.format, printer, &progress);
        };
        match Box::pin(conduct(request, interrupts, &mut tell)).await {
            Ok((report, state)) => {
                let compared = compare(side, &folder.join(&report.evidence), &report.evidence, &only);
                finish(arguments, &archived.notes, (report, state), compared, printer)
            }
            Err(error) => run::refuse_run(arguments.format, &error, false, printer),
        }
    })
}

fn show_head(side: &Side, notes: &[String], printer: &mut Printer) {
    let again = format!("{}, begun {}", side.report().evidence, side.run().started_at);
    printer.line(&[span(Style::Bold, "repeats   "), plain(again)]);
    for note in notes {
        printer.line(&[span(Style::Odd, "note      "), plain(note.as_str())]);
    }
}

fn prepared(
    arguments: &RerunArguments,
    guarded: &GuardedRun,
    printer: &mut Printer,
) -> Result<(Taken, Archived, Request), String> {
    refuse_standard_output("--evidence", arguments.evidence.as_deref(), EVIDENCE_IS_A_FOLDER)?;
    let folder = std::env::current_dir().map_err(|error| format!("find the current folder: {error}"))?;
    let taken = take(&arguments.run)?;
    let side = &taken.side;
    let archived = Archived::of(side, &arguments.cases)?;
    let asked = archived::Asked {
        profile: arguments.target.as_deref(),
        command: &arguments.command,
        cwd: arguments.cwd.as_deref(),
        is_agreed: arguments.run_archived_command,
    };
    let (target, notes) = archived::target(side.run(), &asked, &folder).map_err(|refused| {
        for line in &refused.would_run {
            printer.note("it names: ", line);
        }
        refused.message
    })?;
    let archived = Archived {
        notes: archived.notes.iter().cloned().chain(notes).collect(),
        ..archived
    };
    let defect = side.run().defect.clone();
    run::check_defect(defect.as_deref(), &target)?;
    let harness = std::env::current_exe().map_err(|error| format!("find the harness's own executable: {error}"))?;
    let request = Request {
        repeat: Repeat {
            before: format!("harness rerun {} --case", quoted(&arguments.run.display().to_string())),
            own: BTreeMap::new(),
            rest: repeat_words(arguments),
        },
        keep: None,
        is_removed: IsRemoved::never(),
        jobs: jobs(arguments.jobs.map(usize::from), &target),
        target,
        catalogue: Arc::new(archived.catalogue.clone()),
        baseline: Baseline::default(),
        selection: archived.selection.clone(),
        naming: fresh_naming(Some(side.run().naming.seed)),
        timeout_ms: arguments
            .timeout
            .map(|seconds| seconds * 1000)
            .or(side.run().timeout_ms),
        defect,
        rerun_of: Some(archived::rerun_of(&taken)),
        evidence: arguments.evidence.as_ref().map(|path| folder.join(path)),
        folder,
        orphaned: guarded.orphaned(),
        scratch: guarded.scratch().to_path_buf(),
        harness,
    };
    Ok((taken, archived, request))
}

fn repeat_words(arguments: &RerunArguments) -> String {
    let mut words = Vec::new();
    if let Some(target) = &arguments.target {
        words.push(format!("--target {}", quoted(&target.display().to_string())));
    }
    if let Some(cwd) = &arguments.cwd {
        words.push(format!("--cwd {}", quoted(cwd)));
    }
    if arguments.run_archived_command {
        words.push("--run-archived-command".to_owned());
    }
    if !arguments.command.is_empty() {
        words.push("--".to_owned());
        words.extend(arguments.command.iter().map(|word| quoted(word)));
    }
    words.join(" ")
}

fn compare(before: &Side, folder: &Path, name: &str, only: &[String]) -> Result<RunDiff, String> {
    let evidence = Evidence::open(folder).map_err(|error| error.to_string())?;
    Ok(compare_runs(before, &Side::open(&evidence, name)?, only))
}

fn finish(
    arguments: &RerunArguments,
    notes: &[String],
    (mut report, state): (RunReport, RunState),
    compared: Result<RunDiff, String>,
    printer: &mut Printer,
) -> ExitStatus {
    let nothing_run = report.did_not_start.is_some() || report.blind.is_some() || report.tools.is_some();
    let (status, reason) = match (&compared, state) {
        (_, RunState::Interrupted) => (ExitStatus::Interrupted, "it was interrupted"),
        (Err(message), _) => {
            printer.error(message);
            (ExitStatus::Inconclusive, "the runs could not be compared")
        }
        (Ok(_), _) if nothing_run => (ExitStatus::Inconclusive, "nothing was run now"),
        (Ok(diff), _) if !diff.verdicts_differ() => (ExitStatus::Success, "the verdicts are equal, whatever they are"),
        (Ok(diff), _) if diff.says_nothing() => (ExitStatus::Inconclusive, "a case came to nothing now"),
        (Ok(_), _) => (ExitStatus::Failed, "a verdict differs"),
    };
    report.exit = status.code();
    report.exit_reason = Some(reason);
    // What was cut off, or never begun, is no difference of the server.
    let shown = compared.ok().filter(|_| !nothing_run && state != RunState::Interrupted);
    match arguments.format {
        Format::Human => {
            show_end(printer, &report);
            if let Some(diff) = &shown {
                printer.blank();
                let again = format!(
                    "harness diff {} {}",
                    quoted(&arguments.run.display().to_string()),
                    quoted(&report.evidence)
                );
                show_diff(printer, diff, arguments.frames, &again);
            }
            if status == ExitStatus::Interrupted {
                printer.note("", "interrupted; the evidence holds what was done until then");
            }
        }
        Format::Json | Format::Jsonl => {
            let diff = shown.map(|diff| diff_command::first_only(arguments.frames, diff));
            let whole = RerunReport {
                notes,
                run: &report,
                diff: diff.as_ref(),
                exit: status.code(),
            };
            if arguments.format == Format::Json {
                printer.json(&whole);
            } else {
                printer.json_line(&json!({ "event": "end", "rerun": whole }));
            }
        }
    }
    status
}
