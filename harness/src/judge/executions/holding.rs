//! Who held a lease by the log, and who acted without one. It folds nothing: it also tells of logs that cannot have happened.
//!
//! A lease is a token and a worker, so that it is known also where a server gives the same token twice.

use std::collections::BTreeMap;

use super::event::{Event, Word};

/// What a walk through a whole log finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Holdings {
    /// Claims that came while another claim of the same execution was held.
    pub(super) overlaps: usize,
    /// What somebody tried, or did, whose lease had ended.
    pub(super) late_acts: usize,
}

/// Walks through the events of any number of executions, in the order of the log.
pub(super) fn walk<'e>(log: impl IntoIterator<Item = (String, &'e Event<'e>)>) -> Holdings {
    let mut found = Holdings::default();
    let mut executions: BTreeMap<String, Held> = BTreeMap::new();
    for (execution, event) in log {
        let held = executions.entry(execution).or_default();
        if event.word == Word::Claimed && !held.leases.is_empty() {
            found.overlaps += 1;
        }
        if held.take(event) == Act::Late {
            found.late_acts += 1;
        }
    }
    found
}

/// A lease, as far as the log names it.
#[derive(Debug, Clone)]
struct Lease {
    token: Option<i64>,
    worker: Option<String>,
}

impl Lease {
    /// Whether an event is about this lease: nothing that both of them name differs.
    fn is_of(&self, event: &Event<'_>) -> bool {
        same_if_named(self.token.as_ref(), event.token.as_ref())
            && same_if_named(self.worker.as_ref(), event.worker.as_ref())
    }
}

fn same_if_named<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

/// What an event is to the leases that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// By a holder, or no act of a worker.
    Right,
    /// By somebody whose lease had ended.
    Late,
}

/// The leases of one execution.
#[derive(Debug, Default)]
struct Held {
    leases: Vec<Lease>,
    /// The lease that expired just now: who expired it also says of a last attempt that it failed.
    expired: Option<Lease>,
}

impl Held {
    fn take(&mut self, event: &Event<'_>) -> Act {
        match event.word {
            Word::Claimed => {
                self.expired = None;
                self.leases.push(Lease {
                    token: event.token,
                    worker: event.worker.clone(),
                });
                Act::Right
            }
            Word::Heartbeat | Word::StaleRejected => late_unless(event, self.leases.iter().any(|one| one.is_of(event))),
            Word::Failed if event.is_terminal() && self.has_just_expired(event.token) => Act::Right,
            Word::Completed | Word::Failed => late_unless(event, self.end(event).is_some()),
            Word::Ready if event.is_given_back() => late_unless(event, self.end(event).is_some()),
            Word::LeaseExpired => {
                self.expired = self.end(event);
                Act::Right
            }
            Word::Cancelled => {
                self.leases.clear();
                Act::Right
            }
            Word::Ready => {
                self.expired = None;
                Act::Right
            }
            Word::Submitted | Word::RetryScheduled | Word::DuplicateDetected => Act::Right,
        }
    }

    fn has_just_expired(&self, token: Option<i64>) -> bool {
        self.expired.as_ref().is_some_and(|lease| lease.token == token)
    }

    /// Ends the lease that an event is about.
    fn end(&mut self, event: &Event<'_>) -> Option<Lease> {
        let at = self.leases.iter().position(|lease| lease.is_of(event))?;
        Some(self.leases.remove(at))
    }
}

/// An event that names neither a token nor a worker accuses nobody.
fn late_unless(event: &Event<'_>, is_held: bool) -> Act {
    let names_somebody = event.token.is_some() || event.worker.is_some();
    if names_somebody && !is_held {
        Act::Late
    } else {
        Act::Right
    }
}
