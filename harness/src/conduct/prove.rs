//! The proof that the cases can fail: one run on the server as it should be, then one with each planted defect.
//!
//! The first run has its cases side by side. After it the runs are side by side, each on a thread of its own with its cases in
//! turn: with many more defects than cores that keeps every core at work, and a run is what it is on its own.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};

use super::conductor::{case_named, conduct_until};
use super::request::{ConductError, Progress, Request};
use crate::case::Case;
use crate::drive::clock::Clock;
use crate::drive::guard::Interrupts;
use crate::matrix::{BASELINE, CutShort, Expected, Matrix, Planted, Ran};
use crate::record::{CaseVerdict, RunState};
use crate::report::RunReport;

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
    /// What is known now; told at the beginning, and whenever it is more.
    Known(&'a Matrix),
}

/// What came of it.
#[derive(Debug)]
pub struct Proved {
    /// The matrix of what was run.
    pub matrix: Matrix,
    /// Whether the user stopped it, so that defects are missing at the end, or a run did not come to its end.
    pub interrupted: bool,
    /// The last lines that a server wrote which did not start, by the run.
    pub last_words: BTreeMap<String, Vec<String>>,
}

impl ProofRequest {
    /// The names of the runs, each of which has a folder that is called so: the one without a defect first.
    pub fn runs(&self) -> Vec<String> {
        let planted = self.expected.planted.iter().map(|planted| planted.name.clone());
        std::iter::once(BASELINE.to_owned()).chain(planted).collect()
    }
}

enum News {
    Begins(usize),
    Judged(usize, Box<CaseVerdict>),
    Ended(usize, Box<Result<(RunReport, RunState), ConductError>>, u64),
}

/// What was done so far of what was asked for.
struct Done<'a> {
    request: &'a ProofRequest,
    cases: Vec<&'a Case>,
    baseline: Ran,
    /// By the defects of the request; none where the run was not begun.
    runs: Vec<Option<Ran>>,
    last_words: BTreeMap<String, Vec<String>>,
}

impl<'a> Done<'a> {
    fn nothing_yet(request: &'a ProofRequest) -> Self {
        let base = &request.base;
        let named = base.selection.execute.iter();
        Self {
            cases: named.map(|id| case_named(&base.catalogue, id)).collect(),
            baseline: unfinished(),
            runs: vec![None; request.expected.planted.len()],
            last_words: BTreeMap::new(),
            request,
        }
    }

    fn matrix(&self) -> Matrix {
        let base = &self.request.base;
        let target = base.target.title();
        Matrix::of(
            &target,
            &self.request.expected,
            &self.cases,
            &base.catalogue.all(),
            &self.baseline,
            &self.runs,
        )
    }

    fn begins(&mut self, at: usize) {
        self.runs[at] = Some(unfinished());
    }

    /// A case of a run that goes on; whether the matrix is about it.
    fn judged(&mut self, at: usize, verdict: CaseVerdict) -> bool {
        let planted = &self.request.expected.planted[at];
        let is_named = planted.kills.iter().any(|kill| kill.case == verdict.case);
        let run = self.runs[at].get_or_insert_with(unfinished);
        run.verdicts.insert(verdict.case.clone(), verdict);
        is_named
    }

    /// A run that goes on no further, as a whole; where it could not be made, what it came to until then is kept.
    fn ended(&mut self, at: usize, outcome: Result<(RunReport, RunState), ConductError>, micros: u64) {
        let run = match outcome {
            Ok((report, state)) => {
                let name = &self.request.expected.planted[at].name;
                self.last_words.insert(name.clone(), report.last_words.clone());
                ran(report, state, micros)
            }
            Err(error) => Ran {
                cut_short: Some(CutShort::NotRun {
                    reason: error.to_string(),
                }),
                ..self.runs[at].take().unwrap_or_else(unfinished)
            },
        };
        self.runs[at] = Some(run);
    }
}

/// Runs the cases without and with each defect.
pub async fn prove(
    request: ProofRequest,
    interrupts: &mut Interrupts,
    tell: &mut dyn FnMut(Proving<'_>),
) -> Result<Proved, ConductError> {
    let (stop, stopped) = watch::channel(false);
    let mut interrupted = false;
    let mut done = Done::nothing_yet(&request);
    tell(Proving::Known(&done.matrix()));
    let mut proving = Box::pin(run_all(&mut done, stopped, tell));
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
    let matrix = done.matrix();
    Ok(Proved {
        // What came after the last run was made has kept nothing from being done.
        interrupted: interrupted && is_anything_left(&matrix),
        matrix,
        last_words: done.last_words,
    })
}

/// Whether a defect was not come to, or its run not to its end; without the run before them none of them is come to.
fn is_anything_left(matrix: &Matrix) -> bool {
    !matrix.left().is_empty()
}

/// What is known of a run that begins.
fn unfinished() -> Ran {
    Ran {
        verdicts: BTreeMap::new(),
        cut_short: Some(CutShort::Unfinished),
        micros: 0,
    }
}

/// The run without a defect, and where that is green, all others.
async fn run_all(
    done: &mut Done<'_>,
    stopped: watch::Receiver<bool>,
    tell: &mut dyn FnMut(Proving<'_>),
) -> Result<(), ConductError> {
    let since = Clock::start();
    let base = one_run(done.request, None);
    let scratch = base.scratch.clone();
    let mut tell_base = |progress: Progress<'_>| {
        if let Progress::CaseJudged(_, report, _) = &progress {
            let verdict = report.verdict.clone();
            done.baseline.verdicts.insert(verdict.case.clone(), verdict);
            tell(Proving::Known(&done.matrix()));
        }
        tell(Proving::Baseline(&progress));
    };
    let (report, state) = Box::pin(conduct_until(base, stopped.clone(), &mut tell_base)).await?;
    forget(&scratch);
    done.last_words.insert(BASELINE.to_owned(), report.last_words.clone());
    done.baseline = ran(report, state, since.stamp().micros);
    tell(Proving::Known(&done.matrix()));
    if Matrix::is_baseline_green(&done.cases, &done.baseline) {
        defects(done, stopped, tell).await?;
    }
    Ok(())
}

async fn defects(
    done: &mut Done<'_>,
    stopped: watch::Receiver<bool>,
    tell: &mut dyn FnMut(Proving<'_>),
) -> Result<(), ConductError> {
    let request = done.request;
    let planted = &request.expected.planted;
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
    let mut ended = 0;
    while let Some(news) = news.recv().await {
        match news {
            News::Begins(at) => {
                running.push(at);
                done.begins(at);
                tell(Proving::Known(&done.matrix()));
            }
            News::Judged(at, verdict) => {
                if done.judged(at, *verdict) {
                    tell(Proving::Known(&done.matrix()));
                }
                continue;
            }
            News::Ended(at, outcome, micros) => {
                running.retain(|other| *other != at);
                ended += 1;
                done.ended(at, *outcome, micros);
                tell(Proving::Known(&done.matrix()));
            }
        }
        let running: Vec<&str> = running.iter().map(|at| planted[*at].name.as_str()).collect();
        tell(Proving::Defects {
            done: ended,
            all: planted.len(),
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
        let mut tell = |progress: Progress<'_>| {
            if let Progress::CaseJudged(_, report, _) = &progress {
                let _ = send.send(News::Judged(at, Box::new(report.verdict.clone())));
            }
        };
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

fn ran(report: RunReport, state: RunState, micros: u64) -> Ran {
    let not_run = report.did_not_start.or(report.blind);
    let not_run = not_run.map(|reason| CutShort::NotRun { reason });
    let is_unfinished = state != RunState::Finished;
    let verdicts = report
        .cases
        .into_iter()
        .map(|case| (case.verdict.case.clone(), case.verdict));
    Ran {
        verdicts: verdicts.collect(),
        cut_short: not_run.or(is_unfinished.then_some(CutShort::Unfinished)),
        micros,
    }
}

/// Many runs would fill the place for temporary files; what cannot be removed now is removed at the end.
fn forget(scratch: &Path) {
    let _ = std::fs::remove_dir_all(scratch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Row;

    /// An interrupt that comes once everything is done changes nothing about what was done.
    #[test]
    fn only_an_interrupt_that_leaves_something_is_one() {
        let row = |cut_short: Option<CutShort>| Row {
            defect: "one".to_owned(),
            says: String::new(),
            kills: Vec::new(),
            collateral: Vec::new(),
            verdicts: BTreeMap::new(),
            micros: 1,
            cut_short,
        };
        let matrix = |cut_short: Option<CutShort>, not_begun: &[&str]| Matrix {
            target: String::new(),
            cases: Vec::new(),
            baseline: BTreeMap::new(),
            defects: vec![row(cut_short)],
            not_begun: not_begun.iter().map(|name| (*name).to_owned()).collect(),
            left_out: Vec::new(),
            problems: Vec::new(),
        };
        assert!(!is_anything_left(&matrix(None, &[])));
        let reason = "it did not start".to_owned();
        assert!(!is_anything_left(&matrix(Some(CutShort::NotRun { reason }), &[])));
        assert!(is_anything_left(&matrix(Some(CutShort::Unfinished), &[])));
        assert!(is_anything_left(&matrix(None, &["two"])));
    }
}
