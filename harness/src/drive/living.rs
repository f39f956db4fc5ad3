//! Observes a store while its server lives, also one that the server keeps to itself.
//!
//! Beside some servers nobody can read (SQLite in `locking_mode=EXCLUSIVE`, a store too large to copy while it moves). Such a
//! server is paused for as long as its bytes are copied: while it stands still no lock matters, and the copy is what a
//! death in that instant would have left. It is read as after a death, and can be counted again by a reviewer.
//!
//! Only where one of the paused processes has the store open, and nobody else is seen to: else the bytes could move.

use super::DriveError;
use super::observer::{Observer, Tried};
use super::scribe::Scribe;
use super::session::Session;
use crate::case::When;
use crate::plan::Plan;
use crate::record::{CaseFolder, Observation};

/// Reads the store while its server lives; where nobody can, while the server stands still.
pub(super) async fn observe(
    observer: &mut Observer,
    session: Option<&mut Session>,
    scribe: &mut Scribe,
    plan: &Plan,
    label: &str,
    folder: &CaseFolder,
) -> Result<Observation, DriveError> {
    let live = observer.live(plan, label, plan.bounds.quiet_ms).await?;
    let Some(session) = session.filter(|_| !is_read(&live)) else {
        return Ok(live);
    };
    // Whoever the case has paused stands still for longer than this look.
    let stays_paused = session.is_paused();
    let paused = session.pause(scribe).await?;
    let paused = paused.filter(|paused| observer.is_open_in(paused));
    let frozen =
        paused.map(|paused| observer.frozen_beside(plan, label, folder, (When::Now, Tried::default()), &paused));
    if !stays_paused {
        session.resume(scribe)?;
    }
    // What went wrong with the copy is no news: that the store could not be read is said already.
    let frozen = frozen.and_then(Result::ok).filter(is_read);
    Ok(frozen.unwrap_or(live))
}

fn is_read(observation: &Observation) -> bool {
    let mut readings = observation
        .operations
        .values()
        .flat_map(|seen| seen.ledger.iter().chain(seen.more.values()).chain([&seen.effects]));
    readings.all(|reading| reading.problem().is_none())
}
