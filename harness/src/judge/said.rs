//! What a server said or did where a write was not answered with a result, in one sentence for people: its refusal, its
//! error, how it ended and its last words, what it asked of us, or what came in the place of a reply.

use serde_json::Value;

use super::facts::Facts;
use super::steps::{Request, StepSlice, message};
use crate::case::Step;
use crate::plan::Plan;
use crate::protocol::{self, Reply, ReplyKind, SAID_CHARS_MAX, near_reply, not_json, said_in, shortened};
use crate::record::{Body, Direction, Record};

/// The member of a step's facts that holds it.
const SAID: &str = "said";

impl Facts {
    /// Adds to each write that was waited for, and that no fault struck, what was said in the place of a result.
    pub(super) fn add_what_was_said(&mut self, plan: &Plan, slices: &[StepSlice<'_>], record: &Record) {
        for slice in slices {
            let Step::Write(write) = slice.step else { continue };
            if write.fault.is_some() {
                continue;
            }
            let call = plan
                .operations
                .get(&write.operation)
                .and_then(|operation| operation.write.as_ref());
            let request = call.and_then(|call| slice.requests(&call.tool).pop());
            let said = request.and_then(|request| said(slice, request, &write.process, record));
            let facts = self.tree.get_mut(&write.name).and_then(Value::as_object_mut);
            if let (Some(said), Some(facts)) = (said, facts) {
                facts.insert(SAID.to_owned(), said.into());
            }
        }
    }

    /// What was said in the place of the result that a path asks for.
    pub(super) fn said(&self, path: &str) -> Option<&str> {
        let mut parts = path.split('.');
        let step = self.tree.get(parts.next()?)?;
        let asks_for_a_result = matches!(parts.next()?, "outcome" | "answered" | "result");
        step.get(SAID)?.as_str().filter(|_| asks_for_a_result)
    }
}

fn said(slice: &StepSlice<'_>, request: Request<'_>, process: &str, record: &Record) -> Option<String> {
    let refused = refused_requests(slice);
    let before = if refused.is_empty() {
        String::new()
    } else {
        format!("; before, it asked for {refused}, which was refused")
    };
    match slice.reply(request, false).map(Reply::kind) {
        Some(ReplyKind::Result(_)) => None,
        Some(ReplyKind::InputRequired(result)) => {
            let keys = result.get("inputRequests").and_then(Value::as_object);
            let keys: Vec<&str> = keys.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            Some(format!("the server asked for input: {}", keys.join(", ")))
        }
        Some(ReplyKind::ToolError(result)) => Some(format!("the server said: {}{before}", said_in(result))),
        Some(ReplyKind::Error(error)) => {
            let text = error["message"].as_str().map(|text| shortened(text, SAID_CHARS_MAX));
            let text = text.unwrap_or_else(|| shortened(&error.to_string(), SAID_CHARS_MAX));
            Some(format!(
                "the server answered with the error {}: {text}{before}",
                error["code"]
            ))
        }
        None => {
            let mut parts: Vec<String> = instead(slice, request).into_iter().collect();
            if !refused.is_empty() {
                parts.push(format!("it asked for {refused}, which was refused"));
            }
            if slice.ended_by_itself() {
                parts.push(ended(process, request.seq, record));
            }
            if parts.is_empty() {
                parts.extend(slice.ran_out());
            }
            (!parts.is_empty()).then(|| parts.join("; "))
        }
    }
}

/// What came behind a request that looks like a reply to it, or is no message at all.
fn instead(slice: &StepSlice<'_>, request: Request<'_>) -> Option<String> {
    let id = request.payload.get("id")?;
    let later = slice.events.iter().filter(|event| event.seq > request.seq);
    let frames = later
        .filter_map(message)
        .filter(|frame| frame.direction == Direction::ServerToClient);
    let told = frames.filter_map(|frame| match &frame.payload {
        Some(payload) => near_reply(payload, id),
        None if frame.length.is_some() || frame.unterminated => None,
        None => Some(not_json(&frame.text())),
    });
    // What looks like the reply is more to the point than a line that cannot be read.
    let told: Vec<String> = told.collect();
    let near = told.iter().find(|text| text.starts_with("it answered"));
    near.or(told.first()).cloned()
}

/// The methods of requests by the server that we answered with an error.
fn refused_requests(slice: &StepSlice<'_>) -> String {
    let payloads = || {
        slice
            .events
            .iter()
            .filter_map(|event| Some((event.seq, message(event)?)))
    };
    let asked = payloads().filter_map(|(seq, frame)| {
        let payload = frame.payload.as_ref()?;
        let is_asked = frame.direction == Direction::ServerToClient && protocol::is_request(payload);
        is_asked.then_some((seq, payload))
    });
    let was_refused = |seq: u64, id: &Value| {
        payloads().any(|(later, frame)| {
            let answer = frame
                .payload
                .as_ref()
                .filter(|_| frame.direction == Direction::ClientToServer);
            later > seq && answer.is_some_and(|answer| answer.get("error").is_some() && answer.get("id") == Some(id))
        })
    };
    let refused = asked.filter(|(seq, payload)| was_refused(*seq, &payload["id"]));
    let mut methods: Vec<String> = refused
        .map(|(_, payload)| format!("`{}`", payload["method"].as_str().unwrap_or_default()))
        .collect();
    methods.dedup();
    methods.join(", ")
}

/// How the process ended, and what it said last.
fn ended(process: &str, since: u64, record: &Record) -> String {
    let of_process = |event: &&crate::record::Event| event.seq > since && event.process.as_deref() == Some(process);
    let end = record.events.iter().filter(of_process).find_map(|event| {
        let Body::ProcessEnded {
            code,
            signal,
            last_words,
            ..
        } = &event.body
        else {
            return None;
        };
        let how = match (code, signal) {
            // Our own, for a server that had closed its standard output and lived on.
            (_, Some(9)) => "the server closed its standard output".to_owned(),
            (Some(code), _) => format!("the server exited with code {code}"),
            (None, Some(signal)) => format!("signal {signal} ended the server"),
            (None, None) => "the server ended".to_owned(),
        };
        let words = last_words
            .as_ref()
            .map_or(String::new(), |words| format!("; its last words: {words}"));
        Some(format!("{how}{words}"))
    });
    end.unwrap_or_else(|| "the server ended".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Catalogue;
    use crate::record::{Event, Message};
    use serde_json::json;

    fn said_after(frames: &[(Direction, Value)], last: Body) -> Option<String> {
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "x"}});
        let call = (Direction::ClientToServer, call);
        let messages = std::iter::once(&call).chain(frames);
        let bodies =
            messages.map(|(direction, frame)| Body::Message(Message::whole(*direction, frame.to_string().as_bytes())));
        let events: Vec<Event> = (1..)
            .zip(bodies.chain([last]))
            .map(|(seq, body)| Event {
                seq,
                at: 0,
                process: Some("first".to_owned()),
                body,
            })
            .collect();
        let case = Catalogue::embedded().get("sees-duplicates").expect("a case");
        let slice = StepSlice {
            step: &case.steps[0],
            events: &events,
        };
        let request = slice.requests("x").pop().expect("the call");
        let record = Record {
            events: events.clone(),
            observations: std::collections::BTreeMap::new(),
        };
        said(&slice, request, "first", &record)
    }

    #[test]
    fn a_refusal_tells_what_was_asked_before() {
        use Direction::{ClientToServer, ServerToClient};
        let frames = [
            (ServerToClient, json!({"id": "s", "method": "sampling/createMessage"})),
            (ClientToServer, json!({"id": "s", "error": {"code": -32601}})),
            (ServerToClient, json!({"id": "p", "method": "ping"})),
            (ClientToServer, json!({"id": "p", "result": {}})),
            (
                ServerToClient,
                json!({"id": 1, "error": {"code": -32603, "message": "no model"}}),
            ),
        ];
        let told = said_after(&frames, Body::StreamEnded).expect("something");
        assert_eq!(
            told,
            "the server answered with the error -32603: no model; before, it asked for `sampling/createMessage`, which was \
             refused"
        );
        let told = said_after(&frames[..2], Body::StreamEnded).expect("something");
        assert!(
            told.contains("it asked for `sampling/createMessage`") && told.contains("the server ended"),
            "{told}"
        );
    }

    #[test]
    fn a_result_says_nothing_and_a_silence_names_the_bound() {
        let result = [(Direction::ServerToClient, json!({"id": 1, "result": {}}))];
        assert_eq!(said_after(&result, Body::LockHeld), None);
        let bound = Body::TimedOut {
            what: "the reply to tools/call".to_owned(),
            bound_ms: 7,
        };
        assert!(said_after(&[], bound).expect("a bound").contains("within 7 ms"));
    }
}
