//! Which cases are trials, and the way from the arguments of the test binary to its exit code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use super::board::{Board, Told};
use super::conducting::Conducting;
use super::target::Target;
use crate::baseline::{self, BaselineReport, read_expected_failures};
use crate::case::{Case, Catalogue};
use crate::conduct::{IsRemoved, Repeat, Request, fresh_naming, jobs, with_effects_found};
use crate::document;
use crate::drive::clock;
use crate::drive::guard::{self, Role};
use crate::drive::play_lock_holder;
use crate::record::Baseline;
use crate::report::{Printer, show_baseline};

/// The variable that repeats the identities and markers of a run.
const SEED_VARIABLE: &str = "HARNESS_SEED";

/// What a test binary exits with when it is told something wrong.
const USAGE: u8 = 2;

/// What a suite fails with of which no case could be run.
const NOTHING_TESTED: &str = "nothing was tested: the target lacks what each of these cases needs, as their reasons say; \
                              describe it in its profile, or leave the test out";

/// The same as the standard test harness, where a test fails.
const FAILED: u8 = 101;

/// Runs every case on a server, as trials. Call it first thing in `main`.
pub fn run(target: Target) -> ExitCode {
    Suite::on(target).run()
}

/// The cases on one server, and how their verdicts count.
#[derive(Debug, Clone)]
#[must_use = "a suite does nothing before `run`"]
pub struct Suite {
    target: Target,
    case_files: Vec<PathBuf>,
    skip: Vec<String>,
    expected_failures: Option<PathBuf>,
    allow_unguarded: bool,
    timeout_ms: Option<u64>,
    evidence: Option<PathBuf>,
}

impl Suite {
    /// Every case of the harness, on this server.
    pub fn on(target: Target) -> Self {
        Self {
            target,
            case_files: Vec::new(),
            skip: Vec::new(),
            expected_failures: None,
            allow_unguarded: false,
            timeout_ms: None,
            evidence: None,
        }
    }

    /// A case of your own, beside those of the harness. Paths start at the package's folder.
    pub fn case_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.case_files.push(path.into());
        self
    }

    /// Leaves out a case, a family, or what fits a pattern such as `crash/*`.
    pub fn skip(mut self, word: impl Into<String>) -> Self {
        self.skip.push(word.into());
        self
    }

    /// A YAML list of failures that are known, as of `harness run --expected-failures`.
    pub fn expected_failures(mut self, path: impl Into<PathBuf>) -> Self {
        self.expected_failures = Some(path.into());
        self
    }

    /// Ignores a case in which an effect doubled or was lost and nobody had promised otherwise, instead of failing it.
    pub fn allow_unguarded(mut self) -> Self {
        self.allow_unguarded = true;
        self
    }

    /// No wait of a case is longer than this, in milliseconds.
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.timeout_ms = Some(ms);
        self
    }

    /// Keeps the evidence of every run in a new folder under this one. Otherwise it lies under `target/harness`, and is
    /// removed where nothing failed.
    pub fn keep_evidence(mut self, folder: impl Into<PathBuf>) -> Self {
        self.evidence = Some(folder.into());
        self
    }

    /// Runs the trials that the arguments of the program select.
    pub fn run(self) -> ExitCode {
        // This program is also the child that holds a store's lock.
        if let Some(code) = play_lock_holder() {
            return code;
        }
        let arguments = Arguments::from_args();
        let mut printer = Printer::from_environment();
        if arguments.list {
            return self
                .list(&arguments)
                .unwrap_or_else(|message| usage(&mut printer, &message));
        }
        match guard::enter() {
            Ok(Role::Guard(ended)) => ExitCode::from(ended.code),
            Ok(Role::Run(role)) => {
                if let Some(note) = role.note() {
                    printer.note("note: ", note);
                }
                // The guard removes what is there, whatever ends the tests.
                let _ = tempfile::env::override_temp_dir(role.scratch());
                let ran = self.trials(&arguments, &role, &mut printer);
                ran.unwrap_or_else(|message| usage(&mut printer, &message))
            }
            Err(error) => usage(&mut printer, &error.to_string()),
        }
    }

    /// Lists the trials; nothing is started for that.
    fn list(&self, arguments: &Arguments) -> Result<ExitCode, String> {
        let (folder, catalogue) = self.catalogue()?;
        let lacking = self.lacking(&catalogue, &folder);
        let trials = self.names(&catalogue)?.into_iter();
        let trials = trials.map(|(id, name)| Trial::test(name, || Ok(())).with_ignored_flag(lacking.contains(&id)));
        Ok(libtest_mimic::run(arguments, trials.collect()).exit_code())
    }

    fn catalogue(&self) -> Result<(PathBuf, Catalogue), String> {
        let folder = std::env::current_dir().map_err(|error| format!("find the current folder: {error}"))?;
        let catalogue = Catalogue::embedded().with_files(&self.case_files, &folder);
        Ok((folder, catalogue.map_err(|error| error.to_string())?))
    }

    /// Id and name of each trial, in the order in which cases are run.
    fn names(&self, catalogue: &Catalogue) -> Result<Vec<(String, String)>, String> {
        let selection = catalogue.select(&[], &self.skip);
        let ids = selection.map_err(|error| error.to_string())?.requested;
        let cases = ids.iter().filter_map(|id| catalogue.get(id));
        Ok(cases
            .map(|case| (case.id.clone(), format!("{}/{}", case.family, case.id)))
            .collect())
    }

    /// The cases of which the profile says already that the target cannot be asked them: a list marks them as ignored, because
    /// whoever runs each trial in a process of its own (nextest) takes one that ends as ignored for one that passed. A target
    /// that cannot be resolved lacks nothing here, so that a trial says what is wrong with it.
    fn lacking(&self, catalogue: &Catalogue, folder: &Path) -> BTreeSet<String> {
        let Ok(target) = self.target.resolve(folder) else {
            return BTreeSet::new();
        };
        let target = with_effects_found(&target);
        let lacks = |case: &&Case| case.needs.iter().any(|surface| !target.has(*surface));
        let lacking = catalogue.all().into_iter().filter(lacks);
        lacking.map(|case| case.id.clone()).collect()
    }

    fn trials(&self, arguments: &Arguments, role: &guard::Run, printer: &mut Printer) -> Result<ExitCode, String> {
        let (folder, catalogue) = self.catalogue()?;
        // Without `--ignored` they are run like the others, which shows the reason.
        let lacking = if arguments.ignored {
            self.lacking(&catalogue, &folder)
        } else {
            BTreeSet::new()
        };
        let board = Arc::new(Board::default());
        let trials = self.names(&catalogue)?.into_iter();
        let trials: Vec<(String, Trial)> = trials
            .map(|(id, name)| {
                let (board, case) = (Arc::clone(&board), id.clone());
                let is_lacking = lacking.contains(&id);
                let trial = Trial::ignorable_test(name, move || outcome(board.wait(&case)));
                (id, trial.with_ignored_flag(is_lacking))
            })
            .collect();
        let wanted = trials.iter().filter(|(_, trial)| {
            let is_left_out = arguments.is_filtered_out(trial) || arguments.is_ignored(trial);
            !is_left_out
        });
        let wanted: Vec<String> = wanted.map(|(id, _)| id.clone()).collect();
        let trials = trials.into_iter().map(|(_, trial)| trial).collect();
        if wanted.is_empty() {
            return Ok(libtest_mimic::run(arguments, trials).exit_code());
        }
        let subjects = subjects(&catalogue, &wanted);
        let mut request = self.request(folder, catalogue, &wanted, role)?;
        let evidence = request.evidence.clone().filter(|_| self.evidence.is_none());
        if evidence.is_some() {
            let (board, wanted) = (Arc::clone(&board), wanted.clone());
            request.is_removed = IsRemoved::when(move || board.is_green(&wanted));
        }
        let forgotten = forgotten(&request.baseline, &wanted);
        let conducting = Conducting {
            request,
            board: Arc::clone(&board),
            allow_unguarded: self.allow_unguarded,
        };
        let thread = conducting.start().map_err(|error| format!("start a thread: {error}"))?;
        let conclusion = libtest_mimic::run(arguments, trials);
        // What it panicked with is on standard error, and on the board that it did.
        let _ = thread.join();
        if let Some(folder) = evidence.filter(|_| board.is_green(&wanted)) {
            // Left behind it would be in nobody's way: it lies in Cargo's own folder.
            let _ = std::fs::remove_dir_all(folder);
        }
        if forgotten.has_past() {
            show_baseline(printer, &forgotten);
            return Ok(ExitCode::from(FAILED));
        }
        // Whoever filters may pick what does not apply; a whole suite of which nothing applies has tested nothing.
        let is_filtered = arguments.filter.is_some() || !arguments.skip.is_empty() || arguments.ignored;
        if !is_filtered && !board.has_tested(&subjects) {
            printer.error(NOTHING_TESTED);
            return Ok(ExitCode::from(FAILED));
        }
        Ok(conclusion.exit_code())
    }

    fn request(
        &self,
        folder: PathBuf,
        catalogue: Catalogue,
        wanted: &[String],
        role: &guard::Run,
    ) -> Result<Request, String> {
        let target = self.target.resolve(&folder)?;
        let selection = catalogue.select(wanted, &[]).map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| format!("find the test's own executable: {error}"))?;
        let naming = fresh_naming(seed()?);
        let seed = naming.seed;
        let under = self
            .evidence
            .clone()
            .unwrap_or_else(|| usual_evidence(&program, &folder));
        let name = clock::utc_now().to_string().replace(['-', ':'], "") + "-" + &naming.nonce;
        Ok(Request {
            baseline: self.baseline(&catalogue, &folder)?,
            jobs: jobs(None, &target),
            target,
            catalogue: Arc::new(catalogue),
            selection,
            naming,
            timeout_ms: self.timeout_ms,
            keep: None,
            defect: None,
            rerun_of: None,
            evidence: Some(folder.join(under).join(name)),
            is_removed: IsRemoved::never(),
            scratch: role.scratch().to_path_buf(),
            orphaned: role.orphaned(),
            repeat: Repeat {
                before: format!("{SEED_VARIABLE}={seed} cargo test --test {} --", test_name(&program)),
                own: std::collections::BTreeMap::new(),
                rest: String::new(),
            },
            folder,
            harness: program,
        })
    }

    fn baseline(&self, catalogue: &Catalogue, folder: &Path) -> Result<Baseline, String> {
        let mut baseline = Baseline::default();
        if let Some(path) = &self.expected_failures {
            let text = document::read(&folder.join(path)).map_err(|error| error.to_string())?;
            let name = path.display().to_string();
            let list = read_expected_failures(&name, &text, catalogue, &clock::utc_today());
            baseline.expected_failures = Some(list.map_err(|error| error.to_string())?);
        }
        Ok(baseline)
    }
}

/// The cases by which a suite tests something: a control only shows that the rest can be believed.
fn subjects(catalogue: &Catalogue, wanted: &[String]) -> Vec<String> {
    let others = wanted.iter().filter(|id| !catalogue.is_control(id));
    let others: Vec<String> = others.cloned().collect();
    if others.is_empty() { wanted.to_vec() } else { others }
}

/// The known failures that are past their date and of cases that no trial runs, so that none of them says so.
fn forgotten(baseline: &Baseline, wanted: &[String]) -> BaselineReport {
    let list = baseline.expected_failures.as_ref();
    let mut report = list.map_or_else(BaselineReport::default, |list| baseline::of_list(list, []));
    (report.entries).retain(|entry| entry.past_its_date && !wanted.contains(&entry.entry.case));
    report
}

fn outcome(told: Told) -> Result<Completion, Failed> {
    match told {
        Told::Passed => Ok(Completion::Completed),
        Told::Ignored(reason) | Told::Lacks(reason) => Ok(Completion::ignored_with(reason)),
        Told::Failed(text) => Err(Failed::from(text)),
    }
}

fn usage(printer: &mut Printer, message: &str) -> ExitCode {
    printer.error(message);
    ExitCode::from(USAGE)
}

fn seed() -> Result<Option<u64>, String> {
    match std::env::var(SEED_VARIABLE) {
        Ok(text) => text
            .parse()
            .map(Some)
            .map_err(|_| format!("{SEED_VARIABLE}={text:?}: it is no number")),
        Err(_) => Ok(None),
    }
}

/// `target/harness`, where the program lies in `target/<profile>/deps` as Cargo's tests do; else a folder here.
fn usual_evidence(program: &Path, folder: &Path) -> PathBuf {
    let deps = program.parent().filter(|deps| deps.ends_with("deps"));
    let target = deps.and_then(Path::parent).and_then(Path::parent);
    target.unwrap_or(folder).join("harness")
}

/// The name of the test, without the hash that Cargo adds to its file.
fn test_name(program: &Path) -> String {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.rsplit_once('-').map(|(name, _)| name.to_owned());
    name.unwrap_or_else(|| stem.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_own_folder_keeps_the_evidence_and_names_the_test() {
        let program = Path::new("/p/target/debug/deps/my-mcp-0123456789abcdef");
        assert_eq!(usual_evidence(program, Path::new("/p")), Path::new("/p/target/harness"));
        assert_eq!(test_name(program), "my-mcp");
        assert_eq!(
            usual_evidence(Path::new("/x/mcp"), Path::new("/p")),
            Path::new("/p/harness")
        );
    }
}
