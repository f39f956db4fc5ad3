//! Two runs beside each other, as one value.

use std::collections::BTreeSet;

use serde::Serialize;

use super::about::{self, AboutDifference};
use super::lanes::Lanes;
use super::records::{EventDifference, RecordsDiff, compare_records};
use super::side::{Side, SideReport};
use super::verdicts::{Said, VerdictChange, change};
use crate::record::Verdict;

/// The version of the JSON document that `harness diff` prints.
pub const DIFF_FORMAT: u32 = 1;

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDiff {
    /// [`DIFF_FORMAT`].
    pub format: u32,
    /// The first run.
    pub a: SideReport,
    /// The second run.
    pub b: SideReport,
    /// What is said of both, and not the same.
    pub about: Vec<AboutDifference>,
    /// How many cases both have.
    pub cases_in_both: usize,
    /// Cases that came out otherwise.
    pub verdicts: Vec<VerdictChange>,
    /// Cases of the first run that the second does not have.
    pub only_in_a: Vec<OnlyIn>,
    /// Cases of the second run that the first does not have.
    pub only_in_b: Vec<OnlyIn>,
    /// Cases that went another way, whatever they came to.
    pub cases: Vec<CaseDiff>,
    /// Evidence that contradicts itself.
    pub notes: Vec<String>,
}

/// A case that one run has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    /// The case.
    pub case: String,
    /// What it came to.
    pub verdict: Option<Verdict>,
}

/// A case that went another way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseDiff {
    /// The case.
    pub case: String,
    /// Where the case itself is another one: its revisions or digests.
    pub definition: Option<AboutDifference>,
    /// The first event that differs.
    pub first: Option<EventDifference>,
    /// How many events differ.
    pub events_differ: usize,
    /// What differs, and what could not be compared.
    pub records: RecordsDiff,
}

impl RunDiff {
    /// Whether a case came out otherwise, or has no counterpart, or came to two things by one run's own word.
    pub fn verdicts_differ(&self) -> bool {
        let is_other = self.verdicts.iter().any(VerdictChange::is_other);
        is_other || !self.only_in_a.is_empty() || !self.only_in_b.is_empty() || !self.notes.is_empty()
    }

    /// Whether all that differs is that the second run could not say what a case comes to.
    pub fn says_nothing(&self) -> bool {
        let is_unknown = |verdict: Option<Verdict>| matches!(verdict, None | Some(Verdict::Inconclusive));
        let mut others = self.verdicts.iter().filter(|change| change.is_other());
        let only_in_a = self.only_in_a.iter().all(|only| is_unknown(only.verdict));
        self.notes.is_empty() && self.only_in_b.is_empty() && only_in_a && others.all(|change| is_unknown(change.b))
    }
}

/// Compares two runs; of `only` these cases where it names any.
pub fn compare_runs(a: &Side, b: &Side, only: &[String]) -> RunDiff {
    let is_wanted = |id: &&str| only.is_empty() || only.iter().any(|wanted| wanted == id);
    let of = |side: &'_ Side| {
        side.cases()
            .into_iter()
            .filter(is_wanted)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (in_a, in_b) = (of(a), of(b));
    let mut notes = BTreeSet::new();
    let mut said = |side: &Side, id: &str| {
        let name = side.report().evidence;
        Said::of(side, id, &mut |text| {
            notes.insert(format!("{name}: {text}"));
        })
    };
    let mut only_in = |side: &Side, ids: &[String], others: &[String]| -> Vec<OnlyIn> {
        let alone = ids.iter().filter(|id| !others.contains(id));
        let only_in = alone.map(|id| OnlyIn {
            case: id.clone(),
            verdict: said(side, id).verdict,
        });
        only_in.collect()
    };
    let (only_in_a, only_in_b) = (only_in(a, &in_a, &in_b), only_in(b, &in_b, &in_a));
    let both: Vec<&String> = in_a.iter().filter(|id| in_b.contains(id)).collect();
    let (mut verdicts, mut cases) = (Vec::new(), Vec::new());
    for id in &both {
        let (before, after) = (said(a, id), said(b, id));
        verdicts.extend(change(id, &before, &after));
        cases.extend(case_diff(id, a, b));
    }
    RunDiff {
        format: DIFF_FORMAT,
        a: a.report(),
        b: b.report(),
        about: about::differences(a.run(), b.run()),
        cases_in_both: both.len(),
        verdicts,
        only_in_a,
        only_in_b,
        cases,
        notes: notes.into_iter().collect(),
    }
}

/// How a case went another way. Records are read and dropped case by case: two of them are held at once.
fn case_diff(id: &str, a: &Side, b: &Side) -> Option<CaseDiff> {
    let folder = format!("cases/{id}");
    let (one, other) = (Lanes::read(a, &folder), Lanes::read(b, &folder));
    let definition = definition(&one, &other);
    let records = compare_records(&one, &other);
    (definition.is_some() || !records.is_same()).then(|| CaseDiff {
        case: id.to_owned(),
        definition,
        first: records.events.first().cloned(),
        events_differ: records.count(),
        records,
    })
}

fn definition(a: &Lanes, b: &Lanes) -> Option<AboutDifference> {
    let (one, other) = (a.plan.as_ref()?, b.plan.as_ref()?);
    let called = |plan: &crate::plan::Plan| Some(format!("revision {} ({})", plan.revision, plan.digest));
    ((one.revision, &one.digest) != (other.revision, &other.digest)).then(|| AboutDifference {
        what: "the case".to_owned(),
        a: called(one),
        b: called(other),
    })
}
