//! The cases embedded in the binary, and how a user's words select among them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use globset::Glob;
use include_dir::{Dir, include_dir};

use super::definition::{Case, Check};
use super::resolve;
use crate::document;

static CASES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../cases");

/// `id revision sha256`, a line each: what a case of that revision has to be, letter by letter.
pub const FROZEN: &str = include_str!("../../../cases/FROZEN");

/// The cases that are run where nobody said how effects are counted: one write, and two of one marker. They are no part of
/// the catalogue.
pub fn calibrations() -> &'static [Case; 2] {
    static CALIBRATIONS: LazyLock<[Case; 2]> = LazyLock::new(|| {
        let texts = [include_str!("calibration.toml"), include_str!("calibration-two.toml")];
        texts.map(|text| resolve::parse("calibration", text).expect("it is well-formed: a test parses it"))
    });
    &CALIBRATIONS
}

/// The family whose cases speak about the read-back and not about the target.
pub(super) const CONTROL_FAMILY: &str = "control";

/// Cases by id: those that the binary carries, and what the user adds to them.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub(super) cases: BTreeMap<String, Case>,
    /// The files of the user's own cases, by id.
    pub(super) files: BTreeMap<String, String>,
}

/// Which cases to run, and which of them were named one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Ids of the cases asked for, in the order of the catalogue.
    pub requested: Vec<String>,
    /// Those among them that were named without a wildcard: each is a gate.
    pub named: BTreeSet<String>,
    /// Ids of everything to run: the controls that the requested cases ask for come first.
    pub execute: Vec<String>,
}

/// Why the words of a user select nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SelectionError {
    /// No case, family or number is called that.
    #[error("there is no case `{word}`{near} (`harness list` names them all)")]
    Unknown {
        /// What was asked for.
        word: String,
        /// `; did you mean …?`, or nothing.
        near: String,
    },
    /// The case has no such check.
    #[error("`{case}` has no check `{check}`; {near}")]
    NoCheck {
        /// The case.
        case: String,
        /// What was asked for.
        check: String,
        /// `did you mean …?`, or what there is.
        near: String,
    },
    /// A glob pattern that cannot be read.
    #[error("`{pattern}` is not a pattern: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A family or a pattern where one case is meant.
    #[error("`{word}` is a family or a pattern, and one case must be named here: {cases}")]
    Several {
        /// What was named.
        word: String,
        /// The cases that it stands for.
        cases: String,
    },
    /// Everything that was selected is skipped again.
    #[error("nothing is left to run: every selected case is skipped")]
    Nothing,
}

impl Catalogue {
    /// The embedded catalogue. Its files are checked by a test, so that none of them can be wrong here.
    pub fn embedded() -> &'static Self {
        static EMBEDDED: LazyLock<Catalogue> = LazyLock::new(|| {
            let mut cases = BTreeMap::new();
            for (name, text) in embedded_files() {
                let case =
                    resolve::parse(name, text).expect("an embedded case file is well-formed: a test checks each");
                cases.insert(case.id.clone(), case);
            }
            Catalogue {
                cases,
                files: BTreeMap::new(),
            }
        });
        &EMBEDDED
    }

    /// Every case: controls first, then by family and number, then by id.
    pub fn all(&self) -> Vec<&Case> {
        let mut all: Vec<&Case> = self.cases.values().collect();
        all.sort_by_key(|case| {
            let rank = u32::from(case.family != CONTROL_FAMILY);
            (rank, &case.family, case.number.unwrap_or(u32::MAX), &case.id)
        });
        all
    }

    /// The case with this id.
    pub fn get(&self, id: &str) -> Option<&Case> {
        self.cases.get(id)
    }

    /// The one case that `word` names by id, `family/id` or number.
    pub fn named(&self, word: &str) -> Result<&Case, SelectionError> {
        let found = self.cases.values().find(|case| is_name_of(word, case));
        found.ok_or_else(|| self.unknown(word))
    }

    /// The case that `word` names, and its check that is called `check`.
    pub fn named_check(&self, word: &str, check: &str) -> Result<(&Case, &Check), SelectionError> {
        let case = self.one(word)?;
        let found = case.checks.iter().find(|known| known.id == check);
        let found = found.ok_or_else(|| {
            let known: Vec<&str> = case.checks.iter().map(|check| check.id.as_str()).collect();
            SelectionError::NoCheck {
                case: case.id.clone(),
                check: check.to_owned(),
                near: match document::nearest(check, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it has {}", known.join(", ")),
                },
            }
        })?;
        Ok((case, found))
    }

    /// Whether others are believed only where this one has passed.
    pub fn is_control(&self, id: &str) -> bool {
        let mut all = self.cases.values();
        all.any(|case| case.controls.iter().any(|control| control == id))
    }

    /// The cases of this family, in the order of [`Self::all`]; none where no family is called that.
    pub fn family(&self, word: &str) -> Vec<&Case> {
        let mut cases = self.all();
        cases.retain(|case| case.family == word);
        cases
    }

    /// The one case that `word` names, where a family or a pattern will not do.
    pub(crate) fn one(&self, word: &str) -> Result<&Case, SelectionError> {
        self.named(word).map_err(|_| match self.matches(word) {
            Ok((ids, _)) => SelectionError::Several {
                word: word.to_owned(),
                cases: ids.join(", "),
            },
            Err(_) => self.unknown_case(word),
        })
    }

    /// Selects by ids, `family/id`, numbers, family names and globs; nothing asked for means everything.
    pub fn select(&self, wanted: &[String], skipped: &[String]) -> Result<Selection, SelectionError> {
        let mut requested = BTreeSet::new();
        let mut named = BTreeSet::new();
        for word in wanted {
            let (ids, is_name) = self.matches(word)?;
            if is_name {
                named.extend(ids.iter().cloned());
            }
            requested.extend(ids);
        }
        if wanted.is_empty() {
            requested.extend(self.cases.keys().cloned());
        }
        for word in skipped {
            for id in self.matches(word)?.0 {
                requested.remove(&id);
                named.remove(&id);
            }
        }
        if requested.is_empty() {
            return Err(SelectionError::Nothing);
        }
        let order: Vec<&Case> = self.all();
        let controls: BTreeSet<&String> = requested.iter().flat_map(|id| &self.cases[id].controls).collect();
        let keep = |set: &dyn Fn(&String) -> bool| -> Vec<String> {
            let ids = order.iter().map(|case| &case.id);
            ids.filter(|id| set(id)).cloned().collect()
        };
        Ok(Selection {
            execute: keep(&|id| requested.contains(id) || controls.contains(id)),
            requested: keep(&|id| requested.contains(id)),
            named,
        })
    }

    /// The ids that `word` stands for, and whether it names a single case.
    fn matches(&self, word: &str) -> Result<(Vec<String>, bool), SelectionError> {
        if word.contains(['*', '?', '[', '{']) {
            let pattern = |error: globset::Error| SelectionError::Pattern {
                pattern: word.to_owned(),
                reason: error.kind().to_string(),
            };
            let glob = Glob::new(word).map_err(pattern)?.compile_matcher();
            let fits = |case: &&Case| glob.is_match(&case.id) || glob.is_match(format!("{}/{}", case.family, case.id));
            let ids: Vec<String> = self.cases.values().filter(fits).map(|case| case.id.clone()).collect();
            return if ids.is_empty() {
                Err(self.unknown(word))
            } else {
                Ok((ids, false))
            };
        }
        let family = self.family(word);
        if !family.is_empty() {
            return Ok((family.into_iter().map(|case| case.id.clone()).collect(), false));
        }
        self.named(word).map(|case| (vec![case.id.clone()], true))
    }

    /// That nothing is called this, with the case or the family that is nearest.
    fn unknown(&self, word: &str) -> SelectionError {
        let families = self.cases.values().map(|case| case.family.as_str());
        unknown(word, self.ids().chain(families))
    }

    /// That no case is called this, where a case must be named.
    pub(crate) fn unknown_case(&self, word: &str) -> SelectionError {
        unknown(word, self.ids())
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.cases.keys().map(String::as_str)
    }
}

fn unknown<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> SelectionError {
    let near = document::nearest(word, known);
    SelectionError::Unknown {
        word: word.to_owned(),
        near: near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default(),
    }
}

/// Whether `word` is the id, `family/id` or the number of a case.
pub(crate) fn is_name_of(word: &str, case: &Case) -> bool {
    let number = |number: u32| word == number.to_string() || word == format!("{number:02}");
    let path = word.split_once('/');
    word == case.id || case.number.is_some_and(number) || path == Some((case.family.as_str(), case.id.as_str()))
}

/// Name and text of every embedded case file.
pub(super) fn embedded_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let folders = CASES.dirs();
    folders
        .flat_map(include_dir::Dir::files)
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn every_embedded_case_parses_and_stands_in_the_folder_of_its_family() {
        for (name, text) in embedded_files() {
            let case = resolve::parse(name, text).expect("an embedded case parses");
            assert_eq!(name, format!("{}/{}.toml", case.family, case.id));
            assert!(case.mend.is_some(), "{name} does not say how to mend a server");
            for control in &case.controls {
                assert!(
                    CASES.get_file(format!("control/{control}.toml")).is_some(),
                    "{name}: {control}"
                );
            }
        }
    }

    /// A changed case needs a new revision and a new line: `cases/README.md` says how.
    #[test]
    fn frozen_means_frozen() {
        let mut actual: Vec<String> = Catalogue::embedded()
            .all()
            .iter()
            .map(|case| format!("{} {} {}", case.id, case.revision, case.digest))
            .collect();
        actual.sort();
        let frozen: Vec<&str> = FROZEN.lines().collect();
        assert_eq!(actual, frozen, "a case differs from cases/FROZEN");
    }

    #[test]
    fn a_name_is_a_gate_and_brings_its_control() {
        for name in ["lost-reply", "retry/lost-reply", "3", "03"] {
            let selection = Catalogue::embedded().select(&words(&[name]), &[]).expect("a name");
            assert_eq!(selection.requested, ["lost-reply"]);
            assert_eq!(selection.execute, ["sees-duplicates", "lost-reply"]);
            assert!(selection.named.contains("lost-reply"));
        }
    }

    #[test]
    fn a_wildcard_or_a_family_is_no_gate() {
        for word in ["retry", "retry/*", "*"] {
            let selection = Catalogue::embedded().select(&words(&[word]), &[]).expect("a pattern");
            assert!(selection.named.is_empty());
            assert!(selection.requested.contains(&"lost-reply".to_owned()));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_near_one() {
        let error = Catalogue::embedded()
            .select(&words(&["lost-replay"]), &[])
            .expect_err("no such case");
        assert!(error.to_string().contains("did you mean `lost-reply`?"), "{error}");
    }

    #[test]
    fn where_one_case_is_meant_a_family_or_a_pattern_is_refused_with_its_cases() {
        let catalogue = Catalogue::embedded();
        for word in ["crash", "crash/*"] {
            let error = catalogue.one(word).expect_err(word).to_string();
            let message = format!("`{word}` is a family or a pattern, and one case must be named here: ");
            assert!(
                error.starts_with(&message) && error.contains("failed-effect"),
                "{error}"
            );
        }
        let error = catalogue.one("retri").expect_err("nothing").to_string();
        assert!(!error.contains("`retry`"), "a family is offered: {error}");
        assert_eq!(catalogue.one("03").expect("a number").id, "lost-reply");
    }

    #[test]
    fn the_calibration_parses_and_is_not_in_the_catalogue() {
        let ids = calibrations().each_ref().map(|case| case.id.as_str());
        assert_eq!(ids, ["calibration", "calibration-two"]);
        assert!(ids.iter().all(|id| Catalogue::embedded().get(id).is_none()));
    }

    #[test]
    fn skipping_everything_is_an_error() {
        let error = Catalogue::embedded().select(&words(&["03"]), &words(&["lost-reply"]));
        assert_eq!(error, Err(SelectionError::Nothing));
    }
}
