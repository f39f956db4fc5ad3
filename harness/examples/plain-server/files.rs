//! The orders in files instead of SQLite, as many small servers keep them: lines of JSON, one document, or a file each.
//!
//! Nothing here is safe against two processes, and an order and its key stand in one place, so that they cannot part.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::options::{Dedupe, KeepIn, OnConflict, Options};
use crate::store::{Order, Outcome, Store};

/// What keeps the orders.
#[derive(Debug)]
pub(crate) enum Kept {
    /// SQLite.
    Database(Store),
    /// Files.
    Files(FileStore),
}

impl Kept {
    /// Opens what the flags name.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Box<dyn std::error::Error>> {
        if options.keep_in == KeepIn::Database {
            return Ok(Self::Database(Store::open(path, options)?));
        }
        if options.keep_in == KeepIn::Notes {
            fs::create_dir_all(path)?;
        }
        Ok(Self::Files(FileStore {
            path: path.to_owned(),
            keep_in: options.keep_in,
            dedupe: options.dedupe,
            conflict: options.conflict,
        }))
    }

    /// Writes an order, unless it was written before.
    pub(crate) fn create(&mut self, order: &Order) -> Result<Outcome, Box<dyn std::error::Error>> {
        Ok(match self {
            Self::Database(store) => store.create(order)?,
            Self::Files(store) => store.create(order)?,
        })
    }

    /// What is on record about a key.
    pub(crate) fn status(&self, key: &str) -> Result<Value, Box<dyn std::error::Error>> {
        match self {
            Self::Database(store) => Ok(store.status(key)?),
            Self::Files(_) => Err("orders in files have no status".into()),
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct FileStore {
    path: PathBuf,
    keep_in: KeepIn,
    dedupe: Dedupe,
    conflict: OnConflict,
}

impl FileStore {
    fn create(&self, order: &Order) -> std::io::Result<Outcome> {
        let orders = self.read()?;
        let is_known = |known: &&Value| match self.dedupe {
            Dedupe::Key => order.key.is_some() && known["key"] == json!(order.key),
            Dedupe::Content => known["note"] == json!(order.note) && known["qty"] == json!(order.qty),
            Dedupe::None => false,
        };
        if let Some(known) = orders.iter().find(is_known) {
            let is_equal = known["note"] == json!(order.note) && known["qty"] == json!(order.qty);
            match self.conflict {
                OnConflict::Refuse if !is_equal => return Ok(Outcome::Conflict),
                OnConflict::Apply if !is_equal => {}
                OnConflict::Refuse | OnConflict::Ignore | OnConflict::Apply => {
                    return Ok(Outcome::Replayed(json!({"order_id": known["id"]})));
                }
            }
        }
        let id = orders.len() + 1;
        let order = json!({"id": id, "note": order.note, "qty": order.qty, "key": order.key});
        self.add(orders, &order, id)?;
        Ok(Outcome::Created(json!({"order_id": id})))
    }

    fn read(&self) -> std::io::Result<Vec<Value>> {
        let text = |path: &Path| match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        };
        let parse = |line: &str| serde_json::from_str(line).map_err(std::io::Error::other);
        match self.keep_in {
            KeepIn::Lines => text(&self.path)?.lines().map(parse).collect(),
            KeepIn::Document => match text(&self.path)? {
                none if none.is_empty() => Ok(Vec::new()),
                whole => Ok(parse(&whole)?["orders"].as_array().cloned().unwrap_or_default()),
            },
            KeepIn::Notes => (fs::read_dir(&self.path)?)
                .map(|entry| parse(fs::read_to_string(entry?.path())?.lines().next().unwrap_or_default()))
                .collect(),
            KeepIn::Database => unreachable!("that is another store"),
        }
    }

    fn add(&self, mut orders: Vec<Value>, order: &Value, id: usize) -> std::io::Result<()> {
        match self.keep_in {
            KeepIn::Lines => {
                let mut file = fs::OpenOptions::new().append(true).create(true).open(&self.path)?;
                file.write_all(format!("{order}\n").as_bytes())?;
                file.sync_all()
            }
            KeepIn::Document => {
                orders.push(order.clone());
                save(&self.path, &json!({"orders": orders}).to_string())
            }
            KeepIn::Notes => save(&self.path.join(format!("order-{id}.md")), &format!("{order}\n")),
            KeepIn::Database => unreachable!("that is another store"),
        }
    }

    /// Half an order, as a server leaves it that is cut off while it saves.
    pub(crate) fn tear(&self) -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(&self.path)?;
        file.write_all(b"{\"id\": 4711, \"no")
    }
}

/// Whole or not at all: beside it, then in its place.
fn save(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension("tmp");
    let mut file = fs::File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, path)
}
