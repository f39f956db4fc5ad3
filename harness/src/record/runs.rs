//! How a word names a run: a folder, `latest`, or the name of a folder under `evidence/runs`, or a beginning of it.
//!
//! The one place where this is decided; it opens nothing but the folder's list of names.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::evidence::{Evidence, EvidenceError, LATEST, RUNS_FOLDER};
use super::proof_folder::ProofFolder;

/// How many names an error lists.
const NAMES_SHOWN_MAX: usize = 5;

/// Why a word names no run.
#[derive(Debug, thiserror::Error)]
pub enum RunNameError {
    /// `latest`, and nothing was run here.
    #[error("there is no run here yet: {RUNS_FOLDER} has none; `harness run` makes one, or name the folder of a run")]
    NoRuns,
    /// `latest`, and nothing but proofs is here.
    #[error(
        "there is no run here yet, and `{LATEST}` never means a proof: for the newest proof name its folder, {proof}; `harness run` \
         makes a run"
    )]
    NoRunsButProof {
        /// The newest of them.
        proof: String,
    },
    /// `latest` leads to a folder that is gone.
    #[error("{RUNS_FOLDER}/{LATEST} leads to {to}, which is not evidence any more; name another run: {others}")]
    LatestIsGone {
        /// Where it leads.
        to: String,
        /// The runs that are there.
        others: String,
    },
    /// Several runs begin with the word.
    #[error("`{word}` begins the names of {count} runs: {names}; write more of it")]
    Ambiguous {
        /// The word.
        word: String,
        /// How many.
        count: usize,
        /// The newest of them.
        names: String,
    },
    /// There is nothing of the kind.
    #[error("{word} is not evidence: there is no such file or folder, and {others}")]
    Unknown {
        /// The word.
        word: String,
        /// The runs that are there, and what to do.
        others: String,
    },
    /// It is a folder that is no evidence, or nothing at all.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// What a word names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A run.
    Run(Evidence),
    /// A proof, in whose folder are those of its runs.
    Proof(ProofFolder),
    /// A file, which may be the archive of either.
    Archive(PathBuf),
}

fn open(path: &Path) -> Result<Found, EvidenceError> {
    if path.is_file() {
        return Ok(Found::Archive(path.to_path_buf()));
    }
    match ProofFolder::open(path) {
        Some(proof) => Ok(Found::Proof(proof)),
        None => Evidence::open(path).map(Found::Run),
    }
}

/// The run, or the proof, that `word` names, seen from `folder`. A folder of evidence comes before a name, so that a path
/// always means what it says.
pub fn find_run(folder: &Path, word: &Path) -> Result<Found, RunNameError> {
    let not_evidence = match open(&join(folder, word)) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let Some(name) = as_name(word) else {
        return Err(not_evidence.into());
    };
    let runs = join(folder, Path::new(RUNS_FOLDER));
    if name == LATEST {
        return latest(&runs);
    }
    let names = names(&runs);
    if names.iter().any(|known| known == name) {
        return Ok(open(&runs.join(name))?);
    }
    let beginning: Vec<&String> = names.iter().filter(|known| known.starts_with(name)).collect();
    match beginning.as_slice() {
        [] if fs::symlink_metadata(join(folder, word)).is_ok() => Err(not_evidence.into()),
        [] => Err(RunNameError::Unknown {
            word: name.to_owned(),
            others: match names.as_slice() {
                [] => format!(
                    "{RUNS_FOLDER} has no run yet; `harness run` makes one, or name the folder or archive of a run"
                ),
                names => format!(
                    "no run in {RUNS_FOLDER} begins so; name one that does ({}), or `latest`",
                    listed(names.iter().map(String::as_str))
                ),
            },
        }),
        [one] => Ok(open(&runs.join(one))?),
        several => Err(RunNameError::Ambiguous {
            word: name.to_owned(),
            count: several.len(),
            names: listed(several.iter().map(|name| name.as_str())),
        }),
    }
}

/// The word as a name: one that is not empty and leads nowhere else.
fn as_name(word: &Path) -> Option<&str> {
    let mut parts = word.components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    word.to_str().filter(|text| is_one && !text.contains('/'))
}

fn latest(runs: &Path) -> Result<Found, RunNameError> {
    let link = runs.join(LATEST);
    let to = match fs::read_link(&link) {
        Ok(to) => to,
        // A copy of the folder may hold the run itself in place of the link.
        Err(_) if link.is_dir() => PathBuf::from(LATEST),
        Err(_) => return Err(no_runs(runs)),
    };
    // The run is called by its own name, so that what is printed stays true after the next run.
    open(&runs.join(&to)).map_err(|_| RunNameError::LatestIsGone {
        to: to.display().to_string(),
        others: listed(names(runs).iter().map(String::as_str)),
    })
}

/// Where somebody just proved, that proof is what was meant.
fn no_runs(runs: &Path) -> RunNameError {
    let mut names = names(runs).into_iter();
    let newest = names.find(|name| ProofFolder::open(&runs.join(name)).is_some());
    newest.map_or(RunNameError::NoRuns, |name| RunNameError::NoRunsButProof {
        proof: format!("{RUNS_FOLDER}/{name}"),
    })
}

/// The names of the runs, newest first: they begin with the time.
fn names(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let is_run = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut names: Vec<String> = entries
        .filter(is_run)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_by(|left, right| right.cmp(left));
    names
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(NAMES_SHOWN_MAX).copied().collect::<Vec<_>>();
    match names.len().saturating_sub(NAMES_SHOWN_MAX) {
        0 if names.is_empty() => "there is none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more in {RUNS_FOLDER}", shown.join(", ")),
    }
}

/// `./` in front of everything that is printed would be noise.
fn join(folder: &Path, word: &Path) -> PathBuf {
    if folder == Path::new(".") {
        word.to_path_buf()
    } else {
        folder.join(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in names {
            let evidence = Evidence::create_usual(folder.path(), name).expect("a run folder");
            fs::write(evidence.run_file(), "{}").expect("write");
        }
        folder
    }

    fn found(folder: &Path, word: &str) -> String {
        match find_run(folder, Path::new(word)) {
            Ok(found) => {
                let root = match &found {
                    Found::Run(evidence) => evidence.root(),
                    Found::Proof(proof) => proof.root(),
                    Found::Archive(path) => path,
                };
                let name = root.file_name().expect("a name");
                name.to_string_lossy().into_owned()
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_run_is_named_by_latest_by_its_name_by_a_beginning_and_by_its_path() {
        let folder = runs(&["20260101T000000Z-aa", "20260102T000000Z-bb"]);
        for (word, name) in [
            ("latest", "20260102T000000Z-bb"),
            ("20260101T000000Z-aa", "20260101T000000Z-aa"),
            ("20260101", "20260101T000000Z-aa"),
            ("evidence/runs/20260101T000000Z-aa", "20260101T000000Z-aa"),
            ("evidence/runs/latest", "latest"),
        ] {
            assert_eq!(found(folder.path(), word), name, "{word}");
        }
    }

    #[test]
    fn what_begins_several_names_is_refused_with_the_names() {
        let folder = runs(&["20260101T000000Z-aa", "20260102T000000Z-bb"]);
        let said = found(folder.path(), "2026");
        assert_eq!(
            said,
            "`2026` begins the names of 2 runs: 20260102T000000Z-bb, 20260101T000000Z-aa; write more of it"
        );
    }

    /// A name is not a pattern and not a way: nothing of this leaves the folder of runs.
    #[test]
    fn nothing_else_is_a_run() {
        let folder = runs(&["20260101T000000Z-aa"]);
        for word in [
            "",
            ".",
            "..",
            "evidence",
            "evidence/runs/2026",
            "*",
            "lat",
            "2026/",
            ".gitignore",
        ] {
            let said = found(folder.path(), word);
            assert!(said.contains("is not evidence: "), "{word:?}: {said}");
        }
    }

    #[test]
    fn latest_without_a_run_says_what_to_do() {
        let empty = tempfile::tempdir().expect("a temporary folder");
        let said = found(empty.path(), "latest");
        assert!(said.contains("`harness run` makes one"), "{said}");

        for name in ["20260101T000000Z-prove-aa", "20260102T000000Z-prove-bb"] {
            let proof = ProofFolder::create_usual(empty.path(), name).expect("a proof folder");
            fs::write(proof.matrix_file(), "{}").expect("write");
        }
        let said = found(empty.path(), "latest");
        let expected =
            "never means a proof: for the newest proof name its folder, evidence/runs/20260102T000000Z-prove-bb;";
        assert!(said.contains(expected), "{said}");

        let folder = runs(&["one", "two"]);
        fs::remove_dir_all(folder.path().join(RUNS_FOLDER).join("two")).expect("remove");
        let said = found(folder.path(), "latest");
        assert!(
            said.contains("leads to two") && said.ends_with("name another run: one"),
            "{said}"
        );
    }
}
