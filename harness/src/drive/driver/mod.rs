//! Runs one plan: does its steps in order, and writes down what happens. It decides nothing about what that means.
//!
//! | file | for |
//! |---|---|
//! | `mod.rs` | the steps and observations |
//! | `processes.rs` | processes: started, paused, ended |
//! | `executions.rs` | submitted writes: gates, copies, and the wait for an execution |
//! | `write.rs` | a write, round by round, with its fault |
//! | `in_flight.rs` | requests whose replies are not waited for, and the lock that keeps them inside |
//! | `requests.rs` | the requests themselves; pure |

mod executions;
mod in_flight;
mod processes;
mod requests;
mod write;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::DriveError;
use super::clock;
use super::living;
use super::observer::{Observer, Tried};
use super::scribe::Scribe;
use super::session::Session;
use super::stage::{RunSetting, Stage};
use super::store_lock::StoreLock;
use crate::case::{Case, ObserveStep, Role, Step, When};
use crate::fault::Delivery;
use crate::plan::Plan;
use crate::protocol::{self, Era};
use crate::record::{Body, CaseFolder, Evidence, Outcome, RECORD_FORMAT};

/// What a case is run on.
#[derive(Debug, Clone, Copy)]
pub struct CaseRun<'a> {
    /// What is the same for the whole run.
    pub setting: &'a RunSetting,
    /// The case.
    pub case: &'a Case,
    /// Its plan.
    pub plan: &'a Plan,
    /// The era that the target speaks.
    pub era: Era,
    /// Where its evidence goes.
    pub folder: &'a CaseFolder,
    /// A control of the case that did not pass: nothing is driven then, since nothing would be believed.
    pub failed_control: Option<&'a str>,
}

/// Runs a case to its end. What the target does wrong is in the record; an error here is the machine's or ours.
pub async fn run_case(run: CaseRun<'_>, scribe: &mut Scribe) -> Result<(), DriveError> {
    let planned = Body::CasePlanned {
        format: RECORD_FORMAT,
        plan: Box::new(run.plan.clone()),
    };
    scribe.write(None, planned)?;
    if !run.plan.missing(run.case).is_empty() {
        let outcome = Outcome::Unsupported;
        return Ok(scribe.write(None, Body::CaseEnded { outcome })?);
    }
    if let Some(reason) = run.setting.target.launch.cannot_kill().filter(|_| run.plan.kills()) {
        let outcome = Outcome::Stopped { reason };
        return Ok(scribe.write(None, Body::CaseEnded { outcome })?);
    }
    if let Some(control) = run.failed_control {
        let reason = format!("it was not run, because the control `{control}` did not pass");
        let outcome = Outcome::Stopped { reason };
        return Ok(scribe.write(None, Body::CaseEnded { outcome })?);
    }
    let stage = run.setting.stage(&run.case.id)?;
    let store = run.setting.store_path(&stage)?;
    let observer = Observer::new(&run.setting.target, store, stage.data.clone());
    let mut driver = Driver {
        run,
        scribe,
        stage,
        observer,
        sessions: BTreeMap::new(),
        roles: BTreeMap::new(),
        last_requests: BTreeMap::new(),
        exchanges: BTreeMap::new(),
        in_flight: BTreeMap::new(),
        executions: BTreeMap::new(),
        lock: None,
        waited_in_vain: false,
        does_without_answers: false,
    };
    driver.open_what_is_not_gated()?;
    let mut outcome = driver.steps().await?;
    // Whatever a case leaves running is ended before the next one begins.
    driver.lock = None;
    for (_, session) in std::mem::take(&mut driver.sessions) {
        let stopped = session.kill(driver.scribe, Delivery::Deliver).await?;
        if let (Outcome::Finished, Some(reason)) = (&outcome, stopped.trouble) {
            outcome = Outcome::Stopped { reason };
        }
    }
    Ok(scribe.write(None, Body::CaseEnded { outcome })?)
}

/// Whether a case can go on after a step, else why not.
type Going = Result<(), String>;

struct Driver<'a> {
    run: CaseRun<'a>,
    scribe: &'a mut Scribe,
    stage: Stage,
    observer: Option<Observer>,
    /// The processes that live, by the name that the case gives them.
    sessions: BTreeMap<String, Session>,
    /// What kind each process is that was started.
    roles: BTreeMap<String, Role>,
    /// The last request of each operation, which a repeat sends again.
    last_requests: BTreeMap<String, Value>,
    /// What each writing step sent last, and the reply to it.
    exchanges: BTreeMap<String, Exchange>,
    /// Requests whose replies were not waited for, by the name of their step.
    in_flight: BTreeMap<String, InFlight>,
    /// What names the execution of each operation, as the last submission was told.
    executions: BTreeMap<String, Value>,
    /// The store's write lock, while a child of ours holds it.
    lock: Option<StoreLock>,
    /// Whether an observation has waited in vain for what it was to see.
    waited_in_vain: bool,
    /// Whether a write has succeeded although a question was refused: then no later failure comes from that.
    does_without_answers: bool,
}

/// The last request of a step, and what came of it.
#[derive(Debug, Clone)]
struct Exchange {
    request: Value,
    reply: Option<Value>,
}

/// A request whose reply was not waited for.
#[derive(Debug, Clone)]
struct InFlight {
    operation: String,
    process: String,
    request: Value,
    /// How many bytes had been sent to the process with it, and with the answers to what was asked inside it.
    sent_bytes: u64,
}

impl Driver<'_> {
    async fn steps(&mut self) -> Result<Outcome, DriveError> {
        let plan = self.run.plan;
        for (index, step) in plan.steps.iter().enumerate() {
            let does = step.in_words();
            self.scribe.write(
                None,
                Body::StepStarted {
                    step: index,
                    does: does.clone(),
                },
            )?;
            if let Err(reason) = self.step(step).await? {
                let reason = format!("{does}: {reason}");
                return Ok(Outcome::Stopped { reason });
            }
        }
        Ok(Outcome::Finished)
    }

    /// Does one step; the inner error says why the case cannot go on.
    async fn step(&mut self, step: &Step) -> Result<Going, DriveError> {
        let bounds = self.run.plan.bounds;
        match step {
            Step::Start(start) => return self.start(start).await,
            Step::Stop { process } => return self.stop(process).await,
            Step::Kill { process } => return self.kill(process).await,
            Step::Pause { process } => return self.pause(process).await,
            Step::Resume { process } => return self.resume(process),
            Step::Open { operation } => return self.open(operation),
            Step::Observe(observe) => self.observe(observe).await?,
            Step::CancelExecution { operation, process, .. } => return self.cancel_execution(operation, process).await,
            Step::Write(write) => return self.write(write).await,
            Step::Send(send) => return self.send(send).await,
            Step::Await { sent } => return self.await_reply(sent).await,
            Step::Cancel { sent } => return self.cancel(sent).await,
            Step::Status { operation, process, .. } => {
                let call = self.run.plan.operations[operation].status.as_ref();
                if let (Some(call), Some(session)) = (call, self.sessions.get_mut(process)) {
                    let id = self.scribe.new_id();
                    let request = protocol::call_tool(session.era(), id, &call.tool, &call.arguments);
                    session.ask(self.scribe, &request, bounds.reply_ms).await?;
                }
            }
            Step::Advance { seconds } => return self.advance(*seconds),
            Step::Hold { .. } => return self.hold().await,
            Step::Release { .. } => return self.release().await,
            Step::Reconcile { operation, .. } => return self.reconcile(operation).await,
        }
        Ok(Ok(()))
    }

    async fn observe(&mut self, step: &ObserveStep) -> Result<(), DriveError> {
        let Some(observer) = &mut self.observer else {
            return Ok(());
        };
        let ObserveStep { label, when, .. } = step;
        let (plan, folder) = (self.run.plan, self.run.folder);
        if let Some(until) = &step.until {
            // Once the story has left the script, nothing that follows is worth another wait: it is looked for once.
            let bound_ms = if self.waited_in_vain {
                0
            } else {
                plan.bounds.condition_ms
            };
            if !observer.wait_for(plan, until, bound_ms).await? {
                self.waited_in_vain = true;
                let what = until.in_words();
                self.scribe.write(None, Body::TimedOut { what, bound_ms })?;
            }
        }
        let observation = match when {
            When::Now => {
                // Only a server that is alone with its store can be paused to read it.
                let alone = (self.sessions.len() == 1).then(|| self.sessions.values_mut().next());
                living::observe(observer, alone.flatten(), self.scribe, plan, label, folder).await?
            }
            When::Quiet => {
                if self.run.setting.target.launch.kill.is_some() {
                    // A kill command may return before the server is gone.
                    let bound = Duration::from_millis(plan.bounds.quiet_ms);
                    clock::wait_until(bound, || !observer.is_held(&[])).await;
                }
                let tried = Tried {
                    doubled: step.doubled,
                    tampered: step.tampered,
                };
                observer.frozen(plan, label, folder, tried)?
            }
        };
        let sha256 = Evidence::write_json(&self.run.folder.observation_file(label), &observation)?;
        let observed = Body::Observed {
            label: label.clone(),
            sha256,
        };
        Ok(self.scribe.write(None, observed)?)
    }

    /// Moves the server's clock, or ages its rows.
    fn advance(&mut self, seconds: u64) -> Result<Going, DriveError> {
        let operations = self.run.plan.operations.values();
        let identities: Vec<&str> = operations.map(|operation| operation.identity.as_str()).collect();
        if let Err(reason) = self.run.setting.advance(&mut self.stage, seconds, &identities)? {
            return Ok(Err(reason));
        }
        self.scribe.write(None, Body::ClockAdvanced { seconds })?;
        Ok(Ok(()))
    }

    /// Runs the operator's command for one operation.
    async fn reconcile(&mut self, operation: &str) -> Result<Going, DriveError> {
        let identity = &self.run.plan.operations[operation].identity;
        let Some(command) = self.run.setting.reconcile_command(&self.stage, identity)? else {
            return Ok(Err("[reconcile] names no command".to_owned()));
        };
        let ran = command.run().await;
        let body = Body::OperatorRan {
            command: command.words(),
            code: ran.code,
            trouble: ran.trouble,
        };
        self.scribe.write(None, body)?;
        Ok(Ok(()))
    }
}
