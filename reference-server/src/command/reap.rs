//! `reap`: expires leases, and makes retries ready that are due; once, or until told to end.

use super::{Failure, say, until_terminated};
use crate::clock::Stop;
use crate::execution::engine::Engine;
use crate::execution::settings::{StoreArguments, Workplace};
use crate::ledger::messages::LedgerError;
use crate::settings;

/// The arguments of `reap`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Several reapers may share one store; what one has done is not done again.

Exit codes: 0 done, or told to end; 1 the store failed; 2 wrong usage, setting or store.")]
pub struct ReapArguments {
    /// Go on until told to end (SIGTERM, SIGINT)
    #[arg(long = "loop")]
    pub again: bool,
    /// The store, the clock, and how to work.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Reaps.
pub(super) fn reap(written: &ReapArguments) -> Result<(), Failure> {
    let place = Workplace::resolve(&written.store)?;
    let connection = place.open().map_err(|error| Failure::store(&place.database, error))?;
    if written.again {
        let stop = Stop::default();
        return until_terminated(&stop.clone(), move || {
            let engine = Engine {
                connection: &connection,
                terms: &place.terms,
            };
            engine
                .reap_until(&stop)
                .map_err(|error| settings::about_store(&place.database, &error))
        });
    }
    let engine = Engine {
        connection: &connection,
        terms: &place.terms,
    };
    let reaped = engine.reap().map_err(|error| match &error {
        LedgerError::Busy => Failure::Refused(settings::about_store(
            &place.database,
            &"another writer holds the store, so not all that is over was reaped; let it finish, and reap again",
        )),
        LedgerError::EffectFailed
        | LedgerError::SettledMeanwhile
        | LedgerError::Clock(_)
        | LedgerError::Sqlite(_)
        | LedgerError::StoredResult(_)
        | LedgerError::Unworkable { .. }
        | LedgerError::NoAnswer => Failure::Refused(settings::about_store(&place.database, &error)),
    })?;
    say(&format!(
        "{} leases expired, {} retries made ready\n",
        reaped.expired, reaped.promoted
    ))
}
