//! Looking for the effect once more, where the run looked for it: in the same frozen stores, for the same markers, with the
//! same selector as the result.

use std::collections::BTreeMap;

use serde::Serialize;

use super::layout::Layout;
use super::recount::other_bytes;
use super::store::Files;
use super::{Verified, differences_of_verdict, planned, read_json, rejudge};
use crate::case::{Case, calibrations};
use crate::drive::{Calibrated, SEARCHED_ONE, SEARCHED_TWO, derive};
use crate::plan::Plan;
use crate::readback::{FrozenTree, Selector};
use crate::record::{CaseFolder, Run, SEARCHED_FORMAT, Searched, Verdict};

/// What was frozen after one write, and after another two.
const LABELS: [&str; 2] = [SEARCHED_ONE, SEARCHED_TWO];

/// Who says what is counted as an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// Nobody: nothing was counted.
    Nobody,
    /// Whoever ran it: a profile or the command line, of which the evidence holds the selector alone.
    Runner,
    /// A search, and searching again in its frozen stores finds the same.
    Search,
}

impl CountedBy {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nobody => "nothing, by what run.json says",
            Self::Runner => "what the profile says is an effect; the profile is the runner's word",
            Self::Search => "what a search found, and it was found again in the stores that were searched",
        }
    }
}

/// What was written to be looked for, as it is judged now.
struct Written {
    plan: Plan,
    verdict: Verdict,
}

/// Judges again what there is of the search, and searches again where its result is counted. What is wrong is a finding.
pub(super) fn search_again(files: Files<'_>, run: &Run, layout: &mut Layout, verified: &mut Verified) -> CountedBy {
    let mut written = BTreeMap::new();
    let mut was_searched = false;
    for (case, label) in calibrations().iter().zip(LABELS) {
        layout.add_search(&case.id, label);
        let folder = files.evidence.calibration(&case.id);
        was_searched |= folder.root().is_dir();
        // A run that was killed may have come to none of it.
        if folder.case_file().exists() || (verified.finished && folder.root().is_dir()) {
            match judge_again(&folder, case, run, layout, verified) {
                Ok(judged) => drop(written.insert(case.id.as_str(), judged)),
                Err(reason) => {
                    layout.add_unread(&case.id);
                    verified.findings.push(format!("{}: {reason}", case.id));
                }
            }
        }
    }
    match &run.target.read_effects {
        // A search that found nothing; then nothing was run.
        None => CountedBy::Nobody,
        Some(selector) if was_searched => {
            match find_again(files, &written, &mut verified.notes) {
                Ok(now) if now == *selector => return CountedBy::Search,
                Ok(now) => (verified.findings).push(format!(
                    "run.json: it counts `{selector}`, and the search finds `{now}`"
                )),
                Err(reason) => verified.findings.push(reason),
            }
            CountedBy::Runner
        }
        Some(Selector::Places { .. }) => {
            let reason = "run.json: what it counts was found by a search, and the search is not in the evidence";
            verified.findings.push(reason.to_owned());
            CountedBy::Runner
        }
        Some(Selector::Sql { .. } | Selector::Files(_)) => CountedBy::Runner,
    }
}

fn find_again(
    files: Files<'_>,
    written: &BTreeMap<&str, Written>,
    notes: &mut Vec<String>,
) -> Result<Selector, String> {
    let mut looked = Vec::new();
    for (case, label) in calibrations().iter().zip(LABELS) {
        let place = case.id.as_str();
        let written = (written.get(place)).ok_or_else(|| {
            format!("run.json: what it counts was found by a search, and {place} cannot be judged again")
        })?;
        if written.verdict != Verdict::Pass {
            return Err(format!(
                "{place}: what was written there did not pass, and was searched"
            ));
        }
        let folder = files.evidence.calibration(place);
        let path = format!("{place}/searched.json");
        let searched: Searched = read_json(&folder.searched_file()).map_err(|reason| format!("{path}: {reason}"))?;
        if searched.format != SEARCHED_FORMAT {
            return Err(format!(
                "{path}: format {} is not one this harness reads",
                searched.format
            ));
        }
        let stores = files.store(&folder.store_folder(label), &searched.store);
        looked.push((stores.map_err(|reason| format!("{path}: {reason}"))?, &written.plan));
    }
    let [(first, once), (second, twice)] = &looked[..] else {
        unreachable!("there are two calibrations");
    };
    let now = found_in((&first.own, once), (&second.own, twice))?;
    for ((case, label), stores) in calibrations().iter().zip(LABELS).zip([first, second]) {
        notes.extend(other_bytes(&case.id, label, stores));
    }
    // Somebody who searches by hand looks into the read copies of the evidence.
    let is_copied_otherwise = [first, second].iter().any(|stores| !stores.other_copies.is_empty());
    if is_copied_otherwise && found_in((&first.stored, once), (&second.stored, twice)).as_ref() != Ok(&now) {
        return Err("run.json: it counts what a search in the stored read copies does not find".to_owned());
    }
    Ok(now)
}

/// What a search in these stores finds.
fn found_in(once: (&FrozenTree, &Plan), twice: (&FrozenTree, &Plan)) -> Result<Selector, String> {
    match derive(&once.0.root, once, twice) {
        Calibrated::Found(now) => Ok(now),
        Calibrated::Nowhere(lost) => Err(format!(
            "run.json: it counts what the search does not find: the marker of `{}` is nowhere",
            lost.step
        )),
        Calibrated::NotFound(reason) => Err(format!("run.json: it counts what the search does not find: {reason}")),
    }
}

/// Judges one part of the search again, like a case.
fn judge_again(
    folder: &CaseFolder,
    case: &Case,
    run: &Run,
    layout: &mut Layout,
    verified: &mut Verified,
) -> Result<Written, String> {
    let place = case.id.as_str();
    let (kept, record, verdict) = rejudge(folder, place, &[])?;
    layout.add_case(place, &record);
    let plan = record.plan().ok_or("record.jsonl is empty")?.clone();
    if kept.revision == case.revision && kept.digest != case.digest {
        verified.findings.push(format!(
            "{place}/case.toml: it is not revision {} as it was frozen",
            case.revision
        ));
    }
    let found = [
        planned::spliced(place, &plan, run),
        planned::planned_otherwise(place, &plan, &kept),
        planned::steps_out_of_turn(place, &plan, &record),
    ];
    verified.findings.extend(found.into_iter().flatten());
    verified
        .judged
        .insert(place.to_owned(), verdict.verdict.name().to_owned());
    // A run that was killed leaves a record without a verdict.
    if verified.finished || folder.verdict_file().exists() {
        differences_of_verdict(folder, place, run, &verdict, verified);
    }
    Ok(Written {
        plan,
        verdict: verdict.verdict,
    })
}
