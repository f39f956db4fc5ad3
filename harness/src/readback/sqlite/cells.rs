//! Every cell of a read copy that can hold a marker, for the whole-store scan.
//!
//! Must not count one thing twice: indices, views, generated columns and the shadow tables of a full-text index repeat
//! what stands in tables. A full-text table is read through its module, one row for each document, because the blobs
//! behind it do not grow by equal steps. Other virtual tables are left out: they may read what is no part of the store.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::doctor::quoted;
use super::read_copy::open_read_copy;
use super::run::{code_and_message, limit_steps};
use crate::readback::ReadError;

/// Most steps of SQLite's machine for the scan of one read copy: some tens of seconds.
const SCAN_STEPS_MAX: u64 = 4_000_000_000;

/// The tables of `sqlite_schema` that are to be read, in the order of their names.
const TABLES: &str = "SELECT l.name FROM pragma_table_list AS l JOIN main.sqlite_schema AS s ON s.name = l.name \
     WHERE l.schema = 'main' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND (l.type = 'table' \
     OR l.type = 'virtual' AND (s.sql LIKE '%using%fts3%' OR s.sql LIKE '%using%fts4%' OR s.sql LIKE '%using%fts5%') \
     AND s.sql NOT LIKE '%fts5vocab%' AND s.sql NOT LIKE '%fts4aux%') ORDER BY l.name";

/// The columns of a table that are stored and can be selected by name.
const COLUMNS: &str = "SELECT name FROM pragma_table_xinfo($table, 'main') WHERE hidden = 0 ORDER BY cid";

/// A cell that is text or a blob.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) table: &'a str,
    pub(crate) column: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// Shows every text (as UTF-8, whatever the store's encoding) and every blob of a read copy. Returns the tables that
/// could not be read, with the reason: an extension is missing here.
pub(crate) fn each_cell(read_copy: &Path, mut see: impl FnMut(&Cell<'_>)) -> Result<Vec<(String, String)>, ReadError> {
    let mut connection = open_read_copy(read_copy)?;
    let unreadable = |error: &rusqlite::Error| ReadError::Unreadable {
        store: read_copy.into(),
        reason: format!(
            "{}; look at it with `PRAGMA integrity_check`",
            code_and_message(error).1
        ),
    };
    limit_steps(&mut connection, SCAN_STEPS_MAX).map_err(|error| unreadable(&error))?;
    let tables = names(&connection, TABLES, None).map_err(|error| unreadable(&error))?;
    let mut unread = Vec::new();
    for table in tables {
        if let Err(error) = each_cell_of(&connection, &table, &mut see) {
            unread.push((table, code_and_message(&error).1));
        }
    }
    Ok(unread)
}

/// How many rows each table of a read copy has. What cannot be counted is left out.
pub fn table_counts(read_copy: &Path) -> BTreeMap<String, u64> {
    let Ok(mut connection) = open_read_copy(read_copy) else {
        return BTreeMap::new();
    };
    if limit_steps(&mut connection, SCAN_STEPS_MAX).is_err() {
        return BTreeMap::new();
    }
    let tables = names(&connection, TABLES, None).unwrap_or_default();
    let count = |table: String| {
        let sql = format!("SELECT count(*) FROM main.{}", quoted(&table));
        let rows: i64 = connection.query_row(&sql, [], |row| row.get(0)).ok()?;
        Some((table, rows.unsigned_abs()))
    };
    tables.into_iter().filter_map(count).collect()
}

fn each_cell_of(connection: &Connection, table: &str, see: &mut impl FnMut(&Cell<'_>)) -> rusqlite::Result<()> {
    let columns = names(connection, COLUMNS, Some(table))?;
    let list: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    // A table that its module cannot open has no columns; asking for all of them says why.
    let list = if list.is_empty() {
        "*".to_owned()
    } else {
        list.join(", ")
    };
    let sql = format!("SELECT {list} FROM main.{}", quoted(table));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for (index, column) in columns.iter().enumerate() {
            match row.get_ref(index)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => see(&Cell { table, column, bytes }),
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {}
            }
        }
    }
    Ok(())
}

fn names(connection: &Connection, sql: &str, table: Option<&str>) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    if let Some(table) = table {
        statement.raw_bind_parameter(1, table)?;
    }
    let mut rows = statement.raw_query();
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.push(row.get(0)?);
    }
    Ok(names)
}
