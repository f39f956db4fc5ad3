//! `harness run`: which target, which cases, and what it came to.

mod dry_run;
mod go_on;
pub(super) mod status;
mod written_down;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use self::status::{Deny, judge_run};
use super::baseline_arguments::BaselineArguments;
use super::target_arguments::{TargetArguments, quoted};
use super::{
    EVIDENCE_IS_A_FOLDER, ExitStatus, Format, built_in_defects, next_command, refuse, refuse_standard_output, story,
};
use crate::case::Catalogue;
use crate::conduct::{
    ConductError, IsRemoved, Progress, Repeat, Request, Running, conduct, dry_run, fresh_naming, jobs,
};
use crate::drive::guard::{Interrupts, Run as GuardedRun};
use crate::record::RunState;
use crate::report::{
    Printer, RunReport, Style, plain, show_case, show_case_lines, show_effect, show_end, show_server, show_target, span,
};
use crate::target::{Target, TargetSource, in_flag_words};

/// Run cases against a server: launch it, break it, restart it, retry, and count
#[derive(Debug, Args)]
#[command(
    after_help = "Without --target or a command, ./target.toml is tested where it exists, else the built-in \
                        reference server. The target is named in the first and in the last line."
)]
pub(super) struct RunArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Case, family, number, or pattern (`retry/*`) to run; all when absent. May be repeated
    #[arg(long = "case", value_name = "CASE", value_delimiter = ',')]
    cases: Vec<String>,
    /// File of a case of your own, which counts as named; alone, it and the controls it names are all that is run. May be repeated
    #[arg(long = "case-file", value_name = "FILE")]
    case_files: Vec<PathBuf>,
    /// Case, family, number, or pattern to leave out. May be repeated
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    skip: Vec<String>,
    /// Start the target with this planted defect (`harness list --defects` names those of the built-in server; a profile needs
    /// [defects])
    #[arg(long, value_name = "NAME")]
    defect: Option<String>,
    /// Seed of identities and markers; random when absent
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// No wait of a case is longer than this many seconds; the cases name bounds of their own
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,
    /// How many cases to run side by side: as many as there are cores when absent, and 1 where the cases of a target would
    /// share a folder
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Folder for the evidence; must not exist. A new one under evidence/runs/ when absent
    #[arg(long, value_name = "DIR")]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    baseline: BaselineArguments,
    /// Verdicts that fail everywhere, not only for named cases
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    deny: Vec<Deny>,
    /// Print what would be launched, written and killed, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Tell each case as a story, step by step: what was done, what broke, what was seen in the store, and why the verdict is
    /// what it is
    #[arg(long)]
    story: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Command of the server under test
    #[arg(last = true, conflicts_with_all = ["target", "stdio"])]
    command: Vec<String>,
}

/// Runs the cases.
pub(super) fn run(arguments: &RunArguments, guarded: &GuardedRun, printer: &mut Printer) -> ExitStatus {
    if arguments.story
        && let Some(status) = story::refuse_beside(arguments.format, arguments.dry_run, printer)
    {
        return status;
    }
    let request = match request(arguments, guarded) {
        Ok(request) => request,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let by_flags = request.target.source == TargetSource::Command;
    let part_of = is_part(arguments).then(|| Arc::clone(&request.catalogue));
    if arguments.dry_run {
        return match dry_run(&request) {
            Ok(dry) => dry_run::show(arguments.format, &dry, printer),
            Err(error) => refuse_run(arguments.format, &error, by_flags, printer),
        };
    }
    let catalogue = Arc::clone(&request.catalogue);
    let requested = request.selection.requested.clone();
    interruptible(arguments.format, printer, async |interrupts, printer| {
        let folder = request.folder.clone();
        let mut tell = |progress: Progress<'_>| {
            if let Progress::Begins(report) = &progress {
                guarded.leave_word(&go_on::when_cut_short(arguments, &report.evidence));
            }
            if let (Progress::CaseJudged(case, report, control), true) = (&progress, arguments.story) {
                story::tell_judged(case, report, *control, &folder, printer);
            } else {
                show_progress(arguments.format, printer, &progress);
            }
        };
        match Box::pin(conduct(request, interrupts, &mut tell)).await {
            Ok((report, state)) => {
                let asked = Asked {
                    catalogue: &catalogue,
                    requested: &requested,
                    part_of: part_of.as_deref(),
                };
                finish(arguments, report, state, &asked, printer)
            }
            Err(error) => refuse_run(arguments.format, &error, by_flags, printer),
        }
    })
}

/// What was asked of a run.
struct Asked<'a> {
    /// The cases that there are.
    catalogue: &'a Catalogue,
    /// Ids of those that were asked for.
    requested: &'a [String],
    /// The same catalogue, where it was not all of it.
    part_of: Option<&'a Catalogue>,
}

/// Does what an interrupt can end, on a runtime of its own.
pub(super) fn interruptible(
    format: Format,
    printer: &mut Printer,
    act: impl AsyncFnOnce(&mut Interrupts, &mut Printer) -> ExitStatus,
) -> ExitStatus {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let message = format!("start the runtime: {error}");
            return refuse(format, &message, ExitStatus::Inconclusive, printer);
        }
    };
    runtime.block_on(async {
        match Interrupts::listen() {
            Ok(mut interrupts) => act(&mut interrupts, printer).await,
            Err(error) => {
                let message = format!("listen for signals: {error}");
                refuse(format, &message, ExitStatus::Inconclusive, printer)
            }
        }
    })
}

pub(super) fn refuse_run(format: Format, error: &ConductError, by_flags: bool, printer: &mut Printer) -> ExitStatus {
    let status = if error.is_usage() {
        ExitStatus::Usage
    } else {
        ExitStatus::Inconclusive
    };
    let message = error.to_string();
    let message = if by_flags { in_flag_words(&message) } else { message };
    refuse(format, &message, status, printer)
}

pub(super) fn show_progress(format: Format, printer: &mut Printer, progress: &Progress<'_>) {
    match (format, progress) {
        (Format::Human, Progress::Begins(report)) => show_target(printer, &report.target),
        (Format::Human, Progress::Probed(report)) => show_server(printer, report),
        (Format::Human, Progress::EffectFound(selector)) => show_effect(printer, selector),
        (Format::Jsonl, Progress::EffectFound(selector)) => {
            printer.json_line(&json!({"event": "effect-found", "read_effects": selector}));
        }
        (Format::Human, Progress::Warning(text)) => {
            printer.line(&[span(Style::Odd, "warning   "), plain(*text)]);
        }
        (Format::Jsonl, Progress::Warning(text)) => printer.json_line(&json!({"event": "warning", "text": text})),
        (Format::Human, Progress::CaseJudged(case, report, control)) => show_case(printer, case, report, *control),
        (Format::Jsonl, Progress::Probed(report)) => {
            let target = &report.target;
            printer.json_line(&json!({"event": "target", "target": target, "warnings": report.warnings}));
        }
        (Format::Jsonl, Progress::CaseJudged(_, report, _)) => {
            printer.json_line(&json!({"event": "case", "case": report}));
        }
        (_, Progress::Running(running)) => show_running(printer, *running),
        (
            Format::Json,
            Progress::Probed(_) | Progress::EffectFound(..) | Progress::Warning(_) | Progress::CaseJudged(..),
        )
        | (_, Progress::Begins(_)) => {}
    }
}

fn show_running(printer: &mut Printer, running: Running<'_>) {
    let names: Vec<&str> = running.cases.iter().map(|case| case.id.as_str()).collect();
    if !names.is_empty() {
        let (done, all) = (running.done, running.all);
        printer.progress(&format!("{done} of {all} done, running {}", names.join(", ")));
    }
}

fn finish(
    arguments: &RunArguments,
    mut report: RunReport,
    state: RunState,
    asked: &Asked<'_>,
    printer: &mut Printer,
) -> ExitStatus {
    if state == RunState::Interrupted {
        report.not_begun = go_on::not_begun(asked.requested, &report);
    }
    let deny: BTreeSet<Deny> = arguments.deny.iter().copied().collect();
    let (status, reason) = match state {
        RunState::Interrupted => (ExitStatus::Interrupted, Some("it was interrupted")),
        RunState::Running | RunState::Finished => judge_run(&report, &deny),
    };
    report.next = report.tools.as_ref().and_then(|tools| {
        let command =
            (!arguments.command.is_empty() || arguments.target.is_command()).then(|| repeat_words(arguments, None));
        next_command::next(tools, command.as_deref())
    });
    report.exit_reason = reason;
    let written = write_expected(arguments, &mut report, state, asked.part_of, printer);
    let status = written.unwrap_or(status);
    report.exit = status.code();
    match arguments.format {
        Format::Human => {
            if arguments.story {
                show_case_lines(printer, &report);
            }
            written_down::tell(&report.evidence, printer);
            show_end(printer, &report);
            if status == ExitStatus::Interrupted {
                printer.note("", "interrupted; the evidence holds what was done until then");
                printer.note("", &go_on::left(arguments, asked, &report));
            }
        }
        Format::Json => printer.json(&report),
        Format::Jsonl => printer.json_line(&json!({
            "event": "end", "totals": report.totals, "target": report.target, "evidence": report.evidence,
            "did_not_start": report.did_not_start, "hint": report.hint, "blind": report.blind, "baseline": report.baseline, "exit": report.exit,
        })),
    }
    status
}

/// Whether it is not the whole catalogue that was asked for.
fn is_part(arguments: &RunArguments) -> bool {
    !(arguments.cases.is_empty() && arguments.skip.is_empty() && arguments.case_files.is_empty())
}

/// Writes the verdicts where that was asked for; a status only where that went wrong.
fn write_expected(
    arguments: &RunArguments,
    report: &mut RunReport,
    state: RunState,
    part_of: Option<&Catalogue>,
    printer: &mut Printer,
) -> Option<ExitStatus> {
    match arguments.baseline.write(report, state, part_of) {
        Ok(written) => {
            if let (Some(said), false) = (&written.said, arguments.format == Format::Json) {
                printer.note("", said);
            }
            for note in written.notes {
                printer.note("note: ", &note);
            }
            if let Some(baseline) = &mut report.baseline {
                baseline.is_kept = written.said.is_some() && arguments.baseline.keeps_what_it_reads();
            }
            None
        }
        Err(message) => {
            printer.error(&message);
            Some(ExitStatus::Inconclusive)
        }
    }
}

fn request(arguments: &RunArguments, guarded: &GuardedRun) -> Result<Request, String> {
    refuse_standard_output("--evidence", arguments.evidence.as_deref(), EVIDENCE_IS_A_FOLDER)?;
    let folder = std::env::current_dir().map_err(|error| format!("find the current folder: {error}"))?;
    let target = arguments.target.resolve(&arguments.command, &folder)?;
    check_defect(arguments.defect.as_deref(), &target)?;
    let catalogue = Catalogue::embedded().with_files(&arguments.case_files, &folder);
    let catalogue = catalogue.map_err(|error| error.to_string())?;
    let wanted: Vec<String> = (arguments.cases.iter().cloned())
        .chain(catalogue.own().map(str::to_owned))
        .collect();
    let selection = catalogue.select(&wanted, &arguments.skip);
    let selection = selection.map_err(|error| error.to_string())?;
    let baseline = arguments
        .baseline
        .resolve(&target, &catalogue, &folder, is_part(arguments))?;
    let naming = fresh_naming(arguments.seed);
    let harness = std::env::current_exe().map_err(|error| format!("find the harness's own executable: {error}"))?;
    Ok(Request {
        repeat: Repeat {
            before: "harness run --case".to_owned(),
            own: own_words(&catalogue),
            rest: repeat_words(arguments, Some(naming.seed)),
        },
        keep: None,
        is_removed: IsRemoved::never(),
        jobs: jobs(arguments.jobs.map(usize::from), &target),
        target,
        catalogue: Arc::new(catalogue),
        baseline,
        selection,
        naming,
        timeout_ms: arguments.timeout.map(|seconds| seconds * 1000),
        defect: arguments.defect.clone(),
        rerun_of: None,
        evidence: arguments.evidence.as_ref().map(|path| folder.join(path)),
        folder,
        orphaned: guarded.orphaned(),
        scratch: guarded.scratch().to_path_buf(),
        harness,
    })
}

/// That nothing can be planted in this target, and how its profile would say how.
pub(super) fn has_no_defects(target: &str) -> String {
    format!("{target} has no [defects]; say there which variable tells the server what to get wrong: `env = \"NAME\"`")
}

/// A defect that nobody plants would make a green run look like a caught defect.
pub(super) fn check_defect(defect: Option<&str>, target: &Target) -> Result<(), String> {
    let Some(defect) = defect else { return Ok(()) };
    if target.defects_env.is_none() {
        return Err(format!(
            "--defect {defect}: the target {}",
            has_no_defects(&target.name)
        ));
    }
    let is_built_in = target.source == TargetSource::BuiltIn;
    let refusal = is_built_in.then(|| built_in_defects::refusal(defect, &target.name));
    refusal.flatten().map_or(Ok(()), Err)
}

/// The words that run each case of the user's own.
fn own_words(catalogue: &Catalogue) -> BTreeMap<String, String> {
    let words = |id: &str| {
        let file = catalogue.file_of(id)?;
        Some((id.to_owned(), format!("harness run --case-file {}", quoted(file))))
    };
    catalogue.own().filter_map(words).collect()
}

/// The words that repeat this run, to stand after those that name its case.
fn repeat_words(arguments: &RunArguments, seed: Option<u64>) -> String {
    let mut words = arguments.target.repeat_words();
    if let Some(defect) = &arguments.defect {
        words.push(format!("--defect {}", quoted(defect)));
    }
    if let Some(timeout) = arguments.timeout {
        words.push(format!("--timeout {timeout}"));
    }
    if let Some(seed) = seed {
        words.push(format!("--seed {seed}"));
    }
    if !arguments.command.is_empty() {
        words.push("--".to_owned());
        words.extend(arguments.command.iter().map(|word| quoted(word)));
    }
    words.join(" ")
}
