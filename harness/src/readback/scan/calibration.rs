//! What one effect looks like in the whole store, and how many effects a later state shows. Pure.
//!
//! Must not conclude anything from places that disagree. An audit table that logs every attempt grows with a retry that
//! made no effect, and a search index may grow less than what it indexes: only the server's author knows which place
//! counts, so that is asked for by name, with the line to paste.
//!
//! Calibrated by a control that counts 0, 1 and 2: [`Calibration::from_one`] learns from the first effect, and
//! [`Calibration::confirm`] sees the second, which also shows which parts of paths and keys are new for each effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::place::{Place, Places, Sighting, pairs};
use super::suggestion::ranked;
use crate::readback::selector::{Selector, flag, profile_line};

/// How many places a message names.
const PLACES_TOLD_MAX: usize = 8;

/// One effect, as the growth of places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The places of one effect, each of which grows by at least one.
    #[serde(serialize_with = "pairs::serialize", deserialize_with = "pairs::deserialize_some")]
    #[cfg_attr(test, schemars(with = "Vec<(Place, Sighting)>"))]
    one: BTreeMap<Place, Sighting>,
    /// Files that could not be read as what their names say, from the start: they are of another format.
    known_problems: BTreeSet<String>,
}

/// Why one effect could not be learnt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// The write succeeded, and the marker is nowhere.
    #[error(
        "calibrate: the marker is nowhere in the store after one write; check `[store] path`, and that the write carries \
         `{{marker}}` in what is stored{}", told_aside(.set_aside)
    )]
    Nowhere {
        /// Files left aside that carry it.
        set_aside: BTreeMap<String, u64>,
    },
    /// A place holds less than before.
    #[error("calibrate: `{place}` shrank while one effect was written; say what is counted in [read.effects]")]
    Shrank {
        /// The place.
        place: Place,
    },
    /// The second write is not seen as a second effect.
    #[error("calibrate: two writes are not seen as two effects: {counted}")]
    NotTwo {
        /// What they are seen as.
        counted: Counted,
    },
}

/// How many effects a store shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// All places grew alike, by so many effects.
    Effects(u64),
    /// The marker stands nowhere. Believed to be none because the calibration has seen one.
    Nowhere,
    /// The places do not agree; nothing is known.
    Disagree(Disagreement),
    /// A file that could be read when this was calibrated is torn or damaged; nothing is known.
    Unreadable {
        /// The file, or the table.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Places that do not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Disagreement {
    /// The places of one effect, and all others that changed.
    pub places: Vec<Growth>,
    /// What to say of the effects if one of the places is the one that counts, the most plausible first.
    pub selectors: Vec<Selector>,
}

/// One place that changed, or should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The place.
    pub place: Place,
    /// By how much one effect lets it grow; 0 for a place that was not there when one was observed.
    pub for_one: u64,
    /// By how much it grew, less than 0 if it shrank.
    pub grown: i64,
    /// What is seen there now.
    pub now: Sighting,
}

impl Counted {
    /// The number of effects, where that is known.
    pub fn effects(&self) -> Option<u64> {
        match self {
            Self::Effects(effects) => Some(*effects),
            Self::Nowhere => Some(0),
            Self::Disagree(_) | Self::Unreadable { .. } => None,
        }
    }
}

impl Calibration {
    /// Learns from the places before any effect and after one.
    pub fn from_one(before: &Places, one: &Places) -> Result<Self, CalibrationError> {
        let mut grown = BTreeMap::new();
        for (place, (then, now)) in both(&before.found, &one.found) {
            if now.count < then.count {
                return Err(CalibrationError::Shrank { place });
            }
            if now.count > then.count {
                let count = now.count - then.count;
                grown.insert(place, Sighting { count, ..now });
            }
        }
        if grown.is_empty() {
            return Err(CalibrationError::Nowhere {
                set_aside: one.set_aside.clone(),
            });
        }
        Ok(Self {
            one: grown,
            known_problems: before.problems.keys().chain(one.problems.keys()).cloned().collect(),
        })
    }

    /// Sees that a second effect counts as two. Where it stands in places of its own (a file or a key for each effect),
    /// the places of one effect are made general, as [`Place::with`] says; nothing else is ever joined.
    pub fn confirm(&self, before: &Places, two: &Places) -> Result<Self, CalibrationError> {
        let counted = self.count(before, two);
        if counted == Counted::Effects(2) {
            return Ok(self.clone());
        }
        let general = self.generalised(before, two);
        match general.filter(|general| general.count(before, two) == Counted::Effects(2)) {
            Some(general) => Ok(general),
            None => Err(CalibrationError::NotTwo { counted }),
        }
    }

    /// The places of one effect, with what one effect is in each.
    pub fn one(&self) -> impl Iterator<Item = (&Place, u64)> {
        self.one.iter().map(|(place, seen)| (place, seen.count))
    }

    /// What selects one of the places, the one that most plausibly is the effect itself first.
    pub fn plausible(&self) -> Vec<Selector> {
        let growths: Vec<Growth> = (self.one.iter())
            .map(|(place, seen)| Growth {
                place: place.clone(),
                for_one: seen.count,
                grown: difference(seen.count, 0),
                now: *seen,
            })
            .collect();
        ranked(&growths)
    }

    /// Counts the effects between two states.
    pub fn count(&self, before: &Places, now: &Places) -> Counted {
        let is_new = |(file, _): &(&String, &String)| !self.known_problems.contains(*file);
        if let Some((file, reason)) = now.problems.iter().find(is_new) {
            return Counted::Unreadable {
                file: file.clone(),
                reason: reason.clone(),
            };
        }
        let growths = self.growths(before, now);
        match common_multiple(&growths) {
            Some(0) if now.found.is_empty() => Counted::Nowhere,
            Some(effects) => Counted::Effects(effects),
            None => Counted::Disagree(Disagreement {
                selectors: ranked(&growths),
                places: growths,
            }),
        }
    }

    /// Every place of one effect, and every other place that changed.
    fn growths(&self, before: &Places, now: &Places) -> Vec<Growth> {
        let mut all = both(&self.joined(before), &self.joined(now));
        for place in self.one.keys() {
            all.entry(place.clone())
                .or_insert((Sighting::within(0), Sighting::within(0)));
        }
        let growths = all.into_iter().map(|(place, (then, now))| Growth {
            for_one: self.one.get(&place).map_or(0, |seen| seen.count),
            grown: difference(now.count, then.count),
            now,
            place,
        });
        growths
            .filter(|growth| growth.for_one > 0 || growth.grown != 0)
            .collect()
    }

    /// The places of a state, those that a general place stands for added up in it. A place that more than one stands for
    /// stays what it is, and will disagree.
    fn joined(&self, places: &Places) -> BTreeMap<Place, Sighting> {
        let mut joined = Places::default();
        for (place, seen) in &places.found {
            let stands_for = |general: &&Place| general.with(place).as_ref() == Some(*general);
            let mut general = self.one.keys().filter(stands_for);
            let key = match (general.next(), general.next()) {
                _ if self.one.contains_key(place) => place,
                (Some(general), None) => general,
                _ => place,
            };
            joined.add(key.clone(), *seen);
        }
        joined.found
    }

    /// Each place of one effect joined with the new places of the second that are of its kind; none if one of these is of
    /// no kind, or of more than one.
    fn generalised(&self, before: &Places, two: &Places) -> Option<Self> {
        let mut general: Vec<(Place, Sighting)> = self.one.iter().map(|(place, seen)| (place.clone(), *seen)).collect();
        for growth in self.growths(before, two).iter().filter(|growth| growth.for_one == 0) {
            let mut alike = general
                .iter_mut()
                .filter(|(place, _)| place.with(&growth.place).is_some());
            let (Some((place, _)), None) = (alike.next(), alike.next()) else {
                return None;
            };
            *place = place.with(&growth.place)?;
        }
        Some(Self {
            one: general.into_iter().collect(),
            known_problems: self
                .known_problems
                .union(&two.problems.keys().cloned().collect())
                .cloned()
                .collect(),
        })
    }
}

/// The number of effects that explains every growth; none if there is none.
fn common_multiple(growths: &[Growth]) -> Option<u64> {
    let mut effects = None;
    for growth in growths {
        let grown = u64::try_from(growth.grown).ok()?;
        let here = grown
            .checked_div(growth.for_one)
            .filter(|here| here * growth.for_one == grown)?;
        if *effects.get_or_insert(here) != here {
            return None;
        }
    }
    effects
}

/// The places of two states, with what was seen in each.
fn both(before: &BTreeMap<Place, Sighting>, now: &BTreeMap<Place, Sighting>) -> BTreeMap<Place, (Sighting, Sighting)> {
    let seen =
        |state: &BTreeMap<Place, Sighting>, place: &Place| state.get(place).copied().unwrap_or(Sighting::within(0));
    let places = before.keys().chain(now.keys());
    places
        .map(|place| (place.clone(), (seen(before, place), seen(now, place))))
        .collect()
}

fn difference(now: u64, then: u64) -> i64 {
    let bounded = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    bounded(now) - bounded(then)
}

fn told_aside(set_aside: &BTreeMap<String, u64>) -> String {
    if set_aside.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = set_aside.keys().take(PLACES_TOLD_MAX).map(String::as_str).collect();
    format!("; only files that a save leaves aside carry it: {}", names.join(", "))
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effects(1) => f.write_str("1 effect"),
            Self::Effects(effects) => write!(f, "{effects} effects"),
            Self::Nowhere => f.write_str("the marker is nowhere in the store"),
            Self::Disagree(disagreement) => disagreement.fmt(f),
            Self::Unreadable { file, reason } => write!(f, "{file} cannot be read: {reason}"),
        }
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("places disagree: ")?;
        for (index, growth) in self.places.iter().take(PLACES_TOLD_MAX).enumerate() {
            let before = if index > 0 { ", " } else { "" };
            write!(
                f,
                "{before}{} {:+} (one effect: {:+})",
                growth.place, growth.grown, growth.for_one
            )?;
        }
        if self.places.len() > PLACES_TOLD_MAX {
            write!(f, ", and {} more", self.places.len() - PLACES_TOLD_MAX)?;
        }
        match self.selectors.first() {
            Some(selector) => write!(
                f,
                "; say which counts, such as {} (in a profile, under [read]: {})",
                flag(selector),
                profile_line(selector)
            ),
            None => f.write_str("; say which counts in [read.effects]"),
        }
    }
}
