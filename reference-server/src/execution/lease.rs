//! Claim, heartbeat, give back: how a worker comes to hold an execution, keeps it, and lets it go.
//!
//! The fence is the token, not the time: a worker whose lease has run out, and whom nobody has noticed yet, still holds it.

use rusqlite::Transaction;
use serde::Deserialize;
use serde_json::json;

use super::engine::Engine;
use super::event::{GIVEN_BACK, Kind, State};
use super::log::{self, Entry};
use super::planted::Seen;
use super::rows;
use crate::defect::Defect;
use crate::ledger::messages::LedgerError;

/// What a worker is to do, as it was submitted.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Work {
    pub(super) title: String,
    pub(super) body: String,
    pub(super) fail: bool,
    pub(super) gate: Option<String>,
}

/// An execution that a worker holds.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(super) execution_id: String,
    pub(super) worker_id: String,
    pub(super) token: i64,
    pub(super) claimed_at_s: i64,
    pub(super) work: Work,
}

/// What became of something that only the holder may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fenced {
    /// It is done.
    Done,
    /// The worker holds the execution no longer: refused, and recorded.
    Stale,
}

impl Engine<'_> {
    /// Claims the oldest execution that is ready, under a higher token than any before it.
    pub(crate) fn claim(&self, worker_id: &str, seen: &Seen) -> Result<Option<Claim>, LedgerError> {
        if self.terms.planted.is(Defect::ClaimNotAtomic) {
            return self.claim_as_seen(worker_id, seen);
        }
        // Without the lock first: a worker without work must not hold up those who write.
        if rows::oldest_ready(self.connection)?.is_none() {
            return Ok(None);
        }
        let transaction = self.begin_immediate()?;
        match rows::oldest_ready(&transaction)? {
            Some(execution_id) => self.take(transaction, &execution_id, worker_id).map(Some),
            None => Ok(None),
        }
    }

    /// The state, the lease and the event, in one commit.
    pub(super) fn take(
        &self,
        transaction: Transaction<'_>,
        execution_id: &str,
        worker_id: &str,
    ) -> Result<Claim, LedgerError> {
        let now_s = self.now_s()?;
        let found = rows::find(&transaction, execution_id)?.ok_or(LedgerError::NoAnswer)?;
        let unworkable = |reason: String| LedgerError::Unworkable {
            execution_id: execution_id.to_owned(),
            reason,
        };
        // All of it before anything is written: an execution that nobody can do must not be held by anybody.
        let work = serde_json::from_str(&found.arguments)
            .map_err(|error| unworkable(format!("its arguments cannot be read: {error}")))?;
        let next = |count: i64, what: &str| {
            let next = count.checked_add(1);
            next.ok_or_else(|| unworkable(format!("its {what} {count} is the last one that there can be")))
        };
        let token = if self.terms.planted.is(Defect::TokenReused) {
            found.last_token.max(1)
        } else {
            next(found.last_token, "token")?
        };
        let attempt = next(found.snapshot.attempts, "attempt")?;
        let expires_at_s = now_s + self.terms.settings.lease_s;
        rows::enter(&transaction, execution_id, State::Running, attempt, now_s)?;
        rows::note_token(&transaction, execution_id, token)?;
        rows::grant_lease(&transaction, execution_id, token, worker_id, (now_s, expires_at_s))?;
        let detail = json!({ "attempt": attempt, "expires_at": expires_at_s });
        let claimed = Entry::by(Kind::Claimed, token, worker_id).with(detail);
        log::append(&transaction, execution_id, &claimed, now_s)?;
        transaction.commit()?;
        Ok(Claim {
            execution_id: execution_id.to_owned(),
            worker_id: worker_id.to_owned(),
            token,
            claimed_at_s: now_s,
            work,
        })
    }

    /// Says that the worker lives, and extends its lease.
    pub(crate) fn heartbeat(&self, claim: &Claim) -> Result<Fenced, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        let planted = self.terms.planted;
        if !holds(&transaction, claim)? && !planted.is(Defect::UnfencedHeartbeat) {
            return reject(transaction, claim, "heartbeat", now_s);
        }
        let expires_at_s = now_s + self.terms.settings.lease_s;
        if planted.is(Defect::UnfencedHeartbeat) {
            rows::extend_any_lease(&transaction, &claim.execution_id, expires_at_s)?;
        } else if !planted.is(Defect::HeartbeatDoesNotExtend) {
            rows::extend_lease(&transaction, &claim.execution_id, claim.token, expires_at_s)?;
        }
        let beat = Entry::by(Kind::Heartbeat, claim.token, &claim.worker_id);
        let beat = beat.with(json!({ "expires_at": expires_at_s }));
        log::append(&transaction, &claim.execution_id, &beat, now_s)?;
        transaction.commit()?;
        Ok(Fenced::Done)
    }

    /// Gives the execution back, as if it had not been claimed; only its token stays used.
    pub(crate) fn give_back(&self, claim: &Claim) -> Result<Fenced, LedgerError> {
        let transaction = self.begin_immediate()?;
        let now_s = self.now_s()?;
        let id = &claim.execution_id;
        if !holds(&transaction, claim)? {
            return reject(transaction, claim, "give_back", now_s);
        }
        let found = rows::find(&transaction, id)?.ok_or(LedgerError::NoAnswer)?;
        rows::enter(&transaction, id, State::Ready, found.snapshot.attempts - 1, now_s)?;
        rows::end_lease(&transaction, id, claim.token, "given_back", now_s)?;
        let ready = Entry::by(Kind::Ready, claim.token, &claim.worker_id).with(json!({ "reason": GIVEN_BACK }));
        log::append(&transaction, id, &ready, now_s)?;
        transaction.commit()?;
        Ok(Fenced::Done)
    }

    /// `fence-checked-outside-transaction`: asked without the lock, and believed later.
    pub(crate) fn holds_now(&self, claim: &Claim) -> Result<bool, LedgerError> {
        holds(self.connection, claim)
    }
}

/// Whether the worker holds what it claimed: it runs, and no later token was given.
pub(super) fn holds(connection: &rusqlite::Connection, claim: &Claim) -> Result<bool, LedgerError> {
    let found = rows::find(connection, &claim.execution_id)?;
    Ok(found.is_some_and(|found| found.snapshot.state == State::Running && found.last_token == claim.token))
}

/// Refuses a worker that holds no longer what it claimed, and records it.
pub(super) fn reject(
    transaction: Transaction<'_>,
    claim: &Claim,
    refused: &str,
    now_s: i64,
) -> Result<Fenced, LedgerError> {
    let found = rows::find(&transaction, &claim.execution_id)?.ok_or(LedgerError::NoAnswer)?;
    let detail = json!({ "refused": refused, "state": found.snapshot.state.name(), "last_token": found.last_token });
    let rejected = Entry::by(Kind::StaleRejected, claim.token, &claim.worker_id).with(detail);
    log::append(&transaction, &claim.execution_id, &rejected, now_s)?;
    transaction.commit()?;
    Ok(Fenced::Stale)
}
