//! An effect outside the store: a line in a file, which stands for a mail or a payment. No transaction of ours covers it.
//!
//! A worker that dies between this effect and its completion leaves an effect that the next attempt makes again: at-least-once.
//! Where the execution id is handed on as the effect's key, the other side (here: this file, under a lock) knows it again.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::lease::Claim;

/// Appends the line, unless one with the same key is there.
pub(super) fn append(path: &Path, claim: &Claim, keyed: bool) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    file.lock()?;
    if keyed {
        for line in BufReader::new(&file).lines() {
            let there = serde_json::from_str::<Value>(&line?);
            if there.is_ok_and(|there| there["key"] == claim.execution_id.as_str()) {
                return Ok(());
            }
        }
    }
    let key = keyed.then_some(&claim.execution_id);
    let line = json!({ "key": key, "title": claim.work.title, "body": claim.work.body });
    file.seek(SeekFrom::End(0))?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()
}
