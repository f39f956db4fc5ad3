//! What can happen to an execution, and the pure fold of its log: events in, state out.
//!
//! It must not read a store, a clock or a setting. The fold is stricter than a summary: an event that cannot follow what went
//! before is an error, so a log that folds is a history that could have happened.

use serde_json::Value;
use thiserror::Error;

/// Makes an enum whose variants have names in the store.
macro_rules! named {
    ($(#[$head:meta])* $name:ident { $($(#[$doc:meta])+ $variant:ident = $text:literal,)+ }) => {
        $(#[$head])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])+ $variant,)+ }

        impl $name {
            /// Every one, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word for it in the store.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The one with this word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == word)
            }
        }
    };
}

named! {
    /// What happened.
    Kind {
        /// It was written down, before anything was dispatched.
        Submitted = "submitted",
        /// A worker may claim it. `detail.reason` says why, after the first time.
        Ready = "ready",
        /// A worker holds it, under a new token.
        Claimed = "claimed",
        /// Its worker lives, and the lease was extended.
        Heartbeat = "heartbeat",
        /// Its effect and its result were written.
        Completed = "completed",
        /// An attempt failed; `detail.terminal` says whether it was the last one.
        Failed = "failed",
        /// The lease ended before the worker did.
        LeaseExpired = "lease_expired",
        /// A worker that no longer holds the lease was refused; the token is the stale one.
        StaleRejected = "stale_rejected",
        /// It will be ready again at `detail.due_at`.
        RetryScheduled = "retry_scheduled",
        /// It was cancelled, for good.
        Cancelled = "cancelled",
        /// Its key was submitted again; `detail.conflict` says whether with other arguments.
        DuplicateDetected = "duplicate_detected",
    }
}

named! {
    /// How an execution stands. Only between two events of one transaction is it `submitted`, `interrupted` or `failing`.
    State {
        /// Written down, and not yet ready.
        Submitted = "submitted",
        /// Any worker may claim it.
        Ready = "ready",
        /// A worker holds it.
        Running = "running",
        /// Its lease ended before its worker did.
        Interrupted = "interrupted",
        /// An attempt failed that was not the last one.
        Failing = "failing",
        /// It waits for its next attempt.
        RetryWait = "retry_wait",
        /// Done, for good.
        Completed = "completed",
        /// Failed, for good.
        Failed = "failed",
        /// Cancelled, for good.
        Cancelled = "cancelled",
    }
}

impl State {
    /// Whether nothing can follow.
    pub fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Submitted | Self::Ready | Self::Running | Self::Interrupted | Self::Failing | Self::RetryWait => {
                false
            }
        }
    }
}

/// The reason of a [`Kind::Ready`] that follows a worker's giving the lease back: such a claim counts as no attempt.
pub const GIVEN_BACK: &str = "given_back";

/// One event of one execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place in the execution's own log, from 1.
    pub seq: i64,
    /// What happened.
    pub kind: Kind,
    /// The fencing token it is about.
    pub token: Option<i64>,
    /// The worker it is about.
    pub worker_id: Option<String>,
    /// What belongs to the kind; an object.
    pub detail: Value,
    /// When, in Unix seconds.
    pub at_s: i64,
}

/// What a log comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// How the execution stands.
    pub state: State,
    /// How often it was claimed, without the claims that were given back.
    pub attempts: i64,
    /// The last token that was given; 0 before the first.
    pub token: i64,
    /// When its state last changed, in Unix seconds.
    pub changed_at_s: i64,
}

/// A log that tells no possible history.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FoldError {
    /// There is none.
    #[error("the log is empty")]
    Empty,
    /// A number is missing, or there twice.
    #[error("event {found} stands where {expected} should")]
    Gap {
        /// The number that should be there.
        expected: i64,
        /// The one that is.
        found: i64,
    },
    /// The event cannot follow.
    #[error("event {seq}: {event} cannot follow while the execution is {state}")]
    Impossible {
        /// Which event.
        seq: i64,
        /// Its kind.
        event: &'static str,
        /// The state before it; `nothing` before the first.
        state: &'static str,
    },
    /// The token is not the one it must be.
    #[error("event {seq}: {event} has token {found:?}, and the last one given is {last}")]
    WrongToken {
        /// Which event.
        seq: i64,
        /// Its kind.
        event: &'static str,
        /// The token it has.
        found: Option<i64>,
        /// The last one given before it.
        last: i64,
    },
}

/// What `events` come to, in the order of the log.
pub fn fold(events: &[Event]) -> Result<Folded, FoldError> {
    let mut folded: Option<Folded> = None;
    for (event, expected) in events.iter().zip(1..) {
        if event.seq != expected {
            return Err(FoldError::Gap {
                expected,
                found: event.seq,
            });
        }
        folded = Some(follow(folded, event)?);
    }
    folded.ok_or(FoldError::Empty)
}

fn follow(before: Option<Folded>, event: &Event) -> Result<Folded, FoldError> {
    let impossible = |state| FoldError::Impossible {
        seq: event.seq,
        event: event.kind.name(),
        state,
    };
    let Some(before) = before else {
        return match event.kind {
            Kind::Submitted => Ok(Folded {
                state: State::Submitted,
                attempts: 0,
                token: 0,
                changed_at_s: event.at_s,
            }),
            Kind::Ready
            | Kind::Claimed
            | Kind::Heartbeat
            | Kind::Completed
            | Kind::Failed
            | Kind::LeaseExpired
            | Kind::StaleRejected
            | Kind::RetryScheduled
            | Kind::Cancelled
            | Kind::DuplicateDetected => Err(impossible("nothing")),
        };
    };
    let next = next_state(before.state, event).ok_or_else(|| impossible(before.state.name()))?;
    check_token(before, event)?;
    let mut after = Folded { state: next, ..before };
    match event.kind {
        Kind::Claimed => {
            after.token = event.token.unwrap_or(before.token);
            after.attempts += 1;
        }
        Kind::Ready if before.state == State::Running => after.attempts -= 1,
        Kind::Submitted
        | Kind::Ready
        | Kind::Heartbeat
        | Kind::Completed
        | Kind::Failed
        | Kind::LeaseExpired
        | Kind::StaleRejected
        | Kind::RetryScheduled
        | Kind::Cancelled
        | Kind::DuplicateDetected => {}
    }
    if changes_state(event.kind) {
        after.changed_at_s = event.at_s;
    }
    Ok(after)
}

fn next_state(state: State, event: &Event) -> Option<State> {
    let running = state == State::Running;
    match event.kind {
        Kind::Submitted => None,
        Kind::Ready => match state {
            State::Submitted | State::Interrupted | State::RetryWait => Some(State::Ready),
            State::Running => (event.detail["reason"] == GIVEN_BACK).then_some(State::Ready),
            State::Ready | State::Failing | State::Completed | State::Failed | State::Cancelled => None,
        },
        Kind::Claimed => (state == State::Ready).then_some(State::Running),
        Kind::Heartbeat => running.then_some(State::Running),
        Kind::Completed => running.then_some(State::Completed),
        Kind::Failed if event.detail["terminal"] == true => {
            (running || state == State::Interrupted).then_some(State::Failed)
        }
        Kind::Failed => running.then_some(State::Failing),
        Kind::LeaseExpired => running.then_some(State::Interrupted),
        Kind::RetryScheduled => (state == State::Failing).then_some(State::RetryWait),
        Kind::Cancelled => {
            let waits = matches!(state, State::Ready | State::RetryWait);
            (running || waits).then_some(State::Cancelled)
        }
        Kind::StaleRejected | Kind::DuplicateDetected => Some(state),
    }
}

fn changes_state(kind: Kind) -> bool {
    match kind {
        Kind::Heartbeat | Kind::StaleRejected | Kind::DuplicateDetected => false,
        Kind::Submitted
        | Kind::Ready
        | Kind::Claimed
        | Kind::Completed
        | Kind::Failed
        | Kind::LeaseExpired
        | Kind::RetryScheduled
        | Kind::Cancelled => true,
    }
}

/// A claim has a higher token than any before it; what its worker does has just that one; what is stale has none that holds.
fn check_token(before: Folded, event: &Event) -> Result<(), FoldError> {
    let right = match event.kind {
        Kind::Claimed => event.token.is_some_and(|token| token > before.token),
        Kind::Heartbeat | Kind::Completed | Kind::LeaseExpired => event.token == Some(before.token),
        Kind::Failed => event.token == Some(before.token) && before.token > 0,
        Kind::StaleRejected => {
            let holds = before.state == State::Running && event.token == Some(before.token);
            event.token.is_some() && !holds
        }
        Kind::Submitted | Kind::Ready | Kind::RetryScheduled | Kind::Cancelled | Kind::DuplicateDetected => true,
    };
    if right {
        return Ok(());
    }
    Err(FoldError::WrongToken {
        seq: event.seq,
        event: event.kind.name(),
        found: event.token,
        last: before.token,
    })
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
