//! The longer wrong turns of the planted defects in the engine. Without a defect nothing here does anything.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::engine::Engine;
use super::lease::Claim;
use super::rows;
use crate::ledger::messages::LedgerError;

/// `claim-not-atomic`: what a worker saw waiting and has not worked through yet.
#[derive(Debug, Default)]
pub(crate) struct Seen(RefCell<VecDeque<String>>);

impl Engine<'_> {
    /// `claim-not-atomic`: claims what was seen waiting, whoever holds it by now, and also when it has ended.
    pub(super) fn claim_as_seen(&self, worker_id: &str, seen: &Seen) -> Result<Option<Claim>, LedgerError> {
        if seen.0.borrow().is_empty() {
            seen.0.replace(rows::all_ready(self.connection)?.into());
        }
        let next = seen.0.borrow_mut().pop_front();
        let Some(execution_id) = next else { return Ok(None) };
        let transaction = self.begin_immediate()?;
        let sql = "UPDATE executions SET state = 'running', replay_until = NULL WHERE execution_id = ?1";
        transaction.execute(sql, [&execution_id])?;
        self.take(transaction, &execution_id, worker_id).map(Some)
    }
}
