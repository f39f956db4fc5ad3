//! `harness prove`: that every case can fail, shown on a server that is broken on purpose in one thing after the other.

mod chosen;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::target_arguments::{protocols, quoted};
use super::{EVIDENCE_IS_A_FOLDER, ExitStatus, refuse, refuse_standard_output};
use crate::case::Catalogue;
use crate::conduct::{
    ConductError, IsRemoved, ProofRequest, Proved, Proving, Repeat, Request, fresh_naming, jobs, prove as conduct_proof,
};
use crate::digest;
use crate::drive::clock;
use crate::drive::guard::{Interrupts, Run as GuardedRun};
use crate::matrix::{Matrix, Problem, Proof, RunKept};
use crate::protocol::Protocol;
use crate::record::{Baseline, Evidence, EvidenceError, ProofFolder, RunState, SUMS_FILE};
use crate::report::Printer;
use chosen::{Chosen, chosen};

/// Show that every case can fail: run all of them on the server with each planted defect, and compare with what must notice it
#[derive(Debug, Args)]
#[command(
    after_help = "First the cases are run without a defect, and must all pass. Then with each defect: every check that it names must \
                  break. Other checks that break with it are printed as such, and nothing depends on them.\n\n\
                  Without --case those cases are run that the defects name, and those that the server can run and nobody's name.\n\n\
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
    /// The built-in target `reference-server` (when absent) or `reference-execution`, each with defects and cases of its own; or
    /// the profile of a server of your own, in which `[defects] env = "NAME"` is the variable that tells it what to get wrong
    #[arg(long, value_name = "NAME|FILE")]
    target: Option<PathBuf>,
    /// The defects of that server and what must notice each: a TOML file with `format = 1` and, for each, [[defect]] with `name`,
    /// `says` and `kills = ["case:check"]` (or `family/case:check`)
    #[arg(long, value_name = "FILE", requires = "target")]
    defects: Option<PathBuf>,
    /// Revision of MCP to speak, and no other; as in `harness run`
    #[arg(long, value_name = "REVISION", value_parser = protocols())]
    protocol: Option<Protocol>,
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

/// Where `matrix.json` goes, at every moment of a proof.
struct Stored {
    folder: ProofFolder,
    /// The runs that there may be, in order.
    runs: Vec<String>,
    /// The last time that it could not be written.
    trouble: Option<EvidenceError>,
}

impl Stored {
    /// Writes what is known, whole or not at all, so that whatever ends the harness leaves the last of it.
    fn write(&mut self, matrix: &Matrix, state: RunState, exit: Option<u8>) -> Proof {
        let begun = self.runs.iter().filter(|run| self.folder.run(run).is_dir());
        let kept = begun.map(|run| RunKept {
            folder: run.clone(),
            sums_sha256: digest::sha256_file(&self.folder.run(run).join(SUMS_FILE)).ok(),
        });
        let evidence = self.folder.root().display().to_string();
        let proof = Proof::of(matrix, state, exit, kept.collect(), evidence);
        self.trouble = Evidence::write_json(&self.folder.matrix_file(), &proof).err();
        proof
    }

    /// Writes what it came to, and seals it.
    fn seal(&mut self, proved: &Proved, status: ExitStatus) -> (Proof, Option<EvidenceError>) {
        let state = if proved.interrupted {
            RunState::Interrupted
        } else {
            RunState::Finished
        };
        let proof = self.write(&proved.matrix, state, Some(status.code()));
        let trouble = self.trouble.take().or_else(|| self.folder.seal().err());
        (proof, trouble)
    }
}

/// Runs the proof.
pub(super) fn prove(arguments: &ProveArguments, guarded: &GuardedRun, printer: &mut Printer) -> ExitStatus {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return refuse_proof(arguments, &ConductError::Thread(error), printer),
    };
    // Before the folder is made, so that no interrupt ends this between the two.
    let mut interrupts = match runtime.block_on(async { Interrupts::listen() }) {
        Ok(interrupts) => interrupts,
        Err(error) => return refuse_proof(arguments, &ConductError::Thread(error), printer),
    };
    let (request, folder) = match request(arguments, guarded) {
        Ok(request) => request,
        Err(message) => return refuse(arguments.format.of_errors(), &message, ExitStatus::Usage, printer),
    };
    let mut stored = Stored {
        runs: request.runs(),
        folder,
        trouble: None,
    };
    let evidence = stored.folder.root().display().to_string();
    guarded.leave_word(&format!(
        "it is in {evidence}; harness show {} shows it\n{}",
        quoted(&evidence),
        again(arguments)
    ));
    let is_human = arguments.format == Format::Human;
    if is_human {
        show::begin(&request.base.target.title(), printer);
    }
    let mut tell = |proving: Proving<'_>| {
        if let Proving::Known(matrix) = proving {
            stored.write(matrix, RunState::Running, None);
        }
        show::progress(&proving, is_human, printer);
    };
    let proved = runtime.block_on(Box::pin(conduct_proof(request, &mut interrupts, &mut tell)));
    match proved {
        Ok(proved) => finish(arguments, &proved, &mut stored, printer),
        Err(error) => refuse_proof(arguments, &error, printer),
    }
}

impl Format {
    /// How it is said that there is no proof.
    fn of_errors(self) -> super::Format {
        match self {
            Self::Json => super::Format::Json,
            Self::Human | Self::Markdown => super::Format::Human,
        }
    }
}

fn refuse_proof(arguments: &ProveArguments, error: &ConductError, printer: &mut Printer) -> ExitStatus {
    let status = if error.is_usage() {
        ExitStatus::Usage
    } else {
        ExitStatus::Inconclusive
    };
    refuse(arguments.format.of_errors(), &error.to_string(), status, printer)
}

fn finish(arguments: &ProveArguments, proved: &Proved, stored: &mut Stored, printer: &mut Printer) -> ExitStatus {
    let mut status = status(proved);
    let (mut proof, trouble) = stored.seal(proved, status);
    if let Some(error) = trouble {
        printer.error(&error.to_string());
        if status == ExitStatus::Success {
            status = ExitStatus::Inconclusive;
            proof.exit = Some(status.code());
        }
    }
    let problems: Vec<String> = (proved.matrix.problems.iter())
        .filter(|problem| !proved.interrupted || is_of_a_run(problem))
        .map(ToString::to_string)
        .collect();
    match arguments.format {
        Format::Human => {
            let ending = show::Ending {
                problems: &problems,
                last_words: &proved.last_words,
                others: &chosen::others(arguments),
            };
            show::end(&proof, &ending, printer);
        }
        Format::Json => printer.json(&proof),
        Format::Markdown => printer.own_text(&proved.matrix.to_markdown()),
    }
    if arguments.format == Format::Markdown {
        for problem in &problems {
            printer.error(problem);
        }
    }
    if proved.interrupted {
        printer.note("", &show::kept(&proof));
        printer.note("", &go_on(arguments, &proof));
    }
    status
}

/// How an interrupted proof is made whole. A proof has one baseline, so nothing can be added to it.
fn go_on(arguments: &ProveArguments, proof: &Proof) -> String {
    let left = show::left(proof);
    if left.is_empty() {
        again(arguments)
    } else {
        command(
            "to prove what is left, with a baseline of its own",
            arguments,
            &left.join(","),
        )
    }
}

/// How all of it is made again.
fn again(arguments: &ProveArguments) -> String {
    command("to make it again", arguments, &arguments.wanted.join(","))
}

fn command(what: &str, arguments: &ProveArguments, defects: &str) -> String {
    let defects = (!defects.is_empty()).then(|| format!("--defect {defects}"));
    let cases = (!arguments.cases.is_empty()).then(|| format!("--case {}", quoted(&arguments.cases.join(","))));
    let list = arguments.defects.as_ref();
    let list = list.map(|path| format!("--defects {}", quoted(&path.display().to_string())));
    let jobs = arguments.jobs.map(|jobs| format!("--jobs {jobs}"));
    let profile = Some(profile_words(arguments)).filter(|words| !words.is_empty());
    let words: Vec<String> = [profile, list, cases, defects, jobs].into_iter().flatten().collect();
    format!("{what}: harness prove {}", words.join(" "))
        .trim_end()
        .to_owned()
}

/// Whether a problem is one that a run has shown. What else is wrong is for those who let a proof come to its end.
fn is_of_a_run(problem: &Problem) -> bool {
    match problem {
        Problem::BaselineNotGreen { .. } | Problem::NotRun { .. } | Problem::NotKilled { .. } => true,
        Problem::NoDefect
        | Problem::NamesNone { .. }
        | Problem::Unknown { .. }
        | Problem::NotAbout { .. }
        | Problem::Lonely { .. } => false,
    }
}

/// A run that could not be made says nothing against the cases; everything else does.
fn status(proved: &Proved) -> ExitStatus {
    let is_ours = |problem: &Problem| problem.not_run_on().is_some();
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

fn request(arguments: &ProveArguments, guarded: &GuardedRun) -> Result<(ProofRequest, ProofFolder), String> {
    refuse_standard_output("--evidence", arguments.evidence.as_deref(), EVIDENCE_IS_A_FOLDER)?;
    let folder = std::env::current_dir().map_err(|error| format!("find the current folder: {error}"))?;
    let Chosen {
        target,
        selection,
        expected,
    } = chosen(arguments, &folder)?;
    let naming = fresh_naming(None);
    let harness = std::env::current_exe().map_err(|error| format!("find the harness's own executable: {error}"))?;
    let made = evidence_folder(arguments, &folder, &naming.nonce)?;
    let base = Request {
        repeat: Repeat {
            before: "harness run --case".to_owned(),
            own: BTreeMap::new(),
            rest: profile_words(arguments),
        },
        keep: None,
        is_removed: IsRemoved::never(),
        jobs: jobs(arguments.jobs.map(usize::from), &target),
        target,
        catalogue: Arc::new(Catalogue::embedded().clone()),
        baseline: Baseline::default(),
        selection,
        naming,
        timeout_ms: None,
        defect: None,
        rerun_of: None,
        evidence: None,
        folder,
        orphaned: guarded.orphaned(),
        scratch: guarded.scratch().to_path_buf(),
        harness,
    };
    let request = ProofRequest {
        base,
        expected,
        evidence: made.root().to_path_buf(),
    };
    Ok((request, made))
}

/// What a command that repeats one case of a proof says of the target.
fn profile_words(arguments: &ProveArguments) -> String {
    let profile = arguments.target.as_ref();
    let profile = profile.map(|path| format!("--target {}", quoted(&path.display().to_string())));
    let protocol = arguments.protocol;
    let protocol = protocol.map(|protocol| format!("--protocol {}", protocol.name()));
    let words: Vec<String> = profile.into_iter().chain(protocol).collect();
    words.join(" ")
}

fn evidence_folder(arguments: &ProveArguments, folder: &Path, nonce: &str) -> Result<ProofFolder, String> {
    let stamp = clock::utc_now().to_string().replace(['-', ':'], "");
    let made = match &arguments.evidence {
        Some(path) => ProofFolder::create_at(&folder.join(path)),
        None => ProofFolder::create_usual(folder, &format!("{stamp}-prove-{nonce}")),
    };
    made.map_err(|error| error.to_string())
}
