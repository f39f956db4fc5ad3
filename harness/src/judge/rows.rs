//! Which frames can have made which row: the write requests of its marker after which no row has appeared yet, as many as are
//! named with one row, so that a verdict grows with the rows and not with rows times requests. A server may write late, so a look that sees nothing new acquits no request. A request inside which the server asked for input is
//! named by the answer, with which its last round begins.

use serde_json::{Map, Value};

use super::facts;
use super::steps::steps;
use crate::case::{ObserveStep, SendStep, Step, WriteStep};
use crate::plan::Plan;
use crate::protocol::{Reply, ReplyKind};
use crate::record::{FRAMES_NAMED_MAX, FrameName, Observation, OperationSeen, Record, RowOrigin};

/// The origin of every row that any observation saw, in the order in which they were seen.
pub(super) fn origins(plan: &Plan, record: &Record) -> Vec<RowOrigin> {
    let mut origins: Vec<RowOrigin> = Vec::new();
    let mut candidates: Vec<(&str, FrameName)> = Vec::new();
    for slice in steps(plan, record) {
        match slice.step {
            Step::Write(WriteStep { operation, name, .. }) | Step::Send(SendStep { operation, name, .. }) => {
                let Some(call) = plan.operations.get(operation).and_then(|o| o.write.as_ref()) else {
                    continue;
                };
                for request in slice.requests(&call.tool) {
                    let asked = slice.reply(request, false).map(Reply::kind);
                    // A round that only asked for input did not write.
                    if matches!(asked, Some(ReplyKind::InputRequired(_))) {
                        continue;
                    }
                    let frame = FrameName {
                        step: name.clone(),
                        seq: slice.last_round(request),
                    };
                    candidates.push((operation, frame));
                }
            }
            Step::Observe(ObserveStep { label, .. }) => {
                let Some(observation) = record.observations.get(label) else {
                    continue;
                };
                for (operation, seen) in marker_owners(plan, observation) {
                    let of_marker = candidates
                        .iter()
                        .filter(|(written, _)| plan.marker(written) == plan.marker(operation));
                    let mut frames = of_marker.map(|(_, frame)| frame.clone());
                    let made_by: Vec<FrameName> = frames.by_ref().take(FRAMES_NAMED_MAX).collect();
                    let made_by_more = frames.count();
                    let fresh = unseen(&facts::rows(&seen.effects), &origins, operation);
                    if !fresh.is_empty() {
                        candidates.retain(|(written, _)| plan.marker(written) != plan.marker(operation));
                    }
                    origins.extend(fresh.into_iter().map(|row| RowOrigin {
                        operation: operation.to_owned(),
                        row,
                        first_seen: label.clone(),
                        made_by: made_by.clone(),
                        made_by_more,
                        gone_at: None,
                    }));
                    mark_gone(&mut origins, operation, seen, label);
                }
            }
            Step::Start(_)
            | Step::Stop { .. }
            | Step::Kill { .. }
            | Step::Pause { .. }
            | Step::Resume { .. }
            | Step::Open { .. }
            | Step::CancelExecution { .. }
            | Step::Await { .. }
            | Step::Cancel { .. }
            | Step::Status { .. }
            | Step::Advance { .. }
            | Step::Hold { .. }
            | Step::Release { .. }
            | Step::Reconcile { .. } => {}
        }
    }
    origins
}

/// Marks the rows that an observation does not see any more; one that could not be made says nothing of them.
fn mark_gone(origins: &mut [RowOrigin], operation: &str, seen: &OperationSeen, label: &str) {
    if seen.effects.count().is_none() {
        return;
    }
    let mut left = facts::rows(&seen.effects);
    for origin in origins.iter_mut().filter(|origin| origin.operation == operation) {
        let here = left.iter().position(|row| row.as_object() == Some(&origin.row));
        match here {
            Some(at) => {
                left.swap_remove(at);
                origin.gone_at = None;
            }
            None => {
                origin.gone_at.get_or_insert_with(|| label.to_owned());
            }
        }
    }
}

/// Each marker once: operations that share one are counted by the first.
fn marker_owners<'a>(plan: &Plan, observation: &'a Observation) -> Vec<(&'a str, &'a OperationSeen)> {
    let mut seen_markers = Vec::new();
    let mut owners = Vec::new();
    for (operation, seen) in &observation.operations {
        let marker = plan.marker(operation);
        if !seen_markers.contains(&marker) {
            seen_markers.push(marker);
            owners.push((operation.as_str(), seen));
        }
    }
    owners
}

/// Rows that are more often there than they were seen before: two equal rows are two.
fn unseen(rows: &[Value], known: &[RowOrigin], operation: &str) -> Vec<Map<String, Value>> {
    let mut left: Vec<&Map<String, Value>> = known
        .iter()
        .filter(|origin| origin.operation == operation)
        .map(|origin| &origin.row)
        .collect();
    let mut fresh = Vec::new();
    for row in rows.iter().filter_map(Value::as_object) {
        match left.iter().position(|seen| *seen == row) {
            Some(at) => drop(left.swap_remove(at)),
            None => fresh.push(row.clone()),
        }
    }
    fresh
}
