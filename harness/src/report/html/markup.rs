//! The one way to write HTML. Names of elements and attributes are words of this program; a text or a value gets in only
//! escaped; what is opened is closed.

use super::escape::{Place, push_escaped};

/// Attributes: a name of ours and any value.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// HTML in the making.
#[derive(Debug, Default)]
pub(super) struct Markup {
    text: String,
}

impl Markup {
    /// An element, with what `inside` writes in it.
    pub(super) fn element(&mut self, name: &'static str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.tag(name, attributes);
        self.text.push('>');
        inside(self);
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }

    /// An element that holds a text.
    pub(super) fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |markup| markup.text(text));
    }

    /// An element that holds a sentence of ours, in which backticks stand around what is a name or a value.
    pub(super) fn prose(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |markup| {
            let mut rest = text;
            while let Some((before, (code, after))) = in_backticks(rest) {
                markup.text(before);
                markup.leaf("code", &[], code);
                rest = after;
            }
            markup.text(rest);
        });
    }

    /// An element that holds a text in which no other element may stand: `title`, and everything in a picture.
    pub(super) fn words(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |markup| {
            push_escaped(&mut markup.text, text, Place::Attribute);
        });
    }

    /// An element without content.
    pub(super) fn void(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.text.push_str("/>");
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) {
        push_escaped(&mut self.text, text, Place::Content);
    }

    /// Lines that a formatter of ours broke: their ends stay ends.
    pub(super) fn lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.text.push('\n');
            }
            self.text(line);
        }
    }

    /// A line end between elements, which keeps the file readable as text.
    pub(super) fn line_end(&mut self) {
        self.text.push('\n');
    }

    /// The beginning of every file.
    pub(super) fn doctype(&mut self) {
        self.text.push_str("<!DOCTYPE html>\n");
    }

    /// A style sheet of ours. It stands as it is, because its digest is in the policy.
    pub(super) fn style_sheet(&mut self, sheet: &'static str) {
        debug_assert!(!sheet.contains("</"), "a style sheet does not end itself");
        self.text.push_str("<style>");
        self.text.push_str(sheet);
        self.text.push_str("</style>");
    }

    /// What was written.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn tag(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            push_escaped(&mut self.text, value, Place::Attribute);
            self.text.push('"');
        }
    }
}

/// What stands before, between and behind the first pair of backticks.
fn in_backticks(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, rest) = text.split_once('`')?;
    Some((before, rest.split_once('`').filter(|(code, _)| !code.is_empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_in_its_element_and_a_value_in_its_quotes() {
        let mut markup = Markup::default();
        markup.element("p", &[("id", "a\" onload=\"x")], |markup| {
            markup.leaf("b", &[], "</b><script>");
            markup.words("title", &[], "\u{202e}");
            markup.void("br", &[]);
        });
        assert_eq!(
            markup.into_text(),
            "<p id=\"a&quot; onload=&quot;x\"><b>&lt;/b&gt;&lt;script&gt;</b><title>\\u{202e}</title><br/></p>"
        );
    }

    #[test]
    fn what_stands_in_backticks_is_code_and_a_single_one_stays() {
        let mut markup = Markup::default();
        markup.prose("p", &[], "the contract `<a>` and `b`, `c");
        assert_eq!(
            markup.into_text(),
            "<p>the contract <code>&lt;a&gt;</code> and <code>b</code>, `c</p>"
        );
    }

    #[test]
    fn lines_end_only_where_a_formatter_ended_them() {
        let mut markup = Markup::default();
        markup.lines("{\n  1\r\n}");
        assert_eq!(markup.into_text(), "{\n  1<b class=\"u\">\\r</b>\n}");
    }
}
