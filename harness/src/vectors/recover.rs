//! The built-in answer to a question about recovery.

use serde_json::{Value, json};

use crate::recovery::{Action, Attempt, permitted};

/// Answers one question; fails where it is not one about recovery.
pub fn recover(question: &Value) -> Result<Value, String> {
    let attempt = &question["attempt"];
    let attempt = Attempt {
        operation: attempt["operation_id"]
            .as_str()
            .ok_or("`attempt.operation_id` is no text")?,
        scope: attempt["scope"].as_object().ok_or("`attempt.scope` is no object")?,
    };
    let action = permitted(&attempt, question.get("observation"));
    let mut answer = json!({"name": question["name"], "action": action.name()});
    match &action {
        Action::StatusOnly => {}
        Action::ReturnStoredResult(result) => answer["result"] = (*result).clone(),
        Action::Stop { reason } => answer["reason"] = reason.name().into(),
    }
    Ok(answer)
}
