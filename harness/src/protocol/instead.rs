//! What came where a reply was waited for, and what of a server's standard output is no message at all. Pure.

use serde_json::Value;

/// How much of a server's text one sentence shows, in characters.
pub(crate) const SAID_CHARS_MAX: usize = 200;

/// How much of a line is shown that cannot be read, in characters.
const LINE_CHARS_MAX: usize = 60;

/// Whether a frame is a request, a notification or a response of JSON-RPC 2.0: nothing else may stand on standard output.
pub(crate) fn is_message(frame: &Value) -> bool {
    let Some(members) = frame.as_object() else { return false };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return false;
    }
    let is_call = members.get("method").is_some_and(Value::is_string);
    let is_response = members.contains_key("id") && members.contains_key("result") != members.contains_key("error");
    is_call || is_response
}

/// Whether a frame is a batch of messages, as JSON-RPC has it and MCP 2025-03-26 alone.
pub(crate) fn is_batch(frame: &Value) -> bool {
    let messages = frame.as_array();
    messages.is_some_and(|messages| !messages.is_empty() && messages.iter().all(is_message))
}

/// What a frame is that looks as if it were meant as the reply to the request with this id, and is not.
pub(crate) fn near_reply(frame: &Value, id: &Value) -> Option<String> {
    let members = frame.as_object()?;
    let is_response = members.contains_key("result") != members.contains_key("error");
    if !is_response || members.contains_key("method") {
        return None;
    }
    let said = || {
        let message = frame.pointer("/error/message").and_then(Value::as_str);
        message.map_or(String::new(), |text| format!(": {}", shortened(text, SAID_CHARS_MAX)))
    };
    match members.get("id") {
        Some(Value::String(text)) if id.as_u64().is_some_and(|id| text.parse() == Ok(id)) => Some(format!(
            "it answered #{id} with the id \"{text}\", a text, where the request has a number"
        )),
        Some(Value::Null) => Some(format!("it answered #{id} with the id null{}", said())),
        None => Some(format!("it answered #{id} without an id{}", said())),
        Some(Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => None,
    }
}

/// Whether a line that is not JSON may have been meant as a message.
pub(crate) fn may_be_meant(line: &str) -> bool {
    line.contains('{')
}

/// A line of standard output that is not JSON, in words.
pub(crate) fn not_json(line: &str) -> String {
    let what = if may_be_meant(line) {
        "its output line is not JSON"
    } else {
        "it printed a line that is no message"
    };
    format!("{what}: {}", shortened(line.trim(), LINE_CHARS_MAX))
}

/// What a tool's result says to people: its texts, else the whole of it.
pub(crate) fn said_in(result: &Value) -> String {
    let content = result.get("content").unwrap_or(result);
    let parts = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    if texts.is_empty() {
        return shortened(&result.to_string(), SAID_CHARS_MAX);
    }
    shortened(&texts.join(" "), SAID_CHARS_MAX)
}

/// The beginning of a text, on one line.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let line = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= chars_max {
        return line;
    }
    let head: String = line.chars().take(chars_max).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_batch_is_one_or_more_messages_and_nothing_else() {
        let message = json!({"jsonrpc": "2.0", "method": "notifications/message"});
        assert!(is_batch(&json!([message, message])));
        for frame in [json!([]), json!([message, 7]), message] {
            assert!(!is_batch(&frame), "{frame}");
        }
    }

    #[test]
    fn only_requests_notifications_and_responses_are_messages() {
        for frame in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700}}),
        ] {
            assert!(is_message(&frame), "{frame}");
        }
        for frame in [
            json!({"level": "info", "msg": "starting"}),
            json!({"method": "GET", "path": "/"}),
            json!({"jsonrpc": "2.0", "id": 1}),
            json!({"jsonrpc": "2.0", "result": {}}),
            json!([{"jsonrpc": "2.0", "id": 1, "result": {}}]),
            json!("text"),
            json!(7),
        ] {
            assert!(!is_message(&frame), "{frame}");
        }
    }

    #[test]
    fn a_reply_that_misses_its_id_is_told() {
        let told = |frame: Value| near_reply(&frame, &json!(1));
        assert_eq!(
            told(json!({"id": "1", "result": {}})).as_deref(),
            Some("it answered #1 with the id \"1\", a text, where the request has a number")
        );
        assert_eq!(
            told(json!({"id": null, "error": {"code": -32700, "message": "Parse\nerror"}})).as_deref(),
            Some("it answered #1 with the id null: Parse error")
        );
        assert_eq!(
            told(json!({"result": {}})).as_deref(),
            Some("it answered #1 without an id")
        );
        for other in [
            json!({"id": 7, "result": {}}),
            json!({"id": "x", "result": {}}),
            json!({"method": "log", "params": {}}),
            json!([1]),
        ] {
            assert_eq!(told(other), None);
        }
    }

    #[test]
    fn a_line_that_is_not_json_is_shown_from_its_beginning() {
        assert_eq!(
            not_json("hello {\"id\":1}"),
            "its output line is not JSON: hello {\"id\":1}"
        );
        assert_eq!(
            not_json("starting up\r"),
            "it printed a line that is no message: starting up"
        );
        assert!(not_json(&"x{".repeat(100)).ends_with('…'));
    }

    #[test]
    fn a_result_says_its_texts() {
        let result = json!({"content": [{"type": "text", "text": "can"}, {"type": "text", "text": "celled"}]});
        assert_eq!(said_in(&result), "can celled");
        assert_eq!(said_in(&result["content"]), "can celled");
        assert_eq!(said_in(&json!({"id": 1})), "{\"id\":1}");
    }
}
