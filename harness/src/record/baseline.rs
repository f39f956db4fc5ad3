//! What a run was expected to come to, as it stands in `run.json` and in the file that `--write-expected` writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::verdict::Verdict;

/// The version of the file of expected verdicts that this harness writes and reads.
pub const EXPECTED_FORMAT: u32 = 1;

/// What a run was compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The list of expected failures, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_failures: Option<ExpectedFailures>,
    /// The expected verdicts, where they were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedFile>,
}

impl Baseline {
    /// Whether there is nothing to compare with.
    pub fn is_empty(&self) -> bool {
        self.expected_failures.is_none() && self.expected.is_none()
    }
}

/// A list of failures that are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpectedFailures {
    /// The file, as it was named.
    pub file: String,
    /// The day of the run, `YYYY-MM-DD`, UTC: entries are past their date after it.
    pub today: String,
    /// The entries, in the order of the file.
    pub entries: Vec<ExpectedFailure>,
}

/// One failure that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpectedFailure {
    /// The line of the file, from 1 on.
    pub line: usize,
    /// The case.
    pub case: String,
    /// The one check of it that is known to fail; absent where the whole case is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Why it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it is written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The last day, `YYYY-MM-DD`, on which it may fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl ExpectedFailure {
    /// `case`, or `case:check`.
    pub fn name(&self) -> String {
        match &self.check {
            Some(check) => format!("{}:{check}", self.case),
            None => self.case.clone(),
        }
    }
}

/// The expected verdicts and the file that they come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpectedFile {
    /// The file, as it was named.
    pub file: String,
    /// What stands in it.
    pub expected: ExpectedVerdicts,
}

/// The verdict of every case of a run, and of which target: what `--write-expected` writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpectedVerdicts {
    /// [`EXPECTED_FORMAT`].
    pub format: u32,
    /// The name of the target.
    pub target: String,
    /// The name of its contract preset.
    pub contract: String,
    /// Verdicts by case.
    pub verdicts: BTreeMap<String, Verdict>,
}
