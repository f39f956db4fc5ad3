//! The evidence of one run, as it is compared: read with suspicion, one file at a time.

use serde::Serialize;

use crate::case;
use crate::digest;
use crate::document::DOCUMENT_BYTES_MAX;
use crate::record::{CaseVerdict, Evidence, Observation, RUN_FILE, RUN_FORMAT, Reader, Run, SUMS_FILE};
use crate::values::{VALUES_MAX, values_in};

/// The largest `run.json`, `verdict.json` or observation that is read (bytes).
const JSON_BYTES_MAX: u64 = 64 * DOCUMENT_BYTES_MAX;

/// More cases than this are not compared.
const CASES_MAX: usize = 1_000;

/// One of two runs.
#[derive(Debug)]
pub struct Side {
    /// What the user calls it.
    name: String,
    reader: Reader,
    run: Box<Run>,
    sealed: bool,
}

/// The same in a few words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideReport {
    /// What the user calls it.
    pub evidence: String,
    /// The target in one line.
    pub target: String,
    /// When it was begun.
    pub started_at: String,
    /// Whether there is a `SHA256SUMS`.
    pub sealed: bool,
}

impl Side {
    /// Opens evidence by its folder; `name` is what the user calls it. The error says what is wrong with its `run.json`.
    pub fn open(evidence: &Evidence, name: &str) -> Result<Self, String> {
        let reader = Reader::new(evidence);
        let refused = |reason: String| format!("{name}/{RUN_FILE}: {reason}");
        let bytes = reader
            .bytes(RUN_FILE, JSON_BYTES_MAX)
            .map_err(|error| refused(error.to_string()))?;
        let run: Run = parse(&bytes).map_err(refused)?;
        if run.format != RUN_FORMAT {
            let format = run.format;
            return Err(refused(format!(
                "format {format} is not one this harness reads (it reads {RUN_FORMAT})"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            sealed: reader.head(SUMS_FILE, 0).is_ok(),
            run: Box::new(run),
            reader,
        })
    }

    /// `run.json`.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Its files.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// In a few words.
    pub fn report(&self) -> SideReport {
        SideReport {
            evidence: self.name.clone(),
            target: self.run.target.title(),
            started_at: self.run.started_at.clone(),
            sealed: self.sealed,
        }
    }

    /// The cases that were run, in order, each once.
    pub(super) fn cases(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        let all = self
            .run
            .executed
            .iter()
            .chain(self.run.verdicts.keys())
            .map(String::as_str);
        let once = all.filter(|id| case::is_plain_word(id) && seen.insert(*id));
        once.take(CASES_MAX).collect()
    }

    /// `verdict.json` of a case, where it can be read.
    pub fn verdict(&self, id: &str) -> Option<CaseVerdict> {
        let bytes = self
            .reader
            .bytes(&format!("cases/{id}/verdict.json"), JSON_BYTES_MAX)
            .ok()?;
        parse(&bytes).ok()
    }
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if values_in(bytes) > VALUES_MAX {
        return Err(format!("it has more than {VALUES_MAX} JSON values"));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// What read-back saw under a label, and how many values may be held beside it.
pub(super) fn observation(
    reader: &Reader,
    folder: &str,
    label: &str,
    sha256: &str,
    values_max: usize,
) -> Result<(Observation, usize), String> {
    let name = format!("{folder}/observations/{label}.json");
    let bytes = reader.bytes(&name, JSON_BYTES_MAX).map_err(|error| error.to_string())?;
    if digest::sha256_hex(&bytes) != sha256 {
        return Err("it is not the file that the record names".to_owned());
    }
    let left = values_max.checked_sub(values_in(&bytes));
    let left = left.ok_or("it has more JSON values than may be held")?;
    let observation = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    Ok((observation, left))
}
