//! Table tests of the fold: histories that can have happened, and for each way to be wrong one that cannot.

use super::event::{Event, State, Word};
use super::fold::{FoldError, Folded, fold};

/// A log from lines such as `failed 1 A terminal`, numbered from 1; `-` stands for nothing.
pub(super) fn log<'a>(lines: &[&'a str]) -> Vec<(i64, Event<'a>)> {
    (1..).zip(lines.iter().map(|line| event(line))).collect()
}

pub(super) fn event(line: &str) -> Event<'_> {
    let mut parts = line.split(' ').map(|part| Some(part).filter(|part| *part != "-"));
    let mut next = || parts.next().flatten();
    Event {
        word: next().and_then(Word::named).expect("an event word"),
        token: next().map(|token| token.parse().expect("a token")),
        worker: next().map(str::to_owned),
        note: next(),
    }
}

#[track_caller]
fn comes_to(lines: &[&str], state: State, attempts: i64, token: i64) {
    let expected = Folded { state, attempts, token };
    assert_eq!(fold(&log(lines)), Ok(expected), "{lines:?}");
}

#[track_caller]
fn is_refused(lines: &[&str], words: &str) {
    let error = fold(&log(lines)).expect_err("a log that cannot be").to_string();
    assert_eq!(error, words, "{lines:?}");
}

/// Behind `submitted`, `ready` and a claim of A under token 1.
fn claimed(rest: &[&'static str]) -> Vec<&'static str> {
    [&["submitted", "ready", "claimed 1 A"], rest].concat()
}

#[test]
fn what_is_not_done_yet() {
    comes_to(&["submitted", "ready"], State::Ready, 0, 0);
    comes_to(&["submitted", "ready", "duplicate_detected"], State::Ready, 0, 0);
    comes_to(&["submitted", "duplicate_detected", "ready"], State::Ready, 0, 0);
    comes_to(&claimed(&[]), State::Running, 1, 1);
    comes_to(&["submitted", "ready", "cancelled"], State::Cancelled, 0, 0);
}

#[test]
fn a_worker_that_wakes_too_late_changes_nothing() {
    let rest = [
        "lease_expired 1 A",
        "ready - - lease_expired",
        "claimed 2 B",
        "stale_rejected 1 A heartbeat",
        "completed 2 B",
        "stale_rejected 1 A complete",
        "duplicate_detected - - conflict",
    ];
    comes_to(&claimed(&rest), State::Completed, 2, 2);
}

#[test]
fn heartbeats_keep_a_lease() {
    comes_to(
        &claimed(&["heartbeat 1 A", "heartbeat 1 A", "completed 1 A"]),
        State::Completed,
        1,
        1,
    );
}

#[test]
fn a_failure_is_tried_again_and_the_last_one_is_final() {
    let again = ["failed 1 A", "retry_scheduled", "ready - - retry_due", "claimed 2 A"];
    comes_to(&claimed(&again[..2]), State::RetryWait, 1, 1);
    comes_to(
        &claimed(&[&again[..2], &["cancelled"]].concat()),
        State::Cancelled,
        1,
        1,
    );
    comes_to(
        &claimed(&[&again[..], &["failed 2 A terminal"]].concat()),
        State::Failed,
        2,
        2,
    );
}

#[test]
fn the_last_attempt_also_ends_when_its_worker_is_lost() {
    comes_to(
        &claimed(&["lease_expired 1 A", "failed 1 A terminal"]),
        State::Failed,
        1,
        1,
    );
}

#[test]
fn what_is_given_back_is_no_attempt_and_its_token_stays_used() {
    let rest = ["ready 1 A given_back", "claimed 2 B", "completed 2 B"];
    comes_to(&claimed(&rest[..1]), State::Ready, 0, 1);
    comes_to(&claimed(&rest), State::Completed, 1, 2);
}

#[test]
fn what_is_cancelled_while_it_is_held_refuses_its_worker() {
    comes_to(
        &claimed(&["cancelled", "stale_rejected 1 A complete"]),
        State::Cancelled,
        1,
        1,
    );
}

#[test]
fn tokens_may_leave_numbers_out() {
    let lines = [
        "submitted",
        "ready",
        "claimed 7 A",
        "lease_expired 7 A",
        "ready",
        "claimed 40 B",
    ];
    comes_to(&lines, State::Running, 2, 40);
}

#[test]
fn an_event_that_cannot_follow_is_named_with_the_reason() {
    let begins = "a log begins with `submitted`";
    let nobody = "it is ready, and nobody holds it";
    let done = "it is completed";
    let held = "token 1 holds it";
    let first = |word: &str, because: &str| format!("event 1 ({word}) cannot follow: {because}");
    for word in Word::ALL.iter().filter(|word| **word != Word::Submitted) {
        is_refused(&[word.name()], &first(word.name(), begins));
    }
    let third = |event: &str| format!("event 3 ({event}) cannot follow: {nobody}");
    for (line, shown) in [
        ("ready", "ready"),
        ("heartbeat 1 A", "heartbeat, token 1, worker A"),
        ("completed 1 A", "completed, token 1, worker A"),
        ("failed 1 A", "failed, token 1, worker A"),
        ("failed 1 A terminal", "failed (terminal), token 1, worker A"),
        ("lease_expired 1 A", "lease_expired, token 1, worker A"),
        ("ready 1 A given_back", "ready (given_back), token 1, worker A"),
        ("retry_scheduled", "retry_scheduled"),
    ] {
        is_refused(&["submitted", "ready", line], &third(shown));
    }
    let fourth = |event: &str, because: &str| format!("event 4 ({event}) cannot follow: {because}");
    for (line, shown, because) in [
        ("claimed 2 B", "claimed, token 2, worker B", held),
        ("ready - - lease_expired", "ready", held),
        ("retry_scheduled", "retry_scheduled", held),
        (
            "submitted",
            "submitted",
            "it has been submitted before, and a repeat is `duplicate_detected`",
        ),
        (
            "completed 2 A",
            "completed, token 2, worker A",
            "the token must be 1, the last one given",
        ),
        ("heartbeat", "heartbeat", "the token must be 1, the last one given"),
        (
            "lease_expired 2 A",
            "lease_expired, token 2, worker A",
            "the token must be 1, the last one given",
        ),
        (
            "ready - A given_back",
            "ready (given_back), worker A",
            "the token must be 1, the last one given",
        ),
        (
            "stale_rejected 1 A complete",
            "stale_rejected, token 1, worker A",
            "token 1 still holds it, so it is not stale",
        ),
        (
            "stale_rejected 2 A complete",
            "stale_rejected, token 2, worker A",
            "token 2 was never given",
        ),
        (
            "stale_rejected - A complete",
            "stale_rejected, worker A",
            "it must say which token was refused",
        ),
    ] {
        is_refused(&claimed(&[line]), &fourth(shown, because));
    }
    let fifth = |event: &str, because: &str| format!("event 5 ({event}) cannot follow: {because}");
    for (line, shown) in [
        ("completed 1 A", "completed, token 1, worker A"),
        ("heartbeat 1 A", "heartbeat, token 1, worker A"),
        ("failed 1 A terminal", "failed (terminal), token 1, worker A"),
        ("claimed 2 B", "claimed, token 2, worker B"),
        ("ready", "ready"),
        ("cancelled", "cancelled"),
    ] {
        is_refused(&claimed(&["completed 1 A", line]), &fifth(shown, done));
    }
}

#[test]
fn claims_need_a_token_that_is_larger_than_every_one_before() {
    let because = "its token must be larger than 1, the last one that was given";
    is_refused(
        &claimed(&["lease_expired 1 A", "ready", "claimed 1 B"]),
        &format!("event 6 (claimed, token 1, worker B) cannot follow: {because}"),
    );
    is_refused(
        &["submitted", "ready", "claimed 0 A"],
        "event 3 (claimed, token 0, worker A) cannot follow: the first token must be larger than 0",
    );
    is_refused(
        &["submitted", "ready", "claimed - A"],
        "event 3 (claimed, worker A) cannot follow: a claim needs a token",
    );
}

#[test]
fn a_stale_worker_was_refused_after_the_first_claim_only() {
    is_refused(
        &["submitted", "ready", "stale_rejected 1 A"],
        "event 3 (stale_rejected, token 1, worker A) cannot follow: token 1 was never given",
    );
}

#[test]
fn a_worker_that_is_not_fenced_does_not_fold() {
    let late = [
        "lease_expired 1 A",
        "ready",
        "claimed 2 B",
        "completed 2 B",
        "completed 1 A",
    ];
    is_refused(
        &claimed(&late),
        "event 8 (completed, token 1, worker A) cannot follow: it is completed",
    );
    is_refused(
        &claimed(&[&late[..3], &late[4..]].concat()),
        "event 7 (completed, token 1, worker A) cannot follow: the token must be 2, the last one given",
    );
    is_refused(
        &claimed(&["lease_expired 1 A", "ready 1 A given_back"]),
        "event 5 (ready (given_back), token 1, worker A) cannot follow: its lease has expired, and it is not ready yet",
    );
    is_refused(
        &claimed(&["lease_expired 1 A", "failed 2 A terminal"]),
        "event 5 (failed (terminal), token 2, worker A) cannot follow: the token must be 1, the last one given",
    );
    is_refused(
        &claimed(&["lease_expired 1 A", "failed 1 A"]),
        "event 5 (failed, token 1, worker A) cannot follow: its lease has expired, and it is not ready yet",
    );
}

#[test]
fn a_log_that_ends_in_the_middle_does_not_fold() {
    is_refused(&[], "its log is empty");
    is_refused(
        &["submitted"],
        "it ends with event 1 (submitted), and `ready` must follow",
    );
    is_refused(
        &claimed(&["failed 1 A"]),
        "it ends with event 4 (failed, token 1, worker A), and `retry_scheduled` must follow",
    );
    is_refused(
        &claimed(&["lease_expired 1 A", "duplicate_detected"]),
        "it ends with event 5 (duplicate_detected), and `ready` or a terminal `failed` must follow",
    );
}

#[test]
fn numbers_begin_at_one_and_leave_nothing_out() {
    for (numbers, expected, found) in [([2, 3], 1, 2), ([1, 3], 2, 3), ([1, 1], 2, 1), ([0, 1], 1, 0)] {
        let mut log = log(&["submitted", "ready"]);
        for (entry, number) in log.iter_mut().zip(numbers) {
            entry.0 = number;
        }
        let event = log[usize::try_from(expected - 1).expect("a place")].1.to_string();
        assert_eq!(fold(&log), Err(FoldError::Gap { expected, found, event }));
    }
}

#[test]
fn words_are_found_again() {
    for word in Word::ALL {
        assert_eq!(Word::named(word.name()), Some(*word));
    }
    for state in State::ALL {
        assert_eq!(State::named(state.name()), Some(*state));
    }
    assert_eq!((Word::named("done"), State::named("submitted")), (None, None));
}
