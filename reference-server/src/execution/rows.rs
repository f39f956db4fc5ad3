//! The statements about executions, leases and retries, one function each, in raw SQL. None of them begins, commits or rolls
//! back, and none of them decides.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde_json::Value;

use super::event::State;
use super::log::unreadable;
use super::messages::{Identity, Snapshot, Submission};
use crate::ledger::messages::LedgerError;

/// An execution's row.
#[derive(Debug, Clone)]
pub(super) struct Execution {
    pub(super) snapshot: Snapshot,
    pub(super) principal: String,
    pub(super) arguments: String,
    pub(super) last_token: i64,
    pub(super) replay_until_s: i64,
}

const COLUMNS: &str = "execution_id, state, attempts, result, error, submitted_at, changed_at, principal, arguments, \
                       last_token, replay_until, issue_id";

fn execution(row: &Row<'_>) -> rusqlite::Result<Execution> {
    let word: String = row.get(1)?;
    let result: Option<String> = row.get(3)?;
    let result = result.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Execution {
        snapshot: Snapshot {
            execution_id: row.get(0)?,
            state: State::named(&word).ok_or_else(|| unreadable(1, format!("{word:?} is no state")))?,
            attempts: row.get(2)?,
            result: result.map_err(|error| unreadable(3, error.to_string()))?,
            issue_id: row.get(11)?,
            error: row.get(4)?,
            submitted_at_s: row.get(5)?,
            changed_at_s: row.get(6)?,
        },
        principal: row.get(7)?,
        arguments: row.get(8)?,
        last_token: row.get(9)?,
        replay_until_s: row.get::<_, Option<i64>>(10)?.unwrap_or(i64::MAX),
    })
}

/// The execution of this name, whoever it belongs to.
pub(super) fn find(connection: &Connection, execution_id: &str) -> Result<Option<Execution>, LedgerError> {
    let sql = format!("SELECT {COLUMNS} FROM executions WHERE execution_id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row([execution_id], execution).optional()?)
}

/// The execution that holds the identity, whoever it belongs to.
pub(super) fn find_by_key(connection: &Connection, identity: &Identity) -> Result<Option<Execution>, LedgerError> {
    let sql = format!("SELECT {COLUMNS} FROM executions WHERE namespace = ?1 AND tool = ?2 AND idempotency_key = ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    let identity = [identity.namespace.as_str(), identity.tool, &identity.key];
    Ok(statement.query_row(identity, execution).optional()?)
}

/// Writes a new execution down, ready.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    execution_id: &str,
    submission: &Submission,
    principal: &str,
    now_s: i64,
) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO executions
         (execution_id, namespace, tool, idempotency_key, principal, arguments, state, submitted_at, changed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'ready', ?7, ?7)",
    )?;
    statement.execute(params![
        execution_id,
        submission.identity.namespace,
        submission.identity.tool,
        submission.identity.key,
        principal,
        submission.arguments,
        now_s
    ])?;
    Ok(())
}

/// Ends an execution as cancelled, and with it its lease and its retry.
pub(super) fn cancel(
    transaction: &Transaction<'_>,
    execution_id: &str,
    now_s: i64,
    replay_until_s: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "UPDATE executions SET state = 'cancelled', changed_at = ?2, replay_until = ?3 WHERE execution_id = ?1",
        params![execution_id, now_s, replay_until_s],
    )?;
    transaction.execute(
        "UPDATE leases SET state = 'cancelled', ended_at = ?2 WHERE execution_id = ?1 AND state = 'held'",
        params![execution_id, now_s],
    )?;
    transaction.execute(
        "UPDATE retries SET state = 'cancelled' WHERE execution_id = ?1 AND state = 'scheduled'",
        [execution_id],
    )?;
    Ok(())
}

/// The oldest execution that is ready.
pub(super) fn oldest_ready(connection: &Connection) -> Result<Option<String>, LedgerError> {
    let sql = "SELECT execution_id FROM executions WHERE state = 'ready' ORDER BY number LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?)
}

/// Enters a state in which something is still to come.
pub(super) fn enter(
    transaction: &Transaction<'_>,
    execution_id: &str,
    state: State,
    attempts: i64,
    now_s: i64,
) -> Result<(), LedgerError> {
    let mut statement = transaction
        .prepare_cached("UPDATE executions SET state = ?2, attempts = ?3, changed_at = ?4 WHERE execution_id = ?1")?;
    statement.execute(params![execution_id, state.name(), attempts, now_s])?;
    Ok(())
}

/// How an execution ends.
pub(super) struct End {
    pub(super) state: State,
    pub(super) issue_id: Option<i64>,
    pub(super) result: Option<Value>,
    pub(super) error: Option<String>,
}

impl End {
    pub(super) fn failed(error: &str) -> Self {
        Self {
            state: State::Failed,
            issue_id: None,
            result: None,
            error: Some(error.to_owned()),
        }
    }
}

/// Ends an execution, and says until when that is replayed.
pub(super) fn end(
    transaction: &Transaction<'_>,
    execution_id: &str,
    end: &End,
    now_s: i64,
    replay_until_s: i64,
) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached(
        "UPDATE executions
         SET state = ?2, issue_id = ?3, result = ?4, error = ?5, changed_at = ?6, replay_until = ?7
         WHERE execution_id = ?1",
    )?;
    let result = end.result.as_ref().map(Value::to_string);
    let state = end.state.name();
    statement.execute(params![
        execution_id,
        state,
        end.issue_id,
        result,
        end.error,
        now_s,
        replay_until_s
    ])?;
    Ok(())
}

/// Notes the last token that was given.
pub(super) fn note_token(transaction: &Transaction<'_>, execution_id: &str, token: i64) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached("UPDATE executions SET last_token = ?2 WHERE execution_id = ?1")?;
    statement.execute(params![execution_id, token])?;
    Ok(())
}

/// Writes the effect. Nothing in the table stops a second one.
pub(super) fn insert_issue(
    transaction: &Transaction<'_>,
    execution_id: &str,
    title: &str,
    body: &str,
    now_s: i64,
) -> Result<i64, LedgerError> {
    let mut statement = transaction
        .prepare_cached("INSERT INTO issues (operation_id, title, body, created_at) VALUES (?1, ?2, ?3, ?4)")?;
    Ok(statement.insert(params![execution_id, title, body, now_s])?)
}

/// Grants a lease, from the first moment of `times` to the second one.
pub(super) fn grant_lease(
    transaction: &Transaction<'_>,
    execution_id: &str,
    token: i64,
    worker_id: &str,
    times: (i64, i64),
) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO leases (execution_id, token, worker_id, state, granted_at, expires_at)
         VALUES (?1, ?2, ?3, 'held', ?4, ?5)",
    )?;
    statement.execute(params![execution_id, token, worker_id, times.0, times.1])?;
    Ok(())
}

/// Extends the lease of `token`.
pub(super) fn extend_lease(
    transaction: &Transaction<'_>,
    execution_id: &str,
    token: i64,
    expires_at_s: i64,
) -> Result<(), LedgerError> {
    let sql = "UPDATE leases SET expires_at = ?3 WHERE execution_id = ?1 AND token = ?2 AND state = 'held'";
    transaction
        .prepare_cached(sql)?
        .execute(params![execution_id, token, expires_at_s])?;
    Ok(())
}

/// Extends whichever lease is held: a defect does this.
pub(super) fn extend_any_lease(
    transaction: &Transaction<'_>,
    execution_id: &str,
    expires_at_s: i64,
) -> Result<(), LedgerError> {
    let sql = "UPDATE leases SET expires_at = ?2 WHERE execution_id = ?1 AND state = 'held'";
    transaction.execute(sql, params![execution_id, expires_at_s])?;
    Ok(())
}

/// Ends the lease of `token`, in one of the words of the table.
pub(super) fn end_lease(
    transaction: &Transaction<'_>,
    execution_id: &str,
    token: i64,
    word: &'static str,
    now_s: i64,
) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached(
        "UPDATE leases SET state = ?3, ended_at = ?4 WHERE execution_id = ?1 AND token = ?2 AND state = 'held'",
    )?;
    statement.execute(params![execution_id, token, word, now_s])?;
    Ok(())
}

/// A lease that is held.
pub(super) struct Lease {
    pub(super) execution_id: String,
    pub(super) token: i64,
    pub(super) worker_id: String,
    pub(super) expires_at_s: i64,
}

/// The held leases that have expired, oldest first. A deadline is the first second at which it is too late.
pub(super) fn expired_leases(connection: &Connection, now_s: i64, at_most: i64) -> Result<Vec<Lease>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT execution_id, token, worker_id, expires_at FROM leases
         WHERE state = 'held' AND expires_at <= ?1 ORDER BY expires_at, lease_id LIMIT ?2",
    )?;
    let leases = statement.query_map([now_s, at_most], |row| {
        Ok(Lease {
            execution_id: row.get(0)?,
            token: row.get(1)?,
            worker_id: row.get(2)?,
            expires_at_s: row.get(3)?,
        })
    })?;
    Ok(leases.collect::<Result<_, _>>()?)
}

/// Notes that another attempt is due at `due_at_s`.
pub(super) fn schedule_retry(
    transaction: &Transaction<'_>,
    execution_id: &str,
    attempt: i64,
    backoff_s: i64,
    due_at_s: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "INSERT INTO retries (execution_id, attempt, backoff_s, due_at, state) VALUES (?1, ?2, ?3, ?4, 'scheduled')",
        params![execution_id, attempt, backoff_s, due_at_s],
    )?;
    Ok(())
}

/// The retries that are due, by execution and the attempt that failed, oldest first.
pub(super) fn due_retries(
    connection: &Connection,
    now_s: i64,
    at_most: i64,
) -> Result<Vec<(String, i64)>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT execution_id, attempt FROM retries
         WHERE state = 'scheduled' AND due_at <= ?1 ORDER BY due_at, execution_id LIMIT ?2",
    )?;
    let due = statement.query_map([now_s, at_most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(due.collect::<Result<_, _>>()?)
}

/// Marks a retry as done with: its execution is ready again.
pub(super) fn promote_retry(
    transaction: &Transaction<'_>,
    execution_id: &str,
    attempt: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "UPDATE retries SET state = 'promoted' WHERE execution_id = ?1 AND attempt = ?2",
        params![execution_id, attempt],
    )?;
    Ok(())
}

/// Every execution that is ready, oldest first: a defect asks this.
pub(super) fn all_ready(connection: &Connection) -> Result<Vec<String>, LedgerError> {
    let mut statement =
        connection.prepare("SELECT execution_id FROM executions WHERE state = 'ready' ORDER BY number")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}
