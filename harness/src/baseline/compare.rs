//! A run compared with what was expected of it. Pure: from `run.json` and the verdicts, so that it comes out the same later.

use serde::Serialize;

use crate::record::{
    CaseVerdict, CheckOutcome, ExpectedFailure, ExpectedFailures, ExpectedVerdicts, Run, RunState, Verdict,
};

/// What came of comparing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BaselineReport {
    /// The list of expected failures, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_failures: Option<String>,
    /// What became of each entry of it, in its order.
    pub entries: Vec<EntryReport>,
    /// What failed and is not listed, where there was a list: `case:check`.
    pub unexpected: Vec<String>,
    /// The file of expected verdicts, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Every case that did not come to what it says, by id.
    pub changes: Vec<Change>,
    /// Whether this run wrote its verdicts to that very file.
    #[serde(skip)]
    pub is_kept: bool,
    /// The cases of that file that this run was not asked for, or did not come to: nothing is compared there.
    pub not_run: Vec<String>,
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryReport {
    /// The entry.
    #[serde(flatten)]
    pub entry: ExpectedFailure,
    /// What became of it.
    pub outcome: EntryOutcome,
    /// Whether its date has passed. That counts whether its case was run or not: nobody may forget it by not looking.
    pub past_its_date: bool,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryOutcome {
    /// It fails, as expected.
    Fails,
    /// It does not fail: the entry is stale.
    Passes,
    /// The case was run, and nothing can be said of it: unsupported, inconclusive, or the check does not apply.
    NotTested,
    /// The case was not asked for, or the run did not come to it.
    NotRun,
}

/// A case whose verdict is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The case.
    pub case: String,
    /// Which kind of change.
    pub kind: ChangeKind,
    /// What was expected; absent for a case that the file does not have.
    pub was: Option<Verdict>,
    /// What it came to; absent where it was not run.
    pub is: Option<Verdict>,
}

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It got worse, or nothing can be said any more.
    Regression,
    /// It passes now, or what failed is only unguarded.
    Improvement,
    /// The file does not have it.
    New,
}

impl BaselineReport {
    /// Entries that a run of their case shows to be stale.
    pub fn has_stale(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|report| report.outcome == EntryOutcome::Passes)
    }

    /// Entries past their date, also of cases that were not run.
    pub fn has_past(&self) -> bool {
        self.entries.iter().any(|report| report.past_its_date)
    }

    /// Cases that got worse.
    pub fn has_regression(&self) -> bool {
        self.changes.iter().any(|change| change.kind == ChangeKind::Regression)
    }

    /// Whether a case is listed whole, or this check of it.
    pub fn lists(&self, case: &str, check: Option<&str>) -> bool {
        let mut of_case = self.entries.iter().filter(|report| report.entry.case == case);
        of_case.any(|report| report.entry.check.is_none() || report.entry.check.as_deref() == check)
    }
}

/// What a case counts as, once the failures that are expected are left out; nothing where no other is left.
pub fn counts_as(verdict: &CaseVerdict, list: Option<&ExpectedFailures>) -> Option<Verdict> {
    let whole = Some(verdict.verdict);
    if !fails(verdict.verdict) {
        return whole;
    }
    let entries = list.map_or(&[][..], |list| list.entries.as_slice());
    let mut of_case = entries.iter().filter(|entry| entry.case == verdict.case).peekable();
    if of_case.peek().is_none() {
        return whole;
    }
    let is_listed = |id: &str| {
        let mut of_case = of_case.clone();
        of_case.any(|entry| entry.check.as_deref().is_none_or(|check| check == id))
    };
    let failing = || verdict.checks.iter().filter(|check| is_failing(check.outcome));
    let mut left = failing()
        .filter(|check| !is_listed(&check.id))
        .map(|check| check.outcome);
    let nothing_is_listed = left.clone().count() == failing().count() && failing().next().is_some();
    if nothing_is_listed {
        return whole;
    }
    if left.clone().any(|outcome| outcome == CheckOutcome::Broken) {
        Some(Verdict::Fail)
    } else {
        left.next().map(|_| Verdict::Unguarded)
    }
}

/// Compares a run with its baseline; nothing where it has none. `verdicts` are those of the cases that were judged.
pub fn compare<'a>(run: &Run, verdicts: impl IntoIterator<Item = &'a CaseVerdict>) -> Option<BaselineReport> {
    if run.baseline.is_empty() {
        return None;
    }
    let all: Vec<&CaseVerdict> = verdicts.into_iter().collect();
    let is_requested = |verdict: &&CaseVerdict| run.requested.contains(&verdict.case);
    let verdicts: Vec<&CaseVerdict> = all.iter().copied().filter(is_requested).collect();
    let mut report = BaselineReport::default();
    if let Some(list) = &run.baseline.expected_failures {
        report = of_list(list, verdicts.iter().copied());
        // A control that only others asked for was run all the same, so what is said of it is shown to be right or wrong.
        report.entries = of_list(list, all).entries;
    }
    if let Some(file) = &run.baseline.expected {
        report.expected = Some(file.file.clone());
        (report.changes, report.not_run) = changes(&file.expected, run, &verdicts);
    }
    Some(report)
}

/// What became of a list in these cases alone.
pub fn of_list<'a>(list: &ExpectedFailures, verdicts: impl IntoIterator<Item = &'a CaseVerdict>) -> BaselineReport {
    let verdicts: Vec<&CaseVerdict> = verdicts.into_iter().collect();
    BaselineReport {
        expected_failures: Some(list.file.clone()),
        entries: (list.entries.iter())
            .map(|entry| of_entry(entry, list, &verdicts))
            .collect(),
        unexpected: (verdicts.iter())
            .flat_map(|verdict| unexpected(verdict, list))
            .collect(),
        ..BaselineReport::default()
    }
}

fn fails(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Fail | Verdict::Unguarded => true,
        Verdict::Pass | Verdict::Unsupported | Verdict::Inconclusive => false,
    }
}

fn is_failing(outcome: CheckOutcome) -> bool {
    match outcome {
        CheckOutcome::Broken | CheckOutcome::Unguarded => true,
        CheckOutcome::Held
        | CheckOutcome::Warning
        | CheckOutcome::Noted
        | CheckOutcome::NotJudged
        | CheckOutcome::NotApplicable
        | CheckOutcome::Inconclusive => false,
    }
}

fn of_entry(entry: &ExpectedFailure, list: &ExpectedFailures, verdicts: &[&CaseVerdict]) -> EntryReport {
    let verdict = verdicts.iter().find(|verdict| verdict.case == entry.case);
    EntryReport {
        outcome: verdict.map_or(EntryOutcome::NotRun, |verdict| outcome(entry, verdict)),
        // Both are written year first, so they compare as texts.
        past_its_date: entry.until.as_ref().is_some_and(|until| list.today > *until),
        entry: entry.clone(),
    }
}

fn outcome(entry: &ExpectedFailure, verdict: &CaseVerdict) -> EntryOutcome {
    match verdict.verdict {
        Verdict::Unsupported | Verdict::Inconclusive => return EntryOutcome::NotTested,
        Verdict::Pass | Verdict::Fail | Verdict::Unguarded => {}
    }
    let Some(check) = &entry.check else {
        return if fails(verdict.verdict) {
            EntryOutcome::Fails
        } else {
            EntryOutcome::Passes
        };
    };
    let result = verdict.checks.iter().find(|result| result.id == *check);
    match result.map(|result| result.outcome) {
        Some(CheckOutcome::Broken | CheckOutcome::Unguarded | CheckOutcome::Warning) => EntryOutcome::Fails,
        // What is only noted fails nobody.
        Some(CheckOutcome::Held | CheckOutcome::Noted) => EntryOutcome::Passes,
        Some(CheckOutcome::NotJudged | CheckOutcome::NotApplicable | CheckOutcome::Inconclusive) | None => {
            EntryOutcome::NotTested
        }
    }
}

fn unexpected(verdict: &CaseVerdict, list: &ExpectedFailures) -> Vec<String> {
    let is_listed = |check: &str| {
        let mut of_case = list.entries.iter().filter(|entry| entry.case == verdict.case);
        of_case.any(|entry| entry.check.as_deref().is_none_or(|listed| listed == check))
    };
    if !fails(verdict.verdict) {
        return Vec::new();
    }
    let failing = verdict.checks.iter().filter(|check| is_failing(check.outcome));
    let left = failing.filter(|check| !is_listed(&check.id));
    left.map(|check| format!("{}:{}", verdict.case, check.id)).collect()
}

/// What changed, and the cases that are not compared.
fn changes(expected: &ExpectedVerdicts, run: &Run, verdicts: &[&CaseVerdict]) -> (Vec<Change>, Vec<String>) {
    let now = |id: &str| {
        verdicts
            .iter()
            .find(|verdict| verdict.case == id)
            .map(|verdict| verdict.verdict)
    };
    // A run of a part says nothing of the rest; of an interrupted one only what it came to counts.
    let is_whole = run.requested.len() == run.catalogue.len() + run.case_files.len();
    let counts = |id: &String| match run.state {
        RunState::Finished => is_whole || run.requested.contains(id),
        RunState::Running | RunState::Interrupted => now(id).is_some(),
    };
    let mut found: Vec<Change> = Vec::new();
    for (case, &was) in expected.verdicts.iter().filter(|(id, _)| counts(id)) {
        let is = now(case);
        found.extend(kind(was, is).map(|kind| Change {
            case: case.clone(),
            kind,
            was: Some(was),
            is,
        }));
    }
    let new = verdicts
        .iter()
        .filter(|verdict| !expected.verdicts.contains_key(&verdict.case));
    found.extend(new.map(|verdict| Change {
        case: verdict.case.clone(),
        kind: ChangeKind::New,
        was: None,
        is: Some(verdict.verdict),
    }));
    found.sort_by(|left, right| left.case.cmp(&right.case));
    let not_run = expected.verdicts.keys().filter(|id| !counts(id));
    (found, not_run.cloned().collect())
}

fn kind(was: Verdict, is: Option<Verdict>) -> Option<ChangeKind> {
    match (was, is) {
        (was, Some(is)) if was == is => None,
        (_, Some(Verdict::Pass)) | (Verdict::Fail, Some(Verdict::Unguarded)) => Some(ChangeKind::Improvement),
        (_, Some(Verdict::Fail | Verdict::Unguarded | Verdict::Unsupported | Verdict::Inconclusive) | None) => {
            Some(ChangeKind::Regression)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Basis;
    use crate::record::CheckResult;

    fn verdict(word: Verdict, checks: &[(&str, CheckOutcome)]) -> CaseVerdict {
        let result = |(id, outcome): &(&str, CheckOutcome)| CheckResult {
            id: (*id).to_owned(),
            basis: Basis::Contract,
            about: true,
            outcome: *outcome,
            say: None,
            whose: None,
            findings: Vec::new(),
        };
        CaseVerdict {
            format: 1,
            judge: 1,
            case: "c".to_owned(),
            revision: 1,
            verdict: word,
            reason: None,
            checks: checks.iter().map(result).collect(),
            notes: Vec::new(),
            warnings: Vec::new(),
            rows: Vec::new(),
            facts: serde_json::Map::new(),
        }
    }

    fn list(entries: &[(&str, Option<&str>)]) -> ExpectedFailures {
        let entry = |(name, until): &(&str, Option<&str>)| {
            let (case, check) = name
                .split_once(':')
                .map_or((*name, None), |(case, check)| (case, Some(check)));
            ExpectedFailure {
                line: 1,
                case: case.to_owned(),
                check: check.map(str::to_owned),
                reason: None,
                issue: None,
                until: until.map(str::to_owned),
            }
        };
        ExpectedFailures {
            file: "known.yaml".to_owned(),
            today: "2026-11-30".to_owned(),
            entries: entries.iter().map(entry).collect(),
        }
    }

    use CheckOutcome::{Broken, Held, Inconclusive, NotApplicable, NotJudged, Noted, Unguarded, Warning};

    #[test]
    fn a_case_counts_as_what_is_left_of_it() {
        let both = verdict(Verdict::Fail, &[("a", Broken), ("b", Unguarded), ("d", Held)]);
        let table: [(&[&str], Option<Verdict>); 7] = [
            (&[], Some(Verdict::Fail)),
            (&["other"], Some(Verdict::Fail)),
            (&["c"], None),
            (&["c:a"], Some(Verdict::Unguarded)),
            (&["c:b"], Some(Verdict::Fail)),
            (&["c:a", "c:b"], None),
            (&["c:d"], Some(Verdict::Fail)),
        ];
        for (names, left) in table {
            let entries: Vec<_> = names.iter().map(|name| (*name, None)).collect();
            assert_eq!(counts_as(&both, Some(&list(&entries))), left, "{names:?}");
        }
        assert_eq!(counts_as(&both, None), Some(Verdict::Fail));
        for word in [Verdict::Pass, Verdict::Inconclusive, Verdict::Unsupported] {
            let listed = list(&[("c", None)]);
            assert_eq!(counts_as(&verdict(word, &[]), Some(&listed)), Some(word));
        }
    }

    #[test]
    fn an_entry_is_stale_only_where_a_run_shows_that_it_does_not_fail() {
        let table = [
            (Verdict::Fail, Broken, EntryOutcome::Fails, EntryOutcome::Fails),
            (Verdict::Unguarded, Unguarded, EntryOutcome::Fails, EntryOutcome::Fails),
            (Verdict::Fail, Held, EntryOutcome::Fails, EntryOutcome::Passes),
            (Verdict::Pass, Held, EntryOutcome::Passes, EntryOutcome::Passes),
            (Verdict::Pass, Noted, EntryOutcome::Passes, EntryOutcome::Passes),
            (Verdict::Pass, Warning, EntryOutcome::Passes, EntryOutcome::Fails),
            (
                Verdict::Pass,
                NotApplicable,
                EntryOutcome::Passes,
                EntryOutcome::NotTested,
            ),
            (
                Verdict::Inconclusive,
                NotJudged,
                EntryOutcome::NotTested,
                EntryOutcome::NotTested,
            ),
            (
                Verdict::Inconclusive,
                Held,
                EntryOutcome::NotTested,
                EntryOutcome::NotTested,
            ),
            (
                Verdict::Inconclusive,
                Inconclusive,
                EntryOutcome::NotTested,
                EntryOutcome::NotTested,
            ),
            (
                Verdict::Unsupported,
                Held,
                EntryOutcome::NotTested,
                EntryOutcome::NotTested,
            ),
        ];
        for (word, check, whole, by_check) in table {
            let verdict = verdict(word, &[("a", check)]);
            let list = list(&[("c", None), ("c:a", None)]);
            let told = |at: usize| of_entry(&list.entries[at], &list, &[&verdict]).outcome;
            assert_eq!((told(0), told(1)), (whole, by_check), "{word:?}, {check:?}");
        }
        let list = list(&[("c", None)]);
        assert_eq!(of_entry(&list.entries[0], &list, &[]).outcome, EntryOutcome::NotRun);
    }

    #[test]
    fn an_entry_is_past_its_date_the_day_after_it() {
        for (until, is_past) in [("2026-11-29", true), ("2026-11-30", false), ("2027-01-01", false)] {
            let list = list(&[("c", Some(until))]);
            assert_eq!(of_entry(&list.entries[0], &list, &[]).past_its_date, is_past, "{until}");
        }
    }

    #[test]
    fn better_is_a_pass_or_less_than_a_fail_and_every_other_change_is_worse() {
        let all = [
            Verdict::Pass,
            Verdict::Fail,
            Verdict::Unguarded,
            Verdict::Unsupported,
            Verdict::Inconclusive,
        ];
        for was in all {
            assert_eq!(kind(was, Some(was)), None);
            assert_eq!(kind(was, None), Some(ChangeKind::Regression));
            for is in all.into_iter().filter(|is| *is != was) {
                let better = is == Verdict::Pass || (was == Verdict::Fail && is == Verdict::Unguarded);
                let expected = if better {
                    ChangeKind::Improvement
                } else {
                    ChangeKind::Regression
                };
                assert_eq!(kind(was, Some(is)), Some(expected), "{was:?} to {is:?}");
            }
        }
    }
}
