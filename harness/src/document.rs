//! Reading a TOML document that a person wrote: every error names the file, the line, the column, and the next step.
//!
//! Used for case files and target profiles alike. It knows nothing of what the documents mean.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::plain_file;

/// Refuses a file larger than this (bytes) before parsing it: neither a case nor a profile comes near it.
pub const DOCUMENT_BYTES_MAX: u64 = 1024 * 1024;

/// How far a known key may be from an unknown one (Jaro-Winkler, 0 to 1) to be offered instead of it.
const NEAREST_SIMILARITY_MIN: f64 = 0.7;

/// Why a document was refused.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file could not be read.
    #[error("read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is larger than [`DOCUMENT_BYTES_MAX`].
    #[error("read {path}: it has more than the {DOCUMENT_BYTES_MAX} bytes that such a file may have")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The text is not TOML, or not of the expected form.
    #[error("{place}: {message}")]
    Form {
        /// `file:line:column`, or `file` where the place is not known.
        place: String,
        /// What is wrong there, with the nearest known key where one is near.
        message: String,
    },
}

/// Reads a whole document, at most [`DOCUMENT_BYTES_MAX`] bytes.
pub fn read(path: &Path) -> Result<String, DocumentError> {
    let read = |source| DocumentError::Read {
        path: path.to_path_buf(),
        source,
    };
    let mut text = String::new();
    let file = plain_file::open(path).map_err(read)?;
    file.take(DOCUMENT_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(read)?;
    if text.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(DocumentError::TooLarge {
            path: path.to_path_buf(),
        });
    }
    Ok(text)
}

/// Parses `text` as a `T`. `name` is what errors call the document.
pub fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, DocumentError> {
    toml::from_str(text).map_err(|error| DocumentError::Form {
        place: place(name, text, error.span()),
        message: explain(&in_words(error.message(), key_before(text, error.span()))),
    })
}

/// An error of meaning (not of form) that names the document.
pub fn refuse(name: &str, message: impl Into<String>) -> DocumentError {
    DocumentError::Form {
        place: name.to_owned(),
        message: message.into(),
    }
}

/// The same, at the place in `text` that is wrong, where it is known.
pub fn refuse_at(
    name: &str,
    text: &str,
    span: Option<std::ops::Range<usize>>,
    message: impl Into<String>,
) -> DocumentError {
    DocumentError::Form {
        place: place(name, text, span),
        message: message.into(),
    }
}

fn place(name: &str, text: &str, span: Option<std::ops::Range<usize>>) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return name.to_owned();
    };
    let line = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[line_start..].chars().count() + 1;
    format!("{name}:{line}:{column}")
}

/// The key whose value stands at a place, where there is one on the same line.
fn key_before(text: &str, span: Option<std::ops::Range<usize>>) -> Option<&str> {
    let before = text.get(..span?.start)?.lines().next_back()?;
    let before = before.trim_end().strip_suffix('=')?.trim_end();
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let key = before.rsplit(|c: char| !is_of_key(c)).next()?;
    (!key.is_empty()).then_some(key)
}

/// What a parser says of a wrong type, in the words of the document instead of those of our types; `key` is the key of the value,
/// whose last part can name a unit.
pub fn in_words(message: &str, key: Option<&str>) -> String {
    const BETWEEN: &str = ", expected ";
    let (Some((found, rest)), true) = (message.split_once(BETWEEN), message.starts_with("invalid ")) else {
        return message.to_owned();
    };
    // A parser of JSON says the place behind it.
    let (expected, place) = match rest.find(" at line ") {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let is_object = expected.starts_with("struct ") || expected.starts_with("internally tagged enum");
    let found = match found.strip_prefix("invalid type: ").unwrap_or(found) {
        "sequence" => "invalid type: a list".to_owned(),
        "map" => "invalid type: a table".to_owned(),
        // Types of ours can be read from lists too, which nobody is told to write.
        length if is_object && length.starts_with("invalid length") => "invalid type: a list".to_owned(),
        _ => found.to_owned(),
    };
    let unit = match key {
        Some(key) if key.ends_with("_ms") => " (milliseconds)",
        Some(key) if key.ends_with("_s") => " (seconds)",
        Some(_) | None => "",
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => format!("a whole number{unit}, 0 or more, without quotes"),
        "i8" | "i16" | "i32" | "i64" | "isize" => format!("a whole number{unit}, without quotes"),
        "f32" | "f64" => format!("a number{unit}, without quotes"),
        "a string" | "string" | "str" => "a text in quotes".to_owned(),
        "a boolean" => "true or false, without quotes".to_owned(),
        "a sequence" => "a list: [ … ]".to_owned(),
        "a map" => "a table: { key = value }".to_owned(),
        "a tuple of size 2" => "pairs: [[\"a\", \"b\"]]".to_owned(),
        _ if is_object => "an object with keys".to_owned(),
        other => other.to_owned(),
    };
    format!("{found}{BETWEEN}{expected}{place}")
}

/// Turns serde's list of everything that would have been right into the one thing that was probably meant.
fn explain(message: &str) -> String {
    let message = message.lines().next().unwrap_or(message);
    let (what, kind) = if let Some(rest) = message.strip_prefix("unknown field `") {
        (rest, "key")
    } else if let Some(rest) = message.strip_prefix("unknown variant `") {
        (rest, "value")
    } else if message == "missing field `format`" {
        return "missing field `format`; begin with `format = 1`".to_owned();
    } else {
        return message.to_owned();
    };
    let mut quoted = what.split('`');
    let unknown = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.skip(1).step_by(2).collect();
    match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("unknown {kind} `{unknown}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown {kind} `{unknown}`"),
        None => format!("unknown {kind} `{unknown}`; known here: {}", known.join(", ")),
    }
}

/// The known word nearest to `word`, where one is near enough to be what was meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= NEAREST_SIMILARITY_MIN)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Launch {
        #[expect(dead_code, reason = "only its form is under test")]
        command: Vec<String>,
    }

    fn message(text: &str) -> String {
        parse::<Launch>("target.toml", text)
            .expect_err("the text is wrong on purpose")
            .to_string()
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_known_one_and_its_place() {
        assert_eq!(
            message("command = []\n  comand = 1\n"),
            "target.toml:2:3: unknown key `comand`; did you mean `command`?"
        );
    }

    #[test]
    fn a_key_near_nothing_gets_the_list() {
        assert_eq!(
            message("zzz = 1"),
            "target.toml:1:1: unknown key `zzz`; known here: command"
        );
    }

    #[test]
    fn a_wrong_type_names_its_place() {
        assert_eq!(
            message("command = 3"),
            "target.toml:1:11: invalid type: integer `3`, expected a list: [ … ]"
        );
    }

    #[test]
    fn wrong_types_are_told_without_the_names_of_ours() {
        for (said, key, told) in [
            (
                "invalid type: string \"5s\", expected u64",
                Some("reply_ms"),
                "invalid type: string \"5s\", expected a whole number (milliseconds), 0 or more, without quotes",
            ),
            (
                "invalid type: string \"1\", expected u32",
                Some("revision"),
                "invalid type: string \"1\", expected a whole number, 0 or more, without quotes",
            ),
            (
                "invalid type: string \"a\", expected a tuple of size 2",
                None,
                "invalid type: string \"a\", expected pairs: [[\"a\", \"b\"]]",
            ),
            (
                "invalid length 1, expected struct Head with 2 elements at line 1 column 9",
                None,
                "invalid type: a list, expected an object with keys at line 1 column 9",
            ),
            (
                "invalid type: sequence, expected a string",
                None,
                "invalid type: a list, expected a text in quotes",
            ),
            ("missing field `format`", None, "missing field `format`"),
        ] {
            assert_eq!(in_words(said, key), told);
        }
        let text = "bounds = { start_ms = 1, reply_ms = \"5s\" }";
        let at = text.find("\"5s").expect("the value");
        assert_eq!(key_before(text, Some(at..at + 4)), Some("reply_ms"));
        assert_eq!(key_before(text, Some(0..1)), None);
    }
}
