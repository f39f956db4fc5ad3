//! The run itself: one owner of plans, evidence and `run.json`, who tells what happens in order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::describe::describe;
use super::offered;
use super::request::{ConductError, Progress, Request};

use crate::baseline;
use crate::case::{Bounds, Case, Catalogue, calibrations};
use crate::digest;
use crate::drive::clock::{self, Clock};
use crate::drive::guard::Interrupts;
use crate::drive::{
    Calibrated, CaseRun, DriveError, Found, RunSetting, Scribe, StageError, Written, calibrate, probe, run_case,
};
use crate::judge::{gate_by_controls, judge};
use crate::plan::{Plan, plan};
use crate::protocol::Era;
use crate::record::{
    ArtifactDigest, Body, CaseFolder, CaseSummary, CaseVerdict, Evidence, Outcome, Record, Run, RunState, Verdict,
};
use crate::report::{CaseReport, ControlReport, OperationReport, RunReport};
use crate::target::Target;

/// Conducts a whole run. The report's exit code is for the caller to fill in.
pub async fn conduct(
    request: Request,
    interrupts: &mut Interrupts,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunReport, RunState), ConductError> {
    let title = request.target.title();
    let mut conductor = Conductor::begin(request)?;
    let mut report = RunReport::empty(&conductor.run, title, conductor.shown(conductor.evidence.root()));
    tell(Progress::Begins(&report.target));
    let state = match conductor.probe(interrupts).await? {
        None => RunState::Interrupted,
        Some(Found::DidNotStart {
            reason,
            hint,
            last_words,
        }) => {
            conductor.nothing_was_run(&reason);
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
                return conductor.refuse(problem);
            }
            report.warnings = offered.warnings;
            conductor.speak(era)?;
            tell(Progress::Probed(&report));
            match conductor.look_for_effect(era, interrupts, &mut report, tell).await? {
                Looked::CanCount => conductor.cases(era, interrupts, &mut report, tell).await?,
                Looked::Interrupted => {
                    conductor.run.executed.clear();
                    RunState::Interrupted
                }
                Looked::Blind(reason) => {
                    conductor.nothing_was_run(&reason);
                    report.blind = Some(reason);
                    RunState::Finished
                }
            }
        }
    };
    conductor.halt_if_orphaned().await;
    conductor.run.state = state;
    report.baseline = baseline::compare(&conductor.run, report.cases.iter().map(|case| &case.verdict));
    conductor.end()?;
    Ok((report, state))
}

/// What came of looking for the effect.
enum Looked {
    /// Effects can be counted.
    CanCount,
    /// They cannot, and why.
    Blind(String),
    /// The user stopped it.
    Interrupted,
}

struct Conductor {
    request: Request,
    setting: RunSetting,
    plans: BTreeMap<String, Plan>,
    evidence: Evidence,
    run: Run,
    own_digest: std::thread::JoinHandle<Option<String>>,
}

impl Conductor {
    /// Everything that can be wrong without a server is found here, before a folder is made.
    fn begin(request: Request) -> Result<Self, ConductError> {
        let setting = setting_of(&request)?;
        let mut plans = BTreeMap::new();
        for id in &request.selection.execute {
            let planned = plan_case(&setting.target, case_named(&request.catalogue, id), &request)?;
            plans.insert(id.clone(), planned);
        }
        let harness = request.harness.clone();
        let own_digest = std::thread::spawn(move || digest::sha256_file(&harness).ok());
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

    /// Comes once nobody watches over the run any more. Its servers are killed then, and it goes no further: that must not
    /// be judged, and what was cut off must not be sealed.
    async fn orphaned(&self) {
        let mut orphaned = self.request.orphaned.clone();
        if orphaned.wait_for(|is| *is).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the end that comes from outside, if the run was orphaned.
    async fn halt_if_orphaned(&self) {
        if *self.request.orphaned.borrow() {
            std::future::pending::<()>().await;
        }
    }

    /// Probes the target; nothing when the user interrupted it.
    async fn probe(&mut self, interrupts: &mut Interrupts) -> Result<Option<Found>, ConductError> {
        let folder = self.evidence.probe();
        folder.create()?;
        let mut scribe = Scribe::begin(&folder)?;
        let start_ms = Bounds::default().start_ms;
        let start_ms = self.request.timeout_ms.map_or(start_ms, |ms| ms.min(start_ms));
        tokio::select! {
            biased;
            () = self.orphaned() => std::future::pending().await,
            found = probe(&self.setting, &folder, &mut scribe, start_ms) => match found {
                Ok(found) => Ok(Some(found)),
                Err(error) => Err(ConductError::Machine(error)),
            },
            _ = interrupts.interrupted() => Ok(None),
        }
    }

    /// What `run.json` says of a run that came to no case.
    fn nothing_was_run(&mut self, reason: &str) {
        self.run.did_not_start = Some(reason.to_owned());
        self.run.executed.clear();
    }

    /// Ends a run that makes no sense on this server, before any case.
    fn refuse<T>(mut self, problem: String) -> Result<T, ConductError> {
        let place = self.request.target.place();
        self.nothing_was_run(&format!("nothing was run: {problem}"));
        self.run.state = RunState::Finished;
        self.end()?;
        Err(ConductError::NotOffered { place, problem })
    }

    /// Where nobody said how effects are counted: writes one, and looks for it. What is found is used as if the profile had
    /// said it.
    async fn look_for_effect(
        &mut self,
        era: Era,
        interrupts: &mut Interrupts,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Looked, ConductError> {
        let target = &self.setting.target;
        if target.read_effects.is_some() || target.write.is_none() || target.store.is_none() {
            return Ok(Looked::CanCount);
        }
        let [once, twice] = calibrations();
        let mut done = Vec::new();
        for case in [once, twice] {
            let plan = self.plan(case)?;
            self.plans.insert(case.id.clone(), plan.clone());
            let folder = self.evidence.calibration(&case.id);
            let interrupted = self.drive(case, era, &folder, None, interrupts).await?;
            self.halt_if_orphaned().await;
            let verdict = judge(case, &Record::read(&folder)?);
            Evidence::write_json(&folder.verdict_file(), &verdict)?;
            if interrupted {
                return Ok(Looked::Interrupted);
            }
            if verdict.verdict != Verdict::Pass {
                let reason = verdict.reason;
                return Ok(Looked::Blind(
                    reason.unwrap_or_else(|| "the write could not be done".to_owned()),
                ));
            }
            done.push((plan, folder));
        }
        let [once, twice] = [0, 1].map(|index| Written {
            plan: &done[index].0,
            folder: &done[index].1,
        });
        match calibrate(&self.setting, once, twice) {
            // What the server made of its store is no trouble of the machine's.
            Err(error @ (DriveError::Freeze(_) | DriveError::Stage(StageError::Outside { .. }))) => {
                Ok(Looked::Blind(error.to_string()))
            }
            Err(error) => Err(ConductError::Machine(error)),
            Ok(Calibrated::NotFound(reason)) => Ok(Looked::Blind(reason)),
            Ok(Calibrated::Found(selector)) => {
                tell(Progress::EffectFound(&selector));
                report.read_effects = Some(selector.to_string());
                self.run.target.read_effects = Some(selector.clone());
                self.setting.target.read_effects = Some(selector);
                self.plan_again()?;
                self.save()?;
                Ok(Looked::CanCount)
            }
        }
    }

    /// In the legacy era a request has no second round, which plans have to know.
    fn speak(&mut self, era: Era) -> Result<(), ConductError> {
        if era == Era::Legacy {
            self.setting.target.is_legacy = true;
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

    async fn cases(
        &mut self,
        era: Era,
        interrupts: &mut Interrupts,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<RunState, ConductError> {
        let mut done: Vec<CaseVerdict> = Vec::new();
        let catalogue = Arc::clone(&self.request.catalogue);
        for id in self.request.selection.execute.clone() {
            let case = case_named(&catalogue, &id);
            tell(Progress::CaseBegins(case));
            let since = Clock::start();
            let folder = self.evidence.case(&id);
            let blocked = failed_control(case, &done);
            let interrupted = self.drive(case, era, &folder, blocked, interrupts).await?;
            self.halt_if_orphaned().await;
            let verdict = gate_by_controls(judge(case, &Record::read(&folder)?), case, &done);
            Evidence::write_json(&folder.verdict_file(), &verdict)?;
            let summary = CaseSummary {
                verdict: verdict.verdict,
                reason: verdict.reason.clone(),
                micros: since.stamp().micros,
            };
            let case_report = self.report_case(case, verdict.clone(), &summary, blocked.is_some());
            self.run.verdicts.insert(id.clone(), summary);
            self.save()?;
            let control = is_control(&catalogue, case).then(|| ControlReport::of(case, &verdict));
            tell(Progress::CaseJudged(case, &case_report, control.as_ref()));
            report.add(case_report, control);
            done.push(verdict);
            if interrupted {
                self.run.executed = done.iter().map(|verdict| verdict.case.clone()).collect();
                return Ok(RunState::Interrupted);
            }
        }
        Ok(RunState::Finished)
    }

    /// Drives one case into its record. What goes wrong on our side is written there too, so that judging it again
    /// comes to the same verdict.
    async fn drive(
        &self,
        case: &Case,
        era: Era,
        folder: &CaseFolder,
        blocked: Option<&str>,
        interrupts: &mut Interrupts,
    ) -> Result<bool, ConductError> {
        folder.create()?;
        Evidence::write_text(&folder.case_file(), &case.text)?;
        let mut scribe = Scribe::begin(folder)?;
        let run = CaseRun {
            setting: &self.setting,
            case,
            plan: &self.plans[&case.id],
            era,
            folder,
            failed_control: blocked,
        };
        let driven = tokio::select! {
            biased;
            () = self.orphaned() => std::future::pending().await,
            driven = run_case(run, &mut scribe) => Some(driven),
            _ = interrupts.interrupted() => None,
        };
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

    fn report_case(&self, case: &Case, verdict: CaseVerdict, summary: &CaseSummary, blocked: bool) -> CaseReport {
        let file = self.request.catalogue.file_of(&case.id);
        CaseReport {
            family: case.family.clone(),
            number: case.number,
            title: case.title.clone(),
            named: self.request.selection.named.contains(&case.id),
            requested: self.request.selection.requested.contains(&case.id),
            micros: summary.micros,
            operations: OperationReport::all(&self.plans[&case.id]),
            blocked,
            missing: self.plans[&case.id]
                .missing(case)
                .iter()
                .map(|surface| surface.name())
                .collect(),
            record: self.shown(&self.evidence.case(&case.id).record_file()),
            counts_as: baseline::counts_as(&verdict, self.request.baseline.expected_failures.as_ref()),
            case_file: file.map(str::to_owned),
            repeat: self.request.repeat.line(&case.id),
            verdict,
        }
    }

    /// Writes the last state of `run.json`, and seals the folder.
    fn end(mut self) -> Result<(), ConductError> {
        self.run.ended_at = Some(clock::utc_now().to_string());
        let harness = self.request.harness.display().to_string();
        self.run.harness.sha256 = self.own_digest.join().unwrap_or(None);
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

/// The control that keeps a case from being believed, where one has not passed.
fn failed_control<'a>(case: &Case, done: &'a [CaseVerdict]) -> Option<&'a str> {
    let asked = done.iter().filter(|verdict| case.controls.contains(&verdict.case));
    let mut failed = asked.filter(|verdict| verdict.verdict != Verdict::Pass);
    failed.next().map(|verdict| verdict.case.as_str())
}

fn is_control(catalogue: &Catalogue, case: &Case) -> bool {
    catalogue.all().iter().any(|other| other.controls.contains(&case.id))
}
