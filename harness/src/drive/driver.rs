//! Runs one plan: does its steps in order, and writes down what happens. It decides nothing about what that means.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::DriveError;
use super::answers::{Answers, ROUNDS_MAX, Written};
use super::clock::{self, Clock};
use super::living;
use super::observer::Observer;
use super::scribe::Scribe;
use super::session::{Answer, Received, Session, Stopped};
use super::stage::{RunSetting, Stage};
use super::watch::Watch;
use crate::case::{Case, Doubled, From, Step, When, WriteStep};
use crate::fault::{Act, Delivery, Fault, Moment, Seen, Sight, WithholdReply};
use crate::plan::{Call, Plan};
use crate::protocol::{self, Era, Reply, ReplyKind};
use crate::record::{Body, CaseFolder, Evidence, Outcome, RECORD_FORMAT};

/// How long one look for a frame may take between two polls of the store (milliseconds).
const LOOK_MS: u64 = 1;

/// Why a fault at the last round missed it where the server did not ask for what the profile answers.
const REPLIED_UNASKED: &str = "the server replied without asking for anything that [write] responses answers, so its reply was \
     delivered; leave responses out if it does not ask";

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
    let observer = Observer::new(&run.setting.target, run.setting.store_path(&stage)?);
    let mut driver = Driver {
        run,
        scribe,
        stage,
        observer,
        session: None,
        last_requests: BTreeMap::new(),
        does_without_answers: false,
    };
    let mut outcome = driver.steps().await?;
    // Whatever a case leaves running is ended before the next one begins.
    if let Some(session) = driver.session.take() {
        let stopped = session.kill(driver.scribe, Delivery::Deliver).await?;
        if let (Outcome::Finished, Some(reason)) = (&outcome, stopped.trouble) {
            outcome = Outcome::Stopped { reason };
        }
    }
    Ok(scribe.write(None, Body::CaseEnded { outcome })?)
}

struct Driver<'a> {
    run: CaseRun<'a>,
    scribe: &'a mut Scribe,
    stage: Stage,
    observer: Option<Observer>,
    session: Option<Session>,
    /// The last request of each operation, which a repeat sends again.
    last_requests: BTreeMap<String, Value>,
    /// Whether a write has succeeded although a question was refused: then no later failure comes from that.
    does_without_answers: bool,
}

impl Driver<'_> {
    async fn steps(&mut self) -> Result<Outcome, DriveError> {
        let plan = self.run.plan;
        for (index, step) in plan.steps.iter().enumerate() {
            let does = describe(step);
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
    async fn step(&mut self, step: &Step) -> Result<Result<(), String>, DriveError> {
        let bounds = self.run.plan.bounds;
        match step {
            Step::Start { process } => return self.start(process).await,
            Step::Stop { .. } => {
                if let Some(session) = self.session.take() {
                    let stopped = session.stop(self.scribe, bounds.stop_ms, bounds.quiet_ms).await?;
                    return Ok(quiet(stopped));
                }
            }
            Step::Kill { .. } => {
                if let Some(session) = self.session.take() {
                    return Ok(quiet(session.kill(self.scribe, Delivery::Deliver).await?));
                }
            }
            Step::Observe { label, when, doubled } => self.observe(label, *when, *doubled).await?,
            Step::Write(write) => return self.write(write).await,
            Step::Status { operation, .. } => {
                let call = self.run.plan.operations[operation].status.as_ref();
                if let (Some(call), Some(session)) = (call, &mut self.session) {
                    let id = self.scribe.new_id();
                    let request = protocol::call_tool(session.era(), id, &call.tool, &call.arguments);
                    session.ask(self.scribe, &request, bounds.reply_ms).await?;
                }
            }
        }
        Ok(Ok(()))
    }

    async fn start(&mut self, process: &str) -> Result<Result<(), String>, DriveError> {
        let setting = self.run.setting;
        let stage = setting.for_launch(&self.stage, process);
        let spec = setting.launch_spec(&stage, self.run.folder.stderr_file(process))?;
        let kill = setting.kill_command(&stage)?;
        let mut session = match Session::launch(self.scribe, process, &spec, kill, self.run.era) {
            Ok(session) => session.offering(setting.offer()),
            Err(DriveError::Launch(error)) => return Ok(Err(format!("did not start: {error}"))),
            Err(error) => return Err(error),
        };
        let bound_ms = self.run.plan.bounds.start_ms;
        let answer = session.shake_hands(self.scribe, bound_ms).await?;
        self.session = Some(session);
        Ok(match answer {
            Answer::Reply(reply) if self.run.era == Era::Legacy && protocol::read_initialize(&reply).is_none() => {
                Err("did not start: it refused `initialize`".to_owned())
            }
            Answer::Reply(_) => Ok(()),
            Answer::TimedOut => Err(format!(
                "did not start: no answer to the handshake within {bound_ms} ms"
            )),
            Answer::Gone => Err("did not start: it ended before it answered the handshake".to_owned()),
        })
    }

    async fn observe(&mut self, label: &str, when: When, doubled: Option<Doubled>) -> Result<(), DriveError> {
        let Some(observer) = &mut self.observer else {
            return Ok(());
        };
        let (plan, folder) = (self.run.plan, self.run.folder);
        let observation = match when {
            When::Now => living::observe(observer, self.session.as_mut(), self.scribe, plan, label, folder).await?,
            When::Quiet => {
                if self.run.setting.target.launch.kill.is_some() {
                    // A kill command may return before the server is gone.
                    let bound = std::time::Duration::from_millis(plan.bounds.quiet_ms);
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

    async fn write(&mut self, write: &WriteStep) -> Result<Result<(), String>, DriveError> {
        let plan = self.run.plan;
        let operation = &plan.operations[&write.operation];
        let call = if write.changed {
            &operation.changed
        } else {
            &operation.write
        };
        let (Some(call), Some(session)) = (call, &self.session) else {
            return Ok(Err("there is nothing to write, or no server to write to".to_owned()));
        };
        let era = session.era();
        let id = self.scribe.new_id();
        let first = match (write.from, self.last_requests.get(&write.operation)) {
            (From::Repeat, Some(last)) => again(last, id, write.changed.then_some(call)),
            (From::Repeat, None) => return Ok(Err("there is no earlier request to repeat".to_owned())),
            (From::Start, _) => {
                let request = protocol::call_tool(era, id, &call.tool, &call.arguments);
                protocol::with_members(request, &call.meta, &call.params)
            }
        };
        self.rounds(write, call, first).await
    }

    /// Sends a request and answers what the server asks, in replies (modern era) or inside the call (legacy era), until a
    /// reply that asks nothing, or the fault.
    async fn rounds(&mut self, write: &WriteStep, call: &Call, first: Value) -> Result<Result<(), String>, DriveError> {
        let mut request = first;
        let offer = self.session.as_ref().map(Session::offer).unwrap_or_default();
        let mut answers = Answers::new(call, offer, self.does_without_answers);
        for _ in 0..ROUNDS_MAX {
            if !write.changed {
                self.last_requests.insert(write.operation.clone(), request.clone());
            }
            // Without questions to expect, the first request is the last; else the one that carries the answers is.
            let is_last = call.responses.is_empty() || request.pointer("/params/inputResponses").is_some();
            if write.fault.is_some() && is_last {
                return self.break_at(write, &request, &request, &mut answers).await;
            }
            let Some(session) = &mut self.session else {
                return Ok(Ok(()));
            };
            let reply_ms = self.run.plan.bounds.reply_ms;
            let hold = write.fault.is_some();
            let reply = match session
                .write(self.scribe, &request, &mut answers, reply_ms, hold)
                .await?
            {
                Written::Ended(Answer::Reply(reply)) => {
                    self.does_without_answers |= answers.was_refused();
                    reply
                }
                Written::Ended(Answer::TimedOut | Answer::Gone) => return Ok(Ok(())),
                // The answer begins the last round: what came before it has reached the client side.
                Written::Asked(answer) => return self.break_at(write, &request, &answer, &mut answers).await,
                Written::Stuck(reason) => return Ok(Err(reason)),
            };
            let id = self.scribe.new_id();
            match continuation(&request, &reply, call, id) {
                Some(Ok(next)) => request = next,
                Some(Err(reason)) => return Ok(Err(reason)),
                None if write.fault.is_some() => {
                    let reason = REPLIED_UNASKED.to_owned();
                    self.scribe.write(None, Body::FaultMissed { reason })?;
                    // The steps that follow count on a dead server, and what they met instead would hide the reason.
                    let Some(session) = self.session.take() else {
                        return Ok(Ok(()));
                    };
                    let survivors = session.kill(self.scribe, Delivery::Deliver).await?;
                    return Ok(quiet(survivors));
                }
                None => return Ok(Ok(())),
            }
        }
        Ok(Err(format!("the server asked for input more than {ROUNDS_MAX} times")))
    }

    /// Sends the frame that begins the last round of a request (itself, or the answer to what the server asked inside it) with
    /// the fault at work.
    async fn break_at(
        &mut self,
        write: &WriteStep,
        request: &Value,
        last_round: &Value,
        answers: &mut Answers<'_>,
    ) -> Result<Result<(), String>, DriveError> {
        let bounds = self.run.plan.bounds;
        let mut fault = WithholdReply::new(&bounds);
        let (Some(observer), Some(session)) = (&self.observer, &mut self.session) else {
            return Ok(Err(
                "the effect cannot be watched: the target has no read-back".to_owned()
            ));
        };
        let (reader, query) = observer.watch(self.run.plan, &write.operation);
        let mut watch = Watch::new(reader, query);
        // A store that stays unreadable for so long counts as one that nobody can read beside this server.
        let before = watch.count_until_read(bounds.withheld_reply_ms).await?;
        let mut seen = Seen {
            effects_before: before.unwrap_or_else(|| observer.last_count(&write.operation)),
            store_before: Sight::of(before.is_some()),
            ..Seen::default()
        };
        session.send(self.scribe, last_round, bounds.reply_ms).await?;
        let since = Clock::start();
        let mut told = false;
        let act = loop {
            let look = std::time::Duration::from_millis(LOOK_MS);
            // Once the effect is there, the client side is cut off from everything.
            let received = if told {
                session.receive(self.scribe, look, fault.delivery()).await?
            } else {
                session.receive_or_be_asked(self.scribe, look, fault.delivery()).await?
            };
            if let Received::Frame(frame) = received {
                seen.reply_is_whole |= Reply::to(&frame, &request["id"]).is_some();
                if !told && let Err(reason) = session.respond(self.scribe, &frame, answers, bounds.reply_ms).await? {
                    return Ok(Err(reason));
                }
            }
            seen.stream_ended = session.stream_ended();
            if seen.stream_ended {
                clock::pause().await;
            }
            seen.effects_now = watch.count()?.or(seen.effects_now);
            seen.store_now = Sight::of(watch.unread().is_none());
            seen.elapsed_ms = since.stamp().micros / 1000;
            if let (Some(effects), false) = (seen.effects_now, told)
                && effects > seen.effects_before
            {
                told = true;
                let body = Body::EffectVisible {
                    effects,
                    effects_before: seen.effects_before,
                    polls: watch.polls(),
                };
                self.scribe.write(Some(&session.process), body)?;
            }
            match fault.next(seen) {
                Act::Wait => {}
                act @ (Act::KillTree(_) | Act::Missed(_)) => break act,
            }
        };
        let is_missed = matches!(act, Act::Missed(_));
        self.does_without_answers |= answers.was_refused() && !is_missed;
        match act {
            Act::Wait | Act::KillTree(Moment::Effect) => {}
            Act::KillTree(Moment::Reply) => {
                let (why, polls) = (watch.unread().unwrap_or_default().to_owned(), watch.polls());
                let body = Body::ReplyMarkedMoment { why, polls };
                self.scribe.write(Some(&session.process), body)?;
            }
            Act::Missed(reason) => {
                let reason = answers.excuse(reason);
                self.scribe.write(None, Body::FaultMissed { reason })?;
            }
        }
        if let Some(session) = self.session.take() {
            let mut stopped = session.kill(self.scribe, fault.delivery()).await?;
            // What was missed is missed, whether or not there was still a server to be killed.
            stopped.trouble = stopped.trouble.filter(|_| !is_missed);
            return Ok(quiet(stopped));
        }
        Ok(Ok(()))
    }
}

/// The last request once more: equal but for its id, or with the changed data in its place.
fn again(last: &Value, id: u64, changed: Option<&Call>) -> Value {
    let mut request = last.clone();
    request["id"] = id.into();
    if let Some(call) = changed {
        request["params"]["arguments"] = call.arguments.clone().into();
        if let Some(responses) = request
            .pointer_mut("/params/inputResponses")
            .and_then(Value::as_object_mut)
        {
            replace_answers(responses, &call.responses);
        }
    }
    request
}

fn replace_answers(responses: &mut Map<String, Value>, answers: &Map<String, Value>) {
    for (key, response) in responses {
        if let Some(answer) = answers.get(key) {
            *response = answer.clone();
        }
    }
}

/// The next round, where the reply asks for one: every question answered from the profile.
fn continuation(request: &Value, reply: &Value, call: &Call, id: u64) -> Option<Result<Value, String>> {
    let reply = Reply::to(reply, &request["id"])?;
    let ReplyKind::InputRequired(result) = reply.kind() else {
        return None;
    };
    let mut responses = Map::new();
    let questions = result.get("inputRequests").and_then(Value::as_object);
    for key in questions.into_iter().flat_map(Map::keys) {
        let Some(answer) = call.responses.get(key) else {
            return Some(Err(format!(
                "the server asks for `{key}`, and [write] responses has no answer to it"
            )));
        };
        responses.insert(key.clone(), answer.clone());
    }
    let state = result.get("requestState");
    Some(Ok(protocol::continue_call(request, id, &responses, state)))
}

fn quiet(stopped: Stopped) -> Result<(), String> {
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

fn describe(step: &Step) -> String {
    match step {
        Step::Start { process } => format!("start the server as `{process}`"),
        Step::Stop { process } => format!("stop `{process}`"),
        Step::Kill { process } => format!("kill `{process}`"),
        Step::Observe { label, when, .. } => match when {
            When::Now => format!("observe `{label}`"),
            When::Quiet => format!("freeze the store and observe `{label}`"),
        },
        Step::Write(write) => {
            let how = match (write.from, write.changed, write.fault.is_some()) {
                (_, _, true) => ", its reply withheld and the server killed",
                (_, true, _) => ", the last request again with changed data",
                (From::Repeat, ..) => ", the last request again",
                (From::Start, ..) => "",
            };
            format!("write {} as `{}`{how}", write.operation, write.name)
        }
        Step::Status { operation, name, .. } => format!("ask for the status of {operation} as `{name}`"),
    }
}
