//! Submit, look at, cancel: what a caller may do to an execution.
//!
//! A submission is on disk before it is answered, and answered before it is dispatched: workers see committed rows only.

use rusqlite::{DropBehavior, Transaction};
use serde_json::json;

use super::engine::Engine;
use super::event::{Kind, State};
use super::log::{self, Entry};
use super::messages::{Ask, Identity, Submission, Told};
use super::rows::{self, Execution};
use crate::defect::Defect;
use crate::ledger::messages::LedgerError;

impl Engine<'_> {
    /// Does what `principal` asks.
    pub(crate) fn ask(&self, principal: &str, ask: &Ask) -> Result<Told, LedgerError> {
        match ask {
            Ask::Submit(submission) => self.submit(principal, submission),
            Ask::Observe { execution_id } => self.observe(principal, execution_id),
            Ask::Find(identity) => self.find(principal, identity),
            Ask::Cancel { execution_id } => self.cancel(principal, execution_id),
        }
    }

    fn submit(&self, principal: &str, submission: &Submission) -> Result<Told, LedgerError> {
        let mut transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        let planted = self.terms.planted;
        let found = rows::find_by_key(&transaction, &submission.identity)?;
        let execution = match found {
            Some(_) if planted.is(Defect::DuplicateExecutes) => {
                let again = another_identity(submission);
                write_down(&transaction, principal, &again, now_s)?
            }
            Some(execution) => {
                let execution_id = execution.snapshot.execution_id.clone();
                let told = self.duplicate(principal, submission, execution, now_s);
                let detail = json!({ "conflict": told == Told::Conflict });
                let entry = Entry::of(Kind::DuplicateDetected).with(detail);
                log::append(&transaction, &execution_id, &entry, now_s)?;
                transaction.commit()?;
                return Ok(told);
            }
            None => write_down(&transaction, principal, submission, now_s)?,
        };
        if planted.is(Defect::DispatchBeforePersist) {
            // The transaction stays open on its connection, and ends when the next request arrives.
            transaction.set_drop_behavior(DropBehavior::Ignore);
        } else {
            transaction.commit()?;
        }
        Ok(Told::Execution {
            snapshot: execution.snapshot,
            replayed: false,
        })
    }

    /// What a submission is told whose identity is taken by `execution`.
    fn duplicate(&self, principal: &str, submission: &Submission, execution: Execution, now_s: i64) -> Told {
        let equal = execution.principal == principal && execution.arguments == submission.arguments;
        if !equal && !self.terms.planted.is(Defect::ChangedSubmissionReturnsOld) {
            Told::Conflict
        } else if now_s >= execution.replay_until_s {
            Told::RetentionExpired
        } else {
            Told::Execution {
                snapshot: execution.snapshot,
                replayed: true,
            }
        }
    }

    fn observe(&self, principal: &str, execution_id: &str) -> Result<Told, LedgerError> {
        let found = rows::find(self.connection, execution_id)?;
        Ok(match found.filter(|execution| execution.principal == principal) {
            Some(execution) => Told::Execution {
                snapshot: execution.snapshot,
                replayed: false,
            },
            None => Told::Unknown,
        })
    }

    /// Changes nothing, not even the log: who asks has not submitted again.
    fn find(&self, principal: &str, identity: &Identity) -> Result<Told, LedgerError> {
        let found = rows::find_by_key(self.connection, identity)?;
        let tells_all = self.terms.planted.is(Defect::StatusIgnoresPrincipal);
        let found = found.filter(|execution| execution.principal == principal || tells_all);
        Ok(Told::Found {
            found: found.map(|execution| execution.snapshot),
            observed_at_s: self.now_s()?,
        })
    }

    /// What has ended stays as it ended. A worker in the middle of it is refused when it comes back.
    fn cancel(&self, principal: &str, execution_id: &str) -> Result<Told, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        let found = rows::find(&transaction, execution_id)?;
        let Some(mut execution) = found.filter(|execution| execution.principal == principal) else {
            return Ok(Told::Unknown);
        };
        if !execution.snapshot.state.is_final() {
            execution.snapshot.state = State::Cancelled;
            if !self.terms.planted.is(Defect::CancelIgnored) {
                rows::cancel(&transaction, execution_id, now_s, now_s + self.terms.retention_s)?;
                log::append(&transaction, execution_id, &Entry::of(Kind::Cancelled), now_s)?;
                execution.snapshot.changed_at_s = now_s;
                transaction.commit()?;
            }
        }
        Ok(Told::Execution {
            snapshot: execution.snapshot,
            replayed: false,
        })
    }
}

/// The row and its first two events: on disk together, or not at all.
fn write_down(
    transaction: &Transaction<'_>,
    principal: &str,
    submission: &Submission,
    now_s: i64,
) -> Result<Execution, LedgerError> {
    let execution_id = uuid::Uuid::new_v4().to_string();
    rows::insert(transaction, &execution_id, submission, principal, now_s)?;
    log::append(transaction, &execution_id, &Entry::of(Kind::Submitted), now_s)?;
    log::append(transaction, &execution_id, &Entry::of(Kind::Ready), now_s)?;
    rows::find(transaction, &execution_id)?.ok_or(LedgerError::NoAnswer)
}

/// `duplicate-executes`: the repeat is written down under an identity of its own.
fn another_identity(submission: &Submission) -> Submission {
    let mut again = submission.clone();
    again.identity.key = format!("{} again {}", submission.identity.key, uuid::Uuid::new_v4());
    again
}
