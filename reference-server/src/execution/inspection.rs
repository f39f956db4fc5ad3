//! What a store holds of durable execution, as plain values: a part of what `inspect` shows. Read-only.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use serde::Serialize;
use serde_json::Value;

use super::event::Kind;
use crate::clock::rfc3339_or_number;

/// What stands in the tables of durable execution, at one moment.
#[derive(Debug, Serialize)]
pub struct ExecutionInspection {
    /// Counts over the whole store, also when one execution was asked for.
    pub totals: Totals,
    /// The executions, oldest first.
    pub executions: Vec<Execution>,
    /// Their leases, in the order in which they were granted.
    pub leases: Vec<Lease>,
    /// Their retries.
    pub retries: Vec<Retry>,
    /// The event log of the execution that was asked for; empty when none was.
    pub events: Vec<Event>,
}

/// Counts over a whole store.
#[derive(Debug, Serialize)]
pub struct Totals {
    /// Executions by state.
    pub executions: BTreeMap<String, i64>,
    /// Events by kind.
    pub events: BTreeMap<String, i64>,
    /// How many claims of a hundred ended with an expired lease; null without a claim.
    pub crash_rate_percent: Option<f64>,
}

impl Totals {
    /// How many events of this kind the log holds.
    pub fn of(&self, kind: Kind) -> i64 {
        self.events.get(kind.name()).copied().unwrap_or_default()
    }
}

/// An execution.
#[derive(Debug, Serialize)]
pub struct Execution {
    /// Its name.
    pub execution_id: String,
    /// How it stands.
    pub state: String,
    /// The tool that was called.
    pub tool: String,
    /// Whose it is.
    pub principal: String,
    /// Whose keys these are.
    pub namespace: String,
    /// The caller's key.
    pub idempotency_key: String,
    /// The arguments; a text when they are no JSON.
    pub arguments: Value,
    /// How often it was claimed, without the claims that were given back.
    pub attempts: i64,
    /// The last token that was given.
    pub last_token: i64,
    /// Its result.
    pub result: Option<Value>,
    /// Why it failed.
    pub error: Option<String>,
    /// When it was submitted.
    pub submitted_at: String,
    /// When its state last changed.
    pub changed_at: String,
}

/// A lease.
#[derive(Debug, Serialize)]
pub struct Lease {
    /// Of which execution.
    pub execution_id: String,
    /// Its token.
    pub token: i64,
    /// Whose.
    pub worker_id: String,
    /// `held`, or how it ended.
    pub state: String,
    /// Since when.
    pub granted_at: String,
    /// Until when without another heartbeat.
    pub expires_at: String,
    /// How much of it is left, in seconds; negative when the reaper is late, null when it has ended or no clock was asked.
    pub remaining_s: Option<i64>,
}

/// A retry.
#[derive(Debug, Serialize)]
pub struct Retry {
    /// Of which execution.
    pub execution_id: String,
    /// After which attempt.
    pub attempt: i64,
    /// How long it waits, in seconds.
    pub backoff_s: i64,
    /// Until when.
    pub due_at: String,
    /// `scheduled`, `promoted` or `cancelled`.
    pub state: String,
}

/// An event.
#[derive(Debug, Serialize)]
pub struct Event {
    /// Its place in the execution's log.
    pub seq: i64,
    /// What happened.
    pub event: String,
    /// The token it is about.
    pub token: Option<i64>,
    /// The worker it is about.
    pub worker_id: Option<String>,
    /// What belongs to the kind.
    pub detail: Value,
    /// When.
    pub at: String,
}

impl ExecutionInspection {
    /// Reads everything, or what belongs to `name`, in the transaction of the caller. `now_s` tells what is left of a lease.
    pub(crate) fn read(connection: &Connection, name: Option<&str>, now_s: Option<i64>) -> rusqlite::Result<Self> {
        Ok(Self {
            totals: totals(connection)?,
            executions: select(
                connection,
                "SELECT execution_id, state, tool, principal, namespace, idempotency_key, arguments, attempts, last_token,
                        result, error, submitted_at, changed_at
                 FROM executions WHERE execution_id = coalesce(?1, execution_id) ORDER BY number",
                name,
                execution,
            )?,
            leases: select(
                connection,
                "SELECT execution_id, token, worker_id, state, granted_at, expires_at
                 FROM leases WHERE execution_id = coalesce(?1, execution_id) ORDER BY lease_id",
                name,
                |row| lease(row, now_s),
            )?,
            retries: select(
                connection,
                "SELECT execution_id, attempt, backoff_s, due_at, state
                 FROM retries WHERE execution_id = coalesce(?1, execution_id) ORDER BY execution_id, attempt",
                name,
                retry,
            )?,
            events: select(
                connection,
                "SELECT seq, event, token, worker_id, detail, at FROM execution_events WHERE execution_id = ?1 ORDER BY seq",
                name,
                event,
            )?,
        })
    }
}

fn totals(connection: &Connection) -> rusqlite::Result<Totals> {
    let counted = |sql: &str| -> rusqlite::Result<BTreeMap<String, i64>> {
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let events = counted("SELECT event, count(*) FROM execution_events GROUP BY event")?;
    let rate = "SELECT 100.0 * sum(event = 'lease_expired') / nullif(sum(event = 'claimed'), 0) FROM execution_events";
    Ok(Totals {
        executions: counted("SELECT state, count(*) FROM executions GROUP BY state")?,
        events,
        crash_rate_percent: connection.query_row(rate, [], |row| row.get(0))?,
    })
}

fn select<T>(
    connection: &Connection,
    sql: &str,
    name: Option<&str>,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare(sql)?;
    statement.query_map([name], read)?.collect()
}

/// What should be JSON; a text when somebody else wrote something else.
fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn execution(row: &Row<'_>) -> rusqlite::Result<Execution> {
    Ok(Execution {
        execution_id: row.get(0)?,
        state: row.get(1)?,
        tool: row.get(2)?,
        principal: row.get(3)?,
        namespace: row.get(4)?,
        idempotency_key: row.get(5)?,
        arguments: json(row.get(6)?),
        attempts: row.get(7)?,
        last_token: row.get(8)?,
        result: row.get::<_, Option<String>>(9)?.map(json),
        error: row.get(10)?,
        submitted_at: rfc3339_or_number(row.get(11)?),
        changed_at: rfc3339_or_number(row.get(12)?),
    })
}

fn lease(row: &Row<'_>, now_s: Option<i64>) -> rusqlite::Result<Lease> {
    let state: String = row.get(3)?;
    let expires_at_s: i64 = row.get(5)?;
    let remaining_s = now_s.map(|now_s| expires_at_s.saturating_sub(now_s));
    Ok(Lease {
        execution_id: row.get(0)?,
        token: row.get(1)?,
        worker_id: row.get(2)?,
        remaining_s: remaining_s.filter(|_| state == "held"),
        state,
        granted_at: rfc3339_or_number(row.get(4)?),
        expires_at: rfc3339_or_number(expires_at_s),
    })
}

fn retry(row: &Row<'_>) -> rusqlite::Result<Retry> {
    Ok(Retry {
        execution_id: row.get(0)?,
        attempt: row.get(1)?,
        backoff_s: row.get(2)?,
        due_at: rfc3339_or_number(row.get(3)?),
        state: row.get(4)?,
    })
}

fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: row.get(0)?,
        event: row.get(1)?,
        token: row.get(2)?,
        worker_id: row.get(3)?,
        detail: json(row.get(4)?),
        at: rfc3339_or_number(row.get(5)?),
    })
}
