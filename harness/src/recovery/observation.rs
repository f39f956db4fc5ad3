//! A status observation, read strictly: about this attempt, and consistent with itself. What it permits is not said here.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::refusal::Refusal;
use super::timestamp;

/// The largest integer that every JSON implementation holds exactly: 2^53 − 1.
const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// What the client knows of its own attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt<'a> {
    /// The operation identity that it sent.
    pub operation: &'a str,
    /// The scope it acted in: backend, principal, tool, as the server spells it.
    pub scope: &'a Map<String, Value>,
}

/// How far the operation has come, by the server's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The server knows nothing of it, which is no proof that nothing happened.
    Unknown,
    /// It was begun.
    InProgress,
    /// It is done, as asked.
    Applied,
    /// It has ended with some of its effects.
    Partial,
}

impl State {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::InProgress, Self::Applied, Self::Partial];

    /// The word that stands in an observation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::InProgress => "in_progress",
            Self::Applied => "applied",
            Self::Partial => "partial",
        }
    }

    /// Whether it says how the operation ended.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Applied | Self::Partial)
    }

    fn of(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|state| state.name() == word)
    }

    fn allows_effects(self, count: usize) -> bool {
        match self {
            Self::Unknown | Self::InProgress => count == 0,
            Self::Applied => count == 1,
            // With none, "partial" would be the claim "not applied" by another name.
            Self::Partial => count >= 1,
        }
    }
}

/// What names an effect. `7` and `7.0` are one number; `7` and `"7"` are two names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectId<'a> {
    /// A text that is not empty.
    Text(&'a str),
    /// An integer within ±(2^53−1).
    Integer(i64),
}

impl<'a> EffectId<'a> {
    /// The value as an effect id, if it can be one.
    fn of(value: &'a Value) -> Option<Self> {
        if let Some(text) = value.as_str() {
            return Some(Self::Text(text)).filter(|_| !text.is_empty());
        }
        let integer = value.as_i64().or_else(|| integral(value.as_f64()?))?;
        (-INTEGER_MAX..=INTEGER_MAX)
            .contains(&integer)
            .then_some(Self::Integer(integer))
    }
}

fn integral(float: f64) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and a range check follows"
    )]
    let integer = float as i64;
    (float.is_finite() && float.fract() == 0.0).then_some(integer)
}

/// An observation that keeps every rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation<'a> {
    /// How far the operation has come.
    pub state: State,
    /// Whether the server stands for the state. Always true of a settled one.
    pub authoritative: bool,
    /// When the server looked.
    pub observed_at: Timestamp,
    /// What was made, each once.
    pub effect_ids: Vec<EffectId<'a>>,
    /// The stored result; always an object, there if and only if the state is settled.
    pub result: Option<&'a Value>,
}

impl<'a> Observation<'a> {
    /// Reads an observation of this attempt; fails with the first rule that it breaks.
    pub fn read(attempt: &Attempt<'_>, observation: &'a Value) -> Result<Self, Refusal> {
        let members = Members::of(observation)?;
        if members.operation_id.as_str() != Some(attempt.operation) {
            return Err(Refusal::OtherOperation);
        }
        if members.scope.as_object() != Some(attempt.scope) {
            return Err(Refusal::OtherScope);
        }
        let state = State::of(members.state).ok_or(Refusal::StateNotRecognised)?;
        let authoritative = members.authoritative.as_bool().ok_or(Refusal::NotAuthoritative)?;
        if state.is_settled() && !authoritative {
            return Err(Refusal::NotAuthoritative);
        }
        if members.fresh_write_authorized.as_bool() != Some(false) {
            return Err(Refusal::FreshWriteOffered);
        }
        let observed_at = members.observed_at.as_str().and_then(timestamp::read);
        let observed_at = observed_at.ok_or(Refusal::NoZonedTimestamp)?;
        let effect_ids = effect_ids(state, members.effect_ids)?;
        let result = result(attempt, state, members.result, &effect_ids)?;
        Ok(Self {
            state,
            authoritative,
            observed_at,
            effect_ids,
            result,
        })
    }
}

/// The members that every observation has.
struct Members<'a> {
    operation_id: &'a Value,
    state: &'a Value,
    authoritative: &'a Value,
    scope: &'a Value,
    observed_at: &'a Value,
    effect_ids: &'a Value,
    result: &'a Value,
    fresh_write_authorized: &'a Value,
}

impl<'a> Members<'a> {
    fn of(observation: &'a Value) -> Result<Self, Refusal> {
        let observation = observation.as_object().ok_or(Refusal::NotAnObject)?;
        let member = |member| observation.get(member).ok_or(Refusal::MemberMissing { member });
        Ok(Self {
            operation_id: member("operation_id")?,
            state: member("state")?,
            authoritative: member("authoritative")?,
            scope: member("scope")?,
            observed_at: member("observed_at")?,
            effect_ids: member("effect_ids")?,
            result: member("result")?,
            fresh_write_authorized: member("fresh_write_authorized")?,
        })
    }
}

fn effect_ids(state: State, value: &Value) -> Result<Vec<EffectId<'_>>, Refusal> {
    let values = value.as_array().ok_or(Refusal::EffectIdsMalformed)?;
    let ids: Option<Vec<EffectId<'_>>> = values.iter().map(EffectId::of).collect();
    let ids = ids.ok_or(Refusal::EffectIdsMalformed)?;
    if ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
        return Err(Refusal::EffectIdRepeated);
    }
    if !state.allows_effects(ids.len()) {
        return Err(Refusal::EffectCountContradictsState { count: ids.len() });
    }
    Ok(ids)
}

fn result<'a>(
    attempt: &Attempt<'_>,
    state: State,
    value: &'a Value,
    effects: &[EffectId<'_>],
) -> Result<Option<&'a Value>, Refusal> {
    let members = match (state.is_settled(), value) {
        (false, Value::Null) => return Ok(None),
        (true, Value::Object(members)) => members,
        (_, _) => return Err(Refusal::ResultContradictsState),
    };
    // A `state` of another vocabulary (an order that is "open") is the result's own affair.
    let told = members.get("state").and_then(State::of);
    if told.is_some_and(|told| told != state) {
        return Err(Refusal::ResultContradictsState);
    }
    let of = members.get("operation_id");
    if of.is_some_and(|operation| operation.as_str() != Some(attempt.operation)) {
        return Err(Refusal::ResultOfOtherOperation);
    }
    let alone_or_listed = members
        .values()
        .flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
    let named: BTreeSet<EffectId<'_>> = alone_or_listed.filter_map(EffectId::of).collect();
    if !effects.iter().all(|effect| named.contains(effect)) {
        return Err(Refusal::ResultOmitsEffect);
    }
    Ok(Some(value))
}
