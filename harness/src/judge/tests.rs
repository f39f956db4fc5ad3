//! Table tests of the judge on records built by hand: no process, no store, no file.

mod executions;
mod facts;
mod moment;
mod rows;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{gate_by_controls, judge};
use crate::case::{Case, Catalogue, ObserveStep, Step, When};
use crate::plan::{Naming, Plan, plan};
use crate::readback::{Query, Rows, Selector};
use crate::record::{
    Body, CheckOutcome, Direction, Event, Message, OBSERVATION_FORMAT, Observation, OperationSeen, Outcome,
    RECORD_FORMAT, ReadFrom, Reading, ReadingOutcome, Record, Verdict,
};
use crate::target::{Preset, Target, TargetWords, locate};

/// The record of `lost-reply` on a guarded server, with a few things to change.
struct Story {
    target: Target,
    /// Bodies of the rows at the end.
    rows_at_end: Vec<&'static str>,
    /// The receipt that the retry gets.
    retry_receipt: &'static str,
    delivered_early: bool,
    unreadable_end: bool,
    outcome: Outcome,
    missed: Option<&'static str>,
    withheld_reply: bool,
}

impl Story {
    fn guarded() -> Self {
        let words = TargetWords {
            has_built_in: true,
            ..TargetWords::default()
        };
        Self {
            target: locate(&words, Path::new("/nowhere")).expect("the built-in target"),
            rows_at_end: vec!["alpha"],
            retry_receipt: "receipt-1",
            delivered_early: false,
            unreadable_end: false,
            outcome: Outcome::Finished,
            missed: None,
            withheld_reply: true,
        }
    }

    fn unguarded(mut self) -> Self {
        self.target.contract.preset = Preset::None;
        self
    }

    fn plan(&self) -> Plan {
        let naming = Naming {
            seed: 1,
            nonce: "nonce".to_owned(),
        };
        plan(&self.target, case(), &naming).expect("a plan")
    }

    fn record(&self) -> Record {
        let plan = self.plan();
        let mut told = Telling::default();
        told.add(
            None,
            Body::CasePlanned {
                format: RECORD_FORMAT,
                plan: Box::new(plan.clone()),
            },
        );
        for (index, step) in plan.steps.iter().enumerate() {
            told.add(
                None,
                Body::StepStarted {
                    step: index,
                    does: String::new(),
                },
            );
            self.tell(step, &plan, &mut told);
        }
        told.add(
            None,
            Body::CaseEnded {
                outcome: self.outcome.clone(),
            },
        );
        Record {
            events: told.events,
            observations: told.observations,
        }
    }

    fn tell(&self, step: &Step, plan: &Plan, told: &mut Telling) {
        match step {
            Step::Start(_)
            | Step::Kill { .. }
            | Step::Pause { .. }
            | Step::Resume { .. }
            | Step::Open { .. }
            | Step::CancelExecution { .. }
            | Step::Send(_)
            | Step::Await { .. }
            | Step::Cancel { .. }
            | Step::Advance { .. }
            | Step::Hold { .. }
            | Step::Release { .. }
            | Step::Reconcile { .. } => {}
            Step::Stop { process } => told.end(process),
            Step::Observe(ObserveStep { label, when, .. }) => {
                let rows: &[&str] = match label.as_str() {
                    "before" => &[],
                    "after-kill" => &["alpha"],
                    _ => &self.rows_at_end,
                };
                let unreadable = self.unreadable_end && label == "end";
                told.observe(label, *when, rows, unreadable);
            }
            Step::Write(write) if write.fault.is_some() => {
                let call = plan.operations["A"].write.clone().expect("a write");
                told.send(
                    "first",
                    &json!({"id": 1, "method": "tools/call", "params": {"name": call.tool}}),
                );
                told.receive(
                    "first",
                    false,
                    &json!({"id": 1, "result": {"resultType": "input_required"}}),
                );
                let last =
                    json!({"id": 2, "method": "tools/call", "params": {"name": call.tool, "inputResponses": {}}});
                told.send("first", &last);
                if self.withheld_reply {
                    told.receive("first", !self.delivered_early, &result(2, "receipt-1", false));
                }
                if let Some(reason) = self.missed {
                    told.add(
                        None,
                        Body::FaultMissed {
                            reason: reason.to_owned(),
                        },
                    );
                }
                told.end("first");
            }
            Step::Write(_) => {
                let call = plan.operations["A"].write.clone().expect("a write");
                let last =
                    json!({"id": 4, "method": "tools/call", "params": {"name": call.tool, "inputResponses": {}}});
                told.send("second", &last);
                told.receive("second", false, &result(4, self.retry_receipt, true));
            }
            Step::Status { .. } => {
                let operation = &plan.operations["A"];
                let call = operation.status.clone().expect("a status call");
                told.send(
                    "second",
                    &json!({"id": 3, "method": "tools/call", "params": {"name": call.tool}}),
                );
                let stored = json!({"issue_id": 1, "receipt": "receipt-1"});
                let seen = json!({
                    "operation_id": operation.identity, "state": "applied", "authoritative": true, "scope": call.scope,
                    "observed_at": "2026-09-22T00:00:00Z", "effect_ids": [1], "result": stored,
                    "fresh_write_authorized": false,
                });
                told.receive(
                    "second",
                    false,
                    &json!({"id": 3, "result": {"structuredContent": seen}}),
                );
            }
        }
    }
}

fn result(id: u64, receipt: &str, replayed: bool) -> Value {
    json!({"id": id, "result": {"structuredContent": {"issue_id": 1, "receipt": receipt, "replayed": replayed}}})
}

/// Events and observations in order.
#[derive(Default)]
struct Telling {
    events: Vec<Event>,
    observations: BTreeMap<String, Observation>,
}

impl Telling {
    fn add(&mut self, process: Option<&str>, body: Body) {
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            at: 0,
            process: process.map(str::to_owned),
            body,
        });
    }

    fn message(&mut self, process: &str, direction: Direction, withheld: bool, frame: &Value) {
        let mut message = Message::whole(direction, frame.to_string().as_bytes());
        message.withheld = withheld;
        self.add(Some(process), Body::Message(message));
    }

    fn send(&mut self, process: &str, frame: &Value) {
        self.message(process, Direction::ClientToServer, false, frame);
    }

    fn receive(&mut self, process: &str, withheld: bool, frame: &Value) {
        self.message(process, Direction::ServerToClient, withheld, frame);
    }

    fn end(&mut self, process: &str) {
        self.add(
            Some(process),
            Body::ProcessEnded {
                code: None,
                signal: Some(9),
                survivors: 0,
                last_words: None,
            },
        );
    }

    fn observe(&mut self, label: &str, when: When, bodies: &[&str], unreadable: bool) {
        let rows = Rows {
            columns: vec!["issue_id".to_owned(), "body".to_owned()],
            rows: bodies
                .iter()
                .enumerate()
                .map(|(at, body)| vec![json!(at + 1), json!(body)])
                .collect(),
        };
        let reading = |outcome| Reading {
            query: Query::new(Selector::sql("SELECT"), []),
            outcome,
        };
        let effects = if unreadable {
            ReadingOutcome::Unreadable {
                reason: "the store is torn".to_owned(),
            }
        } else {
            ReadingOutcome::Rows(rows.clone())
        };
        let one = Rows {
            columns: vec!["operation_id".to_owned()],
            rows: vec![vec![json!("op")]],
        };
        let seen = OperationSeen {
            effects: reading(effects),
            ledger: Some(reading(ReadingOutcome::Rows(one))),
            doctored: None,
            tampered: BTreeMap::new(),
            more: BTreeMap::new(),
            set_aside: Vec::new(),
        };
        let observation = Observation {
            format: OBSERVATION_FORMAT,
            label: label.to_owned(),
            when,
            read: ReadFrom::Live,
            operations: BTreeMap::from([("A".to_owned(), seen)]),
        };
        self.observations.insert(label.to_owned(), observation);
        self.add(
            None,
            Body::Observed {
                label: label.to_owned(),
                sha256: String::new(),
            },
        );
    }
}

fn case() -> &'static Case {
    Catalogue::embedded().get("lost-reply").expect("an embedded case")
}

/// The verdict, and the checks that do not hold with what came of them.
fn judged(story: &Story) -> (Verdict, Vec<(String, CheckOutcome)>) {
    let verdict = judge(case(), &story.record());
    let troubles = verdict
        .checks
        .iter()
        .filter(|check| check.outcome != CheckOutcome::Held);
    (
        verdict.verdict,
        troubles.map(|check| (check.id.clone(), check.outcome)).collect(),
    )
}

fn trouble(id: &str, outcome: CheckOutcome) -> (String, CheckOutcome) {
    (id.to_owned(), outcome)
}

#[test]
fn a_guarded_server_passes_with_every_check_held() {
    assert_eq!(judged(&Story::guarded()), (Verdict::Pass, vec![]));
}

#[test]
fn another_result_fails_where_the_first_is_promised_and_is_a_note_where_it_is_not() {
    let story = Story {
        retry_receipt: "receipt-2",
        ..Story::guarded()
    };
    assert_eq!(
        judged(&story),
        (Verdict::Fail, vec![trouble("first-result", CheckOutcome::Broken)])
    );
    let (verdict, troubles) = judged(&story.unguarded());
    assert_eq!(verdict, Verdict::Pass);
    assert!(
        troubles.contains(&trouble("first-result", CheckOutcome::Noted)),
        "{troubles:?}"
    );
}

#[test]
fn nobody_is_accused_of_what_nobody_promised() {
    let story = Story {
        rows_at_end: vec!["alpha", "alpha"],
        ..Story::guarded()
    }
    .unguarded();
    let (verdict, troubles) = judged(&story);
    assert_eq!(verdict, Verdict::Unguarded);
    assert!(
        troubles.contains(&trouble("one-effect", CheckOutcome::Unguarded)),
        "{troubles:?}"
    );
    assert!(
        !troubles.iter().any(|(_, outcome)| *outcome == CheckOutcome::Broken),
        "{troubles:?}"
    );
    assert!(
        troubles.contains(&trouble("says-replayed", CheckOutcome::NotApplicable)),
        "{troubles:?}"
    );
}

/// What cannot be said of the target is inconclusive, whatever else the record shows.
#[test]
fn machinery_comes_before_every_accusation() {
    let double = || Story {
        rows_at_end: vec!["alpha", "alpha"],
        ..Story::guarded()
    };
    let table = [
        (
            "delivered",
            Story {
                delivered_early: true,
                ..double()
            },
        ),
        (
            "unreadable",
            Story {
                unreadable_end: true,
                ..double()
            },
        ),
        (
            "missed",
            Story {
                missed: Some("too late"),
                ..double()
            },
        ),
        (
            "stopped",
            Story {
                outcome: Outcome::Stopped {
                    reason: "no".to_owned(),
                },
                ..double()
            },
        ),
        (
            "interrupted",
            Story {
                outcome: Outcome::Interrupted,
                ..double()
            },
        ),
    ];
    for (name, story) in table {
        let (verdict, troubles) = judged(&story);
        assert_eq!(verdict, Verdict::Inconclusive, "{name}");
        assert!(
            !troubles.iter().any(|(_, outcome)| *outcome == CheckOutcome::Broken),
            "{name}: {troubles:?}"
        );
    }
}

#[test]
fn a_record_that_ends_in_the_middle_is_inconclusive() {
    let mut record = Story::guarded().record();
    record.events.pop();
    let verdict = judge(case(), &record);
    assert_eq!(verdict.verdict, Verdict::Inconclusive);
    record.events.clear();
    assert_eq!(judge(case(), &record).verdict, Verdict::Inconclusive);
}

#[test]
fn a_withheld_reply_that_never_came_is_not_compared() {
    let story = Story {
        withheld_reply: false,
        ..Story::guarded()
    };
    let (verdict, troubles) = judged(&story);
    assert_eq!(verdict, Verdict::Pass);
    assert!(
        troubles.contains(&trouble("first-result", CheckOutcome::NotApplicable)),
        "{troubles:?}"
    );
}

#[test]
fn a_missing_surface_is_unsupported_and_named() {
    let mut story = Story::guarded();
    story.target.read_effects = None;
    let verdict = judge(case(), &story.record());
    assert_eq!(verdict.verdict, Verdict::Unsupported);
    assert!(
        verdict
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains("`read.effects`")),
        "{:?}",
        verdict.reason
    );
}

#[test]
fn a_record_of_another_revision_is_not_judged_by_this_one() {
    let mut other = case().clone();
    other.digest = "another".to_owned();
    assert_eq!(judge(&other, &Story::guarded().record()).verdict, Verdict::Inconclusive);
}

#[test]
fn without_its_control_nothing_is_believed() {
    let verdict = judge(case(), &Story::guarded().record());
    let mut control = verdict.clone();
    control.case = "sees-duplicates".to_owned();
    assert_eq!(
        gate_by_controls(verdict.clone(), case(), &[control.clone()]).verdict,
        Verdict::Pass
    );
    control.verdict = Verdict::Inconclusive;
    control.reason = Some("sees-two: it does not".to_owned());
    for controls in [vec![control], vec![]] {
        let gated = gate_by_controls(verdict.clone(), case(), &controls);
        assert_eq!(gated.verdict, Verdict::Inconclusive);
    }
}

/// The same record gives the same verdict, to the letter: that is what `verify` relies on.
#[test]
fn judging_is_a_function() {
    let record = Story::guarded().record();
    assert_eq!(judge(case(), &record), judge(case(), &record));
}
