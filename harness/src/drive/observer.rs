//! Takes observations: reads the living store without harming its writer, or freezes a dead one and reads the copy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::DriveError;
use super::clock::{self, Deadline};
use super::holder::{Holder, holder_of, is_open_in};
use super::inside::refuse_outside;
use super::stage::StageError;
use crate::case::{Condition, Doubled, When};
use crate::plan::Plan;
use crate::readback::{self, FrozenReader, FrozenTree, LiveStore, Poll, Query, ReadError, Rows, Selector, Shape};
use crate::record::{
    CaseFolder, Doctored, EFFECTS, EVENTS, LEDGER, OBSERVATION_FORMAT, Observation, OperationSeen, ReadFrom, Reading,
    ReadingOutcome, Tampered,
};
use crate::target::Target;

/// What is tried on copies of a frozen store.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tried {
    /// The count with doubled rows.
    pub(super) doubled: Option<Doubled>,
    /// The statements that would change the event log.
    pub(super) tampered: bool,
}

/// Reads one store.
#[derive(Debug)]
pub(super) struct Observer {
    store: PathBuf,
    /// The case's own folder, in which the store has to lie.
    data: PathBuf,
    effects: Selector,
    ledger: Option<Selector>,
    more: BTreeMap<String, Selector>,
    tampering: BTreeMap<String, String>,
    /// Counts of effects at the observation before, by operation, and the rows.
    last_counts: BTreeMap<String, usize>,
    last_rows: BTreeMap<String, Rows>,
}

impl Observer {
    /// An observer of the store at this path in the case's folder; nothing where the target's effects cannot be read.
    pub(super) fn new(target: &Target, store: Option<PathBuf>, data: PathBuf) -> Option<Self> {
        Some(Self {
            store: store?,
            data,
            effects: target.read_effects.clone()?,
            ledger: target.read_ledger.clone(),
            more: target.read_more.clone(),
            tampering: target.tampering.clone(),
            last_counts: BTreeMap::new(),
            last_rows: BTreeMap::new(),
        })
    }

    /// What polls ask about an operation's effects, and a reader for it.
    pub(super) fn watch(&self, plan: &Plan, operation: &str) -> Result<(LiveStore, Query), StageError> {
        self.refuse_outside()?;
        let query = query(&self.effects, plan, operation).while_living();
        Ok((LiveStore::open(&self.store, &self.effects), query))
    }

    /// Nothing is read that lies outside the case's folder, nor a database in the store that does.
    fn refuse_outside(&self) -> Result<(), StageError> {
        refuse_outside(&self.store, &self.data)?;
        let selectors = self.ledger.iter().chain(self.more.values()).chain([&self.effects]);
        for selector in selectors {
            if let Selector::Sql { path: Some(path), .. } = selector.while_living() {
                refuse_outside(&self.store.join(path), &self.data)?;
            }
        }
        Ok(())
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
    pub(super) async fn live(&mut self, plan: &Plan, label: &str, bound_ms: u64) -> Result<Observation, StageError> {
        self.refuse_outside()?;
        let deadline = Deadline::after(Duration::from_millis(bound_ms));
        let mut operations = BTreeMap::new();
        for name in plan.operations.keys() {
            let effects = self.read_live(&query(&self.effects, plan, name), deadline).await;
            let ledger = match &self.ledger {
                Some(selector) => Some(self.read_live(&query(selector, plan, name), deadline).await),
                None => None,
            };
            let mut more = BTreeMap::new();
            for (kind, selector) in &self.more {
                let reading = self.read_live(&query(selector, plan, name), deadline).await;
                more.insert(kind.clone(), reading);
            }
            let seen = OperationSeen {
                effects,
                ledger,
                more,
                tampered: BTreeMap::new(),
                set_aside: Vec::new(),
                doctored: None,
            };
            operations.insert(name.clone(), seen);
        }
        Ok(self.observation(label, When::Now, ReadFrom::Live, operations))
    }

    /// Looks at the living store until a condition is met; returns whether it was, within the bound.
    pub(super) async fn wait_for(&self, plan: &Plan, condition: &Condition, bound_ms: u64) -> Result<bool, StageError> {
        self.refuse_outside()?;
        let selector = match condition.read.as_str() {
            EFFECTS => Some(&self.effects),
            LEDGER => self.ledger.as_ref(),
            other => self.more.get(other),
        };
        let Some(selector) = selector else { return Ok(false) };
        let query = query(selector, plan, &condition.of);
        let deadline = Deadline::after(Duration::from_millis(bound_ms));
        loop {
            if self.read_live(&query, deadline).await.meets(condition) == Some(true) {
                return Ok(true);
            }
            if deadline.has_passed() {
                return Ok(false);
            }
            clock::pause().await;
        }
    }

    async fn read_live(&self, query: &Query, deadline: Deadline) -> Reading {
        let query = query.while_living();
        let mut reader = LiveStore::open(&self.store, &query.selector);
        loop {
            let answer = match reader.poll(&query) {
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
            return reading(&query, answer);
        }
    }

    /// Freezes a store that nobody uses any more, and reads the copy.
    pub(super) fn frozen(
        &mut self,
        plan: &Plan,
        label: &str,
        folder: &CaseFolder,
        tried: Tried,
    ) -> Result<Observation, DriveError> {
        self.frozen_beside(plan, label, folder, (When::Quiet, tried), &[])
    }

    /// The same beside processes of the server that stand still.
    pub(super) fn frozen_beside(
        &mut self,
        plan: &Plan,
        label: &str,
        folder: &CaseFolder,
        (when, tried): (When, Tried),
        paused: &[i32],
    ) -> Result<Observation, DriveError> {
        self.refuse_outside()?;
        if let Some(Holder { pid, name }) = holder_of(&self.store, paused) {
            return Err(DriveError::StoreIsOpen { pid, name });
        }
        let into = folder.store_folder(label);
        let tree = readback::freeze_tree(&self.store, &into)?;
        let mut operations = BTreeMap::new();
        // Of its own, because `self` changes below.
        let store = self.store.clone();
        let reader = FrozenReader::new(&tree, &store);
        for name in plan.operations.keys() {
            let ask = |selector: &Selector| {
                let query = query(selector, plan, name);
                reading(&query, reader.ask(&query))
            };
            let effects = ask(&self.effects);
            let doctored = match tried.doubled {
                Some(doubled) => self.doctor(name, &effects, &tree, doubled)?,
                None => None,
            };
            let more: BTreeMap<String, Reading> = (self.more.iter())
                .map(|(kind, selector)| (kind.clone(), ask(selector)))
                .collect();
            let tampered = match more.get(EVENTS).filter(|_| tried.tampered) {
                Some(log) => self.tamper(&tree, &log.query)?,
                None => BTreeMap::new(),
            };
            let seen = OperationSeen {
                effects,
                ledger: self.ledger.as_ref().map(ask),
                more,
                tampered,
                set_aside: readback::set_aside(&tree, &plan.operations[name].marker),
                doctored,
            };
            operations.insert(name.clone(), seen);
        }
        let inside = into.strip_prefix(folder.root()).unwrap_or(&into);
        let read = ReadFrom::Frozen {
            folder: (tree.shape != Shape::Absent).then(|| inside.display().to_string()),
            store: tree,
        };
        Ok(self.observation(label, when, read, operations))
    }

    /// What becomes of each statement that would change the event log, on a copy of its own.
    fn tamper(&self, tree: &FrozenTree, log: &Query) -> Result<BTreeMap<String, Tampered>, DriveError> {
        let tried = self.tampering.iter().map(|(name, statement)| {
            let outcome = readback::ask_tampered(tree, &self.store, log, statement).map_err(DriveError::Scratch)?;
            let statement = statement.clone();
            Ok((name.clone(), Tampered { statement, outcome }))
        });
        tried.collect()
    }

    /// The count of the same query where every marked row stands twice; nothing where it is not needed or cannot be made.
    fn doctor(
        &self,
        operation: &str,
        effects: &Reading,
        tree: &FrozenTree,
        doubled: Doubled,
    ) -> Result<Option<Doctored>, DriveError> {
        let now = effects.count().filter(|now| *now > 0);
        let is_needed = match doubled {
            Doubled::Always => now.is_some(),
            // The same rows as before: the server kept them, and added none. As many rows that are others are no natural key.
            Doubled::IfNeeded => {
                now.is_some()
                    && match &effects.outcome {
                        ReadingOutcome::Rows(rows) => self.last_rows.get(operation) == Some(rows),
                        ReadingOutcome::Nothing { .. } | ReadingOutcome::Unreadable { .. } => false,
                    }
            }
        };
        if !is_needed {
            return Ok(None);
        }
        let scratch = tempfile::tempdir().map_err(DriveError::Scratch)?;
        let doubling = readback::ask_doubled(tree, &self.store, &effects.query, scratch.path());
        Ok(doubling.map(|doubling| Doctored {
            tables: doubling.doubled,
            count: doubling.count,
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
            if let ReadingOutcome::Rows(rows) = &seen.effects.outcome {
                self.last_rows.insert(name.clone(), rows.clone());
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

fn query(selector: &Selector, plan: &Plan, operation: &str) -> Query {
    plan.operations[operation].query(selector)
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
