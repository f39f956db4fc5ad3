//! The requests of a write, made from the plan and from what came before. Pure.

use serde_json::{Map, Value, json};

use crate::case::{Inputs, State};
use crate::drive::missing_answer::Given;
use crate::plan::Call;
use crate::protocol::{self, Era, Question, Reply, ReplyKind};

/// The key of an answer to a question that nobody asked.
const EXTRA_KEY: &str = "harness-extra";

/// The first request of a write.
pub(super) fn first(era: Era, id: u64, call: &Call, without_capabilities: bool) -> Value {
    let request = protocol::call_tool(era, id, &call.tool, &call.arguments);
    let request = protocol::with_members(request, &call.meta, &call.params);
    if without_capabilities {
        protocol::without_capabilities(request)
    } else {
        request
    }
}

/// The last request once more: equal but for its id, or with the changed data in its place.
pub(super) fn again(last: &Value, id: u64, changed: Option<&Call>) -> Value {
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
pub(super) fn next_round(
    request: &Value,
    reply: &Value,
    call: &Call,
    id: u64,
    by_flags: bool,
) -> Option<Result<Value, String>> {
    let reply = Reply::to(reply, &request["id"])?;
    let ReplyKind::InputRequired(result) = reply.kind() else {
        return None;
    };
    let mut responses = Map::new();
    for key in questions(result) {
        let Some(answer) = call.responses.get(key) else {
            let given = Given {
                responses: &call.responses,
                by_flags,
            };
            // A question of this era is the same as one inside a call, with a key in the place of an id.
            let mut asked = result["inputRequests"][key].clone();
            if let Some(asked) = asked.as_object_mut() {
                asked.insert("id".to_owned(), key.as_str().into());
            }
            let addition = Question::of(&asked).map(|question| format!("; {}", given.addition(Some(key), question)));
            return Some(Err(format!(
                "the server asks for `{key}`, and {} has no answer to it{}",
                given.place(),
                addition.unwrap_or_default()
            )));
        };
        responses.insert(key.clone(), answer.clone());
    }
    let state = result.get("requestState");
    Some(Ok(protocol::continue_call(request, id, &responses, state)))
}

fn questions(result: &Value) -> impl Iterator<Item = &String> {
    let asked = result.get("inputRequests").and_then(Value::as_object);
    asked.into_iter().flat_map(Map::keys)
}

/// One continuation of a call (`first`, its first request) by the script: with the state that a reply issued, or what the step
/// makes of it; the error says why there is nothing to continue.
pub(super) fn continuation(
    first: &Value,
    issued: &Value,
    call: &Call,
    state: State,
    inputs: Inputs,
) -> Result<Value, String> {
    let nothing = || "the step that it continues got no questions and no request state".to_owned();
    let result = issued.pointer("/result").ok_or_else(nothing)?;
    if result["resultType"] != "input_required" {
        return Err(nothing());
    }
    let id = first["id"].as_u64().unwrap_or_default();
    let responses = answers(result, call, inputs);
    let issued = result.get("requestState");
    let state = match state {
        State::AsIssued => issued.cloned(),
        State::Changed => Some(changed(issued.and_then(Value::as_str).ok_or_else(nothing)?).into()),
        State::None => None,
    };
    Ok(protocol::continue_call(first, id, &responses, state.as_ref()))
}

fn answers(result: &Value, call: &Call, inputs: Inputs) -> Map<String, Value> {
    let planned = || -> Map<String, Value> {
        let asked = questions(result).filter_map(|key| Some((key.clone(), call.responses.get(key)?.clone())));
        let asked: Map<String, Value> = asked.collect();
        // A state that came with other questions, or with none, is sent back with what the profile answers.
        if asked.is_empty() {
            call.responses.clone()
        } else {
            asked
        }
    };
    let each = |answer: &Value| planned().into_iter().map(|(key, _)| (key, answer.clone())).collect();
    match inputs {
        Inputs::AsPlanned => planned(),
        Inputs::None => Map::new(),
        Inputs::Extra => {
            let mut answers = planned();
            answers.insert(EXTRA_KEY.to_owned(), json!({"action": "accept", "content": {}}));
            answers
        }
        Inputs::Declined => each(&json!({"action": "decline"})),
        Inputs::Cancelled => each(&json!({"action": "cancel"})),
        Inputs::Mistyped => planned()
            .into_iter()
            .map(|(key, mut answer)| {
                let content = answer.get_mut("content").and_then(Value::as_object_mut);
                content.into_iter().flat_map(Map::values_mut).for_each(mistype);
                (key, answer)
            })
            .collect(),
    }
}

/// A value of another type than before.
fn mistype(value: &mut Value) {
    *value = match value {
        Value::String(_) => json!(7),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => json!("seven"),
    };
}

/// The state with one character in its middle replaced by another of the same kind, so that only what it says is changed.
fn changed(state: &str) -> String {
    let middle = state.chars().count() / 2;
    let other = |c: char| match c {
        'A' => 'B',
        'a' => 'b',
        '0' => '1',
        _ if c.is_ascii_uppercase() => 'A',
        _ if c.is_ascii_lowercase() => 'a',
        _ => '0',
    };
    let replaced = state.chars().enumerate();
    replaced
        .map(|(at, c)| if at == middle { other(c) } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        let responses = json!({"body": {"action": "accept", "content": {"body": "alpha", "sure": true}}});
        Call {
            tool: "write".to_owned(),
            arguments: Map::new(),
            responses: responses.as_object().cloned().expect("an object"),
            meta: Map::new(),
            params: Map::new(),
        }
    }

    fn issued(state: &str) -> Value {
        json!({"id": 1, "result": {
            "resultType": "input_required", "inputRequests": {"body": {}}, "requestState": state,
        }})
    }

    fn continued(state: State, inputs: Inputs) -> Value {
        let first = first(Era::Modern, 4, &call(), false);
        continuation(&first, &issued("abcdef"), &call(), state, inputs).expect("a continuation")
    }

    #[test]
    fn a_state_is_sent_back_changed_or_not_at_all() {
        let state = |state| {
            continued(state, Inputs::AsPlanned)["params"]
                .get("requestState")
                .cloned()
        };
        assert_eq!(state(State::AsIssued), Some(json!("abcdef")));
        assert_eq!(state(State::Changed), Some(json!("abcaef")));
        assert_eq!(state(State::None), None);
    }

    #[test]
    fn answers_are_those_of_the_profile_or_what_the_step_makes_of_them() {
        let answers = |inputs| continued(State::AsIssued, inputs)["params"]["inputResponses"].clone();
        assert_eq!(answers(Inputs::AsPlanned), json!(call().responses));
        assert_eq!(answers(Inputs::None), json!({}));
        assert_eq!(answers(Inputs::Declined), json!({"body": {"action": "decline"}}));
        assert_eq!(answers(Inputs::Cancelled), json!({"body": {"action": "cancel"}}));
        assert_eq!(
            answers(Inputs::Mistyped),
            json!({"body": {"action": "accept", "content": {"body": 7, "sure": "seven"}}})
        );
        assert_eq!(answers(Inputs::Extra)["body"], call().responses["body"]);
        assert!(answers(Inputs::Extra).get(EXTRA_KEY).is_some());
    }

    #[test]
    fn a_reply_that_asked_nothing_cannot_be_continued() {
        let first = first(Era::Modern, 4, &call(), false);
        let reply = json!({"id": 1, "result": {"content": []}});
        let refused = continuation(&first, &reply, &call(), State::AsIssued, Inputs::AsPlanned);
        assert!(refused.is_err_and(|reason| reason.contains("no request state")));
    }

    #[test]
    fn exactly_one_character_of_a_state_changes() {
        for state in ["a", "Zz0_-", "eyJhbGciOi.J9", "äöü"] {
            let other = changed(state);
            let differing = state.chars().zip(other.chars()).filter(|(one, other)| one != other);
            assert_eq!(
                (differing.count(), other.chars().count()),
                (1, state.chars().count()),
                "{state}"
            );
        }
    }
}
