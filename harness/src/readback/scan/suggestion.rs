//! What selects the place that most plausibly is the effect itself. Pure.
//!
//! Where places disagree it must not be acted upon: it is shown to a person, who knows the server.

use super::calibration::Growth;
use super::place::{Inside, Place, Sighting};
use crate::readback::{FileQuery, Selector};

/// Words in names of what is written beside an effect, and not only by one.
const BESIDE: [&str; 18] = [
    "attempt", "audit", "backup", "cache", "event", "fts", "history", "idx", "index", "journal", "log", "outbox",
    "queue", "request", "revision", "search", "trace", "version",
];

/// What selects each of these places, the most plausible first.
pub(super) fn ranked(growths: &[Growth]) -> Vec<Selector> {
    let mut candidates: Vec<&Growth> = (growths.iter())
        .filter(|growth| growth.for_one > 0 || growth.grown > 0)
        .collect();
    candidates.sort_by_key(|growth| {
        let name = growth.place.to_string().to_ascii_lowercase();
        let kind = match growth.place.inside {
            Inside::Cell { .. } => 0,
            Inside::Json(_) => 1,
            Inside::Name => 2,
            Inside::Text => 3,
        };
        let is_beside = BESIDE.iter().any(|word| name.contains(word));
        // A cell that is the marker is data; one that merely holds it is more often a copy of the request.
        let is_within = !growth.now.is_whole;
        (
            is_beside,
            growth.for_one == 0,
            growth.for_one > 1,
            is_within,
            kind,
            &growth.place,
        )
    });
    candidates
        .into_iter()
        .map(|growth| selector(&growth.place, growth.now))
        .collect()
}

/// What counts the effects in one place.
pub fn selector(place: &Place, seen: Sighting) -> Selector {
    let file = &place.file;
    let files = |query| Selector::Files(query);
    match &place.inside {
        Inside::Cell { table, column } => {
            let (table, column) = (identifier(table), identifier(column));
            let test = if seen.is_whole {
                format!("{column} = $marker")
            } else {
                format!("instr({column}, $marker) > 0")
            };
            Selector::Sql {
                path: (!file.is_empty()).then(|| file.clone()),
                sql: format!("SELECT * FROM {table} WHERE {test}"),
            }
        }
        Inside::Json(_) | Inside::Text if file.contains('*') => files(FileQuery::Files { glob: file.clone() }),
        Inside::Json(_) if seen.is_line => files(FileQuery::JsonLines {
            path: Some(file.clone()),
        }),
        Inside::Json(pointer) => files(FileQuery::Json {
            path: Some(file.clone()),
            pointer: around(pointer).to_owned(),
        }),
        Inside::Name => files(FileQuery::Files {
            glob: file.trim_end_matches('/').to_owned(),
        }),
        Inside::Text => files(FileQuery::Text {
            glob: globset::escape(file),
        }),
    }
}

/// The array or object whose elements are the effects: what is before the first general part, or around the value.
fn around(pointer: &str) -> &str {
    let end = pointer.find("/*").or_else(|| pointer.rfind('/'));
    &pointer[..end.unwrap_or(0)]
}

/// A name in SQL, between quotes only where it needs them.
fn identifier(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !KEYWORDS.contains(&name.to_ascii_lowercase().as_str());
    if is_plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Keywords of SQLite that somebody would call a table or a column.
const KEYWORDS: [&str; 12] = [
    "order",
    "group",
    "index",
    "table",
    "values",
    "references",
    "check",
    "default",
    "from",
    "to",
    "limit",
    "transaction",
];
