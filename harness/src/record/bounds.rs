//! How much of a record and its observations is read into memory together.

use crate::values::{VALUES_MAX, values_in};

/// Most JSON values of one frame; one that has more is kept as bytes.
pub(super) const FRAME_VALUES_MAX: usize = 1_000_000;

/// Largest observations of one case together, in bytes.
const OBSERVATIONS_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// A line longer than this (bytes) is not one that this harness wrote: a frame is kept as its value and in base64.
const LINE_BYTES_MAX: usize = 48 * 1024 * 1024;

/// What may still be read of one case.
pub(super) struct Allowance {
    values: usize,
    observation_bytes: u64,
}

impl Allowance {
    pub(super) fn new() -> Self {
        Self {
            values: VALUES_MAX,
            observation_bytes: OBSERVATIONS_BYTES_MAX,
        }
    }

    /// Takes a line of the record.
    pub(super) fn line(&mut self, line: &str) -> Result<(), String> {
        if line.len() > LINE_BYTES_MAX {
            return Err(format!("the line has more than {LINE_BYTES_MAX} bytes"));
        }
        self.values_of(line)
    }

    /// Takes an observation.
    pub(super) fn observation(&mut self, text: &str) -> Result<(), String> {
        let left = self.observation_bytes.checked_sub(text.len() as u64);
        self.observation_bytes = left.ok_or_else(|| {
            format!("the observations of the case have more than {OBSERVATIONS_BYTES_MAX} bytes together")
        })?;
        self.values_of(text)
    }

    fn values_of(&mut self, text: &str) -> Result<(), String> {
        let left = self.values.checked_sub(values_in(text.as_bytes()));
        self.values =
            left.ok_or_else(|| format!("record and observations have more than {VALUES_MAX} JSON values together"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_gone() {
        let mut allowance = Allowance::new();
        let many = "[".repeat(LINE_BYTES_MAX / 3);
        assert!(allowance.line(&many).is_err(), "more values than a case may have");
        assert!(allowance.line("[]").is_ok());
        assert!(allowance.line(&" ".repeat(LINE_BYTES_MAX + 1)).is_err());
        let large = " ".repeat(usize::try_from(OBSERVATIONS_BYTES_MAX / 2).expect("a size"));
        assert!(allowance.observation(&large).is_ok());
        assert!(allowance.observation(&large).is_ok());
        assert!(allowance.observation(" ").is_err());
    }
}
