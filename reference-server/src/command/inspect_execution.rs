//! The part of `inspect` for people that tells of durable execution.

use super::inspect::push_line;
use crate::execution::event::Kind;
use crate::execution::inspection::{Event, Execution, ExecutionInspection, Lease};

/// Counts, and what crashes did and how they were recovered from; nothing for a store without executions.
pub(super) fn push_totals(text: &mut String, found: &ExecutionInspection) {
    let totals = &found.totals;
    let all: i64 = totals.executions.values().sum();
    if all == 0 {
        return;
    }
    let listed = |counts: &std::collections::BTreeMap<String, i64>| {
        let counts = counts.iter().map(|(word, count)| format!("{count} {word}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    push_line(text, &format!("executions    {all}: {}", listed(&totals.executions)));
    let claims = totals.of(Kind::Claimed);
    let rate = totals.crash_rate_percent.map_or("none claimed".to_owned(), |percent| {
        format!("{percent:.1} % of {claims} claims ended with an expired lease")
    });
    push_line(text, &format!("crash rate    {rate}"));
    let recovery = [
        Kind::LeaseExpired,
        Kind::StaleRejected,
        Kind::RetryScheduled,
        Kind::DuplicateDetected,
    ];
    let recovery = recovery.map(|kind| format!("{} {}", totals.of(kind), kind.name()));
    push_line(text, &format!("recovery      {}", recovery.join(", ")));
}

/// One execution, its leases and retries, and its event log if that was asked for.
pub(super) fn push_execution(text: &mut String, found: &ExecutionInspection, execution: &Execution) {
    push_line(text, "");
    push_line(
        text,
        &format!("execution {:?}: {}", execution.execution_id, execution.state),
    );
    let (key, namespace) = (&execution.idempotency_key, &execution.namespace);
    let of = format!(
        "{}, for {:?}, key {key:?} in {namespace:?}",
        execution.tool, execution.principal
    );
    push_line(text, &format!("  asked         {of}"));
    let (submitted, changed) = (&execution.submitted_at, &execution.changed_at);
    push_line(
        text,
        &format!(
            "  submitted     {submitted}, last changed {changed}, attempts {}",
            execution.attempts
        ),
    );
    if let Some(result) = &execution.result {
        push_line(text, &format!("  result        {result}"));
    }
    if let Some(error) = &execution.error {
        push_line(text, &format!("  error         {error:?}"));
    }
    for lease in found
        .leases
        .iter()
        .filter(|lease| lease.execution_id == execution.execution_id)
    {
        push_lease(text, lease);
    }
    for retry in found
        .retries
        .iter()
        .filter(|retry| retry.execution_id == execution.execution_id)
    {
        let (attempt, backoff_s, due_at, state) = (retry.attempt, retry.backoff_s, &retry.due_at, &retry.state);
        push_line(
            text,
            &format!("  retry         after attempt {attempt}: {backoff_s} s, due {due_at}, {state}"),
        );
    }
    for event in &found.events {
        push_event(text, event);
    }
}

fn push_lease(text: &mut String, lease: &Lease) {
    let left = match lease.remaining_s {
        Some(left_s) if left_s > 0 => format!(", {left_s} s left"),
        Some(late_s) => format!(", overdue by {} s: the reaper has not come", late_s.saturating_neg()),
        None => String::new(),
    };
    let (token, worker, state, until) = (lease.token, &lease.worker_id, &lease.state, &lease.expires_at);
    push_line(
        text,
        &format!("  lease         token {token}, {worker:?}, {state}, until {until}{left}"),
    );
}

fn push_event(text: &mut String, event: &Event) {
    let token = event.token.map_or(String::new(), |token| format!(" token {token}"));
    let worker = event
        .worker_id
        .as_ref()
        .map_or(String::new(), |worker| format!(" {worker:?}"));
    let detail = match event.detail.as_object() {
        Some(members) if members.is_empty() => String::new(),
        Some(_) | None => format!(" {}", event.detail),
    };
    push_line(
        text,
        &format!("  {:>3} {} {}{token}{worker}{detail}", event.seq, event.at, event.event),
    );
}
