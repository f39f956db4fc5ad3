//! Tests of the canonical form: tables, and an oracle that never sees a `serde_json` value.
//!
//! The oracle renders a generated tree twice: once in canonical form, from the rules as they are written down, and once as noisy
//! JSON text (any spelling of numbers and characters, any order of members, white space, overwritten duplicates). Reading the
//! noise and writing it canonically must give the first text.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[derive(Debug, Clone)]
enum Tree {
    Word(&'static str),
    Integer(i64),
    Text(Vec<char>),
    List(Vec<Tree>),
    /// Keyed by characters, so that the order of the map is the order of Unicode scalar values.
    Members(BTreeMap<Vec<char>, Tree>),
}

fn text() -> impl Strategy<Value = Vec<char>> {
    let any_character = prop_oneof![
        any::<char>(),
        prop::char::range('\0', '\u{7f}'),
        prop::sample::select(vec![
            '"',
            '\\',
            '/',
            '\u{7f}',
            '\u{2028}',
            '\u{e000}',
            '\u{ffff}',
            '\u{10000}'
        ]),
    ];
    prop::collection::vec(any_character, 0..6)
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false"]).prop_map(Tree::Word),
        (-INTEGER_MAX..=INTEGER_MAX).prop_map(Tree::Integer),
        (-3_i64..=3).prop_map(Tree::Integer),
        text().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::List),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(Tree::Members),
        ]
    })
}

fn joined(parts: impl Iterator<Item = String>, open: char, close: char) -> String {
    format!("{open}{}{close}", parts.collect::<Vec<_>>().join(","))
}

fn canonical_text(characters: &[char]) -> String {
    let escaped = characters.iter().map(|&character| match u32::from(character) {
        0x08 => "\\b".to_owned(),
        0x09 => "\\t".to_owned(),
        0x0a => "\\n".to_owned(),
        0x0c => "\\f".to_owned(),
        0x0d => "\\r".to_owned(),
        0x22 => "\\\"".to_owned(),
        0x5c => "\\\\".to_owned(),
        code @ 0x00..=0x1f => format!("\\u00{code:02x}"),
        _ => character.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

impl Tree {
    fn canonical(&self) -> String {
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Integer(integer) => integer.to_string(),
            Self::Text(characters) => canonical_text(characters),
            Self::List(items) => joined(items.iter().map(Self::canonical), '[', ']'),
            Self::Members(members) => {
                let member =
                    |(key, value): (&Vec<char>, &Self)| format!("{}:{}", canonical_text(key), value.canonical());
                joined(members.iter().map(member), '{', '}')
            }
        }
    }

    /// `noise` gives one byte after another; each picks a spelling.
    fn noisy(&self, noise: &mut impl FnMut() -> u8) -> String {
        match self {
            Self::Word(word) => format!(" {word}\n"),
            Self::Integer(integer) => {
                let suffixes = ["", ".0", "e0", "E+0", ".000e-0"];
                format!("{integer}{}", suffixes[usize::from(noise()) % suffixes.len()])
            }
            Self::Text(characters) => noisy_text(characters, noise),
            Self::List(items) => joined(items.iter().map(|item| item.noisy(noise)), '[', ']'),
            Self::Members(members) => {
                let (mut overwritten, mut written) = (Vec::new(), Vec::new());
                for (key, value) in members {
                    if noise().is_multiple_of(4) {
                        // A duplicate that stands before all members: of duplicate keys the last wins.
                        overwritten.push(format!("{}:[0.5]", noisy_text(key, noise)));
                    }
                    let member = format!("{}\t: {}", noisy_text(key, noise), value.noisy(noise));
                    written.insert(usize::from(noise()) % (written.len() + 1), member);
                }
                joined(overwritten.into_iter().chain(written), '{', '}')
            }
        }
    }
}

fn noisy_text(characters: &[char], noise: &mut impl FnMut() -> u8) -> String {
    let mut text = String::from("\"");
    for &character in characters {
        if noise().is_multiple_of(3) || u32::from(character) < 0x20 || matches!(character, '"' | '\\') {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(text, "\\u{unit:04X}").expect("writing to a String cannot fail");
            }
        } else {
            text.push(character);
        }
    }
    text.push('"');
    text
}

proptest! {
    #[test]
    fn any_spelling_of_a_value_has_one_canonical_form(tree in tree(), noise in prop::collection::vec(any::<u8>(), 1..64)) {
        let mut bytes = noise.iter().copied().cycle();
        let spelled = tree.noisy(&mut || bytes.next().unwrap_or(0));
        let value: Value = serde_json::from_str(&spelled).unwrap();
        prop_assert_eq!(canonical_json(&value).unwrap(), tree.canonical());
    }

    #[test]
    fn the_canonical_form_is_read_back_as_itself(tree in tree()) {
        let value: Value = serde_json::from_str(&tree.canonical()).unwrap();
        prop_assert_eq!(canonical_json(&value).unwrap(), tree.canonical());
    }

    #[test]
    fn a_fraction_is_refused_wherever_it_stands(depth in 0_usize..6, whole in -1000_i64..1000) {
        let mut text = format!("{whole}.25");
        let mut path = String::new();
        for level in 0..depth {
            if level % 2 == 0 {
                text = format!("[null,{text}]");
                path.insert_str(0, "[1]");
            } else {
                text = format!("{{\"k\":{text}}}");
                path.insert_str(0, ".k");
            }
        }
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(canonical_json(&value).unwrap_err().path, format!("${path}"));
    }
}

#[test]
fn members_are_ordered_by_unicode_scalar_value_and_not_by_utf16() {
    // In UTF-16 the astral key would come first: its first unit is 0xd800.
    let value = json!({ "\u{10000}": 1, "\u{e000}": 2, "a": 3, "": 4, "10": 5, "2": 6 });
    let expected = "{\"\":4,\"10\":5,\"2\":6,\"a\":3,\"\u{e000}\":2,\"\u{10000}\":1}";
    assert_eq!(canonical_json(&value).unwrap(), expected);
}

#[test]
fn numbers_are_exact_or_refused() {
    let canonical = |text: &str| canonical_json(&serde_json::from_str(text).unwrap());
    for (text, expected) in [
        ("1", "1"),
        ("1.0", "1"),
        ("1e0", "1"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991.0", "-9007199254740991"),
    ] {
        assert_eq!(canonical(text).unwrap(), expected, "{text}");
    }
    for (text, problem) in [
        ("1.5", "not integral"),
        ("1e-7", "not integral"),
        ("9007199254740992", "out of range"),
        ("-9007199254740992", "out of range"),
        ("18446744073709551615", "out of range"),
        ("1e300", "out of range"),
    ] {
        let error = canonical(text).unwrap_err().to_string();
        assert!(
            error.starts_with("$: the number ") && error.contains(problem),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_path_is_never_ambiguous() {
    for (text, path) in [
        ("{\"a\":{\"list\":[1,{\"deep\":0.1}]}}", "$.a.list[1].deep"),
        ("{\"a.b\":0.1}", "$[\"a.b\"]"),
        ("{\"\":{\"x\\\"y\":0.1}}", "$[\"\"][\"x\\\"y\"]"),
        ("[[0.1]]", "$[0][0]"),
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical_json(&value).unwrap_err().path, path);
    }
}
