//! Complete and fail: how an attempt ends, inside the fence.
//!
//! The effect, the result, the end of the lease and the event are one commit: there is no moment at which one of them stands
//! without the others.

use rusqlite::Transaction;
use serde_json::json;

use super::engine::Engine;
use super::event::{Kind, State};
use super::lease::{Claim, Fenced, holds, reject};
use super::log::{self, Entry};
use super::rows::{self, End};
use crate::defect::Defect;
use crate::failpoint::Failpoint;
use crate::ledger::messages::LedgerError;

impl Engine<'_> {
    /// Writes the effect and the result, if the worker still holds the execution.
    pub(crate) fn complete(&self, claim: &Claim) -> Result<Fenced, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        let id = &claim.execution_id;
        let planted = self.terms.planted;
        let unfenced = planted.is(Defect::UnfencedComplete) || planted.is(Defect::FenceCheckedOutsideTransaction);
        if !unfenced && !holds(&transaction, claim)? {
            return reject(transaction, claim, "complete", now_s);
        }
        let issue_id = rows::insert_issue(&transaction, id, &claim.work.title, &claim.work.body, now_s)?;
        self.terms.failpoints.exit_at(Failpoint::AfterEffectInsert);
        let receipt = uuid::Uuid::new_v4().to_string();
        let end = End {
            state: State::Completed,
            issue_id: Some(issue_id),
            result: Some(json!({ "execution_id": id, "issue_id": issue_id, "receipt": receipt })),
            error: None,
        };
        rows::end(&transaction, id, &end, now_s, now_s + self.terms.retention_s)?;
        rows::end_lease(&transaction, id, claim.token, "completed", now_s)?;
        let completed = Entry::by(Kind::Completed, claim.token, &claim.worker_id);
        let completed = completed.with(json!({ "issue_id": issue_id }));
        log::append(&transaction, id, &completed, now_s)?;
        transaction.commit()?;
        self.terms.failpoints.exit_at(Failpoint::AfterFirstCommit);
        Ok(Fenced::Done)
    }

    /// Ends an attempt that failed: with a retry that waits, or for good.
    pub(crate) fn fail(&self, claim: &Claim, error: &str) -> Result<Fenced, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        if !holds(&transaction, claim)? {
            return reject(transaction, claim, "fail", now_s);
        }
        let id = &claim.execution_id;
        let found = rows::find(&transaction, id)?.ok_or(LedgerError::NoAnswer)?;
        let attempt = found.snapshot.attempts;
        let terminal = self.is_last(attempt);
        rows::end_lease(&transaction, id, claim.token, "failed", now_s)?;
        let detail = json!({ "attempt": attempt, "error": error, "terminal": terminal });
        let failed = Entry::by(Kind::Failed, claim.token, &claim.worker_id).with(detail);
        log::append(&transaction, id, &failed, now_s)?;
        if terminal {
            rows::end(
                &transaction,
                id,
                &End::failed(error),
                now_s,
                now_s + self.terms.retention_s,
            )?;
        } else {
            self.schedule_retry(&transaction, id, attempt, now_s)?;
        }
        transaction.commit()?;
        Ok(Fenced::Done)
    }

    /// Whether no attempt follows the attempt `attempt`.
    pub(super) fn is_last(&self, attempt: i64) -> bool {
        attempt >= self.terms.settings.attempts_max && !self.terms.planted.is(Defect::RetriesForever)
    }

    fn schedule_retry(
        &self,
        transaction: &Transaction<'_>,
        execution_id: &str,
        attempt: i64,
        now_s: i64,
    ) -> Result<(), LedgerError> {
        let backoff_s = self.terms.settings.backoff_after_s(attempt);
        let due_at_s = now_s + backoff_s;
        rows::enter(transaction, execution_id, State::RetryWait, attempt, now_s)?;
        rows::schedule_retry(transaction, execution_id, attempt, backoff_s, due_at_s)?;
        let detail = json!({ "attempt": attempt, "backoff_s": backoff_s, "due_at": due_at_s });
        let scheduled = Entry::of(Kind::RetryScheduled).with(detail);
        log::append(transaction, execution_id, &scheduled, now_s)
    }
}
