//! The facts of one operation's executions in one observation. Any number of executions can be behind one operation.
//!
//! An empty log shows nothing: what must hold of every execution does not hold where there is none.

use serde_json::{Value, json};

use super::event::{NAME_CHARS_MAX, Word};
use super::fold::{Folded, fold};
use super::holding::{Holdings, walk};
use super::read::{NotObserved, Table};
use crate::protocol::shortened;
use crate::record::OperationSeen;

/// The state of a lease that has not ended.
const HELD: &str = "held";

/// A fact by its name without label and operation, such as `happened.claimed`, or why it could not be observed.
type Found = (String, Result<Value, NotObserved>);

/// The facts of the kinds that were read of an operation; `is_living` where its store was read while somebody could write.
pub(in super::super) fn of_operation(seen: &OperationSeen, is_living: bool) -> Vec<Found> {
    let table = |kind| seen.more.get(kind).map(|reading| Table::new(kind, reading));
    let (log, executions) = (table("events"), table("executions"));
    let mut found = Vec::new();
    let mut add = |name: &str, fact: Result<Value, NotObserved>| found.push((name.to_owned(), fact));
    if let Some(log) = log {
        for word in Word::ALL {
            add(&format!("happened.{}", word.name()), happened(log, *word));
        }
        add("tokens", tokens_of(log, Word::Claimed));
        add("tokens_increase", tokens_increase(log));
        add("gapless", gapless(log));
        add("overlaps", holdings(log).map(|found| found.overlaps.into()));
        add("late_acts", holdings(log).map(|found| found.late_acts.into()));
        add("claimed_once", each_once(log, Word::Claimed));
        add("ended_once", each_once(log, Word::Completed));
        add("completed_by", completed_by(log));
        add("stale_tokens", tokens_of(log, Word::StaleRejected));
        add("refused", refused(log));
    }
    if let (Some(log), Some(executions)) = (log, executions) {
        let folds = folds(log, executions, is_living);
        if let Ok(Err(because)) = &folds {
            add("folds_because", Ok(because.as_str().into()));
        }
        add("folds", folds.map(|folds| folds.is_ok().into()));
    }
    if let Some(executions) = executions {
        let states = executions.states();
        let names = states.map(|states| states.iter().map(|state| json!(state.name())).collect());
        add("state", names.map(shared));
        let attempts = executions.integers("attempts");
        let numbers = attempts.map(|attempts| attempts.into_iter().map(Value::from).collect());
        add("attempts", numbers.map(shared));
    }
    if let Some(leases) = table("leases") {
        add("held", held(leases));
    }
    if let Some(retries) = table("retries") {
        add("backoffs", backoffs(retries));
    }
    found
}

fn happened(log: Table<'_>, word: Word) -> Result<Value, NotObserved> {
    Ok(log.words()?.into_iter().filter(|one| *one == word).count().into())
}

/// The tokens of all events of a kind, in the order of the log.
fn tokens_of(log: Table<'_>, word: Word) -> Result<Value, NotObserved> {
    let events = log.words()?.into_iter().zip(log.integers_or_null("token")?);
    Ok(events
        .filter(|(one, _)| *one == word)
        .map(|(_, token)| json!(token))
        .collect())
}

fn tokens_increase(log: Table<'_>) -> Result<Value, NotObserved> {
    let events: Vec<_> = log.words()?.into_iter().zip(log.integers_or_null("token")?).collect();
    let mut is_any_claimed = false;
    for events in log.by_execution(events)?.into_values() {
        let claims = events.iter().filter(|(word, _)| *word == Word::Claimed);
        let tokens: Vec<Option<i64>> = claims.map(|(_, token)| *token).collect();
        is_any_claimed |= !tokens.is_empty();
        let do_increase = tokens.windows(2).all(|two| two[0] < two[1]);
        if !do_increase || tokens.contains(&None) {
            return Ok(false.into());
        }
    }
    Ok(is_any_claimed.into())
}

fn gapless(log: Table<'_>) -> Result<Value, NotObserved> {
    let numbers = log.by_execution(log.integers("seq")?)?;
    let is_gapless = |numbers: &Vec<i64>| numbers.iter().zip(1..).all(|(seq, expected)| *seq == expected);
    Ok((!numbers.is_empty() && numbers.values().all(is_gapless)).into())
}

fn holdings(log: Table<'_>) -> Result<Holdings, NotObserved> {
    let events = log.events()?;
    Ok(walk(log.executions()?.into_iter().zip(&events)))
}

/// Whether every execution in the log has exactly one event of the kind.
fn each_once(log: Table<'_>, word: Word) -> Result<Value, NotObserved> {
    let words = log.by_execution(log.words()?)?;
    let is_once = |words: &Vec<Word>| words.iter().filter(|one| **one == word).count() == 1;
    Ok((!words.is_empty() && words.values().all(is_once)).into())
}

fn completed_by(log: Table<'_>) -> Result<Value, NotObserved> {
    let events = log.words()?.into_iter().zip(log.workers()?);
    let completed = events.filter(|(word, _)| *word == Word::Completed);
    Ok(completed.map(|(_, worker)| json!(worker)).collect())
}

fn refused(log: Table<'_>) -> Result<Value, NotObserved> {
    let events = log.words()?.into_iter().zip(log.notes()?);
    let rejected = events.filter(|(word, _)| *word == Word::StaleRejected);
    Ok(rejected.map(|(_, note)| json!(note)).collect())
}

/// Whether every log folds to the row of its execution; if not, why, for people.
///
/// Of a living store log and rows are read one after the other. What differs then can have happened in between, so it is not
/// observed; a log that tells no possible history does so at any moment.
fn folds(log: Table<'_>, executions: Table<'_>, is_living: bool) -> Result<Result<(), String>, NotObserved> {
    let numbered = log.integers("seq")?.into_iter().zip(log.events()?).collect();
    let logs = log.by_execution(numbered)?;
    let (states, attempts) = (executions.states()?, executions.integers("attempts")?);
    let columns = states.into_iter().zip(attempts).zip(executions.integers("token")?);
    let row = |((state, attempts), token)| Folded { state, attempts, token };
    let rows = executions.by_execution(columns.map(row).collect())?;
    if let Some((execution, _)) = rows.iter().find(|(_, rows)| rows.len() > 1) {
        let execution = shown(execution);
        return Err(format!(
            "[read.executions] gives more than one row for execution {execution}: let it give one for each"
        ));
    }
    if logs.is_empty() && rows.is_empty() {
        return Ok(Err("there is neither an event nor an execution of it".to_owned()));
    }
    let mut differs = None;
    for (execution, log) in &logs {
        let folded = match fold(log) {
            Ok(folded) => folded,
            Err(error) => return Ok(Err(format!("execution {}: {error}", shown(execution)))),
        };
        let row = rows.get(execution).and_then(|rows| rows.first());
        differs = differs.or_else(|| difference(execution, folded, row.copied()));
    }
    let unlogged = rows.keys().find(|execution| !logs.contains_key(*execution));
    let unlogged =
        unlogged.map(|execution| format!("execution {}: there is a row of it, and no event", shown(execution)));
    match differs.or(unlogged) {
        None => Ok(Ok(())),
        Some(differs) if is_living => Err(format!(
            "log and rows were read one after the other while the server lived, and differ ({differs}): observe a quiet store"
        )),
        Some(differs) => Ok(Err(differs)),
    }
}

fn difference(execution: &str, folded: Folded, row: Option<Folded>) -> Option<String> {
    let told = |one: Folded| {
        let (state, attempts, token) = (one.state.name(), one.attempts, one.token);
        format!("{state}, attempts {attempts}, token {token}")
    };
    let says = match row {
        Some(row) if row == folded => return None,
        Some(row) => format!("its row says {}", told(row)),
        None => "there is no row of it".to_owned(),
    };
    Some(format!(
        "execution {}: its log comes to {}, and {says}",
        shown(execution),
        told(folded)
    ))
}

fn shown(execution: &str) -> String {
    shortened(execution, NAME_CHARS_MAX)
}

/// What all of them share, or else all of them.
fn shared(values: Vec<Value>) -> Value {
    match values.split_first() {
        Some((first, rest)) if rest.iter().all(|value| value == first) => first.clone(),
        Some(_) | None => values.into(),
    }
}

/// The leases that are held, in an order of their own, so that two observations can be compared whatever the query says.
fn held(leases: Table<'_>) -> Result<Value, NotObserved> {
    let (states, tokens) = (leases.texts("state")?, leases.integers_or_null("token")?);
    let (workers, ends) = (leases.workers()?, leases.cells("expires_at")?);
    let columns = tokens.into_iter().zip(workers).zip(ends).zip(states);
    let held = columns.filter(|(_, state)| *state == HELD);
    let mut held: Vec<_> = held.map(|((lease, expires_at), _)| (lease, expires_at)).collect();
    held.sort_by_key(|(lease, expires_at)| (lease.clone(), expires_at.to_string()));
    let object = |((token, worker), expires_at): (_, &Value)| {
        let (token, worker): (Option<i64>, Option<String>) = (token, worker);
        json!({"worker": worker, "token": token, "expires_at": expires_at})
    };
    Ok(held.into_iter().map(object).collect())
}

/// The waits before the next attempt, by the number of the attempt that failed.
fn backoffs(retries: Table<'_>) -> Result<Value, NotObserved> {
    let mut columns: Vec<(i64, &Value)> = retries
        .integers("attempt")?
        .into_iter()
        .zip(retries.numbers("backoff_s")?)
        .collect();
    columns.sort_by_key(|(attempt, _)| *attempt);
    Ok(columns.into_iter().map(|(_, backoff_s)| backoff_s.clone()).collect())
}
