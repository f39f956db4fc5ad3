//! One read-back at a named moment, as it stands in `observations/<label>.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::{Condition, When};
use crate::readback::{FrozenTree, Query, Rows, Tampering};

/// The version of the observation format that this harness writes.
pub const OBSERVATION_FORMAT: u32 = 1;

/// The names of the two readings that are not among the others.
pub const EFFECTS: &str = "effects";
/// See [`EFFECTS`].
pub const LEDGER: &str = "ledger";
/// The event log among the others.
pub const EVENTS: &str = "events";

/// What one read-back saw, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// [`OBSERVATION_FORMAT`].
    pub format: u32,
    /// Its name in the case.
    pub label: String,
    /// Whether the server could live meanwhile.
    pub when: When,
    /// What was read: the living store (our word), or a frozen copy (can be counted again).
    pub read: ReadFrom,
    /// By operation.
    pub operations: BTreeMap<String, OperationSeen>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum ReadFrom {
    /// The living store; nothing of it is kept.
    Live,
    /// A frozen copy in the evidence.
    Frozen {
        /// The folder under the case, `stores/<label>`; absent where no store existed.
        folder: Option<String>,
        /// What stood there, file by file, and which SQLite files have a copy that queries read.
        store: FrozenTree,
    },
}

impl ReadFrom {
    /// What is wrong with the store, where something is: a database that could not be recovered.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Live => None,
            Self::Frozen { store, .. } => store.databases.iter().find_map(|database| database.problem.as_deref()),
        }
    }
}

/// What was seen of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperationSeen {
    /// The rows that carry its marker.
    pub effects: Reading,
    /// Its rows in the ledger, where the profile says how to read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Reading>,
    /// What else the profile reads, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub more: BTreeMap<String, Reading>,
    /// What became, on copies of the frozen store, of the profile's statements that would change its event log, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tampered: BTreeMap<String, Tampered>,
    /// Files that carry the marker and were not counted, because by their names a save left them behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// The same count on a copy in which the marked rows were doubled, where the case asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doctored: Option<Doctored>,
}

/// One query and what it returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The query with its parameters.
    pub query: Query,
    /// What came of it.
    pub outcome: ReadingOutcome,
}

/// What came of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReadingOutcome {
    /// Rows.
    Rows(Rows),
    /// There is no store, or no such table in it yet: no effect. Believed only because the control has seen 1 and 2.
    Nothing {
        /// What is missing.
        missing: String,
    },
    /// The store could not be read; nothing is known.
    Unreadable {
        /// Why.
        reason: String,
    },
}

/// A statement that would change the event log, and what became of it on a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tampered {
    /// The statement.
    pub statement: String,
    /// What became of it.
    pub outcome: Tampering,
}

/// A count on a doctored copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Doctored {
    /// The tables, files or places whose marked rows were doubled.
    pub tables: Vec<String>,
    /// How many the same query counts there.
    pub count: usize,
}

impl OperationSeen {
    /// The reading of this name: `effects`, `ledger`, or another that the profile has.
    pub fn reading(&self, name: &str) -> Option<&Reading> {
        match name {
            EFFECTS => Some(&self.effects),
            LEDGER => self.ledger.as_ref(),
            other => self.more.get(other),
        }
    }
}

impl Reading {
    /// Whether it has the rows that a condition asks for; nothing where it could not be read.
    pub fn meets(&self, condition: &Condition) -> Option<bool> {
        let rows = match &self.outcome {
            ReadingOutcome::Rows(rows) => rows,
            ReadingOutcome::Nothing { .. } => return Some(false),
            ReadingOutcome::Unreadable { .. } => return None,
        };
        let holds = |row: &&Vec<Value>| {
            condition.holds.iter().all(|(column, value)| {
                let at = rows.columns.iter().position(|name| name == column);
                at.and_then(|at| row.get(at)) == Some(value)
            })
        };
        let found = rows.rows.iter().filter(holds).count();
        Some(u32::try_from(found).unwrap_or(u32::MAX) >= condition.rows)
    }

    /// How many rows, where that is known.
    pub fn count(&self) -> Option<usize> {
        match &self.outcome {
            ReadingOutcome::Rows(rows) => Some(rows.rows.len()),
            ReadingOutcome::Nothing { .. } => Some(0),
            ReadingOutcome::Unreadable { .. } => None,
        }
    }

    /// What is not there, where that is why there are no rows.
    pub fn missing(&self) -> Option<&str> {
        match &self.outcome {
            ReadingOutcome::Nothing { missing } => Some(missing),
            ReadingOutcome::Rows(_) | ReadingOutcome::Unreadable { .. } => None,
        }
    }

    /// Why nothing is known, where that is so.
    pub fn problem(&self) -> Option<&str> {
        match &self.outcome {
            ReadingOutcome::Unreadable { reason } => Some(reason),
            ReadingOutcome::Rows(_) | ReadingOutcome::Nothing { .. } => None,
        }
    }
}
