//! The statements of the ledger, one function each, in raw SQL. None of them begins, commits or rolls back.

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, params};
use serde_json::Value;

use super::messages::{LedgerError, Settled, Write};
use crate::guard::decision::{KnownOperation, RowState};

/// The step of the log under which an operator's decision stands.
pub(super) const RECONCILE: &str = "reconcile";

/// The columns of a ledger row that a write needs.
pub(super) struct Row {
    pub(super) known: KnownOperation,
    pub(super) result: Option<String>,
}

/// What became of one step of an operation, in the words of the log.
pub(super) struct Outcome<'a> {
    step: &'static str,
    outcome: &'static str,
    detail: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    pub(super) fn of(step: &'static str, outcome: &'static str) -> Self {
        Self {
            step,
            outcome,
            detail: None,
        }
    }

    pub(super) fn failed(step: &'static str, words: &'a str) -> Self {
        Self {
            detail: Some(words),
            ..Self::of(step, "failed")
        }
    }

    /// What an operator decided, and why.
    pub(super) fn decided(state: &'static str, reason: &'a str) -> Self {
        Self {
            detail: Some(reason),
            ..Self::of(RECONCILE, state)
        }
    }
}

/// The ledger row of `operation_id`, whoever it belongs to.
pub(super) fn find(connection: &Connection, operation_id: &str) -> Result<Option<Row>, LedgerError> {
    let found = connection.query_row(
        "SELECT fingerprint, state, replay_until, result FROM operations WHERE operation_id = ?1",
        [operation_id],
        |row| {
            let known = KnownOperation {
                fingerprint: row.get(0)?,
                state: row_state(&row.get::<_, String>(1)?),
                replay_until_s: row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
            };
            Ok(Row {
                known,
                result: row.get(3)?,
            })
        },
    );
    Ok(found.optional()?)
}

/// The ledger row of `operation_id` if it is `principal`'s, of `tool`, and has ended with an effect.
pub(super) fn find_settled(
    connection: &Connection,
    operation_id: &str,
    principal: &str,
    tool: &str,
) -> Result<Option<Settled>, LedgerError> {
    let found = connection.query_row(
        "SELECT state, issue_id, result FROM operations
         WHERE operation_id = ?1 AND principal = ?2 AND tool = ?3 AND state IN ('applied', 'partial')",
        [operation_id, principal, tool],
        |row| {
            Ok((
                row_state(&row.get::<_, String>(0)?),
                row.get(1)?,
                row.get::<_, String>(2)?,
            ))
        },
    );
    let Some((state, issue_id, result)) = found.optional()? else {
        return Ok(None);
    };
    let result = serde_json::from_str(&result)?;
    Ok(Some(Settled {
        state,
        issue_id,
        result,
    }))
}

/// Admits an operation: its row stands before its effect does.
pub(super) fn insert_operation(
    transaction: &Transaction<'_>,
    write: &Write,
    principal: &str,
    now_s: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "INSERT INTO operations
         (operation_id, principal, tool, tool_version, fingerprint, state, admitted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, 'in_progress', ?6)",
        params![
            write.operation_id,
            principal,
            write.tool,
            write.tool_version,
            write.attempt.fingerprint,
            now_s
        ],
    )?;
    Ok(())
}

/// Notes in an operation's row which effect it wrote.
pub(super) fn note_effect(transaction: &Transaction<'_>, operation_id: &str, issue_id: i64) -> Result<(), LedgerError> {
    transaction.execute(
        "UPDATE operations SET issue_id = ?2 WHERE operation_id = ?1",
        params![operation_id, issue_id],
    )?;
    Ok(())
}

/// Stores how an operation ended, its result, and until when that is replayed. Says whether it was still in progress; if not,
/// nothing is changed.
pub(super) fn settle_operation(
    transaction: &Transaction<'_>,
    operation_id: &str,
    state: &str,
    result: &Value,
    now_s: i64,
    replay_until_s: i64,
) -> Result<bool, LedgerError> {
    let changed = transaction.execute(
        "UPDATE operations SET state = ?2, result = ?3, committed_at = ?4, replay_until = ?5
         WHERE operation_id = ?1 AND state = 'in_progress'",
        params![operation_id, state, result.to_string(), now_s, replay_until_s],
    )?;
    Ok(changed == 1)
}

/// Marks an operation in progress as not applied. It has no result, and its identity stays taken.
pub(super) fn settle_as_not_applied(transaction: &Transaction<'_>, operation_id: &str) -> Result<(), LedgerError> {
    transaction.execute(
        "UPDATE operations SET state = 'not_applied' WHERE operation_id = ?1 AND state = 'in_progress'",
        [operation_id],
    )?;
    Ok(())
}

/// Deletes a ledger row. Only defects do this: a row stands for ever.
pub(super) fn forget_operation(transaction: &Transaction<'_>, operation_id: &str) -> Result<(), LedgerError> {
    transaction.execute("DELETE FROM operations WHERE operation_id = ?1", [operation_id])?;
    Ok(())
}

/// Writes the effect. Nothing in the table stops a second one.
pub(super) fn insert_issue(transaction: &Transaction<'_>, write: &Write, now_s: i64) -> Result<i64, LedgerError> {
    transaction.execute(
        "INSERT INTO issues (operation_id, title, body, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![write.operation_id, write.title, write.body, now_s],
    )?;
    Ok(transaction.last_insert_rowid())
}

/// Writes a watcher that the store refuses, because its address is none. Gives the store's words.
pub(super) fn insert_refused_watcher(transaction: &Transaction<'_>, issue_id: i64) -> Result<String, LedgerError> {
    refused_by_store(transaction.execute(
        "INSERT INTO watchers (issue_id, address) VALUES (?1, 'no address')",
        [issue_id],
    ))
}

/// Deletes an issue, which the store refuses, because it keeps every issue. Gives the store's words.
pub(super) fn delete_kept_issue(transaction: &Transaction<'_>, issue_id: i64) -> Result<String, LedgerError> {
    refused_by_store(transaction.execute("DELETE FROM issues WHERE issue_id = ?1", [issue_id]))
}

/// Notes what became of a compensation.
pub(super) fn log_compensation(
    transaction: &Transaction<'_>,
    operation_id: &str,
    compensation: &Outcome<'_>,
    now_s: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "INSERT INTO compensations (operation_id, step, outcome, detail, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            operation_id,
            compensation.step,
            compensation.outcome,
            compensation.detail,
            now_s
        ],
    )?;
    Ok(())
}

/// Notes what became of one step of an operation.
pub(super) fn log_step(
    transaction: &Transaction<'_>,
    operation_id: &str,
    step: &Outcome<'_>,
    now_s: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "INSERT INTO step_log (operation_id, step, outcome, detail, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![operation_id, step.step, step.outcome, step.detail, now_s],
    )?;
    Ok(())
}

/// The store's words for a statement that it had to refuse.
fn refused_by_store(outcome: rusqlite::Result<usize>) -> Result<String, LedgerError> {
    match outcome {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(rows) => Err(rusqlite::Error::StatementChangedRows(rows).into()),
    }
}

/// The table's check constraint admits no other names.
fn row_state(name: &str) -> RowState {
    match name {
        "applied" => RowState::Applied,
        "partial" => RowState::Partial,
        "not_applied" => RowState::NotApplied,
        _ => RowState::InProgress,
    }
}
