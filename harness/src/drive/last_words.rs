//! The last lines of what a server wrote on standard error: often all that says why it ended.

use std::path::Path;

use crate::protocol;

/// The most of a standard error that is read for a server's last words (bytes), and how much of a line (characters).
const LAST_WORDS_BYTES: usize = 16 * 1024;
const LAST_WORDS_CHARS: usize = 400;

/// The last lines of a server's standard error, the oldest first.
pub(super) fn last_words(file: &Path, lines_max: usize) -> Vec<String> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let tail = &bytes[bytes.len().saturating_sub(LAST_WORDS_BYTES)..];
    let text = String::from_utf8_lossy(tail);
    let said = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<String> = said.map(|line| protocol::shortened(line, LAST_WORDS_CHARS)).collect();
    lines[lines.len().saturating_sub(lines_max)..].to_vec()
}
