//! Bytes with their escapes undone, and for every range of them the range of the bytes they came from. Pure.
//!
//! Escapes are undone wherever they stand, also outside of strings: what is looked through may be a log, a database or a
//! document inside of a document, and whoever wants to hide nothing looks at every reading.

use std::ops::Range;

/// An escape is a longer spelling of a few bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Escape {
    /// Where it begins in what was read, and how long it is there.
    raw: usize,
    raw_length: usize,
    /// The same in the view.
    at: usize,
    length: usize,
}

/// What is left when the escapes are undone once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    escapes: Vec<Escape>,
}

impl View {
    /// Undoes the escapes of JSON; nothing where there are none.
    pub(super) fn of_json(raw: &[u8]) -> Option<Self> {
        Self::undo(raw, b'\\', json_escape)
    }

    /// Undoes `%41` and its like; nothing where there are none.
    pub(super) fn of_percent(raw: &[u8]) -> Option<Self> {
        Self::undo(raw, b'%', |rest| {
            let digits = rest.get(1..3)?;
            let byte = base16ct::mixed::decode_vec(digits).ok()?;
            Some((byte, 3))
        })
    }

    fn undo(raw: &[u8], sign: u8, escape: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> Option<Self> {
        let mut view = Self {
            bytes: Vec::new(),
            escapes: Vec::new(),
        };
        let (mut copied, mut at) = (0, 0);
        while let Some(next) = raw[at..].iter().position(|byte| *byte == sign) {
            at += next;
            let Some((meant, length)) = escape(&raw[at..]) else {
                at += 1;
                continue;
            };
            view.bytes.extend_from_slice(&raw[copied..at]);
            view.escapes.push(Escape {
                raw: at,
                raw_length: length,
                at: view.bytes.len(),
                length: meant.len(),
            });
            view.bytes.extend(meant);
            at += length;
            copied = at;
        }
        view.bytes.extend_from_slice(&raw[copied..]);
        (!view.escapes.is_empty()).then_some(view)
    }

    /// The range of what was read that a range of the view came from; escapes are whole in it.
    pub(super) fn raw(&self, range: &Range<usize>) -> Range<usize> {
        let begun = self.escapes.partition_point(|escape| escape.at <= range.start);
        let start = match begun.checked_sub(1).map(|last| self.escapes[last]) {
            None => range.start,
            Some(escape) if range.start < escape.at + escape.length => escape.raw,
            Some(escape) => escape.raw + escape.raw_length + (range.start - escape.at - escape.length),
        };
        let begun = self.escapes.partition_point(|escape| escape.at < range.end);
        let end = match begun.checked_sub(1).map(|last| self.escapes[last]) {
            None => range.end,
            Some(escape) => escape.raw + escape.raw_length + range.end.saturating_sub(escape.at + escape.length),
        };
        start..end
    }

    /// A range of what was read, with the escapes that it cuts.
    pub(super) fn whole(&self, raw: &Range<usize>) -> Range<usize> {
        let around = |at: usize| {
            let begun = self.escapes.partition_point(|escape| escape.raw < at);
            let last = self.escapes[..begun].last()?;
            (at < last.raw + last.raw_length).then_some(last.raw..last.raw + last.raw_length)
        };
        let start = around(raw.start).map_or(raw.start, |escape| escape.start);
        let end = around(raw.end).map_or(raw.end, |escape| escape.end);
        start..end
    }

    /// How many bytes of the view a range of what was read stands for, in which escapes are whole.
    pub(super) fn length_of(&self, raw: &Range<usize>) -> usize {
        let first = self.escapes.partition_point(|escape| escape.raw < raw.start);
        let inside = self.escapes[first..].iter();
        let inside = inside.take_while(|escape| escape.raw + escape.raw_length <= raw.end);
        inside.fold(raw.len(), |length, escape| length + escape.length - escape.raw_length)
    }
}

/// What an escape of JSON at the beginning of `rest` means, and how long it is.
fn json_escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let meant = match *rest.get(1)? {
        sign @ (b'"' | b'\\' | b'/') => sign,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode_escape(rest),
        _ => return None,
    };
    Some((vec![meant], 2))
}

fn unicode_escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let unit = |at: usize| {
        let is_one = rest.get(at..at + 2)? == b"\\u";
        let digits = std::str::from_utf8(rest.get(at + 2..at + 6)?).ok()?;
        let unit = u16::from_str_radix(digits, 16).ok();
        unit.filter(|_| is_one && !digits.starts_with('+'))
    };
    let first = unit(0)?;
    let pair = unit(6).and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    let (character, length) = match char::from_u32(u32::from(first)) {
        Some(character) => (character, 6),
        None => pair.map_or((char::REPLACEMENT_CHARACTER, 6), |character| (character, 12)),
    };
    Some((character.to_string().into_bytes(), length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_undone_and_the_way_back_takes_them_whole() {
        let raw = br#"a\"b\u0041\ud83d\ude00c\x"#;
        let view = View::of_json(raw).expect("escapes");
        assert_eq!(view.bytes, "a\"bA\u{1f600}c\\x".as_bytes());
        let emoji = view.bytes.iter().position(|byte| *byte == 0xf0).expect("an emoji");
        assert_eq!(&raw[view.raw(&(1..3))], br#"\"b"#);
        assert_eq!(&raw[view.raw(&(emoji + 1..emoji + 2))], br"\ud83d\ude00");
        assert_eq!(view.length_of(&view.raw(&(1..3))), 2);
        assert_eq!(View::of_json(b"nothing"), None);
    }

    #[test]
    fn percent_signs_are_undone() {
        let view = View::of_percent(b"100% of %41%2f").expect("escapes");
        assert_eq!(view.bytes, b"100% of A/");
        assert_eq!(view.raw(&(8..10)), 8..14);
    }

    proptest! {
        /// Whatever the writer escapes, the view is the text, and every range of it leads to its own escapes.
        #[test]
        fn the_view_is_what_the_writer_meant(text in "\\PC{0,20}[\"\\\\\n\u{0}]\\PC{0,20}", from in 0..40_usize, length in 0..20_usize) {
            let json = serde_json::to_string(&text).expect("a text is JSON");
            let raw = &json.as_bytes()[1..json.len() - 1];
            let view = View::of_json(raw).expect("escapes");
            prop_assert_eq!(&view.bytes, text.as_bytes());
            let characters: Vec<(usize, char)> = text.char_indices().collect();
            let from = from.min(characters.len() - 1);
            let to = (from + length).min(characters.len());
            let at = |index: usize| characters.get(index).map_or(text.len(), |(at, _)| *at);
            let range = view.raw(&(at(from)..at(to)));
            let part: String = characters[from..to].iter().map(|(_, character)| *character).collect();
            let expected = serde_json::to_string(&part).expect("a text is JSON");
            if from < to {
                prop_assert_eq!(&raw[range.clone()], &expected.as_bytes()[1..expected.len() - 1]);
                prop_assert_eq!(view.length_of(&range), part.len());
            }
        }
    }
}
