//! One frame in a few words: what it is, the part of it that says most, and how much of it that leaves out. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use crate::protocol::{Question, Reply, ReplyKind};
use crate::record::{Direction, Message};

/// How much of a name that a server chose is shown, in characters.
const NAME_CHARS_MAX: usize = 48;

/// A text that is longer by no more than this (characters) is shown whole: saying what is left out would be as long.
const SLACK_CHARS: usize = 10;

/// The key of what every modern request carries. It says nothing about the one request, so no line shows it.
const META: &str = "_meta";

/// A frame in a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gist {
    /// Its id and what it is.
    pub(super) what: String,
    /// The part that says most.
    pub(super) part: String,
    /// How many bytes of what it says are not in that part.
    pub(super) rest_bytes: u64,
}

/// Says what a frame is.
pub(super) fn gist(message: &Message) -> Gist {
    if let (Some(length), sha256) = (message.length, message.sha256.as_deref().unwrap_or("?")) {
        let (head, kept) = text_of(message);
        return Gist {
            what: format!("too long to be kept: {length} bytes, SHA-256 {sha256}; it begins"),
            part: head,
            rest_bytes: length.saturating_sub(kept),
        };
    }
    // A frame `null` is recorded as such, and reads as a payload that is not there.
    let payload = message
        .payload
        .as_ref()
        .or(message.bytes.is_none().then_some(&Value::Null));
    let Some(payload) = payload else {
        let (text, length) = text_of(message);
        let what = if length == 0 { "an empty line" } else { "NOT JSON" };
        return Gist {
            what: what.to_owned(),
            part: text,
            rest_bytes: 0,
        };
    };
    payload.as_object().map_or_else(
        || other("JSON that is no frame:", payload),
        |frame| of_object(payload, frame, message.direction),
    )
}

/// The bytes of a frame that are known beside its payload, as text; and how many they are.
pub(super) fn text_of(message: &Message) -> (String, u64) {
    match message.bytes.as_deref().map(|text| BASE64.decode(text)) {
        Some(Ok(bytes)) => (String::from_utf8_lossy(&bytes).into_owned(), bytes.len() as u64),
        Some(Err(_)) => ("(its bytes are not base64)".to_owned(), 0),
        None => (String::new(), 0),
    }
}

/// The arrow of a direction.
pub(super) fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::ClientToServer => "→",
        Direction::ServerToClient => "←",
    }
}

fn of_object(payload: &Value, frame: &Map<String, Value>, direction: Direction) -> Gist {
    let id = frame.get("id");
    if let Some(question) = Question::of(payload) {
        return asks(&named(id), question, frame.get("params"));
    }
    if let Some(method) = frame.get("method").and_then(Value::as_str) {
        return call(id, method, frame.get("params"));
    }
    match id.and_then(|id| Reply::to(payload, id)) {
        Some(reply) if direction == Direction::ClientToServer => answers(&named(id), reply.kind()),
        Some(reply) => answer(&named(id), reply.kind()),
        None => other("JSON that is neither request nor answer:", payload),
    }
}

fn call(id: Option<&Value>, method: &str, params: Option<&Value>) -> Gist {
    let is_call = method == "tools/call";
    let tool = params.filter(|_| is_call).and_then(|params| params["name"].as_str());
    let mut what = match id {
        Some(_) => format!("{} {}", named(id), name(method)),
        None => format!("notification {}", name(method)),
    };
    if let Some(tool) = tool {
        what = format!("{what} {}", name(tool));
    }
    let Some(params) = params else {
        return Gist {
            what,
            part: String::new(),
            rest_bytes: 0,
        };
    };
    if let Some(answers) = params.get("inputResponses").and_then(Value::as_object) {
        what = format!("{what}, with answers to {}", names(answers));
    }
    let (part, said): (Option<&Value>, &[&str]) = match tool {
        Some(_) => (params.get("arguments"), &["name", META]),
        None => (None, &[META]),
    };
    let whole = without(params, said);
    let part = part.unwrap_or(&whole);
    let part_text = if is_empty(part) {
        String::new()
    } else {
        part.to_string()
    };
    let rest = without(&whole, &["arguments"]);
    let rest_bytes = if tool.is_none() || is_empty(&rest) {
        0
    } else {
        rest.to_string().len() as u64
    };
    Gist {
        what,
        part: part_text,
        rest_bytes,
    }
}

fn answer(id: &str, kind: ReplyKind<'_>) -> Gist {
    match kind {
        ReplyKind::Result(result) => with_part(format!("{id} result"), result, &["structuredContent", "content"]),
        ReplyKind::ToolError(result) => {
            with_part(format!("{id} tool error"), result, &["structuredContent", "content"])
        }
        ReplyKind::InputRequired(result) => {
            let asked = result.get("inputRequests").and_then(Value::as_object);
            let what = asked.map_or(String::new(), |asked| format!(": {}", names(asked)));
            with_part(format!("{id} asks for input{what}"), result, &["inputRequests"])
        }
        ReplyKind::Error(error) => {
            let code = name(&error["code"].to_string());
            with_part(format!("{id} error {code}"), error, &[])
        }
    }
}

/// What a server of the legacy era asks for inside a call.
fn asks(id: &str, question: Question<'_>, params: Option<&Value>) -> Gist {
    let asked = question.properties().filter(|asked| !asked.is_empty());
    let what = asked.map_or(String::new(), |asked| format!(": {}", names(asked)));
    let what = format!("{id} elicitation/create asks for input{what}");
    with_part(what, params.unwrap_or(&Value::Null), &["requestedSchema"])
}

/// What we answer to a request of the server.
fn answers(id: &str, kind: ReplyKind<'_>) -> Gist {
    match kind {
        ReplyKind::Error(error) => {
            let code = name(&error["code"].to_string());
            with_part(format!("{id} refused, error {code}"), error, &[])
        }
        ReplyKind::Result(result) | ReplyKind::InputRequired(result) | ReplyKind::ToolError(result) => {
            let action = result["action"]
                .as_str()
                .map_or(String::new(), |action| format!(": {}", name(action)));
            with_part(format!("{id} answered{action}"), result, &["content"])
        }
    }
}

/// The first of the named parts that is there; else the whole.
fn with_part(what: String, whole: &Value, parts: &[&str]) -> Gist {
    let found = parts.iter().find_map(|name| whole.get(*name));
    let part = found.unwrap_or(whole).to_string();
    let rest_bytes = (whole.to_string().len() - part.len()) as u64;
    Gist { what, part, rest_bytes }
}

fn other(what: &str, payload: &Value) -> Gist {
    Gist {
        what: what.to_owned(),
        part: payload.to_string(),
        rest_bytes: 0,
    }
}

fn named(id: Option<&Value>) -> String {
    let text = id.map_or_else(|| "?".to_owned(), Value::to_string);
    format!("#{}", name(&text))
}

fn names(members: &Map<String, Value>) -> String {
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    name(&names.join(", "))
}

fn without(value: &Value, keys: &[&str]) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.retain(|key, _| !keys.contains(&key.as_str()));
    }
    value
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

fn name(text: &str) -> String {
    cut(text, NAME_CHARS_MAX)
}

/// A text with what is left out of it counted behind.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match shortened(text, chars_max) {
        (whole, 0) => whole,
        (head, left_out) => format!("{head} +{left_out} bytes"),
    }
}

/// The first `chars_max` characters of a text (with an ellipsis where that is not all), and how many bytes are left out.
pub(super) fn shortened(text: &str, chars_max: usize) -> (String, u64) {
    let is_longer = text.chars().nth(chars_max + SLACK_CHARS).is_some();
    match text.char_indices().nth(chars_max).filter(|_| is_longer) {
        Some((at, _)) => (format!("{}…", &text[..at]), (text.len() - at) as u64),
        None => (text.to_owned(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(frame: &Value) -> (String, String, u64) {
        told_in(Direction::ServerToClient, frame)
    }

    fn told_in(direction: Direction, frame: &Value) -> (String, String, u64) {
        let bytes = serde_json::to_vec(frame).expect("JSON");
        let gist = gist(&Message::whole(direction, &bytes));
        (gist.what, gist.part, gist.rest_bytes)
    }

    fn read_again(message: &Message) -> Message {
        let text = serde_json::to_string(message).expect("JSON");
        serde_json::from_str(&text).expect("a written frame can be read")
    }

    #[test]
    fn every_kind_of_frame_is_named() {
        let call = json!({"name": "write", "arguments": {"a": 1}, "_meta": {"long": "…"}});
        let again = json!({"name": "write", "arguments": {}, "inputResponses": {"body": {}}});
        let table = [
            (
                json!({"id": 1, "method": "tools/call", "params": call}),
                "#1 tools/call write",
                r#"{"a":1}"#,
            ),
            (
                json!({"id": 2, "method": "tools/call", "params": again}),
                "#2 tools/call write, with answers to body",
                "",
            ),
            (
                json!({"id": 1, "method": "server/discover", "params": {"_meta": {}}}),
                "#1 server/discover",
                "",
            ),
            (
                json!({"method": "notifications/message", "params": {"level": "error"}}),
                "notification notifications/message",
                r#"{"level":"error"}"#,
            ),
            (json!({"id": "x", "method": "ping"}), "#\"x\" ping", ""),
            (json!({"id": 1, "result": {"content": []}}), "#1 result", "[]"),
            (
                json!({"id": 1, "result": {"content": [], "structuredContent": {"n": 1}}}),
                "#1 result",
                r#"{"n":1}"#,
            ),
            (
                json!({"id": 1, "result": {"content": [], "isError": true}}),
                "#1 tool error",
                "[]",
            ),
            (
                json!({"id": 1, "result": {"resultType": "input_required", "inputRequests": {"body": 1}}}),
                "#1 asks for input: body",
                r#"{"body":1}"#,
            ),
            (
                json!({"id": 1, "error": {"code": -32602, "message": "no"}}),
                "#1 error -32602",
                r#"{"code":-32602,"message":"no"}"#,
            ),
            (json!([1]), "JSON that is no frame:", "[1]"),
            (
                json!({"id": 1}),
                "JSON that is neither request nor answer:",
                r#"{"id":1}"#,
            ),
        ];
        for (frame, what, part) in table {
            let told = told(&frame);
            assert_eq!((told.0.as_str(), told.1.as_str()), (what, part), "{frame}");
        }
    }

    #[test]
    fn what_a_server_asks_inside_a_call_and_our_answers_are_named() {
        let schema = json!({"properties": {"qty": {}}});
        let asked = json!({"id": "q", "method": "elicitation/create", "params": {"requestedSchema": schema}});
        let told = told(&asked);
        assert_eq!(told.0, "#\"q\" elicitation/create asks for input: qty");
        assert_eq!(told.1, r#"{"properties":{"qty":{}}}"#);
        let table = [
            (
                json!({"id": "q", "result": {"action": "accept", "content": {"qty": 1}}}),
                "#\"q\" answered: accept",
                r#"{"qty":1}"#,
            ),
            (json!({"id": 7, "result": {}}), "#7 answered", "{}"),
            (
                json!({"id": 7, "error": {"code": -32601}}),
                "#7 refused, error -32601",
                r#"{"code":-32601}"#,
            ),
        ];
        for (frame, what, part) in table {
            let told = told_in(Direction::ClientToServer, &frame);
            assert_eq!((told.0.as_str(), told.1.as_str()), (what, part), "{frame}");
        }
    }

    #[test]
    fn what_no_line_can_show_is_counted() {
        let (_, part, rest) = told(&json!({"id": 1, "result": {"structuredContent": {"n": 1}, "content": []}}));
        assert_eq!(
            part.len() as u64 + rest,
            r#"{"structuredContent":{"n":1},"content":[]}"#.len() as u64
        );
        let params = json!({"name": "write", "arguments": {}, "requestState": "sealed", "_meta": {}});
        let (_, _, rest) = told(&json!({"id": 1, "method": "tools/call", "params": params}));
        assert_eq!(rest, r#"{"requestState":"sealed"}"#.len() as u64);
    }

    #[test]
    fn what_is_not_json_is_shown_as_it_came() {
        let banner = Message::whole(Direction::ServerToClient, b"ready \xff");
        assert_eq!(gist(&banner).what, "NOT JSON");
        assert_eq!(gist(&banner).part, "ready \u{fffd}");
        assert_eq!(
            gist(&Message::whole(Direction::ServerToClient, b"")).what,
            "an empty line"
        );
        assert_eq!(
            gist(&read_again(&Message::whole(Direction::ServerToClient, b"null"))).part,
            "null"
        );
        let big = Message::oversize(Direction::ServerToClient, b"xx", 50, "0f".to_owned());
        assert_eq!(gist(&big).what, "too long to be kept: 50 bytes, SHA-256 0f; it begins");
        assert_eq!((gist(&big).part.as_str(), gist(&big).rest_bytes), ("xx", 48));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = "状".repeat(12);
        assert_eq!(shortened(&text, 1), ("状…".to_owned(), 33));
        assert_eq!(shortened(&text, 2), (text.clone(), 0));
    }
}
