//! The end of a story: every check with what was expected and found and whose promise it is, the rows that a broken one is
//! about, and the verdict in a sentence.

use serde_json::{Map, Value};

use super::page::Page;
use super::table::{Mark, Table};
use super::value::in_words;
use crate::case::{Case, Check};
use crate::protocol::Revision;
use crate::record::{CaseVerdict, CheckOutcome, CheckResult, PathFinding, RowOrigin, Verdict};
use crate::report::console::word;
use crate::report::frame::shortened;
use crate::report::origin;
use crate::report::printer::Style;
use crate::target::Contract;

/// How much of an expected or found value is shown, in characters.
const FOUND_CHARS_MAX: usize = 160;

/// What the findings are told from.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Findings<'a> {
    pub(in crate::report) case: Option<&'a Case>,
    pub(in crate::report) contract: Option<&'a Contract>,
    /// The revision that the server speaks, where a handshake said it.
    pub(in crate::report) spoken: Option<Revision>,
    pub(in crate::report) verdict: &'a CaseVerdict,
}

impl<'a> Findings<'a> {
    /// Every check: what is broken first, and of that what the case is about.
    pub(super) fn checks(self, page: &mut Page<'_>) {
        page.section("What was expected, and what was found");
        page.labelled(
            Style::Dim,
            "paths",
            "`end.effects.A` is: of what was observed at `end`, the effects of A. ★ is what the case is about.",
        );
        let (mut held, mut aside) = (Vec::new(), Vec::new());
        for check in self.verdict.checks_worst_first() {
            match check.outcome {
                CheckOutcome::Broken
                | CheckOutcome::Unguarded
                | CheckOutcome::Warning
                | CheckOutcome::Noted
                | CheckOutcome::Inconclusive => trouble(check, page),
                CheckOutcome::Held => self.held(check, &mut held),
                CheckOutcome::NotApplicable | CheckOutcome::NotJudged => {
                    gather(&mut aside, reason_aside(check), check.id.clone());
                }
            }
        }
        for (whose, texts) in held {
            page.labelled(Style::Good, "held", &whose);
            for text in &texts {
                page.more(text);
            }
        }
        for (reason, ids) in aside {
            page.labelled(Style::Dim, "no matter", &format!("{}: {reason}", ids.join(", ")));
        }
    }

    /// Gathers what holds by whose promise it is.
    fn held(self, check: &CheckResult, held: &mut Vec<(String, Vec<String>)>) {
        let mut defined = self.case.into_iter().flat_map(|case| &case.checks);
        let defined = defined.find(|known| known.id == check.id);
        let found = defined.map_or(String::new(), |defined| format!(": {}", expectation(defined)));
        let whose = defined.and_then(|defined| self.contract?.whose(defined, self.spoken));
        let whose = whose.map_or_else(|| "as the case expects".to_owned(), |whose| format!("promise: {whose}"));
        gather(held, whose, format!("{}{}{found}", check.id, about(check)));
    }

    /// Where each row came from, where a check is broken.
    pub(super) fn rows(self, page: &mut Page<'_>) {
        let rows = &self.verdict.rows;
        let is_trouble = matches!(self.verdict.verdict, Verdict::Fail | Verdict::Unguarded);
        let Some(first) = rows.first().filter(|_| is_trouble) else {
            return;
        };
        page.section("Where each effect came from");
        let mut columns = vec!["made by".to_owned()];
        columns.extend(first.row.keys().cloned());
        let cells: Vec<Vec<Value>> = rows
            .iter()
            .map(|row| {
                let values = first
                    .row
                    .keys()
                    .map(|column| row.row.get(column).cloned().unwrap_or(Value::Null));
                std::iter::once(Value::from(made_by(row, self.case)))
                    .chain(values)
                    .collect()
            })
            .collect();
        let marked: Vec<(Mark, &Vec<Value>)> = cells
            .iter()
            .zip(rows)
            .map(|(cells, row)| (if row.gone_at.is_some() { Mark::Gone } else { Mark::New }, cells))
            .collect();
        Table::of(&columns, &marked).print(page);
    }

    /// The verdict in a sentence.
    pub(super) fn conclude(self, page: &mut Page<'_>) {
        page.section("The verdict");
        let (word, style) = word(self.verdict.verdict);
        page.labelled(style, word, &self.sentence());
        if let Some(text) = self.control() {
            page.labelled(Style::Dim, "", &text);
        }
    }

    /// What is worth knowing beside.
    pub(super) fn remarks(self, page: &mut Page<'_>) {
        for text in &self.verdict.warnings {
            page.labelled(Style::Odd, "warning", text);
        }
        // What is said of a check stands with the checks.
        let is_of_check = |text: &&String| {
            let mut checks = self.verdict.checks.iter();
            checks.any(|check| {
                text.strip_prefix(check.id.as_str())
                    .is_some_and(|rest| rest.starts_with(": "))
            })
        };
        for text in self.verdict.notes.iter().filter(|text| !is_of_check(text)) {
            page.labelled(Style::Dim, "note", text);
        }
    }

    /// Why the verdict is what it is.
    pub(in crate::report) fn sentence(self) -> String {
        let reason = self.reason();
        match self.verdict.verdict {
            Verdict::Pass => {
                let all = self.verdict.checks.len();
                match self.count(CheckOutcome::NotApplicable) {
                    0 => format!("all {all} checks hold: what was promised was kept."),
                    aside => format!(
                        "{} of {all} checks hold, and {aside} do not apply to this server: what was promised was kept.",
                        self.count(CheckOutcome::Held)
                    ),
                }
            }
            Verdict::Fail => {
                let whose = self.named().and_then(|check| check.whose.as_deref());
                let whose = whose.map_or(String::new(), |whose| format!(" by {whose}"));
                format!("{reason}. It was promised{whose}, so the server fails.")
            }
            Verdict::Unguarded => {
                format!(
                    "{reason}. Nobody had promised that it would not be so, so it is shown, and is no broken promise."
                )
            }
            Verdict::Unsupported => format!("nothing was tested: {reason}."),
            Verdict::Inconclusive => format!("{reason}. So nothing can be said of the server, good or bad."),
        }
    }

    /// The reason, with the check in it that it names.
    fn reason(self) -> String {
        let reason = self.verdict.reason.as_deref().unwrap_or("no reason is given");
        let is_broken = matches!(self.verdict.verdict, Verdict::Fail | Verdict::Unguarded);
        let named = self.named().filter(|_| is_broken);
        let named = named.and_then(|check| Some(format!("{} is broken{}", check.id, reason.strip_prefix(&check.id)?)));
        named.unwrap_or_else(|| reason.trim_end_matches('.').to_owned())
    }

    /// The check that the reason names.
    fn named(self) -> Option<&'a CheckResult> {
        let reason = self.verdict.reason.as_deref()?;
        let mut checks = self.verdict.checks.iter();
        checks.find(|check| {
            reason
                .strip_prefix(check.id.as_str())
                .is_some_and(|rest| rest.starts_with(": "))
        })
    }

    /// Why counts are believed.
    pub(in crate::report) fn control(self) -> Option<String> {
        let controls = &self.case?.controls;
        let is_believed = match self.verdict.verdict {
            Verdict::Pass | Verdict::Fail | Verdict::Unguarded => !controls.is_empty(),
            Verdict::Unsupported | Verdict::Inconclusive => false,
        };
        is_believed.then(|| {
            let names = controls.join(", ");
            format!("The counts can be believed: in the same run {names} had shown that they see what is there.")
        })
    }

    fn count(self, outcome: CheckOutcome) -> usize {
        self.verdict
            .checks
            .iter()
            .filter(|check| check.outcome == outcome)
            .count()
    }
}

/// A check that does not hold.
fn trouble(check: &CheckResult, page: &mut Page<'_>) {
    let (label, style) = label(check.outcome);
    let say = check.say.as_deref().unwrap_or("it is not as the case expects");
    page.labelled(style, label, &format!("{}{}: {say}", check.id, about(check)));
    for finding in &check.findings {
        page.labelled(Style::Plain, "", &difference(finding));
    }
    if let Some(whose) = &check.whose {
        page.labelled(Style::Plain, "", &format!("promise: {whose}"));
    }
}

/// What was expected and found at one path; of two objects only the members that differ.
fn difference(finding: &PathFinding) -> String {
    let path = &finding.path;
    if let (Value::Object(expected), Some(Value::Object(found))) = (&finding.expected, &finding.found) {
        let differing = |these: &Map<String, Value>, those: &Map<String, Value>| {
            let differing = these.iter().filter(|(name, value)| those.get(*name) != Some(*value));
            let members: Vec<String> = differing
                .map(|(name, value)| format!("{name}={}", told(value)))
                .collect();
            if members.is_empty() {
                "no more".to_owned()
            } else {
                members.join(", ")
            }
        };
        let (left, right) = (differing(expected, found), differing(found, expected));
        return format!("{path}: expected {left}; found {right}; the rest is equal");
    }
    let instead = || finding.instead.clone();
    let found = finding.found.as_ref().map(told).or_else(instead);
    let found = found.unwrap_or_else(|| "nothing of the kind".to_owned());
    format!("{path}: expected {}, found {found}", told(&finding.expected))
}

fn gather(groups: &mut Vec<(String, Vec<String>)>, key: String, text: String) {
    match groups.iter_mut().find(|(known, _)| *known == key) {
        Some((_, texts)) => texts.push(text),
        None => groups.push((key, vec![text])),
    }
}

fn about(check: &CheckResult) -> &'static str {
    if check.about { " ★" } else { "" }
}

fn label(outcome: CheckOutcome) -> (&'static str, Style) {
    match outcome {
        CheckOutcome::Broken => ("BROKEN", Style::Bad),
        CheckOutcome::Unguarded => ("UNGUARDED", Style::Odd),
        CheckOutcome::Inconclusive => ("UNCLEAR", Style::Odd),
        CheckOutcome::Warning => ("WARNING", Style::Odd),
        CheckOutcome::Noted => ("note", Style::Plain),
        CheckOutcome::Held => ("held", Style::Good),
        CheckOutcome::NotJudged | CheckOutcome::NotApplicable => ("no matter", Style::Dim),
    }
}

fn reason_aside(check: &CheckResult) -> String {
    match (check.outcome, &check.say) {
        (CheckOutcome::NotJudged, _) => "not judged, because the case tested nothing".to_owned(),
        (_, Some(say)) => say.clone(),
        (_, None) => "it does not apply".to_owned(),
    }
}

/// What a check that holds expects, and so what was found.
fn expectation(check: &Check) -> String {
    let literal = check
        .expect
        .iter()
        .map(|(path, value)| format!("{path} = {}", told(value)));
    let among = check.among.iter().map(|(path, values)| {
        let values: Vec<String> = values.iter().map(told).collect();
        format!("{path} is one of {}", values.join(", "))
    });
    let same = check.same.iter().map(|(left, right)| format!("{left} equals {right}"));
    literal.chain(among).chain(same).collect::<Vec<_>>().join(", ")
}

fn told(value: &Value) -> String {
    match value {
        Value::String(_) => in_words(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            shortened(&value.to_string(), FOUND_CHARS_MAX).0
        }
    }
}

/// The frames that can have made a row.
pub(in crate::report) fn made_by(row: &RowOrigin, case: Option<&Case>) -> String {
    origin::made_by(row, case, |frame| format!("{} [{}]", frame.step, frame.seq))
}
