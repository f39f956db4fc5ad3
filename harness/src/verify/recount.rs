//! Asking frozen stores once more what the observations say that they answered.

use std::collections::BTreeMap;

use super::planned::Wanted;
use super::store::{Files, Stores};
use crate::case::Doubled;
use crate::drive::clock::Deadline;
use crate::readback::{self, FrozenReader, FrozenTree, ReadError, Rows, Shape, Tampering};
use crate::record::{
    CaseFolder, Doctored, EVENTS, Observation, OperationSeen, ReadFrom, Reading, ReadingOutcome, Record,
};

/// Counts again what the observations of a case counted.
pub(super) struct Recount<'a> {
    pub(super) files: Files<'a>,
    /// The folder of the case, and its name in findings.
    pub(super) folder: CaseFolder,
    pub(super) place: String,
    /// When the evidence is given up.
    pub(super) deadline: Deadline,
}

/// What looking at a case again came to.
#[derive(Debug, Default)]
pub(super) struct Recounted {
    /// How many observations were counted again, with the same result.
    pub(super) counted_again: usize,
    /// How many observations are the runner's word.
    pub(super) runners_word: usize,
    /// Every difference, with its path.
    pub(super) findings: Vec<String>,
    /// What is not wrong and has to be known.
    pub(super) notes: Vec<String>,
}

impl Recount<'_> {
    /// Counts again, in the order in which the observations were taken.
    pub(super) fn all(&self, wanted: &[Wanted<'_>], record: &Record, into: &mut Recounted) {
        let mut last_rows = BTreeMap::new();
        for step in wanted {
            let observation = &record.observations[step.label];
            match self.one(*step, observation, &last_rows) {
                Ok(None) => into.runners_word += 1,
                Ok(Some(notes)) => {
                    into.counted_again += 1;
                    into.notes.extend(notes);
                }
                Err(reason) => {
                    let path = format!("{}/observations/{}.json", self.place, step.label);
                    into.findings.push(format!("{path}: {reason}"));
                }
            }
            for (name, seen) in &observation.operations {
                if let ReadingOutcome::Rows(rows) = &seen.effects.outcome {
                    last_rows.insert(name.as_str(), rows);
                }
            }
        }
    }

    /// Counts one observation again, and says what is worth knowing; nothing where nothing was kept to be counted.
    fn one(
        &self,
        step: Wanted<'_>,
        observation: &Observation,
        last_rows: &BTreeMap<&str, &Rows>,
    ) -> Result<Option<Vec<String>>, String> {
        let ReadFrom::Frozen { folder: named, store } = &observation.read else {
            return Ok(None);
        };
        let usual = format!("stores/{}", step.label);
        if named.as_deref() != (store.shape != Shape::Absent).then_some(usual.as_str()) {
            return Err(format!("its store copy is not {usual}"));
        }
        self.refuse_late()?;
        let stores = self.files.store(&self.folder.store_folder(step.label), store)?;
        self.ask_all(&stores.own, "the frozen store answers otherwise", observation)?;
        if !stores.other_copies.is_empty() {
            self.ask_all(&stores.stored, "the stored read copy answers otherwise", observation)?;
        }
        for (name, seen) in &observation.operations {
            self.refuse_late()?;
            let last = last_rows.get(name.as_str()).copied();
            if seen.doctored != doubled_again(&stores.own, seen, step.doubled, last)? {
                return Err(format!("the doubled rows of {name} are counted otherwise"));
            }
            if let Some(statement) = self.tampered_otherwise(&stores.own, seen)? {
                return Err(format!(
                    "tried again on the event log of {name}, `{statement}` comes out otherwise"
                ));
            }
        }
        Ok(Some(other_bytes(&self.place, step.label, &stores)))
    }

    fn ask_all(&self, tree: &FrozenTree, what: &str, observation: &Observation) -> Result<(), String> {
        let reader = FrozenReader::new(tree, &tree.root);
        let mut differing = Vec::new();
        for (name, seen) in &observation.operations {
            let readings = seen.ledger.iter().chain(seen.more.values()).chain([&seen.effects]);
            for reading in readings {
                self.refuse_late()?;
                if !comes_out_the_same(&reader, reading) && !differing.contains(&name.as_str()) {
                    differing.push(name);
                }
            }
        }
        if differing.is_empty() {
            return Ok(());
        }
        Err(format!("{what} for {}", differing.join(", ")))
    }

    /// The first statement on the event log that comes out otherwise when it is tried again.
    fn tampered_otherwise<'a>(&self, tree: &FrozenTree, seen: &'a OperationSeen) -> Result<Option<&'a str>, String> {
        let Some(log) = seen.more.get(EVENTS) else {
            return Ok(None);
        };
        for (name, tampered) in &seen.tampered {
            self.refuse_late()?;
            let now = readback::ask_tampered(tree, &tree.root, &log.query, &tampered.statement);
            let now = now.map_err(|error| format!("a temporary folder: {error}"))?;
            let is_same = match (&now, &tampered.outcome) {
                // The words of another SQLite may differ; that it could not be tried is what counts.
                (Tampering::Failed(_), Tampering::Failed(_)) => true,
                (now, then) => now == then,
            };
            if !is_same {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn refuse_late(&self) -> Result<(), String> {
        if self.deadline.has_passed() {
            return Err("it was not counted again: verifying took too long before".to_owned());
        }
        Ok(())
    }
}

/// A read copy is the same for the same bytes and the same SQLite.
pub(super) fn other_bytes(place: &str, label: &str, stores: &Stores) -> Vec<String> {
    let told = |copy: &String| {
        format!(
            "{place}/stores/{label}/{copy}: it has other bytes than the copy that was recovered now, and answers what is asked \
             the same; another version of SQLite recovers other bytes"
        )
    };
    stores.other_copies.iter().map(told).collect()
}

/// What the doubled rows count now, where the step asked for that and it was needed.
fn doubled_again(
    tree: &FrozenTree,
    seen: &OperationSeen,
    doubled: Option<Doubled>,
    last: Option<&Rows>,
) -> Result<Option<Doctored>, String> {
    let now = match &seen.effects.outcome {
        ReadingOutcome::Rows(rows) => Some(rows).filter(|rows| !rows.rows.is_empty()),
        ReadingOutcome::Nothing { .. } | ReadingOutcome::Unreadable { .. } => None,
    };
    let is_needed = match doubled {
        None => false,
        Some(Doubled::Always) => now.is_some(),
        // As many rows that are others are no natural key.
        Some(Doubled::IfNeeded) => now.is_some() && now == last,
    };
    if !is_needed {
        return Ok(None);
    }
    let scratch = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let doubling = readback::ask_doubled(tree, &tree.root, &seen.effects.query, scratch.path());
    Ok(doubling.map(|doubling| Doctored {
        tables: doubling.doubled,
        count: doubling.count,
    }))
}

fn comes_out_the_same(reader: &FrozenReader<'_>, reading: &Reading) -> bool {
    match (&reading.outcome, reader.ask(&reading.query)) {
        (ReadingOutcome::Rows(then), Ok(now)) => *then == now,
        (ReadingOutcome::Nothing { .. }, Err(ReadError::Absent { .. } | ReadError::NoSuchTable { .. })) => true,
        // Why it was unreadable names paths of the machine where it was run; that it still is, is what counts.
        (
            ReadingOutcome::Unreadable { .. },
            Err(
                ReadError::Unreadable { .. }
                | ReadError::Busy { .. }
                | ReadError::BadQuery { .. }
                | ReadError::TooMuch { .. },
            ),
        ) => true,
        (ReadingOutcome::Rows(_) | ReadingOutcome::Nothing { .. } | ReadingOutcome::Unreadable { .. }, _) => false,
    }
}
