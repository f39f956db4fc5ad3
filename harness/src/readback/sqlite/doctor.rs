//! The doctored copy: a read copy in which every marked row stands twice.
//!
//! For the control that shows a read-back to count two where the server's natural key forbids a second row. Must work
//! only on a copy of its own, and its result is never evidence about the server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, named_params};
use serde::{Deserialize, Serialize};

use super::run::limit_steps;

/// Most steps of SQLite's machine for doubling the rows of one copy: some tens of seconds.
const DOUBLE_STEPS_MAX: u64 = 4_000_000_000;

/// A copy with doubled rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Doctored {
    /// The copy.
    pub file: PathBuf,
    /// The tables that were changed, by name.
    pub tables: Vec<DoubledTable>,
}

/// A table of a doctored copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoubledTable {
    /// Its name.
    pub table: String,
    /// How many rows were added, one for each row that holds the marker.
    pub rows: u64,
}

/// Why there is no doctored copy.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// No cell holds the marker, so there is nothing to double.
    #[error("double the rows of `{marker}` in {read_copy}: no table has it; check that the write carries `{{marker}}`")]
    NotFound {
        /// The marker.
        marker: String,
        /// The read copy that was searched.
        read_copy: PathBuf,
    },
    /// The marker is empty and would be found everywhere.
    #[error("double the rows of an empty marker in {read_copy}: every row would match; give a marker")]
    EmptyMarker {
        /// The read copy.
        read_copy: PathBuf,
    },
    /// The copy could not be made.
    #[error("copy {read_copy} to {into}: {source}")]
    Copy {
        /// The read copy.
        read_copy: PathBuf,
        /// Where to.
        into: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("double rows in {file}: {source}; the read copy is as it was")]
    Store {
        /// The copy that was being changed.
        file: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

/// Copies a read copy to `into` (which must not exist) and doubles there, in every ordinary table, the rows with a cell
/// that contains the marker. Such a table is made anew with the same columns and declared types, but without
/// constraints, indices and triggers; a single `INTEGER PRIMARY KEY` stays one and gets fresh values, so that
/// `SELECT DISTINCT id` counts the doubles and `SELECT DISTINCT note` does not. Virtual tables are left alone.
pub fn duplicate_marked_rows(read_copy: &Path, marker: &str, into: &Path) -> Result<Doctored, DoctorError> {
    if marker.is_empty() {
        return Err(DoctorError::EmptyMarker {
            read_copy: read_copy.into(),
        });
    }
    copy_new(read_copy, into).map_err(|source| DoctorError::Copy {
        read_copy: read_copy.into(),
        into: into.into(),
        source,
    })?;
    let tables = double_all(into, marker).map_err(|source| DoctorError::Store {
        file: into.into(),
        source,
    })?;
    if tables.is_empty() {
        return Err(DoctorError::NotFound {
            marker: marker.into(),
            read_copy: read_copy.into(),
        });
    }
    Ok(Doctored {
        file: into.into(),
        tables,
    })
}

fn copy_new(from: &Path, into: &Path) -> io::Result<()> {
    let mut target = fs::OpenOptions::new().write(true).create_new(true).open(into)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    Ok(())
}

fn double_all(file: &Path, marker: &str) -> rusqlite::Result<Vec<DoubledTable>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    limit_steps(&mut connection, DOUBLE_STEPS_MAX)?;
    connection.execute_batch(
        "PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA synchronous=OFF;",
    )?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut doubled = Vec::new();
    for table in Table::all(&transaction)? {
        let rows = table.count_marked(&transaction, marker)?;
        if rows > 0 {
            table.rebuild_doubled(&transaction, marker)?;
            doubled.push(DoubledTable {
                table: table.name,
                rows,
            });
        }
    }
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(doubled)
}

/// A table as it was declared.
struct Table {
    name: String,
    without_rowid: bool,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    declared_type: String,
    kept_type: String,
    /// The place in the primary key, from 1; 0 outside it.
    key_place: u32,
}

impl Table {
    fn all(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Self>> {
        let mut statement = transaction.prepare(
            "SELECT name, wr FROM pragma_table_list \
             WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        )?;
        let named: Vec<(String, bool)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        named
            .into_iter()
            .map(|(name, without_rowid)| {
                let columns = Column::all(transaction, &name)?;
                Ok(Self {
                    name,
                    without_rowid,
                    columns,
                })
            })
            .collect()
    }

    fn count_marked(&self, transaction: &Transaction<'_>, marker: &str) -> rusqlite::Result<u64> {
        let sql = format!(
            "SELECT count(*) FROM main.{} WHERE {}",
            quoted(&self.name),
            self.is_marked()
        );
        let rows: i64 = transaction.query_row(&sql, named_params! { "$marker": marker }, |row| row.get(0))?;
        Ok(rows.unsigned_abs())
    }

    /// True for a row with a cell that contains the marker, as text or as the bytes of a text.
    fn is_marked(&self) -> String {
        let tests: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                let cell = quoted(&column.name);
                format!("instr({cell}, $marker) OR instr(CAST({cell} AS BLOB), CAST($marker AS BLOB))")
            })
            .collect();
        tests.join(" OR ")
    }

    /// Rows are held in a temporary table while the table is made anew under its own name, so that nothing is ever
    /// renamed: a rename would look into every view and trigger.
    fn rebuild_doubled(&self, transaction: &Transaction<'_>, marker: &str) -> rusqlite::Result<()> {
        let table = quoted(&self.name);
        let names = self.names();
        transaction.execute_batch(&format!(
            "CREATE TEMP TABLE held AS SELECT {names} FROM main.{table};
             DROP TABLE main.{table};
             CREATE TABLE main.{table} ({declarations});
             INSERT INTO main.{table} ({names}) SELECT {names} FROM temp.held ORDER BY temp.held.rowid;",
            declarations = self.declarations(),
        ))?;
        let sql = format!(
            "INSERT INTO main.{table} ({names}) SELECT {values} FROM temp.held WHERE {marked} ORDER BY temp.held.rowid",
            values = self.doubled_values(),
            marked = self.is_marked(),
        );
        transaction.execute(&sql, named_params! { "$marker": marker })?;
        transaction.execute_batch("DROP TABLE temp.held;")
    }

    fn names(&self) -> String {
        self.list(|column| quoted(&column.name))
    }

    fn declarations(&self) -> String {
        let key = self.integer_key();
        self.list(|column| {
            let key = if key == Some(column.name.as_str()) {
                " PRIMARY KEY"
            } else {
                ""
            };
            format!("{} {}{key}", quoted(&column.name), column.kept_type)
        })
    }

    /// The values of a second row; for NULL in an integer key SQLite puts the largest value and one.
    fn doubled_values(&self) -> String {
        let key = self.integer_key();
        self.list(|column| match key {
            Some(key) if key == column.name => "NULL".to_owned(),
            _ => quoted(&column.name),
        })
    }

    fn list(&self, one: impl Fn(&Column) -> String) -> String {
        self.columns.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The column that is the rowid under another name, if there is one.
    fn integer_key(&self) -> Option<&str> {
        let mut key = self.columns.iter().filter(|column| column.key_place > 0);
        let (only, more) = (key.next()?, key.next());
        let is_rowid = more.is_none() && !self.without_rowid && only.declared_type.eq_ignore_ascii_case("INTEGER");
        is_rowid.then_some(only.name.as_str())
    }
}

impl Column {
    /// All columns that can be selected by name, generated ones too; the rebuilt table holds their values.
    fn all(transaction: &Transaction<'_>, table: &str) -> rusqlite::Result<Vec<Self>> {
        let mut statement = transaction
            .prepare("SELECT name, type, pk FROM pragma_table_xinfo($table, 'main') WHERE hidden <> 1 ORDER BY cid")?;
        let columns = statement.query_map(named_params! { "$table": table }, |row| {
            let declared_type: String = row.get(1)?;
            Ok(Self {
                name: row.get(0)?,
                kept_type: kept_type(&declared_type)?,
                declared_type,
                key_place: row.get(2)?,
            })
        })?;
        columns.collect()
    }
}

/// An identifier that SQLite takes for a name whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The declared type where SQLite reads it back as the same type and nothing more; else the name of its affinity. `ANY`
/// of a strict table keeps values as they are, which outside strict tables only a column without a type does.
pub(super) fn kept_type(declared: &str) -> rusqlite::Result<String> {
    if declared.eq_ignore_ascii_case("ANY") {
        return Ok(String::new());
    }
    let scratch = Connection::open_in_memory()?;
    let create = format!("CREATE TABLE probe (a {declared})");
    let is_made = scratch.execute(&create, []).is_ok();
    let read_back = "SELECT count(*) = 1 AND max(type) = ?1 FROM pragma_table_xinfo('probe')";
    let is_kept = is_made && scratch.query_row(read_back, [declared], |row| row.get(0))?;
    Ok(if is_kept { declared } else { affinity(declared) }.to_owned())
}

/// Source: <https://sqlite.org/datatype3.html>, §3.1.
fn affinity(declared: &str) -> &'static str {
    let declared = declared.to_ascii_uppercase();
    let has_any = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    if has_any(&["INT"]) {
        "INT"
    } else if has_any(&["CHAR", "CLOB", "TEXT"]) {
        "TEXT"
    } else if has_any(&["BLOB"]) {
        "BLOB"
    } else if has_any(&["REAL", "FLOA", "DOUB"]) {
        "REAL"
    } else {
        "NUMERIC"
    }
}
