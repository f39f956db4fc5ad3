//! Table tests of a write inside which the server asks for input: which facts its frames make.

use serde_json::{Value, json};

use super::facts::Facts;
use crate::case::{Catalogue, Step};
use crate::plan::{Naming, Plan, plan};
use crate::record::{Body, Direction, Event, Message, RECORD_FORMAT, Record};
use crate::target::{TargetWords, locate};

/// A frame, who sent it, and whether it was withheld.
type Said = (Direction, bool, Value);

fn sent(frame: Value) -> Said {
    (Direction::ClientToServer, false, frame)
}

fn got(frame: Value) -> Said {
    (Direction::ServerToClient, false, frame)
}

fn withheld(frame: Value) -> Said {
    (Direction::ServerToClient, true, frame)
}

fn call(id: u64) -> Value {
    json!({"id": id, "method": "tools/call", "params": {"name": "create_issue", "arguments": {"title": "mk"}}})
}

fn question(id: &str) -> Value {
    json!({"id": id, "method": "elicitation/create", "params": {"message": "Which?"}})
}

fn answer(id: &str, note: &str) -> Value {
    json!({"id": id, "result": {"action": "accept", "content": {"note": note}}})
}

fn reply(id: u64) -> Value {
    json!({"id": id, "result": {"content": []}})
}

fn planned() -> Plan {
    let words = TargetWords {
        has_built_in: true,
        ..TargetWords::default()
    };
    let target = locate(&words, std::path::Path::new("/nowhere")).expect("the built-in target");
    let naming = Naming {
        seed: 1,
        nonce: "nonce".to_owned(),
    };
    plan(
        &target,
        Catalogue::embedded().get("lost-reply").expect("a case"),
        &naming,
    )
    .expect("a plan")
}

/// The record of the steps `attempt` and `retry`, in which this was said.
fn record(attempt: Vec<Said>, retry: Vec<Said>) -> (Plan, Record) {
    let plan = planned();
    let mut bodies = vec![Body::CasePlanned {
        format: RECORD_FORMAT,
        plan: Box::new(plan.clone()),
    }];
    for (name, said) in [("attempt", attempt), ("retry", retry)] {
        let is_it = |step: &Step| matches!(step, Step::Write(write) if write.name == name);
        let step = plan.steps.iter().position(is_it).expect("a step of the case");
        let does = name.to_owned();
        bodies.push(Body::StepStarted { step, does });
        for (direction, withheld, frame) in said {
            let mut message = Message::whole(direction, frame.to_string().as_bytes());
            message.withheld = withheld;
            bodies.push(Body::Message(message));
        }
    }
    let event = |(seq, body): (u64, Body)| Event {
        seq,
        at: 0,
        process: Some("first".to_owned()),
        body,
    };
    let record = Record {
        events: (1..).zip(bodies).map(event).collect(),
        observations: std::collections::BTreeMap::new(),
    };
    (plan, record)
}

fn facts(attempt: Vec<Said>, retry: Vec<Said>) -> Value {
    let (plan, record) = record(attempt, retry);
    Facts::of(&plan, &record).tree.into()
}

#[test]
fn the_last_round_begins_with_the_last_answer() {
    let attempt = vec![
        sent(call(1)),
        got(question("q")),
        sent(answer("q", "x")),
        got(question("r")),
        sent(answer("r", "x")),
        got(json!({"id": 9, "method": "ping"})),
        sent(json!({"id": 9, "result": {}})),
        withheld(reply(1)),
        withheld(question("late")),
    ];
    let attempt = &facts(attempt, Vec::new())["attempt"];
    assert_eq!(attempt["input_required"], true);
    assert_eq!(attempt["asked_inside"], 2, "a question that was withheld was not asked");
    assert_eq!(attempt["rounds"], 3);
    // Two events before the frames, of which the fifth is the last answer. A ping tells nothing of the write.
    assert_eq!(attempt["last_round"], json!({"seq": 7, "delivered_bytes": 0}));
    assert_eq!(attempt["outcome"], "unknown");
    assert_eq!(attempt["withheld"]["outcome"], "result");
}

#[test]
fn what_reaches_the_client_after_the_answer_is_counted() {
    let early = vec![sent(call(1)), got(question("q")), sent(answer("q", "x")), got(reply(1))];
    let bytes = reply(1).to_string().len();
    assert_eq!(
        facts(early, Vec::new())["attempt"]["last_round"]["delivered_bytes"],
        bytes
    );
}

#[test]
fn a_refused_question_begins_no_round() {
    let refused = json!({"id": "q", "error": {"code": -32602, "message": "no"}});
    let attempt = vec![sent(call(1)), got(question("q")), sent(refused), withheld(reply(1))];
    let attempt = &facts(attempt, Vec::new())["attempt"];
    assert_eq!((&attempt["asked_inside"], &attempt["rounds"]), (&json!(1), &json!(1)));
    assert_eq!(attempt["last_round"]["seq"], 3);
}

#[test]
fn a_write_without_questions_says_nothing_of_them() {
    let attempt = &facts(vec![sent(call(1)), withheld(reply(1))], Vec::new())["attempt"];
    assert_eq!(attempt["input_required"], false);
    assert_eq!(attempt.get("asked_inside"), None);
}

/// A repeat gives no answer that the first request did not give; it need not be asked again.
#[test]
fn a_repeat_is_exact_in_its_answers_too() {
    let first = || {
        vec![
            sent(call(1)),
            got(question("q")),
            sent(answer("q", "x")),
            withheld(reply(1)),
        ]
    };
    let table = [
        (vec![sent(call(2)), got(question("q")), sent(answer("q", "x"))], true),
        (vec![sent(call(2)), got(reply(2))], true),
        (vec![sent(call(2)), got(question("q")), sent(answer("q", "y"))], false),
    ];
    for (retry, exact) in table {
        let facts = facts(first(), retry.clone());
        assert_eq!(facts["retry"]["repeats_exactly"], exact, "{retry:?}");
    }
    let asked_first_now = vec![sent(call(2)), got(question("q")), sent(answer("q", "x"))];
    let facts = facts(vec![sent(call(1)), withheld(reply(1))], asked_first_now);
    assert_eq!(facts["retry"]["repeats_exactly"], false);
}
