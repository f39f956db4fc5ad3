//! What a target lacks, summed up: a line for each missing surface with the cases that need it, and one line for a whole family
//! that lacks the same.

use std::collections::BTreeSet;
use std::path::Path;

use super::printer::{Printer, Style, plain, span};
use super::result::{RunReport, TargetReport};
use crate::case::Surface;
use crate::counted::counted;
use crate::target::{BUILT_IN_NAMES, built_in_named};

/// A case, as far as it is asked what it lacks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lacking<'a> {
    pub(super) family: &'a str,
    pub(super) case: &'a str,
    /// The surfaces that the target lacks for it.
    pub(super) missing: &'a [&'static str],
    /// Whether it was asked for by its name, and so says itself what it lacks.
    pub(super) named: bool,
}

/// A family of which no case could be run, because all of them lack the same surface.
struct WholeFamily<'a> {
    family: &'a str,
    cases: Vec<Lacking<'a>>,
    /// The first surface that all of them lack.
    lacks: Surface,
}

impl<'a> Lacking<'a> {
    /// The cases that a report sums up: those that were asked for.
    pub(super) fn of_report(report: &'a RunReport) -> Vec<Self> {
        let asked = report.cases.iter().filter(|case| case.requested || case.named);
        asked
            .map(|case| Self {
                family: &case.family,
                case: &case.verdict.case,
                missing: &case.missing,
                named: case.named,
            })
            .collect()
    }
}

/// Prints what was missing. Cases that were named have said it themselves.
pub(super) fn show_missing(printer: &mut Printer, target: &TargetReport, cases: &[Lacking<'_>]) {
    for text in lines(target, cases) {
        printer.line(&[span(Style::Dim, format!("{:<13}", "UNSUPPORTED")), plain(text)]);
    }
    let named = cases.iter().filter(|case| case.named && !case.missing.is_empty());
    let named: Vec<Lacking<'_>> = named.copied().collect();
    if let Some(other) = other_target(target, &named) {
        let text = format!("take --target {other} for {}", names(&named));
        printer.line(&[span(Style::Dim, format!("      {:<14}", "hint")), plain(text)]);
    }
}

fn lines(target: &TargetReport, cases: &[Lacking<'_>]) -> Vec<String> {
    let summed_up: Vec<Lacking<'_>> = cases.iter().filter(|case| !case.named).copied().collect();
    let families = whole_families(&summed_up);
    let is_apart = |case: &&Lacking<'_>| !families.iter().any(|whole| whole.family == case.family);
    let apart: Vec<Lacking<'_>> = summed_up.iter().filter(is_apart).copied().collect();
    let mut lines = Vec::new();
    for &surface in Surface::ALL {
        let advice = surface.advice(target.by_flags);
        let lacking: Vec<&WholeFamily<'_>> = families.iter().filter(|whole| whole.lacks == surface).collect();
        if !lacking.is_empty() {
            lines.push(family_line(target, &lacking, &advice));
        }
        let lacking: Vec<Lacking<'_>> = apart.iter().filter(|case| lacks(case, surface)).copied().collect();
        if !lacking.is_empty() {
            lines.push(format!("{advice}: {}", names(&lacking)));
        }
    }
    lines
}

/// The families of which no case could be run, and of which there are several, in the order of the run.
fn whole_families<'a>(cases: &[Lacking<'a>]) -> Vec<WholeFamily<'a>> {
    let mut families: Vec<&str> = cases.iter().map(|case| case.family).collect();
    families.dedup();
    let whole = |family: &'a str| {
        let of_family = cases.iter().filter(|case| case.family == family);
        let cases: Vec<Lacking<'a>> = of_family.copied().collect();
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
    let cases: Vec<Lacking<'_>> = families.iter().flat_map(|whole| &whole.cases).copied().collect();
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
fn other_target(target: &TargetReport, cases: &[Lacking<'_>]) -> Option<&'static str> {
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

fn lacks(case: &Lacking<'_>, surface: Surface) -> bool {
    case.missing.contains(&surface.name())
}

fn names(cases: &[Lacking<'_>]) -> String {
    let names: Vec<&str> = cases.iter().map(|case| case.case).collect();
    names.join(", ")
}
