//! The record as a tree of facts: what checks name by path, such as `end.effects.A` or `attempt.withheld.result`.
//!
//! Not observed is not zero: a fact that could not be observed is remembered with the reason, and a check that asks for
//! it comes out inconclusive.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::disclosure::disclosed;
use super::same::same_value;
use super::steps::{Request, StepSlice, requests, steps};
use crate::case::{Doubled, From, Step, WriteStep};
use crate::plan::{Operation, Plan};
use crate::protocol::{Reply, ReplyKind, without_replayed};
use crate::record::{Body, Observation, Reading, ReadingOutcome, Record};
use crate::recovery::{self, Attempt};

/// The facts of one record.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Facts {
    /// By step name, label or process.
    pub(super) tree: Map<String, Value>,
    /// Paths of facts that could not be observed, and why.
    unobserved: BTreeMap<String, String>,
    /// Paths of counts that are zero because there is no store or no table, and what is missing.
    missing: BTreeMap<String, String>,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lookup<'a> {
    /// A fact.
    Found(&'a Value),
    /// It could not be observed.
    Unobserved(&'a str),
    /// It belongs to a withheld reply that never came, to rows that nobody saw, or to a copy whose rows could not be doubled.
    NeverMade,
    /// Nothing of the kind is in the record.
    Absent,
}

impl Facts {
    /// Folds a record into its facts.
    pub(super) fn of(plan: &Plan, record: &Record) -> Self {
        let mut facts = Self::default();
        let slices = steps(plan, record);
        let mut history = History::default();
        for slice in &slices {
            match slice.step {
                Step::Start { process } => facts.process(process, plan, record),
                Step::Stop { .. } | Step::Kill { .. } => {}
                Step::Observe { label, doubled, .. } => {
                    if let Some(observation) = record.observations.get(label) {
                        facts.observation(plan, observation, *doubled, &history);
                        history.observed(observation);
                    }
                }
                Step::Write(write) => facts.write(plan, slice, write, &mut history),
                Step::Status { operation, name, .. } => facts.status(plan, slice, operation, name),
            }
        }
        facts
    }

    /// Follows a path, its parts separated by dots.
    pub(super) fn look_up(&self, path: &str) -> Lookup<'_> {
        let mut parts = path.split('.');
        let mut found = parts.next().and_then(|root| self.tree.get(root));
        for part in parts {
            found = found.and_then(|value| value.get(part));
        }
        if let Some(value) = found {
            return Lookup::Found(value);
        }
        if let Some(reason) = self.unobserved.get(path) {
            return Lookup::Unobserved(reason);
        }
        if path
            .split('.')
            .any(|part| matches!(part, "withheld" | "doubled" | "kept"))
        {
            return Lookup::NeverMade;
        }
        Lookup::Absent
    }

    /// What is missing, where that is why the count at this path is zero.
    pub(super) fn missing(&self, path: &str) -> Option<&str> {
        self.missing.get(path).map(String::as_str)
    }

    fn process(&mut self, process: &str, plan: &Plan, record: &Record) {
        let of_process = |event: &&crate::record::Event| event.process.as_deref() == Some(process);
        let events: Vec<_> = record.events.iter().filter(of_process).cloned().collect();
        let call = plan.operations.values().find_map(|operation| operation.write.as_ref());
        let status = plan.operations.values().find_map(|operation| operation.status.as_ref());
        let mut facts = Map::new();
        facts.insert(
            "writes".into(),
            call.map_or(0, |call| requests(&events, &call.tool).len()).into(),
        );
        facts.insert(
            "statuses".into(),
            status.map_or(0, |call| requests(&events, &call.tool).len()).into(),
        );
        for event in &events {
            if let Body::ProcessEnded {
                code,
                signal,
                survivors,
            } = &event.body
            {
                facts.insert("survivors".into(), (*survivors).into());
                facts.insert("code".into(), json!(code));
                facts.insert("signal".into(), json!(signal));
            }
        }
        self.tree.insert(process.to_owned(), facts.into());
    }

    fn observation(&mut self, plan: &Plan, observation: &Observation, doubled: Option<Doubled>, history: &History<'_>) {
        let label = &observation.label;
        let mut facts = Map::new();
        for (name, seen) in &observation.operations {
            let on_copy = seen.doctored.as_ref().map(|doctored| doctored.count);
            let effects = match doubled {
                Some(Doubled::IfNeeded) => on_copy.or(seen.effects.count()),
                Some(Doubled::Always) | None => seen.effects.count(),
            };
            self.count(&mut facts, label, "effects", name, effects, seen.effects.problem());
            if let Some(missing) = seen.effects.missing() {
                self.missing
                    .insert(format!("{label}.effects.{name}"), missing.to_owned());
            }
            if let Some(ledger) = &seen.ledger {
                self.count(&mut facts, label, "ledger", name, ledger.count(), ledger.problem());
            }
            let rows = rows(&seen.effects);
            if let Some(before) = history.rows.get(name) {
                insert(&mut facts, "kept", name, holds_all(&rows, before).into());
            }
            if let Some(count) = on_copy {
                insert(&mut facts, "doubled", name, count.into());
            }
            if let Some(operation) = plan.operations.get(name).filter(|_| history.changed.contains_key(name)) {
                match new_data(operation, &rows, history.rows_before_change(name)) {
                    Some(count) => insert(&mut facts, "new_data", name, count.into()),
                    None => self.not_observed(
                        format!("{label}.new_data.{name}"),
                        "no observation saw the first write before the changed one was sent, so the rows cannot be told apart",
                    ),
                }
            }
            insert(&mut facts, "rows", name, rows.into());
        }
        if let Some(problem) = observation.read.problem() {
            facts.insert("problem".into(), problem.into());
        }
        self.tree.insert(label.clone(), facts.into());
    }

    fn count(
        &mut self,
        facts: &mut Map<String, Value>,
        label: &str,
        kind: &str,
        operation: &str,
        count: Option<usize>,
        problem: Option<&str>,
    ) {
        match count {
            Some(count) => insert(facts, kind, operation, count.into()),
            None => self.not_observed(
                format!("{label}.{kind}.{operation}"),
                problem.unwrap_or("it could not be read"),
            ),
        }
    }

    fn not_observed(&mut self, path: String, reason: &str) {
        self.unobserved.insert(path, reason.to_owned());
    }

    fn write<'a>(&mut self, plan: &'a Plan, slice: &StepSlice<'a>, write: &'a WriteStep, history: &mut History<'a>) {
        let Some(call) = plan
            .operations
            .get(&write.operation)
            .and_then(|operation| operation.write.as_ref())
        else {
            return;
        };
        let sent = slice.requests(&call.tool);
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
            match slice.ran_out() {
                // The bound is ours: a slow server is not a silent one.
                Some(reason) if delivered.is_none() => {
                    for fact in ["answered", "result", "replayed", "refusal"] {
                        self.not_observed(format!("{}.{fact}", write.name), &reason);
                    }
                }
                Some(_) | None => {
                    facts.insert("answered".into(), delivered.is_some().into());
                }
            }
            if delivered.is_none() && write.fault.is_none() && slice.ended_by_itself() {
                facts.insert("server_ended".into(), true.into());
            }
            if let Some(moment) = slice.moment() {
                facts.insert("moment".into(), moment.into());
            }
            let earlier = history.results(&write.operation);
            let known = format!("{}{}", last.payload, json!(answers));
            let told = delivered.map_or(Vec::new(), |reply| disclosed(reply, &known, earlier));
            facts.insert("disclosed".into(), json!(told));
            if let Some(reply) = delivered {
                self.describe(&mut facts, &write.name, reply, plan);
            }
            if let Some(reply) = withheld {
                let mut inside = Map::new();
                inside.insert("outcome".into(), reply.outcome().into());
                self.describe(&mut inside, &format!("{}.withheld", write.name), reply, plan);
                facts.insert("withheld".into(), inside.into());
            }
            if write.from == From::Repeat
                && !write.changed
                && let Some(before) = history.last_request.get(write.operation.as_str())
            {
                facts.insert(
                    "repeats_exactly".into(),
                    (repeats_exactly(before.payload, last.payload) && history.gave(write, &answers)).into(),
                );
            }
            history.sent(write, last, delivered.or(withheld));
            history.answered(write, answers);
        }
        self.tree.insert(write.name.clone(), facts.into());
    }

    fn status(&mut self, plan: &Plan, slice: &StepSlice<'_>, operation: &str, name: &str) {
        let Some(planned) = plan.operations.get(operation) else {
            return;
        };
        let Some(call) = &planned.status else { return };
        let mut facts = Map::new();
        let request = slice.requests(&call.tool).pop();
        let reply = request.and_then(|request| slice.reply(request, false));
        facts.insert("outcome".into(), reply.map_or("unknown", Reply::outcome).into());
        if let Some(ReplyKind::Result(result)) = reply.map(Reply::kind)
            && let Some(observation) = result.pointer(&call.result)
        {
            let attempt = Attempt {
                operation: &planned.identity,
                scope: &call.scope,
            };
            let action = recovery::conclude(&attempt, observation);
            self.conclude(name, &action);
            if let Some(members) = observation.as_object() {
                for (key, value) in members {
                    facts.entry(key).or_insert_with(|| value.clone());
                }
            }
            if let Some(stored) = observation.get("result").filter(|stored| stored.is_object()) {
                let at = plan.replies.result.as_deref().unwrap_or_default();
                let stored = without_replayed(stored.clone(), at, &plan.replies);
                facts.insert("stored_result".into(), stored);
            }
        }
        self.tree.insert(name.to_owned(), facts.into());
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

    /// What there is instead of a fact that is not there, as far as the reply of its step tells.
    pub(super) fn instead(&self, path: &str) -> Option<String> {
        let facts = self.tree.get(path.split('.').next()?)?;
        Some(match facts.get("outcome")?.as_str()? {
            "unknown" => "no reply".to_owned(),
            "refused" => format!("a refusal: {}", facts.get("refusal_text").or(facts.get("refusal"))?),
            "asked" => "a question for input".to_owned(),
            _ => "a result without it".to_owned(),
        })
    }

    fn conclude(&mut self, name: &str, action: &recovery::Action<'_>) {
        let recovery = self.tree.entry("recovery").or_insert_with(|| json!({}));
        recovery["after"][name] = action.name().into();
        if let recovery::Action::Stop { reason } = action {
            recovery["because"][name] = reason.to_string().into();
        }
    }
}

/// What the steps before have sent, got and seen.
#[derive(Debug, Default)]
struct History<'a> {
    last_request: BTreeMap<&'a str, Request<'a>>,
    /// What was answered inside the last request.
    answers: BTreeMap<&'a str, Vec<&'a Value>>,
    replies: BTreeMap<&'a str, Vec<Reply<'a>>>,
    /// Rows that the last observation that saw any saw, by operation; never none.
    rows: BTreeMap<String, Vec<Value>>,
    /// Rows as they were seen before the operation was sent with changed data.
    changed: BTreeMap<String, Option<Vec<Value>>>,
}

impl<'a> History<'a> {
    fn sent(&mut self, write: &'a WriteStep, last: Request<'a>, reply: Option<Reply<'a>>) {
        if write.changed {
            let seen = self.rows.get(&write.operation).cloned();
            self.changed.entry(write.operation.clone()).or_insert(seen);
        } else {
            self.last_request.insert(&write.operation, last);
        }
        self.replies.entry(&write.operation).or_default().extend(reply);
    }

    fn answered(&mut self, write: &'a WriteStep, answers: Vec<&'a Value>) {
        if !write.changed {
            self.answers.insert(&write.operation, answers);
        }
    }

    /// Whether every one of these answers was given inside the last request too. A server that replays need not ask again;
    /// but a repeat that answers something new ("write it twice?") is not the same write.
    fn gave(&self, write: &WriteStep, answers: &[&Value]) -> bool {
        let before = self
            .answers
            .get(write.operation.as_str())
            .map_or(&[][..], Vec::as_slice);
        let given = |answer: &&Value| before.iter().any(|other| other.get("result") == answer.get("result"));
        answers.iter().all(given)
    }

    fn observed(&mut self, observation: &Observation) {
        for (name, seen) in &observation.operations {
            let rows = rows(&seen.effects);
            if !rows.is_empty() {
                self.rows.insert(name.clone(), rows);
            }
        }
    }

    fn results(&self, operation: &str) -> &[Reply<'a>] {
        self.replies.get(operation).map_or(&[], Vec::as_slice)
    }

    fn rows_before_change(&self, operation: &str) -> Option<&[Value]> {
        self.changed.get(operation)?.as_deref()
    }
}

fn insert(facts: &mut Map<String, Value>, kind: &str, operation: &str, value: Value) {
    let kind = facts.entry(kind).or_insert_with(|| json!({}));
    kind[operation] = value;
}

/// The rows of a reading as objects, column by column.
pub(super) fn rows(reading: &Reading) -> Vec<Value> {
    let ReadingOutcome::Rows(rows) = &reading.outcome else {
        return Vec::new();
    };
    let object = |row: &Vec<Value>| {
        let members = rows.columns.iter().cloned().zip(row.iter().cloned());
        Value::Object(members.collect())
    };
    rows.rows.iter().map(object).collect()
}

/// Whether rows hold all of the earlier ones, as often as they were there.
fn holds_all(rows: &[Value], earlier: &[Value]) -> bool {
    let count = |rows: &[Value], row: &Value| rows.iter().filter(|other| same_value(other, row)).count();
    earlier.iter().all(|row| count(rows, row) >= count(earlier, row))
}

/// How many rows hold changed data: told by the changed input where it is written, else by comparison with the rows
/// that were there before.
fn new_data(operation: &Operation, rows: &[Value], before: Option<&[Value]>) -> Option<usize> {
    if operation.input_is_written {
        let holds = |row: &&Value| row.to_string().contains(&operation.changed_input);
        return Some(rows.iter().filter(holds).count());
    }
    let before = before?;
    Some(rows.iter().filter(|row| !before.contains(row)).count())
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
