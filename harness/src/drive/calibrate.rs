//! Finds the effect of a write where nobody said how it is counted: writes one marker once, then another one twice, and
//! looks for each in the whole store, frozen.
//!
//! A single place becomes a query like one that a person would have written. Several places that grow alike are counted
//! together. What is found is then shown by the control to count none, one and two, like everything that a person says.

use super::DriveError;
use super::stage::RunSetting;
use crate::plan::Plan;
use crate::readback::{
    self, Calibration, CalibrationError, Counted, FrozenTree, Marker, Places, Query, Selector, ask_frozen,
};
use crate::record::CaseFolder;

/// What the search for a marker came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calibrated {
    /// What counts as an effect.
    Found(Selector),
    /// A marker that was written is nowhere in the store.
    Nowhere(Lost),
    /// Nothing that can be counted; what a person can do.
    NotFound(String),
}

/// A write whose marker is nowhere in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Which of the two stores it was written into, from 0 on.
    pub written: usize,
    /// The step that wrote it.
    pub step: &'static str,
    /// The operation whose marker it is.
    pub operation: &'static str,
    /// Files that a save leaves aside and that carry it.
    pub set_aside: Vec<String>,
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
    let first = readback::freeze_tree(&store, &once.folder.store_folder("one"))?;
    let second = readback::freeze_tree(&second_store, &twice.folder.store_folder("two"))?;
    let look = |tree: &FrozenTree, plan: &Plan, operation| {
        let marker = Marker::new(plan.marker(operation).unwrap_or_default());
        readback::scan(
            tree,
            &marker.expect("a plan's markers are lower-case letters, digits and hyphens"),
        )
    };
    let (one, two, other) = match (
        look(&first, once.plan, "A"),
        look(&second, twice.plan, "A"),
        look(&second, twice.plan, "C"),
    ) {
        (Ok(one), Ok(two), Ok(other)) => (one, two, other),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => return Ok(Calibrated::NotFound(error.to_string())),
    };
    Ok(match learn(&one, &two, &other) {
        Ok(calibration) => {
            let query = |selector| Query::new(selector, [("marker", once.plan.marker("A").unwrap_or_default())]);
            let count = |selector| ask_frozen(&first, &store, &query(selector)).map(|rows| rows.count());
            Calibrated::Found(simplest(calibration, |selector| count(selector).ok()))
        }
        Err(CalibrationError::Nowhere { .. }) => nowhere(0, "write-one", "A", &one),
        Err(CalibrationError::NotTwo { .. }) if two.found.is_empty() => nowhere(1, "write-one", "A", &two),
        Err(CalibrationError::NotTwo { .. }) if other.found.is_empty() => nowhere(1, "write-other", "C", &other),
        Err(error @ (CalibrationError::NotTwo { .. } | CalibrationError::Shrank { .. })) => {
            Calibrated::NotFound(error.to_string())
        }
    })
}

fn nowhere(written: usize, step: &'static str, operation: &'static str, places: &Places) -> Calibrated {
    Calibrated::Nowhere(Lost {
        written,
        step,
        operation,
        set_aside: places.set_aside.keys().cloned().collect(),
    })
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

/// A query for the one place, where that counts the one effect as one; else all places together.
fn simplest(calibration: Calibration, count_one: impl Fn(Selector) -> Option<usize>) -> Selector {
    let shown = calibration.most_plausible();
    if calibration.one().count() == 1 && count_one(shown.clone()) == Some(1) {
        return shown;
    }
    Selector::Places {
        places: calibration,
        shown: Box::new(shown),
    }
}
