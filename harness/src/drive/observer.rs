//! Takes observations: reads the living store without harming its writer, or freezes a dead one and reads the copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::DriveError;
use super::clock::{self, Deadline};
use super::holder::{Holder, holder_of, is_open_in};
use crate::case::{Doubled, When};
use crate::plan::Plan;
use crate::readback::{self, LiveReader, Poll, Query, ReadError, Rows};
use crate::record::{
    CaseFolder, Doctored, OBSERVATION_FORMAT, Observation, OperationSeen, ReadFrom, Reading, ReadingOutcome,
};
use crate::target::Target;

/// Reads one store.
#[derive(Debug)]
pub(super) struct Observer {
    store: PathBuf,
    effects_sql: String,
    ledger_sql: Option<String>,
    /// Counts of effects at the observation before, by operation.
    last_counts: BTreeMap<String, usize>,
}

impl Observer {
    /// An observer of the store at this path; nothing where the target's effects cannot be read.
    pub(super) fn new(target: &Target, store: Option<PathBuf>) -> Option<Self> {
        Some(Self {
            store: store?,
            effects_sql: target.read_effects.clone()?,
            ledger_sql: target.read_ledger.clone(),
            last_counts: BTreeMap::new(),
        })
    }

    /// The query that counts an operation's effects.
    pub(super) fn effects_query(&self, plan: &Plan, operation: &str) -> Query {
        query(&self.effects_sql, plan, operation)
    }

    /// A reader for polling the living store.
    pub(super) fn live_reader(&self) -> LiveReader {
        LiveReader::open(&self.store)
    }

    /// How many effects of an operation the last observation counted that could count them.
    pub(super) fn last_count(&self, operation: &str) -> usize {
        self.last_counts.get(operation).copied().unwrap_or_default()
    }

    /// Whether a process other than this one and those in `except` has the store open.
    pub(super) fn is_held(&self, except: &[i32]) -> bool {
        holder_of(&self.store, except).is_some()
    }

    /// Whether one of these processes has the store open.
    pub(super) fn is_open_in(&self, pids: &[i32]) -> bool {
        is_open_in(&self.store, pids)
    }

    /// Reads the living store; all readings together wait for a busy one no longer than the bound.
    pub(super) async fn live(&mut self, plan: &Plan, label: &str, bound_ms: u64) -> Observation {
        let deadline = Deadline::after(Duration::from_millis(bound_ms));
        let mut operations = BTreeMap::new();
        for name in plan.operations.keys() {
            let effects = self.read_live(&self.effects_query(plan, name), deadline).await;
            let ledger = match &self.ledger_sql {
                Some(sql) => Some(self.read_live(&query(sql, plan, name), deadline).await),
                None => None,
            };
            let seen = OperationSeen {
                effects,
                ledger,
                doctored: None,
            };
            operations.insert(name.clone(), seen);
        }
        self.observation(label, When::Now, ReadFrom::Live, operations)
    }

    async fn read_live(&self, query: &Query, deadline: Deadline) -> Reading {
        let mut reader = self.live_reader();
        loop {
            let answer = match reader.poll(query) {
                Ok(Poll::Rows(rows)) => Ok(rows),
                Ok(Poll::Absent) => Err(ReadError::Absent {
                    store: self.store.clone(),
                }),
                Ok(Poll::Busy | Poll::Unchanged) if deadline.has_passed() => Err(ReadError::Busy {
                    store: self.store.clone(),
                }),
                Ok(Poll::Busy | Poll::Unchanged) => {
                    clock::pause().await;
                    continue;
                }
                Err(error) => Err(error),
            };
            return reading(query, answer);
        }
    }

    /// Freezes a store that nobody uses any more, and reads the copy.
    pub(super) fn frozen(
        &mut self,
        plan: &Plan,
        label: &str,
        folder: &CaseFolder,
        doubled: Option<Doubled>,
    ) -> Result<Observation, DriveError> {
        self.frozen_beside(plan, label, folder, (When::Quiet, doubled), &[])
    }

    /// The same beside processes of the server that stand still.
    pub(super) fn frozen_beside(
        &mut self,
        plan: &Plan,
        label: &str,
        folder: &CaseFolder,
        (when, doubled): (When, Option<Doubled>),
        paused: &[i32],
    ) -> Result<Observation, DriveError> {
        if let Some(Holder { pid, name }) = holder_of(&self.store, paused) {
            return Err(DriveError::StoreIsOpen { pid, name });
        }
        let into = folder.store_folder(label);
        let frozen = readback::freeze(&self.store, &into)?;
        let relative = |path: &Path| path.strip_prefix(folder.root()).unwrap_or(path).display().to_string();
        let mut operations = BTreeMap::new();
        for name in plan.operations.keys() {
            let ask = |sql: &str| {
                let query = query(sql, plan, name);
                let answer = match (&frozen.read_copy, &frozen.problem) {
                    (Some(copy), _) => readback::query_read_copy(copy, &query),
                    (None, Some(problem)) => Err(ReadError::Unreadable {
                        store: self.store.clone(),
                        reason: problem.clone(),
                    }),
                    (None, None) => Err(ReadError::Absent {
                        store: self.store.clone(),
                    }),
                };
                reading(&query, answer)
            };
            let effects = ask(&self.effects_sql);
            let doctored = match (&frozen.read_copy, doubled) {
                (Some(copy), Some(doubled)) => self.doctor(plan, name, &effects, copy, doubled)?,
                _ => None,
            };
            let seen = OperationSeen {
                effects,
                ledger: self.ledger_sql.as_deref().map(ask),
                doctored,
            };
            operations.insert(name.clone(), seen);
        }
        let read = ReadFrom::Frozen {
            folder: (!frozen.files.is_empty()).then(|| relative(&into)),
            read_copy: frozen.read_copy.as_deref().map(relative),
            problem: frozen.problem,
        };
        Ok(self.observation(label, when, read, operations))
    }

    /// The count of the same query on a copy with doubled rows; nothing where it is not needed, or where the rows cannot
    /// be doubled (virtual tables, unknown collations).
    fn doctor(
        &self,
        plan: &Plan,
        operation: &str,
        effects: &Reading,
        read_copy: &Path,
        doubled: Doubled,
    ) -> Result<Option<Doctored>, DriveError> {
        let now = effects.count().filter(|now| *now > 0);
        let needed = match doubled {
            Doubled::Always => now.is_some(),
            Doubled::IfNeeded => now.is_some() && now == self.last_counts.get(operation).copied(),
        };
        let Some(marker) = plan.marker(operation).filter(|_| needed) else {
            return Ok(None);
        };
        let folder = tempfile::tempdir().map_err(DriveError::Scratch)?;
        let copy = folder.path().join("doctored.sqlite3");
        let Ok(doubled) = readback::duplicate_marked_rows(read_copy, marker, &copy) else {
            return Ok(None);
        };
        let Ok(rows) = readback::query_read_copy(&copy, &effects.query) else {
            return Ok(None);
        };
        Ok(Some(Doctored {
            tables: doubled.tables.into_iter().map(|table| table.table).collect(),
            count: rows.count(),
        }))
    }

    fn observation(
        &mut self,
        label: &str,
        when: When,
        read: ReadFrom,
        operations: BTreeMap<String, OperationSeen>,
    ) -> Observation {
        for (name, seen) in &operations {
            if let Some(count) = seen.effects.count() {
                self.last_counts.insert(name.clone(), count);
            }
        }
        Observation {
            format: OBSERVATION_FORMAT,
            label: label.to_owned(),
            when,
            read,
            operations,
        }
    }
}

fn query(sql: &str, plan: &Plan, operation: &str) -> Query {
    let planned = &plan.operations[operation];
    Query::new(
        sql,
        [
            ("marker", planned.marker.as_str()),
            ("operation", planned.identity.as_str()),
            ("principal", crate::plan::PRINCIPAL),
        ],
    )
}

fn reading(query: &Query, answer: Result<Rows, ReadError>) -> Reading {
    let outcome = match answer {
        Ok(rows) => ReadingOutcome::Rows(rows),
        Err(error @ (ReadError::Absent { .. } | ReadError::NoSuchTable { .. })) => ReadingOutcome::Nothing {
            missing: error.to_string(),
        },
        Err(
            error @ (ReadError::Unreadable { .. }
            | ReadError::Busy { .. }
            | ReadError::BadQuery { .. }
            | ReadError::TooMuch { .. }),
        ) => ReadingOutcome::Unreadable {
            reason: error.to_string(),
        },
    };
    Reading {
        query: query.clone(),
        outcome,
    }
}
