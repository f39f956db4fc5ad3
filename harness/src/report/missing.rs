//! What a target lacks, summed up: a line for each missing surface with the cases that need it, and one line for a whole family
//! that lacks the same.

use std::collections::BTreeSet;
use std::path::Path;

use super::printer::{Printer, Style, plain, span};
use super::result::{CaseReport, RunReport, TargetReport};
use crate::case::Surface;
use crate::counted::counted;
use crate::target::{BUILT_IN_NAMES, built_in_named};

/// A family of which no case could be run, because all of them lack the same surface.
struct WholeFamily<'a> {
    family: &'a str,
    cases: Vec<&'a CaseReport>,
    /// The first surface that all of them lack.
    lacks: Surface,
}

/// Prints what was missing. Cases that were named have said it themselves.
pub(super) fn show_missing(printer: &mut Printer, report: &RunReport) {
    for text in lines(report) {
        printer.line(&[span(Style::Dim, format!("{:<13}", "UNSUPPORTED")), plain(text)]);
    }
    let named = report
        .cases
        .iter()
        .filter(|case| case.named && !case.missing.is_empty());
    let named: Vec<&CaseReport> = named.collect();
    if let Some(other) = other_target(&report.target, &named) {
        let text = format!("take --target {other} for {}", names(&named));
        printer.line(&[span(Style::Dim, format!("      {:<14}", "hint")), plain(text)]);
    }
}

fn lines(report: &RunReport) -> Vec<String> {
    let summed_up: Vec<&CaseReport> = report
        .cases
        .iter()
        .filter(|case| case.requested && !case.named)
        .collect();
    let families = whole_families(&summed_up);
    let is_apart = |case: &&&CaseReport| !families.iter().any(|whole| whole.family == case.family);
    let apart: Vec<&CaseReport> = summed_up.iter().filter(is_apart).copied().collect();
    let mut lines = Vec::new();
    for &surface in Surface::ALL {
        let advice = surface.advice(report.target.by_flags);
        let lacking: Vec<&WholeFamily<'_>> = families.iter().filter(|whole| whole.lacks == surface).collect();
        if !lacking.is_empty() {
            lines.push(family_line(&report.target, &lacking, &advice));
        }
        let lacking: Vec<&CaseReport> = apart.iter().filter(|case| lacks(case, surface)).copied().collect();
        if !lacking.is_empty() {
            lines.push(format!("{advice}: {}", names(&lacking)));
        }
    }
    lines
}

/// The families of which no case could be run, and of which there are several, in the order of the run.
fn whole_families<'a>(cases: &[&'a CaseReport]) -> Vec<WholeFamily<'a>> {
    let mut families: Vec<&str> = cases.iter().map(|case| case.family.as_str()).collect();
    families.dedup();
    let whole = |family: &'a str| {
        let of_family = cases.iter().filter(|case| case.family == family);
        let cases: Vec<&CaseReport> = of_family.copied().collect();
        let all_lack = |surface: &&Surface| cases.iter().all(|case| lacks(case, **surface));
        let lacks = *Surface::ALL.iter().find(all_lack)?;
        (cases.len() > 1).then_some(WholeFamily { family, cases, lacks })
    };
    families.into_iter().filter_map(whole).collect()
}

fn family_line(target: &TargetReport, families: &[&WholeFamily<'_>], advice: &str) -> String {
    let counts = families.iter().map(|whole| {
        let count = counted(whole.cases.len(), "case", "cases");
        format!("{} ({count})", whole.family)
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let cases: Vec<&CaseReport> = families.iter().flat_map(|whole| &whole.cases).copied().collect();
    let missing: BTreeSet<&str> = cases.iter().flat_map(|case| case.missing.iter().copied()).collect();
    let more = match missing.len() - 1 {
        0 => String::new(),
        1 => "; 1 surface more is missing".to_owned(),
        count => format!("; {count} surfaces more are missing"),
    };
    let other = other_target(target, &cases);
    let other = other.map_or(String::new(), |other| format!("; run them with --target {other}"));
    format!("{counts}: {advice}{more}{other}")
}

/// The other target that this binary carries, where one was tested and the other has all that these cases need.
fn other_target(target: &TargetReport, cases: &[&CaseReport]) -> Option<&'static str> {
    if !target.built_in || cases.is_empty() {
        return None;
    }
    let has_all = |name: &&str| {
        let other = built_in_named(name, Path::new("."));
        other.is_some_and(|other| {
            let mut missing = Surface::ALL
                .iter()
                .filter(|surface| cases.iter().any(|case| lacks(case, **surface)));
            missing.all(|surface| other.has(*surface))
        })
    };
    BUILT_IN_NAMES
        .into_iter()
        .filter(|name| *name != target.name)
        .find(has_all)
}

fn lacks(case: &CaseReport, surface: Surface) -> bool {
    case.missing.contains(&surface.name())
}

fn names(cases: &[&CaseReport]) -> String {
    let names: Vec<&str> = cases.iter().map(|case| case.verdict.case.as_str()).collect();
    names.join(", ")
}
