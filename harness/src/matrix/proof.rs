//! `matrix.json`: the matrix as it is stored, at every moment of a proof. What is not known yet is not in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::row::left;
use super::{CaseColumn, MATRIX_FORMAT, Matrix, Row};
use crate::record::{RunState, Verdict};

/// A matrix, how far it has come, and where its evidence is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// [`MATRIX_FORMAT`].
    pub format: u32,
    /// Whether all that was to be run was run; `running` is also what is found after the harness was killed.
    pub state: RunState,
    /// The server, in one line.
    pub target: String,
    /// The cases, in the order of the catalogue.
    pub cases: Vec<CaseColumn>,
    /// The verdicts on the server as it should be.
    pub baseline: BTreeMap<String, Verdict>,
    /// The defects that were planted, in the order of their list; one whose run was cut short says so.
    pub defects: Vec<Row>,
    /// Defects that were to be planted, and whose run was not begun, or not yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_begun: Vec<String>,
    /// Defects that were not planted, because none of the chosen cases has to notice them.
    pub left_out: Vec<String>,
    /// Everything that is not as it must be; empty where the proof is complete.
    pub problems: Vec<String>,
    /// Version of the harness.
    pub harness: String,
    /// The runs that were begun, each in the folder beside this file that is called so.
    pub runs: Vec<RunKept>,
    /// The folder of the evidence, as it was called.
    pub evidence: String,
    /// The exit code that the proof came to; absent before its end.
    pub exit: Option<u8>,
}

/// A run whose evidence is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunKept {
    /// The folder.
    pub folder: String,
    /// The digest of its `SHA256SUMS`; absent where the run was cut off before it was sealed.
    pub sums_sha256: Option<String>,
}

impl Proof {
    /// What is stored of a matrix.
    pub fn of(matrix: &Matrix, state: RunState, exit: Option<u8>, runs: Vec<RunKept>, evidence: String) -> Self {
        Self {
            format: MATRIX_FORMAT,
            state,
            target: matrix.target.clone(),
            cases: matrix.cases.clone(),
            baseline: matrix.baseline.clone(),
            defects: matrix.defects.clone(),
            not_begun: matrix.not_begun.clone(),
            left_out: matrix.left_out.clone(),
            problems: matrix.problems.iter().map(ToString::to_string).collect(),
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            runs,
            evidence,
            exit,
        }
    }

    /// The defects that it did not come to, or not to the end of: those of the runs that are unfinished, then the others.
    pub fn left(&self) -> Vec<&str> {
        left(&self.defects, &self.not_begun)
    }

    /// The number of named kills, and of those that happened.
    pub fn kills(&self) -> (usize, usize) {
        let all = || self.defects.iter().flat_map(|row| &row.kills);
        (all().count(), all().filter(|kill| kill.happened()).count())
    }
}
