//! Rows of a store as typed columns. A column is read when a fact needs it, so that what is wrong with it keeps no other fact
//! from being observed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::event::{Event, State, Word};
use crate::protocol::shortened;
use crate::record::{Reading, ReadingOutcome};

/// How much of a cell is shown that is not what it must be, in characters.
const CELL_CHARS_MAX: usize = 60;

/// Why a fact cannot be observed, for people.
pub(super) type NotObserved = String;

/// One kind of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    kind: &'static str,
    reading: &'a Reading,
}

impl<'a> Table<'a> {
    /// The rows of `[read.KIND]`.
    pub(super) fn new(kind: &'static str, reading: &'a Reading) -> Self {
        Self { kind, reading }
    }

    /// Why nothing can be said of these rows: the column of this name is missing, or a cell in it is not what it must be.
    fn column<T>(
        &self,
        name: &str,
        must_be: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Vec<T>, NotObserved> {
        let kind = self.kind;
        let rows = match &self.reading.outcome {
            ReadingOutcome::Rows(rows) => rows,
            ReadingOutcome::Nothing { .. } => return Ok(Vec::new()),
            ReadingOutcome::Unreadable { reason } => return Err(reason.clone()),
        };
        // Files without an element have no columns either.
        if rows.rows.is_empty() {
            return Ok(Vec::new());
        }
        let Some(at) = rows.columns.iter().position(|column| column == name) else {
            let columns = rows.columns.join(", ");
            return Err(format!(
                "[read.{kind}] gives no column `{name}`, only {columns}; name one so, with `AS {name}`"
            ));
        };
        let cell = |(row, number): (&'a Vec<Value>, usize)| {
            let cell = row.get(at);
            cell.and_then(&read).ok_or_else(|| {
                let found = cell.map_or_else(|| "nothing".to_owned(), Value::to_string);
                let found = shortened(&found, CELL_CHARS_MAX);
                format!("[read.{kind}] gives a `{name}` that is not {must_be}: {found}, in row {number}")
            })
        };
        rows.rows.iter().zip(1..).map(cell).collect()
    }

    /// The same, with `None` for null.
    fn column_or_null<T>(
        &self,
        name: &str,
        must_be: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Vec<Option<T>>, NotObserved> {
        self.column(name, must_be, |cell| {
            if cell.is_null() {
                return Some(None);
            }
            read(cell).map(Some)
        })
    }

    /// To which execution each row belongs.
    pub(super) fn executions(&self) -> Result<Vec<String>, NotObserved> {
        self.column("execution", "a text or an integer", name)
    }

    /// Integers.
    pub(super) fn integers(&self, column: &str) -> Result<Vec<i64>, NotObserved> {
        self.column(column, "an integer", Value::as_i64)
    }

    /// Integers, and `None` for null.
    pub(super) fn integers_or_null(&self, column: &str) -> Result<Vec<Option<i64>>, NotObserved> {
        self.column_or_null(column, "an integer or null", Value::as_i64)
    }

    /// Numbers, as they stand there.
    pub(super) fn numbers(&self, column: &str) -> Result<Vec<&'a Value>, NotObserved> {
        self.column(column, "a number", |cell| cell.is_number().then_some(cell))
    }

    /// Names of workers.
    pub(super) fn workers(&self) -> Result<Vec<Option<String>>, NotObserved> {
        self.column_or_null("worker", "a text, an integer or null", name)
    }

    /// Texts, and `None` for null.
    pub(super) fn notes(&self) -> Result<Vec<Option<&'a str>>, NotObserved> {
        self.column_or_null("note", "a text or null", Value::as_str)
    }

    /// Texts of any kind.
    pub(super) fn texts(&self, column: &str) -> Result<Vec<&'a str>, NotObserved> {
        self.column(column, "a text", Value::as_str)
    }

    /// Cells as they are.
    pub(super) fn cells(&self, column: &str) -> Result<Vec<&'a Value>, NotObserved> {
        self.column(column, "there", Some)
    }

    /// The `event` of each row of a log.
    pub(super) fn words(&self) -> Result<Vec<Word>, NotObserved> {
        let must_be = format!("one of the event words ({})", Word::all_names());
        self.column("event", &must_be, |cell| Word::named(cell.as_str()?))
    }

    /// The `state` of each execution.
    pub(super) fn states(&self) -> Result<Vec<State>, NotObserved> {
        let must_be = format!("one of the states ({})", State::all_names());
        self.column("state", &must_be, |cell| State::named(cell.as_str()?))
    }

    /// The events of a log, in its order.
    pub(super) fn events(&self) -> Result<Vec<Event<'a>>, NotObserved> {
        let (words, tokens) = (self.words()?, self.integers_or_null("token")?);
        let (workers, notes) = (self.workers()?, self.notes()?);
        let columns = words.into_iter().zip(tokens).zip(workers).zip(notes);
        let event = |(((word, token), worker), note)| Event {
            word,
            token,
            worker,
            note,
        };
        Ok(columns.map(event).collect())
    }

    /// One value for each row, put together by execution; each execution's in the order of the rows.
    pub(super) fn by_execution<T>(&self, values: Vec<T>) -> Result<BTreeMap<String, Vec<T>>, NotObserved> {
        let mut grouped: BTreeMap<String, Vec<T>> = BTreeMap::new();
        for (execution, value) in self.executions()?.into_iter().zip(values) {
            grouped.entry(execution).or_default().push(value);
        }
        Ok(grouped)
    }
}

/// A name: some stores number what others name.
fn name(cell: &Value) -> Option<String> {
    match cell {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
