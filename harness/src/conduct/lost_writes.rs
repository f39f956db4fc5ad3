//! What is said of writes that are nowhere in the store: what the server answered, where they went, and how they are named.

use std::collections::BTreeSet;

use crate::drive::{Lost, RunSetting, look_elsewhere};
use crate::plan::Plan;
use crate::protocol;
use crate::readback::Marker;
use crate::record::{CaseVerdict, CheckOutcome, Verdict};
use crate::target::TargetSource;

/// Why the search for the effect found nothing: a marker that was written is not in the store. All writes that were made are
/// named, so that they can be found where they went.
pub(super) fn nowhere(setting: &RunSetting, written: &[(&Plan, &CaseVerdict)], lost: &Lost) -> String {
    let (plan, verdict) = written[lost.written];
    let store = setting.target.store.as_ref().map_or("", |store| store.path.as_str());
    let marker = plan.marker(lost.operation).unwrap_or_default();
    let aside = if lost.set_aside.is_empty() {
        String::new()
    } else {
        format!(
            " (only files that a save leaves aside carry it: {})",
            lost.set_aside.join(", ")
        )
    };
    let all = written.iter().flat_map(|(plan, _)| plan.operations.values());
    let all: BTreeSet<&str> = all.map(|operation| operation.marker.as_str()).collect();
    format!(
        "the marker {marker}, which `{}` of {} wrote, is nowhere in {store}{aside}{}; {}",
        lost.step,
        plan.case,
        answered(verdict, lost.step),
        went(setting, plan, &[marker], &all)
    )
}

/// Where what carries these markers went. `all` are the markers of everything that was written.
fn went(setting: &RunSetting, plan: &Plan, unseen: &[&str], all: &BTreeSet<&str>) -> String {
    let markers: Vec<Marker> = unseen.iter().filter_map(|text| Marker::new(text).ok()).collect();
    let store = setting.target.store.as_ref().map_or("", |store| store.path.as_str());
    let by_flags = setting.target.source == TargetSource::Command;
    let all: Vec<&str> = all.iter().copied().collect();
    look_elsewhere(setting, &plan.case, &markers).in_words(store, by_flags, &all)
}

/// Where the writes went of which a control counted none, so that it was inconclusive.
pub(super) fn of_control(setting: &RunSetting, plan: &Plan, verdict: &CaseVerdict) -> Option<String> {
    let markers: BTreeSet<&str> = unseen(verdict).filter_map(|operation| plan.marker(operation)).collect();
    if verdict.verdict != Verdict::Inconclusive || markers.is_empty() {
        return None;
    }
    let all: BTreeSet<&str> = plan
        .operations
        .values()
        .map(|operation| operation.marker.as_str())
        .collect();
    let markers: Vec<&str> = markers.into_iter().collect();
    let went = went(setting, plan, &markers, &all);
    Some(format!("written and not counted: {}; {went}", markers.join(" and ")))
}

/// Operations of which a check expected some effects, and none was counted.
fn unseen(verdict: &CaseVerdict) -> impl Iterator<Item = &str> {
    let checks = verdict
        .checks
        .iter()
        .filter(|check| check.outcome == CheckOutcome::Inconclusive);
    let findings = checks.flat_map(|check| &check.findings);
    findings.filter_map(|finding| {
        let (path, operation) = finding.path.rsplit_once('.')?;
        let expects_some = finding.expected.as_u64().is_some_and(|count| count > 0);
        let found_none = finding.found.as_ref().is_some_and(|count| *count == 0);
        (path.ends_with(".effects") && expects_some && found_none).then_some(operation)
    })
}

/// What the tool answered to the step that wrote, where that was a result.
fn answered(verdict: &CaseVerdict, step: &str) -> String {
    let result = verdict.facts.get(step).and_then(|facts| facts.get("result"));
    result.map_or(String::new(), |result| {
        format!(", although the tool answered: {}", protocol::said_in(result))
    })
}
