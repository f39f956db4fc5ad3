//! An answer beside what was expected: what differs, and for canonical texts the first byte that does.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::suite::Expected;

/// How much of each side is shown before and after the byte that differs, in bytes.
const AROUND_BYTES: usize = 24;

/// The digits of a keyed digest.
const DIGEST_DIGITS: usize = 64;

/// One thing that an answer got wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which member of the answer.
    pub member: &'static str,
    /// What it has to be, as text.
    pub expected: String,
    /// What it is; none where it is missing.
    pub found: Option<String>,
    /// Where a canonical text begins to differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<ByteDifference>,
}

/// The first byte that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ByteDifference {
    /// Bytes before it, which are equal.
    pub offset: usize,
    /// The byte that has to be there; none where the text has to be at its end.
    pub expected_byte: Option<u8>,
    /// The byte that is there; none where the text is at its end.
    pub found_byte: Option<u8>,
    /// What has to stand around it, escaped: printable ASCII as it is, `\\` for a backslash, `\xNN` for the rest.
    pub expected_around: String,
    /// What stands around it, escaped likewise.
    pub found_around: String,
    /// How many characters of both come before the byte.
    pub column: usize,
    /// The member whose keyed digest the byte is in: then its canonical value differs, or the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_digest_of: Option<&'static str>,
}

/// What an answer got wrong; nothing where it is as expected. Members that were not asked for are ignored.
pub fn compare(expected: &Expected, answer: &Value) -> Vec<Difference> {
    let text = |member| answer.get(member).and_then(Value::as_str);
    match expected {
        Expected::Fingerprint { canonical, fingerprint } => {
            let byte = text("canonical").and_then(|found| first_difference(canonical, found));
            // Where the texts differ, the digests do so too, and it says nothing more.
            let mut differences = Vec::from_iter(member("canonical", answer, &canonical.as_str().into()));
            if let Some(difference) = differences.first_mut() {
                difference.byte = byte;
            } else {
                differences.extend(member("fingerprint", answer, &fingerprint.as_str().into()));
            }
            differences
        }
        Expected::Refused { place: Some(place) } => Vec::from_iter(member("refused", answer, &place.as_str().into())),
        Expected::Refused { place: None } if text("refused").is_some() => Vec::new(),
        Expected::Refused { place: None } => vec![Difference {
            member: "refused",
            expected: "any place".to_owned(),
            found: answer.get("refused").map(Value::to_string),
            byte: None,
        }],
        Expected::Recovery { action, reason, result } => {
            let action = member("action", answer, &action.as_str().into());
            let reason = reason
                .as_ref()
                .and_then(|reason| member("reason", answer, &reason.as_str().into()));
            let result = result.as_ref().and_then(|result| member("result", answer, result));
            [action, reason, result].into_iter().flatten().collect()
        }
        Expected::Continuation { decision } => Vec::from_iter(member("decision", answer, &decision.as_str().into())),
    }
}

fn member(name: &'static str, answer: &Value, expected: &Value) -> Option<Difference> {
    let found = answer.get(name);
    (found != Some(expected)).then(|| Difference {
        member: name,
        expected: shown(expected),
        found: found.map(shown),
        byte: None,
    })
}

/// A text as it is, everything else as JSON.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The first byte in which two canonical texts differ.
pub fn first_difference(expected: &str, found: &str) -> Option<ByteDifference> {
    let (left, right) = (expected.as_bytes(), found.as_bytes());
    let equal = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    if equal == left.len() && equal == right.len() {
        return None;
    }
    let start = equal.saturating_sub(AROUND_BYTES);
    let around = |bytes: &[u8]| {
        let end = (equal + AROUND_BYTES).min(bytes.len());
        escaped(&bytes[start..end])
    };
    Some(ByteDifference {
        offset: equal,
        expected_byte: left.get(equal).copied(),
        found_byte: right.get(equal).copied(),
        expected_around: around(left),
        found_around: around(right),
        column: escaped(&left[start..equal]).len(),
        in_digest_of: ["continuation_state", "input_responses"]
            .into_iter()
            .find(|member| digest_of(expected, member).is_some_and(|range| range.contains(&equal))),
    })
}

/// Where the digest of a top-level member stands. What the same words look like inside of texts is escaped, and before it there
/// can only be arguments; so the last place is the one.
fn digest_of(canonical: &str, member: &str) -> Option<Range<usize>> {
    let key = format!(",\"{member}\":\"");
    let start = canonical.rfind(&key)? + key.len();
    Some(start..start + DIGEST_DIGITS)
}

fn escaped(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b'\\' => "\\\\".to_owned(),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_differing_byte_is_named_with_both_sides() {
        let difference = first_difference(r#"{"a":"é\n"}"#, r#"{"a":"è\n"}"#).expect("they differ");
        assert_eq!(
            (difference.offset, difference.expected_byte, difference.found_byte),
            (7, Some(0xa9), Some(0xa8))
        );
        assert_eq!(difference.expected_around, r#"{"a":"\xc3\xa9\\n"}"#);
        assert_eq!(difference.found_around, r#"{"a":"\xc3\xa8\\n"}"#);
        assert_eq!(difference.column, 10);
        let shorter = first_difference("[1]", "[1").expect("they differ");
        assert_eq!(
            (shorter.offset, shorter.expected_byte, shorter.found_byte),
            (2, Some(b']'), None)
        );
        let longer = first_difference("[1]", "[1]\n").expect("they differ");
        assert_eq!(
            (longer.offset, longer.expected_byte, longer.found_byte),
            (3, None, Some(b'\n'))
        );
        assert_eq!(first_difference("[1]", "[1]"), None);
    }

    #[test]
    fn a_difference_in_a_digest_names_its_member() {
        let text = |digit: char, other: char| {
            let arguments = format!(r#"{{"continuation_state":"{}"}}"#, "0".repeat(64));
            format!(
                r#"{{"arguments":{arguments},"continuation_state":"{}","input_responses":"{}","principal":"a"}}"#,
                digit.to_string().repeat(64),
                other.to_string().repeat(64)
            )
        };
        let member = |found: &str| {
            first_difference(&text('1', '2'), found)
                .expect("they differ")
                .in_digest_of
        };
        assert_eq!(member(&text('3', '2')), Some("continuation_state"));
        assert_eq!(member(&text('1', '3')), Some("input_responses"));
        assert_eq!(member(&text('1', '2').replace("\"a\"", "\"b\"")), None);
        assert_eq!(member(&text('1', '2').replacen('0', "1", 1)), None);
    }

    #[test]
    fn what_is_missing_or_of_another_type_differs() {
        let expected = Expected::Recovery {
            action: "return-stored-result".to_owned(),
            reason: None,
            result: Some(json!({"id": 5})),
        };
        let members =
            |answer: Value| -> Vec<&'static str> { compare(&expected, &answer).iter().map(|one| one.member).collect() };
        assert_eq!(
            members(json!({"action": "return-stored-result", "result": {"id": 5}, "more": 1})),
            [""; 0]
        );
        assert_eq!(members(json!({"action": "return-stored-result"})), ["result"]);
        assert_eq!(members(json!({"action": 5, "result": {"id": 6}})), ["action", "result"]);
        let anywhere = Expected::Refused { place: None };
        assert!(compare(&anywhere, &json!({"refused": "$"})).is_empty());
        assert_eq!(compare(&anywhere, &json!({"canonical": "{}"})).len(), 1);
    }
}
