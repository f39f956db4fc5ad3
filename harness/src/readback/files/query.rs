//! What an explicit read-back of files counts, as a value: the keys of `[read.effects]` that are not `sql`.
//!
//! Must not open a file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest glob. What it becomes is much larger.
pub const GLOB_BYTES_MAX: usize = 1024;

/// How much of a longer one an error repeats.
const GLOB_LETTERS_TOLD: usize = 40;

/// Which parts of which files are effects. The marker selects among them; it stands anywhere inside.
///
/// Written as in a profile: `json = "/entities"`, `jsonl = true`, `files = "notes/*.md"` or `text = "notes.txt"`, with
/// `path = "memory.json"` beside the first two where the store is a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "FileKeys", into = "FileKeys")]
pub enum FileQuery {
    /// Every element of one array, or every member of one object, of one JSON document.
    Json {
        /// The file in the store's folder; none where the store is one file.
        path: Option<String>,
        /// A JSON pointer (RFC 6901) to the array or object; empty for the whole document.
        pointer: String,
    },
    /// Every line of one file of JSON Lines.
    JsonLines {
        /// The file in the store's folder; none where the store is one file.
        path: Option<String>,
    },
    /// Every file that carries the marker in its name or its bytes.
    Files {
        /// A glob for paths in the store; `*` stops at `/`, `**` does not.
        glob: String,
    },
    /// Every occurrence of the marker in the bytes of files.
    Text {
        /// A glob, as for files.
        glob: String,
    },
}

/// The keys as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileKeys {
    /// The file in the store's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Elements at this pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonl: Option<bool>,
    /// Files of this glob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// Occurrences in files of this glob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl FileKeys {
    /// A path has to stay in the store's folder, and say one file.
    pub(in crate::readback) fn refuse_outside(&self) -> Result<(), FileQueryError> {
        let Some(path) = self.path.as_deref() else {
            return Ok(());
        };
        let is_one_file = self.files.is_none() && self.text.is_none();
        let is_inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if is_one_file && is_inside {
            return Ok(());
        }
        Err(FileQueryError::Path { path: path.into() })
    }
}

/// Why keys are no query of files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileQueryError {
    /// None, or more than one.
    #[error(
        "say once what is counted: one of `sql = \"SELECT …\"`, `json = \"/pointer\"`, `jsonl = true`, `files = \"*.md\"`, `text = \"*.txt\"`"
    )]
    NotOne,
    /// A pointer that points nowhere by its form.
    #[error("json = {pointer:?} is no JSON pointer; begin it with `/`, or leave it empty for the whole document")]
    Pointer {
        /// The text.
        pointer: String,
    },
    /// A glob of a wrong form.
    #[error("{glob:?} is no glob: {reason}")]
    Glob {
        /// The text.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A path that leads out of the store, or a path where globs say which files.
    #[error(
        "path = {path:?} is no file in the store; write it with `/`, from the store's folder, beside json or jsonl only"
    )]
    Path {
        /// The text.
        path: String,
    },
}

impl TryFrom<FileKeys> for FileQuery {
    type Error = FileQueryError;

    fn try_from(keys: FileKeys) -> Result<Self, FileQueryError> {
        keys.refuse_outside()?;
        match (keys.json, keys.jsonl, keys.files, keys.text) {
            (Some(pointer), None, None, None) if pointer.is_empty() || pointer.starts_with('/') => Ok(Self::Json {
                path: keys.path,
                pointer,
            }),
            (Some(pointer), None, None, None) => Err(FileQueryError::Pointer { pointer }),
            (None, Some(true), None, None) => Ok(Self::JsonLines { path: keys.path }),
            (None, None, Some(glob), None) => {
                matcher(&glob)?;
                Ok(Self::Files { glob })
            }
            (None, None, None, Some(glob)) => {
                matcher(&glob)?;
                Ok(Self::Text { glob })
            }
            _ => Err(FileQueryError::NotOne),
        }
    }
}

impl From<FileQuery> for FileKeys {
    fn from(query: FileQuery) -> Self {
        let none = Self::default();
        match query {
            FileQuery::Json { path, pointer } => Self {
                path,
                json: Some(pointer),
                ..none
            },
            FileQuery::JsonLines { path } => Self {
                path,
                jsonl: Some(true),
                ..none
            },
            FileQuery::Files { glob } => Self {
                files: Some(glob),
                ..none
            },
            FileQuery::Text { glob } => Self {
                text: Some(glob),
                ..none
            },
        }
    }
}

/// As TOML keys, one behind the other: what to paste, and what errors call the query.
impl fmt::Display for FileQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Option<String>| path.as_deref().map(|path| format!("path = {}\n", toml_text(path)));
        match self {
            Self::Json { path: file, pointer } => {
                write!(f, "{}json = {}", path(file).unwrap_or_default(), toml_text(pointer))
            }
            Self::JsonLines { path: file } => write!(f, "{}jsonl = true", path(file).unwrap_or_default()),
            Self::Files { glob } => write!(f, "files = {}", toml_text(glob)),
            Self::Text { glob } => write!(f, "text = {}", toml_text(glob)),
        }
    }
}

/// A text as TOML writes it.
pub(in crate::readback) fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// What a glob matches. A set of one, because only a set says what the machine behind it refuses; a matcher panics.
pub(super) fn matcher(glob: &str) -> Result<globset::GlobSet, FileQueryError> {
    if glob.len() > GLOB_BYTES_MAX {
        let head: String = glob.chars().take(GLOB_LETTERS_TOLD).collect();
        return Err(FileQueryError::Glob {
            glob: head + "…",
            reason: format!("it has {} bytes, more than {GLOB_BYTES_MAX}; use `*`", glob.len()),
        });
    }
    let built = globset::GlobBuilder::new(glob).literal_separator(true).build();
    let set = built.and_then(|built| globset::GlobSet::builder().add(built).build());
    set.map_err(|error| FileQueryError::Glob {
        glob: glob.into(),
        reason: error.kind().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_bounded_and_none_panics() {
        let nested = |depth: usize| "{".repeat(depth) + "a" + &"}".repeat(depth);
        for glob in [
            nested(500),
            nested(300),
            "?".repeat(GLOB_BYTES_MAX),
            "[!a]*".repeat(200),
        ] {
            // Whether it is one is for the library to say.
            let _ = matcher(&glob);
        }
        assert!(matcher(&"?".repeat(GLOB_BYTES_MAX)).is_ok());
        let told = matcher(&"é".repeat(GLOB_BYTES_MAX)).map(drop).expect_err("too long");
        assert!(told.to_string().contains("it has 2048 bytes, more than 1024"), "{told}");
        assert!(told.to_string().len() < 200, "{told}");
    }
}
