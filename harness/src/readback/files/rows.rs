//! Elements of JSON as rows: one for each element, one column for each key that holds a single value, and one for the rest.
//!
//! Must not fail on a long text: nobody can ask a document for less of it, so such a text is shown by size and digest.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::readback::Rows;
use crate::readback::error::Bound;
use crate::readback::marker::Marker;
use crate::readback::query::{ANSWER_BYTES_MAX, CELL_BYTES_MAX, ROWS_MAX};

/// Most columns that are made of keys; further keys stand in the rest. What is counted are rows.
pub const KEY_COLUMNS_MAX: usize = 100;

/// The column of elements that are no objects, and of objects without any single value.
const VALUE: &str = "value";

/// The column of what has no column of its own: arrays, objects, and keys beyond [`KEY_COLUMNS_MAX`]. Two elements that differ
/// in it are two different rows.
const REST: &str = "rest";

/// The column of the keys of members.
const KEY: &str = "key";

/// One element of an array, or one member of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) key: Option<&'a str>,
    pub(super) value: &'a Value,
}

impl Element<'_> {
    /// Whether the marker stands anywhere in it, keys included.
    pub(super) fn is_marked(&self, marker: &Marker) -> bool {
        self.key.is_some_and(|key| marker.is_in(key)) || is_marked(self.value, marker)
    }
}

/// As deep as a parsed document is, which the parser bounds.
fn is_marked(value: &Value, marker: &Marker) -> bool {
    match value {
        Value::String(text) => marker.is_in(text),
        Value::Array(items) => items.iter().any(|item| is_marked(item, marker)),
        Value::Object(members) => {
            let mut members = members.iter();
            members.any(|(key, value)| marker.is_in(key) || is_marked(value, marker))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The elements as rows, or the bound that they exceed.
pub(super) fn table(elements: &[Element<'_>]) -> Result<Rows, Bound> {
    if elements.len() > ROWS_MAX {
        return Err(Bound::Rows);
    }
    let columns = Columns::of(elements);
    let mut bytes_left = ANSWER_BYTES_MAX;
    let mut rows = Vec::with_capacity(elements.len());
    for element in elements {
        let row = columns.row(element);
        let bytes: usize = row.iter().map(size).sum();
        bytes_left = bytes_left.checked_sub(bytes).ok_or(Bound::Answer)?;
        rows.push(row);
    }
    Ok(Rows {
        columns: columns.names(),
        rows,
    })
}

struct Columns<'a> {
    has_key: bool,
    keys: Vec<&'a str>,
    has_value: bool,
    has_rest: bool,
}

impl<'a> Columns<'a> {
    fn of(elements: &[Element<'a>]) -> Self {
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in elements.iter().flat_map(|element| singles(element.value)) {
            if keys.len() < KEY_COLUMNS_MAX && !keys.contains(&key) {
                keys.push(key);
            }
        }
        let has_rest = elements.iter().any(|element| rest(element.value, &keys).is_some());
        Self {
            has_key: elements.iter().any(|element| element.key.is_some()),
            keys,
            has_rest,
            has_value: elements.iter().any(|element| singles(element.value).next().is_none()),
        }
    }

    fn names(&self) -> Vec<String> {
        let key = self.has_key.then_some(KEY);
        let value = self.has_value.then_some(VALUE);
        let rest = self.has_rest.then_some(REST);
        let names = key
            .into_iter()
            .chain(self.keys.iter().copied())
            .chain(value)
            .chain(rest);
        names.map(str::to_owned).collect()
    }

    fn row(&self, element: &Element<'_>) -> Vec<Value> {
        let mut row = Vec::new();
        if self.has_key {
            row.push(element.key.map_or(Value::Null, |key| cell(&json!(key))));
        }
        for key in &self.keys {
            let single = element.value.get(*key).filter(|value| is_single(value));
            row.push(single.map_or(Value::Null, cell));
        }
        if self.has_value {
            let is_shown = singles(element.value).next().is_none();
            row.push(if is_shown { cell(element.value) } else { Value::Null });
        }
        if self.has_rest {
            row.push(rest(element.value, &self.keys).map_or(Value::Null, |rest| cell(&rest)));
        }
        row
    }
}

/// The members of an object that have no column; none where all have one, or where the object is shown whole.
fn rest(value: &Value, keys: &[&str]) -> Option<Value> {
    singles(value).next()?;
    let members = value.as_object()?.iter();
    let rest = members.filter(|(key, value)| !is_single(value) || !keys.contains(&key.as_str()));
    let rest: serde_json::Map<String, Value> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!rest.is_empty()).then_some(Value::Object(rest))
}

/// The members of an object that are single values.
fn singles(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members
        .map(|(key, value)| (key.as_str(), value))
        .filter(|(_, value)| is_single(value))
}

fn is_single(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// A single value as it is, anything else as its text.
pub(super) fn cell(value: &Value) -> Value {
    let text = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => return value.clone(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.len() > CELL_BYTES_MAX {
        let sha256 = base16ct::lower::encode_string(&Sha256::digest(text.as_bytes()));
        return json!({ "text_bytes": text.len(), "sha256": sha256 });
    }
    Value::String(text)
}

/// How many bytes of an answer a cell is.
pub(super) fn size(cell: &Value) -> usize {
    cell.as_str().map_or(size_of::<u64>(), str::len)
}
