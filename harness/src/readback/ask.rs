//! One query, asked of a store of any kind: of a frozen one, of a living one, and of one whose effects were doubled.
//!
//! Must not know what the answer means. Nothing here writes to a store; what is doubled is a copy, or bytes in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::read::query_doubled;
use super::query::ROWS_MAX;
use super::sqlite::read_copy::OpenReadCopy;
use super::sqlite::tamper::{Tampering, tamper};
use super::{
    Bound, Counted, FrozenTree, LiveFiles, LiveReader, Marker, Places, Poll, Query, ReadError, Rows, Selector, Shape,
    SqlQuery, duplicate_marked_rows, query_read_copy, query_tree, scan,
};

/// Asks a frozen store one query. `store` is where the original was, which is what errors name.
pub fn ask_frozen(tree: &FrozenTree, store: &Path, query: &Query) -> Result<Rows, ReadError> {
    FrozenReader::new(tree, store).ask(query)
}

/// Asks a frozen store many queries, and opens each of its read copies once.
#[derive(Debug)]
pub struct FrozenReader<'s> {
    tree: &'s FrozenTree,
    store: &'s Path,
    copies: RefCell<BTreeMap<PathBuf, OpenReadCopy>>,
}

impl<'s> FrozenReader<'s> {
    /// A reader of a store that stays as it is while it is read. `store` is where the original was, which is what errors name.
    pub fn new(tree: &'s FrozenTree, store: &'s Path) -> Self {
        Self {
            tree,
            store,
            copies: RefCell::default(),
        }
    }

    /// Asks one query.
    pub fn ask(&self, query: &Query) -> Result<Rows, ReadError> {
        let (tree, store) = (self.tree, self.store);
        match &query.selector {
            Selector::Sql { path, sql } => {
                let copy = read_copy(tree, store, path.as_deref(), sql)?;
                let mut copies = self.copies.borrow_mut();
                let open = match copies.entry(copy) {
                    Entry::Occupied(open) => open.into_mut(),
                    Entry::Vacant(place) => {
                        let open = OpenReadCopy::open(place.key())?;
                        place.insert(open)
                    }
                };
                open.query(&sql_query(sql, query))
            }
            Selector::Files(files) => query_tree(tree, files, &marker(store, query)?)?.whole(store),
            Selector::Places { places, shown } => {
                let found = places_of(tree, store, query)?;
                let counted = places.count(&Places::default(), &found);
                let Some(effects) = counted.effects() else {
                    return Err(undecided(tree, store, query, counted));
                };
                let shown = Query {
                    selector: Selector::clone(shown),
                    parameters: query.parameters.clone(),
                };
                let rows = self.ask(&shown).ok();
                let is_alike = |rows: &Rows| u64::try_from(rows.count()).ok() == Some(effects);
                match rows.filter(is_alike).or_else(|| numbered(effects)) {
                    Some(rows) => Ok(rows),
                    None => Err(ReadError::TooMuch {
                        store: store.into(),
                        sql: query.selector.to_string(),
                        bound: Bound::Rows,
                    }),
                }
            }
        }
    }
}

/// The answer where every effect stands twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubling {
    /// What was doubled: tables, files or places.
    pub doubled: Vec<String>,
    /// How many effects the query counts then.
    pub count: usize,
}

/// Asks as if every marked row, element, line or file stood twice; `None` where that cannot be made (virtual tables, unknown
/// collations, a glob that no second name fits). `scratch` is a folder for copies.
pub fn ask_doubled(tree: &FrozenTree, store: &Path, query: &Query, scratch: &Path) -> Option<Doubling> {
    match &query.selector {
        Selector::Sql { path, sql } => {
            let copy = read_copy(tree, store, path.as_deref(), sql).ok()?;
            let into = scratch.join("doctored.sqlite3");
            let doctored = duplicate_marked_rows(&copy, query.marker(), &into).ok()?;
            let count = query_read_copy(&into, &sql_query(sql, query)).ok()?.count();
            let doubled = doctored.tables.into_iter().map(|table| table.table).collect();
            Some(Doubling { doubled, count })
        }
        Selector::Files(files) => {
            let (answer, doubled) = query_doubled(tree, files, &marker(store, query).ok()?).ok()??;
            let count = answer.whole(store).ok()?.count();
            Some(Doubling { doubled, count })
        }
        Selector::Places { places, .. } => {
            let mut found = places_of(tree, store, query).ok()?;
            for seen in found.found.values_mut() {
                seen.count = seen.count.saturating_mul(2);
            }
            let count = usize::try_from(places.count(&Places::default(), &found).effects()?).ok()?;
            let doubled = found.found.keys().map(ToString::to_string).collect();
            Some(Doubling { doubled, count })
        }
    }
}

/// What becomes of a statement that would change what a query reads, on a copy of the frozen store that is thrown away again.
pub fn ask_tampered(tree: &FrozenTree, store: &Path, log: &Query, statement: &str) -> io::Result<Tampering> {
    let Selector::Sql { path, sql } = &log.selector else {
        return Ok(Tampering::Failed("what it would change is not read by SQL".to_owned()));
    };
    let scratch = tempfile::tempdir()?;
    Ok(match read_copy(tree, store, path.as_deref(), sql) {
        Ok(copy) => tamper(&copy, statement, &sql_query(sql, log), scratch.path()),
        Err(_) => Tampering::Failed("there is no store that could be changed".to_owned()),
    })
}

/// The read copy that an SQL statement is about.
fn read_copy(tree: &FrozenTree, store: &Path, path: Option<&str>, sql: &str) -> Result<PathBuf, ReadError> {
    let bad = |reason: &str| ReadError::BadQuery {
        store: store.into(),
        sql: sql.to_owned(),
        reason: reason.to_owned(),
    };
    let unreadable = |reason: &str| ReadError::Unreadable {
        store: store.into(),
        reason: reason.to_owned(),
    };
    let name = match (tree.shape, path) {
        (Shape::Absent, _) => return Err(ReadError::Absent { store: store.into() }),
        (Shape::Folder, None) => return Err(bad("the store is a folder; add `path = \"…\"`, the SQLite file in it")),
        (Shape::File, None) => None,
        (Shape::File | Shape::Folder, Some(path)) => Some(path),
    };
    let is_named = |known: &str| name.is_none_or(|name| name == known);
    if let Some(database) = tree.databases.iter().find(|database| is_named(&database.name)) {
        return match &database.read_copy {
            Some(copy) => Ok(tree.root.join(copy)),
            None => Err(unreadable(
                database.problem.as_deref().unwrap_or("there is no copy of it to read"),
            )),
        };
    }
    match tree.files.iter().find(|file| is_named(&file.name)) {
        // SQLite writes nothing into a new file before the first table.
        Some(file) if file.bytes == 0 => Err(ReadError::Absent { store: store.into() }),
        Some(_) => Err(unreadable(
            "not an SQLite store; check `[store] path` (an encrypted store cannot be read)",
        )),
        None if tree.shape == Shape::File => Err(bad("the store is one file; leave out `path`")),
        None => Err(ReadError::Absent {
            store: store.join(name.unwrap_or_default()),
        }),
    }
}

fn sql_query(sql: &str, query: &Query) -> SqlQuery {
    SqlQuery {
        sql: sql.to_owned(),
        parameters: query.parameters.clone(),
    }
}

fn marker(store: &Path, query: &Query) -> Result<Marker, ReadError> {
    Marker::new(query.marker()).map_err(|error| ReadError::BadQuery {
        store: store.into(),
        sql: query.selector.to_string(),
        reason: error.to_string(),
    })
}

fn places_of(tree: &FrozenTree, store: &Path, query: &Query) -> Result<Places, ReadError> {
    scan(tree, &marker(store, query)?).map_err(|error| ReadError::Unreadable {
        store: store.into(),
        reason: error.to_string(),
    })
}

/// Why nothing is concluded, with the first line to paste that finds a row here at all.
fn undecided(tree: &FrozenTree, store: &Path, query: &Query, mut counted: Counted) -> ReadError {
    if let Counted::Disagree(disagreement) = &mut counted {
        disagreement.selectors.retain(|selector| {
            let query = Query {
                selector: selector.clone(),
                parameters: query.parameters.clone(),
            };
            ask_frozen(tree, store, &query).is_ok_and(|rows| rows.count() > 0)
        });
    }
    ReadError::Unreadable {
        store: store.into(),
        reason: counted.to_string(),
    }
}

/// Effects of which no rows can be shown; none where there are more than an answer may have.
fn numbered(effects: u64) -> Option<Rows> {
    let is_within = usize::try_from(effects).is_ok_and(|effects| effects <= ROWS_MAX);
    is_within.then(|| Rows {
        columns: vec!["effect".to_owned()],
        rows: (1..=effects).map(|number| vec![Value::from(number)]).collect(),
    })
}

/// Reads one living store again and again. Between polls it holds no file, no lock and no connection.
#[derive(Debug)]
pub struct LiveStore {
    store: PathBuf,
    kind: LiveKind,
}

#[derive(Debug)]
enum LiveKind {
    Sql(LiveReader),
    Files(LiveFiles),
}

impl LiveStore {
    /// A reader for what a selector asks of a living store. Opens nothing.
    pub fn open(store: &Path, selector: &Selector) -> Self {
        let kind = match selector.while_living() {
            Selector::Sql { path: Some(path), .. } => LiveKind::Sql(LiveReader::open(store.join(path))),
            Selector::Sql { path: None, .. } => LiveKind::Sql(LiveReader::open(store)),
            Selector::Files(_) | Selector::Places { .. } => LiveKind::Files(LiveFiles::open(store)),
        };
        Self {
            store: store.into(),
            kind,
        }
    }

    /// Asks once and returns at once. The query is one that can be asked [while the server lives](Query::while_living).
    pub fn poll(&mut self, query: &Query) -> Result<Poll, ReadError> {
        match (&mut self.kind, query.selector.while_living()) {
            (LiveKind::Sql(reader), Selector::Sql { sql, .. }) => reader.poll(&sql_query(sql, query)),
            (LiveKind::Files(reader), Selector::Files(files)) => reader.poll(files, &marker(&self.store, query)?),
            (_, selector) => Err(ReadError::BadQuery {
                store: self.store.clone(),
                sql: selector.to_string(),
                reason: "it cannot be asked while the server lives".to_owned(),
            }),
        }
    }
}
