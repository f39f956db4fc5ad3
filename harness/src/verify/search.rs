//! Looking for the effect once more, where the run looked for it: in the same frozen stores, for the same markers, with the
//! same selector as the result.

use serde::Serialize;

use super::store::Files;
use super::{Verified, differences_of_verdict, planned, read_json, rejudge};
use crate::case::{Case, calibrations};
use crate::drive::{Calibrated, SEARCHED_ONE, SEARCHED_TWO, derive};
use crate::plan::Plan;
use crate::readback::Selector;
use crate::record::{Run, SEARCHED_FORMAT, Searched, Verdict};

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

/// Searches again. What is wrong is a finding.
pub(super) fn search_again(files: Files<'_>, run: &Run, verified: &mut Verified) -> CountedBy {
    let is_kept = |case: &&Case| files.evidence.calibration(&case.id).root().is_dir();
    let was_searched = calibrations().iter().any(|case| is_kept(&case));
    match &run.target.read_effects {
        // A search that found nothing; then nothing was run.
        None => CountedBy::Nobody,
        Some(selector) if was_searched => {
            match find_again(files, run, verified) {
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

fn find_again(files: Files<'_>, run: &Run, verified: &mut Verified) -> Result<Selector, String> {
    let mut looked = Vec::new();
    for (case, label) in calibrations().iter().zip([SEARCHED_ONE, SEARCHED_TWO]) {
        let plan = written(files, case, run, verified)?;
        let folder = files.evidence.calibration(&case.id);
        let path = format!("{}/searched.json", case.id);
        let searched: Searched = read_json(&folder.searched_file()).map_err(|reason| format!("{path}: {reason}"))?;
        if searched.format != SEARCHED_FORMAT {
            return Err(format!(
                "{path}: format {} is not one this harness reads",
                searched.format
            ));
        }
        let stores = files.store(&folder.store_folder(label), &searched.store);
        looked.push((stores.map_err(|reason| format!("{path}: {reason}"))?, plan));
    }
    let [(first, once), (second, twice)] = &looked[..] else {
        unreachable!("there are two calibrations");
    };
    match derive(&first.own.root, (&first.own, once), (&second.own, twice)) {
        Calibrated::Found(now) => Ok(now),
        Calibrated::Nowhere(lost) => Err(format!(
            "run.json: it counts what the search does not find: the marker of `{}` is nowhere",
            lost.step
        )),
        Calibrated::NotFound(reason) => Err(format!("run.json: it counts what the search does not find: {reason}")),
    }
}

/// The plan of the writes that were looked for, whose verdict has to come out the same.
fn written(files: Files<'_>, case: &Case, run: &Run, verified: &mut Verified) -> Result<Plan, String> {
    let (folder, place) = (files.evidence.calibration(&case.id), case.id.as_str());
    let (kept, record, verdict) = rejudge(&folder, place, &[]).map_err(|reason| format!("{place}: {reason}"))?;
    let plan = record
        .plan()
        .ok_or_else(|| format!("{place}/record.jsonl: it is empty"))?
        .clone();
    if kept.revision == case.revision && kept.digest != case.digest {
        return Err(format!(
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
    differences_of_verdict(&folder, place, run, &verdict, verified);
    if verdict.verdict != Verdict::Pass {
        return Err(format!(
            "{place}: what was written there did not pass, and was searched"
        ));
    }
    Ok(plan)
}
