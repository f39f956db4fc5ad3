//! The transactions of the ledger: each write is decided and done under one write lock, in raw SQL that a reviewer can audit.
//!
//! It must not decide by itself (it asks [`decide`]), and must not commit anywhere but at the lines that say so.

use rusqlite::{
    Connection, DropBehavior, OptionalExtension as _, Transaction, TransactionBehavior, params,
};
use serde_json::{Value, json};
use thiserror::Error;

use super::schema::{self, OpenError};
use crate::clock::{Clock, ClockError};
use crate::defect::Defect;
use crate::failpoint::{Failpoint, Failpoints};
use crate::guard::decision::{Attempt, Decision, KnownOperation, Refusal, RowState, decide};
use crate::settings::Settings;

/// How a write treats its second step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One transaction: the issue and the ledger row, or nothing.
    Atomic,
    /// Two transactions: the issue commits first, then a watcher is added. That step always fails, and so does its compensation.
    Partial,
}

/// A write to decide and do.
#[derive(Debug, Clone)]
pub struct Write {
    /// The identity of the operation.
    pub operation_id: String,
    /// The tool that asks.
    pub tool: &'static str,
    /// Its contract's version.
    pub tool_version: &'static str,
    /// What the decision needs to know.
    pub attempt: Attempt,
    /// The issue's title.
    pub title: String,
    /// The issue's body.
    pub body: String,
    /// One transaction or two.
    pub mode: Mode,
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// The operation's result, and whether it had been stored before.
    Done {
        /// As stored.
        result: Value,
        /// Whether this is the stored result of an earlier request.
        replayed: bool,
    },
    /// Nothing was written.
    Refused(Refusal),
}

/// What the ledger says of an operation to its own principal.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The row, unless there is none, it is another principal's, or how it ended is not known.
    pub settled: Option<Settled>,
    /// When it was read, in Unix seconds.
    pub observed_at_s: i64,
}

/// An operation that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// How: applied or partial.
    pub state: RowState,
    /// The effect it wrote.
    pub issue_id: i64,
    /// The stored result.
    pub result: Value,
}

/// A request to the ledger that was not answered.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// Someone else held the store for longer than the busy timeout; nothing was written.
    #[error("the ledger is locked by another writer")]
    Busy,
    /// The effect failed and was rolled back; nothing was written.
    #[error("the effect failed and was rolled back")]
    EffectFailed,
    /// The clock tells no time.
    #[error("the clock tells no time: {0}")]
    Clock(#[from] ClockError),
    /// SQLite says no.
    #[error("the ledger failed: {0}")]
    Sqlite(rusqlite::Error),
    /// A stored result is no JSON.
    #[error("a stored result cannot be read: {0}")]
    StoredResult(#[from] serde_json::Error),
    /// The ledger's thread panicked in this request, or has ended.
    #[error("the ledger gave no answer")]
    NoAnswer,
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        if schema::is_busy(&error) {
            Self::Busy
        } else {
            Self::Sqlite(error)
        }
    }
}

/// The store, open. One thread owns it.
pub(crate) struct Store {
    connection: Connection,
    clock: Clock,
    principal: String,
    retention_s: i64,
    failpoints: Failpoints,
    defect: Option<Defect>,
}

/// The columns of a ledger row that a write needs.
struct Row {
    known: KnownOperation,
    result: Option<String>,
}

impl Store {
    /// Opens the store that `settings` names.
    pub(crate) fn open(settings: &Settings) -> Result<Self, OpenError> {
        let busy_timeout = std::time::Duration::from_millis(settings.limits.busy_timeout_ms.into());
        let store = Self {
            connection: schema::open(&settings.database, &settings.backend, busy_timeout)?,
            clock: settings.clock.clone(),
            principal: settings.principal.clone(),
            retention_s: settings.limits.retention_s,
            failpoints: settings.failpoints.clone(),
            defect: settings.defect,
        };
        if store.has(Defect::MemoryLedger) {
            // A temporary table hides the table of the same name: the ledger's rows then die with the process.
            store
                .connection
                .pragma_update(None, "temp_store", "MEMORY")?;
            store
                .connection
                .execute_batch(&schema::OPERATIONS.replacen(
                    "CREATE TABLE",
                    "CREATE TEMP TABLE",
                    1,
                ))?;
        }
        Ok(store)
    }

    /// Decides about `write` and does it, under one write lock that is taken before anything is read.
    pub(crate) fn write(&mut self, write: &Write) -> Result<Written, LedgerError> {
        let defect = self.defect;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.failpoints.panic_at(Failpoint::PanicInLedger);
        let row = if defect == Some(Defect::NoLedger) {
            None
        } else {
            find(&transaction, &write.operation_id)?
        };
        let now_s = self.clock.now_s()?;
        let admission = Admission {
            write,
            principal: &self.principal,
            now_s,
            defect,
            failpoints: &self.failpoints,
        };
        match decide(row.as_ref().map(|row| &row.known), &write.attempt, now_s) {
            Decision::Refuse(refusal) => Ok(Written::Refused(refusal)),
            Decision::Replay => {
                if defect == Some(Defect::SameReplyTwoEffects) {
                    insert_issue(&transaction, write, now_s)?;
                    transaction.commit()?;
                }
                let result = row.and_then(|row| row.result).unwrap_or_default();
                Ok(Written::Done {
                    result: serde_json::from_str(&result)?,
                    replayed: true,
                })
            }
            Decision::Apply => {
                let issue_id = admission.admit(&transaction)?;
                match write.mode {
                    Mode::Atomic => {
                        let result = admission.result("applied", issue_id);
                        admission.settle(
                            &transaction,
                            "applied",
                            &result,
                            now_s + self.retention_s,
                        )?;
                        commit_last(transaction, defect)?;
                        self.failpoints.exit_at(Failpoint::AfterFirstCommit);
                        Ok(Written::Done {
                            result,
                            replayed: false,
                        })
                    }
                    Mode::Partial => {
                        log_step(&transaction, write, "watcher", "attempted", None, now_s)?;
                        transaction.commit()?;
                        self.failpoints.exit_at(Failpoint::AfterFirstCommit);
                        self.second_step(write, issue_id)
                    }
                }
            }
        }
    }

    /// The watcher of a partial write, and its compensation; the operation ends as `partial`, because both fail.
    fn second_step(&mut self, write: &Write, issue_id: i64) -> Result<Written, LedgerError> {
        let begun = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = match begun {
            Err(error) if schema::is_busy(&error) => {
                return Ok(Written::Refused(Refusal::InProgress));
            }
            begun => begun?,
        };
        let now_s = self.clock.now_s()?;
        // The principal is no address, so the store refuses the watcher; and it keeps every issue, so it refuses the rollback.
        let watcher = transaction.execute(
            "INSERT INTO watchers (issue_id, address) VALUES (?1, ?2)",
            params![issue_id, self.principal.replace('@', " at ")],
        );
        let detail = refused_by_store(watcher)?;
        log_step(
            &transaction,
            write,
            "watcher",
            "failed",
            Some(&detail),
            now_s,
        )?;
        log_step(
            &transaction,
            write,
            "rollback_issue",
            "attempted",
            None,
            now_s,
        )?;
        let rollback = transaction.execute("DELETE FROM issues WHERE issue_id = ?1", [issue_id]);
        let detail = refused_by_store(rollback)?;
        log_step(
            &transaction,
            write,
            "rollback_issue",
            "failed",
            Some(&detail),
            now_s,
        )?;
        transaction.execute(
            "INSERT INTO compensations (operation_id, step, outcome, detail, at) VALUES (?1, 'rollback_issue', 'failed', ?2, ?3)",
            params![write.operation_id, detail, now_s],
        )?;
        let defect = self.defect;
        let admission = Admission {
            write,
            principal: &self.principal,
            now_s,
            defect,
            failpoints: &self.failpoints,
        };
        let result = admission.result("partial", issue_id);
        admission.settle(&transaction, "partial", &result, now_s + self.retention_s)?;
        commit_last(transaction, defect)?;
        Ok(Written::Done {
            result,
            replayed: false,
        })
    }

    /// What the ledger says of `operation_id` to the configured principal. An absent row, another principal's row and a row left
    /// in progress (by a process that died, as this thread is not in the middle of a write) all say nothing.
    pub(crate) fn observe(
        &mut self,
        operation_id: &str,
        tool: &str,
    ) -> Result<Observation, LedgerError> {
        let found = self
            .connection
            .query_row(
                "SELECT state, issue_id, result FROM operations
                 WHERE operation_id = ?1 AND principal = ?2 AND tool = ?3 AND state <> 'in_progress'",
                params![operation_id, self.principal, tool],
                |row| Ok((row_state(&row.get::<_, String>(0)?), row.get(1)?, row.get::<_, String>(2)?)),
            )
            .optional()?;
        let settled = match found {
            Some((state, issue_id, result)) => Some(Settled {
                state,
                issue_id,
                result: serde_json::from_str(&result)?,
            }),
            None => None,
        };
        Ok(Observation {
            settled,
            observed_at_s: self.clock.now_s()?,
        })
    }

    /// Commits what a defect held back; without one there is nothing to commit.
    pub(crate) fn commit_held(&mut self) -> Result<(), LedgerError> {
        if self.has(Defect::ReplyBeforeCommit) && !self.connection.is_autocommit() {
            self.connection.execute_batch("COMMIT")?;
        }
        Ok(())
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }
}

/// A write that was decided to be done, at one moment.
struct Admission<'a> {
    write: &'a Write,
    principal: &'a str,
    now_s: i64,
    defect: Option<Defect>,
    failpoints: &'a Failpoints,
}

impl Admission<'_> {
    /// Inserts the ledger row, then the effect. Gives the effect's id.
    fn admit(&self, transaction: &Transaction<'_>) -> Result<i64, LedgerError> {
        let write = self.write;
        if self.defect != Some(Defect::NoLedger) {
            transaction.execute(
                "INSERT INTO operations (operation_id, principal, tool, tool_version, fingerprint, state, admitted_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'in_progress', ?6)",
                params![
                    write.operation_id,
                    self.principal,
                    write.tool,
                    write.tool_version,
                    write.attempt.fingerprint,
                    self.now_s
                ],
            )?;
        }
        self.failpoints.exit_at(Failpoint::AfterLedgerInsert);
        let issue_id = insert_issue(transaction, write, self.now_s)?;
        self.failpoints.exit_at(Failpoint::AfterEffectInsert);
        if self.failpoints.hit(Failpoint::FailAfterEffectInsert) {
            return Err(LedgerError::EffectFailed);
        }
        transaction.execute(
            "UPDATE operations SET issue_id = ?2 WHERE operation_id = ?1",
            params![write.operation_id, issue_id],
        )?;
        Ok(issue_id)
    }

    /// The result as it is stored. The receipt is random, so that a result that was computed anew is told from the stored one.
    fn result(&self, state: &str, issue_id: i64) -> Value {
        json!({
            "operation_id": self.write.operation_id,
            "state": state,
            "issue_id": issue_id,
            "receipt": uuid::Uuid::new_v4().to_string(),
        })
    }

    /// Stores how the operation ended.
    fn settle(
        &self,
        transaction: &Transaction<'_>,
        state: &str,
        result: &Value,
        replay_until_s: i64,
    ) -> Result<(), LedgerError> {
        transaction.execute(
            "UPDATE operations SET state = ?2, result = ?3, committed_at = ?4, replay_until = ?5 WHERE operation_id = ?1",
            params![self.write.operation_id, state, result.to_string(), self.now_s, replay_until_s],
        )?;
        Ok(())
    }
}

/// Commits the last transaction of an operation, which is when its reply may leave.
fn commit_last(
    mut transaction: Transaction<'_>,
    defect: Option<Defect>,
) -> Result<(), LedgerError> {
    if defect == Some(Defect::ReplyBeforeCommit) {
        // The transaction stays open on its connection; `commit_held` ends it.
        transaction.set_drop_behavior(DropBehavior::Ignore);
        return Ok(());
    }
    transaction.commit()?;
    Ok(())
}

fn find(transaction: &Transaction<'_>, operation_id: &str) -> Result<Option<Row>, LedgerError> {
    let found = transaction.query_row(
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

fn insert_issue(
    transaction: &Transaction<'_>,
    write: &Write,
    now_s: i64,
) -> Result<i64, LedgerError> {
    transaction.execute(
        "INSERT INTO issues (operation_id, title, body, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![write.operation_id, write.title, write.body, now_s],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn log_step(
    transaction: &Transaction<'_>,
    write: &Write,
    step: &str,
    outcome: &str,
    detail: Option<&str>,
    now_s: i64,
) -> Result<(), LedgerError> {
    transaction.execute(
        "INSERT INTO step_log (operation_id, step, outcome, detail, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![write.operation_id, step, outcome, detail, now_s],
    )?;
    Ok(())
}

/// The store's words for a statement that it had to refuse.
fn refused_by_store(outcome: rusqlite::Result<usize>) -> Result<String, LedgerError> {
    match outcome {
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            Ok(error.to_string())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Err(LedgerError::EffectFailed),
    }
}

/// The table's check constraint admits no other names.
fn row_state(name: &str) -> RowState {
    match name {
        "applied" => RowState::Applied,
        "partial" => RowState::Partial,
        _ => RowState::InProgress,
    }
}
