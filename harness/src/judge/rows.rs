//! Which frames can have made which row: the write requests between the observation that first saw it and the one before.
//! A request inside which the server asked for input is named by the answer, with which its last round begins.

use serde_json::{Map, Value};

use super::facts;
use super::steps::steps;
use crate::case::Step;
use crate::plan::Plan;
use crate::protocol::{Reply, ReplyKind};
use crate::record::{FrameName, Record, RowOrigin};

/// The origin of every row that any observation saw, in the order in which they were seen.
pub(super) fn origins(plan: &Plan, record: &Record) -> Vec<RowOrigin> {
    let mut origins: Vec<RowOrigin> = Vec::new();
    let mut candidates: Vec<(&str, FrameName)> = Vec::new();
    for slice in steps(plan, record) {
        match slice.step {
            Step::Write(write) => {
                let Some(call) = plan.operations.get(&write.operation).and_then(|o| o.write.as_ref()) else {
                    continue;
                };
                for request in slice.requests(&call.tool) {
                    let asked = slice.reply(request, false).map(Reply::kind);
                    // A round that only asked for input did not write.
                    if matches!(asked, Some(ReplyKind::InputRequired(_))) {
                        continue;
                    }
                    let frame = FrameName {
                        step: write.name.clone(),
                        seq: slice.last_round(request),
                    };
                    candidates.push((&write.operation, frame));
                }
            }
            Step::Observe { label, .. } => {
                let Some(observation) = record.observations.get(label) else {
                    continue;
                };
                for (operation, seen) in marker_owners(plan, observation) {
                    let made_by: Vec<FrameName> = candidates
                        .iter()
                        .filter(|(written, _)| plan.marker(written) == plan.marker(operation))
                        .map(|(_, frame)| frame.clone())
                        .collect();
                    for row in unseen(&facts::rows(&seen.effects), &origins, operation) {
                        origins.push(RowOrigin {
                            operation: operation.to_owned(),
                            row,
                            first_seen: label.clone(),
                            made_by: made_by.clone(),
                        });
                    }
                }
                candidates.clear();
            }
            Step::Start { .. } | Step::Stop { .. } | Step::Kill { .. } | Step::Status { .. } => {}
        }
    }
    origins
}

/// Each marker once: operations that share one are counted by the first.
fn marker_owners<'a>(
    plan: &Plan,
    observation: &'a crate::record::Observation,
) -> Vec<(&'a str, &'a crate::record::OperationSeen)> {
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
