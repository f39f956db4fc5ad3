//! The facts of what was written: requests, the replies to them, and how the two agree.

use serde_json::{Map, Value, json};

use super::disclosure::disclosed;
use super::facts::Facts;
use super::history::History;
use super::steps::{Request, StepSlice};
use crate::case::{From, SendStep, Step, WriteStep};
use crate::plan::{Call, Plan};
use crate::protocol::{Reply, ReplyKind, undeclared};
use crate::record::Record;

/// What a step sent, as far as its facts depend on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) name: &'a str,
    pub(super) operation: &'a str,
    pub(super) changed: bool,
    pub(super) of: Option<&'a str>,
    is_repeat: bool,
    /// Whether the server may end, by our hand, before the reply is looked for: a fault was at work, or it was not waited for.
    outlives_its_step: bool,
}

impl<'a> Sent<'a> {
    fn of_write(write: &'a WriteStep) -> Self {
        Self {
            name: &write.name,
            operation: &write.operation,
            changed: write.changed,
            of: write.of.as_deref(),
            is_repeat: write.from == From::Repeat,
            outlives_its_step: write.fault.is_some(),
        }
    }

    fn of_send(send: &'a SendStep) -> Self {
        Self {
            name: &send.name,
            operation: &send.operation,
            changed: false,
            of: None,
            is_repeat: false,
            outlives_its_step: true,
        }
    }
}

fn call_of<'a>(plan: &'a Plan, operation: &str) -> Option<&'a Call> {
    plan.operations.get(operation)?.write.as_ref()
}

/// The questions of a first round.
fn asked_in(reply: Reply<'_>) -> Option<&Map<String, Value>> {
    let ReplyKind::InputRequired(result) = reply.kind() else {
        return None;
    };
    result.get("inputRequests").and_then(Value::as_object)
}

impl Facts {
    /// The facts of a write: what was sent in its step, and what came in it.
    pub(super) fn write<'a>(
        &mut self,
        plan: &'a Plan,
        slice: &StepSlice<'a>,
        write: &'a WriteStep,
        history: &mut History<'a>,
    ) {
        self.exchange(plan, slice, slice.ran_out(), &Sent::of_write(write), history);
        self.submitted(plan, slice, &write.operation, &write.name);
    }

    /// The facts of a request whose reply was not waited for: it counts wherever it came.
    pub(super) fn send<'a>(
        &mut self,
        plan: &'a Plan,
        slice: &StepSlice<'a>,
        slices: &[StepSlice<'a>],
        record: &'a Record,
        send: &'a SendStep,
        history: &mut History<'a>,
    ) {
        let Some(call) = call_of(plan, &send.operation) else {
            return;
        };
        let Some(request) = slice.requests(&call.tool).pop() else {
            return;
        };
        // Its own request, and everything behind it that came from a server.
        let from = record.events.partition_point(|event| event.seq < request.seq);
        let whole = StepSlice {
            step: slice.step,
            events: &record.events[from..],
        };
        let awaited = slices.iter().find(|slice| {
            let Step::Await { sent } = slice.step else { return false };
            *sent == send.name
        });
        let ran_out = awaited.and_then(StepSlice::ran_out);
        self.exchange_of(plan, &whole, &[request], ran_out, &Sent::of_send(send), history);
    }

    fn exchange<'a>(
        &mut self,
        plan: &'a Plan,
        slice: &StepSlice<'a>,
        ran_out: Option<String>,
        sent_by: &Sent<'a>,
        history: &mut History<'a>,
    ) {
        let Some(call) = call_of(plan, sent_by.operation) else {
            return;
        };
        let sent = slice.requests(&call.tool);
        self.exchange_of(plan, slice, &sent, ran_out, sent_by, history);
    }

    fn exchange_of<'a>(
        &mut self,
        plan: &'a Plan,
        slice: &StepSlice<'a>,
        sent: &[Request<'a>],
        ran_out: Option<String>,
        sent_by: &Sent<'a>,
        history: &mut History<'a>,
    ) {
        let replies: Vec<Reply<'_>> = sent.iter().filter_map(|&request| slice.reply(request, false)).collect();
        let asked = replies
            .iter()
            .any(|reply| matches!(reply.kind(), ReplyKind::InputRequired(_)));
        let mut facts = Map::new();
        let inside = slice.questions();
        facts.insert("input_required".into(), (asked || inside > 0).into());
        if inside > 0 {
            facts.insert("asked_inside".into(), inside.into());
        }
        let answered: usize = sent.iter().map(|&request| slice.answers(request).len()).sum();
        facts.insert("rounds".into(), (sent.len() + answered).into());
        let questions = sent
            .iter()
            .zip(&replies)
            .find_map(|(request, reply)| Some((request, asked_in(*reply)?)));
        let (keys, kinds) = questions.map_or_else(Default::default, |(request, questions)| {
            let keys: Vec<String> = questions.keys().cloned().collect();
            (keys, undeclared(request.payload, questions))
        });
        facts.insert("asked_for".into(), keys.into());
        facts.insert("asked_undeclared".into(), kinds.into());
        if let Some(&last) = sent.last() {
            let answers: Vec<&Value> = slice.answers(last).iter().map(|answer| answer.payload).collect();
            let last_round = slice.last_round(last);
            let delivered = slice.reply(last, false);
            let withheld = slice.reply(last, true);
            let bytes = slice.delivered_bytes_after(last_round);
            facts.insert(
                "last_round".into(),
                json!({"seq": last_round, "delivered_bytes": bytes}),
            );
            facts.insert("outcome".into(), delivered.map_or("unknown", Reply::outcome).into());
            match ran_out {
                // The bound is ours: a slow server is not a silent one.
                Some(reason) if delivered.is_none() => {
                    for fact in ["answered", "result", "replayed", "refusal"] {
                        self.not_observed(format!("{}.{fact}", sent_by.name), &reason);
                    }
                }
                Some(_) | None => {
                    facts.insert("answered".into(), delivered.is_some().into());
                }
            }
            if delivered.is_none() && !sent_by.outlives_its_step && slice.ended_by_itself() {
                facts.insert("server_ended".into(), true.into());
            }
            if let Some(moment) = slice.moment() {
                facts.insert("moment".into(), moment.into());
            }
            let earlier = history.results(sent_by.operation);
            let known = format!("{}{}", last.payload, json!(answers));
            let told = delivered.map_or(Vec::new(), |reply| disclosed(reply, &known, earlier));
            facts.insert("disclosed".into(), json!(told));
            if let Some(reply) = delivered {
                self.describe(&mut facts, sent_by.name, reply, plan);
            }
            if let Some(reply) = withheld {
                let mut inside = Map::new();
                inside.insert("outcome".into(), reply.outcome().into());
                self.describe(&mut inside, &format!("{}.withheld", sent_by.name), reply, plan);
                facts.insert("withheld".into(), inside.into());
            }
            if sent_by.is_repeat
                && !sent_by.changed
                && let Some(before) = history.repeated(sent_by)
            {
                facts.insert(
                    "repeats_exactly".into(),
                    (repeats_exactly(before.payload, last.payload) && history.gave(sent_by, &answers)).into(),
                );
            }
            history.sent(sent_by, last, delivered, delivered.or(withheld));
            history.answered(sent_by, answers);
        }
        self.tree.insert(sent_by.name.to_owned(), facts.into());
    }

    fn describe(&mut self, facts: &mut Map<String, Value>, path: &str, reply: Reply<'_>, plan: &Plan) {
        let result = match reply.comparable(&plan.replies) {
            Some(Ok(result)) => Some(result),
            Some(Err(at)) => {
                let reason = format!("the reply has nothing at {at}; correct [replies] result");
                self.not_observed(format!("{path}.result"), &reason);
                None
            }
            None => None,
        };
        let found = [
            ("result", result),
            ("replayed", reply.replayed(&plan.replies).cloned()),
            ("refusal", reply.refusal(&plan.replies, &plan.contract)),
            ("refusal_text", reply.refusal_text().map(Value::from)),
        ];
        for (key, value) in found {
            if let Some(value) = value {
                facts.insert(key.to_owned(), value);
            }
        }
    }
}

/// Whether two requests are equal except for their ids, which must differ.
fn repeats_exactly(before: &Value, again: &Value) -> bool {
    let without_id = |request: &Value| {
        let mut request = request.clone();
        if let Some(members) = request.as_object_mut() {
            members.remove("id");
        }
        request
    };
    before.get("id") != again.get("id") && without_id(before) == without_id(again)
}
