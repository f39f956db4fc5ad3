//! The verdict on one case, as it stands in `verdict.json`. The judge makes it; reports and `verify` read it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::case::Basis;

/// The version of the verdict format that this harness writes.
pub const VERDICT_FORMAT: u32 = 1;

/// The five verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything that applies holds.
    Pass,
    /// A promise is broken.
    Fail,
    /// The effect doubled or was lost, and nobody had promised otherwise.
    Unguarded,
    /// A surface that the case cannot do without is missing.
    Unsupported,
    /// Our machinery, the machine, or the fault's timing: nothing can be said of the target.
    Inconclusive,
}

impl Verdict {
    /// The word that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unguarded => "unguarded",
            Self::Unsupported => "unsupported",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Everything concluded about one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseVerdict {
    /// [`VERDICT_FORMAT`].
    pub format: u32,
    /// The version of the judge that concluded it.
    pub judge: u32,
    /// The case.
    pub case: String,
    /// Its revision.
    pub revision: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence, where it is not a pass.
    pub reason: Option<String>,
    /// Every check, in the order of the case.
    pub checks: Vec<CheckResult>,
    /// What is worth knowing and nobody's fault.
    pub notes: Vec<String>,
    /// What the server should mend although no check of the case is about it.
    pub warnings: Vec<String>,
    /// Where each counted row came from.
    pub rows: Vec<RowOrigin>,
    /// What the record says, as the checks see it.
    pub facts: Map<String, Value>,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckResult {
    /// Its name in the case.
    pub id: String,
    /// Whose promise it is.
    pub basis: Basis,
    /// Whether the case is about it.
    pub about: bool,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// One sentence for people; present where the check does not hold.
    pub say: Option<String>,
    /// Whose promise is broken, and where it is made.
    pub whose: Option<String>,
    /// Expected and found, for each path that differs.
    pub findings: Vec<PathFinding>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// It holds.
    Held,
    /// It is broken, and somebody promised it.
    Broken,
    /// It is broken, an effect doubled or was lost, and nobody promised otherwise.
    Unguarded,
    /// It is broken, and only a warning.
    Warning,
    /// It is broken, and the specification is silent: a note.
    Noted,
    /// It is broken in a case that came out inconclusive: that says nothing of the target.
    NotJudged,
    /// It does not apply to this target or this record.
    NotApplicable,
    /// It is broken or could not be observed, and that says nothing of the target.
    Inconclusive,
}

impl CheckOutcome {
    /// The words that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::Unguarded => "unguarded",
            Self::Warning => "a warning",
            Self::Noted => "a note",
            Self::NotJudged => "not judged",
            Self::NotApplicable => "not applicable",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl CaseVerdict {
    /// Every check: what is broken first, and of that what the case is about.
    pub fn checks_worst_first(&self) -> Vec<&CheckResult> {
        let rank = |outcome| match outcome {
            CheckOutcome::Broken | CheckOutcome::Unguarded => 0,
            CheckOutcome::Inconclusive => 1,
            CheckOutcome::Warning => 2,
            CheckOutcome::Noted => 3,
            CheckOutcome::Held => 4,
            CheckOutcome::NotJudged => 5,
            CheckOutcome::NotApplicable => 6,
        };
        let mut checks: Vec<&CheckResult> = self.checks.iter().collect();
        checks.sort_by_key(|check| (rank(check.outcome), !check.about));
        checks
    }
}

/// One path of a check that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PathFinding {
    /// The path of the fact.
    pub path: String,
    /// What the case expects there.
    pub expected: Value,
    /// What the record says; absent where it says nothing.
    pub found: Option<Value>,
    /// What there is instead, where nothing of the kind is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// Most frames that are named with one row.
pub const FRAMES_NAMED_MAX: usize = 64;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_none_more(more: &usize) -> bool {
    *more == 0
}

/// One counted row and the frames that can have made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowOrigin {
    /// The operation whose marker it carries.
    pub operation: String,
    /// Column and value pairs, as the read-back returned them.
    pub row: Map<String, Value>,
    /// The observation that saw it first.
    pub first_seen: String,
    /// The write requests of its marker after which no row had appeared before: step name and `seq` of the frame. The first
    /// [`FRAMES_NAMED_MAX`] of them.
    pub made_by: Vec<FrameName>,
    /// How many more there are: with each of many rows all of many requests would be more than anybody reads.
    #[serde(default, skip_serializing_if = "is_none_more")]
    pub made_by_more: usize,
    /// The first observation that does not see it any more, where the last one does not: it was replaced or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<String>,
}

/// A frame, by the step that sent it and its position in the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrameName {
    /// The step.
    pub step: String,
    /// The frame's `seq`.
    pub seq: u64,
}
