//! The marker of an operation, and how often it stands in a stretch of bytes.
//!
//! Must not know what kind of store the bytes are from. Occurrences are counted and not mere presence, so that a server
//! that appends a retry to the same text is seen to have written twice.

/// A marker that may be searched for.
///
/// Its letters are those that no format has to escape, so it stands verbatim in JSON, in JSON inside a column, in SQL
/// text and in file names. What is compressed or encrypted is not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    text: String,
    /// The bytes of the text with a zero between each two: what UTF-16 of either byte order has in common.
    wide: Vec<u8>,
}

/// Why a text is no marker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// It would be found everywhere.
    #[error("search for an empty marker: it would be found everywhere; give the marker of one operation")]
    Empty,
    /// Some format would write it in another way.
    #[error("search for the marker `{marker}`: only a-z, 0-9 and - stand verbatim in every format; use only these")]
    Letters {
        /// The text.
        marker: String,
    },
}

impl Marker {
    /// A marker of `[a-z0-9-]+`.
    pub fn new(text: &str) -> Result<Self, MarkerError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() {
            return Err(MarkerError::Empty);
        }
        if !text.bytes().all(is_plain) {
            return Err(MarkerError::Letters { marker: text.into() });
        }
        let mut wide: Vec<u8> = text.bytes().flat_map(|byte| [byte, 0]).collect();
        wide.pop();
        Ok(Self {
            text: text.into(),
            wide,
        })
    }

    /// The marker as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a text holds it.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.text)
    }

    /// How often it stands in these bytes, as ASCII or UTF-8 and as UTF-16, without overlaps.
    pub fn occurrences(&self, bytes: &[u8]) -> u64 {
        let narrow = occurrences(bytes, self.text.as_bytes());
        if self.wide.len() == 1 {
            return narrow;
        }
        narrow + occurrences(bytes, &self.wide)
    }
}

/// Horspool's search: most bytes are skipped, which matters for stores of many megabytes.
fn occurrences(bytes: &[u8], needle: &[u8]) -> u64 {
    let length = needle.len();
    let mut skip = [length; 256];
    for (index, &byte) in needle[..length - 1].iter().enumerate() {
        skip[usize::from(byte)] = length - 1 - index;
    }
    let (mut at, mut found) = (0, 0);
    while let Some(window) = bytes.get(at..at + length) {
        if window == needle {
            found += 1;
            at += length;
        } else {
            at += skip[usize::from(window[length - 1])];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn utf_16_of_either_order_counts_once() {
        let marker = Marker::new("mk-1").unwrap();
        let text = "x mk-1, y";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(marker.occurrences(text.as_bytes()), 1);
        assert_eq!(marker.occurrences(&little), 1);
        assert_eq!(marker.occurrences(&big), 1);
        assert_eq!(Marker::new("m").unwrap().occurrences(b"mm"), 2);
    }

    #[test]
    fn what_some_format_would_escape_is_no_marker() {
        assert_eq!(Marker::new(""), Err(MarkerError::Empty));
        for text in ["MK", "a_b", "a b", "é", "a\"", "*"] {
            assert!(matches!(Marker::new(text), Err(MarkerError::Letters { .. })), "{text}");
        }
    }

    proptest! {
        /// The standard library searches in another way.
        #[test]
        fn counts_like_the_standard_library(text in "[ab-]{0,60}", needle in "[ab-]{1,4}") {
            prop_assert_eq!(occurrences(text.as_bytes(), needle.as_bytes()), text.matches(&needle).count() as u64);
        }
    }
}
