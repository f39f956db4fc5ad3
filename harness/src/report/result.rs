//! What a run came to, as a value: the JSON report, and what the console prints from.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::baseline::BaselineReport;
use crate::case::{Case, Surface};
use crate::plan::Plan;
use crate::protocol::Revision;
use crate::record::{CaseVerdict, Run, ServerSeen, Verdict};
use crate::target::{BUILT_IN_NAMES, TargetSource};

/// The version of the JSON report.
pub const REPORT_FORMAT: u32 = 1;

/// A gate must not be green on a server that nobody meant.
const NOTE_BUILT_IN: &str =
    "no --target, no command and no ./target.toml here: this is the server that the binary carries";

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// [`REPORT_FORMAT`].
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// What was tested.
    pub target: TargetReport,
    /// Where identities and markers come from.
    pub seed: u64,
    /// Why no case was run, where the server did not start.
    pub did_not_start: Option<String>,
    /// What counts as an effect, where it was found by a marker and not given.
    pub read_effects: Option<String>,
    /// Why nothing could be counted, where the effect was looked for and not found.
    pub blind: Option<String>,
    /// The command that shows the frames of what was written then.
    pub frames: Option<String>,
    /// What the server offers, where the target names no write.
    pub tools: Option<Vec<ToolReport>>,
    /// The next command to type, or the lines of a profile, where the target names no write.
    pub next: Option<String>,
    /// What to try then.
    pub hint: Option<String>,
    /// What in the profile does not fit what the server offers.
    pub warnings: Vec<String>,
    /// What the server said before it ended, where it did not start.
    pub last_words: Vec<String>,
    /// The demonstration that the read-back counts.
    pub control: Option<ControlReport>,
    /// What came of comparing it with its baseline, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineReport>,
    /// The cases that were executed, in order.
    pub cases: Vec<CaseReport>,
    /// The cases that were asked for and not begun, where the run was interrupted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_begun: Vec<String>,
    /// How many of each verdict among the requested cases.
    pub totals: RunTotals,
    /// The evidence folder, relative to the current one where it lies below it.
    pub evidence: String,
    /// The exit code.
    pub exit: u8,
    /// Why it is not 0.
    pub exit_reason: Option<&'static str>,
}

/// What was tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetReport {
    /// One line: name, source, contract, and the revision that is wanted.
    pub title: String,
    /// The name that the profile gives it.
    pub name: String,
    /// The contract preset.
    pub contract: String,
    /// Whether flags describe it and no profile.
    #[serde(skip)]
    pub by_flags: bool,
    /// Whether this binary carries it.
    #[serde(skip)]
    pub built_in: bool,
    /// The planted defect, where one was.
    pub defect: Option<String>,
    /// Why this target, where nobody named one.
    pub note: Option<&'static str>,
    /// The revision of MCP that is wanted; absent where it is the server's to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Revision>,
    /// What the server said of itself.
    pub server: Option<ServerSeen>,
}

/// A tool that the server offers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolReport {
    /// Its name.
    pub name: String,
    /// The arguments that its `inputSchema` requires.
    pub required: Vec<String>,
    /// Those that it takes beside them.
    pub optional: Vec<String>,
    /// Whether it only reads, as far as its annotation or its name tells.
    pub reads_only: bool,
    /// Arguments to begin with, `{marker}` and `{operation}` where they may belong.
    pub arguments: serde_json::Map<String, Value>,
}

/// The demonstration that the read-back counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlReport {
    /// The case that is the control.
    pub case: String,
    /// What the same read-back counted, in order: 0, 1, 2 where it can be believed.
    pub counts: Vec<Value>,
    /// Whether the last count comes from a copy with doubled rows.
    pub doctored: bool,
    /// Its verdict.
    pub verdict: Verdict,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseReport {
    /// Its family.
    pub family: String,
    /// Its number in the original matrix.
    pub number: Option<u32>,
    /// Its title.
    pub title: String,
    /// Whether it was named without a wildcard, and so is a gate.
    pub named: bool,
    /// Whether it was asked for, or only run as a control.
    pub requested: bool,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// The operations, by the names that the case gives them.
    pub operations: BTreeMap<String, OperationReport>,
    /// Whether it was not driven, because its control did not pass.
    pub blocked: bool,
    /// Where the writes went, where a control saw none of them in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The surfaces that the target lacks, where it is unsupported.
    pub missing: Vec<&'static str>,
    /// What it counts as once the failures that are expected are left out: nothing where no other is left.
    pub counts_as: Option<Verdict>,
    /// Its file, where it is a case of the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_file: Option<String>,
    /// Its record, whose lines are the frames and events that rows and checks speak of.
    pub record: String,
    /// The command that repeats it.
    pub repeat: String,
    /// What was concluded.
    #[serde(flatten)]
    pub verdict: CaseVerdict,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationReport {
    /// The operation identity.
    pub operation_id: String,
    /// The marker in its data.
    pub marker: String,
}

/// How many of each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunTotals {
    /// Passed.
    pub pass: usize,
    /// Failed.
    pub fail: usize,
    /// Unguarded.
    pub unguarded: usize,
    /// Unsupported.
    pub unsupported: usize,
    /// Inconclusive.
    pub inconclusive: usize,
}

impl RunReport {
    /// The report of a run that has not begun.
    pub(crate) fn empty(run: &Run, title: String, evidence: String) -> Self {
        Self {
            format: REPORT_FORMAT,
            harness: run.harness.version.clone(),
            target: TargetReport::of(run, title),
            seed: run.naming.seed,
            did_not_start: None,
            read_effects: None,
            blind: None,
            frames: None,
            tools: None,
            next: None,
            hint: None,
            warnings: Vec::new(),
            last_words: Vec::new(),
            control: None,
            baseline: None,
            cases: Vec::new(),
            not_begun: Vec::new(),
            totals: RunTotals::default(),
            evidence,
            exit: 0,
            exit_reason: None,
        }
    }

    /// Adds a case that was judged. A control counts only where it was asked for by name.
    pub(crate) fn add(&mut self, case: CaseReport, control: Option<ControlReport>) {
        if case.requested && (control.is_none() || case.named) {
            self.totals.add(case.verdict.verdict);
        }
        self.control = control.or(self.control.take());
        self.cases.push(case);
    }

    /// Whether nothing could be tested because the target names no write.
    pub fn names_no_write(&self) -> bool {
        let RunTotals { unsupported, .. } = self.totals;
        let requested = || self.cases.iter().filter(|case| case.requested);
        let only_unsupported = RunTotals {
            unsupported,
            ..RunTotals::default()
        };
        self.totals == only_unsupported && requested().count() > 0 && requested().all(CaseReport::lacks_write)
    }

    /// Whether any requested case counts as this verdict.
    pub fn any(&self, verdict: Verdict, named_only: bool) -> bool {
        let counts = |case: &&CaseReport| case.requested && (case.named || !named_only);
        self.cases
            .iter()
            .filter(counts)
            .any(|case| case.counts_as == Some(verdict))
    }
}

impl CaseReport {
    /// Whether the target has no write for it.
    pub fn lacks_write(&self) -> bool {
        self.missing.contains(&Surface::Write.name())
    }

    /// Whether it fails as expected, and in nothing else.
    pub fn is_expected(&self) -> bool {
        self.counts_as.is_none()
    }
}

impl RunTotals {
    /// Counts one more.
    pub fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.pass += 1,
            Verdict::Fail => self.fail += 1,
            Verdict::Unguarded => self.unguarded += 1,
            Verdict::Unsupported => self.unsupported += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
        }
    }
}

impl ControlReport {
    /// Reads the control's counts out of its verdict.
    pub fn of(case: &Case, verdict: &CaseVerdict) -> Self {
        let labels = case.steps.iter().filter_map(|step| {
            let crate::case::Step::Observe(crate::case::ObserveStep { label, .. }) = step else {
                return None;
            };
            Some(label)
        });
        let seen: Vec<&Value> = labels.filter_map(|label| verdict.facts.get(label)).collect();
        Self {
            case: case.id.clone(),
            counts: seen
                .iter()
                .filter_map(|facts| facts.pointer("/effects/A").cloned())
                .collect(),
            doctored: seen.last().is_some_and(|facts| facts.pointer("/doubled/A").is_some()),
            verdict: verdict.verdict,
        }
    }
}

impl OperationReport {
    /// The operations of a plan.
    pub fn all(plan: &Plan) -> BTreeMap<String, Self> {
        let operations = plan.operations.iter();
        operations
            .map(|(name, operation)| {
                let report = Self {
                    operation_id: operation.identity.clone(),
                    marker: operation.marker.clone(),
                };
                (name.clone(), report)
            })
            .collect()
    }
}

impl TargetReport {
    /// What a run says of its target.
    pub fn of(run: &Run, title: String) -> Self {
        Self {
            title,
            name: run.target.name.clone(),
            contract: run.target.contract.preset.name().to_owned(),
            by_flags: run.target.source == TargetSource::Command,
            built_in: run.target.source == TargetSource::BuiltIn,
            defect: run.defect.clone(),
            // Of the built-in servers only this one is taken where nobody names one.
            note: (run.target.source == TargetSource::BuiltIn && run.target.name == BUILT_IN_NAMES[0])
                .then_some(NOTE_BUILT_IN),
            protocol: run.target.protocol,
            server: run.server.clone(),
        }
    }

    /// The title, with the planted defect where there is one.
    pub fn line(&self) -> String {
        match &self.defect {
            Some(defect) => format!("{}, planted defect {defect}", self.title),
            None => self.title.clone(),
        }
    }
}
