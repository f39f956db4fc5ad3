//! Every check of a case: what came of it, whose promise it is, and for each path what was expected and found.

use serde_json::Value;

use super::counts::{data_class, scrolling};
use super::markup::Markup;
use crate::case::{Basis, Case, Check};
use crate::record::{CaseVerdict, CheckOutcome, CheckResult};
use crate::report::frame::cut;

/// How much of an expected or found value is shown, in characters.
const VALUE_CHARS_MAX: usize = 600;

/// One path: what it is, what was expected there, and what was found.
type Line = (String, String, String);

/// Whose promise a check is.
pub(super) type Whose<'a> = &'a dyn Fn(&Check) -> Option<String>;

/// Writes the table.
pub(super) fn write(markup: &mut Markup, case: Option<&Case>, whose: Whose<'_>, verdict: &CaseVerdict) {
    if verdict.checks.is_empty() {
        return;
    }
    markup.leaf("h3", &[], "What was expected, and what was found");
    scrolling(markup, "Checks", |markup| {
        let caption = "★ is what the case is about. end.effects.A is: of what was observed at end, the effects of A.";
        markup.leaf("caption", &[], caption);
        markup.element("thead", &[], |markup| {
            markup.element("tr", &[], |markup| {
                for name in ["Outcome", "Check", "Whose promise", "At", "Expected", "Found"] {
                    markup.leaf("th", &[("scope", "col")], name);
                }
            });
        });
        for check in verdict.checks_worst_first() {
            let defined = case.and_then(|case| case.checks.iter().find(|known| known.id == check.id));
            markup.element("tbody", &[], |markup| {
                write_check(markup, check, defined, whose, verdict);
            });
        }
    });
}

fn write_check(
    markup: &mut Markup,
    check: &CheckResult,
    defined: Option<&Check>,
    whose: Whose<'_>,
    verdict: &CaseVerdict,
) {
    let mut lines = lines(check, defined, verdict);
    if lines.is_empty() {
        lines.push(("–".to_owned(), "–".to_owned(), "–".to_owned()));
    }
    let span = lines.len().to_string();
    let (symbol, class) = look(check.outcome);
    for (index, (path, expected, found)) in lines.iter().enumerate() {
        markup.element("tr", &[], |markup| {
            if index == 0 {
                markup.element("td", &[("class", "outcome"), ("rowspan", &span)], |markup| {
                    let text = format!("{symbol} {}", check.outcome.name());
                    markup.leaf("span", &[("class", class)], &text);
                });
                markup.element("th", &[("scope", "rowgroup"), ("rowspan", &span)], |markup| {
                    markup.leaf("span", &[], &check.id);
                    if check.about {
                        markup.leaf("span", &[("class", "star")], " ★");
                    }
                    if let Some(say) = &check.say {
                        markup.prose("p", &[("class", "say")], say);
                    }
                });
                markup.element("td", &[("rowspan", &span)], |markup| {
                    let promise = check.whose.clone();
                    write_basis(markup, check.basis, promise.or_else(|| whose(defined?)));
                });
            }
            markup.leaf("td", &[("class", "data path")], path);
            for value in [expected, found] {
                markup.leaf("td", &[("class", data_class(value))], &cut(value, VALUE_CHARS_MAX));
            }
        });
    }
}

/// What differs; of a check that has nothing that differs, what it asks for.
fn lines(check: &CheckResult, defined: Option<&Check>, verdict: &CaseVerdict) -> Vec<Line> {
    if !check.findings.is_empty() {
        let of = |finding: &crate::record::PathFinding| {
            let instead = || finding.instead.clone();
            let found = finding.found.as_ref().map(told).or_else(instead);
            let found = found.unwrap_or_else(|| "nothing of the kind".to_owned());
            (finding.path.clone(), told(&finding.expected), found)
        };
        return check.findings.iter().map(of).collect();
    }
    let Some(defined) = defined else { return Vec::new() };
    let is_held = check.outcome == CheckOutcome::Held;
    let found = |path: &str| {
        let found = is_held.then(|| fact(verdict, path)).flatten();
        let otherwise = if is_held { "as expected" } else { "–" };
        found.map_or_else(|| otherwise.to_owned(), told)
    };
    let literal = defined.expect.iter();
    let literal = literal.map(|(path, value)| (path.clone(), told(value), found(path)));
    let among = defined.among.iter().map(|(path, values)| {
        let values: Vec<String> = values.iter().map(told).collect();
        (path.clone(), format!("one of {}", values.join(", ")), found(path))
    });
    let same = defined.same.iter().map(|(left, right)| {
        let found = if is_held { "equal" } else { "–" };
        (left.clone(), format!("equals {right}"), found.to_owned())
    });
    literal.chain(among).chain(same).collect()
}

/// What the record says at a path.
fn fact<'a>(verdict: &'a CaseVerdict, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = verdict.facts.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn told(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn look(outcome: CheckOutcome) -> (&'static str, &'static str) {
    match outcome {
        CheckOutcome::Held => ("✓", "good"),
        CheckOutcome::Broken => ("✗", "bad strong"),
        CheckOutcome::Unguarded | CheckOutcome::Warning => ("!", "odd strong"),
        CheckOutcome::Inconclusive => ("?", "odd"),
        CheckOutcome::Noted | CheckOutcome::NotJudged | CheckOutcome::NotApplicable => ("–", "dim"),
    }
}

/// Whose promise a check is. What is said of a promise names its basis too, but for a sentence of the specification.
fn write_basis(markup: &mut Markup, basis: Basis, whose: Option<String>) {
    let words = match basis {
        Basis::SpecMust => "a MUST of the specification",
        Basis::SpecShould => "a SHOULD of the specification",
        Basis::Contract => "the target's contract",
        Basis::Annotation => "the server's own annotation",
        Basis::Reference => "a policy of the reference server",
        Basis::Machinery => "the harness's own machinery",
    };
    let is_quoted = matches!(basis, Basis::SpecMust | Basis::SpecShould);
    if is_quoted || whose.is_none() {
        markup.leaf("p", &[], words);
    }
    if let Some(whose) = whose {
        let class = if is_quoted { "aside" } else { "whose" };
        markup.prose("p", &[("class", class)], &whose);
    }
}
