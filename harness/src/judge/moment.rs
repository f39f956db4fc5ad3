//! Whether a kill came at its moment, where only the whole reply marked it.
//!
//! Nothing was seen in the store before such a kill. If the store shows nothing after it either, the server answered before it
//! wrote, or wrote elsewhere: the effect that is not there was not seen to be lost, so nobody is accused. If it shows the
//! effect, the kill came between effect and delivery as it should, and everything is judged as usual.

use std::collections::BTreeMap;

use super::steps::{MOMENT_REPLY, steps};
use crate::case::{ObserveStep, Step};
use crate::plan::Plan;
use crate::record::Record;

/// Why a kill that the reply marked tested nothing, where one did not.
pub(super) fn missed(plan: &Plan, record: &Record) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut marked: Option<&str> = None;
    for slice in steps(plan, record) {
        if let Step::Write(write) = slice.step
            && slice.moment() == Some(MOMENT_REPLY)
        {
            marked = Some(&write.operation);
        }
        let Step::Observe(ObserveStep { label, .. }) = slice.step else {
            continue;
        };
        let Some(observation) = record.observations.get(label) else {
            continue;
        };
        // Only the first look after the kill can tell: what comes later may be a retry's.
        if let Some(operation) = marked.take() {
            let after = observation.operations.get(operation)?.effects.count()?;
            if after <= counts.get(operation).copied().unwrap_or_default() {
                return Some(format!(
                    "the store could not be read beside the living server, so the whole reply marked the moment, and after the \
                     kill the store shows no effect (`{label}`): the server answers before it writes, or writes elsewhere"
                ));
            }
        }
        for (operation, seen) in &observation.operations {
            if let Some(count) = seen.effects.count() {
                counts.insert(operation, count);
            }
        }
    }
    None
}
