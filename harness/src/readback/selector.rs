//! What counts as an effect in a store, whatever kind the store is, and one such question with its parameters.
//!
//! Must not open anything. A selector is what a profile says or a search found; a query is a selector with the marker and
//! the other values of one operation, as it is recorded in observations and asked again by `verify`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::files::query::{FileKeys, FileQuery, FileQueryError, toml_text};
use super::scan::calibration::Calibration;

/// Which parts of a store are effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Selector {
    /// The rows of an SQL statement.
    Sql {
        /// The SQLite file in the store's folder; none where the store is one file.
        path: Option<String>,
        /// The statement.
        sql: String,
    },
    /// Parts of files.
    Files(FileQuery),
    /// Growth of several places of a marker that is like that of one effect: what a search found, never what a profile says.
    Places {
        /// One effect.
        places: Calibration,
        /// The place that most plausibly is the effect itself, and whose rows are as many as effects. It alone is looked at while
        /// the server lives, because a whole store is scanned only when it is frozen; and its rows are shown.
        shown: Box<Selector>,
    },
}

/// A selector with the values of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "Keys", into = "Keys")]
pub struct Query {
    /// What is selected.
    pub selector: Selector,
    /// Values by name, written without the `$`: `marker`, `operation`, `principal`.
    pub parameters: BTreeMap<String, String>,
}

/// The parameter by which files and places are searched.
const MARKER: &str = "marker";

impl Query {
    /// A selector with its parameters, given as pairs of a name (without `$`) and a value.
    pub fn new<'a>(selector: Selector, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            selector,
            parameters: parameters.into_iter().map(owned).collect(),
        }
    }

    /// The marker of the operation, empty where there is none.
    pub fn marker(&self) -> &str {
        self.parameters.get(MARKER).map_or("", String::as_str)
    }

    /// What of it is asked of a living store.
    #[must_use]
    pub fn while_living(&self) -> Self {
        Self {
            selector: self.selector.while_living().clone(),
            parameters: self.parameters.clone(),
        }
    }
}

impl Selector {
    /// An SQL statement on a store that is one SQLite file.
    pub fn sql(sql: impl Into<String>) -> Self {
        Self::Sql {
            path: None,
            sql: sql.into(),
        }
    }

    /// From the keys of `[read.…]`: `sql`, with `path` where the store is a folder, or those of [`FileQuery`].
    pub fn from_keys(sql: Option<String>, files: FileKeys) -> Result<Self, FileQueryError> {
        let Some(sql) = sql else {
            return FileQuery::try_from(files).map(Self::Files);
        };
        let path = files.path.clone();
        if files
            != (FileKeys {
                path,
                ..FileKeys::default()
            })
        {
            return Err(FileQueryError::NotOne);
        }
        files.refuse_outside()?;
        Ok(Self::Sql { path: files.path, sql })
    }

    /// What of it is asked of a living store: all, or the place that is the effect.
    pub fn while_living(&self) -> &Self {
        match self {
            Self::Places { shown, .. } => shown,
            Self::Sql { .. } | Self::Files(_) => self,
        }
    }
}

/// The keys as they are written, those of a query with parameters.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Keys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sql: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jsonl: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    places: Option<Calibration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<Box<Selector>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parameters: Option<BTreeMap<String, String>>,
}

impl TryFrom<Keys> for Selector {
    type Error = FileQueryError;

    fn try_from(keys: Keys) -> Result<Self, FileQueryError> {
        let files = FileKeys {
            path: keys.path,
            json: keys.json,
            jsonl: keys.jsonl,
            files: keys.files,
            text: keys.text,
        };
        match (keys.places, keys.shown) {
            _ if keys.parameters.is_some() => Err(FileQueryError::NotOne),
            // One place is shown, never places in their turn: each would be a scan of the whole store.
            (Some(_), Some(shown)) if matches!(*shown, Self::Places { .. }) => Err(FileQueryError::NotOne),
            (Some(places), Some(shown)) if keys.sql.is_none() && files == FileKeys::default() => {
                Ok(Self::Places { places, shown })
            }
            (None, None) => Self::from_keys(keys.sql, files),
            (Some(_), _) | (None, Some(_)) => Err(FileQueryError::NotOne),
        }
    }
}

impl From<Selector> for Keys {
    fn from(selector: Selector) -> Self {
        let files = match &selector {
            Selector::Files(query) => FileKeys::from(query.clone()),
            Selector::Sql { path, .. } => FileKeys {
                path: path.clone(),
                ..FileKeys::default()
            },
            Selector::Places { .. } => FileKeys::default(),
        };
        let (sql, places, shown) = match selector {
            Selector::Sql { sql, .. } => (Some(sql), None, None),
            Selector::Files(_) => (None, None, None),
            Selector::Places { places, shown } => (None, Some(places), Some(shown)),
        };
        Self {
            path: files.path,
            sql,
            json: files.json,
            jsonl: files.jsonl,
            files: files.files,
            text: files.text,
            places,
            shown,
            parameters: None,
        }
    }
}

impl TryFrom<Keys> for Query {
    type Error = FileQueryError;

    fn try_from(mut keys: Keys) -> Result<Self, FileQueryError> {
        let parameters = keys.parameters.take().unwrap_or_default();
        let selector = Selector::try_from(keys)?;
        Ok(Self { selector, parameters })
    }
}

impl From<Query> for Keys {
    fn from(query: Query) -> Self {
        Self {
            parameters: Some(query.parameters),
            ..Self::from(query.selector)
        }
    }
}

/// As somebody would write it behind `--effects`: an SQL statement alone, else TOML keys with commas between. The places of
/// a search are told by name and growth.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql { path: None, sql } => f.write_str(sql),
            Self::Sql { path: Some(path), sql } => write!(f, "path = {}, sql = {}", toml_text(path), toml_text(sql)),
            Self::Files(query) => f.write_str(&query.to_string().replace('\n', ", ")),
            Self::Places { places, shown } if places.one().count() == 1 => shown.fmt(f),
            Self::Places { places, .. } => {
                for (index, (place, count)) in places.one().enumerate() {
                    let before = if index > 0 { ", together with " } else { "" };
                    write!(f, "{before}{place}")?;
                    if count > 1 {
                        write!(f, " × {count}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// As a flag, quoted for a shell.
pub fn flag(selector: &Selector) -> String {
    format!("--effects '{}'", selector.to_string().replace('\'', "'\\''"))
}

/// As a line of a profile.
pub fn profile_line(selector: &Selector) -> String {
    match selector {
        Selector::Sql { path: None, sql } => format!("effects = {{ sql = {} }}", toml_text(sql)),
        Selector::Sql { .. } | Selector::Files(_) | Selector::Places { .. } => format!("effects = {{ {selector} }}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Query, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_query_is_written_as_the_keys_of_a_profile_with_its_parameters() {
        for json in [
            r#"{"sql":"SELECT 1","parameters":{"marker":"mk-1"}}"#,
            r#"{"path":"a.db","sql":"SELECT 1","parameters":{}}"#,
            r#"{"json":"/a","parameters":{"marker":"mk-1"}}"#,
            r#"{"path":"d/a.jsonl","jsonl":true,"parameters":{"marker":"mk-1"}}"#,
            r#"{"files":"*.md","parameters":{"marker":"mk-1"}}"#,
        ] {
            let query = read(json).expect(json);
            assert_eq!(serde_json::to_string(&query).expect("plain data"), json);
        }
    }

    #[test]
    fn what_is_none_or_more_than_one_is_refused() {
        for json in [
            r#"{"parameters":{}}"#,
            r#"{"sql":"SELECT 1","jsonl":true,"parameters":{}}"#,
            r#"{"sql":"SELECT 1","path":"../a.db","parameters":{}}"#,
            r#"{"sql":"SELECT 1","other":1,"parameters":{}}"#,
            r#"{"shown":{"sql":"SELECT 1"},"parameters":{}}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn it_is_told_as_it_would_be_written() {
        let told = |json: &str| read(json).expect(json).selector.to_string();
        assert_eq!(told(r#"{"sql":"SELECT 1","parameters":{}}"#), "SELECT 1");
        assert_eq!(
            told(r#"{"path":"a","jsonl":true,"parameters":{}}"#),
            r#"path = "a", jsonl = true"#
        );
        let sql = read(r#"{"sql":"SELECT \"a\"","parameters":{}}"#).expect("a query");
        assert_eq!(profile_line(&sql.selector), r#"effects = { sql = 'SELECT "a"' }"#);
    }
}
