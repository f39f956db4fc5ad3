//! The row of one defect: what its cases came to, and which of the named checks broke. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Kill, Planted, Problem, Ran, verdicts};
use crate::record::{CaseVerdict, CheckOutcome, Verdict};

/// One defect, and what every case said of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name.
    pub defect: String,
    /// What goes wrong, in one sentence.
    pub says: String,
    /// The checks that have to notice it, and what they said.
    pub kills: Vec<NamedKill>,
    /// Other checks that broke, as `case:check`. They may differ from run to run, and nothing depends on them.
    pub collateral: Vec<String>,
    /// The verdict of every case.
    pub verdicts: BTreeMap<String, Verdict>,
    /// How long the cases took with it, in microseconds.
    pub micros: u64,
    /// Why not all of its cases were run; absent where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
}

/// Why not every case of a run has a verdict of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CutShort {
    /// It could not be run, or not to its end: nothing is known of the server by that.
    NotRun {
        /// Why not.
        reason: String,
    },
    /// It did not come to its end: the user interrupted it, it was killed, or it is still at work. The case that it was in
    /// is inconclusive.
    Unfinished,
}

/// A check that has to notice a defect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamedKill {
    /// `case:check`.
    #[serde(flatten)]
    pub kill: Kill,
    /// What the check came to; absent where the case was not judged.
    pub outcome: Option<CheckOutcome>,
}

impl Row {
    pub(super) fn of(planted: &Planted, ran: &Ran) -> Self {
        let kills: Vec<NamedKill> = planted
            .kills
            .iter()
            .map(|kill| NamedKill {
                kill: kill.clone(),
                outcome: ran
                    .verdicts
                    .get(&kill.case)
                    .and_then(|verdict| outcome(verdict, &kill.check)),
            })
            .collect();
        let mut collateral = Vec::new();
        for verdict in ran.verdicts.values() {
            let broken = verdict
                .checks
                .iter()
                .filter(|check| check.outcome == CheckOutcome::Broken);
            let broken = broken.map(|check| Kill {
                case: verdict.case.clone(),
                check: check.id.clone(),
            });
            collateral.extend(
                broken
                    .filter(|kill| !planted.kills.contains(kill))
                    .map(|kill| kill.to_string()),
            );
        }
        Self {
            defect: planted.name.clone(),
            says: planted.says.clone(),
            kills,
            collateral,
            verdicts: verdicts(ran),
            micros: ran.micros,
            cut_short: ran.cut_short.clone(),
        }
    }

    /// Whether every check broke that had to.
    pub fn is_noticed(&self) -> bool {
        !self.kills.is_empty() && self.kills.iter().all(NamedKill::happened)
    }

    /// Whether the run did not come to its end.
    pub fn is_unfinished(&self) -> bool {
        self.cut_short == Some(CutShort::Unfinished)
    }

    /// Whether the run was cut short before this could be said: its case has no verdict, or was broken off.
    fn is_open(&self, kill: &NamedKill) -> bool {
        let judged = self.verdicts.get(&kill.kill.case);
        self.is_unfinished() && judged.is_none_or(|verdict| *verdict == Verdict::Inconclusive)
    }

    /// By which checks it was noticed, by which not, and of which nothing is known.
    pub fn in_words(&self) -> String {
        let all = |word: &str, is_it: &dyn Fn(&NamedKill) -> bool| {
            let kills = self.kills.iter().filter(|kill| is_it(kill));
            let kills: Vec<String> = kills.map(|kill| kill.kill.to_string()).collect();
            (!kills.is_empty()).then(|| format!("{word} {}", kills.join(", ")))
        };
        let parts = [
            all("noticed by", &NamedKill::happened),
            all("UNNOTICED by", &|kill| {
                !kill.happened() && self.why_unknown(kill).is_none()
            }),
            all("not known:", &|kill| self.why_unknown(kill).is_some()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join("; ")
    }

    /// Why it is not known whether the check notices the defect, in two words; nothing where it is.
    pub fn why_unknown(&self, kill: &NamedKill) -> Option<&'static str> {
        match self.cut_short {
            Some(CutShort::NotRun { .. }) if kill.outcome.is_none() => Some("not run"),
            Some(CutShort::Unfinished) if self.is_open(kill) => Some("not known"),
            Some(CutShort::NotRun { .. } | CutShort::Unfinished) | None => None,
        }
    }

    /// The kills that did not happen.
    pub(super) fn problems(&self) -> impl Iterator<Item = Problem> + '_ {
        let missed = self.kills.iter().filter(|kill| !kill.happened() && !self.is_open(kill));
        missed.map(|missed| Problem::NotKilled {
            defect: self.defect.clone(),
            kill: missed.kill.clone(),
            found: self.found(missed),
        })
    }

    fn found(&self, missed: &NamedKill) -> Option<String> {
        let verdict = self.verdicts.get(&missed.kill.case)?;
        let outcome = missed.outcome.map_or("not there", CheckOutcome::name);
        Some(format!("the check is {outcome}, the case {}", verdict.name()))
    }
}

/// The defects whose run is unfinished, then those whose run was not begun.
pub(super) fn left<'a>(defects: &'a [Row], not_begun: &'a [String]) -> Vec<&'a str> {
    let unfinished = defects.iter().filter(|row| row.is_unfinished());
    let names = unfinished.map(|row| row.defect.as_str());
    names.chain(not_begun.iter().map(String::as_str)).collect()
}

/// What a check came to, where the case is about it: another one is no proof.
pub(super) fn outcome(verdict: &CaseVerdict, check: &str) -> Option<CheckOutcome> {
    let mut about = verdict.checks.iter().filter(|result| result.about);
    about.find(|result| result.id == check).map(|result| result.outcome)
}

impl NamedKill {
    /// Whether the check broke.
    pub fn happened(&self) -> bool {
        self.outcome == Some(CheckOutcome::Broken)
    }
}
