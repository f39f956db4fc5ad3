//! JSON and JSON Lines as bytes: what is whole, what a death cut off, and what is broken.
//!
//! Must not open a file. Torn and bad are told apart because beside a living server a torn text is one that is being
//! written, and after a death it is damage.

use std::fmt;

use serde_json::Value;

use crate::values::{VALUES_MAX, values_in};

/// Why bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Whether the text ends too early, as a save leaves it that was cut off; else it is wrong in itself.
    pub is_torn: bool,
    /// The line, from 1 on.
    pub line: usize,
    /// What the parser says.
    pub reason: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_torn, line, reason } = self;
        let what = if *is_torn { "is cut off" } else { "is not JSON" };
        write!(f, "line {line} {what}: {reason}")
    }
}

/// Reads one document. An empty file is torn: a save that truncates first, or one that never came.
pub fn document(bytes: &[u8]) -> Result<Value, Broken> {
    refuse_too_many_values(bytes)?;
    serde_json::from_slice(without_mark(bytes)).map_err(|error| broken(&error, error.line().max(1)))
}

/// What is held in memory as values is bounded by their number, and not by the size of the file.
pub(super) fn refuse_too_many_values(bytes: &[u8]) -> Result<(), Broken> {
    if values_in(bytes) <= VALUES_MAX {
        return Ok(());
    }
    Err(Broken {
        is_torn: false,
        line: 1,
        reason: format!("it has more than {VALUES_MAX} values; start from a smaller store"),
    })
}

/// Reads lines, and calls for each that is not blank. The last line may lack its end (many servers join lines and end
/// none); if it is the beginning of JSON, it is torn. Every other line that is no JSON is bad, and nothing after it is
/// read.
pub fn each_line<'a>(
    bytes: &'a [u8],
    mut see: impl FnMut(&'a [u8]) -> Result<(), serde_json::Error>,
) -> Result<(), Broken> {
    for (index, line) in without_mark(bytes).split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        see(line).map_err(|error| Broken {
            is_torn: error.is_eof() && !line.ends_with(b"\n"),
            ..broken(&error, index + 1)
        })?;
    }
    Ok(())
}

/// What a parser's error means.
pub(in crate::readback) fn broken(error: &serde_json::Error, line: usize) -> Broken {
    Broken {
        is_torn: error.is_eof(),
        line,
        reason: error.to_string(),
    }
}

/// The bytes without the byte order mark that some editors put before UTF-8.
pub(in crate::readback) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}
