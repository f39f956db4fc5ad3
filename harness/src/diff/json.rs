//! Two JSON values, compared path by path.

use serde::Serialize;
use serde_json::Value;

use super::pairing::{Kind, Pairing};
use super::words::same_text;

/// How many differences of one pair of values are kept; the rest is counted.
const DIFFERENCES_MAX: usize = 50;

/// How much of a value is kept to be shown, in characters.
const SHOWN_CHARS_MAX: usize = 2_000;

/// A text that is JSON is compared as such, and so are texts in it, down to this depth.
const TEXT_DEPTH_MAX: usize = 3;

/// Lists that are longer are compared in their order.
const ANY_ORDER_MAX: usize = 200;

/// The Unix time is taken for one between these, in seconds: 2001 to 2128.
const UNIX_SECONDS: std::ops::Range<f64> = 1e9..5e9;

/// One path at which two values differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathDifference {
    /// Where, such as `result.structuredContent.state`.
    pub path: String,
    /// What the first run has there; absent where it has nothing.
    pub a: Option<Value>,
    /// What the second has.
    pub b: Option<Value>,
}

/// What differs, as far as it is kept.
#[derive(Debug, Default)]
pub(super) struct Differences {
    pub(super) kept: Vec<PathDifference>,
    pub(super) more: usize,
}

impl Differences {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn add(&mut self, path: String, a: Option<&Value>, b: Option<&Value>) {
        if self.kept.len() >= DIFFERENCES_MAX {
            self.more += 1;
            return;
        }
        self.kept.push(PathDifference {
            path,
            a: a.map(shortened),
            b: b.map(shortened),
        });
    }
}

/// A value that is too long to be shown becomes the beginning of its text.
fn shortened(value: &Value) -> Value {
    let text = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => return value.clone(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => value.clone(),
        Some((at, _)) => Value::from(format!("{}… +{} bytes", &text[..at], text.len() - at)),
    }
}

/// Compares two values in which the names of the plans were put back. Lists that are called `any_order`, if any, are the same
/// where they hold the same.
pub(super) fn compare(a: &Value, b: &Value, any_order: Option<&str>, pairing: &mut Pairing) -> Differences {
    let mut differences = Differences::default();
    Comparison {
        pairing,
        differences: &mut differences,
        any_order,
        text_depth: 0,
    }
    .values("", "", a, b);
    differences
}

struct Comparison<'a> {
    pairing: &'a mut Pairing,
    differences: &'a mut Differences,
    any_order: Option<&'a str>,
    text_depth: usize,
}

impl Comparison<'_> {
    fn values(&mut self, path: &str, key: &str, a: &Value, b: &Value) {
        match (a, b) {
            (Value::Object(one), Value::Object(other)) => {
                for (key, value) in one {
                    let path = member(path, key);
                    match other.get(key) {
                        Some(other) => self.values(&path, key, value, other),
                        None => self.differences.add(path, Some(value), None),
                    }
                }
                for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
                    self.differences.add(member(path, key), None, Some(value));
                }
            }
            (Value::Array(one), Value::Array(other)) if self.any_order == Some(key) && self.same_set(one, other) => {}
            (Value::Array(one), Value::Array(other)) => {
                for index in 0..one.len().max(other.len()) {
                    let path = format!("{path}[{index}]");
                    match (one.get(index), other.get(index)) {
                        (Some(a), Some(b)) => self.values(&path, key, a, b),
                        (a, b) => self.differences.add(path, a, b),
                    }
                }
            }
            (Value::String(one), Value::String(other)) => self.texts(path, one, other),
            _ if self.same_number(key, a, b).unwrap_or(a == b) => {}
            _ => self.differences.add(path.to_owned(), Some(a), Some(b)),
        }
    }

    /// Whether each item of one list is an item of the other, in whatever order.
    fn same_set(&mut self, a: &[Value], b: &[Value]) -> bool {
        let begun = self.pairing.mark();
        let mut left: Vec<&Value> = b.iter().collect();
        let is_small = a.len() == b.len() && a.len() <= ANY_ORDER_MAX;
        let is_there = |item: &Value| {
            let found = left.iter().position(|other| {
                let mark = self.pairing.mark();
                let is_same = compare(item, other, None, self.pairing).is_empty();
                if !is_same {
                    self.pairing.go_back(mark);
                }
                is_same
            });
            found.map(|at| left.remove(at)).is_some()
        };
        let is_same = is_small && a.iter().all(is_there);
        if !is_same {
            self.pairing.go_back(begun);
        }
        is_same
    }

    fn texts(&mut self, path: &str, a: &str, b: &str) {
        if self.text_depth < TEXT_DEPTH_MAX
            && let (Some(one), Some(other)) = (as_json(a), as_json(b))
        {
            self.text_depth += 1;
            self.values(&format!("{path}:"), "", &one, &other);
            self.text_depth -= 1;
        } else if !same_text(a, b, self.pairing) {
            let (a, b) = (Value::from(a), Value::from(b));
            self.differences.add(path.to_owned(), Some(&a), Some(&b));
        }
    }

    /// Numbers of rows name a row, and clocks go on; nothing where these are neither.
    fn same_number(&mut self, key: &str, a: &Value, b: &Value) -> Option<bool> {
        let (one, other) = (a.as_f64()?, b.as_f64()?);
        if is_time_key(key) || (is_unix_time(one) && is_unix_time(other)) {
            return Some(true);
        }
        let row = |name: &Value| format!("{key} {name}");
        is_row_key(key).then(|| self.pairing.pairs(Kind::Row, &row(a), &row(b)))
    }
}

fn member(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        _ if path.ends_with(':') => format!("{path}{key}"),
        _ => format!("{path}.{key}"),
    }
}

fn as_json(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    begins.then(|| serde_json::from_str(text).ok()).flatten()
}

fn is_row_key(key: &str) -> bool {
    key == "id" || key == "rowid" || key.ends_with("_id") || key.ends_with("Id")
}

fn is_time_key(key: &str) -> bool {
    ["_at", "_at_s", "_at_ms", "At", "_ms", "Ms"]
        .iter()
        .any(|end| key.ends_with(end))
        || ["pid", "time", "timestamp"].contains(&key)
}

fn is_unix_time(number: f64) -> bool {
    [1.0, 1e3, 1e6, 1e9]
        .iter()
        .any(|unit| UNIX_SECONDS.contains(&(number / unit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(a: &Value, b: &Value) -> Vec<String> {
        let found = compare(a, b, Some("rows"), &mut Pairing::default());
        let text = |value: Option<Value>| value.map_or("nothing".to_owned(), |value| value.to_string());
        let line = |found: PathDifference| format!("{}: {} → {}", found.path, text(found.a), text(found.b));
        found.kept.into_iter().map(line).collect()
    }

    #[test]
    fn differences_are_told_with_their_paths() {
        let a = json!({"result": {"structuredContent": {"state": "applied", "n": 1}, "content": [1, 2]}});
        let b = json!({"result": {"structuredContent": {"state": "unknown", "m": null}, "content": [1]}});
        let expected = [
            "result.structuredContent.state: \"applied\" → \"unknown\"",
            "result.structuredContent.n: 1 → nothing",
            "result.structuredContent.m: nothing → null",
            "result.content[1]: 2 → nothing",
        ];
        assert_eq!(told(&a, &b), expected);
        assert_eq!(told(&json!(1), &json!("1")), [": 1 → \"1\""]);
    }

    #[test]
    fn a_text_that_is_json_is_compared_as_json() {
        let (a, b) = (
            json!({"text": "{\"state\":\"applied\",\"issue_id\":1}"}),
            "{\"issue_id\":9,\"state\":\"unknown\"}",
        );
        assert_eq!(told(&a, &json!({"text": b})), ["text:state: \"applied\" → \"unknown\""]);
    }

    #[test]
    fn rows_are_paired_and_clocks_go_on() {
        let a = json!([{"issue_id": 1}, {"issue_id": 1}, {"count": 1}, {"at": 1_790_035_200}, {"elapsed_ms": 4}]);
        let b = json!([{"issue_id": 7}, {"issue_id": 7}, {"count": 1}, {"at": 1_795_000_000}, {"elapsed_ms": 9}]);
        assert_eq!(told(&a, &b), [""; 0]);
        // What is called the same in both runs is another row all the same, where the name stood for another one before.
        let taken = [
            json!([{"issue_id": 1}, {"issue_id": 1}]),
            json!([{"issue_id": 2}, {"issue_id": 1}]),
        ];
        assert_eq!(told(&taken[0], &taken[1]), ["[1].issue_id: 1 → 1"]);
        let doubled = json!([{"issue_id": 7}, {"issue_id": 8}, {"count": 2}, {"at": 3}, {"elapsed_ms": 9}]);
        let expected = ["[1].issue_id: 1 → 8", "[2].count: 1 → 2", "[3].at: 1790035200 → 3"];
        assert_eq!(told(&a, &doubled), expected);
    }

    #[test]
    fn rows_of_a_store_have_no_order_and_other_lists_do() {
        let (one, two) = (
            "1473dafd-3a8a-4d2b-b00b-6dd76448e29f",
            "c7f1660f-8d77-4cc8-8b41-51d5b4a3cf11",
        );
        let a = json!([one, two, {"rows": [{"of": one, "n": 1}, {"of": two, "n": 2}]}]);
        let turned = json!([two, one, {"rows": [{"of": one, "n": 2}, {"of": two, "n": 1}]}]);
        assert_eq!(told(&a, &turned), [""; 0]);
        let other = json!([two, one, {"rows": [{"of": one, "n": 1}, {"of": two, "n": 2}]}]);
        assert_eq!(told(&a, &other).len(), 2);
        assert_eq!(told(&json!({"list": [1, 2]}), &json!({"list": [2, 1]})).len(), 2);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let many = |value: u32| Value::from(vec![value; 1000]);
        let found = compare(&many(1), &many(2), None, &mut Pairing::default());
        assert_eq!(
            (found.kept.len(), found.more),
            (DIFFERENCES_MAX, 1000 - DIFFERENCES_MAX)
        );
        let long = compare(&json!("x".repeat(9_999)), &json!(""), None, &mut Pairing::default());
        assert!(
            long.kept[0]
                .a
                .as_ref()
                .is_some_and(|value| value.to_string().ends_with("+7999 bytes\""))
        );
    }
}
