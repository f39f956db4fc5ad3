//! The common ground of every transaction of the engine: one connection, and the terms under which it works.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::settings::ExecutionSettings;
use crate::clock::Clock;
use crate::defect::Planted;
use crate::failpoint::Failpoints;
use crate::ledger::messages::LedgerError;

/// What every transaction is subject to.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) clock: Clock,
    pub(crate) settings: ExecutionSettings,
    pub(crate) retention_s: i64,
    pub(crate) failpoints: Failpoints,
    pub(crate) planted: Planted,
}

/// The transactions, over a connection that somebody else owns.
pub(crate) struct Engine<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) terms: &'a Terms,
}

impl<'a> Engine<'a> {
    /// Takes the write lock before anything is read, waiting for it at most the busy timeout. Unchecked means that SQLite, not
    /// the borrow checker, refuses a transaction inside another one; there is none.
    pub(super) fn begin_immediate(&self) -> Result<Transaction<'a>, LedgerError> {
        let begun = Transaction::new_unchecked(self.connection, TransactionBehavior::Immediate);
        Ok(begun?)
    }

    /// Asked under the write lock: a deadline that passed while waiting for it has passed.
    pub(super) fn now_s(&self) -> Result<i64, LedgerError> {
        Ok(self.terms.clock.now_s()?)
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
