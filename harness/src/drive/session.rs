//! One server process and the conversation with it: launch, handshake, requests; its end is in [`ending`].

mod ending;

mod in_flight;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::DriveError;
use super::clock::Deadline;
use super::outside::{Outside, SideCommand};
use super::process::{Launch, LaunchSpec, Launched, Pid};
use super::scribe::Scribe;
use super::transport::{EndReason, Incoming, SendError, StdioLimits};
use crate::case::Role;
use crate::fault::Delivery;
use crate::protocol::{self, Era, Offer, Protocol, Reply};
use crate::record::{Body, Direction, Message};

pub(super) use ending::{Ending, Stopped};

/// Most frames that are kept for somebody who may ask for them later.
const UNCLAIMED_MAX: usize = 64;

/// How much of a line is looked at that is no message (bytes).
const LINE_BYTES_MAX: usize = 1024;

/// A server process that was launched for a case.
#[derive(Debug)]
pub(super) struct Session {
    /// The name that the case gives it.
    pub process: String,
    role: Role,
    era: Era,
    /// Which revision is wanted.
    wanted: Protocol,
    offer: Offer,
    launched: Launched,
    /// The server, where what was launched does not own it.
    outside: Option<Outside>,
    stream_ended: bool,
    /// The id of a probe whose answer did not come in time, and that answer if it came later.
    probe_id: Option<Value>,
    late_probe: Option<Value>,
    /// Frames that came while something else was waited for.
    unclaimed: Vec<Value>,
    sent_bytes: u64,
    /// Whether it was told to stand still, and not yet to go on.
    is_paused: bool,
    /// Where its standard error goes.
    stderr_file: PathBuf,
    /// What came that is no reply, in words, and whether it may have been meant as one; the first of its kind.
    instead: Option<(String, bool)>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// Its reply.
    Reply(Value),
    /// None within the bound.
    TimedOut,
    /// None, and none will come: the peer is gone.
    Gone,
}

/// What came first while a reply was waited for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Heard {
    /// The reply, or that there is none.
    Ended(Answer),
    /// A request of the server (legacy era).
    Request(Value),
}

impl Session {
    /// Launches a server; the handshake is another step.
    pub(super) fn launch(
        scribe: &mut Scribe,
        process: &str,
        spec: &LaunchSpec,
        kill: Option<SideCommand>,
        era: Era,
    ) -> Result<Self, DriveError> {
        let launched = Launch::Plain.start(spec, StdioLimits::default(), scribe.clock().stamp_fn())?;
        let outside = kill.map(Outside::new);
        let mut command = vec![spec.program.to_string_lossy().into_owned()];
        command.extend(spec.args.iter().map(|argument| argument.to_string_lossy().into_owned()));
        let body = Body::ProcessStarted {
            pid: launched.process.pid().unsigned_abs(),
            command,
            cwd: spec.cwd.display().to_string(),
            environment: spec
                .env
                .keys()
                .map(|name| name.to_string_lossy().into_owned())
                .collect(),
        };
        scribe.write(Some(process), body)?;
        Ok(Self {
            process: process.to_owned(),
            role: Role::Server,
            era,
            wanted: Protocol::Auto,
            offer: Offer::Nothing,
            launched,
            outside,
            stream_ended: false,
            probe_id: None,
            late_probe: None,
            unclaimed: Vec::new(),
            sent_bytes: 0,
            is_paused: false,
            stderr_file: spec.stderr_file.clone(),
            instead: None,
        })
    }

    /// Whether the server's standard output has ended.
    pub(super) fn stream_ended(&self) -> bool {
        self.stream_ended
    }

    /// Changes the era, once a probe has told it.
    pub(super) fn speak(&mut self, era: Era) {
        self.era = era;
    }

    /// The era that is spoken.
    pub(super) fn era(&self) -> Era {
        self.era
    }

    /// Says in the handshake of the legacy era which revision is wanted, and what can be answered.
    pub(super) fn asking_for(mut self, wanted: Protocol, offer: Offer) -> Self {
        self.wanted = wanted;
        self.offer = offer;
        self
    }

    /// Says what kind of process it is, where it is no server.
    pub(super) fn playing(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// What was offered.
    pub(super) fn offer(&self) -> Offer {
        self.offer
    }

    /// What came that is no reply, in words behind a semicolon, and whether it may have been meant as one.
    pub(super) fn instead(&self) -> (String, bool) {
        let told = self.instead.as_ref();
        told.map_or_else(Default::default, |(text, is_meant)| (format!("; {text}"), *is_meant))
    }

    /// The answer to a probe that had been given up.
    pub(super) fn late_probe(&self) -> Option<&Value> {
        self.late_probe.as_ref()
    }

    /// The handshake of the era: after it, the server is known to listen.
    pub(super) async fn shake_hands(&mut self, scribe: &mut Scribe, bound_ms: u64) -> Result<Answer, DriveError> {
        let id = scribe.new_id();
        let request = match self.era {
            Era::Modern => protocol::discover(id),
            Era::Legacy => protocol::initialize(id, self.wanted.spoken_in(Era::Legacy), self.offer),
        };
        let answer = self.ask(scribe, &request, bound_ms).await?;
        if self.era == Era::Modern && answer == Answer::TimedOut {
            self.probe_id = Some(request["id"].clone());
        }
        // Nothing more is said to a server that is not taken at its answer: that is how a client turns it down.
        let is_taken = |reply| protocol::read_initialize(reply, self.wanted).is_ok();
        if self.era == Era::Legacy && matches!(&answer, Answer::Reply(reply) if is_taken(reply)) {
            self.send(scribe, &protocol::initialized(), bound_ms).await?;
        }
        Ok(answer)
    }

    /// Sends a request and waits for its reply.
    pub(super) async fn ask(
        &mut self,
        scribe: &mut Scribe,
        request: &Value,
        bound_ms: u64,
    ) -> Result<Answer, DriveError> {
        let deadline = Deadline::after(Duration::from_millis(bound_ms));
        if !self.send(scribe, request, bound_ms).await? {
            return Ok(Answer::Gone);
        }
        loop {
            match self.listen(scribe, request, bound_ms, deadline).await? {
                Heard::Ended(answer) => return Ok(answer),
                Heard::Request(frame) => {
                    if let Some(answer) = protocol::answer_server_request(&frame, self.offer) {
                        self.send(scribe, &answer, bound_ms).await?;
                    }
                }
            }
        }
    }

    /// Waits for the reply to a request that was sent, or for a request of the server, whichever comes first.
    pub(super) async fn listen(
        &mut self,
        scribe: &mut Scribe,
        request: &Value,
        bound_ms: u64,
        deadline: Deadline,
    ) -> Result<Heard, DriveError> {
        let claimed = |frame: &Value| Reply::to(frame, &request["id"]).is_some();
        if let Some(at) = self.unclaimed.iter().position(claimed) {
            return Ok(Heard::Ended(Answer::Reply(self.unclaimed.swap_remove(at))));
        }
        if let Some(at) = self.unclaimed.iter().position(protocol::is_request) {
            return Ok(Heard::Request(self.unclaimed.swap_remove(at)));
        }
        loop {
            let frame = match self.receive(scribe, deadline.remaining(), Delivery::Deliver).await? {
                Received::Frame(frame) => frame,
                Received::Nothing if self.stream_ended => return Ok(Heard::Ended(Answer::Gone)),
                Received::Nothing => {
                    let body = Body::TimedOut {
                        what: format!("the reply to {}", request["method"].as_str().unwrap_or("a request")),
                        bound_ms,
                    };
                    scribe.write(Some(&self.process), body)?;
                    return Ok(Heard::Ended(Answer::TimedOut));
                }
            };
            if Reply::to(&frame, &request["id"]).is_some() {
                return Ok(Heard::Ended(Answer::Reply(frame)));
            }
            if let Some(near) = protocol::near_reply(&frame, &request["id"]) {
                self.instead.get_or_insert((near, true));
            }
            if self.probe_id.as_ref().is_some_and(|id| Reply::to(&frame, id).is_some()) {
                self.late_probe = Some(frame);
            } else if self.era == Era::Legacy && protocol::is_request(&frame) {
                return Ok(Heard::Request(frame));
            } else {
                self.put_aside(frame);
            }
        }
    }

    /// Keeps a frame that nobody waits for yet: the reply to a request that was sent before.
    fn put_aside(&mut self, frame: Value) {
        if self.unclaimed.len() < UNCLAIMED_MAX {
            self.unclaimed.push(frame);
        }
    }

    /// Sends one frame; `false` when the peer was gone or did not read, which is data and no error of ours.
    pub(super) async fn send(&mut self, scribe: &mut Scribe, frame: &Value, bound_ms: u64) -> Result<bool, DriveError> {
        protocol::check_outgoing(self.era, frame).map_err(DriveError::OwnFrame)?;
        let line = frame.to_string();
        let message = Message::whole(Direction::ClientToServer, line.as_bytes());
        scribe.write(Some(&self.process), Body::Message(message))?;
        let sent = self
            .launched
            .transport
            .send(line.as_bytes(), Duration::from_millis(bound_ms))
            .await;
        match sent {
            Ok(()) => {
                self.sent_bytes += line.len() as u64 + 1;
                Ok(true)
            }
            Err(
                error @ (SendError::PeerGone { .. }
                | SendError::TimedOut { .. }
                | SendError::Closed
                | SendError::Failed { .. }),
            ) => {
                let reason = error.to_string();
                scribe.write(Some(&self.process), Body::SendFailed { reason })?;
                Ok(false)
            }
        }
    }

    /// The next JSON frame within a bound; frames that are not JSON are recorded and passed over.
    pub(super) async fn receive(
        &mut self,
        scribe: &mut Scribe,
        bound: Duration,
        delivery: Delivery,
    ) -> Result<Received, DriveError> {
        self.receive_if(scribe, bound, |_| delivery == Delivery::Withhold).await
    }

    /// The same, but a request of the server (legacy era) reaches the client side whatever the delivery: a server that
    /// waits for its answer would never come to the effect.
    pub(super) async fn receive_or_be_asked(
        &mut self,
        scribe: &mut Scribe,
        bound: Duration,
        delivery: Delivery,
    ) -> Result<Received, DriveError> {
        let is_legacy = self.era == Era::Legacy;
        let withheld = |frame: Option<&Value>| {
            delivery == Delivery::Withhold && !(is_legacy && frame.is_some_and(protocol::is_request))
        };
        self.receive_if(scribe, bound, withheld).await
    }

    async fn receive_if(
        &mut self,
        scribe: &mut Scribe,
        bound: Duration,
        withheld: impl Fn(Option<&Value>) -> bool,
    ) -> Result<Received, DriveError> {
        let deadline = Deadline::after(bound);
        while !self.stream_ended {
            match self.launched.transport.receive(deadline.remaining()).await {
                None => break,
                Some(Incoming::Frame { at, frame }) => {
                    let line =
                        String::from_utf8_lossy(&frame.bytes[..frame.bytes.len().min(LINE_BYTES_MAX)]).into_owned();
                    let payload = scribe.write_incoming(at, &self.process, self.role, frame, &withheld)?;
                    if let Some(payload) = payload {
                        return Ok(Received::Frame(payload));
                    }
                    self.instead
                        .get_or_insert_with(|| (protocol::not_json(&line), protocol::may_be_meant(&line)));
                }
                Some(Incoming::End { at, reason }) => {
                    self.stream_ended = true;
                    scribe.write_at(at, Some(&self.process), Body::StreamEnded)?;
                    if let EndReason::Failed(reason) = reason {
                        scribe.write_at(at, Some(&self.process), Body::SendFailed { reason })?;
                    }
                }
            }
        }
        Ok(Received::Nothing)
    }

    /// Stops every process of the tree for a while; returns them, where all of them stand still and the server is among
    /// them.
    pub(super) async fn pause(&mut self, scribe: &mut Scribe) -> Result<Option<Vec<Pid>>, DriveError> {
        if self.outside.is_some() {
            return Ok(None);
        }
        self.is_paused = true;
        let paused = self.launched.process.pause().await;
        self.signalled(scribe, "SIGSTOP", paused.signalled.len())?;
        Ok((paused.running == 0).then_some(paused.signalled))
    }

    /// Whether it was paused and stands still since.
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Lets it go on.
    pub(super) fn resume(&mut self, scribe: &mut Scribe) -> Result<(), DriveError> {
        self.is_paused = false;
        let resumed = if self.outside.is_some() {
            0
        } else {
            self.launched.process.resume()
        };
        self.signalled(scribe, "SIGCONT", resumed)
    }

    fn signalled(&self, scribe: &mut Scribe, signal: &str, processes: usize) -> Result<(), DriveError> {
        if processes == 0 {
            return Ok(());
        }
        let signal = signal.to_owned();
        Ok(scribe.write(Some(&self.process), Body::Signalled { signal, processes })?)
    }
}

/// What came in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Received {
    /// A JSON frame.
    Frame(Value),
    /// Nothing within the bound, or nothing will come any more.
    Nothing,
}
