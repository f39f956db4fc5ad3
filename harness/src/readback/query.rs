//! The question asked of a store and its answer, as values: printed, recorded, compared.
//!
//! Must not know how any kind of store is opened.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most rows that one answer may have.
pub const ROWS_MAX: usize = 10_000;

/// Most bytes that one cell of an answer may have, before it is written as JSON.
pub const CELL_BYTES_MAX: usize = 64 * 1024;

/// Most bytes that all the cells of one answer may have together.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Largest store that is copied to be read while its server lives.
pub const LIVE_STORE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// One reading statement and the values of its named parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SqlQuery {
    /// One statement that only reads, such as `SELECT id FROM orders WHERE note = $marker`.
    pub sql: String,
    /// Values by name, written without the `$`. Bound as text; names that the statement does not use are ignored.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

impl SqlQuery {
    /// A statement with its parameters, given as pairs of a name (without `$`) and a value.
    pub fn new<'a>(sql: impl Into<String>, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            sql: sql.into(),
            parameters: parameters.into_iter().map(owned).collect(),
        }
    }
}

/// A whole answer; one that is larger than the bounds of this module is an error, never cut.
///
/// NULL is `null`; an integer or a finite real is a number, any other real a string; text is a string; a blob, and
/// text that is not UTF-8, is `{"bytes_hex": "…"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rows {
    /// The names of the columns, in the order of the statement.
    pub columns: Vec<String>,
    /// One entry per row, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
}

impl Rows {
    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }
}
