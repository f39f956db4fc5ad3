//! Texts of two runs, compared word by word: a word that only names something is paired, a time or a path is nobody's.

use super::pairing::{Kind, Pairing};

/// How many operations of a plan are called by their names; no case has more than a few.
const OPERATIONS_MAX: usize = 100;

/// A name shorter than this (bytes) is not looked for: it would be found in words that mean something.
const NAME_BYTES_MIN: usize = 6;

/// A number of hexadecimal digits this long, with a digit and a letter in it, is nothing that a person wrote.
const HEX_CHARS_MIN: usize = 12;

/// The same for words of letters and digits.
const TOKEN_CHARS_MIN: usize = 20;

/// A token of letters of one case has so many digits.
const TOKEN_DIGITS_MIN: usize = 4;

/// The names that a run gave, and what they are called in every run.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Longest first, so that no name is taken for a part of itself.
    names: Vec<(String, String)>,
}

impl Names {
    /// The names of one plan.
    pub(super) fn of(plan: &crate::plan::Plan) -> Self {
        let mut names = vec![(plan.naming.nonce.clone(), "{run}".to_owned())];
        for (name, operation) in plan.operations.iter().take(OPERATIONS_MAX) {
            let called = |what: &str| format!("{{{name}.{what}}}");
            names.push((operation.gate(), called("gate")));
            names.push((operation.identity.clone(), called("operation")));
            names.push((operation.marker.clone(), called("marker")));
            names.push((operation.input.clone(), called("input")));
            names.push((operation.changed_input.clone(), called("changed")));
        }
        names.retain(|(name, _)| name.len() >= NAME_BYTES_MIN);
        names.sort_by(|left, right| right.0.len().cmp(&left.0.len()).then_with(|| left.1.cmp(&right.1)));
        Self { names }
    }

    /// A text with the names of the plan in place of those of the run.
    pub(super) fn put_back(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, called) in &self.names {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), called);
            }
        }
        text
    }
}

/// Whether two texts say the same. The names of the plans were put back before.
pub(super) fn same_text(a: &str, b: &str, pairing: &mut Pairing) -> bool {
    let (mut left, mut right) = (Parts(a), Parts(b));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if same_word(one, other, pairing) => {}
            _ => return false,
        }
    }
}

fn same_word(a: &str, b: &str, pairing: &mut Pairing) -> bool {
    // A sentence ends in a dot, and so may a token that ends it.
    let (a, b) = match (a.strip_suffix('.'), b.strip_suffix('.')) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => (a, b),
        (Some(_), None) | (None, Some(_)) => return false,
    };
    match (look(a), look(b)) {
        // Also where they are the same word: it may stand for another one already.
        (Look::Names(kind), Look::Names(other)) if kind == other => pairing.pairs(kind, a, b),
        (Look::Time, Look::Time) | (Look::Path, Look::Path) => true,
        (Look::Means | Look::Names(_) | Look::Time | Look::Path, _) => a == b,
    }
}

/// What a word looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// It means something.
    Means,
    /// It only names something.
    Names(Kind),
    /// A moment.
    Time,
    /// A path of this machine.
    Path,
}

fn look(word: &str) -> Look {
    if is_uuid(word) {
        Look::Names(Kind::Uuid)
    } else if is_time(word) {
        Look::Time
    } else if word.starts_with('/') || word.starts_with("file:/") {
        Look::Path
    } else if is_hex(word) {
        Look::Names(Kind::Hex)
    } else if is_token(word) {
        Look::Names(Kind::Token)
    } else {
        Look::Means
    }
}

fn is_uuid(word: &str) -> bool {
    let mut lengths = word.split('-').map(str::len);
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex
        && [8, 4, 4, 4, 12]
            .into_iter()
            .all(|length| lengths.next() == Some(length))
        && lengths.next().is_none()
}

/// A date, with or without a time: `2026-07-28T…`. A revision of MCP is a date, and means something, so a time must follow.
fn is_time(word: &str) -> bool {
    let digits = |at: std::ops::Range<usize>| {
        word.get(at)
            .is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    digits(0..4) && digits(5..7) && digits(8..10) && digits(11..13) && word.as_bytes()[10] == b'T'
}

fn is_hex(word: &str) -> bool {
    word.len() >= HEX_CHARS_MIN
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_token(word: &str) -> bool {
    let count = |is: fn(&u8) -> bool| word.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let has_both_cases = count(u8::is_ascii_uppercase) > 0 && count(u8::is_ascii_lowercase) > 0;
    word.len() >= TOKEN_CHARS_MIN && digits > 0 && (has_both_cases || digits >= TOKEN_DIGITS_MIN)
}

/// A text in words and what stands between them.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.0.chars().next()?;
        let kind = is_of_word(first);
        let end = self.0.find(|c| is_of_word(c) != kind).unwrap_or(self.0.len());
        let (part, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(part)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "_-.:/+=~%{}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn compare(a: &str, b: &str, same: bool) {
        assert_eq!(same_text(a, b, &mut Pairing::default()), same, "{a:?} {b:?}");
    }

    #[test]
    fn what_only_names_something_is_no_difference() {
        for (a, b) in [
            ("", ""),
            (
                "receipt 1473dafd-3a8a-4d2b-b00b-6dd76448e29f.",
                "receipt c7f1660f-8d77-4cc8-8b41-51d5b4a3cf11.",
            ),
            ("at 2026-11-30T07:41:09Z", "at 2027-01-01T00:00:00.5Z"),
            ("in /tmp/harness-dZ1QGI/data", "in /var/x"),
            ("digest b150ffb956cf8d27", "digest 5166e35bcdae5b6b"),
            ("rs1.AAAAAAAAAAB7InByaW5jaX", "rs1.BBBBAAAAAAB7InByaW5ja9"),
        ] {
            compare(a, b, true);
        }
    }

    #[test]
    fn what_means_something_is_one() {
        for (a, b) in [
            ("applied", "unknown"),
            ("applied", ""),
            ("version 0.1.0", "version 0.2.0"),
            ("2025-11-25", "2026-07-28"),
            ("row 1", "row 2"),
            ("operation_in_progress", "operation_not_applied"),
            ("a b", "a  b"),
            ("1473dafd-3a8a-4d2b-b00b-6dd76448e29f", "applied"),
        ] {
            compare(a, b, false);
        }
    }

    #[test]
    fn the_same_thing_stays_the_same_thing() {
        let (one, two) = (
            "1473dafd-3a8a-4d2b-b00b-6dd76448e29f",
            "c7f1660f-8d77-4cc8-8b41-51d5b4a3cf11",
        );
        let (three, four) = (
            "2a49e5db-ecba-4734-b3d7-1092d456331c",
            "4c4037cf-0b79-4b3c-84b6-3c5b13de05d9",
        );
        compare(&format!("{one} {one}"), &format!("{three} {three}"), true);
        compare(&format!("{one} {two}"), &format!("{three} {four}"), true);
        compare(&format!("{one} {one}"), &format!("{three} {four}"), false);
        compare(&format!("{one} {two}"), &format!("{three} {three}"), false);
    }
}
