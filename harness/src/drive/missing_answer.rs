//! What is said where a question of a server finds no answer: what it asks for, and what to add, as a line of a profile or
//! as the flag of a command line. Pure.

use serde_json::{Map, Value, json};

use crate::protocol::{self, Question};

/// How many properties of a question are named, and how much of what it says to people (characters).
const NAMED_MAX: usize = 8;
const SAID_CHARS_MAX: usize = 80;

/// The names that an answer without one of its own can be given, the first that is free.
const NAMES: [&str; 3] = ["ANY_NAME", "ANOTHER_NAME", "A_THIRD_NAME"];

/// The answers that there are, and in whose words more are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// By key.
    pub(super) responses: &'a Map<String, Value>,
    /// Whether the target is described by flags.
    pub(super) by_flags: bool,
}

impl Given<'_> {
    /// The key or the flag that holds the answers.
    pub(super) fn place(self) -> &'static str {
        if self.by_flags {
            "--responses"
        } else {
            "[write] responses"
        }
    }

    /// What to add for a question that has no key (inside a call), or for one that has.
    pub(super) fn addition(self, key: Option<&str>, question: Question<'_>) -> String {
        let free = NAMES.iter().find(|name| !self.responses.contains_key(**name));
        let key = key.or(free.copied()).unwrap_or("ONE_MORE_NAME");
        let answer = json!({"action": "accept", "content": sample_content(question)});
        let note = if answer.to_string().contains("{input}") {
            "; where the text is what is stored, put {marker} into it, or both: \"{marker} {input}\""
        } else {
            ""
        };
        let lacking = self.without_action();
        let lacking = if lacking.is_empty() {
            String::new()
        } else {
            let names = named(lacking.into_iter());
            format!(
                "{names} there has no `action` (\"accept\", \"decline\" or \"cancel\"), which every answer to a form has; "
            )
        };
        let what = match (self.by_flags, self.responses.is_empty()) {
            (true, true) => format!("one would be --responses '{}'", json!({key: answer})),
            (true, false) => format!("add to --responses: {}: {answer}", Value::from(key)),
            (false, true) => format!("one would be responses = {}", toml_text(&json!({key: answer}))),
            (false, false) => format!("add to responses: {key} = {}", toml_text(&answer)),
        };
        format!("{lacking}{what}{note}")
    }

    /// Answers that say neither `accept`, `decline` nor `cancel`, and are no answer to another kind of question.
    fn without_action(&self) -> Vec<&str> {
        let is_of_another_kind = |answer: &Value| ["roots", "role"].iter().any(|key| answer.get(key).is_some());
        let lacking = self.responses.iter();
        let lacking = lacking.filter(|(_, answer)| !protocol::is_form_answer(answer) && !is_of_another_kind(answer));
        lacking.map(|(key, _)| key.as_str()).collect()
    }
}

fn toml_text(value: &Value) -> String {
    let mut text = String::new();
    match serde::Serialize::serialize(value, toml::ser::ValueSerializer::new(&mut text)) {
        Ok(_) => text,
        Err(_) => value.to_string(),
    }
}

/// What a question asks for, in words.
pub(super) fn asks(question: Question<'_>) -> String {
    let names = wanted(question);
    let what = if names.is_empty() {
        "a confirmation".to_owned()
    } else {
        named(names.into_iter())
    };
    let said = question.message().map_or(String::new(), |message| {
        format!(" (\"{}\")", protocol::shortened(message, SAID_CHARS_MAX))
    });
    format!("the server asks for {what} inside the call{said}")
}

/// The properties that an answer needs: those that are required, or all where none is.
fn wanted(question: Question<'_>) -> Vec<&str> {
    let required = question.required();
    if required.is_empty() {
        question
            .properties()
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect()
    } else {
        required
    }
}

/// Names in words, the first few.
pub(super) fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}

fn sample_content(question: Question<'_>) -> Map<String, Value> {
    let schema = |name: &str| question.properties().and_then(|asked| asked.get(name));
    let members = wanted(question).into_iter();
    members
        .map(|name| (name.to_owned(), sample(schema(name).unwrap_or(&Value::Null))))
        .collect()
}

/// A value that a property may have. A text is the input that `changed-input` changes.
fn sample(schema: &Value) -> Value {
    let first = ["/enum/0", "/oneOf/0/const", "/minimum"];
    if let Some(value) = first.iter().find_map(|at| schema.pointer(at)) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(schema.pointer("/items").map(sample).into_iter().collect()),
        Some(_) | None => "{input}".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(schema: &Value) -> Value {
        json!({
            "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
            "params": {"message": "Really?", "requestedSchema": schema},
        })
    }

    fn addition(responses: &Value, by_flags: bool, schema: &Value) -> String {
        let responses = responses.as_object().expect("an object");
        let frame = question(schema);
        let given = Given { responses, by_flags };
        given.addition(None, Question::of(&frame).expect("a question"))
    }

    fn one(kind: &str) -> Value {
        json!({"properties": {"it": {"type": kind}}, "required": ["it"]})
    }

    #[test]
    fn the_first_answer_is_the_whole_line_and_the_next_one_is_added() {
        let some = json!({"ANY_NAME": {"action": "accept", "content": {"other": 1}}});
        let table = [
            (
                json!({}),
                false,
                r#"one would be responses = { ANY_NAME = { action = "accept", content = { it = 1 } } }"#,
            ),
            (
                some.clone(),
                false,
                r#"add to responses: ANOTHER_NAME = { action = "accept", content = { it = 1 } }"#,
            ),
            (
                json!({}),
                true,
                r#"one would be --responses '{"ANY_NAME":{"action":"accept","content":{"it":1}}}'"#,
            ),
            (
                some,
                true,
                r#"add to --responses: "ANOTHER_NAME": {"action":"accept","content":{"it":1}}"#,
            ),
        ];
        for (responses, by_flags, text) in table {
            assert_eq!(addition(&responses, by_flags, &one("integer")), text);
        }
    }

    #[test]
    fn a_text_may_be_the_marker_too() {
        let text = addition(&json!({}), true, &one("string"));
        assert!(
            text.contains(r#""it":"{input}""#) && text.contains("{marker}"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_without_action_is_told() {
        let text = addition(
            &json!({"mine": {"note": "x"}, "roots": {"roots": []}}),
            false,
            &one("boolean"),
        );
        assert!(text.starts_with("`mine` there has no `action`"), "{text}");
    }

    #[test]
    fn a_question_of_many_properties_is_cut() {
        let names: Vec<String> = (0..40).map(|number| format!("p{number}")).collect();
        let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({}))).collect();
        let frame = question(&json!({"properties": properties}));
        let said = asks(Question::of(&frame).expect("a question"));
        assert!(said.contains("`p7` and 32 more"), "{said}");
    }
}
