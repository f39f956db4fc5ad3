//! An operator's decision about an operation in progress: the one way to settle what a crash left between two commits.
//!
//! It must not settle what has ended by itself, must not change a decision, and must not free an identity. The decision and its
//! reason go into the step log in the transaction that makes it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use thiserror::Error;

use super::messages::LedgerError;
use super::rows::{self, Outcome, RECONCILE};
use super::schema::{self, OpenError};
use super::store::result_of;
use crate::clock::{Clock, ClockError, rfc3339_or_number};
use crate::guard::decision::RowState;

/// What an operator has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The write was done; its effect stands.
    Applied,
    /// The write was not done, or was undone by hand. The identity stays taken.
    NotApplied,
}

impl Decision {
    /// The word for it in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NotApplied => "not_applied",
        }
    }
}

/// What to settle, and how.
#[derive(Debug, Clone)]
pub struct Reconciliation {
    /// The identity of the operation.
    pub operation_id: String,
    /// What the operator has found out.
    pub decision: Decision,
    /// Why the operator believes it.
    pub reason: String,
    /// How long the result of an applied operation is replayed, in seconds from now.
    pub retention_s: i64,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciled {
    /// It is settled now.
    Settled {
        /// The effects of the operation that the store holds.
        issue_ids: Vec<i64>,
    },
    /// It had been settled in the same way before; nothing was changed.
    Already {
        /// When, as printed.
        at: String,
        /// The reason that was given then.
        reason: String,
    },
}

/// A decision that was not taken over. Nothing was changed.
#[derive(Debug, Error)]
pub enum ReconcileError {
    /// The store cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no such operation.
    #[error("no operation {operation_id:?} is on record, so nothing is in progress; `inspect` lists what is")]
    NotOnRecord {
        /// Which.
        operation_id: String,
    },
    /// It ended by itself.
    #[error("operation {operation_id:?} is not in progress: it ended as {state} at {at}; there is nothing to decide")]
    Ended {
        /// Which.
        operation_id: String,
        /// How.
        state: String,
        /// When, as printed.
        at: String,
    },
    /// An operator has decided otherwise.
    #[error(
        "operation {operation_id:?} is not in progress: an operator settled it as {state} at {at} ({reason:?}), and a decision is final"
    )]
    DecidedOtherwise {
        /// Which.
        operation_id: String,
        /// How it was settled.
        state: String,
        /// When, as printed.
        at: String,
        /// The reason that was given.
        reason: String,
    },
    /// It is said to be applied, and there is no effect.
    #[error(
        "the store holds no effect of operation {operation_id:?}, so it cannot be settled as applied; use --not-applied"
    )]
    NoEffect {
        /// Which.
        operation_id: String,
    },
    /// Somebody holds the store.
    #[error("another writer holds the store; nothing was changed, try again")]
    Busy,
    /// The clock tells no time.
    #[error("the clock tells no time: {0}")]
    Clock(#[from] ClockError),
    /// The ledger says no.
    #[error("the store failed, and nothing was changed: {0}")]
    Ledger(LedgerError),
}

impl From<LedgerError> for ReconcileError {
    fn from(error: LedgerError) -> Self {
        if matches!(error, LedgerError::Busy) {
            Self::Busy
        } else {
            Self::Ledger(error)
        }
    }
}

impl From<rusqlite::Error> for ReconcileError {
    fn from(error: rusqlite::Error) -> Self {
        LedgerError::from(error).into()
    }
}

/// Settles an operation in progress in the store at `path`, which must exist and, when `backend` is given, be bound to it.
pub fn reconcile(
    path: &Path,
    backend: Option<&str>,
    busy_timeout: Duration,
    clock: &Clock,
    asked: &Reconciliation,
) -> Result<Reconciled, ReconcileError> {
    let mut connection = schema::open_existing(path, backend, busy_timeout)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now_s = clock.now_s()?;
    let id = &asked.operation_id;
    let row = rows::find(&transaction, id)?.ok_or_else(|| ReconcileError::NotOnRecord {
        operation_id: id.clone(),
    })?;
    if row.known.state != RowState::InProgress {
        return settled_before(&transaction, asked);
    }
    let issue_ids = issue_ids(&transaction, id)?;
    match asked.decision {
        Decision::Applied => {
            let issue_id = *issue_ids.first().ok_or_else(|| ReconcileError::NoEffect {
                operation_id: id.clone(),
            })?;
            let (state, until_s) = (asked.decision.name(), now_s + asked.retention_s);
            rows::note_effect(&transaction, id, issue_id)?;
            rows::settle_operation(
                &transaction,
                id,
                state,
                &result_of(id, state, Some(issue_id)),
                now_s,
                until_s,
            )?;
        }
        Decision::NotApplied => rows::settle_as_not_applied(&transaction, id)?,
    }
    let decided = Outcome::decided(asked.decision.name(), &asked.reason);
    rows::log_step(&transaction, id, &decided, now_s)?;
    transaction.commit()?;
    Ok(Reconciled::Settled { issue_ids })
}

/// The effects of an operation, in the order in which they were made.
fn issue_ids(connection: &Connection, operation_id: &str) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare("SELECT issue_id FROM issues WHERE operation_id = ?1 ORDER BY issue_id")?;
    let ids = statement.query_map([operation_id], |row| row.get(0))?;
    ids.collect()
}

/// The answer about an operation that is not in progress: whoever settled it stands.
fn settled_before(transaction: &Transaction<'_>, asked: &Reconciliation) -> Result<Reconciled, ReconcileError> {
    let id = &asked.operation_id;
    let decided = transaction.query_row(
        "SELECT outcome, at, detail FROM step_log WHERE operation_id = ?1 AND step = ?2 ORDER BY seq DESC LIMIT 1",
        [id, RECONCILE],
        |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get::<_, Option<String>>(2)?)),
    );
    let operation_id = id.clone();
    if let Some((state, at_s, reason)) = decided.optional()? {
        let (at, reason) = (rfc3339_or_number(at_s), reason.unwrap_or_default());
        return if state == asked.decision.name() {
            Ok(Reconciled::Already { at, reason })
        } else {
            Err(ReconcileError::DecidedOtherwise {
                operation_id,
                state,
                at,
                reason,
            })
        };
    }
    let sql = "SELECT state, coalesce(committed_at, admitted_at) FROM operations WHERE operation_id = ?1";
    let (state, at_s) = transaction.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Err(ReconcileError::Ended {
        operation_id,
        state,
        at: rfc3339_or_number(at_s),
    })
}
