//! Cases side by side: each on one of a few threads, every thread with a runtime of its own.
//!
//! Threads and no tasks: a case blocks its thread wherever it copies a store, asks SQLite, looks through `/proc` or judges.
//! On one runtime each of these would be time that another case's bound runs and nobody looks at its server.
//!
//! Here is only who works on what; what a case means to the run is the conductor's affair.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};

use super::request::ConductError;
use crate::case::Case;
use crate::drive::clock::Clock;
use crate::drive::{CaseRun, DriveError, RunSetting, Scribe, run_case};
use crate::judge::{gate_by_controls, judge};
use crate::plan::Plan;
use crate::protocol::Era;
use crate::record::{Body, CaseFolder, CaseVerdict, Evidence, Outcome, Record, Verdict};

/// What every case of a run is driven with.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) setting: Arc<RunSetting>,
    pub(super) plans: BTreeMap<String, Plan>,
    pub(super) evidence: Evidence,
    pub(super) era: Era,
    /// The verdicts on the controls that were run before.
    pub(super) controls: Vec<CaseVerdict>,
    /// Becomes true when nobody watches over the run any more.
    pub(super) orphaned: watch::Receiver<bool>,
}

/// A case that was judged.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verdict: CaseVerdict,
    /// How long it took, in microseconds.
    pub(super) micros: u64,
    /// Whether it was not driven, because its control did not pass.
    pub(super) blocked: bool,
}

/// What a thread tells of a case, by the case's place in the list.
#[derive(Debug)]
pub(super) enum News {
    Begins(usize),
    Ended(usize, Box<Result<Judged, ConductError>>),
}

/// The threads. Dropping this breaks off what they do.
#[derive(Debug)]
pub(super) struct Crew {
    news: mpsc::UnboundedReceiver<News>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts as many threads as are allowed and useful, which take the cases in order.
    pub(super) fn start(work: Work, cases: Vec<Arc<Case>>, jobs: usize) -> Result<Self, ConductError> {
        let (tell, news) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let useful = jobs.min(cases.len()).max(1);
        let (work, cases, next) = (Arc::new(work), Arc::new(cases), Arc::new(AtomicUsize::new(0)));
        // Each thread is here before the next one is started: where one cannot be, the drop of this stops the others.
        let mut crew = Self {
            news,
            stop,
            threads: Vec::new(),
        };
        for _ in 0..useful {
            let (work, cases, next) = (Arc::clone(&work), Arc::clone(&cases), Arc::clone(&next));
            let (tell, stopped) = (tell.clone(), stopped.clone());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(ConductError::Thread)?;
            let run = move || runtime.block_on(take_cases(&work, &cases, &next, &tell, stopped));
            let thread = std::thread::Builder::new().name("cases".to_owned()).spawn(run);
            crew.threads.push(thread.map_err(ConductError::Thread)?);
        }
        Ok(crew)
    }

    /// What happens next; nothing once all threads have ended.
    pub(super) async fn news(&mut self) -> Option<News> {
        let news = self.news.recv().await;
        if news.is_none() {
            for thread in self.threads.drain(..) {
                if let Err(panic) = thread.join() {
                    resume_unwind(panic);
                }
            }
        }
        news
    }

    /// Breaks off the cases that are being driven; no other one is begun.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

async fn take_cases(
    work: &Work,
    cases: &[Arc<Case>],
    next: &AtomicUsize,
    tell: &mpsc::UnboundedSender<News>,
    mut stopped: watch::Receiver<bool>,
) {
    // Once nobody listens there is nobody to be told, and the loop ends by itself: the stop has come with that.
    while !is_stopped(&stopped) {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(case) = cases.get(at) else { return };
        let _ = tell.send(News::Begins(at));
        let ended = Box::pin(work.run(case, &mut stopped)).await;
        let _ = tell.send(News::Ended(at, Box::new(ended)));
    }
}

fn is_stopped(stopped: &watch::Receiver<bool>) -> bool {
    *stopped.borrow() || stopped.has_changed().is_err()
}

impl Work {
    /// Drives and judges one case, and writes its verdict down.
    async fn run(&self, case: &Case, stopped: &mut watch::Receiver<bool>) -> Result<Judged, ConductError> {
        let since = Clock::start();
        let folder = self.evidence.case(&case.id);
        let blocked = failed_control(case, &self.controls);
        self.drive(case, &folder, blocked, stopped).await?;
        let verdict = gate_by_controls(judge(case, &Record::read(&folder)?), case, &self.controls);
        Evidence::write_json(&folder.verdict_file(), &verdict)?;
        Ok(Judged {
            verdict,
            micros: since.stamp().micros,
            blocked: blocked.is_some(),
        })
    }

    /// Drives one case into its record; returns whether it was broken off. What goes wrong on our side is written there too,
    /// so that judging it again comes to the same verdict.
    pub(super) async fn drive(
        &self,
        case: &Case,
        folder: &CaseFolder,
        blocked: Option<&str>,
        stopped: &mut watch::Receiver<bool>,
    ) -> Result<bool, ConductError> {
        folder.create()?;
        Evidence::write_text(&folder.case_file(), &case.text)?;
        let mut scribe = Scribe::begin(folder)?;
        let run = CaseRun {
            setting: &self.setting,
            case,
            plan: &self.plans[&case.id],
            era: self.era,
            folder,
            failed_control: blocked,
        };
        let driven = tokio::select! {
            biased;
            () = orphaned(&self.orphaned) => std::future::pending().await,
            driven = run_case(run, &mut scribe) => Some(driven),
            // An error says that whoever could have stopped it is gone.
            _ = stopped.wait_for(|is| *is) => None,
        };
        halt_if_orphaned(&self.orphaned).await;
        let outcome = match driven {
            Some(Ok(())) => return Ok(false),
            Some(Err(DriveError::Record(error))) => return Err(error.into()),
            Some(Err(error)) => Outcome::Stopped {
                reason: error.to_string(),
            },
            None => Outcome::Interrupted,
        };
        let interrupted = outcome == Outcome::Interrupted;
        scribe.write(None, Body::CaseEnded { outcome })?;
        Ok(interrupted)
    }
}

/// Comes once nobody watches over the run any more. Its servers are killed then, and it goes no further: that must not be
/// judged, and what was cut off must not be sealed.
pub(super) async fn orphaned(orphaned: &watch::Receiver<bool>) {
    if orphaned.clone().wait_for(|is| *is).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits for the end that comes from outside, if the run was orphaned.
pub(super) async fn halt_if_orphaned(orphaned: &watch::Receiver<bool>) {
    if *orphaned.borrow() {
        std::future::pending::<()>().await;
    }
}

/// The control that keeps a case from being believed, where one has not passed.
fn failed_control<'a>(case: &Case, controls: &'a [CaseVerdict]) -> Option<&'a str> {
    let asked = controls.iter().filter(|verdict| case.controls.contains(&verdict.case));
    let mut failed = asked.filter(|verdict| verdict.verdict != Verdict::Pass);
    failed.next().map(|verdict| verdict.case.as_str())
}
