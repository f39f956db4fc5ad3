//! The proof that the cases can fail: one run on the server as it should be, then one with each planted defect.
//!
//! The first run has its cases side by side. After it the runs are side by side, each on a thread of its own with its cases in
//! turn: with many more defects than cores that keeps every core at work, and a run is what it is on its own.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};

use super::conductor::{case_named, conduct_until};
use super::request::{ConductError, Progress, Request};
use crate::case::Case;
use crate::digest;
use crate::drive::clock::Clock;
use crate::drive::guard::Interrupts;
use crate::matrix::{Expected, Matrix, Planted, Ran};
use crate::record::{RunState, SUMS_FILE};
use crate::report::RunReport;

/// The name of the run without a defect, among those that are called like their defects.
const BASELINE: &str = "baseline";

/// What to prove.
#[derive(Debug)]
pub struct ProofRequest {
    /// The run without a defect; the others are equal but for that. Its evidence folder is not used.
    pub base: Request,
    /// The defects to plant.
    pub expected: Expected,
    /// Where the evidence goes: a folder for each run. It exists, and is empty.
    pub evidence: PathBuf,
}

/// How far it has come.
#[derive(Debug)]
pub enum Proving<'a> {
    /// The run without a defect; with how far that has come.
    Baseline(&'a Progress<'a>),
    /// So many defects are done of so many, and these are planted at the moment.
    Defects {
        /// Done.
        done: usize,
        /// Of so many.
        all: usize,
        /// At work.
        running: &'a [&'a str],
    },
}

/// What came of it.
#[derive(Debug)]
pub struct Proved {
    /// The matrix of what was run.
    pub matrix: Matrix,
    /// The runs whose evidence is kept: the folder's name, and the digest of its `SHA256SUMS`.
    pub runs: Vec<(String, Option<String>)>,
    /// Whether the user stopped it, so that defects are missing at the end.
    pub interrupted: bool,
}

enum News {
    Begins(usize),
    Ended(usize, Box<Result<(RunReport, RunState), ConductError>>, u64),
}

/// Runs the cases without and with each defect.
pub async fn prove(
    request: ProofRequest,
    interrupts: &mut Interrupts,
    tell: &mut dyn FnMut(Proving<'_>),
) -> Result<Proved, ConductError> {
    let cases: Vec<&Case> = request
        .base
        .selection
        .execute
        .iter()
        .map(|id| case_named(&request.base.catalogue, id))
        .collect();
    let catalogue = request.base.catalogue.all();
    let target = request.base.target.title();
    let (stop, stopped) = watch::channel(false);
    let mut interrupted = false;
    let mut baseline = None;
    let mut runs = Vec::new();
    let mut proving = Box::pin(run_all(&request, &cases, stopped, tell, &mut baseline, &mut runs));
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut proving => break outcome,
            _ = interrupts.interrupted() => {
                interrupted = true;
                stop.send_replace(true);
            }
        }
    };
    drop(proving);
    outcome?;
    let baseline = baseline.unwrap_or_else(|| nothing("it was not run"));
    // In the order of the list: what is behind the first gap was done, and is not told in the wrong place.
    let (planted, done): (Vec<Planted>, Vec<Ran>) = request
        .expected
        .planted
        .iter()
        .cloned()
        .zip(runs)
        .filter_map(|(planted, run)| Some((planted, run?)))
        .unzip();
    let expected = Expected {
        planted,
        ..request.expected.clone()
    };
    let matrix = Matrix::of(&target, &expected, &cases, &catalogue, &baseline, &done);
    let names = std::iter::once(BASELINE).chain(expected.planted.iter().map(|planted| planted.name.as_str()));
    let sums = |name: &str| digest::sha256_file(&request.evidence.join(name).join(SUMS_FILE)).ok();
    let runs = names.map(|name| (name.to_owned(), sums(name))).collect();
    Ok(Proved {
        matrix,
        runs,
        interrupted,
    })
}

fn nothing(reason: &str) -> Ran {
    Ran {
        verdicts: std::collections::BTreeMap::new(),
        trouble: Some(reason.to_owned()),
        micros: 0,
    }
}

/// The run without a defect, and where that is green, all others. What was done is in the last two arguments, whatever
/// happens; a run that was broken off is not.
async fn run_all(
    request: &ProofRequest,
    cases: &[&Case],
    stopped: watch::Receiver<bool>,
    tell: &mut dyn FnMut(Proving<'_>),
    baseline: &mut Option<Ran>,
    runs: &mut Vec<Option<Ran>>,
) -> Result<(), ConductError> {
    let since = Clock::start();
    let base = one_run(request, None);
    let scratch = base.scratch.clone();
    let mut tell_base = |progress: Progress<'_>| tell(Proving::Baseline(&progress));
    let (report, state) = Box::pin(conduct_until(base, stopped.clone(), &mut tell_base)).await?;
    forget(&scratch);
    if state == RunState::Interrupted {
        return Ok(());
    }
    let ran = ran(report, since.stamp().micros);
    let is_green = Matrix::is_baseline_green(cases, &ran);
    *baseline = Some(ran);
    if is_green {
        defects(request, stopped, tell, runs).await?;
    }
    Ok(())
}

async fn defects(
    request: &ProofRequest,
    stopped: watch::Receiver<bool>,
    tell: &mut dyn FnMut(Proving<'_>),
    runs: &mut Vec<Option<Ran>>,
) -> Result<(), ConductError> {
    let planted = &request.expected.planted;
    runs.resize(planted.len(), None);
    let requests: Arc<Vec<Request>> = Arc::new(planted.iter().map(|planted| one_run(request, Some(planted))).collect());
    let next = Arc::new(AtomicUsize::new(0));
    let (send, mut news) = mpsc::unbounded_channel();
    let mut threads = Vec::new();
    for _ in 0..request.base.jobs.min(planted.len()) {
        let (requests, next, send, stopped) = (Arc::clone(&requests), Arc::clone(&next), send.clone(), stopped.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ConductError::Thread)?;
        let run = move || runtime.block_on(take_runs(&requests, &next, &send, &stopped));
        let thread = std::thread::Builder::new().name("defects".to_owned()).spawn(run);
        threads.push(thread.map_err(ConductError::Thread)?);
    }
    drop(send);
    let mut running: Vec<usize> = Vec::new();
    let mut done = 0;
    while let Some(news) = news.recv().await {
        match news {
            News::Begins(at) => running.push(at),
            News::Ended(at, outcome, micros) => {
                running.retain(|other| *other != at);
                done += 1;
                runs[at] = match *outcome {
                    Ok((_, RunState::Interrupted)) => None,
                    Ok((report, RunState::Running | RunState::Finished)) => Some(ran(report, micros)),
                    Err(error) => Some(nothing(&error.to_string())),
                };
            }
        }
        let running: Vec<&str> = running.iter().map(|at| planted[*at].name.as_str()).collect();
        let all = planted.len();
        tell(Proving::Defects {
            done,
            all,
            running: &running,
        });
    }
    for thread in threads {
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    }
    Ok(())
}

async fn take_runs(
    requests: &[Request],
    next: &AtomicUsize,
    send: &mpsc::UnboundedSender<News>,
    stopped: &watch::Receiver<bool>,
) {
    while !*stopped.borrow() && stopped.has_changed().is_ok() {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(request) = requests.get(at) else { return };
        // Nobody is told where nobody listens any more.
        let _ = send.send(News::Begins(at));
        let since = Clock::start();
        let mut tell = |_: Progress<'_>| {};
        let outcome = Box::pin(conduct_until(request.clone(), stopped.clone(), &mut tell)).await;
        forget(&request.scratch);
        let _ = send.send(News::Ended(at, Box::new(outcome), since.stamp().micros));
    }
}

/// The request of one run: everything of its own lies in folders that are called like the defect.
fn one_run(request: &ProofRequest, planted: Option<&Planted>) -> Request {
    let base = &request.base;
    let name = planted.map_or(BASELINE, |planted| planted.name.as_str());
    let kills = |planted: &Planted| -> BTreeSet<String> {
        let known = planted
            .kills
            .iter()
            .filter(|kill| base.catalogue.get(&kill.case).is_some());
        known.map(|kill| kill.case.clone()).collect()
    };
    let mut repeat = base.repeat.clone();
    if let Some(planted) = planted {
        let words = format!("{} --defect {}", repeat.rest, planted.name);
        words.trim_start().clone_into(&mut repeat.rest);
    }
    Request {
        repeat,
        defect: planted.map(|planted| planted.name.clone()),
        evidence: Some(request.evidence.join(name)),
        scratch: base.scratch.join(name),
        keep: planted.map(kills),
        jobs: if planted.is_some() { 1 } else { base.jobs },
        ..base.clone()
    }
}

fn ran(report: RunReport, micros: u64) -> Ran {
    let trouble = report.did_not_start.or(report.blind);
    let verdicts = report
        .cases
        .into_iter()
        .map(|case| (case.verdict.case.clone(), case.verdict));
    Ran {
        verdicts: verdicts.collect(),
        trouble,
        micros,
    }
}

/// Many runs would fill the place for temporary files; what cannot be removed now is removed at the end.
fn forget(scratch: &Path) {
    let _ = std::fs::remove_dir_all(scratch);
}
