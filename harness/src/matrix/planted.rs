//! Planted defects, and the checks that have to notice each: as a value, and as a file for a server of one's own.
//!
//! ```toml
//! format = 1
//!
//! [[defect]]
//! name  = "forgets-keys"
//! says  = "Keys are kept in memory: a restart forgets them."
//! kills = ["lost-reply:one-effect"]
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::document::{self, DocumentError};

/// The version of such a file.
pub const PLANTED_FORMAT: u32 = 1;

/// A defect that a server can be started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// The name by which it is planted.
    pub name: String,
    /// What goes wrong, in one sentence.
    pub says: String,
    /// The checks that have to notice it.
    pub kills: Vec<Kill>,
}

/// A check that has to notice a defect, written `case:check`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Kill {
    /// The case.
    pub case: String,
    /// The check in it.
    pub check: String,
}

impl fmt::Display for Kill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.case, self.check)
    }
}

impl FromStr for Kill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((case, check)) if !case.is_empty() && !check.is_empty() => Ok(Self {
                case: case.to_owned(),
                check: check.to_owned(),
            }),
            Some(_) | None => Err(format!("`{text}` is not written `case:check`")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWritten {
    format: u32,
    #[serde(default)]
    defect: Vec<DefectWritten>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefectWritten {
    name: String,
    #[serde(default)]
    says: String,
    #[serde(default)]
    kills: Vec<String>,
}

/// Reads a list of defects; `name` is what errors call the file.
pub fn parse(name: &str, text: &str) -> Result<Vec<Planted>, DocumentError> {
    let written: FileWritten = document::parse(name, text)?;
    if written.format != PLANTED_FORMAT {
        let message = format!(
            "format = {}: this harness reads format {PLANTED_FORMAT}",
            written.format
        );
        return Err(document::refuse(name, message));
    }
    let mut names = BTreeSet::new();
    let mut planted = Vec::new();
    for defect in written.defect {
        let refused = |message: String| document::refuse(name, format!("defect `{}`: {message}", defect.name));
        if !is_name(&defect.name) {
            let rule = "a name has letters, digits, `-` and `_`, and is not `baseline`";
            return Err(refused(rule.to_owned()));
        }
        if !names.insert(defect.name.clone()) {
            return Err(refused("it is listed twice".to_owned()));
        }
        let kills = defect.kills.iter().map(|kill| kill.parse());
        let kills = kills.collect::<Result<_, _>>().map_err(refused)?;
        planted.push(Planted {
            name: defect.name,
            says: defect.says,
            kills,
        });
    }
    Ok(planted)
}

/// Evidence is kept in a folder that is called like the defect, beside that of the run without one.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name != "baseline" && name.chars().all(is_plain)
}
