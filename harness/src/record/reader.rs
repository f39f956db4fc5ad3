//! Reads evidence that may be cut off, damaged or hostile: one file at a time, bounded, and no link is followed.
//!
//! [`Record::read`](super::Record::read) takes a whole record or none. This reader gives what can be read, and says where
//! that ends. It judges nothing, and writes nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;

use super::event::{Body, Event, RECORD_FORMAT};
use super::evidence::Evidence;
use super::proof_folder::ProofFolder;
use super::recorder::RECORD_BYTES_MAX;

/// A line of a record longer than this (bytes) is not one that this harness wrote.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// After so many lines that cannot be read, the rest is not tried.
const UNREADABLE_LINES_MAX: usize = 10;

/// How many names of one folder are looked at.
const NAMES_MAX: usize = 10_000;

/// Why a file of the evidence could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// There is no such file.
    #[error("it is not there")]
    Absent,
    /// A link could lead to a file of the reader's own, a device has no end, a pipe keeps a reader waiting.
    #[error("it is no plain file (a link, a pipe or a device stands there), so it was not opened")]
    NotAFile,
    /// A name in the evidence that leads out of it.
    #[error("its name leads out of the evidence, so it was not opened")]
    Outside,
    /// It is larger than such a file can be.
    #[error("it has more than the {bytes_max} bytes that such a file may have")]
    TooLarge {
        /// The bound.
        bytes_max: u64,
    },
    /// It is not of the form that this harness reads.
    #[error("{0}")]
    Form(String),
    /// What the system said.
    #[error("{0}")]
    File(#[from] io::Error),
}

/// The evidence of one run, read with suspicion. Paths are relative to its folder, with `/` between the names.
#[derive(Debug, Clone)]
pub struct Reader {
    root: PathBuf,
}

/// One line of a record.
#[derive(Debug)]
pub enum Line {
    /// An event, and the line as it stands in the file.
    Event {
        /// What it says.
        event: Box<Event>,
        /// The line without its end.
        text: String,
    },
    /// Something that is not as a record should be.
    Trouble {
        /// The line, from 1 on.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// The lines of one record, read as they are asked for.
#[derive(Debug)]
pub struct Lines {
    file: io::Take<BufReader<File>>,
    line: usize,
    seq: u64,
    unreadable: usize,
    pending: Option<Line>,
}

impl Reader {
    /// Reads what lies in this folder.
    pub fn new(evidence: &Evidence) -> Self {
        Self {
            root: evidence.root().to_path_buf(),
        }
    }

    /// Reads what lies in the folder of a proof.
    pub fn of_proof(folder: &ProofFolder) -> Self {
        Self {
            root: folder.root().to_path_buf(),
        }
    }

    /// A whole file, at most `bytes_max` bytes.
    pub fn bytes(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, ReaderError> {
        let (bytes, left_out) = self.head(path, bytes_max)?;
        if left_out > 0 {
            return Err(ReaderError::TooLarge { bytes_max });
        }
        Ok(bytes)
    }

    /// The first `bytes_max` bytes of a file, and how many more it has.
    pub fn head(&self, path: &str, bytes_max: u64) -> Result<(Vec<u8>, u64), ReaderError> {
        let file = self.open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        let left_out = length.saturating_sub(bytes.len() as u64);
        Ok((bytes, left_out))
    }

    /// A JSON file of at most `bytes_max` bytes.
    pub fn json<T: DeserializeOwned>(&self, path: &str, bytes_max: u64) -> Result<T, ReaderError> {
        let bytes = self.bytes(path, bytes_max)?;
        serde_json::from_slice(&bytes).map_err(|error| ReaderError::Form(error.to_string()))
    }

    /// The lines of the record in a folder (`probe`, or `cases/<id>`).
    pub fn lines(&self, folder: &str) -> Result<Lines, ReaderError> {
        let file = self.open(&format!("{folder}/record.jsonl"))?;
        let length = file.metadata()?.len();
        if length > RECORD_BYTES_MAX {
            return Err(ReaderError::TooLarge {
                bytes_max: RECORD_BYTES_MAX,
            });
        }
        Ok(Lines {
            // No further than it reached when it was opened: a run may still be at work.
            file: BufReader::new(file).take(length),
            line: 0,
            seq: 0,
            unreadable: 0,
            pending: None,
        })
    }

    /// The names in a folder, in order; none where there is no such folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let Ok(path) = self.inside(folder, fs::FileType::is_dir) else {
            return Vec::new();
        };
        let entries = fs::read_dir(path).into_iter().flatten().flatten().take(NAMES_MAX);
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn open(&self, path: &str) -> Result<File, ReaderError> {
        let path = self.inside(path, fs::FileType::is_file)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let flags = i32::try_from(flags).expect("the flags of an open file are an int");
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(ReaderError::NotAFile);
        }
        Ok(file)
    }

    /// The path of something inside, every folder on the way to which is a folder, and which is of this kind itself.
    fn inside(&self, path: &str, kind: fn(&fs::FileType) -> bool) -> Result<PathBuf, ReaderError> {
        let mut whole = self.root.clone();
        let mut parts = Path::new(path).components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(ReaderError::Outside);
            };
            whole.push(name);
            let found = match fs::symlink_metadata(&whole) {
                Ok(metadata) => metadata.file_type(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReaderError::Absent),
                Err(error) => return Err(error.into()),
            };
            let fits = if parts.peek().is_some() {
                found.is_dir()
            } else {
                kind(&found)
            };
            if !fits {
                return Err(ReaderError::NotAFile);
            }
        }
        Ok(whole)
    }
}

impl Iterator for Lines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if let Some(pending) = self.pending.take() {
            return Some(pending);
        }
        if self.unreadable > UNREADABLE_LINES_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        let mut bounded = self.file.by_ref().take(LINE_BYTES_MAX as u64);
        if let Err(error) = bounded.read_until(b'\n', &mut bytes) {
            self.unreadable = UNREADABLE_LINES_MAX + 1;
            return Some(self.trouble(&error.to_string()));
        }
        if bytes.is_empty() {
            return None;
        }
        self.line += 1;
        let is_whole = bytes.last() == Some(&b'\n');
        match serde_json::from_slice::<Event>(&bytes) {
            Ok(event) => Some(self.event(event, &bytes)),
            Err(error) => Some(self.unreadable(&bytes, is_whole, &error)),
        }
    }
}

impl Lines {
    fn event(&mut self, event: Event, bytes: &[u8]) -> Line {
        let expected = self.seq.saturating_add(1);
        self.seq = event.seq;
        let mut before = None;
        if event.seq != expected {
            before = Some(format!("event {} stands where {expected} belongs", event.seq));
        }
        if let Body::CasePlanned { format, .. } = &event.body
            && *format != RECORD_FORMAT
        {
            before = Some(format!(
                "record format {format} is not one this harness reads (it reads {RECORD_FORMAT}); some of it may be missing here"
            ));
        }
        let line = Line::Event {
            event: Box::new(event),
            text: String::from_utf8_lossy(bytes).trim_end().to_owned(),
        };
        let Some(reason) = before else { return line };
        self.pending = Some(line);
        self.trouble(&reason)
    }

    fn unreadable(&mut self, bytes: &[u8], is_whole: bool, error: &serde_json::Error) -> Line {
        self.seq = self.seq.saturating_add(1);
        self.unreadable += 1;
        if bytes.len() >= LINE_BYTES_MAX {
            self.unreadable = UNREADABLE_LINES_MAX + 1;
            return self.trouble(&format!(
                "the line has more than {LINE_BYTES_MAX} bytes; it and the rest are not shown"
            ));
        }
        if !is_whole {
            return self.trouble(&format!(
                "the file ends in the middle of the line, after {} bytes of it",
                bytes.len()
            ));
        }
        let rest = if self.unreadable > UNREADABLE_LINES_MAX {
            "; too many lines are none, and the rest is not tried"
        } else {
            ""
        };
        self.trouble(&format!("not an event: {error}{rest}"))
    }

    fn trouble(&self, reason: &str) -> Line {
        Line::Trouble {
            line: self.line,
            reason: reason.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(record: &[u8]) -> (tempfile::TempDir, Reader) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let evidence = Evidence::create_at(&folder.path().join("run")).expect("a new folder");
        let case = evidence.case("one");
        case.create().expect("the case's folder");
        fs::write(case.record_file(), record).expect("write");
        (folder, Reader::new(&evidence))
    }

    fn told(record: &[u8]) -> Vec<String> {
        let (_folder, reader) = evidence(record);
        let lines = reader.lines("cases/one").expect("a record");
        lines
            .map(|line| match line {
                Line::Event { event, .. } => format!("event {}", event.seq),
                Line::Trouble { line, reason } => format!("{line}: {reason}"),
            })
            .collect()
    }

    #[test]
    fn everything_up_to_the_cut_is_read_and_what_is_behind_damage_too() {
        let ended = |seq: u64| format!("{{\"seq\":{seq},\"at\":1,\"kind\":\"stream-ended\"}}\n");
        let text = [ended(1), "rubbish\n".to_owned(), ended(3), ended(5), ended(6)].concat();
        let cut = &text.as_bytes()[..text.len() - 20];
        let said = told(cut);
        assert_eq!(said[0], "event 1");
        assert!(said[1].starts_with("2: not an event: expected value"), "{said:?}");
        assert_eq!(
            said[2..],
            [
                "event 3",
                "4: event 5 stands where 4 belongs",
                "event 5",
                "5: the file ends in the middle of the line, after 19 bytes of it"
            ]
        );
        assert_eq!(told(b""), [""; 0]);
    }

    #[test]
    fn endless_rubbish_is_given_up() {
        let said = told("x\n".repeat(1000).as_bytes());
        assert_eq!(said.len(), UNREADABLE_LINES_MAX + 1);
        assert!(
            said[UNREADABLE_LINES_MAX].ends_with("the rest is not tried"),
            "{said:?}"
        );
    }

    #[test]
    fn neither_links_nor_pipes_nor_ways_out_are_opened() {
        let (folder, reader) = evidence(b"");
        fs::write(folder.path().join("outside"), "secret").expect("write");
        let root = folder.path().join("run");
        std::os::unix::fs::symlink("../outside", root.join("link")).expect("link");
        std::os::unix::fs::symlink("..", root.join("up")).expect("link");
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        for path in ["link", "up/outside", "pipe", "cases"] {
            assert!(matches!(reader.bytes(path, 9), Err(ReaderError::NotAFile)), "{path}");
        }
        for path in ["../outside", "/etc/hostname", "cases/../../outside"] {
            let refused = reader.bytes(path, 9);
            assert!(matches!(refused, Err(ReaderError::Outside)), "{path}: {refused:?}");
        }
        assert!(matches!(reader.bytes("nowhere", 9), Err(ReaderError::Absent)));
        assert_eq!(reader.names("up"), [""; 0]);
    }
}
