//! A place in a store, in such general words that two effects of one kind stand in the same place.
//!
//! Must not hold what differs from effect to effect where that can be known: indices of arrays are `*`, and so is each
//! part of a path or key that carries the marker.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What stands for all parts of one kind.
const ANY: &str = "*";

/// Where a marker stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Place {
    /// The path of the file in the store. Empty for the cells of a store that is one SQLite file: there is no other.
    pub file: String,
    /// Where in the file.
    pub inside: Inside,
}

/// Where in a file a marker stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Inside {
    /// In a column of an SQLite table.
    Cell {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// At a general JSON pointer, such as `/entities/*/name`; in JSON Lines one within a line.
    Json(String),
    /// In the path of the file or folder itself.
    Name,
    /// Somewhere in its bytes.
    Text,
}

/// What was seen in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sighting {
    /// How often the marker stands there.
    pub count: u64,
    /// Whether each time it is all that stands there, so that `=` finds it.
    pub is_whole: bool,
    /// Whether the lines of the file are documents of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_line: bool,
}

/// All places of one marker in one frozen store, and what the search could not see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// The places, in order.
    #[serde(with = "pairs")]
    #[cfg_attr(test, schemars(with = "Vec<(Place, Sighting)>"))]
    pub found: BTreeMap<Place, Sighting>,
    /// Files that a save left aside and that carry the marker, with its occurrences. They are no effects.
    pub set_aside: BTreeMap<String, u64>,
    /// Files (or tables) that could not be read as what they are, with the reason.
    pub problems: BTreeMap<String, String>,
}

impl Places {
    /// Adds what was seen in a place.
    pub fn add(&mut self, place: Place, seen: Sighting) {
        self.found.entry(place).and_modify(|sum| sum.add(seen)).or_insert(seen);
    }
}

impl Sighting {
    /// So many occurrences in the midst of other text.
    pub fn within(count: u64) -> Self {
        Self {
            count,
            is_whole: false,
            is_line: false,
        }
    }

    /// Adds another sighting in the same place.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.is_whole &= other.is_whole;
        self.is_line |= other.is_line;
    }
}

impl Place {
    /// A place in the bytes of a file.
    pub fn text(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            inside: Inside::Text,
        }
    }

    /// The place that stands for this one (which may do so for others already) and another; none if they are of different
    /// kinds. Two parts are of one kind if both hold a digit, as identifiers, times and counters do: `accepted` and
    /// `rejected` are two things, `note-17.md` and `note-18.md` two of one. Tables and columns always differ.
    pub fn with(&self, other: &Self) -> Option<Self> {
        let file = merge(&self.file, &other.file, true)?;
        let inside = match (&self.inside, &other.inside) {
            (Inside::Json(one), Inside::Json(other)) => Inside::Json(merge(one, other, false)?),
            (one, other) => (one == other).then(|| one.clone())?,
        };
        Some(Self { file, inside })
    }
}

/// Joins two paths part by part; in the last part of a file's path the ending must be the same.
fn merge(one: &str, other: &str, is_file: bool) -> Option<String> {
    let (parts, others): (Vec<&str>, Vec<&str>) = (one.split('/').collect(), other.split('/').collect());
    if parts.len() != others.len() {
        return None;
    }
    let merged: Option<Vec<String>> = (parts.iter().zip(&others).enumerate())
        .map(|(index, (one, other))| {
            let is_file_name = is_file && index + 1 == parts.len();
            merge_part(one, other, is_file_name)
        })
        .collect();
    Some(merged?.join("/"))
}

fn merge_part(one: &str, other: &str, is_file_name: bool) -> Option<String> {
    if one == other {
        return Some(one.to_owned());
    }
    let ((stem, ending), (other_stem, other_ending)) = if is_file_name {
        (split_ending(one), split_ending(other))
    } else {
        ((one, ""), (other, ""))
    };
    let names_one_of_many = |stem: &str| stem == ANY || stem.contains(|c: char| c.is_ascii_digit());
    let is_one_kind = ending == other_ending && names_one_of_many(stem) && names_one_of_many(other_stem);
    is_one_kind.then(|| format!("{ANY}{ending}"))
}

/// A name and its ending with the point; a leading point belongs to the name.
fn split_ending(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    }
}

/// A path in which each part that carries the marker is general. A uniquifier behind it (`note-mk-1 (2).md`) goes too.
pub(super) fn general_path(path: &str, is_marked: impl Fn(&str) -> bool) -> String {
    let general = |part: &str| {
        if is_marked(part) {
            format!("{ANY}{}", split_ending(part).1)
        } else {
            part.to_owned()
        }
    };
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut parts: Vec<String> = folders
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| {
            if is_marked(part) {
                ANY.to_owned()
            } else {
                part.to_owned()
            }
        })
        .collect();
    parts.push(general(name));
    parts.join("/")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        match &self.inside {
            Inside::Cell { table, column } if file.is_empty() => write!(f, "{table}.{column}"),
            Inside::Cell { table, column } => write!(f, "{file}: {table}.{column}"),
            Inside::Json(pointer) => write!(f, "{file}#{pointer}"),
            Inside::Name => write!(f, "{file} (its name)"),
            Inside::Text => f.write_str(file),
        }
    }
}

/// A map whose keys are no texts, as a list of pairs.
pub(super) mod pairs {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Place, Sighting};
    use crate::readback::scan::search::PLACES_MAX;

    pub(in crate::readback::scan) fn serialize<S: Serializer>(
        map: &BTreeMap<Place, Sighting>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(in crate::readback::scan) fn deserialize<'de, D>(deserializer: D) -> Result<BTreeMap<Place, Sighting>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let mut map = BTreeMap::new();
        for (place, sighting) in Vec::<(Place, Sighting)>::deserialize(deserializer)? {
            let text = place.to_string();
            if map.insert(place, sighting).is_some() {
                return Err(D::Error::custom(format!("{text} is there twice")));
            }
        }
        Ok(map)
    }

    /// At least one, and no more than a scan can find.
    pub(in crate::readback::scan) fn deserialize_some<'de, D>(
        deserializer: D,
    ) -> Result<BTreeMap<Place, Sighting>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let places = deserialize(deserializer)?;
        if places.is_empty() || places.len() > PLACES_MAX {
            let reason = format!("{} places, where one effect has 1 to {PLACES_MAX}", places.len());
            return Err(D::Error::custom(reason));
        }
        if let Some(place) = places.keys().find(|place| places[*place].count == 0) {
            return Err(D::Error::custom(format!("{place} does not grow by one effect")));
        }
        Ok(places)
    }
}
