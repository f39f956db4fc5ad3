//! Text into HTML: nothing that a server wrote is markup, and nothing of it goes unseen.

use std::fmt::Write as _;

use crate::report::printer::is_treacherous;

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In an element. A character that nobody would see becomes an escape in an element of its own, so that it is told from
    /// the same escape written out.
    Content,
    /// In a quoted attribute, or where no element may stand: such a character becomes an escape alone.
    Attribute,
}

/// Appends a text, escaped.
pub(super) fn push_escaped(to: &mut String, text: &str, place: Place) {
    for c in text.chars() {
        match c {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            // They end nothing in content, where JSON is full of them.
            '"' if place == Place::Attribute => to.push_str("&quot;"),
            '\'' if place == Place::Attribute => to.push_str("&#39;"),
            c if is_unseen(c) => push_unseen(to, c, place),
            c => to.push(c),
        }
    }
}

fn push_unseen(to: &mut String, c: char, place: Place) {
    let (before, after) = match place {
        Place::Content => ("<b class=\"u\">", "</b>"),
        Place::Attribute => ("", ""),
    };
    to.push_str(before);
    match c {
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        c => {
            let _ = write!(to, "\\u{{{:x}}}", u32::from(c));
        }
    }
    to.push_str(after);
}

/// Controls, what turns text around, and what takes no room: the printer's, and what only a browser hides.
pub(super) fn is_unseen(c: char) -> bool {
    is_treacherous(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(text: &str, place: Place) -> String {
        let mut to = String::new();
        push_escaped(&mut to, text, place);
        to
    }

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(
            escaped("</style><script>\"'&", Place::Attribute),
            "&lt;/style&gt;&lt;script&gt;&quot;&#39;&amp;"
        );
        assert_eq!(
            escaped("</style><script>\"'&", Place::Content),
            "&lt;/style&gt;&lt;script&gt;\"'&amp;"
        );
    }

    #[test]
    fn what_nobody_would_see_is_shown_and_told_from_its_escape() {
        assert_eq!(escaped("a\u{202e}b", Place::Content), "a<b class=\"u\">\\u{202e}</b>b");
        assert_eq!(escaped("a\\u{202e}b", Place::Content), "a\\u{202e}b");
        assert_eq!(
            escaped("\u{0}\n\u{1b}\u{ad}\u{e0041}", Place::Attribute),
            "\\u{0}\\n\\u{1b}\\u{ad}\\u{e0041}"
        );
        assert_eq!(escaped("naïve 状態 😀", Place::Attribute), "naïve 状態 😀");
    }

    proptest! {
        #[test]
        fn an_escaped_text_has_no_character_of_markup_and_none_unseen(text in any::<String>()) {
            let plain = escaped(&text, Place::Attribute);
            prop_assert!(!plain.contains(['<', '>', '"', '\'']));
            prop_assert!(!plain.chars().any(is_unseen));
            let content = escaped(&text, Place::Content).replace("<b class=\"u\">", "").replace("</b>", "");
            prop_assert!(!content.contains(['<', '>']));
            prop_assert_eq!(content.replace('"', "&quot;").replace('\'', "&#39;"), plain);
        }
    }
}
