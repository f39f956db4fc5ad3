//! The rows of a query, from the bytes of the files that it is about. Pure: it is given names and bytes.
//!
//! Must not count what a save left aside, and must not let a torn text pass for a whole one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::aside::is_set_aside;
use super::json::{self, Broken};
use super::query::FileQuery;
use super::rows::{Element, cell, size, table};
use crate::readback::error::Bound;
use crate::readback::marker::Marker;
use crate::readback::query::{ANSWER_BYTES_MAX, ROWS_MAX};
use crate::readback::{ReadError, Rows};

/// What a query of files found.
#[derive(Debug, Clone, PartialEq)]
pub struct FileAnswer {
    /// The effects: of a torn text those that stand whole before the place where it ends.
    pub rows: Rows,
    /// Where a file was cut off, if one was. Then nothing is known of what should follow, so the rows are no count.
    pub torn: Option<String>,
    /// Files left by a save that match the query and carry the marker. They are not counted.
    pub set_aside: Vec<String>,
}

impl FileAnswer {
    /// The rows, if they are a count; a torn file is an unreadable store, whatever stands before the tear.
    pub fn whole(self, store: &Path) -> Result<Rows, ReadError> {
        match self.torn {
            None => Ok(self.rows),
            Some(torn) => Err(ReadError::Unreadable {
                store: store.into(),
                reason: format!(
                    "{torn}; {} of the marked effects stand whole before that; look at how the server saves",
                    self.rows.count()
                ),
            }),
        }
    }
}

/// Who asks what.
pub(super) struct Question<'a> {
    /// The store, for errors.
    pub(super) store: &'a Path,
    /// The query.
    pub(super) query: &'a FileQuery,
    /// The marker.
    pub(super) marker: &'a Marker,
}

impl Question<'_> {
    /// Answers from these files.
    pub(super) fn answer(&self, files: &BTreeMap<String, Vec<u8>>) -> Result<FileAnswer, ReadError> {
        match self.query {
            FileQuery::Json { pointer, .. } => self.in_document(self.only(files)?, pointer),
            FileQuery::JsonLines { .. } => self.in_lines(self.only(files)?),
            FileQuery::Files { glob } => self.in_files(files, glob, &["file", "bytes", "sha256"], one_row),
            FileQuery::Text { glob } => self.in_files(files, glob, &["file", "text"], rows_of_lines),
        }
    }

    fn only<'f>(&self, files: &'f BTreeMap<String, Vec<u8>>) -> Result<(&'f str, &'f [u8]), ReadError> {
        let absent = || ReadError::Absent {
            store: self.store.into(),
        };
        let (name, bytes) = files.iter().next().ok_or_else(absent)?;
        Ok((name, bytes))
    }

    fn in_document(&self, (name, bytes): (&str, &[u8]), pointer: &str) -> Result<FileAnswer, ReadError> {
        let document = match json::document(bytes) {
            Ok(document) => document,
            Err(broken) => return self.broken(name, &broken, &[]),
        };
        let Some(place) = document.pointer(pointer) else {
            return Err(ReadError::NoSuchTable {
                store: self.store.join(name),
                table: format!("{pointer} (a JSON pointer)"),
                sql: self.query.to_string(),
            });
        };
        let elements: Vec<Element> = match place {
            Value::Array(items) => items.iter().map(|value| Element { key: None, value }).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| Element { key: Some(key), value })
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(self.bad("it points to a single value; let it point to the array or object around it"));
            }
        };
        self.rows_of(elements, None)
    }

    fn in_lines(&self, (name, bytes): (&str, &[u8])) -> Result<FileAnswer, ReadError> {
        let mut values: Vec<Value> = Vec::new();
        let read = json::refuse_too_many_values(bytes).and_then(|()| {
            json::each_line(bytes, |line| {
                values.push(serde_json::from_slice(line)?);
                Ok(())
            })
        });
        match read {
            Ok(()) => self.rows_of(elements(&values), None),
            Err(broken) => self.broken(name, &broken, &values),
        }
    }

    fn broken(&self, name: &str, broken: &Broken, before: &[Value]) -> Result<FileAnswer, ReadError> {
        if broken.is_torn {
            return self.rows_of(elements(before), Some(format!("{name}: {broken}")));
        }
        Err(ReadError::Unreadable {
            store: self.store.into(),
            reason: format!("{name}: {broken}; mend or remove it, and look at how the server saves"),
        })
    }

    fn rows_of(&self, mut elements: Vec<Element<'_>>, torn: Option<String>) -> Result<FileAnswer, ReadError> {
        elements.retain(|element| element.is_marked(self.marker));
        let rows = table(&elements).map_err(|bound| self.too_much(bound))?;
        Ok(FileAnswer {
            rows,
            torn,
            set_aside: Vec::new(),
        })
    }

    /// Rows from each file that carries the marker. Files left by a save count only where the glob is about such files.
    fn in_files(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
        glob: &str,
        columns: &[&str],
        rows_of: fn(&str, &[u8], &Marker) -> Vec<Vec<Value>>,
    ) -> Result<FileAnswer, ReadError> {
        let mut rows = Vec::new();
        let mut set_aside = Vec::new();
        let mut bytes_left = ANSWER_BYTES_MAX;
        for (name, bytes) in files {
            let found = rows_of(name, bytes, self.marker);
            if !found.is_empty() && is_set_aside(name) && !is_set_aside(glob) {
                set_aside.push(name.clone());
                continue;
            }
            let bytes: usize = found.iter().flatten().map(size).sum();
            bytes_left = bytes_left
                .checked_sub(bytes)
                .ok_or_else(|| self.too_much(Bound::Answer))?;
            rows.extend(found);
            if rows.len() > ROWS_MAX {
                return Err(self.too_much(Bound::Rows));
            }
        }
        Ok(FileAnswer {
            rows: Rows {
                columns: columns.iter().map(|&column| column.to_owned()).collect(),
                rows,
            },
            torn: None,
            set_aside,
        })
    }

    pub(super) fn bad(&self, reason: impl Into<String>) -> ReadError {
        ReadError::BadQuery {
            store: self.store.into(),
            sql: self.query.to_string(),
            reason: reason.into(),
        }
    }

    fn too_much(&self, bound: Bound) -> ReadError {
        ReadError::TooMuch {
            store: self.store.into(),
            sql: self.query.to_string(),
            bound,
        }
    }
}

fn elements(values: &[Value]) -> Vec<Element<'_>> {
    values.iter().map(|value| Element { key: None, value }).collect()
}

fn one_row(name: &str, bytes: &[u8], marker: &Marker) -> Vec<Vec<Value>> {
    if !marker.is_in(name) && marker.occurrences(bytes) == 0 {
        return Vec::new();
    }
    let sha256 = base16ct::lower::encode_string(&Sha256::digest(bytes));
    vec![vec![json!(name), json!(bytes.len()), json!(sha256)]]
}

/// A line with two occurrences gives two rows. Its number is no part of them: a line that moved is the same line. At most one row more than an answer may have is made for a file.
fn rows_of_lines(name: &str, bytes: &[u8], marker: &Marker) -> Vec<Vec<Value>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let rows = lines.flat_map(|line| {
        let found = usize::try_from(marker.occurrences(line)).unwrap_or(usize::MAX);
        // Once for a line, however often the marker stands in it: a long line is shown by its digest.
        let text = (found > 0).then(|| cell(&json!(String::from_utf8_lossy(line))));
        (0..found).map(move |_| vec![json!(name), text.clone().unwrap_or_default()])
    });
    rows.take(ROWS_MAX + 1).collect()
}
