//! `harness prove`: that every case can fail, shown on a server that is broken on purpose in one thing after the other.

mod built_in;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::ExitStatus;
use super::target_arguments::quoted;
use crate::case::{Case, Catalogue};
use crate::conduct::{ConductError, ProofRequest, Proved, Repeat, Request, fresh_naming, jobs, prove as conduct_proof};
use crate::document;
use crate::drive::clock;
use crate::drive::guard::{Interrupts, Run as GuardedRun};
use crate::matrix::{self, Expected, Matrix, Planted, Problem};
use crate::record::{Baseline, Evidence};
use crate::report::Printer;
use crate::target::{Target, TargetWords, built_in as built_in_target, locate};

/// The file with the whole matrix, beside the folders of the runs.
const MATRIX_FILE: &str = "matrix.json";

/// Show that every case can fail: run all of them on the server with each planted defect, and compare with what must notice it
#[derive(Debug, Args)]
#[command(
    after_help = "First the cases are run without a defect, and must all pass. Then with each defect: every check that it names must \
                  break. Other checks that break with it are printed as such, and nothing depends on them.\n\n\
                  Exit codes: 0 the proof is complete; 1 a defect went unnoticed, a case is named by no defect, or a case does not \
                  pass without one; 2 usage or configuration, a wrong list of defects; 3 a run could not be made, or the output \
                  could not be written; 130 interrupted."
)]
pub(super) struct ProveArguments {
    /// Case, family, number, or pattern (`retry/*`) to run; all when absent. May be repeated
    #[arg(long = "case", value_name = "CASE", value_delimiter = ',')]
    cases: Vec<String>,
    /// Defect to plant; all when absent. May be repeated
    #[arg(long = "defect", value_name = "NAME", value_delimiter = ',')]
    wanted: Vec<String>,
    /// Profile of a server of your own, with [defects]; the built-in reference server when absent
    #[arg(long, value_name = "FILE", requires = "defects")]
    target: Option<PathBuf>,
    /// The defects of that server and what must notice each: a TOML file with `format = 1` and, for each, [[defect]] with `name`,
    /// `says` and `kills = ["case:check"]` (or `family/case:check`)
    #[arg(long, value_name = "FILE", requires = "target")]
    defects: Option<PathBuf>,
    /// How many servers to run side by side: as many as there are cores when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Folder for the evidence; must not exist. A new one under evidence/runs/ when absent
    #[arg(long, value_name = "DIR")]
    evidence: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Output format of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Human,
    /// One JSON document on standard output, and nothing else there
    Json,
    /// The matrix as Markdown, without times
    Markdown,
}

/// `matrix.json`, and the JSON report.
#[derive(Debug, Serialize)]
struct ProofReport<'a> {
    #[serde(flatten)]
    matrix: &'a Matrix,
    /// Version of the harness.
    harness: &'static str,
    /// Whether defects are missing at the end because the user stopped it.
    interrupted: bool,
    /// The folder beside `matrix.json` in which the proof of each run is, and the digest of its list of digests.
    runs: Vec<RunKept<'a>>,
    /// The folder of the evidence.
    evidence: String,
    /// The exit code.
    exit: u8,
}

/// A run whose evidence is kept.
#[derive(Debug, Serialize)]
struct RunKept<'a> {
    folder: &'a str,
    sums_sha256: Option<&'a str>,
}

/// Runs the proof.
pub(super) fn prove(arguments: &ProveArguments, guarded: &GuardedRun, printer: &mut Printer) -> ExitStatus {
    let request = match request(arguments, guarded) {
        Ok(request) => request,
        Err(message) => {
            printer.error(&message);
            return ExitStatus::Usage;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&ConductError::Thread(error), printer),
    };
    let evidence = request.evidence.clone();
    let is_human = arguments.format == Format::Human;
    if is_human {
        show::begin(&request.base.target.title(), printer);
    }
    let proved = runtime.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(ConductError::Thread)?;
        let mut tell = |proving: crate::conduct::Proving<'_>| show::progress(&proving, is_human, printer);
        Box::pin(conduct_proof(request, &mut interrupts, &mut tell)).await
    });
    match proved {
        Ok(proved) => finish(arguments, &proved, &evidence, printer),
        Err(error) => refuse(&error, printer),
    }
}

fn refuse(error: &ConductError, printer: &mut Printer) -> ExitStatus {
    printer.error(&error.to_string());
    if error.is_usage() {
        ExitStatus::Usage
    } else {
        ExitStatus::Inconclusive
    }
}

fn finish(arguments: &ProveArguments, proved: &Proved, evidence: &Path, printer: &mut Printer) -> ExitStatus {
    let mut status = status(proved);
    let mut report = ProofReport {
        matrix: &proved.matrix,
        harness: env!("CARGO_PKG_VERSION"),
        interrupted: proved.interrupted,
        runs: (proved.runs.iter())
            .map(|(folder, sums)| RunKept {
                folder,
                sums_sha256: sums.as_deref(),
            })
            .collect(),
        evidence: evidence.display().to_string(),
        exit: status.code(),
    };
    if let Err(error) = Evidence::write_json(&evidence.join(MATRIX_FILE), &report) {
        printer.error(&error.to_string());
        if status == ExitStatus::Success {
            status = ExitStatus::Inconclusive;
            report.exit = status.code();
        }
    }
    match arguments.format {
        Format::Human => show::end(&report, printer),
        Format::Json => printer.json(&report),
        Format::Markdown => printer.own_text(&proved.matrix.to_markdown()),
    }
    if arguments.format == Format::Markdown {
        for problem in &proved.matrix.problems {
            printer.error(&problem.to_string());
        }
    }
    if proved.interrupted {
        printer.note("", "interrupted; the evidence holds what was done until then");
    }
    status
}

/// A run that could not be made says nothing against the cases; everything else does.
fn status(proved: &Proved) -> ExitStatus {
    let is_ours = |problem: &Problem| match problem {
        Problem::NotRun { .. } => true,
        Problem::NoDefect
        | Problem::BaselineNotGreen { .. }
        | Problem::NamesNone { .. }
        | Problem::Unknown { .. }
        | Problem::NotAbout { .. }
        | Problem::NotKilled { .. }
        | Problem::Lonely { .. } => false,
    };
    let problems = &proved.matrix.problems;
    if proved.interrupted {
        ExitStatus::Interrupted
    } else if problems.is_empty() {
        ExitStatus::Success
    } else if problems.iter().all(is_ours) {
        ExitStatus::Inconclusive
    } else {
        ExitStatus::Failed
    }
}

fn request(arguments: &ProveArguments, guarded: &GuardedRun) -> Result<ProofRequest, String> {
    let folder = std::env::current_dir().map_err(|error| format!("find the current folder: {error}"))?;
    let (target, list) = planted_target(arguments, &folder)?;
    if target.defects_env.is_none() {
        return Err(format!("the target {} has no [defects]", target.name));
    }
    for name in &arguments.wanted {
        if !list.iter().any(|planted| planted.name == *name) {
            let near = document::nearest(name, list.iter().map(|planted| planted.name.as_str()));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(format!("--defect {name}: {} has no such defect{near}", target.name));
        }
    }
    let catalogue = Catalogue::embedded();
    let mut selection = catalogue
        .select(&arguments.cases, &[])
        .map_err(|error| error.to_string())?;
    // Here no case is a gate of its own: the matrix is.
    selection.named.clear();
    let chosen: Vec<&Case> = selection.execute.iter().filter_map(|id| catalogue.get(id)).collect();
    let is_wanted = |name: &str| arguments.wanted.is_empty() || arguments.wanted.iter().any(|wanted| wanted == name);
    let expected = Expected::of(&list, is_wanted, &catalogue.all(), &chosen);
    let naming = fresh_naming(None);
    let harness = std::env::current_exe().map_err(|error| format!("find the harness's own executable: {error}"))?;
    let evidence = evidence_folder(arguments, &folder, &naming.nonce)?;
    let base = Request {
        repeat: Repeat {
            before: "harness run --case".to_owned(),
            own: BTreeMap::new(),
            rest: profile_words(arguments),
        },
        keep: None,
        jobs: jobs(arguments.jobs.map(usize::from), &target),
        target,
        catalogue: Arc::new(catalogue.clone()),
        baseline: Baseline::default(),
        selection,
        naming,
        timeout_ms: None,
        defect: None,
        evidence: None,
        folder,
        orphaned: guarded.orphaned(),
        scratch: guarded.scratch().to_path_buf(),
        harness,
    };
    Ok(ProofRequest {
        base,
        expected,
        evidence,
    })
}

/// What a command that repeats one case of a proof says of the target.
fn profile_words(arguments: &ProveArguments) -> String {
    let profile = arguments.target.as_ref();
    profile.map_or(String::new(), |path| {
        format!("--target {}", quoted(&path.display().to_string()))
    })
}

fn planted_target(arguments: &ProveArguments, folder: &Path) -> Result<(Target, Vec<Planted>), String> {
    let (Some(profile), Some(defects)) = (&arguments.target, &arguments.defects) else {
        return Ok((built_in_target(folder), built_in::planted()?));
    };
    let words = TargetWords {
        profile: Some(profile.clone()),
        ..TargetWords::default()
    };
    let target = locate(&words, folder).map_err(|error| error.to_string())?;
    let text = document::read(&folder.join(defects)).map_err(|error| error.to_string())?;
    let list = matrix::parse(&defects.display().to_string(), &text, Catalogue::embedded())
        .map_err(|error| error.to_string())?;
    Ok((target, list))
}

fn evidence_folder(arguments: &ProveArguments, folder: &Path, nonce: &str) -> Result<PathBuf, String> {
    let stamp = clock::utc_now().to_string().replace(['-', ':'], "");
    let made = match &arguments.evidence {
        Some(path) => Evidence::create_at(&folder.join(path)).map(|made| made.root().to_path_buf()),
        None => Evidence::create_beside_runs(folder, &format!("{stamp}-prove-{nonce}")),
    };
    made.map_err(|error| error.to_string())
}
