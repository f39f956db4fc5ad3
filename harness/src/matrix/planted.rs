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
//!
//! A case is named by id, `retry/lost-reply`, or number.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::BASELINE;
use crate::case::Catalogue;
use crate::document::{self, DocumentError};
use crate::record::SUMS_FILE;

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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    format: Spanned<u32>,
    #[serde(default)]
    defect: Vec<DefectWritten>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefectWritten {
    name: Spanned<String>,
    #[serde(default)]
    says: String,
    #[serde(default)]
    kills: Vec<Spanned<String>>,
}

/// What is wrong, and where in the text.
type Refused = (Range<usize>, String);

/// Reads a list of defects that name checks of these cases; `name` is what errors call the file.
pub fn parse(name: &str, text: &str, catalogue: &Catalogue) -> Result<Vec<Planted>, DocumentError> {
    let written: FileWritten = document::parse(name, text)?;
    let listed = list(written, catalogue);
    listed.map_err(|(span, message)| document::refuse_at(name, text, Some(span), message))
}

fn list(written: FileWritten, catalogue: &Catalogue) -> Result<Vec<Planted>, Refused> {
    let format = *written.format.get_ref();
    if format != PLANTED_FORMAT {
        let message = format!("format = {format}: this harness reads format {PLANTED_FORMAT}");
        return Err((written.format.span(), message));
    }
    if written.defect.is_empty() {
        let message = "it lists no defect, so there is nothing to plant; add `[[defect]]` with `name`, and with `kills = \
                       [\"case:check\"]` for the checks that have to notice it";
        return Err((written.format.span(), message.to_owned()));
    }
    let mut names = BTreeSet::new();
    let mut planted = Vec::new();
    for defect in written.defect {
        let (span, name) = (defect.name.span(), defect.name.into_inner());
        let refused = |message: &str| (span.clone(), format!("defect `{name}`: {message}"));
        if !is_name(&name) {
            return Err(refused(
                "a name has letters, digits, `-` and `_`, and is not `baseline` or `SHA256SUMS`",
            ));
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(refused(
                "it is listed twice; names that differ only in case are one folder on some machines",
            ));
        }
        if defect.kills.is_empty() {
            return Err(refused("no check has to notice it; add `kills = [\"case:check\"]`"));
        }
        let kills = kills(&defect.kills, catalogue);
        planted.push(Planted {
            kills: kills.map_err(|(span, message)| (span, format!("defect `{name}`: {message}")))?,
            name,
            says: defect.says,
        });
    }
    Ok(planted)
}

/// Each names a case by id, `family/id` or number, and a check that the case is about: no other one is a proof.
fn kills(written: &[Spanned<String>], catalogue: &Catalogue) -> Result<Vec<Kill>, Refused> {
    let mut kills = Vec::new();
    for word in written {
        let refused = |message: String| (word.span(), message);
        let named: Kill = word.get_ref().parse().map_err(refused)?;
        let found = catalogue.named_check(&named.case, &named.check);
        let (case, check) = found.map_err(|error| refused(error.to_string()))?;
        if !check.about {
            let about = case.checks.iter().filter(|check| check.about);
            let about: Vec<String> = about.map(|check| format!("`{}:{}`", case.id, check.id)).collect();
            let message = format!(
                "`{named}` is not what its case is about, so nothing is shown when it breaks; name {}",
                about.join(" or ")
            );
            return Err(refused(message));
        }
        let kill = Kill {
            case: case.id.clone(),
            check: named.check,
        };
        if kills.contains(&kill) {
            return Err(refused(format!("`{kill}` is named twice")));
        }
        kills.push(kill);
    }
    Ok(kills)
}

/// Whether a defect can be called so. Evidence is kept in a folder of that name, beside that of the run without one.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_taken = [BASELINE, SUMS_FILE]
        .iter()
        .any(|taken| taken.eq_ignore_ascii_case(name));
    !name.is_empty() && !is_taken && name.chars().all(is_plain)
}
