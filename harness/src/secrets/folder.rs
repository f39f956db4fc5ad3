//! The finds in a folder of evidence: of a run, or of a proof with its runs.
//!
//! Must not write, and must not keep what was found: a find leaves with two characters and a length.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::search::Finder;
use super::wanted::{Secret, Unsought, Wanted};
use crate::plain_file;
use crate::readback;
use crate::record::{Find, FoundSecret, Kind, REDACTIONS_FILE, RUN_FILE, Run, SecretsSearch};

/// A larger file (bytes) is not looked through, and so not handed on.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Evidence with more files than this is not looked through.
const FILES_MAX: usize = 500_000;

/// So much of what was found is shown, in characters.
const SHOWN_CHARS: usize = 2;

/// The name that read-back gives the copies that queries read.
const READ_COPY: &str = ".read.sqlite3";

/// Why evidence could not be looked through.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A file or folder could not be read.
    #[error("look for secrets in {path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It has too many files.
    #[error("look for secrets in {path}: it has more than {FILES_MAX} files, so it is no evidence of a run")]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
}

impl SearchError {
    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }
}

/// What came of looking through a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SearchedFolder {
    /// What was found, in the order of the files.
    pub finds: Vec<FileFind>,
    /// The secrets whose values were looked for, now or when the run ended.
    pub sought: Vec<String>,
    /// The secrets that were not looked for, and why.
    pub unsought: Vec<Unsought>,
    /// How many files were looked through.
    pub files: usize,
}

/// One find, as it may be shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileFind {
    /// The file.
    pub path: String,
    /// Where in it.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// How it begins.
    pub begins: String,
    /// How long it is, in bytes.
    pub bytes: usize,
    /// Where the bytes of the file can be masked.
    #[serde(skip)]
    pub find: Option<Find>,
}

/// Where in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In a text.
    Text {
        /// From 1 on.
        line: usize,
        /// In bytes, from 1 on.
        column: usize,
    },
    /// In a file that is no text: so many bytes stand before it.
    Byte(usize),
    /// In a cell of a database whose bytes do not stand together in the file.
    Cell {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// In the name of the file.
    Name,
}

impl fmt::Display for FileFind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.place {
            Place::Text { line, column } => write!(f, "{path}:{line}:{column}: ")?,
            Place::Byte(at) => write!(f, "{path}: byte {at}: ")?,
            Place::Cell { table, column } => write!(f, "{path}: table {table}, column {column}: ")?,
            Place::Name => write!(f, "{path}: its name: ")?,
        }
        write!(f, "{} ({}…, {} bytes)", self.kind.words(), self.begins, self.bytes)
    }
}

/// Looks through a folder of evidence for the secrets of its runs and for what looks like a credential. `value_of` knows the
/// values of variables that are set here.
pub fn search_folder(root: &Path, value_of: impl Fn(&str) -> Option<String>) -> Result<SearchedFolder, SearchError> {
    let files = files_below(root)?;
    let (mut known, mut searches) = (BTreeMap::<String, Vec<Find>>::new(), Vec::new());
    let is_run = |path: &&String| Path::new(path).file_name().is_some_and(|name| name == RUN_FILE);
    for path in files.iter().filter(is_run) {
        let text = fs::read(root.join(path)).map_err(SearchError::file(&root.join(path)))?;
        let Ok(run) = serde_json::from_slice::<Run>(&text) else {
            continue;
        };
        let folder = path.strip_suffix(RUN_FILE).unwrap_or_default();
        let search = run.secrets_search.unwrap_or_default();
        // What was known then is masked now, and stands elsewhere.
        let is_redacted = files.contains(&format!("{folder}{REDACTIONS_FILE}"));
        for FoundSecret { path, find } in search.found.into_iter().filter(|_| !is_redacted) {
            known.entry(format!("{folder}{path}")).or_default().push(find);
        }
        searches.push((run.target.secrets, search.names));
    }
    let (secrets, sought, unsought) = values(&searches, value_of);
    let finder = Finder::new(Wanted::new(&secrets));
    let mut searched = SearchedFolder {
        sought,
        unsought: unsought
            .into_iter()
            .chain(finder.wanted().unsought().to_vec())
            .collect(),
        files: files.len(),
        ..SearchedFolder::default()
    };
    for path in files {
        let known = known.remove(&path).unwrap_or_default();
        searched.finds.extend(finds_of(root, &path, &finder, known)?);
    }
    Ok(searched)
}

/// Looks through a folder for values alone; what a run does before it is sealed, while it still knows the values.
pub(crate) fn search_values(root: &Path, secrets: &[Secret]) -> Result<SecretsSearch, SearchError> {
    let finder = Finder::of_values(Wanted::new(secrets));
    let unsought: Vec<&str> = finder
        .wanted()
        .unsought()
        .iter()
        .map(|secret| secret.name.as_str())
        .collect();
    let mut names: Vec<String> = secrets.iter().map(|secret| secret.name.clone()).collect();
    names.retain(|name| !unsought.contains(&name.as_str()));
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    if !names.is_empty() {
        for path in files_below(root)? {
            let finds = finds_of(root, &path, &finder, Vec::new())?;
            found.extend(finds.into_iter().filter_map(|found| {
                let (path, find) = (found.path, found.find?);
                Some(FoundSecret { path, find })
            }));
        }
    }
    Ok(SecretsSearch { names, found })
}

/// The values that can be looked for, the names of all that are or were, and the others.
fn values(
    searches: &[(Vec<String>, Vec<String>)],
    value_of: impl Fn(&str) -> Option<String>,
) -> (Vec<Secret>, Vec<String>, Vec<Unsought>) {
    let mut names: Vec<&String> = searches.iter().flat_map(|(names, _)| names).collect();
    names.sort();
    names.dedup();
    let (mut secrets, mut sought, mut unsought) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let value = value_of(name);
        let was_sought = searches
            .iter()
            .all(|(names, sought)| !names.contains(name) || sought.contains(name));
        if was_sought || value.is_some() {
            sought.push(name.clone());
        } else {
            let reason =
                format!("its value is not known here; set the variable {name} to have it looked for, or run again");
            unsought.push(Unsought {
                name: name.clone(),
                reason,
            });
        }
        secrets.extend(value.map(|value| Secret {
            name: name.clone(),
            value,
        }));
    }
    (secrets, sought, unsought)
}

fn finds_of(root: &Path, path: &str, finder: &Finder, known: Vec<Find>) -> Result<Vec<FileFind>, SearchError> {
    let file = root.join(path);
    let bytes = plain_file::read_bytes(&file, FILE_BYTES_MAX).map_err(SearchError::file(&file))?;
    let mut finds: Vec<FileFind> = finder
        .finds(path.as_bytes(), false)
        .into_iter()
        .map(|find| shown(path, Place::Name, find.kind, &path.as_bytes()[find.range]))
        .collect();
    let inside = with_known(finder.finds(&bytes, is_record(path)), known, bytes.len());
    let text = std::str::from_utf8(&bytes).ok();
    let is_empty = inside.is_empty();
    finds.extend(inside.into_iter().map(|find| {
        let place = place(&bytes, text.is_some(), find.range.start);
        FileFind {
            find: Some(find.clone()),
            ..shown(path, place, find.kind, &bytes[find.range])
        }
    }));
    if is_empty && path.ends_with(READ_COPY) {
        finds.extend(finds_in_cells(&file, path, finder));
    }
    Ok(finds)
}

/// A long text of a database lies in several pages, and its bytes do not stand together.
fn finds_in_cells(file: &Path, path: &str, finder: &Finder) -> Vec<FileFind> {
    let mut finds = Vec::new();
    // A copy that cannot be read as a database has no cells; its bytes were looked through.
    let _ = readback::each_cell(file, |cell| {
        finds.extend(finder.finds(cell.bytes, false).into_iter().map(|find| {
            let (table, column) = (cell.table.to_owned(), cell.column.to_owned());
            shown(path, Place::Cell { table, column }, find.kind, &cell.bytes[find.range])
        }));
    });
    finds
}

/// What was found when the run ended, and is not found now because the values are not known any more.
fn with_known(mut finds: Vec<Find>, known: Vec<Find>, bytes: usize) -> Vec<Find> {
    for find in known {
        let is_inside = find.range.start < find.range.end && find.range.end <= bytes;
        let is_new = !finds.iter().any(|other| {
            other.in_frame.is_some() == find.in_frame.is_some()
                && other.range.start < find.range.end
                && find.range.start < other.range.end
                && (other.in_frame == find.in_frame || find.in_frame.is_none())
        });
        if is_inside && is_new {
            finds.push(find);
        }
    }
    finds.sort_by_key(|find| (find.range.start, find.in_frame.as_ref().map(|frame| frame.start)));
    finds
}

fn shown(path: &str, place: Place, kind: Kind, found: &[u8]) -> FileFind {
    let begins = String::from_utf8_lossy(&found[..found.len().min(4 * SHOWN_CHARS)]);
    FileFind {
        path: path.to_owned(),
        place,
        kind,
        begins: begins.chars().take(SHOWN_CHARS).collect(),
        bytes: found.len(),
        find: None,
    }
}

fn place(bytes: &[u8], is_text: bool, at: usize) -> Place {
    if !is_text {
        return Place::Byte(at);
    }
    let before = &bytes[..at];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    Place::Text {
        line: before.split(|byte| *byte == b'\n').count(),
        column: at - line_start + 1,
    }
}

/// Whether frames in base64 stand in it.
pub(super) fn is_record(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name == "record.jsonl") && !is_store(path)
}

/// Whether a server wrote it: a frozen copy keeps its form, whatever is in it.
pub(super) fn is_store(path: &str) -> bool {
    path.split('/').any(|part| part == "stores")
}

/// Every file below a folder, in order.
pub(super) fn files_below(root: &Path) -> Result<Vec<String>, SearchError> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(SearchError::file(&folder))? {
            let entry = entry.map_err(SearchError::file(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(SearchError::file(&path))?.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            files.push(inside.to_string_lossy().into_owned());
            if files.len() > FILES_MAX {
                return Err(SearchError::TooMany {
                    path: root.to_path_buf(),
                });
            }
        }
    }
    files.sort();
    Ok(files)
}
