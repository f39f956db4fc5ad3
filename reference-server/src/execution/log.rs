//! The statements of the event log: append and read. Nothing here begins or commits, and nothing changes an event.

use rusqlite::{Connection, Row, Transaction, params};
use serde_json::{Value, json};

use super::event::{Event, Kind};
use crate::ledger::messages::LedgerError;

/// An event that is about to be appended.
pub(crate) struct Entry<'a> {
    pub(crate) kind: Kind,
    pub(crate) token: Option<i64>,
    pub(crate) worker_id: Option<&'a str>,
    pub(crate) detail: Value,
}

impl<'a> Entry<'a> {
    pub(crate) fn of(kind: Kind) -> Self {
        Self {
            kind,
            token: None,
            worker_id: None,
            detail: json!({}),
        }
    }

    pub(crate) fn by(kind: Kind, token: i64, worker_id: &'a str) -> Self {
        Self {
            token: Some(token),
            worker_id: Some(worker_id),
            ..Self::of(kind)
        }
    }

    pub(crate) fn with(self, detail: Value) -> Self {
        Self { detail, ..self }
    }
}

/// Appends `entry` at the next number, in the transaction that makes what it tells.
pub(crate) fn append(
    transaction: &Transaction<'_>,
    execution_id: &str,
    entry: &Entry<'_>,
    now_s: i64,
) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO execution_events (execution_id, seq, position, event, token, worker_id, detail, at)
         SELECT ?1,
                (SELECT coalesce(max(seq), 0) + 1 FROM execution_events WHERE execution_id = ?1),
                (SELECT coalesce(max(position), 0) + 1 FROM execution_events),
                ?2, ?3, ?4, ?5, ?6",
    )?;
    statement.execute(params![
        execution_id,
        entry.kind.name(),
        entry.token,
        entry.worker_id,
        entry.detail.to_string(),
        now_s
    ])?;
    Ok(())
}

/// The log of one execution, in order. An event whose kind is unknown was written by somebody else, and is an error.
pub(crate) fn read(connection: &Connection, execution_id: &str) -> Result<Vec<Event>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, event, token, worker_id, detail, at FROM execution_events WHERE execution_id = ?1 ORDER BY seq",
    )?;
    let events = statement.query_map([execution_id], event)?;
    Ok(events.collect::<Result<_, _>>()?)
}

fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let word: String = row.get(1)?;
    let detail: String = row.get(4)?;
    let kind = Kind::named(&word).ok_or_else(|| unreadable(1, format!("{word:?} is no event")))?;
    Ok(Event {
        seq: row.get(0)?,
        kind,
        token: row.get(2)?,
        worker_id: row.get(3)?,
        detail: serde_json::from_str(&detail).map_err(|error| unreadable(4, error.to_string()))?,
        at_s: row.get(5)?,
    })
}

/// What stands in a column and cannot be read.
pub(crate) fn unreadable(column: usize, words: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, words.into())
}
