//! Which files evidence has: what a harness writes there follows from the run and its records. Pure.
//!
//! A file of which nothing speaks was not made by the run, and whoever reads the evidence by hand could take it for more of it.

use std::collections::BTreeSet;

use crate::case::{ObserveStep, Step};
use crate::record::{Body, Finding, Inventory, Observation, REDACTIONS_FILE, ReadFrom, Record};

/// The files that there can be, and those of them that there must be.
#[derive(Default)]
pub(super) struct Layout {
    files: BTreeSet<String>,
    /// With a slash at the end. What is in one is compared elsewhere, or is the runner's word.
    folders: Vec<String>,
    /// What each process wrote on standard error. Other files that must be there are opened, and missed then.
    logs: BTreeSet<String>,
}

impl Layout {
    /// What every run has.
    pub(super) fn of_a_run() -> Self {
        Self {
            files: ["run.json".to_owned()].into(),
            folders: vec!["probe/".to_owned()],
            logs: BTreeSet::new(),
        }
    }

    /// What else there can be.
    pub(super) fn join(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.logs.extend(other.logs);
    }

    /// What a case in the folder `place` has, after its record.
    pub(super) fn add_case(&mut self, place: &str, record: &Record) {
        let files = ["case.toml", "record.jsonl", "verdict.json"].map(|name| format!("{place}/{name}"));
        self.files.extend(files);
        let labels = record.observations.keys();
        self.files
            .extend(labels.map(|label| format!("{place}/observations/{label}.json")));
        for step in record.plan().into_iter().flat_map(|plan| &plan.steps) {
            if let Step::Observe(ObserveStep { label, .. }) = step
                && record.observations.get(label).is_none_or(is_frozen)
            {
                self.add_store(place, label);
            }
        }
        let is_start = |body: &Body| matches!(body, Body::ProcessStarted { .. });
        let started = record.events.iter().filter(|event| is_start(&event.body));
        let started = started.filter_map(|event| event.process.as_ref());
        self.logs
            .extend(started.map(|process| format!("{place}/stderr/{process}.log")));
    }

    /// What a search left beside the writes that it looked for.
    pub(super) fn add_search(&mut self, place: &str, label: &str) {
        self.files.insert(format!("{place}/searched.json"));
        self.add_store(place, label);
    }

    /// The list of what was masked.
    pub(super) fn add_redactions(&mut self) {
        self.files.insert(REDACTIONS_FILE.to_owned());
    }

    /// A case that cannot be read, and so says nothing of its files.
    pub(super) fn add_unread(&mut self, place: &str) {
        self.folders.push(format!("{place}/"));
    }

    fn add_store(&mut self, place: &str, label: &str) {
        self.folders.push(format!("{place}/stores/{label}/"));
    }

    /// The files that are there and should not be, and those that should be and are not. What `SHA256SUMS` says otherwise has
    /// been told already; without one the run did not come to its end, and anything may be missing.
    pub(super) fn differences(&self, inventory: &Inventory) -> Vec<String> {
        if !inventory.sealed {
            return Vec::new();
        }
        let is_told = |path: &String| {
            let mut findings = inventory.findings.iter();
            findings.any(|finding| matches!(finding, Finding::Extra(told) | Finding::Missing(told) if told == path))
        };
        let is_known = |path: &String| {
            let is_file = self.files.contains(path) || self.logs.contains(path);
            is_file || self.folders.iter().any(|folder| path.starts_with(folder))
        };
        let strange = inventory.files.keys().filter(|path| !is_known(path));
        let strange = strange.map(|path| (path, "nothing in the evidence speaks of it"));
        let missing = self.logs.iter().filter(|path| !inventory.files.contains_key(*path));
        let missing = missing.map(|path| (path, "it is not there, and the record has its process"));
        let all = strange.chain(missing).filter(|(path, _)| !is_told(path));
        all.map(|(path, reason)| format!("{path}: {reason}")).collect()
    }
}

fn is_frozen(observation: &Observation) -> bool {
    match observation.read {
        ReadFrom::Frozen { .. } => true,
        ReadFrom::Live => false,
    }
}
