//! A kill that only the whole reply marked: the frozen store decides whether it came at its moment.

use super::{Story, case};
use crate::judge::judge;
use crate::record::{Body, CaseVerdict, CheckOutcome, Event, ReadingOutcome, Record, Verdict};

/// The record of a story whose moment the reply marked, with so many rows in the store right after the kill.
fn marked(story: &Story, after_kill: Option<usize>) -> Record {
    let mut record = story.record();
    let end = |event: &Event| matches!(event.body, Body::ProcessEnded { .. });
    let at = record.events.iter().position(end).expect("the first server ends");
    let mark = Event {
        body: Body::ReplyMarkedMoment {
            why: "the store is locked".to_owned(),
            polls: 7,
        },
        ..record.events[at].clone()
    };
    record.events.insert(at, mark);
    let seen = record.observations.get_mut("after-kill").expect("an observation");
    let effects = &mut seen.operations.get_mut("A").expect("an operation").effects.outcome;
    match (effects, after_kill) {
        (ReadingOutcome::Rows(rows), Some(count)) => rows.rows.truncate(count),
        (effects, _) => {
            *effects = ReadingOutcome::Unreadable {
                reason: "the store is torn".to_owned(),
            };
        }
    }
    record
}

fn outcome(verdict: &CaseVerdict, id: &str) -> CheckOutcome {
    let check = verdict.checks.iter().find(|check| check.id == id);
    check.expect("a check").outcome
}

#[test]
fn with_the_effect_in_the_frozen_store_all_is_judged_as_usual() {
    let verdict = judge(case(), &marked(&Story::guarded(), Some(1)));
    assert_eq!(verdict.verdict, Verdict::Pass, "{:?}", verdict.reason);
    assert_eq!(verdict.facts["attempt"]["moment"], "reply");
    let mut twice = Story::guarded().unguarded();
    twice.rows_at_end = vec!["alpha", "alpha"];
    let verdict = judge(case(), &marked(&twice, Some(1)));
    assert_eq!(verdict.verdict, Verdict::Unguarded);
    assert_eq!(outcome(&verdict, "one-effect"), CheckOutcome::Unguarded);
}

/// It was never seen, so it was not seen to be lost.
#[test]
fn without_it_the_moment_was_missed_and_nobody_is_accused() {
    let mut lost = Story::guarded();
    lost.rows_at_end = vec![];
    for story in [Story::guarded(), lost] {
        let verdict = judge(case(), &marked(&story, Some(0)));
        assert_eq!(verdict.verdict, Verdict::Inconclusive);
        let reason = verdict.reason.as_deref().unwrap_or_default();
        assert!(reason.starts_with("the fault missed its moment: "), "{reason}");
        assert_eq!(outcome(&verdict, "effect-survived"), CheckOutcome::NotJudged);
        assert!(verdict.checks.iter().all(|check| check.outcome != CheckOutcome::Broken));
    }
}

#[test]
fn a_store_that_cannot_be_read_after_the_kill_either_is_inconclusive_for_that() {
    let verdict = judge(case(), &marked(&Story::guarded(), None));
    assert_eq!(verdict.verdict, Verdict::Inconclusive);
    assert_eq!(outcome(&verdict, "effect-survived"), CheckOutcome::Inconclusive);
}

#[test]
fn an_effect_that_was_seen_before_the_kill_and_is_gone_is_a_loss() {
    let mut record = marked(&Story::guarded(), Some(0));
    for event in &mut record.events {
        if let Body::ReplyMarkedMoment { .. } = event.body {
            event.body = Body::EffectVisible {
                effects: 1,
                effects_before: 0,
                polls: 7,
            };
        }
    }
    let verdict = judge(case(), &record);
    assert_eq!(verdict.facts["attempt"]["moment"], "effect");
    assert_eq!(outcome(&verdict, "effect-survived"), CheckOutcome::Broken);
}
