//! The flags that say what a run is expected to come to, and the file that is written for the next one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::baseline::{expected_text, read_expected, read_expected_failures};
use crate::case::Catalogue;
use crate::document;
use crate::drive::clock;
use crate::record::{Baseline, Evidence, ExpectedFile, RunState, Verdict};
use crate::report::RunReport;
use crate::target::Target;

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

impl BaselineArguments {
    /// Reads the files, relative to `folder`.
    pub(super) fn resolve(&self, target: &Target, catalogue: &Catalogue, folder: &Path) -> Result<Baseline, String> {
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
            let expected = expected.map_err(|error| error.to_string())?;
            baseline.expected = Some(ExpectedFile { file, expected });
        }
        // Found before the run, and not after it.
        if let Some(path) = &self.write_expected
            && !folder.join(path).parent().is_some_and(Path::is_dir)
        {
            return Err(format!("--write-expected {}: its folder is not there", path.display()));
        }
        Ok(baseline)
    }

    /// Writes the verdicts of the cases that were asked for; a run without all of them is not kept. After a run of a part the
    /// file keeps what it says of the rest. What is to be told of it is returned.
    pub(super) fn write(&self, report: &RunReport, state: RunState, is_part: bool) -> Result<Option<String>, String> {
        let Some(path) = &self.write_expected else {
            return Ok(None);
        };
        let shown = path.display();
        let mut cases = report.cases.iter().filter(|case| case.requested).peekable();
        if state != RunState::Finished || cases.peek().is_none() {
            return Ok(Some(format!(
                "{shown} was not written: the run did not come to its end"
            )));
        }
        let target = &report.target;
        let mut verdicts = BTreeMap::new();
        if is_part && let Ok(text) = document::read(path) {
            let before = read_expected(&shown.to_string(), &text, &target.name, &target.contract);
            verdicts = before.map_err(|error| format!("{error}; it was not written"))?.verdicts;
        }
        verdicts.extend(cases.map(|case| (case.verdict.case.clone(), case.verdict.verdict)));
        let inconclusive = verdicts.values().filter(|verdict| **verdict == Verdict::Inconclusive);
        let count = inconclusive.count();
        let text = expected_text(&target.name, &target.contract, verdicts);
        Evidence::write_text(path, &text).map_err(|error| error.to_string())?;
        Ok(
            (count > 0)
                .then(|| format!("{shown} holds {count} inconclusive verdicts: nothing is known of these cases")),
        )
    }
}
