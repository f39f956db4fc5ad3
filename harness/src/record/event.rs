//! The one event type: the only road from the driver to the recorder, the reporter and the judge.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::FRAME_VALUES_MAX;
use crate::digest;
use crate::plan::Plan;
use crate::values::values_in;

/// The version of the record format that this harness writes.
pub const RECORD_FORMAT: u32 = 1;

/// A frame longer than this (bytes) is recorded as head, length and SHA-256.
pub const RECORDED_FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How much of such a frame is kept (bytes).
pub(super) const RECORDED_HEAD_BYTES: usize = 4 * 1024;

/// One line of `record.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// Position in the record, from 1 on, without gaps: the order in which the harness took things up, and acted on them.
    pub seq: u64,
    /// Microseconds since the case began. Of what came out of a server (its frames, the end of its output, why that failed), the
    /// moment at which it was read, whenever it was taken up; of everything else, the moment at which it was written down, which
    /// for a signal is once it has done its work. So what was read during a kill stands behind the kill and has an earlier time.
    /// Times of one process's output never go backwards, nor do those of everything else, and nothing was taken up before it was
    /// read.
    pub at: u64,
    /// The process it belongs to, by the name that the case gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Body {
    /// The first event: everything the case will do.
    CasePlanned {
        /// [`RECORD_FORMAT`] of the file.
        format: u32,
        /// The plan.
        plan: Box<Plan>,
    },
    /// A step begins; every event up to the next one of this kind belongs to it.
    StepStarted {
        /// Index into the plan's steps, from 0 on.
        step: usize,
        /// In words.
        does: String,
    },
    /// A server process was launched.
    ProcessStarted {
        /// Its process id.
        pid: u32,
        /// Program and arguments.
        command: Vec<String>,
        /// Its working directory.
        cwd: String,
        /// The names of the variables it got (values may be secret).
        environment: Vec<String>,
    },
    /// One frame, in either direction.
    Message(Message),
    /// The server's standard output ended.
    StreamEnded,
    /// A frame could not be sent: the peer was gone or did not read. Data about the target, not an error of ours.
    SendFailed {
        /// What was met.
        reason: String,
    },
    /// Processes were signalled.
    Signalled {
        /// The signal's name.
        signal: String,
        /// How many processes got it.
        processes: usize,
    },
    /// The command that kills a server which is no process of ours (`[launch] kill`) was run.
    KillCommandRun {
        /// Program and arguments.
        command: Vec<String>,
        /// Its exit code, where it exited.
        code: Option<i32>,
        /// Why it is not believed to have killed the server, in words; absent where it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<String>,
    },
    /// The server's clock was moved, or its rows were aged.
    ClockAdvanced {
        /// By so many seconds.
        seconds: u64,
    },
    /// A child of ours holds the store's write lock.
    LockHeld,
    /// The lock is given back.
    LockReleased {
        /// Whether every server had taken in what was sent to it, and was at rest: it waited, and worked on nothing any more.
        drained: bool,
        /// How many requests were in flight.
        in_flight: usize,
        /// How many of them had been answered by then.
        answered: usize,
    },
    /// The operator's command was run.
    OperatorRan {
        /// Program and arguments.
        command: Vec<String>,
        /// Its exit code, where it exited.
        code: Option<i32>,
        /// How it failed, in words; absent where it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<String>,
    },
    /// A server process ended, and nobody of its tree was left, or so many.
    ProcessEnded {
        /// Its exit code, where it exited.
        code: Option<i32>,
        /// The signal that ended it, where one did.
        signal: Option<i32>,
        /// Processes of its tree that could not be ended.
        survivors: usize,
        /// The last line of its standard error, where it ended otherwise than in order and by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_words: Option<String>,
    },
    /// Read-back of the living store saw the effect for which a fault was waiting.
    EffectVisible {
        /// How many effects it counted.
        effects: usize,
        /// How many before the request was sent.
        effects_before: usize,
        /// How often it looked.
        polls: u64,
    },
    /// The whole reply stands for the effect for which a fault was waiting: nobody could read the living store.
    ReplyMarkedMoment {
        /// Why the store could not be read.
        why: String,
        /// How often it was tried.
        polls: u64,
    },
    /// The fault did not meet its moment.
    FaultMissed {
        /// Why.
        reason: String,
    },
    /// A bounded wait ran out.
    TimedOut {
        /// What was waited for.
        what: String,
        /// The bound, in milliseconds.
        bound_ms: u64,
    },
    /// The store was read back.
    Observed {
        /// The name of the observation.
        label: String,
        /// SHA-256 of `observations/<label>.json`.
        sha256: String,
    },
    /// The last event of a case that was not cut off.
    CaseEnded {
        /// How it ended.
        outcome: Outcome,
    },
}

/// What [`Body::TimedOut`] names when a server did not exit after the end of its standard input.
pub const AWAITED_EXIT: &str = "the exit of the server after the end of its standard input";

/// What [`Body::TimedOut`] names when processes that a server left running did not end.
pub const AWAITED_HELPERS: &str = "the end of what the server left running";

/// The same of what is no server, and is told to end by a signal.
pub const AWAITED_EXIT_AFTER_TERM: &str = "its exit after SIGTERM";

/// The same of what it left running.
pub const AWAITED_HELPERS_AFTER_TERM: &str = "the end of what it left running";

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Outcome {
    /// Every step was done.
    Finished,
    /// Nothing was done: the target lacks what the case needs.
    Unsupported,
    /// A step could not be done, and the rest was not tried.
    Stopped {
        /// Which step, and why.
        reason: String,
    },
    /// The user interrupted the run.
    Interrupted,
}

/// A JSON-RPC frame. The field names are those of existing MCP trace tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Message {
    /// Who sent it.
    pub direction: Direction,
    /// How it travelled.
    pub transport: Transport,
    /// The frame, where it is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The exact bytes (base64), where they are not the compact form of `payload`; only the head of an oversize frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The whole length in bytes of an oversize frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of an oversize frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The stream ended inside this frame.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unterminated: bool,
    /// It arrived, and the fault kept it from the client side.
    #[serde(default, skip_serializing_if = "is_false")]
    pub withheld: bool,
}

/// Who sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The harness sent it.
    ClientToServer,
    /// The server sent it.
    ServerToClient,
}

/// How a frame travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A line on standard input or output.
    Stdio,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Message {
    /// A frame of which every byte is known.
    pub fn whole(direction: Direction, bytes: &[u8]) -> Self {
        let mut message = Self::empty(direction);
        if bytes.len() > RECORDED_FRAME_BYTES_MAX {
            let head = &bytes[..RECORDED_HEAD_BYTES];
            return Self::oversize(direction, head, bytes.len() as u64, digest::sha256_hex(bytes));
        }
        if values_in(bytes) <= FRAME_VALUES_MAX {
            message.payload = serde_json::from_slice(bytes).ok();
        }
        let compact = message
            .payload
            .as_ref()
            .and_then(|payload| serde_json::to_vec(payload).ok());
        if compact.as_deref() != Some(bytes) {
            message.bytes = Some(BASE64.encode(bytes));
        }
        message
    }

    /// A frame of which only the head was kept.
    pub fn oversize(direction: Direction, head: &[u8], length: u64, sha256: String) -> Self {
        let head = &head[..head.len().min(RECORDED_HEAD_BYTES)];
        Self {
            bytes: Some(BASE64.encode(head)),
            length: Some(length),
            sha256: Some(sha256),
            ..Self::empty(direction)
        }
    }

    fn empty(direction: Direction) -> Self {
        Self {
            direction,
            transport: Transport::Stdio,
            payload: None,
            bytes: None,
            length: None,
            sha256: None,
            unterminated: false,
            withheld: false,
        }
    }

    /// The frame as text, as far as it was kept.
    pub fn text(&self) -> String {
        let bytes = self.bytes.as_ref().and_then(|text| BASE64.decode(text).ok());
        let kept = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        kept.or_else(|| self.payload.as_ref().map(Value::to_string))
            .unwrap_or_default()
    }

    /// How many bytes the frame has on the wire, without its line end.
    pub fn length_bytes(&self) -> u64 {
        if let Some(length) = self.length {
            return length;
        }
        let bytes = self.bytes.as_ref().and_then(|text| BASE64.decode(text).ok());
        let compact = || serde_json::to_vec(self.payload.as_ref()?).ok();
        bytes.or_else(compact).map_or(0, |bytes| bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(body: Body) -> Event {
        Event {
            seq: 1,
            at: 2,
            process: Some("first".to_owned()),
            body,
        }
    }

    fn round_trip(event: &Event) -> Event {
        let line = serde_json::to_string(event).expect("an event is JSON");
        serde_json::from_str(&line).expect("a written event can be read")
    }

    #[test]
    fn a_compact_frame_is_kept_as_payload_alone() {
        let bytes = br#"{"jsonrpc":"2.0","id":1,"result":{"b":1,"a":2}}"#;
        let message = Message::whole(Direction::ServerToClient, bytes);
        assert_eq!(message.bytes, None);
        let written = serde_json::to_string(&event(Body::Message(message))).expect("JSON");
        assert!(
            written.contains(r#""kind":"message","direction":"server-to-client","transport":"stdio""#),
            "{written}"
        );
        assert!(
            written.contains(r#""payload":{"jsonrpc":"2.0","id":1,"result":{"b":1,"a":2}}"#),
            "{written}"
        );
    }

    #[test]
    fn white_space_double_keys_and_odd_numbers_keep_their_bytes() {
        for text in [r#"{"id": 1}"#, r#"{"a":1,"a":2}"#, r#"{"n":1e2}"#, "not json", ""] {
            let message = Message::whole(Direction::ServerToClient, text.as_bytes());
            assert_eq!(message.bytes, Some(BASE64.encode(text)), "{text}");
            assert_eq!(message.length_bytes(), text.len() as u64);
        }
    }

    #[test]
    fn an_oversize_frame_keeps_head_length_and_digest() {
        let bytes = vec![b'x'; RECORDED_FRAME_BYTES_MAX + 1];
        let message = Message::whole(Direction::ServerToClient, &bytes);
        assert_eq!(message.length_bytes(), bytes.len() as u64);
        assert_eq!(message.sha256, Some(digest::sha256_hex(&bytes)));
        assert!(message.bytes.expect("a head").len() < 2 * RECORDED_HEAD_BYTES);
    }

    proptest! {
        #[test]
        fn any_bytes_survive_the_record(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let written = event(Body::Message(Message::whole(Direction::ClientToServer, &bytes)));
            let read = round_trip(&written);
            prop_assert_eq!(&read, &written);
            let Body::Message(message) = read.body else { return Err(TestCaseError::fail("a message")) };
            let kept = match (&message.bytes, &message.payload) {
                (Some(text), _) => BASE64.decode(text).expect("base64"),
                (None, Some(payload)) => serde_json::to_vec(payload).expect("JSON"),
                (None, None) => Vec::new(),
            };
            prop_assert_eq!(kept, bytes);
        }
    }
}
