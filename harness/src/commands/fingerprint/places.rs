//! A walk over JSON text that knows where it is: the place of a fault, and what the canonical form will change.
//!
//! It builds nothing. What a request means is read by the guard itself, so the two cannot disagree about a value.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use reference_server::guard::canonical::path_step;
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Text that is no JSON, or holds what has no meaning.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// From the root `$`.
    pub(super) place: String,
    /// What the parser says, with line and column.
    pub(super) reason: String,
}

/// What the canonical form changes at one place.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// From the root `$`.
    pub(super) place: String,
    /// In words.
    pub(super) change: String,
}

/// Walks over a whole text.
pub(super) fn walk(text: &str) -> Result<Vec<Change>, Fault> {
    let trace = RefCell::new(Trace::default());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let walked = Walk(&trace)
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    let trace = trace.into_inner();
    match walked {
        Ok(()) => Ok(trace.changes),
        // A step is left only when what lies below it was whole, so the path leads to the fault.
        Err(error) => Err(Fault {
            place: trace.place(),
            reason: error.to_string(),
        }),
    }
}

/// The kind of a value, for people.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[derive(Debug, Default)]
struct Trace {
    steps: Vec<String>,
    changes: Vec<Change>,
}

impl Trace {
    fn place(&self) -> String {
        format!("${}", self.steps.concat())
    }

    fn changed(&mut self, change: impl Into<String>) {
        let place = self.place();
        self.changes.push(Change {
            place,
            change: change.into(),
        });
    }
}

/// Goes over one value.
#[derive(Clone, Copy)]
struct Walk<'a>(&'a RefCell<Trace>);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _value: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _value: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _value: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _value: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        if value.fract() == 0.0 {
            // Adding zero turns -0 into 0.
            let integer = value + 0.0;
            self.0
                .borrow_mut()
                .changed(format!("the number {value:?} is written {integer}"));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0_usize.. {
            self.0.borrow_mut().steps.push(format!("[{index}]"));
            let item = items.next_element_seed(self)?;
            self.0.borrow_mut().steps.pop();
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut is_in_order = true;
        while let Some(key) = members.next_key::<String>()? {
            self.0.borrow_mut().steps.push(path_step(&key));
            members.next_value_seed(self)?;
            is_in_order &= seen.last().is_none_or(|last| *last <= key);
            if !seen.insert(key) {
                self.0.borrow_mut().changed("it was given before; the last one counts");
            }
            self.0.borrow_mut().steps.pop();
        }
        if !is_in_order {
            self.0.borrow_mut().changed("the members are put in order");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_place() {
        for (text, place) in [
            (r#"{"arguments":{"s":"\ud800"}}"#, "$.arguments.s"),
            (r#"{"arguments":{"\udc00":1}}"#, "$.arguments"),
            (r#"{"arguments":{"n":[1,1e400]}}"#, "$.arguments.n[1]"),
            (r#"{"a":{"b.c":[{}, {"d":nul}]}}"#, r#"$.a["b.c"][1].d"#),
            (r#"{"a":1"#, "$"),
            (r#"{"a":1} x"#, "$"),
            ("", "$"),
        ] {
            assert_eq!(walk(text).expect_err(text).place, place, "{text}");
        }
    }

    #[test]
    fn every_change_of_the_canonical_form_is_told() {
        let changes = walk(r#"{"b":[1.0,-0,1e2,7],"a":{"x":1,"x":2}}"#).expect("JSON");
        let told: Vec<(&str, &str)> = changes
            .iter()
            .map(|one| (one.place.as_str(), one.change.as_str()))
            .collect();
        let expected = [
            ("$.b[0]", "the number 1.0 is written 1"),
            ("$.b[1]", "the number -0.0 is written 0"),
            ("$.b[2]", "the number 100.0 is written 100"),
            ("$.a.x", "it was given before; the last one counts"),
            ("$", "the members are put in order"),
        ];
        assert_eq!(told, expected);
        assert_eq!(walk(r#"{"a":[],"b":"\u0061"}"#), Ok(vec![]));
    }
}
