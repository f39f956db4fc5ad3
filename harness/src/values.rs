//! What is looked at in a JSON text before it is parsed: how many values it holds, and whether a key stands twice.
//! A value takes two bytes in a file and some seventy in memory, an object of one member ten and five hundred: the size of a file
//! alone bounds nothing.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Most values that are held at once: less than a gigabyte of plain ones, and some two of the smallest objects.
pub(crate) const VALUES_MAX: usize = 8_000_000;

/// Not fewer than the values in a JSON text or in lines of them, and not many more: keys count too.
pub(crate) fn values_in(text: &[u8]) -> usize {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' | b'\n' if !is_text => values += 1,
            _ => {}
        }
    }
    values
}

/// Refuses a JSON text in which a key stands twice in one object: one reader takes the first, another one the last.
pub(crate) fn refuse_keys_twice(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<KeysOnce>(text).map(drop)
}

/// Any value, of which nothing is kept.
struct KeysOnce;

impl<'de> Deserialize<'de> for KeysOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeysOnceVisitor)
    }
}

struct KeysOnceVisitor;

impl<'de> Visitor<'de> for KeysOnceVisitor {
    type Value = KeysOnce;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_bool<E>(self, _: bool) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_i64<E>(self, _: i64) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_u64<E>(self, _: u64) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_f64<E>(self, _: f64) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_str<E>(self, _: &str) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<KeysOnce, A::Error> {
        while values.next_element::<KeysOnce>()?.is_some() {}
        Ok(KeysOnce)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<KeysOnce, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} stands twice in one object"
                )));
            }
            keys.insert(key);
            members.next_value::<KeysOnce>()?;
        }
        Ok(KeysOnce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_does() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"[0,{"b":{"a":1,"c":[],"a":2}}]"#,
            r#"{"\u0061":1,"a":2}"#,
        ] {
            let error = refuse_keys_twice(text).unwrap_err().to_string();
            assert!(error.contains(r#"the key "a" stands twice"#), "{text}: {error}");
        }
        for text in [
            r#"{"a":{"a":[{"a":1},{"a":-1.5}]},"b":null,"c":true,"d":"é"}"#,
            "[]",
            "7",
        ] {
            assert!(refuse_keys_twice(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn values_are_counted_where_they_are_and_not_in_texts() {
        for (text, values) in [
            ("1", 1),
            ("[1,2,[],{}]", 7),
            (r#"{"a":",,,,","b\"[":2}"#, 5),
            ("[]\n[]", 4),
            (r#""\\",1"#, 2),
        ] {
            assert_eq!(values_in(text.as_bytes()), values, "{text}");
        }
    }
}
