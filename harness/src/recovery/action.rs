//! From an observation to what the client may do. Decides nothing about the observation itself.

use serde_json::Value;

use super::observation::{Attempt, Observation, State};
use super::refusal::Refusal;

/// What the client may do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<'a> {
    /// Ask for the operation's status; nothing else.
    StatusOnly,
    /// Hand out this result; the write is done.
    ReturnStoredResult(&'a Value),
    /// Do nothing, least of all write again.
    Stop {
        /// Which rule was not met, or what is known.
        reason: StopReason,
    },
}

impl Action<'_> {
    /// The word that records, checks and vectors use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::StatusOnly => "status-only",
            Self::ReturnStoredResult(_) => "return-stored-result",
            Self::Stop { .. } => "stop",
        }
    }
}

/// Why the client must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// The observation is refused, so nothing is known.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server does not know the operation, which is no proof that nothing happened.
    #[error("the operation is not known to be applied")]
    OutcomeUnknown,
    /// The operation was begun, and nobody has said how it ended.
    #[error("the operation was begun, and it is not known to be applied")]
    InProgress,
    /// Some of the effects are there and some are not; a repeat would double the first.
    #[error("the operation is applied in part")]
    PartlyApplied,
}

impl StopReason {
    /// The word that vectors use. Stable.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.name(),
            Self::OutcomeUnknown => "outcome-unknown",
            Self::InProgress => "in-progress",
            Self::PartlyApplied => "partly-applied",
        }
    }
}

/// What is permitted after a lost reply: before anything was observed, or by what was.
pub fn permitted<'a>(attempt: &Attempt<'_>, observation: Option<&'a Value>) -> Action<'a> {
    observation.map_or(Action::StatusOnly, |observation| conclude(attempt, observation))
}

/// What a status observation permits after a lost reply. Strict: what is missing or odd means stop.
pub fn conclude<'a>(attempt: &Attempt<'_>, observation: &'a Value) -> Action<'a> {
    let stop = |reason| Action::Stop { reason };
    let observation = match Observation::read(attempt, observation) {
        Ok(observation) => observation,
        Err(refusal) => return stop(refusal.into()),
    };
    match (observation.state, observation.result) {
        (State::Applied, Some(result)) => Action::ReturnStoredResult(result),
        // Reading refuses it; without a result there is nothing to hand out in any case.
        (State::Applied, None) => stop(Refusal::ResultContradictsState.into()),
        (State::Partial, _) => stop(StopReason::PartlyApplied),
        (State::InProgress, _) => stop(StopReason::InProgress),
        (State::Unknown, _) => stop(StopReason::OutcomeUnknown),
    }
}
