//! The longer wrong turns of the planted defects in the ledger. Without a defect nothing here does anything.
//!
//! Each is reached from the place where the right code stands, in `store.rs` or beside it, by one question to
//! [`Planted::is`](crate::defect::Planted::is).

use std::cell::RefCell;

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::messages::{LedgerError, Write};
use super::rows::{self, Row};
use super::schema;
use super::store::Store;
use crate::defect::Defect;
use crate::failpoint::Failpoint;
use crate::guard::decision::RowState;

/// The fingerprint of a row that a first round reserved. No request has it.
const RESERVED: &str = "reserved";

/// What defects keep for later.
#[derive(Default)]
pub(super) struct Aside {
    /// `busy-writes-anyway`: the write that was refused as busy.
    pub(super) held: RefCell<Option<Write>>,
    /// `cancel-forgets-effect`: the operation whose request was cancelled before its write was done.
    pub(super) doomed: RefCell<Option<String>>,
    /// `lookup-outside-transaction`: the snapshot that the next write looks into.
    pub(super) snapshot: Option<Connection>,
}

impl Store {
    /// What `write` is told to have found, where `row` stands in the ledger: without a defect that very row.
    pub(super) fn row_as_planted(
        &self,
        row: Option<Row>,
        transaction: &Transaction<'_>,
        write: &Write,
        now_s: i64,
    ) -> Result<Option<Row>, LedgerError> {
        if self.planted.is(Defect::NoLedger) {
            return Ok(None);
        }
        if self.planted.is(Defect::DedupeByContent) && row.is_none() {
            return find_by_content(transaction, write);
        }
        if self.planted.is(Defect::LookupOutsideTransaction)
            && let Some(snapshot) = &self.aside.snapshot
        {
            let seen = rows::find(snapshot, &write.operation_id)?;
            if seen.is_none() {
                rows::forget_operation(transaction, &write.operation_id)?;
            }
            return Ok(seen);
        }
        let Some(mut row) = row else { return Ok(None) };
        let reserved = self.planted.is(Defect::ReservesOnFirstRound) && row.known.fingerprint == RESERVED;
        let expired = row.known.state != RowState::InProgress && now_s >= row.known.replay_until_s;
        if reserved || expired && self.planted.is(Defect::PurgedTombstone) {
            rows::forget_operation(transaction, &write.operation_id)?;
            return Ok(None);
        }
        if self.planted.is(Defect::NoRetentionDeadline) {
            row.known.replay_until_s = i64::MAX;
        }
        Ok(Some(row))
    }

    /// `effect-before-ledger`: two transactions, the effect's first.
    pub(super) fn admit_effect_first<'a>(
        &'a self,
        transaction: Transaction<'a>,
        write: &Write,
        now_s: i64,
    ) -> Result<(Transaction<'a>, i64), LedgerError> {
        let issue_id = rows::insert_issue(&transaction, write, now_s)?;
        let transaction = self.commit_and_begin_again(transaction)?;
        self.failpoints.exit_at(Failpoint::AfterEffectInsert);
        if self.failpoints.hit(Failpoint::FailAfterEffectInsert) {
            return Err(LedgerError::EffectFailed);
        }
        rows::insert_operation(&transaction, write, &self.principal, now_s)?;
        self.failpoints.exit_at(Failpoint::AfterLedgerInsert);
        rows::note_effect(&transaction, &write.operation_id, issue_id)?;
        Ok((transaction, issue_id))
    }

    /// The first of the two commits of `effect-before-ledger` and `ledger-before-effect`.
    pub(super) fn commit_and_begin_again<'a>(
        &'a self,
        transaction: Transaction<'a>,
    ) -> Result<Transaction<'a>, LedgerError> {
        transaction.commit()?;
        self.failpoints.exit_at(Failpoint::AfterFirstCommit);
        self.begin_immediate()
    }

    /// The failpoint that follows the commit of an atomic write: for the defects that split it, that is the second one.
    pub(super) fn failpoint_after_atomic(&self) -> Failpoint {
        let splits = self.planted.is(Defect::EffectBeforeLedger) || self.planted.is(Defect::LedgerBeforeEffect);
        if splits {
            Failpoint::AfterSecondCommit
        } else {
            Failpoint::AfterFirstCommit
        }
    }

    /// Commits or does what a defect held back until the next request arrives.
    pub(crate) fn do_held(&self) -> Result<(), LedgerError> {
        let holds_back = self.planted.is(Defect::ReplyBeforeCommit) || self.planted.is(Defect::DispatchBeforePersist);
        if holds_back && !self.connection.is_autocommit() {
            self.connection.execute_batch("COMMIT")?;
        }
        let held = self.aside.held.take();
        if self.planted.is(Defect::BusyWritesAnyway)
            && let Some(write) = held
        {
            return match self.write(&write) {
                // Still busy: it is held again.
                Ok(_) | Err(LedgerError::Busy) => Ok(()),
                Err(error) => Err(error),
            };
        }
        Ok(())
    }

    /// `memory-ledger`: a temporary table hides the table of the same name; its rows die with the process.
    pub(super) fn hide_ledger_in_memory(&self) -> rusqlite::Result<()> {
        let volatile = schema::OPERATIONS.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1);
        self.connection.pragma_update(None, "temp_store", "MEMORY")?;
        self.connection.execute_batch(&volatile)
    }

    /// `lookup-outside-transaction`: the snapshot that the next write looks into. A read transaction sees what was committed
    /// when it first read, until it ends.
    pub(super) fn take_snapshot(&self) -> rusqlite::Result<()> {
        let Some(snapshot) = &self.aside.snapshot else {
            return Ok(());
        };
        if !snapshot.is_autocommit() {
            snapshot.execute_batch("ROLLBACK")?;
        }
        snapshot.execute_batch("BEGIN")?;
        snapshot.query_row("SELECT count(*) FROM operations", [], |row| row.get::<_, i64>(0))?;
        Ok(())
    }

    /// `reserves-on-first-round`: an unfinished row before anybody has agreed to anything. Says whether the identity was free.
    pub(crate) fn reserve(&self, operation_id: &str, tool: &str) -> Result<bool, LedgerError> {
        let transaction = self.begin_immediate()?;
        if let Some(row) = rows::find(&transaction, operation_id)? {
            // A finished one is left for the continuation to conflict with.
            return Ok(row.known.fingerprint != RESERVED);
        }
        transaction.execute(
            "INSERT INTO operations
             (operation_id, principal, tool, tool_version, fingerprint, state, admitted_at)
             VALUES (?1, ?2, ?3, '', ?4, 'in_progress', ?5)",
            rusqlite::params![operation_id, self.principal, tool, RESERVED, self.clock.now_s()?],
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// `cancel-forgets-effect`: the record goes, the effect stays; now, or as soon as it is written.
    pub(crate) fn forget(&self, operation_id: &str) -> Result<(), LedgerError> {
        self.aside.doomed.replace(Some(operation_id.to_owned()));
        if rows::find(&self.connection, operation_id)?.is_some() {
            self.forget_doomed(operation_id)?;
        }
        Ok(())
    }

    pub(super) fn forget_doomed(&self, operation_id: &str) -> Result<(), LedgerError> {
        let doomed = self.aside.doomed.borrow_mut().take_if(|doomed| doomed == operation_id);
        if doomed.is_some() {
            let transaction = self.begin_immediate()?;
            rows::forget_operation(&transaction, operation_id)?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// `status-ignores-principal`: whoever it belongs to.
    pub(super) fn owner_of(&self, operation_id: &str) -> Result<String, LedgerError> {
        let sql = "SELECT principal FROM operations WHERE operation_id = ?1";
        let owner = self.connection.query_row(sql, [operation_id], |row| row.get(0));
        Ok(owner.optional()?.unwrap_or_default())
    }

    /// `compensation-hides-effect`: the row no longer says which effect stays.
    pub(super) fn hide_effect(&self, transaction: &Transaction<'_>, operation_id: &str) -> Result<(), LedgerError> {
        if self.planted.is(Defect::CompensationHidesEffect) {
            let sql = "UPDATE operations SET issue_id = NULL WHERE operation_id = ?1";
            transaction.execute(sql, [operation_id])?;
        }
        Ok(())
    }
}

/// `dedupe-by-content`: the row of any operation that wrote the same data, made to look like a repeat of this one.
fn find_by_content(connection: &Connection, write: &Write) -> Result<Option<Row>, LedgerError> {
    let sql = "SELECT operation_id FROM issues WHERE title = ?1 AND body = ?2 ORDER BY issue_id";
    let first = connection.query_row(sql, [&write.title, &write.body], |row| row.get::<_, String>(0));
    let Some(operation_id) = first.optional()? else {
        return Ok(None);
    };
    let mut row = rows::find(connection, &operation_id)?;
    if let Some(row) = &mut row {
        row.known.fingerprint.clone_from(&write.attempt.fingerprint);
    }
    Ok(row)
}
