//! The proof that the cases can fail: all of them, against servers that are broken on purpose.
//!
//! Pure: from planted defects, each naming the checks that must notice it, and from the verdicts of runs to a matrix. Who
//! planted the defects and who ran the cases is not known here, so any server with a list of its own can be used.
//!
//! - [`planted`]: the defects and what each must be noticed by; also as a TOML file.
//! - [`lists`]: the defects of a server beside those of others, and by which cases it is proved.
//! - [`row`]: the row of one defect.
//! - [`proof`]: the matrix as it is stored (`matrix.json`).
//! - [`again`]: a stored matrix beside the verdicts that come out again.
//! - [`said`]: what it says is wrong, and its exit code, beside them.
//! - [`markdown`]: the matrix as a document without times.

mod again;
mod lists;
mod markdown;
mod planted;
mod proof;
mod row;
mod said;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use again::{Again, differences};
pub use lists::Lists;
pub use planted::{Kill, PLANTED_FORMAT, Planted, is_name, parse};
pub use proof::{Proof, RunKept};
pub use row::{CutShort, NamedKill, Row};

use crate::case::Case;
use crate::record::{CaseVerdict, Verdict};

/// The version of `matrix.json` that this harness writes.
pub const MATRIX_FORMAT: u32 = 1;

/// The name of the run without a defect, among those that are called like their defects.
pub const BASELINE: &str = "baseline";

/// What became of all cases on one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Every verdict, by case.
    pub verdicts: BTreeMap<String, CaseVerdict>,
    /// Why there is none, or not every one.
    pub cut_short: Option<CutShort>,
    /// How long it took, in microseconds.
    pub micros: u64,
}

/// All cases × all defects.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// The server, in one line.
    pub target: String,
    /// The cases, in the order of the catalogue.
    pub cases: Vec<CaseColumn>,
    /// The verdicts on the server as it should be.
    pub baseline: BTreeMap<String, Verdict>,
    /// The defects that were planted, in the order of their list.
    pub defects: Vec<Row>,
    /// Defects that were to be planted, and whose run was not begun.
    pub not_begun: Vec<String>,
    /// Defects that were not planted, because none of the chosen cases has to notice them.
    pub left_out: Vec<String>,
    /// Everything that is not as it must be; empty where the proof is complete.
    pub problems: Vec<Problem>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseColumn {
    /// Its id.
    pub case: String,
    /// Its family.
    pub family: String,
    /// Its title.
    pub title: String,
    /// Whether it only shows that the read-back counts, so that no defect of the server needs to be noticed by it.
    pub is_control: bool,
}

/// Something that keeps the matrix from being a proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is nothing to prove with.
    #[error("no defect was planted, so nothing is shown")]
    NoDefect,
    /// The server as it should be does not pass.
    #[error("without a defect, `{case}` is {}, so a fail with one shows nothing{}", verdict.name(), after(reason.as_deref()))]
    BaselineNotGreen {
        /// The case.
        case: String,
        /// Its verdict.
        verdict: Verdict,
        /// Why.
        reason: Option<String>,
    },
    /// The cases were not all run.
    #[error("{on}: {reason}")]
    NotRun {
        /// On what: the defect, or the server without one.
        on: String,
        /// Why not.
        reason: String,
    },
    /// A defect names no check.
    #[error("`{defect}` names no check that has to notice it")]
    NamesNone {
        /// The defect.
        defect: String,
    },
    /// A defect names a check that is not there.
    #[error("`{defect}` names `{kill}`, and there is no such {what}")]
    Unknown {
        /// The defect.
        defect: String,
        /// What it names.
        kill: Kill,
        /// `case` or `check`.
        what: &'static str,
    },
    /// A defect names a check that the case is not about.
    #[error("`{defect}` names `{kill}`, which is not marked `about`")]
    NotAbout {
        /// The defect.
        defect: String,
        /// What it names.
        kill: Kill,
    },
    /// A check that has to notice a defect did not.
    #[error("`{kill}` did not notice `{defect}`: {}", found.as_deref().unwrap_or("it was not judged"))]
    NotKilled {
        /// The defect.
        defect: String,
        /// The check.
        kill: Kill,
        /// What it came to instead.
        found: Option<String>,
    },
    /// No defect names a check of the case.
    #[error("no defect has to be noticed by `{case}`, so nothing shows that it can fail")]
    Lonely {
        /// The case.
        case: String,
    },
}

impl Problem {
    /// How the run without a defect is called where a problem is one of it.
    pub(crate) const ON_BASELINE: &str = "the server without a defect";

    /// On what the cases were not all run, where that is the problem.
    pub(crate) fn not_run_on(&self) -> Option<&str> {
        match self {
            Self::NotRun { on, .. } => Some(on),
            Self::NoDefect
            | Self::BaselineNotGreen { .. }
            | Self::NamesNone { .. }
            | Self::Unknown { .. }
            | Self::NotAbout { .. }
            | Self::NotKilled { .. }
            | Self::Lonely { .. } => None,
        }
    }
}

fn after(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// The defects, seen by the chosen cases: which of them are planted, what of each has to be noticed, and what is wrong with
/// the list before anything was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The defects to plant, with the kills of the chosen cases.
    pub planted: Vec<Planted>,
    /// Names of those that none of the chosen cases has to notice.
    pub left_out: Vec<String>,
    /// What is wrong with the list.
    pub problems: Vec<Problem>,
}

impl Expected {
    /// What has to come of it where these defects, of all those in the own list, are planted under the chosen cases.
    ///
    /// `catalogue` has every case that a kill may name, `asked` are those of which it is to be shown that they can fail, and
    /// `chosen` those that will be run.
    pub fn of(
        lists: &Lists,
        wanted: impl Fn(&str) -> bool,
        catalogue: &[&Case],
        asked: &[&Case],
        chosen: &[&Case],
    ) -> Self {
        let is_chosen = |kill: &Kill| chosen.iter().any(|case| case.id == kill.case);
        let mut expected = Self {
            planted: Vec::new(),
            left_out: Vec::new(),
            problems: Vec::new(),
        };
        for defect in lists.own.iter().filter(|defect| wanted(&defect.name)) {
            expected.problems.extend(wrong_with(defect, catalogue));
            let kills: Vec<Kill> = defect.kills.iter().filter(|kill| is_chosen(kill)).cloned().collect();
            if kills.is_empty() && !defect.kills.is_empty() {
                expected.left_out.push(defect.name.clone());
            } else {
                expected.planted.push(Planted {
                    kills,
                    ..defect.clone()
                });
            }
        }
        if expected.planted.is_empty() {
            expected.problems.push(Problem::NoDefect);
        }
        // Whether a case can fail is a matter of all lists, not of what was wanted of one today.
        let lonely = asked
            .iter()
            .filter(|case| !is_control(case, catalogue) && !lists.is_named(&case.id));
        expected
            .problems
            .extend(lonely.map(|case| Problem::Lonely { case: case.id.clone() }));
        expected
    }
}

fn wrong_with<'a>(defect: &'a Planted, catalogue: &'a [&Case]) -> impl Iterator<Item = Problem> + 'a {
    let names_none = defect.kills.is_empty().then(|| Problem::NamesNone {
        defect: defect.name.clone(),
    });
    let wrong = |kill: &Kill| {
        let (defect, kill) = (defect.name.clone(), kill.clone());
        let Some(case) = catalogue.iter().find(|case| case.id == kill.case) else {
            return Some(Problem::Unknown {
                defect,
                kill,
                what: "case",
            });
        };
        match case.checks.iter().find(|check| check.id == kill.check) {
            None => Some(Problem::Unknown {
                defect,
                kill,
                what: "check",
            }),
            Some(check) if !check.about => Some(Problem::NotAbout { defect, kill }),
            Some(_) => None,
        }
    };
    names_none.into_iter().chain(defect.kills.iter().filter_map(wrong))
}

/// Whether another case asks for this one before it is believed.
fn is_control(case: &Case, catalogue: &[&Case]) -> bool {
    catalogue.iter().any(|other| other.controls.contains(&case.id))
}

impl Matrix {
    /// The matrix of what was expected and what was run. `runs` are in the order of `expected.planted`; there is none of a
    /// defect whose run was not begun.
    pub fn of(
        target: &str,
        expected: &Expected,
        cases: &[&Case],
        catalogue: &[&Case],
        baseline: &Ran,
        runs: &[Option<Ran>],
    ) -> Self {
        let mut problems = expected.problems.clone();
        problems.extend(baseline_problems(cases, baseline));
        let mut defects = Vec::new();
        let mut not_begun = Vec::new();
        for (at, planted) in expected.planted.iter().enumerate() {
            let Some(ran) = runs.get(at).and_then(Option::as_ref) else {
                not_begun.push(planted.name.clone());
                continue;
            };
            let row = Row::of(planted, ran);
            match &ran.cut_short {
                Some(CutShort::NotRun { reason }) => problems.push(Problem::NotRun {
                    on: planted.name.clone(),
                    reason: reason.clone(),
                }),
                Some(CutShort::Unfinished) | None => problems.extend(row.problems()),
            }
            defects.push(row);
        }
        let column = |case: &&Case| CaseColumn {
            case: case.id.clone(),
            family: case.family.clone(),
            title: case.title.clone(),
            is_control: is_control(case, catalogue),
        };
        Self {
            target: target.to_owned(),
            cases: cases.iter().map(column).collect(),
            baseline: verdicts(baseline),
            defects,
            not_begun,
            left_out: expected.left_out.clone(),
            problems,
        }
    }

    /// Whether every case that was run passes on the server as it should be.
    pub fn is_baseline_green(cases: &[&Case], baseline: &Ran) -> bool {
        baseline.cut_short.is_none() && baseline_problems(cases, baseline).is_empty()
    }

    /// The defects that a proof did not come to, or not to the end of: those of the runs that are unfinished, then the others.
    pub fn left(&self) -> Vec<&str> {
        row::left(&self.defects, &self.not_begun)
    }

    /// The number of named kills, and of those that happened.
    pub fn kills(&self) -> (usize, usize) {
        let all = || self.defects.iter().flat_map(|row| &row.kills);
        (all().count(), all().filter(|kill| kill.happened()).count())
    }
}

fn verdicts(ran: &Ran) -> BTreeMap<String, Verdict> {
    let verdicts = ran.verdicts.iter();
    verdicts
        .map(|(case, verdict)| (case.clone(), verdict.verdict))
        .collect()
}

fn baseline_problems(cases: &[&Case], baseline: &Ran) -> Vec<Problem> {
    let not_run = |reason: String| Problem::NotRun {
        on: Problem::ON_BASELINE.to_owned(),
        reason,
    };
    let (trouble, is_unfinished) = match &baseline.cut_short {
        Some(CutShort::NotRun { reason }) => (Some(not_run(reason.clone())), false),
        // That not every case was judged is nobody's mistake then, and the one that was broken off is inconclusive.
        Some(CutShort::Unfinished) => (None, true),
        None => (None, false),
    };
    let red = cases.iter().filter_map(|case| {
        let verdict = baseline.verdicts.get(&case.id)?;
        let is_open = is_unfinished && verdict.verdict == Verdict::Inconclusive;
        (verdict.verdict != Verdict::Pass && !is_open).then(|| Problem::BaselineNotGreen {
            case: case.id.clone(),
            verdict: verdict.verdict,
            reason: verdict.reason.clone(),
        })
    });
    let mut problems: Vec<Problem> = trouble.into_iter().chain(red).collect();
    let missing = cases.iter().find(|case| !baseline.verdicts.contains_key(&case.id));
    if let (true, false, Some(case)) = (problems.is_empty(), is_unfinished, missing) {
        problems.push(not_run(format!("`{}` was not judged", case.id)));
    }
    problems
}
