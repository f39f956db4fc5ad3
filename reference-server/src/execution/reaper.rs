//! The reaper: expires the leases of workers that were not heard of in time, and makes retries ready that are due.
//!
//! It must not judge whether a worker is dead. It may be wrong about that, and the fence is what makes it harmless.

use serde_json::json;

use super::engine::Engine;
use super::event::{Kind, State};
use super::log::{self, Entry};
use super::rows::{self, End};
use crate::clock::Stop;
use crate::defect::Defect;
use crate::ledger::messages::LedgerError;

/// How many leases and how many retries one transaction takes at most, so that it holds up nobody for long.
const BATCH_MAX: i64 = 100;

/// What a reaper found to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reaped {
    pub(crate) expired: u64,
    pub(crate) promoted: u64,
}

impl Engine<'_> {
    /// One pass: until nothing has expired and nothing is due.
    pub(crate) fn reap(&self) -> Result<Reaped, LedgerError> {
        let mut all = Reaped::default();
        loop {
            let batch = self.reap_batch()?;
            all.expired += batch.expired;
            all.promoted += batch.promoted;
            if batch == Reaped::default() {
                return Ok(all);
            }
        }
    }

    /// Passes, with pauses, until told to stop. A locked store is no reason to end.
    pub(crate) fn reap_until(&self, stop: &Stop) -> Result<(), LedgerError> {
        loop {
            match self.reap() {
                Ok(_) | Err(LedgerError::Busy) => {}
                Err(error) => return Err(error),
            }
            if stop.wait(self.terms.settings.poll) {
                return Ok(());
            }
        }
    }

    fn reap_batch(&self) -> Result<Reaped, LedgerError> {
        // Without the lock first: a reaper with nothing to do must not hold up those who write.
        let seen_at_s = self.now_s()?;
        let expired = rows::expired_leases(self.connection, seen_at_s, BATCH_MAX)?;
        let due = rows::due_retries(self.connection, seen_at_s, BATCH_MAX)?;
        if (expired.is_empty() || self.terms.planted.is(Defect::LeaseNeverExpires)) && due.is_empty() {
            return Ok(Reaped::default());
        }
        let transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        let mut reaped = Reaped::default();
        if !self.terms.planted.is(Defect::LeaseNeverExpires) {
            for lease in rows::expired_leases(&transaction, now_s, BATCH_MAX)? {
                self.expire(&transaction, &lease, now_s)?;
                reaped.expired += 1;
            }
        }
        for (execution_id, attempt) in rows::due_retries(&transaction, now_s, BATCH_MAX)? {
            rows::promote_retry(&transaction, &execution_id, attempt)?;
            rows::enter(&transaction, &execution_id, State::Ready, attempt, now_s)?;
            let ready = Entry::of(Kind::Ready).with(json!({ "reason": "retry_due" }));
            log::append(&transaction, &execution_id, &ready, now_s)?;
            reaped.promoted += 1;
        }
        transaction.commit()?;
        Ok(reaped)
    }

    /// An attempt whose worker was lost counts: an execution that kills its workers ends like one that fails.
    fn expire(
        &self,
        transaction: &rusqlite::Transaction<'_>,
        lease: &rows::Lease,
        now_s: i64,
    ) -> Result<(), LedgerError> {
        let id = &lease.execution_id;
        rows::end_lease(transaction, id, lease.token, "expired", now_s)?;
        let expired = Entry::by(Kind::LeaseExpired, lease.token, &lease.worker_id);
        let expired = expired.with(json!({ "expired_at": lease.expires_at_s }));
        log::append(transaction, id, &expired, now_s)?;
        let found = rows::find(transaction, id)?.ok_or(LedgerError::NoAnswer)?;
        let attempt = found.snapshot.attempts;
        if !self.is_last(attempt) {
            rows::enter(transaction, id, State::Ready, attempt, now_s)?;
            let ready = Entry::of(Kind::Ready).with(json!({ "reason": "lease_expired" }));
            return log::append(transaction, id, &ready, now_s);
        }
        let error = "the lease of the last attempt expired";
        rows::end(
            transaction,
            id,
            &End::failed(error),
            now_s,
            now_s + self.terms.retention_s,
        )?;
        let detail = json!({ "attempt": attempt, "error": error, "terminal": true });
        let failed = Entry::by(Kind::Failed, lease.token, &lease.worker_id).with(detail);
        log::append(transaction, id, &failed, now_s)
    }
}
