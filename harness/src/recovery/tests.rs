//! The rules against an oracle that never reads an observation: it makes one that keeps every rule, breaks some of them on
//! purpose, and knows what must come out.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const OPERATION: &str = "op-1";

fn scope() -> Map<String, Value> {
    let scope = json!({"backend": "sqlite:x", "principal": "alice", "tool": "create_issue"});
    scope.as_object().cloned().expect("an object")
}

/// An observation that keeps every rule.
fn kept(state: State, effects: &[Value]) -> Value {
    let result = match state {
        State::Unknown | State::InProgress => Value::Null,
        State::Applied | State::Partial => {
            json!({"operation_id": OPERATION, "state": state.name(), "first": effects[0], "others": effects[1..]})
        }
    };
    json!({
        "operation_id": OPERATION, "state": state.name(), "authoritative": state.is_settled(),
        "fresh_write_authorized": false, "scope": scope(), "observed_at": "2026-09-22T00:00:00Z",
        "effect_ids": effects, "result": result,
    })
}

fn named(observation: &Value) -> (String, String) {
    let scope = scope();
    let attempt = Attempt {
        operation: OPERATION,
        scope: &scope,
    };
    match permitted(&attempt, Some(observation)) {
        Action::Stop { reason } => ("stop".to_owned(), reason.name().to_owned()),
        action @ (Action::StatusOnly | Action::ReturnStoredResult(_)) => {
            let Action::ReturnStoredResult(result) = &action else {
                panic!("{action:?} after an observation")
            };
            assert_eq!(*result, &observation["result"]);
            (action.name().to_owned(), String::new())
        }
    }
}

/// One way to break one rule, and no earlier one. The variant says which: the number of the rule, and the name.
#[derive(Debug, Clone, PartialEq)]
struct Break {
    rule: usize,
    reason: &'static str,
    pointer: &'static str,
    value: Option<Value>,
}

fn set(rule: usize, reason: &'static str, pointer: &'static str, value: Value) -> Break {
    Break {
        rule,
        reason,
        pointer,
        value: Some(value),
    }
}

/// Every break that is one for an observation of this state. Those of one rule exclude each other, and so do those of one place.
fn breaks(state: State) -> Vec<Break> {
    let mut breaks: Vec<Break> = [
        "operation_id",
        "state",
        "authoritative",
        "scope",
        "observed_at",
        "effect_ids",
        "result",
        "fresh_write_authorized",
    ]
    .into_iter()
    .map(|pointer| Break {
        rule: 1,
        reason: "member-missing",
        pointer,
        value: None,
    })
    .collect();
    for other in [json!("op-2"), json!("OP-1"), json!(""), json!(1), Value::Null] {
        breaks.push(set(2, "other-operation", "operation_id", other));
    }
    let mut wider = scope();
    wider.insert("extra".to_owned(), json!(1));
    let mut narrower = scope();
    narrower.remove("tool");
    for other in [
        json!({"backend": "sqlite:x", "principal": "bob", "tool": "create_issue"}),
        json!("sqlite:x alice create_issue"),
        wider.into(),
        narrower.into(),
        json!([]),
        Value::Null,
    ] {
        breaks.push(set(3, "other-scope", "scope", other));
    }
    for other in [json!("not_applied"), json!("Applied"), json!(""), Value::Null, json!(1)] {
        breaks.push(set(4, "state-not-recognised", "state", other));
    }
    for other in [json!("true"), json!(1), Value::Null] {
        breaks.push(set(5, "not-authoritative", "authoritative", other));
    }
    for other in [json!(true), json!("false"), json!(0), Value::Null] {
        breaks.push(set(6, "fresh-write-offered", "fresh_write_authorized", other));
    }
    for other in [
        json!("2026-09-22T00:00:00"),
        json!("yesterday"),
        json!(1_790_035_200),
        Value::Null,
    ] {
        breaks.push(set(7, "no-zoned-timestamp", "observed_at", other));
    }
    for other in [
        json!({}),
        json!("5"),
        Value::Null,
        json!([1.5]),
        json!([true]),
        json!([""]),
        json!([[5]]),
        json!([9_007_199_254_740_992_u64]),
    ] {
        breaks.push(set(8, "effect-ids-malformed", "effect_ids", other));
    }
    for other in [json!([5, 5]), json!(["a", 5, "a"]), json!([5, 5.0])] {
        breaks.push(set(9, "effect-id-repeated", "effect_ids", other));
    }
    let wrong_number: &[Value] = match state {
        State::Unknown | State::InProgress => &[json!([5]), json!(["a", "b"])],
        State::Applied => &[json!([]), json!([5, 6])],
        State::Partial => &[json!([])],
    };
    for other in wrong_number {
        breaks.push(set(10, "effect-count-contradicts-state", "effect_ids", other.clone()));
    }
    for other in [json!([]), json!("done"), json!(5), json!(false)] {
        breaks.push(set(11, "result-contradicts-state", "result", other));
    }
    if !state.is_settled() {
        breaks.push(set(11, "result-contradicts-state", "result", json!({})));
        return breaks;
    }
    breaks.push(set(5, "not-authoritative", "authoritative", json!(false)));
    breaks.push(set(11, "result-contradicts-state", "result", Value::Null));
    breaks.push(set(11, "result-contradicts-state", "result/state", json!("unknown")));
    for other in [json!("op-2"), Value::Null] {
        breaks.push(set(12, "result-of-other-operation", "result/operation_id", other));
    }
    for other in [json!("else"), Value::Null, json!({"id": 5})] {
        breaks.push(set(13, "result-omits-effect", "result/first", other));
    }
    breaks
}

fn apply(observation: &mut Value, one: &Break) {
    let (parent, member) = one
        .pointer
        .rsplit_once('/')
        .map_or(("", one.pointer), |(parent, member)| (parent, member));
    let pointer = if parent.is_empty() {
        String::new()
    } else {
        format!("/{parent}")
    };
    // Its place may be gone, by a break of an earlier rule, which then is the reason.
    let Some(members) = observation.pointer_mut(&pointer).and_then(Value::as_object_mut) else {
        return;
    };
    match &one.value {
        Some(value) => drop(members.insert(member.to_owned(), value.clone())),
        None => drop(members.remove(member)),
    }
}

fn state() -> impl Strategy<Value = State> {
    prop::sample::select(State::ALL.to_vec())
}

/// Distinct effect ids, so many as the state allows.
fn effects(state: State) -> BoxedStrategy<Vec<Value>> {
    let id = prop_oneof![
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        "[a-zé0-9-]{3,12}".prop_map(Value::from),
    ];
    let count = match state {
        State::Unknown | State::InProgress => 0..=0,
        State::Applied => 1..=1,
        State::Partial => 1..=4,
    };
    prop::collection::btree_map("[a-z]{6}", id, count)
        .prop_map(|ids| {
            let mut ids: Vec<Value> = ids.into_values().collect();
            let mut seen = std::collections::HashSet::new();
            ids.retain(|id| seen.insert(id.to_string()));
            ids
        })
        .boxed()
}

fn expected_when_kept(state: State) -> (&'static str, &'static str) {
    match state {
        State::Unknown => ("stop", "outcome-unknown"),
        State::InProgress => ("stop", "in-progress"),
        State::Applied => ("return-stored-result", ""),
        State::Partial => ("stop", "partly-applied"),
    }
}

proptest! {
    #[test]
    fn what_keeps_every_rule_is_accepted((state, effects) in state().prop_flat_map(|state| (Just(state), effects(state)))) {
        let (action, reason) = named(&kept(state, &effects));
        prop_assert_eq!((action.as_str(), reason.as_str()), expected_when_kept(state));
    }

    #[test]
    fn the_first_broken_rule_is_the_reason(
        (state, effects) in state().prop_flat_map(|state| (Just(state), effects(state))),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let all = breaks(state);
        let mut picked: Vec<&Break> = Vec::new();
        for one in picks.iter().map(|pick| pick.get(&all)) {
            let root = |one: &Break| one.pointer.split('/').next().map(str::to_owned);
            if !picked.iter().any(|other| other.rule == one.rule || root(other) == root(one)) {
                picked.push(one);
            }
        }
        let mut observation = kept(state, &effects);
        for one in &picked {
            apply(&mut observation, one);
        }
        let first = picked.iter().min_by_key(|one| one.rule);
        let expected = first.map_or(expected_when_kept(state), |one| ("stop", one.reason));
        let (action, reason) = named(&observation);
        prop_assert_eq!((action.as_str(), reason.as_str()), expected, "{}", observation);
    }

    /// Whatever a server answers, only this exact form lets a client believe that the write is done.
    #[test]
    fn no_other_text_settles_anything(text in ".{0,80}", number in any::<f64>()) {
        for odd in [json!(text), json!(number), json!([text]), json!({text: number}), Value::Null] {
            prop_assert_eq!(named(&odd).0, "stop");
        }
    }
}

/// A rule that no break of the oracle breaks would be one that the properties say nothing about.
#[test]
fn the_oracle_breaks_every_rule_alone() {
    let mut seen = std::collections::BTreeSet::from(["not-an-object"]);
    for state in State::ALL {
        let effects = if state.is_settled() { vec![json!(5)] } else { vec![] };
        for one in breaks(state) {
            let mut observation = kept(state, &effects);
            apply(&mut observation, &one);
            assert_eq!(named(&observation).1, one.reason, "{state:?} {one:?}");
            seen.insert(one.reason);
        }
    }
    let names: std::collections::BTreeSet<&str> = Refusal::ALL.iter().map(Refusal::name).collect();
    assert_eq!(seen, names);
    assert_eq!(names.len(), Refusal::ALL.len());
    assert_eq!(named(&json!("x")).1, "not-an-object");
}

#[test]
fn a_stored_result_may_have_a_state_of_its_own_and_effects_in_a_list() {
    let mut observation = kept(State::Partial, &[json!(5), json!("w-1")]);
    observation["result"] = json!({"state": "open", "made": [5, "w-1"]});
    assert_eq!(named(&observation).1, "partly-applied");
    observation["result"] = json!({"state": "open", "made": [[5], "w-1"]});
    assert_eq!(named(&observation).1, "result-omits-effect");
}

#[test]
fn before_anything_is_observed_only_the_status_may_be_asked_for() {
    let scope = scope();
    let attempt = Attempt {
        operation: OPERATION,
        scope: &scope,
    };
    let action = permitted(&attempt, None);
    assert_eq!((action.name(), action), ("status-only", Action::StatusOnly));
}
