//! The checked reading of tool arguments: every refusal names the argument and says what it must be.
//!
//! It must not repair anything: no trimming, no coercion, no defaults that the tool did not ask for.

use serde_json::{Map, Value};

use super::CallError;

/// The longest operation identity, in bytes.
pub const OPERATION_ID_BYTES_MAX: usize = 200;
/// The longest title, in bytes.
pub const TITLE_BYTES_MAX: usize = 1_000;
/// The longest body, in bytes.
pub const BODY_BYTES_MAX: usize = 65_536;

/// Refuses every argument that is not in `known`.
pub fn refuse_unknown(arguments: &Map<String, Value>, known: &[&str]) -> Result<(), CallError> {
    match arguments.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => {
            let known = known.join(", ");
            Err(CallError::invalid(format!(
                "unknown argument {unknown:?}; the arguments are {known}"
            )))
        }
        None => Ok(()),
    }
}

/// The argument `name`: a printable text of 1 to `bytes_max` bytes.
pub fn text<'a>(arguments: &'a Map<String, Value>, name: &str, bytes_max: usize) -> Result<&'a str, CallError> {
    let value = arguments
        .get(name)
        .ok_or_else(|| CallError::invalid(format!("argument {name} is missing")))?;
    let text = value
        .as_str()
        .ok_or_else(|| CallError::invalid(format!("argument {name} must be a string")))?;
    if text.is_empty() || text.len() > bytes_max {
        return Err(CallError::invalid(format!(
            "argument {name} must have 1 to {bytes_max} bytes"
        )));
    }
    if text.chars().any(char::is_control) || text.trim().is_empty() {
        return Err(CallError::invalid(format!("argument {name} must be printable text")));
    }
    Ok(text)
}

/// The argument `name`: one of `choices`; the first of them when it is left out.
pub fn choice<T: Copy>(arguments: &Map<String, Value>, name: &str, choices: &[(&str, T)]) -> Result<T, CallError> {
    let known = || choices.iter().map(|&(choice, _)| choice).collect::<Vec<_>>().join(", ");
    let wrong = || CallError::invalid(format!("argument {name} must be one of {}", known()));
    let chosen = match arguments.get(name) {
        None => choices.first(),
        Some(value) => choices.iter().find(|&&(choice, _)| value == choice),
    };
    chosen.map(|&(_, meaning)| meaning).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: &Value) -> Map<String, Value> {
        value.as_object().expect("the test gives an object").clone()
    }

    fn message<T>(outcome: Result<T, CallError>) -> String {
        match outcome {
            Err(CallError::Invalid { message, reason: None }) => message,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it was accepted"),
        }
    }

    #[test]
    fn every_refusal_names_the_argument() {
        for (given, expected) in [
            (json!({}), "argument title is missing"),
            (json!({ "title": 1 }), "argument title must be a string"),
            (json!({ "title": null }), "argument title must be a string"),
            (json!({ "title": "" }), "argument title must have 1 to 5 bytes"),
            (json!({ "title": "abcdef" }), "argument title must have 1 to 5 bytes"),
            (json!({ "title": "a\nb" }), "argument title must be printable text"),
            (json!({ "title": "  " }), "argument title must be printable text"),
        ] {
            assert_eq!(message(text(&arguments(&given), "title", 5)), expected);
        }
        assert_eq!(
            text(&arguments(&json!({ "title": "abcde" })), "title", 5).unwrap(),
            "abcde"
        );
    }

    #[test]
    fn a_choice_defaults_to_the_first_and_refuses_the_unknown() {
        let choices = [("one", 1), ("two", 2)];
        assert_eq!(choice(&arguments(&json!({})), "mode", &choices).unwrap(), 1);
        assert_eq!(
            choice(&arguments(&json!({ "mode": "two" })), "mode", &choices).unwrap(),
            2
        );
        for wrong in [
            json!({ "mode": "three" }),
            json!({ "mode": 1 }),
            json!({ "mode": null }),
        ] {
            assert_eq!(
                message(choice(&arguments(&wrong), "mode", &choices)),
                "argument mode must be one of one, two"
            );
        }
    }

    #[test]
    fn an_unknown_argument_is_named() {
        let refused = refuse_unknown(&arguments(&json!({ "a": 1, "b": 2 })), &["a"]);
        assert_eq!(message(refused), "unknown argument \"b\"; the arguments are a");
    }
}
