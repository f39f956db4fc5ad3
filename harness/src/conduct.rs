//! Conducts a run: plan everything, probe, drive each case, judge it, keep the evidence. Says what happens as it happens.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::case::{Bounds, Case, Catalogue, Selection};
use crate::digest;
use crate::drive::clock::{self, Clock};
use crate::drive::guard::Interrupts;
use crate::drive::{CaseRun, DriveError, Found, RunSetting, Scribe, StageError, probe, run_case};
use crate::judge::{JUDGE_VERSION, gate_by_controls, judge};
use crate::plan::{Naming, Plan, plan};
use crate::protocol::Era;
use crate::record::{
    ArtifactDigest, Body, CaseFolder, CaseSummary, CaseVerdict, Evidence, EvidenceError, HarnessSummary, Host, Outcome,
    RUN_FORMAT, Record, RecordError, Run, RunState, ServerSeen, TargetSummary, Verdict,
};
use crate::report::{CaseReport, ControlReport, OperationReport, RunReport, RunTotals, TargetReport};
use crate::target::{PlaceholderError, Target};

/// The kind of faults that this version can set.
const TIER: &str = "stdio-boundary";

/// What to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// On what.
    pub target: Target,
    /// Which cases.
    pub selection: Selection,
    /// Where names come from.
    pub naming: Naming,
    /// No wait of a case is longer than this (milliseconds), where it is set.
    pub timeout_ms: Option<u64>,
    /// The defect to plant.
    pub defect: Option<String>,
    /// The evidence folder that the user named.
    pub evidence: Option<PathBuf>,
    /// The folder under which evidence goes otherwise.
    pub folder: PathBuf,
    /// Where cases get their own folders.
    pub scratch: PathBuf,
    /// The harness's own executable.
    pub harness: PathBuf,
    /// The words that repeat this run, after those that name the case.
    pub repeat: String,
}

/// Something that happened.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The target is known by name; nothing was started yet.
    Begins(&'a TargetReport),
    /// The target is known to start, or not.
    Probed(&'a TargetReport),
    /// A case begins.
    CaseBegins(&'a Case),
    /// A case was judged; with what its control showed, if it is one.
    CaseJudged(&'a Case, &'a CaseReport, Option<&'a ControlReport>),
}

/// Why a run could not be conducted.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// A template of the profile is wrong.
    #[error("the profile: {0}")]
    Plan(#[from] PlaceholderError),
    /// The profile asks for something that is not there.
    #[error("the profile: {0}")]
    Stage(#[from] StageError),
    /// The evidence folder cannot be made or written.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The machine did not let us.
    #[error("run the cases: {0}")]
    Machine(DriveError),
}

impl ConductError {
    /// Whether the user can mend it, and nothing was run.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Plan(_) | Self::Stage(_) => true,
            Self::Evidence(error) => matches!(error, EvidenceError::Exists { .. } | EvidenceError::File { .. }),
            Self::Record(_) | Self::Machine(_) => false,
        }
    }
}

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
        Some(Found::DidNotStart { reason, last_words }) => {
            report.target.server.clone_from(&conductor.run.server);
            tell(Progress::Probed(&report.target));
            conductor.run.did_not_start = Some(reason.clone());
            conductor.run.executed.clear();
            report.did_not_start = Some(reason);
            report.last_words = last_words;
            RunState::Finished
        }
        Some(Found::Speaks(era, server)) => {
            report.target.server = Some(server.clone());
            conductor.run.server = Some(server);
            conductor.save()?;
            tell(Progress::Probed(&report.target));
            conductor.cases(era, interrupts, &mut report, tell).await?
        }
    };
    conductor.end(state)?;
    Ok((report, state))
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
        let setting = RunSetting::new(
            request.target.clone(),
            request.naming.clone(),
            request.harness.clone(),
            request.scratch.clone(),
            request.defect.clone(),
        )?;
        setting.check()?;
        let mut plans = BTreeMap::new();
        for id in &request.selection.execute {
            let mut planned = plan(&setting.target, case(id), &request.naming)?;
            if let Some(ms) = request.timeout_ms {
                planned.bounds = planned.bounds.at_most(ms);
            }
            plans.insert(id.clone(), planned);
        }
        let harness = request.harness.clone();
        let own_digest = std::thread::spawn(move || digest::sha256_file(&harness).ok());
        let run = describe(&request, &setting);
        let name = run.started_at.replace(['-', ':'], "") + "-" + &request.naming.nonce;
        let evidence = match &request.evidence {
            Some(path) => Evidence::create_at(path)?,
            None => Evidence::create_usual(&request.folder, &name)?,
        };
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
        path.strip_prefix(&self.request.folder)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    fn save(&self) -> Result<(), ConductError> {
        Evidence::write_json(&self.evidence.run_file(), &self.run)?;
        Ok(())
    }

    /// Probes the target; nothing when the user interrupted it.
    async fn probe(&mut self, interrupts: &mut Interrupts) -> Result<Option<Found>, ConductError> {
        let folder = self.evidence.probe();
        folder.create()?;
        let mut scribe = Scribe::begin(&folder)?;
        let start_ms = Bounds::default().start_ms;
        let start_ms = self.request.timeout_ms.map_or(start_ms, |ms| ms.min(start_ms));
        tokio::select! {
            found = probe(&self.setting, &folder, &mut scribe, start_ms) => match found {
                Ok(found) => Ok(Some(found)),
                Err(error) => Err(ConductError::Machine(error)),
            },
            _ = interrupts.interrupted() => Ok(None),
        }
    }

    async fn cases(
        &mut self,
        era: Era,
        interrupts: &mut Interrupts,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<RunState, ConductError> {
        let mut done: Vec<CaseVerdict> = Vec::new();
        for id in self.request.selection.execute.clone() {
            let case = case(&id);
            tell(Progress::CaseBegins(case));
            let since = Clock::start();
            let folder = self.evidence.case(&id);
            let interrupted = self.drive(case, era, &folder, interrupts).await?;
            let verdict = gate_by_controls(judge(case, &Record::read(&folder)?), case, &done);
            Evidence::write_json(&folder.verdict_file(), &verdict)?;
            let summary = CaseSummary {
                verdict: verdict.verdict,
                reason: verdict.reason.clone(),
                micros: since.stamp().micros,
            };
            let case_report = self.report_case(case, verdict.clone(), &summary);
            self.run.verdicts.insert(id.clone(), summary);
            self.save()?;
            let control = is_control(case).then(|| ControlReport::of(case, &verdict));
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
        };
        let driven = tokio::select! {
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

    fn report_case(&self, case: &Case, verdict: CaseVerdict, summary: &CaseSummary) -> CaseReport {
        CaseReport {
            family: case.family.clone(),
            number: case.number,
            title: case.title.clone(),
            named: self.request.selection.named.contains(&case.id),
            requested: self.request.selection.requested.contains(&case.id),
            micros: summary.micros,
            operations: OperationReport::all(&self.plans[&case.id]),
            missing: self.plans[&case.id]
                .missing(case)
                .iter()
                .map(|surface| surface.name())
                .collect(),
            record: self.shown(&self.evidence.case(&case.id).record_file()),
            repeat: format!("harness run --case {} {}", case.id, self.request.repeat),
            verdict,
        }
    }

    /// Writes the last state of `run.json`, and seals the folder.
    fn end(mut self, state: RunState) -> Result<(), ConductError> {
        self.run.state = state;
        self.run.ended_at = Some(clock::utc_now().to_string());
        let harness = self.request.harness.display().to_string();
        self.run.harness.sha256 = self.own_digest.join().unwrap_or(None);
        let stage = self.setting.dry_stage();
        for path in self.setting.artifacts(&stage)? {
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

fn case(id: &str) -> &'static Case {
    Catalogue::embedded()
        .get(id)
        .expect("a selection names cases of the catalogue only")
}

fn is_control(case: &Case) -> bool {
    Catalogue::embedded()
        .all()
        .iter()
        .any(|other| other.controls.contains(&case.id))
}

/// `run.json` as it is before anything was run.
fn describe(request: &Request, setting: &RunSetting) -> Run {
    let target = &setting.target;
    Run {
        format: RUN_FORMAT,
        state: RunState::Running,
        harness: HarnessSummary {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sha256: None,
            judge: JUDGE_VERSION,
        },
        started_at: clock::utc_now().to_string(),
        ended_at: None,
        host: Host {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")
                .ok()
                .map(|text| text.trim().to_owned()),
        },
        tier: TIER.to_owned(),
        target: TargetSummary {
            name: target.name.clone(),
            source: target.source.clone(),
            command: target.launch.command.clone(),
            env: target.launch.env.clone(),
            secrets: target.launch.secrets.keys().cloned().collect(),
            contract: target.contract.clone(),
            replies: target.replies.clone(),
            identity: target.identity.clone(),
            read_effects: target.read_effects.clone(),
            read_ledger: target.read_ledger.clone(),
            artifacts: Vec::new(),
        },
        server: None::<ServerSeen>,
        naming: request.naming.clone(),
        defect: request.defect.clone(),
        catalogue: Catalogue::embedded().all().iter().map(|case| case.id.clone()).collect(),
        requested: request.selection.requested.clone(),
        named: request.selection.named.iter().cloned().collect(),
        executed: request.selection.execute.clone(),
        did_not_start: None,
        verdicts: BTreeMap::new(),
    }
}

impl RunReport {
    fn empty(run: &Run, title: String, evidence: String) -> Self {
        Self {
            format: crate::report::REPORT_FORMAT,
            harness: run.harness.version.clone(),
            target: TargetReport::of(run, title),
            seed: run.naming.seed,
            did_not_start: None,
            last_words: Vec::new(),
            control: None,
            cases: Vec::new(),
            totals: RunTotals::default(),
            evidence,
            exit: 0,
        }
    }

    fn add(&mut self, case: CaseReport, control: Option<ControlReport>) {
        if case.requested {
            self.totals.add(case.verdict.verdict);
        }
        self.control = control.or(self.control.take());
        self.cases.push(case);
    }

    /// Whether any requested case has this verdict.
    pub fn any(&self, verdict: Verdict, named_only: bool) -> bool {
        let counts = |case: &&CaseReport| case.requested && (case.named || !named_only);
        self.cases
            .iter()
            .filter(counts)
            .any(|case| case.verdict.verdict == verdict)
    }
}
