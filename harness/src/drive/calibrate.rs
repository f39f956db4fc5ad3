//! Finds the effect of a write where the profile does not say how it is counted: writes one marker, and looks for it in the
//! whole store, frozen.
//!
//! What is found is a query like one that a person would have written, and the control then shows that it counts none, one
//! and two. Several places, or none, are for a person to decide about: the lines to choose from are given.

use super::DriveError;
use super::stage::RunSetting;
use crate::plan::Plan;
use crate::readback::scan::suggestion;
use crate::readback::{self, Calibration, Inside, Marker, Place, Places};
use crate::record::CaseFolder;

/// What the search for a marker came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calibrated {
    /// The place, and the query that counts it.
    Found {
        /// Such as `orders.note`.
        place: String,
        /// Such as `SELECT * FROM orders WHERE note = $marker`.
        sql: String,
    },
    /// No single place; what a person can do.
    NotFound(String),
}

/// Looks for the marker of operation A of `plan`, which a case has just written into the store of its stage.
pub fn calibrate(setting: &RunSetting, plan: &Plan, folder: &CaseFolder) -> Result<Calibrated, DriveError> {
    let Some(store) = setting.store_of(&plan.case)? else {
        return Ok(Calibrated::NotFound(
            "the target has no store: add --store, or [store]".to_owned(),
        ));
    };
    let tree = readback::freeze_tree(&store, &folder.store_folder("one"))?;
    let marker = plan.marker("A").unwrap_or_default();
    let marker = Marker::new(marker).expect("a plan's markers are lower-case letters, digits and hyphens");
    let places = match readback::scan(&tree, &marker) {
        Ok(places) => places,
        Err(error) => return Ok(Calibrated::NotFound(error.to_string())),
    };
    // The marker is new, so before the write it was nowhere.
    let calibration = match Calibration::from_one(&Places::default(), &places) {
        Ok(calibration) => calibration,
        Err(error) => {
            let reason = format!("the marker that was written is nowhere in {}: {error}", store.display());
            return Ok(Calibrated::NotFound(reason));
        }
    };
    let grown: Vec<_> = calibration.one().map(|(place, _)| place).collect();
    if let [place] = grown.as_slice()
        && let Inside::Cell { .. } = place.inside
        && let Some(sql) = sql_of(&suggestion::line(place, places.found[*place]))
    {
        let place = place.to_string();
        return Ok(Calibrated::Found { place, sql });
    }
    Ok(Calibrated::NotFound(ambiguous(&grown, &places)))
}

/// Which places there are, each with the flag that counts it; a person knows which is the effect, and which its shadow.
fn ambiguous(grown: &[&Place], places: &Places) -> String {
    // A cell that is the marker is data; one that merely holds it is more often a copy of the request.
    let mut grown = grown.to_vec();
    grown.sort_by_key(|place| !places.found[*place].is_whole);
    let choices = grown.iter().map(|place| {
        let line = suggestion::line(place, places.found[*place]);
        match sql_of(&line) {
            Some(sql) => format!("{place}: --effects '{}'", sql.replace('\'', "'\\''")),
            None => format!("{place}: {}", line.replace('\n', ", ")),
        }
    });
    let choices: Vec<String> = choices.collect();
    format!(
        "the marker turned up in {} places; say which one is the effect (a table that keeps requests or keys is not: it has one \
         row also where the effect doubled): {}",
        grown.len(),
        choices.join("; or ")
    )
}

fn sql_of(line: &str) -> Option<String> {
    toml::from_str::<SqlLine>(line).ok().map(|line| line.sql)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SqlLine {
    sql: String,
}
