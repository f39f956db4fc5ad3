//! The vectors of one file as questions, each with what has to be answered. Embedded, or from a file of the user's.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::written::{ContinuationFile, FingerprintFile, Head, RecoveryFile, RefusedBy};
use crate::{document, plain_file};

/// A file of vectors is never larger than this, in bytes.
pub const VECTORS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The format of the files and of the questions.
const FORMAT: u64 = 1;

/// What vectors are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// The canonical form and the fingerprint of a request.
    Fingerprint,
    /// What a client may do after a lost reply.
    Recovery,
    /// What a request that follows another one comes to.
    Continuation,
}

impl Set {
    /// All sets, in the order in which they are checked.
    pub const ALL: [Self; 3] = [Self::Fingerprint, Self::Recovery, Self::Continuation];

    /// The word in files and questions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fingerprint => "fingerprint",
            Self::Recovery => "recovery",
            Self::Continuation => "continuation",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The vectors of one set.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// What they are about.
    pub set: Set,
    /// In the order of the file.
    pub vectors: Vec<Vector>,
}

/// One question and what has to be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// Its name, unique in its set.
    pub name: String,
    /// Whose policy it is, where the file says so.
    pub kind: Option<String>,
    /// What an implementation is asked: an object with `format`, `set`, `name`, and what the set needs.
    pub question: Value,
    /// What it has to answer.
    pub expected: Expected,
}

/// What has to be answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// The canonical text and the fingerprint of a request.
    Fingerprint {
        /// The canonical text.
        canonical: String,
        /// Its SHA-256.
        fingerprint: String,
    },
    /// The request is refused.
    Refused {
        /// The place that must be named; none where any will do.
        place: Option<String>,
    },
    /// What the client may do.
    Recovery {
        /// The name of the action.
        action: String,
        /// Why it must stop.
        reason: Option<String>,
        /// The result that it hands out.
        result: Option<Value>,
    },
    /// What the server or the client does.
    Continuation {
        /// The word for it.
        decision: String,
    },
}

/// A file of vectors that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// It could not be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not JSON, or not of the form that its set has.
    #[error("{place}: {}", document::in_words(&source.to_string(), None))]
    Form {
        /// The file.
        place: String,
        /// What the parser says, with line and column.
        source: serde_json::Error,
    },
    /// It contradicts itself, or is of another format.
    #[error("{place}: {problem}")]
    Content {
        /// The file.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

impl Suite {
    /// The vectors of a set that are part of this library.
    pub fn embedded(set: Set) -> Self {
        let (place, text) = match set {
            Set::Fingerprint => ("fingerprint.json", include_str!("../../../vectors/fingerprint.json")),
            Set::Recovery => ("recovery.json", include_str!("../../../vectors/recovery.json")),
            Set::Continuation => ("continuation.json", include_str!("../../../vectors/continuation.json")),
        };
        Self::parse(place, text).expect("an embedded file of vectors is well-formed: a test reads each")
    }

    /// Reads a file, whatever its set.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let read = |source| SuiteError::Read {
            path: path.to_path_buf(),
            source,
        };
        let file = plain_file::open(path).map_err(read)?;
        let bytes = plain_file::read_at_most(file, VECTORS_BYTES_MAX).map_err(read)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| read(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a text; `place` says where it is from.
    pub fn parse(place: &str, text: &str) -> Result<Self, SuiteError> {
        let content = |problem: String| SuiteError::Content {
            place: place.to_owned(),
            problem,
        };
        let head: Head = from_json(place, text)?;
        if head.format != FORMAT {
            return Err(content(format!(
                "it is of format {}; this harness reads format {FORMAT}",
                head.format
            )));
        }
        let set = Set::ALL.into_iter().find(|set| set.name() == head.set);
        let set = set.ok_or_else(|| content(format!("there is no set {:?}", head.set)))?;
        let vectors = match set {
            Set::Fingerprint => fingerprints(&from_json(place, text)?).map_err(content)?,
            Set::Recovery => recoveries(from_json(place, text)?),
            Set::Continuation => continuations(from_json(place, text)?),
        };
        let mut names = BTreeSet::new();
        if let Some(twice) = vectors.iter().find(|vector| !names.insert(&vector.name)) {
            return Err(content(format!("two vectors are named {:?}", twice.name)));
        }
        Ok(Self { set, vectors })
    }
}

fn from_json<T: DeserializeOwned>(place: &str, text: &str) -> Result<T, SuiteError> {
    serde_json::from_str(text).map_err(|source| SuiteError::Form {
        place: place.to_owned(),
        source,
    })
}

fn vector(set: Set, name: &str, kind: Option<String>, asked: &Value, expected: Expected) -> Vector {
    let mut question = json!({"format": FORMAT, "set": set.name(), "name": name});
    for (member, value) in asked.as_object().into_iter().flatten() {
        question[member] = value.clone();
    }
    Vector {
        name: name.to_owned(),
        kind,
        question,
        expected,
    }
}

fn fingerprints(file: &FingerprintFile) -> Result<Vec<Vector>, String> {
    check_pairs(file)?;
    let key = &file.key_hex;
    let ask = |name: &str, key: &str, request: &str, expected| {
        let asked = json!({"key_hex": key, "request_json": request});
        vector(Set::Fingerprint, name, None, &asked, expected)
    };
    let made = |canonical: &str, fingerprint: &str| Expected::Fingerprint {
        canonical: canonical.to_owned(),
        fingerprint: fingerprint.to_owned(),
    };
    let mut vectors = Vec::new();
    for one in &file.vectors {
        let request = Value::from(one.request.clone()).to_string();
        vectors.push(ask(&one.name, key, &request, made(&one.canonical, &one.fingerprint)));
    }
    for one in &file.spellings {
        vectors.push(ask(
            &one.name,
            key,
            &one.request_json,
            made(&one.canonical, &one.fingerprint),
        ));
    }
    let numbers = &file.equal_numbers;
    if numbers.canonical.len() != numbers.pairs.len() || numbers.fingerprints.len() != numbers.pairs.len() {
        return Err("`equal_numbers` needs a canonical text and a fingerprint for each pair".to_owned());
    }
    for (index, pair) in numbers.pairs.iter().enumerate() {
        for (side, request) in pair.iter().enumerate() {
            let expected = made(&numbers.canonical[index], &numbers.fingerprints[index]);
            vectors.push(ask(&format!("equal_numbers[{index}][{side}]"), key, request, expected));
        }
    }
    for one in &file.invalid {
        let place = match one.refused_by {
            RefusedBy::Json => None,
            RefusedBy::Canonical | RefusedBy::Key => Some(one.error_path.clone()),
        };
        let key = one.key_hex.as_ref().unwrap_or(key);
        vectors.push(ask(&one.name, key, &one.request_json, Expected::Refused { place }));
    }
    Ok(vectors)
}

/// What the file says of its own fingerprints must be so.
fn check_pairs(file: &FingerprintFile) -> Result<(), String> {
    for (pairs, must_be_equal) in [(&file.same, true), (&file.different, false)] {
        for [left, right] in pairs {
            let of = |name: &String| {
                let vector = file.vectors.iter().find(|vector| vector.name == *name);
                vector
                    .map(|vector| &vector.fingerprint)
                    .ok_or_else(|| format!("there is no vector {name:?}"))
            };
            if (of(left)? == of(right)?) != must_be_equal {
                let word = if must_be_equal { "the same" } else { "different" };
                return Err(format!("the fingerprints of {left:?} and {right:?} are not {word}"));
            }
        }
    }
    Ok(())
}

fn recoveries(file: RecoveryFile) -> Vec<Vector> {
    let attempt = file.attempt;
    let each = |one: super::written::RecoveryVector| {
        let mut asked = json!({"attempt": attempt});
        let mut result = None;
        if let Some(observation) = one.observation {
            result = observation.get("result").filter(|_| one.reason.is_none()).cloned();
            asked["observation"] = observation;
        }
        let expected = Expected::Recovery {
            action: one.action,
            reason: one.reason,
            result,
        };
        vector(Set::Recovery, &one.name, None, &asked, expected)
    };
    file.vectors.into_iter().map(each).collect()
}

fn continuations(file: ContinuationFile) -> Vec<Vector> {
    let each = |one: super::written::ContinuationVector| {
        let mut request = file.base.clone();
        request.extend(one.changes);
        let asked = json!({
            "key_hex": file.key_hex, "base": file.base, "request": request, "transport": one.transport,
        });
        let expected = Expected::Continuation { decision: one.expected };
        vector(Set::Continuation, &one.name, Some(one.kind), &asked, expected)
    };
    file.vectors.into_iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_files_are_read() {
        for (set, count_min) in [(Set::Fingerprint, 50), (Set::Recovery, 90), (Set::Continuation, 12)] {
            let suite = Suite::embedded(set);
            assert_eq!(suite.set, set);
            assert!(suite.vectors.len() >= count_min, "{set}: {}", suite.vectors.len());
        }
    }

    #[test]
    fn a_file_that_contradicts_itself_is_refused() {
        let text = include_str!("../../../vectors/fingerprint.json");
        let mut file: Value = serde_json::from_str(text).expect("JSON");
        let refused = |file: &Value| {
            Suite::parse("x.json", &file.to_string())
                .expect_err("refused")
                .to_string()
        };
        let different = file["different"].clone();
        file["same"] = different;
        assert!(refused(&file).ends_with("are not the same"), "{}", refused(&file));
        file["same"] = json!([["nobody", "nobody"]]);
        assert_eq!(refused(&file), "x.json: there is no vector \"nobody\"");
        file["same"] = json!([]);
        file["vectors"][1]["name"] = file["vectors"][0]["name"].clone();
        file["different"] = json!([]);
        assert_eq!(
            refused(&file),
            "x.json: two vectors are named \"00_control_single_round\""
        );
        file["unknown"] = json!(1);
        assert!(
            refused(&file).starts_with("x.json: unknown field `unknown`"),
            "{}",
            refused(&file)
        );
        assert_eq!(
            refused(&json!({"format": 2, "set": "recovery"})),
            "x.json: it is of format 2; this harness reads format 1"
        );
        assert_eq!(
            refused(&json!({"format": 1, "set": "x"})),
            "x.json: there is no set \"x\""
        );
    }
}
