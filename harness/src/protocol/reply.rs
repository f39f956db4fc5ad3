//! What one reply means, read through the pointers of the profile. Replies are matched by id and shape, never by text.

use serde_json::Value;

use crate::target::{Contract, RefusalAt, Replies};

/// `resultType` of a result that asks for input (MCP 2026-07-28, Multi Round-Trip Requests).
const INPUT_REQUIRED: &str = "input_required";

/// Where results stand when a profile does not say, in the order in which they are looked for.
const USUAL_RESULTS: [&str; 2] = ["/structuredContent", "/content"];

/// A reply to a request of ours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reply<'a> {
    /// The whole frame.
    frame: &'a Value,
}

/// What a reply says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplyKind<'a> {
    /// A result that is no error.
    Result(&'a Value),
    /// A result that asks for input.
    InputRequired(&'a Value),
    /// A tool result with `isError: true`.
    ToolError(&'a Value),
    /// A JSON-RPC error.
    Error(&'a Value),
}

impl<'a> Reply<'a> {
    /// The frame as a reply to the request with this id, if it is one.
    pub fn to(frame: &'a Value, id: &Value) -> Option<Self> {
        let object = frame.as_object()?;
        let is_reply = object.contains_key("result") != object.contains_key("error");
        let matches = object.get("id") == Some(id) && !object.contains_key("method");
        (is_reply && matches).then_some(Self { frame })
    }

    /// What it says.
    pub fn kind(self) -> ReplyKind<'a> {
        if let Some(error) = self.frame.get("error") {
            return ReplyKind::Error(error);
        }
        let result = &self.frame["result"];
        if result.get("resultType").and_then(Value::as_str) == Some(INPUT_REQUIRED) {
            ReplyKind::InputRequired(result)
        } else if result.get("isError").and_then(Value::as_bool) == Some(true) {
            ReplyKind::ToolError(result)
        } else {
            ReplyKind::Result(result)
        }
    }

    /// The word that checks compare: `result`, `asked`, `refused`.
    pub(crate) fn outcome(self) -> &'static str {
        match self.kind() {
            ReplyKind::Result(_) => "result",
            ReplyKind::InputRequired(_) => "asked",
            ReplyKind::ToolError(_) | ReplyKind::Error(_) => "refused",
        }
    }

    /// The result that replays are compared by, without the place that says `replayed`. An error is the pointer at which
    /// the profile expects it and the server has nothing.
    pub(crate) fn comparable(self, replies: &Replies) -> Option<Result<Value, &str>> {
        let ReplyKind::Result(result) = self.kind() else {
            return None;
        };
        let usual = || USUAL_RESULTS.iter().find_map(|at| Some((*at, result.pointer(at)?)));
        let (at, found) = match &replies.result {
            Some(at) => (at.as_str(), result.pointer(at)),
            None => usual().map_or(("", Some(result)), |(at, found)| (at, Some(found))),
        };
        Some(
            found
                .map(|found| without_replayed(found.clone(), at, replies))
                .ok_or(at),
        )
    }

    /// What a refusal says to people.
    pub(crate) fn refusal_text(self) -> Option<&'a str> {
        match self.kind() {
            ReplyKind::Error(error) => error.get("message")?.as_str(),
            ReplyKind::ToolError(result) => result.pointer("/content/0/text")?.as_str(),
            ReplyKind::Result(_) | ReplyKind::InputRequired(_) => None,
        }
    }

    /// Whether it says that it is a replay.
    pub(crate) fn replayed(self, replies: &Replies) -> Option<&'a Value> {
        let ReplyKind::Result(result) = self.kind() else {
            return None;
        };
        result.pointer(replies.replayed.as_deref()?)
    }

    /// The reason of a refusal: `conflict` where it is the contract's conflict, else what the server says.
    pub(crate) fn refusal(self, replies: &Replies, contract: &Contract) -> Option<Value> {
        if let Some(conflict) = &contract.conflict
            && self.reason_at(&conflict.at) == Some(&conflict.is)
        {
            return Some(Value::from("conflict"));
        }
        let reason = self.reason_at(&replies.refusal).cloned();
        match self.kind() {
            ReplyKind::Error(error) => Some(reason.unwrap_or_else(|| error["code"].clone())),
            ReplyKind::ToolError(_) => Some(reason.unwrap_or_else(|| Value::from("unnamed"))),
            ReplyKind::Result(_) | ReplyKind::InputRequired(_) => None,
        }
    }

    fn reason_at(self, at: &RefusalAt) -> Option<&'a Value> {
        match self.kind() {
            ReplyKind::Error(error) => error.pointer(at.error.as_deref()?),
            ReplyKind::ToolError(result) => result.pointer(at.tool_error.as_deref()?),
            ReplyKind::Result(_) | ReplyKind::InputRequired(_) => None,
        }
    }

    /// The whole frame.
    pub(crate) fn frame(self) -> &'a Value {
        self.frame
    }
}

/// Takes the place that says `replayed` out of a result that stands at `at`, where that place lies inside it.
pub(crate) fn without_replayed(mut value: Value, at: &str, replies: &Replies) -> Value {
    let inside = replies
        .replayed
        .as_deref()
        .and_then(|replayed| replayed.strip_prefix(at));
    let Some((parent, name)) = inside.and_then(|at| at.rsplit_once('/')) else {
        return value;
    };
    if let Some(Value::Object(members)) = value.pointer_mut(parent) {
        members.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn replies() -> Replies {
        Replies {
            result: Some("/structuredContent".to_owned()),
            replayed: Some("/structuredContent/replayed".to_owned()),
            refusal: RefusalAt {
                error: Some("/data/reason".to_owned()),
                tool_error: Some("/structuredContent/reason".to_owned()),
            },
        }
    }

    #[test]
    fn only_a_frame_with_our_id_and_one_of_result_and_error_is_a_reply() {
        let id = json!(7);
        for frame in [
            json!({"jsonrpc": "2.0", "id": "7", "result": {}}),
            json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}),
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"id": 7}}),
            json!({"jsonrpc": "2.0", "id": 7, "result": {}, "error": {}}),
            json!([{"id": 7, "result": {}}]),
        ] {
            assert_eq!(Reply::to(&frame, &id), None, "{frame}");
        }
        assert!(Reply::to(&json!({"id": 7, "result": {}}), &id).is_some());
    }

    #[test]
    fn kinds_are_told_by_shape() {
        let table = [
            (json!({"id": 1, "result": {"content": []}}), "result"),
            (json!({"id": 1, "result": {"content": [], "isError": false}}), "result"),
            (json!({"id": 1, "result": {"content": [], "isError": true}}), "refused"),
            (
                json!({"id": 1, "result": {"resultType": "input_required", "inputRequests": {}}}),
                "asked",
            ),
            (json!({"id": 1, "error": {"code": -32602}}), "refused"),
        ];
        for (frame, outcome) in table {
            assert_eq!(
                Reply::to(&frame, &json!(1)).expect("a reply").outcome(),
                outcome,
                "{frame}"
            );
        }
    }

    #[test]
    fn results_are_compared_without_replayed() {
        let frame = json!({"id": 1, "result": {"structuredContent": {"issue_id": 3, "replayed": true}}});
        let reply = Reply::to(&frame, &json!(1)).expect("a reply");
        assert_eq!(reply.comparable(&replies()), Some(Ok(json!({"issue_id": 3}))));
        assert_eq!(reply.replayed(&replies()), Some(&json!(true)));
    }

    #[test]
    fn a_result_is_found_where_the_server_has_one() {
        let unsaid = Replies {
            result: None,
            replayed: None,
            ..replies()
        };
        let content = json!([{"type": "text", "text": "{\"id\": 1}"}]);
        let table = [
            (json!({"content": content}), content.clone()),
            (
                json!({"content": content, "structuredContent": {"id": 1}}),
                json!({"id": 1}),
            ),
            (json!({"odd": 1}), json!({"odd": 1})),
        ];
        for (result, expected) in table {
            let frame = json!({"id": 1, "result": result});
            let reply = Reply::to(&frame, &json!(1)).expect("a reply");
            assert_eq!(reply.comparable(&unsaid), Some(Ok(expected)), "{frame}");
        }
        let frame = json!({"id": 1, "result": {"content": content}});
        let reply = Reply::to(&frame, &json!(1)).expect("a reply");
        assert_eq!(reply.comparable(&replies()), Some(Err("/structuredContent")));
    }

    #[test]
    fn a_conflict_is_told_from_other_refusals_in_both_styles() {
        let contract = Contract {
            preset: crate::target::Preset::Guarded,
            claimed_in: None,
            conflict: Some(crate::target::Conflict {
                at: replies().refusal,
                is: json!("operation_conflict"),
            }),
        };
        let table = [
            (
                json!({"result": {"isError": true, "structuredContent": {"reason": "operation_conflict"}}}),
                json!("conflict"),
            ),
            (
                json!({"error": {"code": -32602, "data": {"reason": "operation_conflict"}}}),
                json!("conflict"),
            ),
            (
                json!({"result": {"isError": true, "structuredContent": {"reason": "ledger_busy"}}}),
                json!("ledger_busy"),
            ),
            (json!({"result": {"isError": true, "content": []}}), json!("unnamed")),
            (json!({"error": {"code": -32603}}), json!(-32603)),
        ];
        for (mut frame, refusal) in table {
            frame["id"] = json!(1);
            let reply = Reply::to(&frame, &json!(1)).expect("a reply");
            assert_eq!(reply.refusal(&replies(), &contract), Some(refusal), "{frame}");
        }
    }
}
