//! What is in a folder of evidence, compared with what its `SHA256SUMS` lists. Pure: it is given texts and digests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::archive::clashes;
use super::evidence::SUMS_FILE;

/// What a folder holds, compared with its `SHA256SUMS`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// Whether there is a `SHA256SUMS` at all; without it the run did not come to its end.
    pub sealed: bool,
    /// How many files are listed and equal.
    pub equal: usize,
    /// What is wrong, by path.
    pub findings: Vec<Finding>,
    /// Every file that is there, but `SHA256SUMS`, by path; none where something lies there that is no file.
    pub files: BTreeMap<String, FileSeen>,
}

/// One file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

impl Inventory {
    pub(super) fn unsealed(strangers: Vec<String>) -> Self {
        Self {
            findings: strangers.into_iter().map(Finding::NotAFile).collect(),
            ..Self::default()
        }
    }
}

impl Inventory {
    /// Names of which some file systems keep one.
    pub(super) fn add_clashes<'a>(&mut self, paths: impl Iterator<Item = &'a String>) {
        let clashes = clashes(paths.map(String::as_str));
        self.findings.extend(clashes.into_iter().map(Finding::Clash));
    }
}

/// One file that is not as `SHA256SUMS` says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// Listed, and not there.
    Missing(String),
    /// There, and not listed.
    Extra(String),
    /// There, with other bytes.
    Changed(String),
    /// Neither a file nor a folder: a link, a device, a socket.
    NotAFile(String),
    /// Two names, or one name twice, of which some file systems keep one.
    Clash(String),
    /// `SHA256SUMS` itself is not what a harness writes: the line, and why.
    Sums {
        /// The line, from 1 on.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "missing: {path}"),
            Self::Extra(path) => write!(f, "extra: {path}"),
            Self::Changed(path) => write!(f, "changed: {path}"),
            Self::NotAFile(path) => write!(f, "not a file: {path}"),
            Self::Clash(what) => write!(f, "names: {what}"),
            Self::Sums { line, reason } => write!(f, "changed: {SUMS_FILE}:{line}: {reason}"),
        }
    }
}

/// Compares the text of a `SHA256SUMS` with the digests that the files have now.
pub(super) fn compare(listed: &[u8], files: BTreeMap<String, FileSeen>, strangers: Vec<String>) -> Inventory {
    let actual: BTreeMap<&String, &String> = files.iter().map(|(path, file)| (path, &file.sha256)).collect();
    let mut findings: BTreeSet<Finding> = strangers.into_iter().map(Finding::NotAFile).collect();
    let mut expected = BTreeMap::new();
    for (index, line) in String::from_utf8_lossy(listed).split_terminator('\n').enumerate() {
        match parse_sum(line) {
            Ok((sha256, path)) => {
                expected.insert(path.to_owned(), sha256.to_owned());
            }
            Err(reason) => {
                findings.insert(Finding::Sums {
                    line: index + 1,
                    reason: reason.to_owned(),
                });
            }
        }
    }
    for path in expected.keys().chain(files.keys()) {
        match (expected.get(path), actual.get(path)) {
            (Some(_), None) => findings.insert(Finding::Missing(path.clone())),
            (None, Some(_)) => findings.insert(Finding::Extra(path.clone())),
            (Some(expected), Some(actual)) if expected != *actual => findings.insert(Finding::Changed(path.clone())),
            (Some(_), Some(_)) | (None, None) => false,
        };
    }
    findings.extend(
        clashes(files.keys().map(String::as_str))
            .into_iter()
            .map(Finding::Clash),
    );
    // A change that no line shows: order, doubled lines, a missing or foreign line end.
    let text = || sums_text(expected.iter().map(|(path, sha256)| (path.as_str(), sha256.as_str())));
    if findings.is_empty() && listed != text().as_bytes() {
        findings.insert(Finding::Sums {
            line: 1,
            reason: "it lists the right digests in another form than a harness writes".to_owned(),
        });
    }
    Inventory {
        sealed: true,
        equal: actual
            .iter()
            .filter(|(path, sha256)| expected.get(**path) == Some(**sha256))
            .count(),
        findings: findings.into_iter().collect(),
        files,
    }
}

fn parse_sum(line: &str) -> Result<(&str, &str), &'static str> {
    let (sha256, path) = line.split_once("  ").ok_or("it is not `digest  path`")?;
    let is_digest = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if sha256.len() != 64 || !sha256.chars().all(is_digest) {
        return Err("its digest is not 64 lower-case hexadecimal digits");
    }
    if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == ".." || part.is_empty()) {
        return Err("its path leads out of the folder");
    }
    Ok((sha256, path))
}

/// The text of a `SHA256SUMS`, in the form of coreutils.
pub(super) fn sums_text<'a>(digests: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    digests.map(|(path, sha256)| format!("{sha256}  {path}\n")).collect()
}
