//! What of a verdict is another one than what comes out again. Pure.

use serde_json::Value;

use crate::record::CaseVerdict;

/// More facts than this are counted and not named.
const FACTS_NAMED_MAX: usize = 8;

/// The parts that differ; of the facts, which.
pub(super) fn what_differs(then: &CaseVerdict, now: &CaseVerdict) -> String {
    let value = |verdict: &CaseVerdict| serde_json::to_value(verdict).unwrap_or(Value::Null);
    let (then, now) = (value(then), value(now));
    let keys = then.as_object().into_iter().flat_map(|members| members.keys());
    let differing = keys.filter(|key| then[*key] != now[*key]).map(|key| {
        if key == "facts" {
            format!("facts ({})", facts(&then[key], &now[key]))
        } else {
            key.clone()
        }
    });
    format!(
        "judged again, it differs in {}",
        differing.collect::<Vec<_>>().join(", ")
    )
}

fn facts(then: &Value, now: &Value) -> String {
    let mut paths = Vec::new();
    differing_paths("", then, now, &mut paths);
    let more = paths.len().saturating_sub(FACTS_NAMED_MAX);
    paths.truncate(FACTS_NAMED_MAX);
    let named = paths.join(", ");
    if more > 0 {
        format!("{named} and {more} more")
    } else {
        named
    }
}

/// The paths of the smallest things that differ and are no members of an object; facts are never deep.
fn differing_paths(path: &str, then: &Value, now: &Value, paths: &mut Vec<String>) {
    let (Value::Object(before), Value::Object(after)) = (then, now) else {
        if then != now {
            paths.push(path.to_owned());
        }
        return;
    };
    let added = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(added) {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        let member = |members: &serde_json::Map<String, Value>| members.get(key).cloned().unwrap_or(Value::Null);
        differing_paths(&path, &member(before), &member(after), paths);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_facts_that_differ_are_named() {
        let then = json!({"end": {"effects": 1, "rows": [1]}, "retry": {"disclosed": ["a"], "outcome": "applied"}});
        let now = json!({"end": {"effects": 1}, "retry": {"disclosed": [], "outcome": "applied"}, "new": true});
        assert_eq!(facts(&then, &now), "end.rows, retry.disclosed, new");
        let many = |n: u64| -> Value { (0..12).map(|at| (format!("f{at:02}"), json!(n))).collect() };
        assert!(facts(&many(1), &many(2)).ends_with("f07 and 4 more"));
    }
}
