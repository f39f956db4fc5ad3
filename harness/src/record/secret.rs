//! What was found of secrets in evidence, as it is stored: places and kinds, and never a value.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How a value was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// As it is, perhaps with escapes.
    Plain,
    /// In base64, of either alphabet, at any place of the encoded text.
    Base64,
    /// In hexadecimal digits.
    Hex,
    /// In UTF-16, of either byte order.
    Utf16,
}

impl Encoding {
    /// The words that people read.
    pub fn words(self) -> &'static str {
        match self {
            Self::Plain => "as it is",
            Self::Base64 => "in base64",
            Self::Hex => "in hexadecimal",
            Self::Utf16 => "in UTF-16",
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kind {
    /// The value of a secret.
    Value {
        /// The variable.
        name: String,
        /// How it was written down.
        encoding: Encoding,
    },
    /// What looks like a credential.
    Shape(String),
}

impl Kind {
    /// The words that people read.
    pub fn words(&self) -> String {
        match self {
            Self::Value { name, encoding } => format!("the value of {name}, {}", encoding.words()),
            Self::Shape(name) => name.clone(),
        }
    }
}

/// A place in a file that holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// What it is.
    pub kind: Kind,
    /// The bytes of the file, from and to.
    pub range: Range<usize>,
    /// Where `range` is the base64 of a frame: the bytes of the frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_frame: Option<Range<usize>>,
}

/// What became of the search that a run makes for the values of its own secrets, which nobody knows any more afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SecretsSearch {
    /// The variables whose values were looked for.
    pub names: Vec<String>,
    /// Where they were found.
    pub found: Vec<FoundSecret>,
}

/// A place of the evidence that holds the value of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FoundSecret {
    /// The file.
    pub path: String,
    /// Where in it.
    pub find: Find,
}
