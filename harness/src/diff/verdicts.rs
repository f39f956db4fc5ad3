//! Verdicts that changed from one run to the other, and by which checks.

use serde::Serialize;

use super::side::Side;
use crate::record::{CaseVerdict, CheckOutcome, CheckResult, PathFinding, Verdict};

/// A case that came out otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictChange {
    /// The case.
    pub case: String,
    /// The verdict in the first run.
    pub a: Option<Verdict>,
    /// The verdict in the second.
    pub b: Option<Verdict>,
    /// Why, in the first run, where it is not a pass.
    pub reason_a: Option<String>,
    /// Why, in the second.
    pub reason_b: Option<String>,
    /// Checks that came out otherwise.
    pub checks: Vec<CheckChange>,
}

/// A check that came out otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckChange {
    /// The check.
    pub check: String,
    /// What came of it in the first run.
    pub a: Option<CheckOutcome>,
    /// What came of it in the second.
    pub b: Option<CheckOutcome>,
    /// What it says where it does not hold.
    pub say: Option<String>,
    /// What the first run found otherwise than expected.
    pub found_a: Vec<PathFinding>,
    /// What the second did.
    pub found_b: Vec<PathFinding>,
}

impl VerdictChange {
    /// Whether the verdict is another, and not only checks.
    pub fn is_other(&self) -> bool {
        self.a != self.b
    }
}

/// What a run says that a case came to.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) verdict: Option<Verdict>,
    reason: Option<String>,
    whole: Option<CaseVerdict>,
}

impl Said {
    /// By `run.json` and `verdict.json`; where they contradict each other, `note` is told, and the worse word is taken: a green
    /// one that its own evidence denies is none.
    pub(super) fn of(side: &Side, id: &str, note: &mut dyn FnMut(String)) -> Self {
        let summary = side.run().verdicts.get(id);
        let whole = side.verdict(id);
        let (short, long) = (
            summary.map(|summary| summary.verdict),
            whole.as_ref().map(|whole| whole.verdict),
        );
        if let (Some(short), Some(long)) = (short, long)
            && short != long
        {
            let (short, long) = (short.name(), long.name());
            note(format!("{id}: run.json says {short}, and its verdict.json says {long}"));
        }
        let verdict = match (short, long) {
            (Some(Verdict::Pass), Some(long)) => Some(long),
            (short, long) => short.or(long),
        };
        Self {
            verdict,
            reason: summary
                .and_then(|summary| summary.reason.clone())
                .or_else(|| whole.as_ref().and_then(|whole| whole.reason.clone())),
            whole,
        }
    }

    fn checks(&self) -> &[CheckResult] {
        self.whole.as_ref().map_or(&[], |whole| &whole.checks)
    }
}

/// How a case came out otherwise; nothing where it did not.
pub(super) fn change(id: &str, a: &Said, b: &Said) -> Option<VerdictChange> {
    let mut checks: Vec<CheckChange> = Vec::new();
    for before in a.checks() {
        let after = b.checks().iter().find(|after| after.id == before.id);
        checks.extend(check_change(Some(before), after));
    }
    let is_new = |after: &&CheckResult| !a.checks().iter().any(|before| before.id == after.id);
    // Where one run did not come to a verdict, its checks are not other ones.
    if a.whole.is_some() && b.whole.is_some() {
        checks.extend(
            b.checks()
                .iter()
                .filter(is_new)
                .filter_map(|after| check_change(None, Some(after))),
        );
    } else {
        checks.clear();
    }
    (a.verdict != b.verdict || !checks.is_empty()).then(|| VerdictChange {
        case: id.to_owned(),
        a: a.verdict,
        b: b.verdict,
        reason_a: a.reason.clone(),
        reason_b: b.reason.clone(),
        checks,
    })
}

fn check_change(a: Option<&CheckResult>, b: Option<&CheckResult>) -> Option<CheckChange> {
    let outcome = |check: Option<&CheckResult>| check.map(|check| check.outcome);
    let findings = |check: Option<&CheckResult>| check.map_or_else(Vec::new, |check| check.findings.clone());
    if outcome(a) == outcome(b) {
        return None;
    }
    let one = a.or(b)?;
    Some(CheckChange {
        check: one.id.clone(),
        a: outcome(a),
        b: outcome(b),
        say: b
            .and_then(|check| check.say.clone())
            .or_else(|| a.and_then(|check| check.say.clone())),
        found_a: findings(a),
        found_b: findings(b),
    })
}
