//! The loop of one worker: claim, wait at the gate with heartbeats, do the work, complete or fail.
//!
//! It must not decide about its own lease: whether it still holds what it claimed is said by the store, in the transaction that
//! counts.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::engine::Engine;
use super::lease::{Claim, Fenced};
use super::outside;
use super::planted::Seen;
use super::settings::OutsideKey;
use crate::clock::Stop;
use crate::defect::Defect;
use crate::failpoint::Failpoint;
use crate::ledger::messages::LedgerError;
use crate::settings;

/// How often in a row an outcome may find the store locked before the worker gives up. Each time waits for the busy timeout.
const BUSY_TRIES_MAX: u32 = 30;

/// A worker that cannot go on. What it held expires.
#[derive(Debug, Error)]
pub(crate) enum WorkError {
    /// The store says no.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// Somebody else held the store whenever the outcome of an attempt was to be written.
    #[error(
        "the store stayed locked by another writer, so how the attempt at {execution_id} (token {token}) ended was not written; when \
         its lease has expired, it is done again; let the other writer finish, and start the worker again"
    )]
    Locked {
        /// What was attempted.
        execution_id: String,
        /// Under which token.
        token: i64,
    },
    /// The outside effect cannot be made.
    #[error(
        "--outside (GUARD_OUTSIDE) {path}: {source}; what was claimed is done again when its lease has expired; make the path one that \
         can be appended to, and start the worker again",
        path = path.display()
    )]
    Outside {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl WorkError {
    /// The same with the setting that it is about in front, where it does not name one.
    pub(crate) fn of(&self, database: &Path) -> String {
        match self {
            Self::Ledger(_) | Self::Locked { .. } => settings::about_store(database, self),
            Self::Outside { .. } => self.to_string(),
        }
    }
}

/// How the wait at the gate ended.
enum Gate {
    Open,
    TimedOut,
    Stale,
    Stopped,
}

/// One worker.
pub(crate) struct Worker<'a> {
    pub(crate) engine: Engine<'a>,
    pub(crate) id: &'a str,
    pub(crate) seen: Seen,
}

impl Worker<'_> {
    /// Works until told to stop, or until nothing is ready if `until_idle`.
    pub(crate) fn run(&self, stop: &Stop, until_idle: bool) -> Result<(), WorkError> {
        while !stop.is_set() {
            match self.engine.claim(self.id, &self.seen) {
                Ok(Some(claim)) => self.execute(&claim, stop)?,
                Ok(None) if until_idle => return Ok(()),
                Ok(None) | Err(LedgerError::Busy) => {
                    stop.wait(self.engine.terms.settings.poll);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn execute(&self, claim: &Claim, stop: &Stop) -> Result<(), WorkError> {
        let terms = self.engine.terms;
        let outside_transaction = terms.planted.is(Defect::FenceCheckedOutsideTransaction);
        if outside_transaction && !self.engine.holds_now(claim)? {
            return Ok(());
        }
        match self.wait_at_gate(claim, stop)? {
            Gate::Open => {}
            Gate::Stale => return Ok(()),
            Gate::TimedOut => return self.insist(claim, stop, || self.engine.fail(claim, "the gate stayed closed")),
            Gate::Stopped => return self.insist(claim, stop, || self.engine.give_back(claim)),
        }
        if claim.work.fail {
            return self.insist(claim, stop, || self.engine.fail(claim, "asked to fail"));
        }
        if let Some(path) = &terms.settings.outside {
            let keyed = terms.settings.outside_key == OutsideKey::ExecutionId
                && !terms.planted.is(Defect::OutsideEffectWithoutKey);
            outside::append(path, claim, keyed).map_err(|source| WorkError::Outside {
                path: path.clone(),
                source,
            })?;
            terms.failpoints.exit_at(Failpoint::AfterOutsideEffect);
        }
        self.insist(claim, stop, || self.engine.complete(claim))
    }

    /// Waits until the gate exists, with heartbeats. The gate is looked at after the clock, directly before a heartbeat: a worker
    /// that was paused anywhere in between sees first that the gate is open.
    fn wait_at_gate(&self, claim: &Claim, stop: &Stop) -> Result<Gate, WorkError> {
        let Some(gate) = &claim.work.gate else {
            return Ok(Gate::Open);
        };
        let terms = self.engine.terms;
        let mut heard_at_s = claim.claimed_at_s;
        loop {
            let now_s = terms.clock.now_s().map_err(LedgerError::from)?;
            if Path::new(gate).exists() {
                return Ok(Gate::Open);
            }
            if now_s >= claim.claimed_at_s + terms.settings.gate_wait_s {
                return Ok(Gate::TimedOut);
            }
            if now_s >= heard_at_s + terms.settings.heartbeat_s {
                match self.engine.heartbeat(claim) {
                    Ok(Fenced::Done) => heard_at_s = now_s,
                    Ok(Fenced::Stale) => return Ok(Gate::Stale),
                    // It is tried again at the next look, as long as the lease lasts.
                    Err(LedgerError::Busy) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if stop.wait(terms.settings.poll) {
                return Ok(Gate::Stopped);
            }
        }
    }

    /// Tells the store how the attempt ended, also when somebody else holds it for long. What is refused as stale is over too.
    fn insist(
        &self,
        claim: &Claim,
        stop: &Stop,
        end: impl Fn() -> Result<Fenced, LedgerError>,
    ) -> Result<(), WorkError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match end() {
                Ok(Fenced::Done | Fenced::Stale) => return Ok(()),
                Err(LedgerError::Busy) if tries < BUSY_TRIES_MAX && !stop.wait(self.engine.terms.settings.poll) => {}
                Err(LedgerError::Busy) => {
                    return Err(WorkError::Locked {
                        execution_id: claim.execution_id.clone(),
                        token: claim.token,
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
