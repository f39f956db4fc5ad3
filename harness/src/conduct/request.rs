//! What to run, what can be told of it while it runs, and why it cannot be run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::removed::IsRemoved;
use crate::case::{Case, Catalogue, Selection};
use crate::drive::{DriveError, StageError};
use crate::plan::Naming;
use crate::readback::Selector;
use crate::record::{Baseline, EvidenceError, RecordError, RerunOf};
use crate::report::{CaseReport, ControlReport, RunReport};
use crate::target::{PlaceholderError, Target};

/// Names that no run had before: with this seed, or with one that is drawn.
pub fn fresh_naming(seed: Option<u64>) -> Naming {
    Naming {
        seed: seed.unwrap_or_else(|| u64::from(uuid::Uuid::new_v4().as_fields().0)),
        nonce: uuid::Uuid::new_v4().simple().to_string()[..12].to_owned(),
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// On what.
    pub target: Target,
    /// The cases that there are.
    pub catalogue: Arc<Catalogue>,
    /// Which of them to run.
    pub selection: Selection,
    /// Where names come from.
    pub naming: Naming,
    /// No wait of a case is longer than this (milliseconds), where it is set.
    pub timeout_ms: Option<u64>,
    /// The cases whose evidence is kept, with that of their controls; all where it is absent. What is not kept is in no file
    /// of the evidence, as if it had not been run.
    pub keep: Option<BTreeSet<String>>,
    /// How many cases are run side by side, at most.
    pub jobs: usize,
    /// What the run is compared with.
    pub baseline: Baseline,
    /// The defect to plant.
    pub defect: Option<String>,
    /// The run that this one repeats, where it repeats one.
    pub rerun_of: Option<RerunOf>,
    /// The evidence folder that the user named.
    pub evidence: Option<PathBuf>,
    /// Whether the evidence is removed as soon as the run is over. Such is not sealed, and nothing is digested for it.
    pub is_removed: IsRemoved,
    /// The folder under which evidence goes otherwise.
    pub folder: PathBuf,
    /// Where cases get their own folders.
    pub scratch: PathBuf,
    /// The harness's own executable.
    pub harness: PathBuf,
    /// Becomes true when nobody watches over the run any more, just before its servers are killed.
    pub orphaned: watch::Receiver<bool>,
    /// How a case of this run is repeated.
    pub repeat: Repeat,
}

/// How a case is repeated, in words for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// The words before the id of a case, such as `harness run --case`.
    pub before: String,
    /// The words that name a case of the user's own instead, by id.
    pub own: BTreeMap<String, String>,
    /// The words after either.
    pub rest: String,
}

impl Repeat {
    /// The line that repeats a case.
    pub fn line(&self, id: &str) -> String {
        let named = || format!("{} {id}", self.before);
        let words = self.own.get(id).cloned().unwrap_or_else(named);
        format!("{words} {}", self.rest).trim_end().to_owned()
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The target is known by name; nothing was started yet.
    Begins(&'a RunReport),
    /// The target is known to start, and has said who it is.
    Probed(&'a RunReport),
    /// The effect was found where the marker turned up.
    EffectFound(&'a Selector),
    /// Something that whoever reads the verdicts should know.
    Warning(&'a str),
    /// Cases begin or end.
    Running(Running<'a>),
    /// A case was judged; with what its control showed, if it is one.
    CaseJudged(&'a Case, &'a CaseReport, Option<&'a ControlReport>),
}

/// How far a run has come.
#[derive(Debug, Clone, Copy)]
pub struct Running<'a> {
    /// The cases that are being run.
    pub cases: &'a [Arc<Case>],
    /// How many have ended.
    pub done: usize,
    /// How many there are.
    pub all: usize,
}

/// Why a run could not be conducted.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// A template of the profile is wrong.
    #[error("{place}: {error}")]
    Plan {
        /// The profile.
        place: String,
        /// What is wrong.
        error: PlaceholderError,
    },
    /// The profile asks for something that is not there.
    #[error("{place}: {error}")]
    Stage {
        /// The profile.
        place: String,
        /// What is wrong.
        error: StageError,
    },
    /// The profile names something that the server does not offer.
    #[error("{place}: {problem}")]
    NotOffered {
        /// The profile.
        place: String,
        /// What is missing, and what is there.
        problem: String,
    },
    /// The evidence folder cannot be made.
    #[error("{0}")]
    Folder(EvidenceError),
    /// The evidence cannot be written.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No thread could be had.
    #[error("start a thread for the cases: {0}")]
    Thread(std::io::Error),
    /// The machine did not let us.
    #[error("run the cases: {0}")]
    Machine(DriveError),
}

impl ConductError {
    pub(super) fn stage(request: &Request, error: StageError) -> Self {
        Self::Stage {
            place: request.target.place(),
            error,
        }
    }

    /// Whether the user can mend it, and nothing was run.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Plan { .. } | Self::Stage { .. } | Self::NotOffered { .. } => true,
            Self::Folder(_) => true,
            Self::Evidence(_) | Self::Record(_) | Self::Thread(_) | Self::Machine(_) => false,
        }
    }
}
