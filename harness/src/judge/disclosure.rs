//! What a reply tells of earlier results: texts and large numbers that the client did not know from its own request.

use serde_json::Value;

use crate::protocol::{Reply, ReplyKind};

/// A text of an earlier result must be so long, and hold a digit, to count as disclosed: `applied` alone is no secret.
const DISCLOSED_CHARS_MIN: usize = 6;

/// Texts and large numbers of earlier results that a reply repeats although what was sent (`known`) did not hold them.
pub(super) fn disclosed(reply: Reply<'_>, known: &str, earlier: &[Reply<'_>]) -> Vec<String> {
    let told = reply.frame().to_string();
    let mut secrets = Vec::new();
    for reply in earlier {
        if let ReplyKind::Result(result) = reply.kind() {
            leaves(result, &mut secrets);
        }
    }
    secrets.retain(|secret| told.contains(secret.as_str()) && !known.contains(secret.as_str()));
    secrets.sort();
    secrets.dedup();
    secrets
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, found)),
        Value::String(text) => {
            // A text block often is JSON itself: what counts is what stands inside.
            match serde_json::from_str::<Value>(text) {
                Ok(inside) if inside.is_object() || inside.is_array() => leaves(&inside, found),
                _ if telling(text) => found.push(text.clone()),
                _ => {}
            }
        }
        Value::Number(number) if telling(&number.to_string()) => found.push(number.to_string()),
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn telling(text: &str) -> bool {
    text.chars().count() >= DISCLOSED_CHARS_MIN && text.chars().any(|c| c.is_ascii_digit())
}
