//! The flags that say what a run is expected to come to, and the file that is written for the next one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use super::refuse_standard_output;
use super::target_arguments::quoted;
use crate::baseline::{expected_text, read_expected, read_expected_failures};
use crate::case::Catalogue;
use crate::counted::counted;
use crate::document;
use crate::drive::clock;
use crate::record::{Baseline, Evidence, ExpectedFile, RunState, Verdict};
use crate::report::RunReport;
use crate::target::Target;

/// What is said of a file that we would have to destroy.
const NOT_OURS: &str = "it is there, and is no file of expected verdicts; name another, or remove it";

/// What a run is expected to come to.
#[derive(Debug, Args)]
pub(super) struct BaselineArguments {
    /// YAML list of failures that are known, `CASE` or `CASE:CHECK` each: others fail, and so does an entry that passes or is
    /// past its date
    #[arg(long, value_name = "FILE")]
    expected_failures: Option<PathBuf>,
    /// Verdicts of an earlier run, as --write-expected wrote them: a case that got worse fails
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Write the verdicts of this run to a file
    #[arg(long, value_name = "FILE")]
    write_expected: Option<PathBuf>,
}

/// What became of the file of expected verdicts.
#[derive(Debug, Default)]
pub(super) struct WrittenExpected {
    /// That it was written, in a sentence; nothing where it was not.
    pub(super) said: Option<String>,
    /// What is to be known of it.
    pub(super) notes: Vec<String>,
}

impl BaselineArguments {
    /// Whether the verdicts are written to the file with which they were compared.
    pub(super) fn keeps_what_it_reads(&self) -> bool {
        let (Some(read), Some(written)) = (&self.expected, &self.write_expected) else {
            return false;
        };
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        real(read) == real(written)
    }

    /// The words that compare another run with the same files.
    pub(super) fn repeat_words(&self) -> impl Iterator<Item = String> {
        let files = [
            ("--expected-failures", &self.expected_failures),
            ("--expected", &self.expected),
        ];
        let named = files
            .into_iter()
            .filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
        named.map(|(flag, path)| format!("{flag} {}", quoted(&path.display().to_string())))
    }

    /// Reads the files, relative to `folder`.
    pub(super) fn resolve(
        &self,
        target: &Target,
        catalogue: &Catalogue,
        folder: &Path,
        is_part: bool,
    ) -> Result<Baseline, String> {
        let mut baseline = Baseline::default();
        if let Some(path) = &self.expected_failures {
            let text = document::read(&folder.join(path)).map_err(|error| error.to_string())?;
            let name = path.display().to_string();
            let list = read_expected_failures(&name, &text, catalogue, &clock::utc_today());
            baseline.expected_failures = Some(list.map_err(|error| error.to_string())?);
        }
        if let Some(path) = &self.expected {
            let text = document::read(&folder.join(path)).map_err(|error| error.to_string())?;
            let file = path.display().to_string();
            let expected = read_expected(&file, &text, &target.name, target.contract.preset.name());
            let expected = expected.and_then(|document| document.of_known_cases(catalogue));
            let expected = expected.map_err(|error| error.to_string())?;
            baseline.expected = Some(ExpectedFile { file, expected });
        }
        let why = "standard output is for what the run prints";
        refuse_standard_output("--write-expected", self.write_expected.as_deref(), why)?;
        // Found before the run, and not after it.
        if let Some(path) = &self.write_expected {
            writable(
                &folder.join(path),
                target.name.as_str(),
                target.contract.preset.name(),
                is_part.then_some(catalogue),
            )
            .map_err(|problem| format!("--write-expected {}: {problem}", path.display()))?;
        }
        Ok(baseline)
    }

    /// Writes the verdicts of the cases that were asked for; a run without all of them is not kept. After a run of a part of
    /// `catalogue` (none where all was run) the file keeps what it says of the rest. What is to be told of it is returned.
    pub(super) fn write(
        &self,
        report: &RunReport,
        state: RunState,
        part_of: Option<&Catalogue>,
    ) -> Result<WrittenExpected, String> {
        let Some(path) = &self.write_expected else {
            return Ok(WrittenExpected::default());
        };
        let shown = path.display();
        let mut cases = report.cases.iter().filter(|case| case.requested).peekable();
        if state != RunState::Finished || cases.peek().is_none() {
            let note = format!("{shown} was not written: the run did not come to its end");
            return Ok(WrittenExpected {
                said: None,
                notes: vec![note],
            });
        }
        let target = &report.target;
        let refuse = |problem| format!("--write-expected {shown}: {problem}; it was not written");
        let Writable {
            file,
            mut verdicts,
            dropped,
        } = writable(path, &target.name, &target.contract, part_of).map_err(refuse)?;
        verdicts.extend(cases.map(|case| (case.verdict.case.clone(), case.verdict.verdict)));
        let inconclusive = verdicts.values().filter(|verdict| **verdict == Verdict::Inconclusive);
        let count = inconclusive.count();
        let said = format!("wrote {} to {shown}", counted(verdicts.len(), "verdict", "verdicts"));
        let text = expected_text(&target.name, &target.contract, verdicts);
        Evidence::write_text(&file, &text).map_err(|error| error.to_string())?;
        let of_dropped = (!dropped.is_empty()).then(|| {
            let names = dropped.join(", ");
            format!(
                "{shown} does not hold {names} any more: no case is called that; one of your own needs its --case-file"
            )
        });
        let of_inconclusive = (count > 0)
            .then(|| format!("{shown} holds {count} inconclusive verdicts: nothing is known of these cases"));
        Ok(WrittenExpected {
            said: Some(said),
            notes: of_dropped.into_iter().chain(of_inconclusive).collect(),
        })
    }
}

/// Where expected verdicts can be written.
struct Writable {
    /// The file itself, behind any link.
    file: PathBuf,
    /// The verdicts in it that stay.
    verdicts: BTreeMap<String, Verdict>,
    /// The cases in it that no catalogue has any more.
    dropped: Vec<String>,
}

impl Writable {
    fn anew(file: PathBuf) -> Self {
        Self {
            file,
            verdicts: BTreeMap::new(),
            dropped: Vec::new(),
        }
    }
}

/// What of a file stays: after a run of a part of `part_of`, the verdicts of the rest. Nothing is written over but a file of
/// expected verdicts, or one that is empty.
fn writable(path: &Path, target: &str, contract: &str, part_of: Option<&Catalogue>) -> Result<Writable, String> {
    if path.symlink_metadata().is_err() {
        return match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() || folder.is_dir() => Ok(Writable::anew(path.to_path_buf())),
            _ => Err("its folder is not there".to_owned()),
        };
    }
    let file = path
        .canonicalize()
        .map_err(|error| format!("it is a link that leads nowhere: {error}"))?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is there, and is no regular file; name another".to_owned());
    }
    if metadata.permissions().readonly() {
        return Err("it is there, and may not be written; name another, or let it be written".to_owned());
    }
    if metadata.len() == 0 {
        return Ok(Writable::anew(file));
    }
    let text = document::read(&file).map_err(|_| NOT_OURS.to_owned())?;
    let object: Map<String, Value> = serde_json::from_str(&text).map_err(|_| NOT_OURS.to_owned())?;
    if !(object.contains_key("format") && object.contains_key("verdicts")) {
        return Err(NOT_OURS.to_owned());
    }
    let Some(catalogue) = part_of else {
        return Ok(Writable::anew(file));
    };
    let name = path.display().to_string();
    let before = read_expected(&name, &text, target, contract).map_err(|error| error.to_string())?;
    let (verdicts, dropped) = before.without_unknown_cases(catalogue);
    Ok(Writable {
        file,
        verdicts,
        dropped,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn nothing_is_written_over_but_what_is_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let ours = expected_text("plain", "none", [("lost-reply".to_owned(), Verdict::Pass)].into());
        fs::write(at("ours"), &ours).expect("write");
        fs::write(at("empty"), "").expect("write");
        fs::write(at("text"), "something else\n").expect("write");
        fs::write(at("object"), "{\"name\": \"a package\"}").expect("write");
        fs::write(at("binary"), b"\x7fELF\xff\xfe").expect("write");
        fs::write(at("kept"), &ours).expect("write");
        let mut kept = at("kept").metadata().expect("it is there").permissions();
        kept.set_readonly(true);
        fs::set_permissions(at("kept"), kept).expect("permissions");
        let _socket = UnixListener::bind(at("socket")).expect("a socket");
        symlink("ours", at("link")).expect("a link");
        symlink("gone", at("nowhere")).expect("a link");

        let all = Catalogue::embedded();
        let table = [
            ("text", "no file of expected verdicts"),
            ("object", "no file of expected verdicts"),
            ("binary", "no file of expected verdicts"),
            ("kept", "may not be written"),
            ("socket", "no regular file"),
            ("", "no regular file"),
            ("nowhere", "leads nowhere"),
            ("no-folder/file", "its folder is not there"),
        ];
        for (name, problem) in table {
            for part_of in [None, Some(all)] {
                let refused = writable(&at(name), "plain", "none", part_of).err().expect(name);
                assert!(refused.contains(problem), "{name}: {refused}");
            }
        }

        let real = at("ours").canonicalize().expect("it is there");
        let ours = writable(&at("link"), "plain", "none", Some(all)).expect("ours");
        assert_eq!((ours.file, ours.verdicts.len()), (real, 1));
        for name in ["new", "empty", "ours"] {
            let anew = writable(&at(name), "plain", "none", None).expect(name);
            assert!(anew.verdicts.is_empty(), "{name}");
        }
        let refused = writable(&at("ours"), "other", "none", Some(all));
        let refused = refused.err().expect("of another target");
        assert!(refused.contains("it is of the target `plain`"), "{refused}");
    }
}
