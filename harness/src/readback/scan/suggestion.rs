//! The `[read.effects]` line for the place that most plausibly is the effect itself. Pure.
//!
//! Must not be acted upon: it is shown to a person, who knows the server.

use super::calibration::Growth;
use super::place::{Inside, Place, Sighting};
use crate::readback::FileQuery;
use crate::readback::files::query::toml_text;

/// Words in names of what is written beside an effect, and not only by one.
const BESIDE: [&str; 18] = [
    "attempt", "audit", "backup", "cache", "event", "fts", "history", "idx", "index", "journal", "log", "outbox",
    "queue", "request", "revision", "search", "trace", "version",
];

/// The line for the most plausible of these places.
pub(super) fn suggest(growths: &[Growth]) -> Option<String> {
    let candidates = growths.iter().filter(|growth| growth.for_one > 0 || growth.grown > 0);
    let best = candidates.min_by_key(|growth| {
        let name = growth.place.to_string().to_ascii_lowercase();
        let kind = match growth.place.inside {
            Inside::Cell { .. } => 0,
            Inside::Json(_) => 1,
            Inside::Name => 2,
            Inside::Text => 3,
        };
        let is_beside = BESIDE.iter().any(|word| name.contains(word));
        (is_beside, growth.for_one == 0, growth.for_one > 1, kind, &growth.place)
    })?;
    Some(line(&best.place, best.now))
}

/// The keys of `[read.effects]` that count one place.
pub fn line(place: &Place, seen: Sighting) -> String {
    let file = &place.file;
    match &place.inside {
        Inside::Cell { table, column } => {
            let path = if file.is_empty() {
                String::new()
            } else {
                format!("path = {}\n", toml_text(file))
            };
            let (table, column) = (identifier(table), identifier(column));
            let test = if seen.is_whole {
                format!("{column} = $marker")
            } else {
                format!("instr({column}, $marker) > 0")
            };
            format!(
                "{path}sql = {}",
                toml_text(&format!("SELECT * FROM {table} WHERE {test}"))
            )
        }
        Inside::Json(_) if file.contains('*') => FileQuery::Files { glob: file.clone() }.to_string(),
        Inside::Json(_) if seen.is_line => FileQuery::JsonLines {
            path: Some(file.clone()),
        }
        .to_string(),
        Inside::Json(pointer) => {
            let (path, pointer) = (Some(file.clone()), around(pointer).to_owned());
            FileQuery::Json { path, pointer }.to_string()
        }
        Inside::Name => FileQuery::Files {
            glob: file.trim_end_matches('/').to_owned(),
        }
        .to_string(),
        Inside::Text if file.contains('*') => FileQuery::Files { glob: file.clone() }.to_string(),
        Inside::Text => FileQuery::Text {
            glob: globset::escape(file),
        }
        .to_string(),
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
