//! Tests of the fold: histories that can happen, and ones that cannot.

use serde_json::json;

use super::*;

/// A log of kinds with their tokens (0 for none), at seconds 1, 2, 3 …
fn log(events: &[(Kind, i64, Value)]) -> Vec<Event> {
    let numbered = events.iter().zip(1..);
    let event = |((kind, token, detail), seq): (&(Kind, i64, Value), i64)| Event {
        seq,
        kind: *kind,
        token: Some(*token).filter(|token| *token > 0),
        worker_id: None,
        detail: detail.clone(),
        at_s: seq,
    };
    numbered.map(event).collect()
}

fn plain(events: &[(Kind, i64)]) -> Vec<Event> {
    let detailed: Vec<_> = events.iter().map(|&(kind, token)| (kind, token, json!({}))).collect();
    log(&detailed)
}

#[test]
fn words_are_unique_and_found_again() {
    for kind in Kind::ALL {
        assert_eq!(Kind::named(kind.name()), Some(*kind));
    }
    for state in State::ALL {
        assert_eq!(State::named(state.name()), Some(*state));
    }
    assert_eq!((Kind::named("finished"), State::named("finished")), (None, None));
}

#[test]
fn a_stale_worker_changes_nothing() {
    use Kind::{Claimed, Completed, DuplicateDetected, LeaseExpired, Ready, StaleRejected, Submitted};
    let folded = fold(&plain(&[
        (Submitted, 0),
        (Ready, 0),
        (Claimed, 1),
        (LeaseExpired, 1),
        (Ready, 0),
        (Claimed, 2),
        (StaleRejected, 1),
        (Completed, 2),
        (StaleRejected, 1),
        (DuplicateDetected, 0),
    ]));
    let expected = Folded {
        state: State::Completed,
        attempts: 2,
        token: 2,
        changed_at_s: 8,
    };
    assert_eq!(folded, Ok(expected));
}

#[test]
fn a_retry_waits_and_a_last_failure_is_final() {
    let (last, not_last) = (json!({ "terminal": true }), json!({ "terminal": false }));
    let mut events = vec![
        (Kind::Submitted, 0, json!({})),
        (Kind::Ready, 0, json!({})),
        (Kind::Claimed, 1, json!({})),
        (Kind::Failed, 1, not_last),
        (Kind::RetryScheduled, 0, json!({})),
    ];
    assert_eq!(fold(&log(&events)).unwrap().state, State::RetryWait);
    events.extend([
        (Kind::Ready, 0, json!({})),
        (Kind::Claimed, 2, json!({})),
        (Kind::Failed, 2, last),
    ]);
    let folded = fold(&log(&events)).unwrap();
    assert_eq!((folded.state, folded.attempts), (State::Failed, 2));
    assert!(folded.state.is_final());
}

#[test]
fn what_was_given_back_is_no_attempt() {
    let events = log(&[
        (Kind::Submitted, 0, json!({})),
        (Kind::Ready, 0, json!({})),
        (Kind::Claimed, 1, json!({})),
        (Kind::Ready, 1, json!({ "reason": GIVEN_BACK })),
    ]);
    let folded = fold(&events).unwrap();
    assert_eq!((folded.state, folded.attempts, folded.token), (State::Ready, 0, 1));
}

#[test]
fn what_cannot_have_happened_does_not_fold() {
    use Kind::{Cancelled, Claimed, Completed, Failed, Ready, RetryScheduled, StaleRejected, Submitted};
    for events in [
        vec![],
        vec![(Ready, 0)],
        vec![(Submitted, 0), (Submitted, 0)],
        vec![(Submitted, 0), (Claimed, 1)],
        vec![(Submitted, 0), (Ready, 0), (Completed, 1)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (Ready, 1)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (Claimed, 2)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (Completed, 2)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (StaleRejected, 1)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (Failed, 1), (Ready, 0)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (RetryScheduled, 0)],
        vec![(Submitted, 0), (Ready, 0), (Cancelled, 0), (Cancelled, 0)],
        vec![(Submitted, 0), (Ready, 0), (Claimed, 1), (Completed, 1), (Completed, 1)],
    ] {
        assert!(fold(&plain(&events)).is_err(), "{events:?}");
    }
    let mut gap = plain(&[(Submitted, 0), (Ready, 0)]);
    gap[1].seq = 3;
    assert_eq!(fold(&gap), Err(FoldError::Gap { expected: 2, found: 3 }));
}
