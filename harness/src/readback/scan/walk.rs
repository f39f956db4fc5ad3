//! The places of a marker in one JSON text, found while it is parsed, so that no tree of a large document is held.
//!
//! Must not look at numbers: a marker is text. How deep a document may be is bounded by the parser.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::de::SliceRead;

use super::place::Sighting;
use crate::readback::Marker;
use crate::readback::files::json::{Broken, broken, each_line, without_mark};

/// The sightings in a JSON text, by general pointer.
pub(super) type Pointers = BTreeMap<String, Sighting>;

/// Finds the places in one document, or, where a first document is followed by others, in JSON Lines: many servers name
/// such a file `.json`.
pub(super) fn document_or_lines(bytes: &[u8], marker: &Marker) -> Result<Pointers, Broken> {
    let mut found = Search::new(marker);
    let mut parser = serde_json::Deserializer::from_slice(without_mark(bytes));
    let read: Result<(), serde_json::Error> = DeserializeSeed::deserialize(&mut found, &mut parser);
    if let Err(error) = read {
        return Err(broken(&error, error.line().max(1)));
    }
    if parser.end().is_ok() {
        return Ok(found.found);
    }
    lines(bytes, marker)
}

/// Finds the places in JSON Lines.
pub(super) fn lines(bytes: &[u8], marker: &Marker) -> Result<Pointers, Broken> {
    let mut found = Search::new(marker);
    each_line(bytes, |line| {
        let mut parser: serde_json::Deserializer<SliceRead<'_>> = serde_json::Deserializer::from_slice(line);
        DeserializeSeed::deserialize(&mut found, &mut parser)?;
        parser.end()
    })?;
    for sighting in found.found.values_mut() {
        sighting.is_line = true;
    }
    Ok(found.found)
}

struct Search<'a> {
    marker: &'a Marker,
    /// Where the parser is.
    pointer: String,
    found: Pointers,
}

impl<'a> Search<'a> {
    fn new(marker: &'a Marker) -> Self {
        Self {
            marker,
            pointer: String::new(),
            found: Pointers::new(),
        }
    }

    fn see(&mut self, text: &str) {
        let count = self.marker.occurrences(text.as_bytes());
        if count == 0 {
            return;
        }
        let seen = Sighting {
            is_whole: text == self.marker.text(),
            ..Sighting::within(count)
        };
        match self.found.get_mut(&self.pointer) {
            Some(sum) => sum.add(seen),
            None => {
                self.found.insert(self.pointer.clone(), seen);
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.see(text);
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let outside = self.pointer.len();
        self.pointer.push_str("/*");
        while items.next_element_seed(&mut *self)?.is_some() {}
        self.pointer.truncate(outside);
        Ok(())
    }

    /// A key that carries the marker is seen in the place of its value.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let outside = self.pointer.len();
        while let Some(key) = members.next_key::<Cow<'_, str>>()? {
            self.pointer.push('/');
            if self.marker.is_in(&key) {
                self.pointer.push('*');
                self.see(&key);
            } else {
                self.pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            members.next_value_seed(&mut *self)?;
            self.pointer.truncate(outside);
        }
        Ok(())
    }
}
