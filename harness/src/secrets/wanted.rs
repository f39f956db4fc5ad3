//! The values that are looked for, each in every spelling in which a program usually writes it down. Pure.
//!
//! Escapes (JSON, percent) are no spelling of their own here: `view` undoes them, however much of a value is escaped.

use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde::Serialize;

use crate::record::Encoding;

/// A value with fewer bytes is not looked for: it would be found everywhere.
pub const SECRET_BYTES_MIN: usize = 6;

/// A line of a value of several lines is looked for by itself from so many bytes on.
const LINE_BYTES_MIN: usize = 16;

/// No more of a value is looked for, in bytes: whoever writes a longer one down writes its beginning down too.
const SOUGHT_BYTES_MAX: usize = 4 * 1024;

/// A secret by name, with the value that nobody else may see.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A secret that is not looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unsought {
    /// The variable.
    pub name: String,
    /// Why, and what to do about it.
    pub reason: String,
}

/// What stands where a pattern matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) name: String,
    pub(super) encoding: Encoding,
    /// Whether the digits of base64 before and behind the pattern hold bits of the value too, beside bits of its neighbours.
    shares_digits: (bool, bool),
}

/// All values, ready to be looked for.
#[derive(Debug, Default)]
pub struct Wanted {
    exact: Option<(AhoCorasick, Vec<Spelling>)>,
    /// Hexadecimal digits have two cases, and a mixture of them.
    any_case: Option<(AhoCorasick, Vec<Spelling>)>,
    unsought: Vec<Unsought>,
}

impl Wanted {
    /// Prepares the search for these values.
    pub fn new(secrets: &[Secret]) -> Self {
        let mut exact = BTreeMap::new();
        let mut any_case = BTreeMap::new();
        let mut unsought = Vec::new();
        for secret in secrets {
            let value = secret.value.trim();
            if value.len() < SECRET_BYTES_MIN {
                unsought.push(Unsought {
                    name: secret.name.clone(),
                    reason: format!(
                        "its value has fewer than {SECRET_BYTES_MIN} bytes, and would be found everywhere; take a longer one"
                    ),
                });
                continue;
            }
            for part in parts(value) {
                add_spellings(&secret.name, part, &mut exact, &mut any_case);
            }
        }
        Self {
            exact: automaton(exact, false),
            any_case: automaton(any_case, true),
            unsought,
        }
    }

    /// The secrets that are too short to be looked for.
    pub fn unsought(&self) -> &[Unsought] {
        &self.unsought
    }

    /// Every place in `bytes` where a value is written down.
    pub(super) fn each(&self, bytes: &[u8], mut see: impl FnMut(std::ops::Range<usize>, &Spelling)) {
        for (automaton, spellings) in self.exact.iter().chain(&self.any_case) {
            for found in automaton.find_iter(bytes) {
                let spelling = &spellings[found.pattern().as_usize()];
                let mut range = found.range();
                let is_digit = |at: usize| bytes.get(at).is_some_and(|byte| is_base64(*byte));
                let (before, behind) = spelling.shares_digits;
                range.start -= usize::from(before && range.start > 0 && is_digit(range.start - 1));
                range.end += usize::from(behind && is_digit(range.end));
                see(range, spelling);
            }
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The value, and its long lines where it has several: a key is often written down in another indentation.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let mut end = value.len().min(SOUGHT_BYTES_MAX);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_MIN);
    let lines = lines.filter(move |line| line.len() < value.len() && !line.starts_with("-----"));
    std::iter::once(&value[..end]).chain(lines)
}

type Patterns = BTreeMap<Vec<u8>, Spelling>;

fn add_spellings(name: &str, value: &str, exact: &mut Patterns, any_case: &mut Patterns) {
    let spelling = |encoding| Spelling {
        name: name.to_owned(),
        encoding,
        shares_digits: (false, false),
    };
    let bytes = value.as_bytes();
    exact.insert(bytes.to_vec(), spelling(Encoding::Plain));
    if value.contains(' ') {
        exact.insert(value.replace(' ', "+").into_bytes(), spelling(Encoding::Plain));
    }
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        exact.insert(
            value.encode_utf16().flat_map(order).collect(),
            spelling(Encoding::Utf16),
        );
    }
    // A key is often a text that says bytes: a server that decodes it may write the bytes down in another spelling.
    let base64 = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
    let meant = base64.map(|engine| engine.decode(value).ok()).into_iter();
    let meant = meant
        .chain([base16ct::mixed::decode_vec(value).ok()])
        .flatten()
        .filter(|bytes| bytes.len() >= LINE_BYTES_MIN);
    let meant: Vec<Vec<u8>> = meant.collect();
    for meant in &meant {
        exact.insert(meant.clone(), spelling(Encoding::Plain));
    }
    for bytes in meant.iter().map(Vec::as_slice).chain([bytes]) {
        for shift in 0..3 {
            for text in base64_of(bytes, shift) {
                exact.entry(text).or_insert_with(|| Spelling {
                    shares_digits: (shift > 0, (shift + bytes.len()) % 3 > 0),
                    ..spelling(Encoding::Base64)
                });
            }
        }
        let hex = base16ct::lower::encode_string(bytes).into_bytes();
        any_case.entry(hex).or_insert_with(|| spelling(Encoding::Hex));
    }
}

/// The characters that stand for `bytes` wherever base64 meets them after `shift` other bytes, in both alphabets; those at
/// the ends that depend on the neighbours are left out.
fn base64_of(bytes: &[u8], shift: usize) -> [Vec<u8>; 2] {
    let mut shifted = vec![0; shift];
    shifted.extend_from_slice(bytes);
    let from = (shift * 8).div_ceil(6);
    let to = shifted.len() * 8 / 6;
    [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD].map(|engine| engine.encode(&shifted).into_bytes()[from..to].to_vec())
}

fn automaton(patterns: Patterns, any_case: bool) -> Option<(AhoCorasick, Vec<Spelling>)> {
    let (texts, spellings): (Vec<Vec<u8>>, Vec<Spelling>) = patterns.into_iter().unzip();
    let built: Result<AhoCorasick, BuildError> = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(any_case)
        .build(&texts);
    let built = built.expect("the values of an environment are far smaller than what an automaton holds");
    (!texts.is_empty()).then_some((built, spellings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(wanted: &Wanted, text: &[u8]) -> Vec<Encoding> {
        let mut found = Vec::new();
        wanted.each(text, |_, spelling| found.push(spelling.encoding));
        found
    }

    fn secret(value: &str) -> Secret {
        Secret {
            name: "KEY".to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn a_value_is_found_in_every_spelling() {
        let value = "hunter2 is älter";
        let wanted = Wanted::new(&[secret(value)]);
        let hex = base16ct::lower::encode_string(value.as_bytes());
        let utf16: Vec<u8> = value.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (text, encoding) in [
            (value.as_bytes().to_vec(), Encoding::Plain),
            (value.replace(' ', "+").into_bytes(), Encoding::Plain),
            (hex.clone().into_bytes(), Encoding::Hex),
            (hex.to_uppercase().into_bytes(), Encoding::Hex),
            (utf16, Encoding::Utf16),
        ] {
            assert_eq!(found(&wanted, &text), [encoding], "{text:?}");
        }
        assert_eq!(found(&wanted, b"hunter2 is alter"), []);
    }

    /// What a key says in hexadecimal is as secret as its spelling.
    #[test]
    fn the_bytes_that_a_key_says_are_found_too() {
        let key = "00112233445566778899aabbccddeeff";
        let wanted = Wanted::new(&[secret(key)]);
        let bytes = base16ct::lower::decode_vec(key).expect("hex");
        assert_eq!(found(&wanted, &bytes), [Encoding::Plain]);
        assert_eq!(found(&wanted, STANDARD.encode(&bytes).as_bytes()), [Encoding::Base64]);
        assert_eq!(found(&wanted, key.to_uppercase().as_bytes()), [Encoding::Hex]);
    }

    /// A database puts the next cell right behind a text, and its first byte can look like a digit.
    #[test]
    fn a_digit_of_base64_that_holds_nothing_of_the_value_is_left() {
        let wanted = Wanted::new(&[secret("secret-key")]);
        for (shift, before, behind) in [(0, 0, 1), (1, 1, 1), (2, 1, 0)] {
            let encoded = STANDARD_NO_PAD.encode(["x".repeat(shift).as_bytes(), b"secret-key"].concat());
            let text = format!("A{encoded}A");
            let mut found = Vec::new();
            wanted.each(text.as_bytes(), |range, _| found.push((range.start, range.end)));
            let (from, to) = (1 + (shift * 8).div_ceil(6), 1 + (shift + 10) * 8 / 6);
            assert_eq!(found, [(from - before, to + behind)], "{text}");
        }
    }

    /// With and without padding, in both alphabets: a token is usually base64url without any.
    #[test]
    fn the_bytes_that_a_key_says_in_any_base64_are_found() {
        let bytes: Vec<u8> = (0..20).map(|byte| 255 - byte * 3).collect();
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
            let wanted = Wanted::new(&[secret(&engine.encode(&bytes))]);
            assert_eq!(found(&wanted, &bytes), [Encoding::Plain]);
            let hex = base16ct::lower::encode_string(&bytes);
            assert_eq!(found(&wanted, hex.as_bytes()), [Encoding::Hex]);
        }
    }

    #[test]
    fn a_line_of_a_key_of_several_lines_is_found() {
        let wanted = Wanted::new(&[secret("-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END X-----\n")]);
        assert_eq!(found(&wanted, b"  MIIEvQIBADANBgkqhkiG9w0B"), [Encoding::Plain]);
        assert_eq!(found(&wanted, b"-----BEGIN X-----"), []);
    }

    #[test]
    fn what_is_too_short_is_told_and_not_looked_for() {
        let wanted = Wanted::new(&[secret("true")]);
        assert_eq!(found(&wanted, b"true"), []);
        assert_eq!(wanted.unsought().len(), 1);
        assert!(!format!("{:?}", secret("the value")).contains("the value"));
    }

    proptest! {
        /// Wherever it stands in what is encoded, in either alphabet and with or without padding.
        #[test]
        fn base64_hides_nothing(
            before in proptest::collection::vec(any::<u8>(), 0..7),
            value in "[ -~]{6,40}",
            after in proptest::collection::vec(any::<u8>(), 0..7),
        ) {
            prop_assume!(value.trim().len() >= SECRET_BYTES_MIN);
            let wanted = Wanted::new(&[secret(&value)]);
            let whole = [before.as_slice(), value.as_bytes(), &after].concat();
            let standard = STANDARD.encode(&whole);
            let url = URL_SAFE_NO_PAD.encode(&whole);
            for text in [standard, url] {
                prop_assert!(found(&wanted, text.as_bytes()).contains(&Encoding::Base64), "{}", text);
            }
        }
    }
}
