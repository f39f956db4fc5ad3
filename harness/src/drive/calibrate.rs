//! Finds the effect of a write where nobody said how it is counted: writes one marker once, then another one twice, and
//! looks for each in the whole store, frozen.
//!
//! A single place becomes a query like one that a person would have written. Several places that grow alike are counted
//! together. What is found is then shown by the control to count none, one and two, like everything that a person says.

use std::path::Path;

use super::DriveError;
use super::inside::refuse_outside;
use super::stage::RunSetting;
use crate::plan::Plan;
use crate::readback::{
    self, Calibration, CalibrationError, Counted, FrozenTree, Marker, Places, Query, Selector, ask_frozen,
};
use crate::record::{CaseFolder, Evidence, SEARCHED_FORMAT, Searched};

/// The label of the store copy with one effect.
pub const SEARCHED_ONE: &str = "one";

/// The label of the store copy with two.
pub const SEARCHED_TWO: &str = "two";

/// What the search for a marker came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calibrated {
    /// What counts as an effect.
    Found(Selector),
    /// Nothing that can be counted; what a person can do.
    NotFound(String),
}

/// A write that was made to be looked for.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// Its plan: operation A carries the marker.
    pub plan: &'a Plan,
    /// Where its evidence goes.
    pub folder: &'a CaseFolder,
}

/// Looks for the marker of a store into which it was written once, and for those of another into which it was written twice,
/// and another one once.
pub fn calibrate(setting: &RunSetting, once: Written<'_>, twice: Written<'_>) -> Result<Calibrated, DriveError> {
    let (Some(store), Some(second_store)) = (setting.store_of(&once.plan.case)?, setting.store_of(&twice.plan.case)?)
    else {
        return Ok(Calibrated::NotFound(
            "the target has no store: add --store, or [store]".to_owned(),
        ));
    };
    let first = freeze(setting, &store, once, SEARCHED_ONE)?;
    let second = freeze(setting, &second_store, twice, SEARCHED_TWO)?;
    Ok(derive(&store, (&first, once.plan), (&second, twice.plan)))
}

/// Freezes a store that is to be searched, and says in the evidence what was frozen.
fn freeze(setting: &RunSetting, store: &Path, written: Written<'_>, label: &str) -> Result<FrozenTree, DriveError> {
    refuse_outside(store, &setting.data_of(&written.plan.case))?;
    let tree = readback::freeze_tree(store, &written.folder.store_folder(label))?;
    let searched = Searched {
        format: SEARCHED_FORMAT,
        store: tree.clone(),
    };
    Evidence::write_json(&written.folder.searched_file(), &searched)?;
    Ok(tree)
}

/// Looks for the markers of two plans in the two frozen stores into which they wrote. `store` is what errors name. Whoever
/// reviews the evidence comes to the same.
pub fn derive(store: &Path, (first, once): (&FrozenTree, &Plan), (second, twice): (&FrozenTree, &Plan)) -> Calibrated {
    let look = |tree: &FrozenTree, plan: &Plan, operation| -> Result<Places, String> {
        let marker = Marker::new(plan.marker(operation).unwrap_or_default());
        readback::scan(tree, &marker.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    };
    let (one, two, other) = match (
        look(first, once, "A"),
        look(second, twice, "A"),
        look(second, twice, "C"),
    ) {
        (Ok(one), Ok(two), Ok(other)) => (one, two, other),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => return Calibrated::NotFound(error),
    };
    match learn(&one, &two, &other) {
        Ok(calibration) => {
            let query = |selector| Query::new(selector, [("marker", once.marker("A").unwrap_or_default())]);
            let counts_one = |selector: &Selector| {
                ask_frozen(first, store, &query(selector.clone())).is_ok_and(|rows| rows.count() == 1)
            };
            match calibration.plausible().into_iter().find(counts_one) {
                Some(shown) => Calibrated::Found(Selector::Places {
                    places: calibration,
                    shown: Box::new(shown),
                }),
                None => Calibrated::NotFound(no_row(&calibration)),
            }
        }
        Err(error @ CalibrationError::Nowhere { .. }) => {
            let reason = format!("the marker that was written is nowhere in {}: {error}", store.display());
            Calibrated::NotFound(reason)
        }
        Err(error) => Calibrated::NotFound(error.to_string()),
    }
}

/// One effect, from the places of a marker that was written once, of one that was written twice, and of another one.
fn learn(one: &Places, two: &Places, other: &Places) -> Result<Calibration, CalibrationError> {
    // The markers are new, so before the writes they were nowhere.
    let nothing = Places::default();
    let calibration = Calibration::from_one(&nothing, one)?;
    match calibration.confirm(&nothing, two) {
        // The server keeps one of a kind. Two of different kinds show what differs from effect to effect; that two of one
        // kind would be seen is shown by the control, on a copy where each effect stands twice.
        Err(CalibrationError::NotTwo {
            counted: Counted::Effects(1),
        }) => {
            let mut both = one.clone();
            for (place, seen) in &other.found {
                both.add(place.clone(), *seen);
            }
            calibration.confirm(&nothing, &both)
        }
        learnt => learnt,
    }
}

/// Why places that grow alike are not enough: what is shown of an effect, and looked for while the server lives, is one row.
fn no_row(calibration: &Calibration) -> String {
    let places: Vec<String> = calibration.one().map(|(place, _)| place.to_string()).collect();
    format!(
        "the marker stands in {}, and no query of one place finds one row for one effect; say with --effects, or in [read.effects], \
         what one effect is",
        places.join(", ")
    )
}
