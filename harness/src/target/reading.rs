//! How effects and operation rows are read, as a profile or a flag says it, and whether that can work on the store.

use std::collections::BTreeMap;

use super::resolved::{Seed, Store, StoreKind};
use super::written::{QueryWritten, ReadWritten, StoreWritten};
#[cfg(test)]
use crate::case::Surface;
use crate::document;
use crate::readback::{FileKeys, Selector};

/// The ending of a seed that is an SQL script.
const SCRIPT_ENDING: &str = "sql";

/// What only a server has whose writes are done later, by workers.
#[cfg(test)]
pub(super) const OF_EXECUTION: [Surface; 5] = [
    Surface::ReadEvents,
    Surface::ReadExecutions,
    Surface::ReadLeases,
    Surface::ReadRetries,
    Surface::ReadOutside,
];

/// What `[read]` says, checked against the kind of the store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) effects: Option<Selector>,
    pub(super) ledger: Option<Selector>,
    pub(super) more: BTreeMap<String, Selector>,
}

/// Resolves `[read]`.
pub(super) fn resolve(written: ReadWritten, store: Option<&StoreWritten>) -> Result<Reads, String> {
    if written.effects.is_some() && store.is_none() {
        return Err("[read.effects] needs a [store] to read: add its path".to_owned());
    }
    let kind = store.and_then(|store| store.kind);
    let of = |key: &str, query: QueryWritten| {
        let selector = selector(query).map_err(|message| format!("read.{key}: {message}"))?;
        fits(&selector, kind).map_err(|message| format!("read.{key}: {message}"))?;
        Ok::<Selector, String>(selector)
    };
    let effects = written.effects.map(|query| of("effects", query)).transpose()?;
    if let Some(effects) = &effects {
        require_marker("read.effects.sql", effects)?;
    }
    let ledger = written.ledger.map(|query| of("ledger", query)).transpose()?;
    let named = [
        ("watchers", written.watchers),
        ("compensations", written.compensations),
        ("steps", written.steps),
        ("events", written.events),
        ("executions", written.executions),
        ("leases", written.leases),
        ("retries", written.retries),
        ("outside", written.outside),
    ];
    let mut more = BTreeMap::new();
    for (name, query) in named {
        if let Some(query) = query {
            more.insert(name.to_owned(), of(name, query)?);
        }
    }
    let by_operation = more.iter().map(|(name, selector)| (name.as_str(), selector));
    for (name, selector) in by_operation.chain(ledger.iter().map(|ledger| ("ledger", ledger))) {
        require_operation(name, selector)?;
    }
    Ok(Reads { effects, ledger, more })
}

/// What `--effects` says: an SQL statement, or keys of `[read.effects]` with commas between.
pub(super) fn from_flag(text: &str) -> Result<Selector, String> {
    let first: String = text
        .trim_start()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    let is_sql = ["select", "with", "values"].contains(&first.to_ascii_lowercase().as_str());
    let selector = if is_sql {
        Selector::sql(text)
    } else {
        let effects: FlagWritten =
            document::parse("--effects", &format!("effects = {{ {text} }}")).map_err(|error| {
                format!("{text:?} is neither an SQL statement nor keys such as `jsonl = true`: {error}")
            })?;
        selector(effects.effects)?
    };
    require_marker("it", &selector)?;
    Ok(selector)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FlagWritten {
    effects: QueryWritten,
}

/// Whether a seed is a script or a copy of a store: by its ending.
pub(super) fn seed(path: std::path::PathBuf) -> Seed {
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case(SCRIPT_ENDING))
    {
        Seed::Script(path)
    } else {
        Seed::Copy(path)
    }
}

/// Resolves `[store]`; the path is already filled in with the profile's folder.
pub(super) fn store(path: String, seed_path: Option<std::path::PathBuf>) -> Store {
    Store {
        path,
        seed: seed_path.map(seed),
    }
}

fn selector(written: QueryWritten) -> Result<Selector, String> {
    let QueryWritten {
        path,
        sql,
        json,
        jsonl,
        files,
        text,
    } = written;
    let files = FileKeys {
        path,
        json,
        jsonl,
        files,
        text,
    };
    Selector::from_keys(sql, files).map_err(|error| error.to_string())
}

/// SQL selects by a parameter; files are always searched for the marker.
fn require_marker(what: &str, selector: &Selector) -> Result<(), String> {
    match selector {
        Selector::Sql { sql, .. } if !sql.contains("$marker") => Err(format!(
            "{what} does not select by $marker, so it would count other rows too; add `WHERE … = $marker`"
        )),
        Selector::Sql { .. } | Selector::Files(_) | Selector::Places { .. } => Ok(()),
    }
}

fn require_operation(name: &str, selector: &Selector) -> Result<(), String> {
    match selector {
        Selector::Sql { sql, .. } if !sql.contains("$operation") && !sql.contains("$marker") => Err(format!(
            "read.{name}.sql selects neither by $operation nor by $marker, so it would count other rows too"
        )),
        Selector::Sql { .. } | Selector::Files(_) | Selector::Places { .. } => Ok(()),
    }
}

fn fits(selector: &Selector, kind: Option<StoreKind>) -> Result<(), String> {
    let is_sqlite_alone = matches!(selector, Selector::Sql { path: None, .. });
    match kind {
        Some(StoreKind::Sqlite) if !is_sqlite_alone => Err(
            "store.kind = \"sqlite\" is one SQLite file, read by `sql` alone; for a folder or other files say kind = \"files\""
                .to_owned(),
        ),
        Some(StoreKind::Files) if is_sqlite_alone => Err(
            "store.kind = \"files\" has no SQL of its own: name the SQLite file in it with `path`, or say kind = \"sqlite\""
                .to_owned(),
        ),
        Some(StoreKind::Sqlite | StoreKind::Files) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::target::TargetSource;

    #[test]
    fn a_flag_is_sql_or_keys() {
        let told = |text: &str| from_flag(text).map(|selector| selector.to_string());
        assert_eq!(
            told("SELECT a FROM t WHERE b = $marker").as_deref(),
            Ok("SELECT a FROM t WHERE b = $marker")
        );
        assert_eq!(told("jsonl = true").as_deref(), Ok("jsonl = true"));
        assert_eq!(
            told("path = \"m.json\", json = \"/entities\"").as_deref(),
            Ok("path = \"m.json\", json = \"/entities\"")
        );
        let refused = |text: &str, part: &str| {
            let message = told(text).expect_err(text);
            assert!(message.contains(part), "{message}");
        };
        refused("SELECT 1", "does not select by $marker");
        refused("jsonl = yes", "neither an SQL statement nor keys");
        refused("jsnl = true", "jsonl");
        refused("jsonl = true, text = \"*\"", "say once what is counted");
    }

    #[test]
    fn executions_are_read_by_marker_or_by_operation() {
        let profile = include_str!("../../targets/reference-server.toml");
        let with = |parameter: &str| {
            let query = |surface: &Surface| {
                let name = surface.name();
                format!("\n[{name}]\nsql = \"SELECT * FROM t WHERE a = {parameter}\"\n")
            };
            let text: String = OF_EXECUTION.iter().map(query).collect();
            let place = Path::new("/profiles");
            super::super::resolve::parse("target.toml", &format!("{profile}{text}"), TargetSource::BuiltIn, place)
        };
        for parameter in ["$marker", "$operation"] {
            let target = with(parameter).expect(parameter);
            for surface in OF_EXECUTION {
                assert!(target.has(surface), "{}", surface.name());
            }
        }
        let error = with("1").expect_err("selects everything").to_string();
        assert!(
            error.contains("selects neither by $operation nor by $marker"),
            "{error}"
        );
    }

    #[test]
    fn the_kind_of_a_store_and_how_it_is_read_have_to_fit() {
        let sql = Selector::sql("SELECT $marker");
        let lines = from_flag("jsonl = true").expect("keys");
        assert!(fits(&sql, Some(StoreKind::Sqlite)).is_ok() && fits(&sql, None).is_ok() && fits(&lines, None).is_ok());
        assert!(fits(&lines, Some(StoreKind::Files)).is_ok());
        assert!(fits(&lines, Some(StoreKind::Sqlite)).is_err());
        assert!(fits(&sql, Some(StoreKind::Files)).is_err());
    }
}
