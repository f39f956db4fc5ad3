//! The run itself: one owner of plans, evidence and `run.json`, who tells what happens in order.

mod effect;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use self::effect::Looked;
use super::crew::{self, Crew, Judged, News, Work};
use super::describe::describe;
use super::keep::{keep_only, look_for_secrets, own_digest};
use super::lost_writes;
use super::offered;
use super::request::{ConductError, Progress, Request, Running};
use crate::baseline;
use crate::case::{Bounds, Case, Catalogue};
use crate::digest;
use crate::drive::clock;
use crate::drive::guard::Interrupts;
use crate::drive::process;
use crate::drive::{Found, RunSetting, Scribe, probe};
use crate::plan::{Plan, plan};
use crate::protocol::Era;
use crate::record::{ArtifactDigest, CaseSummary, CaseVerdict, Evidence, NothingRun, NothingRunKind, Run, RunState};
use crate::report::{CaseReport, ControlReport, OperationReport, RunReport};
use crate::shell_word::quoted;
use crate::target::{Target, TargetSource, in_flag_words};

/// Conducts a whole run; signals interrupt it. The report's exit code is for the caller to fill in.
pub async fn conduct(
    request: Request,
    interrupts: &mut Interrupts,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunReport, RunState), ConductError> {
    let (stop, stopped) = watch::channel(false);
    let mut conducted = Box::pin(conduct_until(request, stopped, tell));
    loop {
        tokio::select! {
            biased;
            conducted = &mut conducted => return conducted,
            _ = interrupts.interrupted() => {
                stop.send_replace(true);
            }
        }
    }
}

/// The same, interrupted as soon as `stopped` becomes true.
pub async fn conduct_until(
    request: Request,
    mut stopped: watch::Receiver<bool>,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunReport, RunState), ConductError> {
    let stopped = &mut stopped;
    let title = request.target.title();
    let mut conductor = Conductor::begin(request)?;
    let mut report = RunReport::empty(&conductor.run, title, conductor.shown(conductor.evidence.root()));
    tell(Progress::Begins(&report));
    let state = match conductor.probe(stopped).await? {
        None => RunState::Interrupted,
        Some(Found::DidNotStart {
            reason,
            hint,
            last_words,
        }) => {
            conductor.nothing_was_run(NothingRunKind::DidNotStart, &reason);
            report.did_not_start = Some(reason);
            report.hint = hint.map(str::to_owned);
            report.last_words = last_words;
            RunState::Finished
        }
        Some(Found::Speaks { era, server, tools }) => {
            report.target.server = Some(server.clone());
            conductor.run.server = Some(server);
            conductor.save()?;
            let offered = offered::compare(&conductor.request.target, tools.as_deref());
            if let Some(problem) = offered.problem {
                return conductor.refuse(&problem);
            }
            report.warnings = offered.warnings.iter().map(|text| conductor.in_words(text)).collect();
            let has_write = conductor.request.target.write.is_some();
            report.tools = tools.filter(|_| !has_write).map(|tools| offered::listed(&tools));
            conductor.speak(era)?;
            tell(Progress::Probed(&report));
            match conductor.look_for_effect(era, stopped, &mut report, tell).await? {
                Looked::CanCount => conductor.cases(era, stopped, &mut report, tell).await?,
                Looked::Interrupted => {
                    conductor.run.executed.clear();
                    RunState::Interrupted
                }
                Looked::Blind { reason, case } => {
                    let reason = conductor.in_words(&reason);
                    conductor.nothing_was_run(NothingRunKind::Blind, &reason);
                    report.blind = Some(reason);
                    report.frames = Some(format!("harness show {} {case}", quoted(&report.evidence)));
                    RunState::Finished
                }
            }
        }
    };
    crew::halt_if_orphaned(&conductor.request.orphaned).await;
    conductor.run.state = state;
    report.baseline = baseline::compare(&conductor.run, report.cases.iter().map(|case| &case.verdict));
    conductor.end()?;
    Ok((report, state))
}

struct Conductor {
    request: Request,
    setting: Arc<RunSetting>,
    plans: BTreeMap<String, Plan>,
    evidence: Evidence,
    run: Run,
    /// Comes to the digest of the harness, where it is wanted in any case.
    own_digest: Option<std::thread::JoinHandle<Option<String>>>,
}

impl Conductor {
    /// Everything that can be wrong without a server is found here, before a folder is made.
    fn begin(request: Request) -> Result<Self, ConductError> {
        let setting = Arc::new(setting_of(&request)?);
        let mut plans = BTreeMap::new();
        for id in &request.selection.execute {
            let planned = plan_case(&setting.target, case_named(&request.catalogue, id), &request)?;
            plans.insert(id.clone(), planned);
        }
        let harness = request.harness.clone();
        // Where the evidence may not stay, it is digested once that is known: an unoptimised build needs seconds for it.
        let is_kept = request.is_removed.is_never();
        let own_digest = is_kept.then(|| std::thread::spawn(move || own_digest(&harness)));
        let run = describe(&request, &setting);
        let name = run.started_at.replace(['-', ':'], "") + "-" + &request.naming.nonce;
        let evidence = match &request.evidence {
            Some(path) => Evidence::create_at(path),
            None => Evidence::create_usual(&request.folder, &name),
        };
        let evidence = evidence.map_err(ConductError::Folder)?;
        let conductor = Self {
            request,
            setting,
            plans,
            evidence,
            run,
            own_digest,
        };
        conductor.save()?;
        Ok(conductor)
    }

    /// A path as people want to see it: relative to the folder they are in.
    fn shown(&self, path: &Path) -> String {
        // At the root everything would be "relative".
        let inside = path.strip_prefix(&self.request.folder).ok();
        let inside = inside.filter(|_| self.request.folder.parent().is_some());
        inside.unwrap_or(path).display().to_string()
    }

    fn save(&self) -> Result<(), ConductError> {
        Evidence::write_json(&self.evidence.run_file(), &self.run)?;
        Ok(())
    }

    /// Probes the target; nothing when the user interrupted it.
    async fn probe(&mut self, stopped: &mut watch::Receiver<bool>) -> Result<Option<Found>, ConductError> {
        let folder = self.evidence.probe();
        folder.create()?;
        let mut scribe = Scribe::begin(&folder)?;
        let start_ms = Bounds::default().start_ms;
        let start_ms = self.request.timeout_ms.map_or(start_ms, |ms| ms.min(start_ms));
        tokio::select! {
            biased;
            () = crew::orphaned(&self.request.orphaned) => std::future::pending().await,
            found = probe(&self.setting, &folder, &mut scribe, start_ms) => match found {
                Ok(found) => Ok(Some(found)),
                Err(error) => Err(ConductError::Machine(error)),
            },
            () = until(stopped) => Ok(None),
        }
    }

    /// What `run.json` says of a run that came to no case.
    fn nothing_was_run(&mut self, kind: NothingRunKind, reason: &str) {
        let reason = reason.to_owned();
        self.run.nothing_run = Some(NothingRun { kind, reason });
        self.run.executed.clear();
    }

    /// A message in the words of what describes the target.
    fn in_words(&self, text: &str) -> String {
        match self.request.target.source {
            TargetSource::Command => in_flag_words(text),
            TargetSource::BuiltIn | TargetSource::Profile(_) => text.to_owned(),
        }
    }

    /// Ends a run that makes no sense on this server, before any case.
    fn refuse<T>(mut self, problem: &str) -> Result<T, ConductError> {
        let place = self.request.target.place();
        let problem = self.in_words(problem);
        self.nothing_was_run(NothingRunKind::NotOffered, &problem);
        self.run.state = RunState::Finished;
        self.end()?;
        Err(ConductError::NotOffered { place, problem })
    }

    /// The target, to be told what was found out about it.
    fn target(&mut self) -> &mut Target {
        let setting = Arc::get_mut(&mut self.setting);
        &mut setting.expect("nothing is driven at the moment").target
    }

    /// In the legacy era a request has no second round, which plans have to know.
    fn speak(&mut self, era: Era) -> Result<(), ConductError> {
        if era == Era::Legacy {
            self.target().is_legacy = true;
            self.plan_again()?;
        }
        Ok(())
    }

    fn plan_again(&mut self) -> Result<(), ConductError> {
        for id in self.request.selection.execute.clone() {
            let plan = self.plan(case_named(&self.request.catalogue, &id))?;
            self.plans.insert(id, plan);
        }
        Ok(())
    }

    fn plan(&self, case: &Case) -> Result<Plan, ConductError> {
        plan_case(&self.setting.target, case, &self.request)
    }

    /// What every case is driven with.
    fn work(&self, era: Era, controls: Vec<CaseVerdict>) -> Work {
        Work {
            setting: Arc::clone(&self.setting),
            plans: self.plans.clone(),
            evidence: self.evidence.clone(),
            era,
            controls,
            orphaned: self.request.orphaned.clone(),
        }
    }

    /// Runs the controls first, because nothing else is driven where they have not passed; then everything else.
    async fn cases(
        &mut self,
        era: Era,
        stopped: &mut watch::Receiver<bool>,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<RunState, ConductError> {
        let catalogue = Arc::clone(&self.request.catalogue);
        let all = self.request.selection.execute.iter();
        let all = all.map(|id| Arc::new(case_named(&catalogue, id).clone()));
        let (controls, others): (Vec<_>, Vec<_>) = all.partition(|case| catalogue.is_control(&case.id));
        let mut done = Vec::new();
        for cases in [controls, others] {
            let work = self.work(era, done.clone());
            let state = self.side_by_side(work, cases, stopped, &mut done, report, tell).await?;
            if state == RunState::Interrupted {
                self.run.executed = done.iter().map(|verdict| verdict.case.clone()).collect();
                return Ok(state);
            }
        }
        let left = process::unclaimed();
        if left > 0 {
            let warning = format!(
                "{left} processes were left of which nobody could tell whose server had started them, because several ran side by \
                 side; a verdict may have missed that they were there, so run it again with --jobs 1"
            );
            tell(Progress::Warning(&warning));
            report.warnings.push(warning);
        }
        Ok(RunState::Finished)
    }

    /// Runs cases that do not wait for each other. Whatever the order in which they end, they are told in the order of the
    /// list.
    async fn side_by_side(
        &mut self,
        work: Work,
        cases: Vec<Arc<Case>>,
        stopped: &mut watch::Receiver<bool>,
        done: &mut Vec<CaseVerdict>,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<RunState, ConductError> {
        let all = self.request.selection.execute.len();
        let before = done.len();
        let mut crew = Crew::start(work, cases.clone(), self.request.jobs)?;
        let mut running = Vec::new();
        let mut waiting: BTreeMap<usize, Judged> = BTreeMap::new();
        let (mut ended, mut told) = (0, 0);
        let (mut state, mut trouble) = (RunState::Finished, None);
        loop {
            let news = tokio::select! {
                biased;
                news = crew.news() => news,
                () = until(stopped), if state == RunState::Finished => {
                    state = RunState::Interrupted;
                    crew.stop();
                    continue;
                }
            };
            crew::halt_if_orphaned(&self.request.orphaned).await;
            match news {
                None => break,
                Some(News::Begins(at)) => running.push(Arc::clone(&cases[at])),
                Some(News::Ended(at, result)) => {
                    running.retain(|case| case.id != cases[at].id);
                    ended += 1;
                    match *result {
                        Ok(judged) => {
                            self.run.verdicts.insert(cases[at].id.clone(), summary(&judged));
                            trouble = trouble.or(self.save().err());
                            waiting.insert(at, judged);
                        }
                        Err(error) => trouble = trouble.or(Some(error)),
                    }
                }
            }
            if trouble.is_some() {
                crew.stop();
            }
            while let Some(judged) = waiting.remove(&told) {
                self.tell_case(&cases[told], judged, done, report, tell);
                told += 1;
            }
            let done = before + ended;
            let cases = &running;
            tell(Progress::Running(Running { cases, done, all }));
        }
        // Where it was interrupted, a case that was judged may stand behind one that was not begun.
        for (at, judged) in waiting {
            self.tell_case(&cases[at], judged, done, report, tell);
        }
        trouble.map_or(Ok(state), Err)
    }

    fn tell_case(
        &self,
        case: &Case,
        judged: Judged,
        done: &mut Vec<CaseVerdict>,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) {
        let mut case_report = self.report_case(case, &judged);
        let control = self
            .request
            .catalogue
            .is_control(&case.id)
            .then(|| ControlReport::of(case, &judged.verdict));
        if control.is_some() {
            case_report.elsewhere = lost_writes::of_control(&self.setting, &self.plans[&case.id], &judged.verdict);
        }
        tell(Progress::CaseJudged(case, &case_report, control.as_ref()));
        report.add(case_report, control);
        done.push(judged.verdict);
    }

    fn report_case(&self, case: &Case, judged: &Judged) -> CaseReport {
        let file = self.request.catalogue.file_of(&case.id).map(|file| {
            // What is repeated came out of other evidence, wherever its file may have been: it is here, and in what is kept.
            let is_repeated = self.request.rerun_of.is_some();
            let copy = || self.shown(&self.evidence.case(&case.id).case_file());
            if is_repeated { copy() } else { file.to_owned() }
        });
        CaseReport {
            family: case.family.clone(),
            number: case.number,
            title: case.title.clone(),
            named: self.request.selection.named.contains(&case.id),
            requested: self.request.selection.requested.contains(&case.id),
            micros: judged.micros,
            operations: OperationReport::all(&self.plans[&case.id]),
            blocked: judged.blocked,
            elsewhere: None,
            missing: self.plans[&case.id]
                .missing(case)
                .iter()
                .map(|surface| surface.name())
                .collect(),
            record: self.shown(&self.evidence.case(&case.id).record_file()),
            counts_as: baseline::counts_as(&judged.verdict, self.request.baseline.expected_failures.as_ref()),
            case_file: file,
            repeat: self.request.repeat.line(&case.id),
            verdict: judged.verdict.clone(),
        }
    }

    /// Writes the last state of `run.json`, and seals the folder; nothing where the folder is removed.
    fn end(mut self) -> Result<(), ConductError> {
        if self.request.is_removed.now() {
            return Ok(());
        }
        if let Some(keep) = &self.request.keep {
            keep_only(keep, &self.request.catalogue, &mut self.run, &self.evidence)?;
        }
        self.run.ended_at = Some(clock::utc_now().to_string());
        let harness = self.request.harness.display().to_string();
        self.run.harness.sha256 = match self.own_digest {
            Some(digest) => digest.join().unwrap_or(None),
            None => own_digest(&self.request.harness),
        };
        let stage = self.setting.dry_stage();
        // They were filled in before anything was started, so this cannot fail now.
        for path in self.setting.artifacts(&stage).unwrap_or_default() {
            let sha256 = if path == harness {
                self.run.harness.sha256.clone()
            } else {
                digest::sha256_tree(Path::new(&path)).ok()
            };
            self.run.target.artifacts.push(ArtifactDigest { path, sha256 });
        }
        Evidence::write_json(&self.evidence.run_file(), &self.run)?;
        look_for_secrets(&self.setting, &self.evidence, &mut self.run)?;
        self.evidence.seal()?;
        Ok(())
    }
}

/// What is the same for every case of a run, with every template checked.
pub(super) fn setting_of(request: &Request) -> Result<RunSetting, ConductError> {
    let setting = RunSetting::new(
        request.target.clone(),
        request.naming.clone(),
        request.harness.clone(),
        request.scratch.clone(),
        request.defect.clone(),
    );
    let setting = setting.map_err(|error| ConductError::stage(request, error))?;
    setting.check().map_err(|error| ConductError::stage(request, error))?;
    Ok(setting)
}

/// Plans one case, its waits cut to what the request allows.
pub(super) fn plan_case(target: &Target, case: &Case, request: &Request) -> Result<Plan, ConductError> {
    let planned = plan(target, case, &request.naming).map_err(|error| ConductError::Plan {
        place: target.place(),
        error,
    });
    let mut planned = planned?;
    if let Some(ms) = request.timeout_ms {
        planned.bounds = planned.bounds.at_most(ms);
    }
    Ok(planned)
}

/// A case of the catalogue.
pub(super) fn case_named<'a>(catalogue: &'a Catalogue, id: &str) -> &'a Case {
    catalogue
        .get(id)
        .expect("a selection names cases of the catalogue only")
}

/// Comes when the run is to stop.
async fn until(stopped: &mut watch::Receiver<bool>) {
    if stopped.wait_for(|is| *is).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn summary(judged: &Judged) -> CaseSummary {
    CaseSummary {
        verdict: judged.verdict.verdict,
        reason: judged.verdict.reason.clone(),
        micros: judged.micros,
    }
}
