//! Events as what is compared of them: no times, no process ids, no counts of looks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::words::Names;
use crate::protocol::{Reply, ReplyKind};
use crate::record::{Body, Direction, Message, Observation, OperationSeen, Outcome, Reading, ReadingOutcome};

/// How much of a name that a server chose is kept, in characters.
const NAME_CHARS_MAX: usize = 60;

/// Readings that say in which order several processes worked, which is another in every run.
const OF_THE_ORDER: [&str; 3] = ["events", "leases", "retries"];

/// What a frame is to the conversation that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// It asks; under this id a reply is awaited.
    Request(String),
    /// It answers what was asked under this id.
    Reply(String),
    /// Neither.
    Alone,
}

/// One frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) part: Part,
    /// In words, with its direction.
    pub(super) what: String,
    pub(super) value: Value,
}

/// What is compared of a frame. Its id only names it, and is left out.
pub(super) fn frame(message: &Message, names: &Names) -> Frame {
    let arrow = match message.direction {
        Direction::ClientToServer => "→",
        Direction::ServerToClient => "←",
    };
    let Some(payload) = &message.payload else {
        let value = match message.length {
            Some(length) => json!({ "length": length }),
            None => Value::from(names.put_back(&text_of(message))),
        };
        return Frame {
            part: Part::Alone,
            what: format!("{arrow} a line that is no JSON"),
            value,
        };
    };
    let (part, what) = part_of(payload);
    let mut value = put_back(payload, names);
    if let Value::Object(members) = &mut value {
        members.remove("id");
        members.remove("jsonrpc");
    }
    Frame {
        part,
        what: format!("{arrow} {what}"),
        value,
    }
}

fn text_of(message: &Message) -> String {
    let bytes = message.bytes.as_ref().and_then(|text| BASE64.decode(text).ok());
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

fn part_of(payload: &Value) -> (Part, String) {
    let id = payload.get("id").filter(|id| !id.is_null());
    let method = payload.get("method").and_then(Value::as_str);
    match (id, method) {
        (Some(id), Some(method)) => (Part::Request(id.to_string()), call(method, payload)),
        (None, Some(method)) => (Part::Alone, format!("notification {}", cut(method))),
        (Some(id), None) => match Reply::to(payload, id) {
            Some(reply) => (Part::Reply(id.to_string()), reply_in_words(reply.kind())),
            None => (Part::Alone, "JSON that is neither request nor answer".to_owned()),
        },
        (None, None) => (Part::Alone, "JSON that is neither request nor answer".to_owned()),
    }
}

fn call(method: &str, payload: &Value) -> String {
    let tool = payload.pointer("/params/name").and_then(Value::as_str);
    match tool.filter(|_| method == "tools/call") {
        Some(tool) => format!("{} {}", cut(method), cut(tool)),
        None => cut(method),
    }
}

fn reply_in_words(kind: ReplyKind<'_>) -> String {
    match kind {
        ReplyKind::Result(_) => "a result".to_owned(),
        ReplyKind::ToolError(_) => "a tool error".to_owned(),
        ReplyKind::InputRequired(_) => "it asks for input".to_owned(),
        ReplyKind::Error(error) => format!("error {}", cut(&error["code"].to_string())),
    }
}

pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(NAME_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// What is marked at a frame, beside what it says.
pub(super) fn marks(message: &Message) -> Vec<&'static str> {
    let marks = [
        (message.withheld, "withheld from the client"),
        (message.unterminated, "cut off by the end of the stream"),
        (message.length.is_some(), "too long to be kept"),
    ];
    marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect()
}

/// A value in which the names of the plan are put back, in texts and in names of members.
pub(super) fn put_back(value: &Value, names: &Names) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::from(names.put_back(text)),
        Value::Array(items) => Value::from(items.iter().map(|item| put_back(item, names)).collect::<Vec<_>>()),
        Value::Object(members) => {
            let members = members.iter();
            let put = |(key, value): (&String, &Value)| (names.put_back(key), put_back(value, names));
            Value::from(members.map(put).collect::<Map<_, _>>())
        }
    }
}

/// An event that is no frame, no heading and no observation, as a short name and what is compared of it; nothing where it is
/// told otherwise.
pub(super) fn happened(body: &Body) -> Option<(&'static str, Value)> {
    Some(match body {
        // What was launched is told of the whole run.
        Body::ProcessStarted { .. } => ("it was started", Value::Null),
        Body::StreamEnded => ("its standard output ended", Value::Null),
        Body::SendFailed { .. } => ("a frame could not be sent", Value::Null),
        Body::Signalled { signal, .. } => ("signal", json!({ "signal": signal })),
        Body::KillCommandRun { code, trouble, .. } => {
            ("the kill command was run", json!({ "code": code, "trouble": trouble }))
        }
        Body::ClockAdvanced { seconds } => ("the clock was moved", json!({ "seconds": seconds })),
        Body::LockHeld => ("the store's write lock was taken", Value::Null),
        Body::LockReleased { drained, .. } => ("the lock was given back", json!({ "drained": drained })),
        Body::OperatorRan { code, trouble, .. } => {
            ("the operator's command", json!({ "code": code, "trouble": trouble }))
        }
        Body::ProcessEnded {
            code,
            signal,
            survivors,
            ..
        } => (
            "it ended",
            json!({ "code": code, "signal": signal, "survivors": survivors }),
        ),
        Body::EffectVisible {
            effects,
            effects_before,
            ..
        } => (
            "the effect became visible in the store",
            json!({ "effects": effects, "effects_before": effects_before }),
        ),
        Body::ReplyMarkedMoment { .. } => ("the whole reply marked the moment", Value::Null),
        Body::FaultMissed { reason } => ("the fault missed its moment", json!({ "reason": reason })),
        Body::TimedOut { what, .. } => ("a wait ran out", json!({ "what": what })),
        Body::CaseEnded { outcome } => ("the case ended", outcome_of(outcome)),
        Body::CasePlanned { .. } | Body::StepStarted { .. } | Body::Message(_) | Body::Observed { .. } => return None,
    })
}

fn outcome_of(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Finished => json!({ "how": "finished" }),
        Outcome::Unsupported => json!({ "how": "unsupported" }),
        Outcome::Stopped { reason } => json!({ "how": "stopped", "reason": reason }),
        Outcome::Interrupted => json!({ "how": "interrupted" }),
    }
}

/// What is compared of an observation: counts and rows, by operation. Files and their digests are another run's.
pub(super) fn observed(observation: &Observation, names: &Names) -> Value {
    let operations = observation.operations.iter();
    let seen = |(name, seen): (&String, &OperationSeen)| (name.clone(), seen_of(seen, names));
    let mut value = Value::from(operations.map(seen).collect::<Map<_, _>>());
    if let (Some(problem), Value::Object(members)) = (observation.read.problem(), &mut value) {
        members.insert("problem".to_owned(), Value::from(problem));
    }
    value
}

fn seen_of(seen: &OperationSeen, names: &Names) -> Value {
    let mut readings = Map::new();
    readings.insert("effects".to_owned(), reading(&seen.effects, names));
    if let Some(ledger) = &seen.ledger {
        readings.insert("ledger".to_owned(), reading(ledger, names));
    }
    for (name, more) in seen
        .more
        .iter()
        .filter(|(name, _)| !OF_THE_ORDER.contains(&name.as_str()))
    {
        readings.insert(name.clone(), reading(more, names));
    }
    if let Some(doctored) = &seen.doctored {
        readings.insert("doubled".to_owned(), Value::from(doctored.count));
    }
    Value::from(readings)
}

fn reading(reading: &Reading, names: &Names) -> Value {
    match &reading.outcome {
        ReadingOutcome::Rows(rows) => {
            let row = |row: &Vec<Value>| {
                let cells = rows.columns.iter().zip(row);
                Value::from(
                    cells
                        .map(|(column, cell)| (column.clone(), put_back(cell, names)))
                        .collect::<Map<_, _>>(),
                )
            };
            let count = rows.rows.len();
            json!({ "count": count, "rows": rows.rows.iter().map(row).collect::<Vec<_>>() })
        }
        ReadingOutcome::Nothing { .. } => json!({ "count": 0, "rows": [] }),
        ReadingOutcome::Unreadable { .. } => json!({ "unreadable": true }),
    }
}
