//! A folder of evidence copied without what was found in it, sealed anew, with a list of what was masked and the digests of before.
//!
//! Must not change the folder it copies. Digests that the evidence has of its own files are put right, so that everybody who
//! reads evidence can read this too; `redactions.json` keeps the old ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use aho_corasick::AhoCorasick;

use super::folder::{FILE_BYTES_MAX, FileFind, SearchError, files_below, is_store, search_folder};
use super::mask::mask;
use super::wal;
use crate::digest;
use crate::plain_file;
use crate::record::{
    CaseVerdict, Evidence, EvidenceError, Find, REDACTIONS_FILE, REDACTIONS_FORMAT, RedactedFile, Redactions, SUMS_FILE,
};

/// Why evidence could not be masked.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// It is not whole as it is.
    #[error("{0}: it is not as its {SUMS_FILE} says, and masking would hide that; `harness verify` says what differs")]
    NotWhole(String),
    /// It was masked before.
    #[error("it holds {REDACTIONS_FILE}: it was masked before; mask the run itself")]
    Twice,
    /// Something would be left.
    #[error("{0}: it cannot be masked without taking the file apart; mend the server, or leave the case out")]
    Left(String),
    /// A file would not be JSON any more.
    #[error(
        "{path}: with what was found masked it is no JSON any more: {reason}; the secret is a number or a word of JSON"
    )]
    Breaks {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
    /// Something would be concluded otherwise.
    #[error(
        "with what was found masked {0}; nothing is handed on that says something else than the run: mend the server, or leave the \
         case out"
    )]
    Concludes(String),
    /// A file could not be read or written.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The new folder could not be sealed.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// What was masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// What `redactions.json` says.
    pub redactions: Redactions,
    /// How many places were masked.
    pub places: usize,
}

/// Copies the evidence of a run into a new folder, without these finds. `value_of` knows the values of variables that are
/// set here, as for [`search_folder`]. `judge` says which verdicts come out of the masked records otherwise than they stand
/// there, by their paths, or what would be concluded otherwise.
pub fn redact_into(
    evidence: &Evidence,
    finds: &[FileFind],
    into: &Path,
    value_of: impl Fn(&str) -> Option<String>,
    judge: impl FnOnce(&Evidence) -> Result<Vec<(String, CaseVerdict)>, String>,
) -> Result<Redacted, RedactError> {
    let by_path = maskable(finds)?;
    let inventory = evidence.inventory()?;
    if let Some(finding) = inventory.findings.first() {
        return Err(RedactError::NotWhole(finding.to_string()));
    }
    if inventory.files.contains_key(REDACTIONS_FILE) {
        return Err(RedactError::Twice);
    }
    let copy = Evidence::create_at(into)?;
    let mut files = BTreeMap::new();
    // Digests lead from a record to observations, and from these to stores: what is named comes before who names it.
    let mut digests = BTreeMap::new();
    for paths in in_order(files_below(evidence.root())?) {
        let mut new_digests = BTreeMap::new();
        for path in paths {
            let finds = by_path.get(path.as_str()).map(Vec::as_slice).unwrap_or_default();
            if let Some(file) = copy_one(evidence.root(), into, &path, finds, &digests)? {
                new_digests.insert(file.sha256_before.clone(), file.sha256_now.clone());
                files.insert(path, file);
            }
        }
        digests.extend(new_digests);
    }
    for (path, verdict) in judge(&copy).map_err(RedactError::Concludes)? {
        let file = judged_again(evidence.root(), into, &path, &verdict)?;
        files.insert(path, file);
    }
    let sums = evidence.root().join(SUMS_FILE);
    let sums_sha256_before = digest::sha256_file(&sums).map_err(SearchError::file(&sums))?;
    let redactions = Redactions {
        format: REDACTIONS_FORMAT,
        sums_sha256_before,
        files: files.into_values().collect(),
    };
    Evidence::write_json(&into.join(REDACTIONS_FILE), &redactions)?;
    // Looked through once more, because a promise was made to whoever typed the word.
    if let Some(left) = search_folder(into, value_of)?.finds.first() {
        return Err(RedactError::Left(left.to_string()));
    }
    copy.seal()?;
    let places = redactions.files.iter().map(|file| file.masked.len()).sum();
    Ok(Redacted { redactions, places })
}

/// The finds of each file, where all of them can be masked.
fn maskable(finds: &[FileFind]) -> Result<BTreeMap<&str, Vec<Find>>, RedactError> {
    let mut by_path = BTreeMap::<&str, Vec<Find>>::new();
    for found in finds {
        // The sums of a rollback journal cover single bytes of a page; one that does not fit would not be rolled back.
        let is_journal = found.path.ends_with("-journal") && is_store(&found.path);
        match &found.find {
            Some(find) if !is_journal => by_path.entry(&found.path).or_default().push(find.clone()),
            Some(_) | None => return Err(RedactError::Left(found.to_string())),
        }
    }
    Ok(by_path)
}

/// The files in four groups: frozen stores, what lists them, the records, all the rest; without the digests themselves.
fn in_order(files: Vec<String>) -> [Vec<String>; 4] {
    let mut groups = [const { Vec::new() }; 4];
    for path in files.into_iter().filter(|path| path != SUMS_FILE) {
        let group = if is_store(&path) {
            0
        } else if path.contains("/observations/") || path.ends_with("/searched.json") {
            1
        } else if path.ends_with("/record.jsonl") {
            2
        } else {
            3
        };
        groups[group].push(path);
    }
    groups
}

/// Copies one file, and says what became of it where it is another one now.
fn copy_one(
    from: &Path,
    into: &Path,
    path: &str,
    finds: &[Find],
    digests: &BTreeMap<String, String>,
) -> Result<Option<RedactedFile>, RedactError> {
    let source = from.join(path);
    let before = plain_file::read_bytes(&source, FILE_BYTES_MAX).map_err(SearchError::file(&source))?;
    let is_json = !is_store(path) && [".json", ".jsonl"].iter().any(|end| path.ends_with(end));
    let mut masked = mask(&before, finds, is_json);
    if is_store(path) && !finds.is_empty() {
        wal::put_right(&before, &mut masked.bytes);
    }
    let digests_put_right = if is_json {
        put_right(&mut masked.bytes, digests)
    } else {
        0
    };
    if is_json && masked.bytes != before {
        is_still_json(path, &masked.bytes)?;
    }
    let target = into.join(path);
    let folder = target.parent().unwrap_or(into);
    fs::create_dir_all(folder).map_err(SearchError::file(folder))?;
    fs::write(&target, &masked.bytes).map_err(SearchError::file(&target))?;
    Ok((masked.bytes != before).then(|| RedactedFile {
        path: path.to_owned(),
        sha256_before: digest::sha256_hex(&before),
        sha256_now: digest::sha256_hex(&masked.bytes),
        masked: masked.places,
        digests_put_right,
        judged_again: false,
    }))
}

/// Writes a verdict as it comes out of what is masked. What is in it follows from the record, so no place of it is listed.
fn judged_again(from: &Path, into: &Path, path: &str, verdict: &CaseVerdict) -> Result<RedactedFile, RedactError> {
    let source = from.join(path);
    Ok(RedactedFile {
        path: path.to_owned(),
        sha256_before: digest::sha256_file(&source).map_err(SearchError::file(&source))?,
        sha256_now: Evidence::write_json(&into.join(path), verdict)?,
        masked: Vec::new(),
        digests_put_right: 0,
        judged_again: true,
    })
}

/// Puts the new digests of masked files where their old ones stand; both have the same length. Returns how many.
fn put_right(bytes: &mut [u8], digests: &BTreeMap<String, String>) -> usize {
    if digests.is_empty() {
        return 0;
    }
    let old = AhoCorasick::new(digests.keys()).expect("digests are small patterns, and there are no more than files");
    let found: Vec<_> = old.find_iter(&*bytes).collect();
    let now: Vec<&String> = digests.values().collect();
    for found in &found {
        bytes[found.range()].copy_from_slice(now[found.pattern().as_usize()].as_bytes());
    }
    found.len()
}

fn is_still_json(path: &str, bytes: &[u8]) -> Result<(), RedactError> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let texts: Vec<&[u8]> = if Path::new(path).extension().is_some_and(|end| end == "jsonl") {
        lines.collect()
    } else {
        vec![bytes]
    };
    for text in texts {
        serde_json::from_slice::<serde::de::IgnoredAny>(text).map_err(|reason| RedactError::Breaks {
            path: path.to_owned(),
            reason,
        })?;
    }
    Ok(())
}
