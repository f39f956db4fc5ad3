//! The orders and the keys. The order, its key and its result are committed together or not at all.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::{Value, json};

use crate::options::{Dedupe, OnConflict, Options};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, note TEXT NOT NULL, qty INTEGER NOT NULL, key TEXT);
    CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, request TEXT NOT NULL, result TEXT NOT NULL);";

/// One row for each attempt, and one for each step of a long write.
const LOGS: &str = "
    CREATE TABLE IF NOT EXISTS attempts (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, at TEXT NOT NULL);";

/// What makes an order unique by its content.
const NATURAL_KEY: &str = "CREATE UNIQUE INDEX IF NOT EXISTS content ON orders (note, qty)";

/// An order to be written.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) note: String,
    pub(crate) qty: i64,
    /// The operation identity: a retry sends the same one.
    pub(crate) key: Option<String>,
}

/// What became of an order.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was written now.
    Created(Value),
    /// It had been written before; this is the result that it got then.
    Replayed(Value),
    /// Its key had been used for another order.
    Conflict,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    dedupe: Dedupe,
    conflict: OnConflict,
    audit: bool,
    commits_before: u32,
}

impl Store {
    /// Opens the file, and makes the tables in it that are not there.
    pub(crate) fn open(path: &Path, options: &Options) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_millis(options.busy_timeout))?;
        connection.pragma_update(None, "locking_mode", options.locking.name())?;
        connection.pragma_update(None, "journal_mode", options.journal.name())?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(TABLES)?;
        if options.dedupe == Dedupe::Content {
            connection.execute_batch(NATURAL_KEY)?;
        }
        if options.audit || options.commits_before > 0 {
            connection.execute_batch(LOGS)?;
        }
        Ok(Self {
            connection,
            dedupe: options.dedupe,
            conflict: options.conflict,
            audit: options.audit,
            commits_before: options.commits_before,
        })
    }

    /// Writes an order, unless it was written before.
    pub(crate) fn create(&mut self, order: &Order) -> rusqlite::Result<Outcome> {
        if self.audit {
            self.connection
                .execute("INSERT INTO attempts (note) VALUES (?1)", [&order.note])?;
        }
        self.take_steps()?;
        // The lock is taken before the look, so that two processes cannot both find nothing.
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = match self.dedupe {
            Dedupe::Key => by_key(&transaction, order, self.conflict)?,
            Dedupe::Content => by_content(&transaction, order)?,
            Dedupe::None => None,
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let result = insert(&transaction, order, self.dedupe)?;
        transaction.commit()?;
        Ok(Outcome::Created(result))
    }

    /// The steps of a long write. They are worth little, so they need not reach the disk one by one.
    fn take_steps(&self) -> rusqlite::Result<()> {
        if self.commits_before == 0 {
            return Ok(());
        }
        self.connection.pragma_update(None, "synchronous", "OFF")?;
        for _ in 0..self.commits_before {
            self.connection
                .execute("INSERT INTO steps (at) VALUES (strftime('%s', 'now'))", [])?;
        }
        self.connection.pragma_update(None, "synchronous", "FULL")
    }

    /// What a server does that misbehaves: an equal row in the place of the first one.
    pub(crate) fn rewrite(&mut self, note: &str) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let copy = "INSERT INTO orders (note, qty, key) SELECT note, qty, key FROM orders WHERE note = ?1";
        self.connection.execute(copy, [note])?;
        let first = "DELETE FROM orders WHERE id = (SELECT min(id) FROM orders WHERE note = ?1)";
        self.connection.execute(first, [note])?;
        self.connection.execute_batch("COMMIT")
    }

    /// What a server does that misbehaves: the order once more.
    pub(crate) fn write_again(&mut self, note: &str) -> rusqlite::Result<()> {
        let copy = "INSERT INTO orders (note, qty, key) SELECT note, qty, key FROM orders WHERE note = ?1";
        self.connection.execute(copy, [note]).map(drop)
    }

    /// What is on record about a key. An absent key is `unknown`, never "not applied": the order may be on its way.
    pub(crate) fn status(&self, key: &str) -> rusqlite::Result<Value> {
        let query = "SELECT result FROM keys WHERE key = ?1";
        let found: Option<String> = self.connection.query_row(query, [key], |row| row.get(0)).optional()?;
        let result: Value = found.map_or(Value::Null, |text| parse(&text));
        let now = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";
        let observed_at: String = self.connection.query_row(now, [], |row| row.get(0))?;
        let ids: Vec<Value> = result.get("order_id").cloned().into_iter().collect();
        Ok(json!({
            "operation_id": key, "state": if ids.is_empty() { "unknown" } else { "applied" },
            "authoritative": !ids.is_empty(), "scope": {"tool": "create_order"}, "observed_at": observed_at,
            "effect_ids": ids, "result": result, "fresh_write_authorized": false,
        }))
    }
}

/// Looks the key up, and compares the order with the one that it was used for.
fn by_key(transaction: &Transaction<'_>, order: &Order, conflict: OnConflict) -> rusqlite::Result<Option<Outcome>> {
    let query = "SELECT request, result FROM keys WHERE key = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let found = transaction.query_row(query, params![order.key], read).optional()?;
    Ok(found.and_then(|(request, result)| {
        if request == content(order) || conflict == OnConflict::Ignore {
            return Some(Outcome::Replayed(parse(&result)));
        }
        (conflict == OnConflict::Refuse).then_some(Outcome::Conflict)
    }))
}

fn by_content(transaction: &Transaction<'_>, order: &Order) -> rusqlite::Result<Option<Outcome>> {
    let query = "SELECT id FROM orders WHERE note = ?1 AND qty = ?2";
    let found: Option<i64> = transaction
        .query_row(query, params![order.note, order.qty], |row| row.get(0))
        .optional()?;
    Ok(found.map(|id| Outcome::Replayed(json!({"order_id": id}))))
}

fn insert(transaction: &Transaction<'_>, order: &Order, dedupe: Dedupe) -> rusqlite::Result<Value> {
    let sql = "INSERT INTO orders (note, qty, key) VALUES (?1, ?2, ?3)";
    transaction.execute(sql, params![order.note, order.qty, order.key])?;
    let id = transaction.last_insert_rowid();
    let (Dedupe::Key, Some(key)) = (dedupe, &order.key) else {
        return Ok(json!({"order_id": id}));
    };
    // Made once and stored: a retry that gets another receipt did not get the first result.
    let receipt: String = transaction.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))?;
    let result = json!({"order_id": id, "receipt": receipt});
    let sql = "INSERT OR IGNORE INTO keys (key, request, result) VALUES (?1, ?2, ?3)";
    transaction.execute(sql, params![key, content(order), result.to_string()])?;
    Ok(result)
}

/// Everything that decides the effect.
fn content(order: &Order) -> String {
    json!([order.note, order.qty]).to_string()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
