//! The record as a tree of facts: what checks name by path, such as `end.effects.A` or `attempt.withheld.result`.
//!
//! Not observed is not zero: a fact that could not be observed is remembered with the reason, and a check that asks for
//! it comes out inconclusive.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::disclosure::disclosed;
use super::executions;
use super::gone;
use super::history::History;
use super::same::same_value;
use super::steps::{StepSlice, requests, steps};
use super::submitted;
use crate::case::{Doubled, ObserveStep, Step};
use crate::plan::{Operation, Plan};
use crate::protocol::{Reply, ReplyKind, Revision, Spoken, without_replayed};
use crate::record::{Body, Direction, Message, Observation, ReadFrom, Reading, ReadingOutcome, Record};
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
    /// The revision in which a handshake of the record was answered.
    pub(super) spoken: Option<Revision>,
    /// Processes beside the server that ended by themselves, a sentence each.
    gone: Vec<String>,
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

fn spoken(record: &Record) -> Option<Revision> {
    let mut spoken = Spoken::default();
    for event in &record.events {
        if let Body::Message(Message {
            direction,
            payload: Some(payload),
            ..
        }) = &event.body
        {
            spoken.see(*direction == Direction::ClientToServer, payload);
        }
    }
    spoken.revision()
}

impl Facts {
    /// Folds a record into its facts.
    pub(super) fn of(plan: &Plan, record: &Record) -> Self {
        let mut facts = Self {
            spoken: spoken(record),
            ..Self::default()
        };
        let slices = steps(plan, record);
        let mut history = History::default();
        for slice in &slices {
            match slice.step {
                Step::Start(start) => facts.process(&start.process, plan, record),
                Step::CancelExecution { operation, name, .. } => {
                    facts.cancelled_execution(plan, slice, operation, name);
                }
                Step::Stop { .. }
                | Step::Kill { .. }
                | Step::Pause { .. }
                | Step::Resume { .. }
                | Step::Open { .. }
                | Step::Await { .. }
                | Step::Cancel { .. }
                | Step::Advance { .. }
                | Step::Hold { .. } => {}
                Step::Observe(ObserveStep {
                    label, doubled, until, ..
                }) => {
                    if let Some(observation) = record.observations.get(label) {
                        facts.observation(plan, observation, *doubled, &history);
                        facts.reached(observation, until.as_ref());
                        history.observed(observation);
                    }
                }
                Step::Write(write) => facts.write(plan, slice, write, &mut history),
                Step::Send(send) => facts.send(plan, slice, &slices, record, send, &mut history),
                Step::Status { operation, name, .. } => facts.status(plan, slice, operation, name, &history),
                Step::Release { name, .. } => facts.release(slice, name),
                Step::Reconcile { name, .. } => facts.reconcile(slice, name),
            }
        }
        facts.add_what_was_said(plan, &slices, record);
        facts.gone = gone::by_themselves(plan, record);
        facts
    }

    /// What is told where nothing came of it that a process beside the server was to do, because it had ended; else nothing.
    pub(super) fn gone(&self) -> Option<String> {
        (!self.gone.is_empty()).then(|| self.gone.join("; "))
    }

    /// Follows a path, its parts separated by dots.
    pub(super) fn look_up(&self, path: &str) -> Lookup<'_> {
        let mut parts = path.split('.');
        let mut found = parts.next().and_then(|root| self.tree.get(root));
        for part in parts {
            found = found.and_then(|value| value.get(part));
        }
        // What an end did not have, a code or a signal, is null: nothing that could be expected or compared. A server's null is a value.
        let is_of_an_end = [".code", ".signal"].iter().any(|end| path.ends_with(end)) && path.matches('.').count() == 1;
        if let Some(value) = found.filter(|value| !(is_of_an_end && value.is_null())) {
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

    /// Why the logs of an operation do not fold, where a path says that they do not.
    pub(super) fn because(&self, path: &str) -> Option<&str> {
        let (label, operation) = path.split_once(".folds.")?;
        self.tree.get(label)?.get("folds_because")?.get(operation)?.as_str()
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
                ..
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
        let is_living = observation.read == ReadFrom::Live;
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
            if let Some(effects) = effects {
                let is_honest = effects > 0 || !history.is_acknowledged(name);
                insert(&mut facts, "honest", name, is_honest.into());
            }
            let (results, replays) = history.told(name, &plan.replies);
            let agree = results.windows(2).all(|two| same_value(&two[0], &two[1]));
            insert(&mut facts, "agree", name, agree.into());
            insert(&mut facts, "replays", name, replays.into());
            for (path, reason) in submitted::tampering(&mut facts, name, seen) {
                self.not_observed(format!("{label}.{path}"), &reason);
            }
            for (kind, reading) in &seen.more {
                self.count(&mut facts, label, kind, name, reading.count(), reading.problem());
                let entries = facts.entry("entries").or_insert_with(|| json!({}));
                let of_kind = entries
                    .as_object_mut()
                    .map(|entries| entries.entry(kind).or_insert_with(|| json!({})));
                if let Some(of_kind) = of_kind {
                    of_kind[name] = first_column(reading);
                }
            }
            for (fact, found) in executions::of_operation(seen, is_living) {
                match found {
                    Ok(value) => insert(&mut facts, &fact, name, value),
                    Err(reason) => self.not_observed(format!("{label}.{fact}.{name}"), &reason),
                }
            }
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

    pub(super) fn not_observed(&mut self, path: String, reason: &str) {
        self.unobserved.insert(path, reason.to_owned());
    }

    fn release(&mut self, slice: &StepSlice<'_>, name: &str) {
        let released = slice.events.iter().find_map(|event| {
            let Body::LockReleased { drained, answered, .. } = &event.body else {
                return None;
            };
            Some(json!({"drained": drained, "answered": answered}))
        });
        self.tree.extend(released.map(|facts| (name.to_owned(), facts)));
    }

    fn reconcile(&mut self, slice: &StepSlice<'_>, name: &str) {
        let ran = slice.events.iter().find_map(|event| {
            let Body::OperatorRan { code, trouble, .. } = &event.body else {
                return None;
            };
            Some(json!({"code": code, "trouble": trouble}))
        });
        self.tree.extend(ran.map(|facts| (name.to_owned(), facts)));
    }

    fn status(&mut self, plan: &Plan, slice: &StepSlice<'_>, operation: &str, name: &str, history: &History<'_>) {
        let Some(planned) = plan.operations.get(operation) else {
            return;
        };
        let Some(call) = &planned.status else { return };
        let mut facts = Map::new();
        let request = slice.requests(&call.tool).pop();
        let reply = request.and_then(|request| slice.reply(request, false));
        facts.insert("outcome".into(), reply.map_or("unknown", Reply::outcome).into());
        if let (Some(request), Some(reply)) = (request, reply) {
            let told = disclosed(reply, &request.payload.to_string(), history.results(operation));
            facts.insert("disclosed".into(), json!(told));
        }
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
                let stored = stored.pointer(call.stored.as_deref().unwrap_or_default());
                facts.extend(stored.map(|stored| ("stored_result".to_owned(), stored.clone())));
            }
        }
        self.tree.insert(name.to_owned(), facts.into());
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

/// Puts a fact under its kind, whose parts are separated by dots, and under the operation.
fn insert(facts: &mut Map<String, Value>, kind: &str, operation: &str, value: Value) {
    let (first, rest) = kind.split_once('.').unwrap_or((kind, ""));
    let mut at = facts.entry(first).or_insert_with(|| json!({}));
    for part in rest.split('.').filter(|part| !part.is_empty()) {
        at = &mut at[part];
    }
    at[operation] = value;
}

/// The first cell of each row.
fn first_column(reading: &Reading) -> Value {
    let ReadingOutcome::Rows(rows) = &reading.outcome else {
        return json!([]);
    };
    rows.rows.iter().filter_map(|row| row.first().cloned()).collect()
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

/// How many rows hold changed data: told by the changed input where rows show what is written, else by comparison with the
/// rows that were there before. That they show it is known from the first write, whose input they then hold too.
fn new_data(operation: &Operation, rows: &[Value], before: Option<&[Value]>) -> Option<usize> {
    let shows = |rows: &[Value], input: &str| rows.iter().filter(|row| row.to_string().contains(input)).count();
    if operation.input_is_written && shows(before.unwrap_or(rows), &operation.input) > 0 {
        return Some(shows(rows, &operation.changed_input));
    }
    let before = before?;
    Some(rows.iter().filter(|row| !before.contains(row)).count())
}
