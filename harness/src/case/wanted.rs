//! What the steps of a case ask of a target: the surfaces that `needs`, or `uses` with `only`, must name.

use super::start::{Role, StartStep};
use super::step::{From, Round, Rounds, Step};
use super::surface::Surface;

/// What one step asks of a target.
pub(super) fn wanted(step: &Step) -> Vec<Surface> {
    match step {
        Step::Write(write) => {
            let is_continued = write.from == From::Continuation
                || write.rounds == Rounds::FirstOnly
                || write.without_capabilities
                || write.fault.is_some_and(|fault| fault.at == Round::FirstRound);
            let more = [
                (write.changed, Surface::WriteChange),
                (is_continued, Surface::WriteContinuation),
                (write.rounds == Rounds::Submit || write.copies > 1, Surface::WriteSubmit),
            ];
            let more = more.into_iter().filter(|(is, _)| *is).map(|(_, surface)| surface);
            std::iter::once(Surface::Write).chain(more).collect()
        }
        Step::Start(start) => started_with(start),
        Step::Send(_) => vec![Surface::Write],
        Step::Status { only, .. } => vec![only.unwrap_or(Surface::Status)],
        Step::Advance { .. } => vec![Surface::Clock],
        Step::Hold { only } | Step::Release { only, .. } => vec![only.unwrap_or(Surface::StoreLock)],
        Step::Reconcile { only, .. } => vec![only.unwrap_or(Surface::Reconcile)],
        Step::Open { .. } => vec![Surface::WriteGate],
        Step::CancelExecution { .. } => vec![Surface::WriteCancel],
        Step::Observe(observe) => {
            let read = observe
                .until
                .as_ref()
                .and_then(|until| Surface::of_reading(&until.read));
            read.into_iter()
                .chain(observe.tampered.then_some(Surface::Tampering))
                .collect()
        }
        Step::Stop { .. }
        | Step::Kill { .. }
        | Step::Pause { .. }
        | Step::Resume { .. }
        | Step::Await { .. }
        | Step::Cancel { .. } => Vec::new(),
    }
}

fn started_with(start: &StartStep) -> Vec<Surface> {
    let settings = &start.settings;
    let asked = [
        (start.role == Role::Worker, Surface::Worker),
        (start.role == Role::Reaper, Surface::Reaper),
        (start.principal.is_some(), Surface::Principal),
        (start.failpoint.is_some(), Surface::Failpoints),
        (start.rotate.is_some(), Surface::Rotations),
        (settings.moves_a_deadline(), Surface::Deadlines),
        (settings.busy_ms.is_some(), Surface::BusyTimeout),
        (settings.workers.is_some(), Surface::Workers),
        (settings.moves_a_lease(), Surface::Leases),
        (settings.outside_key.is_some(), Surface::OutsideKey),
    ];
    asked
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, surface)| surface)
        .collect()
}
