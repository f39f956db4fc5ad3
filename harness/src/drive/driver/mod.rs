//! Runs one plan: does its steps in order, and writes down what happens. It decides nothing about what that means.
//!
//! | file | for |
//! |---|---|
//! | `mod.rs` | the steps, processes and observations |
//! | `write.rs` | a write, round by round, with its fault |
//! | `in_flight.rs` | requests whose replies are not waited for, and the lock that keeps them inside |
//! | `requests.rs` | the requests themselves; pure |

mod in_flight;
mod requests;
mod write;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::DriveError;
use super::clock;
use super::living;
use super::observer::Observer;
use super::scribe::Scribe;
use super::session::{Answer, Session, Stopped};
use super::stage::{RunSetting, Stage};
use super::store_lock::StoreLock;
use crate::case::{Case, Doubled, StartStep, Step, When};
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
        last_requests: BTreeMap::new(),
        exchanges: BTreeMap::new(),
        in_flight: BTreeMap::new(),
        lock: None,
        does_without_answers: false,
    };
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
    /// The last request of each operation, which a repeat sends again.
    last_requests: BTreeMap<String, Value>,
    /// What each writing step sent last, and the reply to it.
    exchanges: BTreeMap<String, Exchange>,
    /// Requests whose replies were not waited for, by the name of their step.
    in_flight: BTreeMap<String, InFlight>,
    /// The store's write lock, while a child of ours holds it.
    lock: Option<StoreLock>,
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
    process: String,
    operation: String,
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
            Step::Stop { process } => {
                if let Some(session) = self.sessions.remove(process) {
                    let stopped = session.stop(self.scribe, bounds.stop_ms, bounds.quiet_ms).await?;
                    return Ok(quiet(stopped));
                }
            }
            Step::Kill { process } => {
                if let Some(session) = self.sessions.remove(process) {
                    return Ok(quiet(session.kill(self.scribe, Delivery::Deliver).await?));
                }
            }
            Step::Observe { label, when, doubled } => self.observe(label, *when, *doubled).await?,
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

    async fn start(&mut self, start: &StartStep) -> Result<Going, DriveError> {
        let setting = self.run.setting;
        let stage = setting.for_launch(&self.stage, start);
        let spec = setting.launch_spec(&stage, self.run.folder.stderr_file(&start.process))?;
        let kill = setting.kill_command(&stage)?;
        let mut session = match Session::launch(self.scribe, &start.process, &spec, kill, self.run.era) {
            Ok(session) => session.offering(setting.offer()),
            Err(DriveError::Launch(error)) => return Ok(Err(format!("did not start: {error}"))),
            Err(error) => return Err(error),
        };
        let bounds = self.run.plan.bounds;
        let bound_ms = bounds.start_ms;
        let answer = session.shake_hands(self.scribe, bound_ms).await?;
        let (instead, _) = session.instead();
        self.sessions.insert(start.process.clone(), session);
        Ok(match answer {
            Answer::Reply(reply) if self.run.era == Era::Legacy && protocol::read_initialize(&reply).is_none() => {
                Err("did not start: it refused `initialize`".to_owned())
            }
            Answer::Reply(_) => Ok(()),
            Answer::TimedOut => Err(format!(
                "did not start: no answer to the handshake within {bound_ms} ms{instead}"
            )),
            Answer::Gone => {
                let Some(session) = self.sessions.remove(&start.process) else {
                    return Ok(Ok(()));
                };
                let stopped = session.stop(self.scribe, bounds.stop_ms, bounds.quiet_ms).await?;
                Err(format!(
                    "did not start: {} before it answered the handshake{}",
                    stopped.exit,
                    stopped
                        .last_words
                        .map_or(String::new(), |words| format!("; its last words: {words}"))
                ))
            }
        })
    }

    async fn observe(&mut self, label: &str, when: When, doubled: Option<Doubled>) -> Result<(), DriveError> {
        let Some(observer) = &mut self.observer else {
            return Ok(());
        };
        let (plan, folder) = (self.run.plan, self.run.folder);
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
                observer.frozen(plan, label, folder, doubled)?
            }
        };
        let sha256 = Evidence::write_json(&self.run.folder.observation_file(label), &observation)?;
        let observed = Body::Observed {
            label: label.to_owned(),
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

fn quiet(stopped: Stopped) -> Going {
    match stopped {
        Stopped {
            trouble: Some(trouble), ..
        } => Err(trouble),
        Stopped { survivors: 0, .. } => Ok(()),
        Stopped { survivors, .. } => Err(format!(
            "{survivors} processes of the server could not be ended, so nothing can be counted"
        )),
    }
}
