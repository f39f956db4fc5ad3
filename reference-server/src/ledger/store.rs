//! The transactions of the ledger: each write is decided and done under one write lock.
//!
//! It must not decide by itself (it asks [`decide`]), and must not commit anywhere but at the lines that say so.

use std::time::Duration;

use rusqlite::{Connection, DropBehavior, Transaction, TransactionBehavior};
use serde_json::{Value, json};

use super::messages::{LedgerError, Mode, Observation, Write, Written};
use super::rows;
use super::schema::{self, OpenError};
use crate::clock::Clock;
use crate::defect::Defect;
use crate::failpoint::{Failpoint, Failpoints};
use crate::guard::decision::{Decision, Refusal, decide};
use crate::settings::Settings;

/// The store, open. One thread owns it.
pub(crate) struct Store {
    connection: Connection,
    clock: Clock,
    principal: String,
    retention_s: i64,
    failpoints: Failpoints,
    defect: Option<Defect>,
}

impl Store {
    /// Opens the store that `settings` names.
    pub(crate) fn open(settings: &Settings) -> Result<Self, OpenError> {
        let busy_timeout = Duration::from_millis(settings.limits.busy_timeout_ms.into());
        let store = Self {
            connection: schema::open(&settings.database, &settings.backend, busy_timeout)?,
            clock: settings.clock.clone(),
            principal: settings.principal.clone(),
            retention_s: settings.limits.retention_s,
            failpoints: settings.failpoints.clone(),
            defect: settings.defect,
        };
        if store.has(Defect::MemoryLedger) {
            // A temporary table hides the table of the same name: its rows die with the process.
            let volatile = schema::OPERATIONS.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1);
            store.connection.pragma_update(None, "temp_store", "MEMORY")?;
            store.connection.execute_batch(&volatile)?;
        }
        Ok(store)
    }

    /// Decides about `write` and does it, under one write lock that is taken before anything is read.
    pub(crate) fn write(&self, write: &Write) -> Result<Written, LedgerError> {
        let transaction = self.begin_immediate()?;
        self.failpoints.panic_at(Failpoint::PanicInLedger);
        let row = if self.defect == Some(Defect::NoLedger) {
            None
        } else {
            rows::find(&transaction, &write.operation_id)?
        };
        // The time is read under the lock: a deadline that passed while waiting for it has passed.
        let now_s = self.clock.now_s()?;
        match decide(row.as_ref().map(|row| &row.known), &write.attempt, now_s) {
            Decision::Refuse(refusal) => Ok(Written::Refused(refusal)),
            Decision::Replay => {
                if self.defect == Some(Defect::SameReplyTwoEffects) {
                    rows::insert_issue(&transaction, write, now_s)?;
                    transaction.commit()?;
                }
                let stored = row.and_then(|row| row.result).unwrap_or_default();
                let result = serde_json::from_str(&stored)?;
                Ok(Written::Done { result, replayed: true })
            }
            Decision::Apply if write.mode == Mode::Atomic => {
                let issue_id = self.admit(&transaction, write, now_s)?;
                let written = self.settle(&transaction, write, "applied", issue_id, now_s)?;
                self.commit_last(transaction)?;
                self.failpoints.exit_at(Failpoint::AfterFirstCommit);
                Ok(written)
            }
            Decision::Apply => {
                let issue_id = self.admit(&transaction, write, now_s)?;
                rows::log_step(&transaction, write, "watcher", "attempted", None, now_s)?;
                transaction.commit()?;
                self.failpoints.exit_at(Failpoint::AfterFirstCommit);
                match self.second_step(write, issue_id) {
                    // The first step is committed, so "busy, nothing was written" would be a lie.
                    Err(LedgerError::Busy) => Ok(Written::Refused(Refusal::InProgress)),
                    ended => ended,
                }
            }
        }
    }

    /// What the ledger says of `operation_id` to the configured principal. An absent row, another principal's row and a row left
    /// in progress (by a process that died, as this thread is not in the middle of a write) all say nothing.
    pub(crate) fn observe(&self, operation_id: &str, tool: &str) -> Result<Observation, LedgerError> {
        Ok(Observation {
            settled: rows::find_settled(&self.connection, operation_id, &self.principal, tool)?,
            observed_at_s: self.clock.now_s()?,
        })
    }

    /// Commits what a defect held back; without one there is nothing to commit.
    pub(crate) fn commit_held(&self) -> Result<(), LedgerError> {
        if self.has(Defect::ReplyBeforeCommit) && !self.connection.is_autocommit() {
            self.connection.execute_batch("COMMIT")?;
        }
        Ok(())
    }

    /// Inserts the ledger row, then the effect, whose id it gives.
    fn admit(&self, transaction: &Transaction<'_>, write: &Write, now_s: i64) -> Result<i64, LedgerError> {
        if !self.has(Defect::NoLedger) {
            rows::insert_operation(transaction, write, &self.principal, now_s)?;
        }
        self.failpoints.exit_at(Failpoint::AfterLedgerInsert);
        let issue_id = rows::insert_issue(transaction, write, now_s)?;
        self.failpoints.exit_at(Failpoint::AfterEffectInsert);
        if self.failpoints.hit(Failpoint::FailAfterEffectInsert) {
            return Err(LedgerError::EffectFailed);
        }
        rows::note_effect(transaction, &write.operation_id, issue_id)?;
        Ok(issue_id)
    }

    /// The second step of a partial write, and its compensation; both fail, so the operation ends as partial.
    fn second_step(&self, write: &Write, issue_id: i64) -> Result<Written, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.clock.now_s()?;
        let log =
            |step, outcome, detail: Option<&str>| rows::log_step(&transaction, write, step, outcome, detail, now_s);
        let detail = rows::insert_refused_watcher(&transaction, issue_id)?;
        log("watcher", "failed", Some(&detail))?;
        log("rollback_issue", "attempted", None)?;
        let detail = rows::delete_kept_issue(&transaction, issue_id)?;
        log("rollback_issue", "failed", Some(&detail))?;
        rows::log_failed_compensation(&transaction, write, "rollback_issue", &detail, now_s)?;
        let written = self.settle(&transaction, write, "partial", issue_id, now_s)?;
        self.commit_last(transaction)?;
        Ok(written)
    }

    /// Stores how an operation ended. The receipt is random, so that a result computed anew is told from the stored one.
    fn settle(
        &self,
        transaction: &Transaction<'_>,
        write: &Write,
        state: &str,
        issue_id: i64,
        now_s: i64,
    ) -> Result<Written, LedgerError> {
        let result: Value = json!({
            "operation_id": write.operation_id,
            "state": state,
            "issue_id": issue_id,
            "receipt": uuid::Uuid::new_v4().to_string(),
        });
        let replay_until_s = now_s + self.retention_s;
        rows::settle_operation(transaction, &write.operation_id, state, &result, now_s, replay_until_s)?;
        Ok(Written::Done {
            result,
            replayed: false,
        })
    }

    /// Commits the last transaction of an operation; only then may its reply leave.
    fn commit_last(&self, mut transaction: Transaction<'_>) -> Result<(), LedgerError> {
        if self.has(Defect::ReplyBeforeCommit) {
            // The transaction stays open on its connection; `commit_held` ends it.
            transaction.set_drop_behavior(DropBehavior::Ignore);
            return Ok(());
        }
        transaction.commit()?;
        Ok(())
    }

    /// Takes the write lock, waiting for it at most the busy timeout. Unchecked means that SQLite, not the borrow checker,
    /// refuses a transaction inside another one; there is none.
    fn begin_immediate(&self) -> Result<Transaction<'_>, LedgerError> {
        let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        Ok(begun?)
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
