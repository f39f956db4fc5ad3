//! Expected and found, and what a difference means: it depends on whose promise the check is.

use serde_json::Value;

use super::facts::{Facts, Lookup};
use super::same::same_value;
use crate::case::{Basis, Check, Promise};
use crate::plan::Plan;
use crate::record::{CheckOutcome, CheckResult, PathFinding};

/// Compares one check with the facts.
pub(super) fn evaluate(check: &Check, plan: &Plan, facts: &Facts) -> CheckResult {
    if let Some(reason) = inapplicable(check, plan) {
        return result(check, CheckOutcome::NotApplicable, Some(reason), None, Vec::new());
    }
    let mut comparison = Comparison::default();
    for (path, expected) in &check.expect {
        comparison.literal(path, expected, facts);
    }
    for (path, permitted) in &check.among {
        comparison.one_of(path, permitted, facts);
    }
    for (left, right) in &check.same {
        comparison.pair(left, right, facts);
    }
    if let Some(reason) = comparison.unobserved {
        return result(
            check,
            CheckOutcome::Inconclusive,
            Some(reason),
            None,
            comparison.findings,
        );
    }
    if !comparison.findings.is_empty() {
        return broken(check, plan, facts, comparison.findings);
    }
    match comparison.never_made {
        Some(path) => {
            let say = format!(
                "`{path}` is not in the record (a reply that never came, rows that nobody saw before, or a copy that could not be made)"
            );
            result(check, CheckOutcome::NotApplicable, Some(say), None, Vec::new())
        }
        None => result(check, CheckOutcome::Held, None, None, Vec::new()),
    }
}

fn inapplicable(check: &Check, plan: &Plan) -> Option<String> {
    if let Some(surface) = check.only
        && !plan.surfaces.contains(&surface)
    {
        return Some(format!("not asked of this target: {}", surface.advice(plan.by_flags)));
    }
    if check.basis == Basis::Reference && !plan.contract.preset.is_reference() {
        let preset = plan.contract.preset.name();
        return Some(format!(
            "a policy of the reference server, which the contract `{preset}` does not promise"
        ));
    }
    None
}

/// What a break means, and whose promise it is.
fn broken(check: &Check, plan: &Plan, facts: &Facts, findings: Vec<PathFinding>) -> CheckResult {
    let contract = &plan.contract;
    let guarded = contract.preset.is_reference();
    let outcome = match check.basis {
        Basis::SpecMust | Basis::Annotation | Basis::Reference => CheckOutcome::Broken,
        Basis::SpecShould if guarded => CheckOutcome::Broken,
        Basis::SpecShould => CheckOutcome::Warning,
        Basis::Contract if contract.preset.promises(check.promise) => CheckOutcome::Broken,
        Basis::Contract => match check.promise {
            Promise::Effects | Promise::Conflict => CheckOutcome::Unguarded,
            Promise::FirstResult | Promise::Discretion => CheckOutcome::Noted,
            Promise::Answer => CheckOutcome::Inconclusive,
        },
        Basis::Machinery => CheckOutcome::Inconclusive,
    };
    let whose = contract.whose(check, facts.spoken);
    let mut say = check
        .say
        .clone()
        .unwrap_or_else(|| "it is not as the case expects".to_owned());
    // What is missing is the reader's next step, where the read-back itself is in question.
    if check.basis == Basis::Machinery
        && let Some(missing) = findings.iter().find_map(|finding| facts.missing(&finding.path))
    {
        say = format!("{say}: {missing}");
    }
    // That a log does not fold is no news without the event at which it does not.
    if let Some(because) = findings.iter().find_map(|finding| facts.because(&finding.path)) {
        say = format!("{say}: {because}");
    }
    // Where nothing can be said of the target, what it said itself is all that there is to go on.
    if outcome == CheckOutcome::Inconclusive
        && let Some(said) = findings.iter().find_map(|finding| facts.said(&finding.path))
    {
        say = format!("{say}; {said}");
    }
    // A script that nobody follows is the harness's own, unless somebody was missing in it.
    if check.basis == Basis::Machinery
        && let Some(gone) = facts.gone()
    {
        say = format!("{say}; {gone}");
    }
    result(check, outcome, Some(say), whose, findings)
}

fn result(
    check: &Check,
    outcome: CheckOutcome,
    say: Option<String>,
    whose: Option<String>,
    findings: Vec<PathFinding>,
) -> CheckResult {
    CheckResult {
        id: check.id.clone(),
        basis: check.basis,
        about: check.about,
        outcome,
        say,
        whose,
        findings,
    }
}

/// What the comparisons of one check found.
#[derive(Debug, Default)]
struct Comparison {
    findings: Vec<PathFinding>,
    unobserved: Option<String>,
    never_made: Option<String>,
}

impl Comparison {
    fn literal(&mut self, path: &str, expected: &Value, facts: &Facts) {
        match facts.look_up(path) {
            Lookup::Found(found) if same_value(found, expected) => {}
            Lookup::Found(found) => self.differs(path, expected, Some(found), facts),
            Lookup::Absent => self.differs(path, expected, None, facts),
            Lookup::NeverMade => self.never_made = Some(path.to_owned()),
            Lookup::Unobserved(reason) => self.unobserved = Some(reason.to_owned()),
        }
    }

    fn one_of(&mut self, path: &str, permitted: &[Value], facts: &Facts) {
        match facts.look_up(path) {
            Lookup::Found(found) if permitted.iter().any(|value| same_value(found, value)) => {}
            Lookup::Found(found) => self.differs(path, &Value::from(permitted), Some(found), facts),
            Lookup::Absent => self.differs(path, &Value::from(permitted), None, facts),
            Lookup::NeverMade => self.never_made = Some(path.to_owned()),
            Lookup::Unobserved(reason) => self.unobserved = Some(reason.to_owned()),
        }
    }

    fn pair(&mut self, left: &str, right: &str, facts: &Facts) {
        match (facts.look_up(left), facts.look_up(right)) {
            (Lookup::Unobserved(reason), _) | (_, Lookup::Unobserved(reason)) => {
                self.unobserved = Some(reason.to_owned());
            }
            (Lookup::NeverMade, _) => self.never_made = Some(left.to_owned()),
            (_, Lookup::NeverMade) => self.never_made = Some(right.to_owned()),
            (Lookup::Found(left), Lookup::Found(right)) if same_value(left, right) => {}
            (Lookup::Found(found), Lookup::Found(expected)) => self.differs(left, expected, Some(found), facts),
            (Lookup::Absent, Lookup::Found(expected)) => self.differs(left, expected, None, facts),
            (Lookup::Found(_) | Lookup::Absent, Lookup::Absent) => {
                self.differs(right, &Value::from("a result"), None, facts);
            }
        }
    }

    fn differs(&mut self, path: &str, expected: &Value, found: Option<&Value>, facts: &Facts) {
        self.findings.push(PathFinding {
            path: path.to_owned(),
            expected: expected.clone(),
            found: found.cloned(),
            instead: if found.is_none() { facts.instead(path) } else { None },
        });
    }
}
