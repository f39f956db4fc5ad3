//! An effect outside the store: a line in a file, which stands for a mail or a payment. No transaction of ours covers it.
//!
//! A worker that dies between this effect and its completion leaves an effect that the next attempt makes again: at-least-once.
//! Where the execution id is handed on as the effect's key, the other side (here: this file, under a lock) knows it again.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::lease::Claim;

/// Appends the line, unless one with the same key is there. A full disk may have cut the last line short, in the middle of a
/// character too: that one is no effect, and the next one begins behind it.
pub(super) fn append(path: &Path, claim: &Claim, keyed: bool) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    file.lock()?;
    let mut lines = BufReader::new(&file);
    let mut line = Vec::new();
    let mut is_cut_short = false;
    while lines.read_until(b'\n', &mut line)? > 0 {
        is_cut_short = !line.ends_with(b"\n");
        let there = serde_json::from_slice::<Value>(&line);
        if keyed && !is_cut_short && there.is_ok_and(|there| there["key"] == claim.execution_id.as_str()) {
            return Ok(());
        }
        line.clear();
    }
    let begin = if is_cut_short { "\n" } else { "" };
    let key = keyed.then_some(&claim.execution_id);
    let line = json!({ "key": key, "title": claim.work.title, "body": claim.work.body });
    file.seek(SeekFrom::End(0))?;
    file.write_all(format!("{begin}{line}\n").as_bytes())?;
    file.sync_all()
}
