//! The one JSON text that stands for a JSON value: the input of every digest and fingerprint of this server.
//!
//! It must not round, reorder by anything but Unicode scalar values, or accept a number that two JSON implementations could
//! read differently: what cannot be written exactly is refused, and the error names the place.

use std::fmt::{self, Write as _};

use serde_json::{Map, Number, Value};
use thiserror::Error;

/// The largest integer that every JSON implementation holds exactly: 2^53 − 1. Its negative is the smallest.
pub const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// A value that has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: the number {number} is {problem}; only integers within ±(2^53−1) have a canonical form")]
pub struct CanonicalError {
    /// Where the number stands, from the root `$`, as in `$.arguments.list[1].deep`.
    pub path: String,
    /// The number as it was read.
    pub number: String,
    problem: NumberProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberProblem {
    Fractional,
    OutOfRange,
}

impl fmt::Display for NumberProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Fractional => "not integral",
            Self::OutOfRange => "out of range",
        })
    }
}

/// Writes `value` in canonical form: object keys in Unicode scalar order, no white space, text in UTF-8 and escaped only where
/// JSON requires it, numbers as plain integers (`1`, `1.0` and `1e0` are one number, and so are `0` and `-0`).
///
/// Fails on a number that is not integral or not within ±[`INTEGER_MAX`], naming its place.
pub fn canonical_json(value: &Value) -> Result<String, CanonicalError> {
    let mut writer = Writer {
        text: String::new(),
        path: String::from("$"),
    };
    writer.value(value)?;
    Ok(writer.text)
}

struct Writer {
    text: String,
    path: String,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), CanonicalError> {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(true) => self.text.push_str("true"),
            Value::Bool(false) => self.text.push_str("false"),
            Value::Number(number) => return self.number(number),
            Value::String(string) => push_string(&mut self.text, string),
            Value::Array(items) => return self.array(items),
            Value::Object(members) => return self.object(members),
        }
        Ok(())
    }

    fn array(&mut self, items: &[Value]) -> Result<(), CanonicalError> {
        self.text.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.below(&format!("[{index}]"), item)?;
        }
        self.text.push(']');
        Ok(())
    }

    fn object(&mut self, members: &Map<String, Value>) -> Result<(), CanonicalError> {
        // Rust orders strings by their UTF-8 bytes, which is the order of their Unicode scalar values.
        let mut members: Vec<(&String, &Value)> = members.iter().collect();
        members.sort_unstable_by_key(|&(key, _)| key);
        self.text.push('{');
        for (index, (key, value)) in members.into_iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            push_string(&mut self.text, key);
            self.text.push(':');
            self.below(&path_step(key), value)?;
        }
        self.text.push('}');
        Ok(())
    }

    fn below(&mut self, step: &str, value: &Value) -> Result<(), CanonicalError> {
        let length_before = self.path.len();
        self.path.push_str(step);
        self.value(value)?;
        self.path.truncate(length_before);
        Ok(())
    }

    fn number(&mut self, number: &Number) -> Result<(), CanonicalError> {
        let integer = integer_of(number).map_err(|problem| CanonicalError {
            path: self.path.clone(),
            number: number.to_string(),
            problem,
        })?;
        self.text.push_str(&integer.to_string());
        Ok(())
    }
}

fn integer_of(number: &Number) -> Result<i64, NumberProblem> {
    let in_range = |integer: &i64| (-INTEGER_MAX..=INTEGER_MAX).contains(integer);
    if let Some(integer) = number.as_i64() {
        return Some(integer).filter(in_range).ok_or(NumberProblem::OutOfRange);
    }
    match number.as_f64() {
        Some(float) if float.is_finite() && float.fract() == 0.0 => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the cast saturates, and the range check follows"
            )]
            let integer = float as i64;
            Some(integer).filter(in_range).ok_or(NumberProblem::OutOfRange)
        }
        Some(float) if float.is_finite() => Err(NumberProblem::Fractional),
        _ => Err(NumberProblem::OutOfRange),
    }
}

fn push_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            control if control < '\u{20}' => {
                write!(text, "\\u{:04x}", u32::from(control)).expect("writing to a String cannot fail");
            }
            plain => text.push(plain),
        }
    }
    text.push('"');
}

/// `.key` for a key that reads as a name, `["any key"]` for the rest, so that a path is never ambiguous.
pub fn path_step(key: &str) -> String {
    let reads_as_name = !key.is_empty()
        && key
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_');
    if reads_as_name {
        return format!(".{key}");
    }
    let mut step = String::from("[");
    push_string(&mut step, key);
    step.push(']');
    step
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
