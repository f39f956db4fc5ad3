//! What a retry may have changed beside the effects that are counted, as notes of a verdict.
//!
//! A server may know a retry by its key and still do a part of it again: a payment without the marker, a stock that is counted
//! down. No count of marked rows shows that, but the frozen store does: what grew between the observation before a retry and the
//! one after it is named, and a person has to look. It is a note, because a log may grow with every request.

use std::collections::BTreeMap;

use super::steps::steps;
use crate::case::{From, ObserveStep, Step};
use crate::plan::Plan;
use crate::readback::{FrozenTree, Selector};
use crate::record::{Observation, ReadFrom, Record};

/// How many changes a note names.
const NAMED_MAX: usize = 4;

/// The notes of one record.
pub(super) fn notes(plan: &Plan, record: &Record) -> Vec<String> {
    let mut notes = Vec::new();
    let mut before: Option<(&str, &Observation, &FrozenTree)> = None;
    let mut repeated: Option<&str> = None;
    // Whatever else was done in between may let anything grow.
    let mut is_alone = true;
    for slice in steps(plan, record) {
        match slice.step {
            Step::Write(write) if write.from == From::Repeat && !write.changed => repeated = Some(&write.operation),
            Step::Observe(ObserveStep { label, .. }) => {
                let Some(observation) = record.observations.get(label) else {
                    continue;
                };
                notes.extend(set_aside(observation));
                let ReadFrom::Frozen { store, .. } = &observation.read else {
                    continue;
                };
                let was_alone = std::mem::replace(&mut is_alone, true);
                if let (Some((earlier, then, tree)), Some(operation)) = (before, repeated.take())
                    && was_alone
                    && count(then, operation).is_some_and(|count| count > 0)
                    && count(then, operation) == count(observation, operation)
                {
                    notes.extend(grown(tree, store, &read_beside(observation)).map(|what| {
                        format!(
                            "between `{earlier}` and `{label}` a retry was made, and beside the effects {what}: that is in no count; \
                             look whether the retry did it"
                        )
                    }));
                }
                before = Some((label, observation, store));
            }
            Step::Write(_)
            | Step::Send(_)
            | Step::Reconcile { .. }
            | Step::Open { .. }
            | Step::Resume { .. }
            | Step::CancelExecution { .. } => is_alone = false,
            Step::Start(_)
            | Step::Pause { .. }
            | Step::Stop { .. }
            | Step::Kill { .. }
            | Step::Await { .. }
            | Step::Cancel { .. }
            | Step::Status { .. }
            | Step::Advance { .. }
            | Step::Hold { .. }
            | Step::Release { .. } => {}
        }
    }
    notes.dedup();
    notes
}

fn count(observation: &Observation, operation: &str) -> Option<usize> {
    observation.operations.get(operation)?.effects.count()
}

/// Files that carry the marker and are not counted, because their names are those of files that a save leaves.
fn set_aside(observation: &Observation) -> Option<String> {
    let names: Vec<&str> = (observation.operations.values())
        .flat_map(|seen| seen.set_aside.iter().map(String::as_str))
        .collect();
    let told = named(&names)?;
    Some(format!(
        "{told} carries the marker too and is not counted: by its name it is a file that a save leaves behind"
    ))
}

/// The statements by which something else than the effects is read: what grows there is in a count.
fn read_beside(observation: &Observation) -> Vec<&str> {
    let readings = observation
        .operations
        .values()
        .flat_map(|seen| seen.ledger.iter().chain(seen.more.values()));
    let statements = readings.filter_map(|reading| match &reading.query.selector {
        Selector::Sql { sql, .. } => Some(sql.as_str()),
        Selector::Files(_) | Selector::Places { .. } => None,
    });
    statements.collect()
}

fn mentions(sql: &str, table: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    sql.split(|c| !is_name(c)).any(|word| word == table)
}

/// Tables with more rows than before, and files that are new or larger; without tables that one of these statements reads.
fn grown(before: &FrozenTree, after: &FrozenTree, read: &[&str]) -> Option<String> {
    let tables = |tree: &FrozenTree| -> BTreeMap<String, u64> {
        let of = |name: &str, table: &str| match tree.databases.len() {
            1 => format!("table `{table}`"),
            _ => format!("table `{table}` of {name}"),
        };
        (tree.databases.iter())
            .flat_map(|database| {
                let is_read = |table: &str| read.iter().any(|sql| mentions(sql, table));
                let tables = database.tables.iter().filter(move |(table, _)| !is_read(table));
                tables.map(move |(table, rows)| (of(&database.name, table), *rows))
            })
            .collect()
    };
    let files = |tree: &FrozenTree| -> BTreeMap<String, u64> {
        let is_plain = |name: &str| !tree.databases.iter().any(|database| name.starts_with(&database.name));
        let plain = tree.files.iter().filter(|file| is_plain(&file.name));
        plain.map(|file| (format!("`{}`", file.name), file.bytes)).collect()
    };
    let (rows_before, rows_after) = (tables(before), tables(after));
    let (bytes_before, bytes_after) = (files(before), files(after));
    let more_rows = rows_after.iter().filter_map(|(table, now)| {
        let then = rows_before.get(table).copied().unwrap_or(0);
        (*now > then).then(|| format!("{table} grew from {then} to {now} rows"))
    });
    let more_bytes = bytes_after.iter().filter_map(|(file, now)| {
        let then = bytes_before.get(file).copied().unwrap_or(0);
        (*now > then).then(|| format!("{file} grew from {then} to {now} bytes"))
    });
    let grown: Vec<String> = more_rows.chain(more_bytes).collect();
    let grown: Vec<&str> = grown.iter().map(String::as_str).collect();
    named(&grown)
}

fn named(names: &[&str]) -> Option<String> {
    let more = names.len().saturating_sub(NAMED_MAX);
    let shown = names.get(..names.len() - more)?.join(", ");
    match (shown.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(shown),
        (false, more) => Some(format!("{shown} and {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readback::{FrozenDatabase, FrozenFile, Shape};

    fn tree(files: &[(&str, u64)], tables: &[(&str, u64)]) -> FrozenTree {
        let file = |(name, bytes): &(&str, u64)| FrozenFile {
            name: (*name).to_owned(),
            bytes: *bytes,
            sha256: String::new(),
        };
        let database = FrozenDatabase {
            name: "o.db".to_owned(),
            read_copy: None,
            problem: None,
            tables: tables.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect(),
        };
        FrozenTree {
            root: std::path::PathBuf::new(),
            shape: Shape::Folder,
            files: files.iter().map(file).collect(),
            databases: vec![database],
            folders: std::collections::BTreeSet::new(),
            strangers: BTreeMap::new(),
        }
    }

    #[test]
    fn more_rows_and_more_bytes_are_named_and_fewer_are_not() {
        let before = tree(&[("o.db", 10), ("a.log", 5), ("b", 9)], &[("orders", 1), ("stock", 3)]);
        let after = tree(
            &[("o.db", 99), ("a.log", 7), ("b", 1)],
            &[("orders", 1), ("stock", 2), ("paid", 2)],
        );
        assert_eq!(
            grown(&before, &after, &["SELECT id FROM unpaid"]).as_deref(),
            Some("table `paid` grew from 0 to 2 rows, `a.log` grew from 5 to 7 bytes")
        );
        assert_eq!(
            grown(&before, &after, &["SELECT id FROM paid WHERE id = $operation"]).as_deref(),
            Some("`a.log` grew from 5 to 7 bytes")
        );
        assert_eq!(grown(&after, &after, &[]), None);
    }
}
