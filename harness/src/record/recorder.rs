//! The writer of a record, which orders events as they happen, and its reader.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::bounds::Allowance;
use super::event::{Body, Event, RECORD_FORMAT};
use super::evidence::CaseFolder;
use super::observation::{OBSERVATION_FORMAT, Observation};
use crate::case;
use crate::digest;
use crate::plain_file;
use crate::plan::Plan;
use crate::values::refuse_keys_twice;

/// A record larger than this (bytes) is not read: it is not one that this harness wrote.
pub(super) const RECORD_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be written or read.
    #[error("{act} {path}: {source}")]
    File {
        /// `write` or `read`.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not an event of this format.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl RecordError {
    fn file(act: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File {
            act,
            path: path.to_path_buf(),
            source,
        }
    }

    fn line(path: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Line {
            path: path.to_path_buf(),
            line,
            reason: reason.into(),
        }
    }
}

/// Writes one case's events, a line at once, so that a crash of ours leaves everything up to it readable.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    path: PathBuf,
    seq: u64,
}

impl Recorder {
    /// Opens a new record; one that exists is never overwritten.
    pub fn create(folder: &CaseFolder) -> Result<Self, RecordError> {
        let path = folder.record_file();
        let file = File::create_new(&path).map_err(|source| RecordError::file("create", &path, source))?;
        Ok(Self { file, path, seq: 0 })
    }

    /// Writes the next event. `at` is in microseconds since the case began, as [`Event::at`] says.
    pub fn write(&mut self, at: u64, process: Option<&str>, body: Body) -> Result<Event, RecordError> {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at,
            process: process.map(str::to_owned),
            body,
        };
        let mut line = serde_json::to_vec(&event).expect("an event has string keys only, so it is JSON");
        line.push(b'\n');
        let written = self.file.write_all(&line);
        written.map_err(|source| RecordError::file("write", &self.path, source))?;
        Ok(event)
    }
}

/// Everything that happened in one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// In order.
    pub events: Vec<Event>,
    /// By label.
    pub observations: BTreeMap<String, Observation>,
}

impl Record {
    /// Reads a case's record and the observations that it names.
    pub fn read(folder: &CaseFolder) -> Result<Self, RecordError> {
        let path = folder.record_file();
        let text = read_bounded(&path)?;
        let mut events = Vec::new();
        let mut observations = BTreeMap::new();
        let mut allowance = Allowance::new();
        for (index, line) in text.lines().enumerate() {
            let refused = |reason| RecordError::line(&path, index + 1, reason);
            allowance.line(line).map_err(refused)?;
            let event: Event = refuse_keys_twice(line)
                .and_then(|()| serde_json::from_str(line))
                .map_err(|error| RecordError::line(&path, index + 1, format!("not an event: {error}")))?;
            if event.seq != index as u64 + 1 {
                let reason = format!("event {} stands where {} belongs", event.seq, index + 1);
                return Err(RecordError::line(&path, index + 1, reason));
            }
            if let Body::CasePlanned { format, .. } = &event.body
                && *format != RECORD_FORMAT
            {
                let reason = format!("record format {format} is not one this harness reads (it reads {RECORD_FORMAT})");
                return Err(RecordError::line(&path, index + 1, reason));
            }
            if let Body::Observed { label, sha256 } = &event.body {
                // Labels become file names; whoever made the record may have meant another folder.
                if !case::is_plain_word(label) {
                    return Err(RecordError::line(
                        &path,
                        index + 1,
                        "the label of an observation is no plain name",
                    ));
                }
                if observations.contains_key(label) {
                    return Err(refused(format!("`{label}` was observed before")));
                }
                let observation = read_observation(folder, label, sha256, &mut allowance)?;
                observations.insert(label.clone(), observation);
            }
            events.push(event);
        }
        Ok(Self { events, observations })
    }

    /// The plan, which is the first event of every record.
    pub fn plan(&self) -> Option<&Plan> {
        let Body::CasePlanned { plan, .. } = &self.events.first()?.body else {
            return None;
        };
        Some(plan)
    }
}

fn read_observation(
    folder: &CaseFolder,
    label: &str,
    sha256: &str,
    allowance: &mut Allowance,
) -> Result<Observation, RecordError> {
    let path = folder.observation_file(label);
    let text = read_bounded(&path)?;
    let taken = allowance.observation(&text);
    taken.map_err(|reason| RecordError::line(&path, 1, reason))?;
    if digest::sha256_hex(text.as_bytes()) != sha256 {
        return Err(RecordError::line(
            &path,
            1,
            "it is not the observation that the record names: its digest differs",
        ));
    }
    let observation: Observation = refuse_keys_twice(&text)
        .and_then(|()| serde_json::from_str(&text))
        .map_err(|error| RecordError::line(&path, error.line(), error.to_string()))?;
    if observation.format != OBSERVATION_FORMAT {
        let reason = format!(
            "observation format {} is not one this harness reads",
            observation.format
        );
        return Err(RecordError::line(&path, 1, reason));
    }
    Ok(observation)
}

fn read_bounded(path: &Path) -> Result<String, RecordError> {
    plain_file::read_text(path, RECORD_BYTES_MAX).map_err(|source| RecordError::file("read", path, source))
}
