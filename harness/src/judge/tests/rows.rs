//! Which frames can have made which row, and which rows are there no more.

use serde_json::json;

use super::{Story, case, judge, judged, trouble};
use crate::readback::Rows;
use crate::record::{
    Body, CheckOutcome, Direction, Event, FRAMES_NAMED_MAX, ReadingOutcome, Record, RowOrigin, Verdict,
};

/// The record of a story in which an observation saw these rows.
fn seen_otherwise(story: &Story, label: &str, rows: &[(i64, &str)]) -> Record {
    let mut record = story.record();
    let observation = record.observations.get_mut(label).expect("an observation");
    let seen = observation.operations.get_mut("A").expect("an operation");
    seen.effects.outcome = ReadingOutcome::Rows(Rows {
        columns: vec!["issue_id".to_owned(), "body".to_owned()],
        rows: rows.iter().map(|(id, body)| vec![json!(id), json!(body)]).collect(),
    });
    record
}

fn steps(row: &RowOrigin) -> Vec<&str> {
    row.made_by.iter().map(|frame| frame.step.as_str()).collect()
}

/// A look that sees nothing acquits nobody: the server may write late.
#[test]
fn a_second_row_fails_and_both_rows_are_traced_to_their_frames() {
    let story = Story {
        rows_at_end: vec!["alpha", "alpha"],
        ..Story::guarded()
    };
    let verdict = judge(case(), &story.record());
    assert_eq!(verdict.verdict, Verdict::Fail);
    assert_eq!(
        verdict.reason.as_deref(),
        Some("one-effect: the retry wrote again, or the write was lost")
    );
    let made_by: Vec<(&str, &str)> = verdict
        .rows
        .iter()
        .map(|row| (row.first_seen.as_str(), row.made_by[0].step.as_str()))
        .collect();
    assert_eq!(made_by, [("after-kill", "attempt"), ("end", "retry")]);
    assert!(
        verdict.rows.iter().all(|row| row.made_by.len() == 1),
        "{:?}",
        verdict.rows
    );
}

#[test]
fn a_lost_row_fails_too() {
    let story = Story {
        rows_at_end: vec![],
        ..Story::guarded()
    };
    let lost = vec![
        trouble("one-effect", CheckOutcome::Broken),
        trouble("first-effect-kept", CheckOutcome::Broken),
    ];
    assert_eq!(judged(&story), (Verdict::Fail, lost));
}

#[test]
fn a_request_is_suspected_until_a_row_appears_after_it() {
    let story = Story {
        rows_at_end: vec!["alpha", "alpha"],
        ..Story::guarded()
    };
    let verdict = judge(case(), &seen_otherwise(&story, "after-kill", &[]));
    assert_eq!(verdict.rows.len(), 2);
    for row in &verdict.rows {
        assert_eq!(row.first_seen, "end");
        assert_eq!(steps(row), ["attempt", "retry"]);
    }
    // One that made its row is suspected no longer.
    let verdict = judge(case(), &story.record());
    assert_eq!(steps(&verdict.rows[1]), ["retry"]);
}

#[test]
fn a_row_that_was_replaced_is_marked_as_gone() {
    let story = Story::guarded();
    let verdict = judge(case(), &seen_otherwise(&story, "end", &[(2, "alpha")]));
    let gone: Vec<Option<&str>> = verdict.rows.iter().map(|row| row.gone_at.as_deref()).collect();
    assert_eq!(gone, [Some("end"), None]);
    assert_eq!(steps(&verdict.rows[1]), ["retry"]);
    let all = judge(case(), &story.record()).rows;
    assert!(all.iter().all(|row| row.gone_at.is_none()), "{all:?}");
}

/// Not observed is not gone.
#[test]
fn a_look_that_could_not_be_made_says_nothing_of_rows() {
    let story = Story {
        unreadable_end: true,
        ..Story::guarded()
    };
    let rows = judge(case(), &story.record()).rows;
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row.gone_at.is_none()),
        "{rows:?}"
    );
}

/// The record of a retry that sent its request so many times, each of which wrote a row.
fn many(copies: usize) -> Record {
    let rows: Vec<(i64, &str)> = (0..).zip(std::iter::repeat_n("alpha", copies + 1)).collect();
    let mut record = seen_otherwise(&Story::guarded(), "end", &rows);
    let is_sent =
        |event: &Event| matches!(&event.body, Body::Message(message) if message.direction == Direction::ClientToServer);
    let at = record
        .events
        .iter()
        .rposition(is_sent)
        .expect("the request of the retry");
    let again = record.events[at].clone();
    record.events.splice(at..at, std::iter::repeat_n(again, copies - 1));
    for (event, seq) in record.events.iter_mut().zip(1..) {
        event.seq = seq;
    }
    record
}

#[test]
fn a_verdict_grows_with_the_rows_and_not_with_rows_times_requests() {
    let verdict = judge(case(), &many(1_000));
    assert_eq!(verdict.rows.len(), 1_001);
    let last = verdict.rows.last().expect("a row");
    assert_eq!(
        (last.made_by.len(), last.made_by_more),
        (FRAMES_NAMED_MAX, 1_000 - FRAMES_NAMED_MAX)
    );
    let size = |copies| serde_json::to_vec(&judge(case(), &many(copies))).expect("JSON").len();
    assert!(size(1_000) < 3 * size(500), "{} and {}", size(1_000), size(500));
    // As many as are named are all of them, and stored as ever.
    let few = judge(case(), &many(FRAMES_NAMED_MAX));
    let last = few.rows.last().expect("a row");
    assert_eq!((last.made_by.len(), last.made_by_more), (FRAMES_NAMED_MAX, 0));
    assert!(!serde_json::to_string(last).expect("JSON").contains("made_by_more"));
}
