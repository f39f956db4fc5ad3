//! The verdicts of masked evidence, as they come out of the masked records.
//!
//! A fact can be made of a text that is masked now: what a reply disclosed is one. Then `verdict.json` has to hold what comes
//! out of the record beside it. Must not change what was concluded: where that would come out otherwise, nothing is derived.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::named::executed;
use super::{as_a_control, read_json, rejudge};
use crate::case::calibrations;
use crate::judge::JUDGE_VERSION;
use crate::record::{CaseFolder, CaseVerdict, CheckOutcome, Evidence, Run};

/// The verdicts that come out of masked evidence otherwise than they stand in it, by the paths of their files. `before` is the
/// evidence that was masked; what did not come out of that either is left as it is. Refused where a verdict, the outcome of a
/// check or a count would be another one.
pub fn judge_masked(before: &Evidence, masked: &Evidence) -> Result<Vec<(String, CaseVerdict)>, String> {
    let mut derived = Vec::new();
    for calibration in calibrations() {
        let id = calibration.id.as_str();
        let folders = (before.calibration(id), masked.calibration(id));
        if let Some((_, Some(verdict))) = judge_one(&folders.0, &folders.1, id, &[])? {
            derived.push((format!("{id}/verdict.json"), verdict));
        }
    }
    let run: Run = read_json(&masked.run_file()).map_err(|reason| format!("run.json: {reason}"))?;
    let mut done = Vec::new();
    for id in executed(&run) {
        let Some((verdict, changed)) = judge_one(&before.case(id), &masked.case(id), id, &done)? else {
            continue;
        };
        done.push(verdict);
        derived.extend(changed.map(|verdict| (format!("cases/{id}/verdict.json"), verdict)));
    }
    Ok(derived)
}

/// The verdict of one case as far as later cases need it, and the whole where `verdict.json` has another one; nothing where
/// the case was not judged, or could not be judged again before either.
fn judge_one(
    before: &CaseFolder,
    masked: &CaseFolder,
    id: &str,
    done: &[CaseVerdict],
) -> Result<Option<(CaseVerdict, Option<CaseVerdict>)>, String> {
    if !masked.verdict_file().exists() {
        return Ok(None);
    }
    let now = match rejudge(masked, id, done) {
        Ok((_, _, now)) => now,
        Err(_) if rejudge(before, id, done).is_err() => return Ok(None),
        Err(reason) => return Err(format!("{id}: {reason}")),
    };
    let then: CaseVerdict = read_json(&masked.verdict_file()).map_err(|reason| format!("{id}: {reason}"))?;
    let as_control = as_a_control(now.clone());
    // Of another judge's verdict nothing but the verdict is compared.
    if then == now || then.judge != JUDGE_VERSION || !came_out(before, id, done) {
        return Ok(Some((as_control, None)));
    }
    if let Some(what) = concluded_otherwise(&then, &now) {
        return Err(format!("{id}: {what}"));
    }
    Ok(Some((as_control, Some(now))))
}

/// Whether the verdict came out of the record before anything was masked.
fn came_out(before: &CaseFolder, id: &str, done: &[CaseVerdict]) -> bool {
    let then = read_json::<CaseVerdict>(&before.verdict_file());
    matches!((then, rejudge(before, id, done)), (Ok(then), Ok((_, _, now))) if then == now)
}

/// What is concluded otherwise, where something is.
fn concluded_otherwise(then: &CaseVerdict, now: &CaseVerdict) -> Option<String> {
    if then.verdict != now.verdict {
        return Some(format!(
            "it would be {} and not {}",
            now.verdict.name(),
            then.verdict.name()
        ));
    }
    let outcomes = |verdict: &CaseVerdict| -> BTreeMap<String, CheckOutcome> {
        (verdict.checks.iter().map(|check| (check.id.clone(), check.outcome))).collect()
    };
    let (before, after) = (outcomes(then), outcomes(now));
    if let Some((check, outcome)) = before
        .iter()
        .find(|(check, outcome)| after.get(*check) != Some(outcome))
    {
        return Some(format!(
            "its check `{check}` is {} and would be another one",
            outcome.name()
        ));
    }
    let is_counted_alike = numbers(&then.facts) == numbers(&now.facts) && then.rows.len() == now.rows.len();
    (!is_counted_alike).then(|| "its counts would be other ones".to_owned())
}

/// Every number among the facts, by its path.
fn numbers(facts: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left: Vec<(String, &Value)> = facts.iter().map(|(name, value)| (name.clone(), value)).collect();
    while let Some((path, value)) = left.pop() {
        match value {
            Value::Number(number) => drop(found.insert(path, number.to_string())),
            Value::Object(members) => {
                left.extend(members.iter().map(|(name, value)| (format!("{path}.{name}"), value)));
            }
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
        }
    }
    found
}
