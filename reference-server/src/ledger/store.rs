//! The transactions of the ledger: each write is decided and done under one write lock.
//!
//! It must not decide by itself (it asks [`decide`]), and must not commit anywhere but at the lines that say so.

use std::time::Duration;

use rusqlite::{Connection, DropBehavior, Transaction, TransactionBehavior};
use serde_json::{Value, json};

use super::messages::{LedgerError, Mode, Observation, Write, Written};
use super::planted::Aside;
use super::rows::{self, Outcome};
use super::schema::{self, OpenError};
use crate::clock::Clock;
use crate::defect::{Defect, Planted};
use crate::execution::engine::{Engine, Terms};
use crate::execution::messages::{Ask, Told};
use crate::execution::schema::WITHOUT_LOG_GUARDS;
use crate::failpoint::{Failpoint, Failpoints};
use crate::guard::decision::{Decision, Refusal, decide};
use crate::settings::Settings;

/// The store, open. One thread owns it.
pub(crate) struct Store {
    pub(super) connection: Connection,
    pub(super) clock: Clock,
    pub(super) principal: String,
    retention_s: i64,
    pub(super) failpoints: Failpoints,
    pub(super) planted: Planted,
    execution: Terms,
    /// What defects keep for later; empty without one.
    pub(super) aside: Aside,
}

impl Store {
    /// Opens the store that `settings` names.
    pub(crate) fn open(settings: &Settings) -> Result<Self, OpenError> {
        let busy_timeout = Duration::from_millis(settings.limits.busy_timeout_ms.into());
        let mut store = Self {
            connection: schema::open(&settings.database, &settings.backend, busy_timeout)?,
            clock: settings.clock.clone(),
            principal: settings.principal.clone(),
            retention_s: settings.limits.retention_s,
            failpoints: settings.failpoints.clone(),
            planted: settings.planted,
            execution: settings.terms(),
            aside: Aside::default(),
        };
        if store.planted.is(Defect::MemoryLedger) {
            store.hide_ledger_in_memory()?;
        }
        if store.planted.is(Defect::MutableEventLog) {
            store.connection.execute_batch(WITHOUT_LOG_GUARDS)?;
        }
        if store.planted.is(Defect::LookupOutsideTransaction) {
            store.aside.snapshot = Some(Connection::open(&settings.database)?);
            store.take_snapshot()?;
        }
        Ok(store)
    }

    /// Decides about `write` and does it, under one write lock that is taken before anything is read.
    pub(crate) fn write(&self, write: &Write) -> Result<Written, LedgerError> {
        let written = self.decide_and_do(write);
        if self.planted.is(Defect::BusyWritesAnyway) && matches!(written, Err(LedgerError::Busy)) {
            self.aside.held.replace(Some(write.clone()));
        }
        if self.planted.is(Defect::LookupOutsideTransaction) {
            self.take_snapshot()?;
        }
        if self.planted.is(Defect::CancelForgetsEffect) && matches!(written, Ok(Written::Done { .. })) {
            self.forget_doomed(&write.operation_id)?;
        }
        written
    }

    fn decide_and_do(&self, write: &Write) -> Result<Written, LedgerError> {
        let transaction = self.begin_immediate()?;
        self.failpoints.panic_at(Failpoint::PanicInLedger);
        // The time is read under the lock: a deadline that passed while waiting for it has passed.
        let now_s = self.clock.now_s()?;
        let row = rows::find(&transaction, &write.operation_id)?;
        let row = self.row_as_planted(row, &transaction, write, now_s)?;
        match decide(row.as_ref().map(|row| &row.known), &write.attempt, now_s) {
            Decision::Refuse(refusal) => Ok(Written::Refused(refusal)),
            Decision::Replay => {
                if self.planted.is(Defect::SameReplyTwoEffects) {
                    rows::insert_issue(&transaction, write, now_s)?;
                    transaction.commit()?;
                }
                let stored = row.and_then(|row| row.result).unwrap_or_default();
                let mut result: Value = serde_json::from_str(&stored)?;
                if self.planted.is(Defect::ReplayRecomputesResult) {
                    result["receipt"] = new_receipt();
                }
                Ok(Written::Done { result, replayed: true })
            }
            Decision::Apply if write.mode == Mode::Atomic => {
                let (transaction, issue_id) = self.admit(transaction, write, now_s)?;
                let written = self.settle(&transaction, write, "applied", Some(issue_id), now_s)?;
                self.commit_last(transaction)?;
                self.failpoints.exit_at(self.failpoint_after_atomic());
                Ok(written)
            }
            Decision::Apply => {
                let (transaction, issue_id) = self.admit(transaction, write, now_s)?;
                let watcher_attempted = Outcome::of("watcher", "attempted");
                rows::log_step(&transaction, &write.operation_id, &watcher_attempted, now_s)?;
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
        let principal = if self.planted.is(Defect::StatusIgnoresPrincipal) {
            self.owner_of(operation_id)?
        } else {
            self.principal.clone()
        };
        Ok(Observation {
            settled: rows::find_settled(&self.connection, operation_id, &principal, tool)?,
            observed_at_s: self.clock.now_s()?,
        })
    }

    /// Submits, observes or cancels an execution.
    pub(crate) fn ask(&self, ask: &Ask) -> Result<Told, LedgerError> {
        let engine = Engine {
            connection: &self.connection,
            terms: &self.execution,
        };
        engine.ask(&self.principal, ask)
    }

    /// Inserts the ledger row, then the effect, whose id it gives; both in the one transaction that it was given.
    fn admit<'a>(
        &'a self,
        mut transaction: Transaction<'a>,
        write: &Write,
        now_s: i64,
    ) -> Result<(Transaction<'a>, i64), LedgerError> {
        if self.planted.is(Defect::EffectBeforeLedger) {
            return self.admit_effect_first(transaction, write, now_s);
        }
        if !self.planted.is(Defect::NoLedger) {
            rows::insert_operation(&transaction, write, &self.principal, now_s)?;
        }
        if self.planted.is(Defect::LedgerBeforeEffect) {
            transaction = self.commit_and_begin_again(transaction)?;
        }
        self.failpoints.exit_at(Failpoint::AfterLedgerInsert);
        let issue_id = rows::insert_issue(&transaction, write, now_s)?;
        self.failpoints.exit_at(Failpoint::AfterEffectInsert);
        if self.failpoints.hit(Failpoint::FailAfterEffectInsert) {
            if self.planted.is(Defect::ErrorLeavesEffect) {
                transaction.commit()?;
            }
            return Err(LedgerError::EffectFailed);
        }
        rows::note_effect(&transaction, &write.operation_id, issue_id)?;
        Ok((transaction, issue_id))
    }

    /// The second step of a partial write, and its compensation; both fail, so the operation ends as partial.
    fn second_step(&self, write: &Write, issue_id: i64) -> Result<Written, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.clock.now_s()?;
        let id = &write.operation_id;
        let words = rows::insert_refused_watcher(&transaction, issue_id)?;
        rows::log_step(&transaction, id, &Outcome::failed("watcher", &words), now_s)?;
        rows::log_step(&transaction, id, &Outcome::of("rollback_issue", "attempted"), now_s)?;
        let words = rows::delete_kept_issue(&transaction, issue_id)?;
        let (rollback, told) = if self.planted.is(Defect::CompensationHidesEffect) {
            (Outcome::of("rollback_issue", "done"), None)
        } else {
            (Outcome::failed("rollback_issue", &words), Some(issue_id))
        };
        rows::log_step(&transaction, id, &rollback, now_s)?;
        rows::log_compensation(&transaction, id, &rollback, now_s)?;
        let state = if self.planted.is(Defect::PartialReportedApplied) {
            "applied"
        } else {
            "partial"
        };
        let written = self.settle(&transaction, write, state, told, now_s)?;
        self.commit_last(transaction)?;
        self.failpoints.exit_at(Failpoint::AfterSecondCommit);
        Ok(written)
    }

    /// Stores how an operation ended, unless an operator has settled it between two steps; then that stays, and what the
    /// transaction wrote is rolled back by whoever drops it.
    fn settle(
        &self,
        transaction: &Transaction<'_>,
        write: &Write,
        state: &str,
        issue_id: Option<i64>,
        now_s: i64,
    ) -> Result<Written, LedgerError> {
        let result = result_of(&write.operation_id, state, issue_id);
        let replay_until_s = now_s + self.retention_s;
        let settled = rows::settle_operation(transaction, &write.operation_id, state, &result, now_s, replay_until_s)?;
        if !settled && !self.planted.is(Defect::NoLedger) {
            return Err(LedgerError::SettledMeanwhile);
        }
        if issue_id.is_none() {
            self.hide_effect(transaction, &write.operation_id)?;
        }
        Ok(Written::Done {
            result,
            replayed: false,
        })
    }

    /// Commits the last transaction of an operation; only then may its reply leave.
    fn commit_last(&self, mut transaction: Transaction<'_>) -> Result<(), LedgerError> {
        if self.planted.is(Defect::ReplyBeforeCommit) {
            // The transaction stays open on its connection; `commit_held` ends it.
            transaction.set_drop_behavior(DropBehavior::Ignore);
            return Ok(());
        }
        transaction.commit()?;
        Ok(())
    }

    /// Takes the write lock, waiting for it at most the busy timeout. Unchecked means that SQLite, not the borrow checker,
    /// refuses a transaction inside another one; there is none.
    pub(super) fn begin_immediate(&self) -> Result<Transaction<'_>, LedgerError> {
        let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        Ok(begun?)
    }
}

/// The result that is stored of an operation.
pub(super) fn result_of(operation_id: &str, state: &str, issue_id: Option<i64>) -> Value {
    json!({ "operation_id": operation_id, "state": state, "issue_id": issue_id, "receipt": new_receipt() })
}

/// Random, so that a result computed anew is told from the stored one.
fn new_receipt() -> Value {
    Value::String(uuid::Uuid::new_v4().to_string())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
