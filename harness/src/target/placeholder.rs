//! Placeholders: `{marker}` and its kin, in strings and anywhere inside JSON.
//!
//! `{{` and `}}` stand for single braces. An unknown placeholder is an error that names the known ones: a literal
//! `{markr}` sent to a server would make every count zero.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::document;

/// What the placeholders stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    values: BTreeMap<&'static str, String>,
}

/// Why a template cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// A name that stands for nothing here.
    #[error("unknown placeholder `{{{name}}}` in {template:?}{hint}; write `{{{{` for a literal brace")]
    Unknown {
        /// The name.
        name: String,
        /// Where it stands.
        template: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// A brace that opens or closes nothing.
    #[error("a lone `{brace}` in {template:?}; write `{brace}{brace}` for a literal brace")]
    LoneBrace {
        /// Which one.
        brace: char,
        /// Where it stands.
        template: String,
    },
}

impl Values {
    /// Adds or replaces a value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.values.insert(name, value.into());
        self
    }

    /// Fills in a string.
    pub fn fill(&self, template: &str) -> Result<String, PlaceholderError> {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            filled.push_str(&rest[..at]);
            let brace = if rest[at..].starts_with('{') { '{' } else { '}' };
            let after = &rest[at + 1..];
            if let Some(after) = after.strip_prefix(brace) {
                filled.push(brace);
                rest = after;
                continue;
            }
            let lone = || PlaceholderError::LoneBrace {
                brace,
                template: template.to_owned(),
            };
            if brace == '}' {
                return Err(lone());
            }
            let end = after.find('}').ok_or_else(lone)?;
            filled.push_str(self.value(&after[..end], template)?);
            rest = &after[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Fills in every string inside a JSON value; keys are left alone.
    pub fn fill_json(&self, template: &Value) -> Result<Value, PlaceholderError> {
        Ok(match template {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => {
                let items: Result<Vec<Value>, _> = items.iter().map(|item| self.fill_json(item)).collect();
                Value::Array(items?)
            }
            Value::Object(members) => Value::Object(self.fill_map(members)?),
            Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
        })
    }

    /// Fills in every string inside a JSON object.
    pub fn fill_map(&self, template: &Map<String, Value>) -> Result<Map<String, Value>, PlaceholderError> {
        let members = template.iter();
        members
            .map(|(key, value)| Ok((key.clone(), self.fill_json(value)?)))
            .collect()
    }

    fn value(&self, name: &str, template: &str) -> Result<&str, PlaceholderError> {
        self.values.get(name).map(String::as_str).ok_or_else(|| {
            let known: Vec<&str> = self.values.keys().copied().collect();
            let hint = match document::nearest(name, known.iter().copied()) {
                Some(near) => format!("; did you mean `{{{near}}}`?"),
                None => format!("; known here: {}", known.join(", ")),
            };
            PlaceholderError::Unknown {
                name: name.to_owned(),
                template: template.to_owned(),
                hint,
            }
        })
    }
}

/// The template that stands for this text, whatever braces it has.
pub fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Whether a JSON template mentions a placeholder anywhere.
pub(super) fn mentions(template: &Map<String, Value>, name: &str) -> bool {
    fn inside(value: &Value, needle: &str) -> bool {
        match value {
            Value::String(text) => text.contains(needle),
            Value::Array(items) => items.iter().any(|item| inside(item, needle)),
            Value::Object(members) => members.values().any(|member| inside(member, needle)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    let needle = format!("{{{name}}}");
    template.values().any(|value| inside(value, &needle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values() -> Values {
        Values::default().with("marker", "mk-1").with("operation", "op-1")
    }

    #[test]
    fn strings_are_filled_wherever_they_stand() {
        let filled = values().fill_json(&json!({"a": ["{marker}", 1, {"{marker}": "x {operation} y"}]}));
        assert_eq!(filled, Ok(json!({"a": ["mk-1", 1, {"{marker}": "x op-1 y"}]})));
    }

    #[test]
    fn doubled_braces_are_literal() {
        assert_eq!(values().fill("{{marker}} {marker}"), Ok("{marker} mk-1".to_owned()));
    }

    #[test]
    fn an_unknown_placeholder_is_refused_with_the_nearest_one() {
        let error = values().fill("{markr}").expect_err("unknown");
        assert!(error.to_string().contains("did you mean `{marker}`?"), "{error}");
    }

    #[test]
    fn lone_braces_are_refused() {
        for template in ["{", "}", "a { b", "x } y"] {
            assert!(values().fill(template).is_err(), "{template}");
        }
    }
}
