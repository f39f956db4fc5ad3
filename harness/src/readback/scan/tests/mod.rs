//! Tests of the whole-store scan and of its calibration.

mod calibration;
mod pure;
mod search;

use std::path::Path;

use crate::readback::files::tests::marker;
use crate::readback::{Places, freeze_tree, scan};

/// The places of `mk-1` in a store as it is now.
fn places(store: &Path) -> Places {
    let into = tempfile::tempdir().unwrap();
    scan(&freeze_tree(store, into.path()).unwrap(), &marker()).unwrap()
}

/// The places with their counts, as a person reads them.
fn told(places: &Places) -> Vec<String> {
    let found = places.found.iter();
    found.map(|(place, seen)| format!("{place} × {}", seen.count)).collect()
}
