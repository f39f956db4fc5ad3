//! Labels, indents and line breaks of a story.
//!
//! Texts of servers are wrapped here, so this is where they are kept from beginning a line: no wrapped line begins with what
//! a build log reads as a command.

use crate::report::printer::{Printer, Span, Style, WIDTH, escape, plain, span};

/// Beginnings of words that build logs read as commands where a line begins with them.
const COMMANDS: [&str; 2] = ["::", "##"];

/// The column of labels, in characters.
const LABEL_CHARS: usize = 14;

/// Where what belongs to a step begins.
pub(super) const BODY_INDENT: usize = 5;

/// A printer with the layout of a story.
#[derive(Debug)]
pub(super) struct Page<'a> {
    printer: &'a mut Printer,
}

impl<'a> Page<'a> {
    pub(super) fn new(printer: &'a mut Printer) -> Self {
        Self { printer }
    }

    pub(super) fn line(&mut self, spans: &[Span]) {
        self.printer.line(spans);
    }

    pub(super) fn blank(&mut self) {
        self.printer.blank();
    }

    /// Where a story begins.
    pub(super) fn rule(&mut self) {
        self.blank();
        self.line(&[span(Style::Dim, "─".repeat(WIDTH))]);
    }

    /// A command to copy, which is never broken.
    pub(super) fn command(&mut self, label: &str, command: &str) {
        let space = " ".repeat(BODY_INDENT);
        self.line(&[
            plain(space),
            span(Style::Dim, format!("{label:<LABEL_CHARS$}")),
            plain(command),
        ]);
    }

    /// An empty line and a heading.
    pub(super) fn section(&mut self, heading: &str) {
        self.blank();
        self.line(&[span(Style::Bold, heading)]);
    }

    /// An empty line and the heading of a step.
    pub(super) fn step(&mut self, number: usize, text: &str) {
        self.blank();
        let number = format!(" {number:>2}  ");
        self.hanging(&[span(Style::Bold, number)], BODY_INDENT, text, Style::Bold);
    }

    /// A labelled text.
    pub(super) fn labelled(&mut self, style: Style, label: &str, text: &str) {
        let space = " ".repeat(BODY_INDENT);
        let mut label = escape(label);
        // The name of a kind of reading is a label, and may be a stranger's.
        if is_command(&label) {
            label.insert(0, '·');
        }
        // A longer label still has a space behind it.
        let label = format!("{label:<0$} ", LABEL_CHARS - 1);
        self.hanging(
            &[plain(space), span(style, label)],
            BODY_INDENT + LABEL_CHARS,
            text,
            Style::Plain,
        );
    }

    /// More under the label of the line before.
    pub(super) fn more(&mut self, text: &str) {
        let indent = BODY_INDENT + LABEL_CHARS;
        self.hanging(
            &[plain(" ".repeat(indent)), plain("· ")],
            indent + 2,
            text,
            Style::Plain,
        );
    }

    /// A text that goes on under itself: `first`, and then so far indented.
    pub(super) fn hanging(&mut self, first: &[Span], indent: usize, text: &str, style: Style) {
        let mut lines = folded(text, WIDTH.saturating_sub(indent)).into_iter();
        let mut line = first.to_vec();
        line.push(span(style, lines.next().unwrap_or_default()));
        self.line(&line);
        for more in lines {
            self.line(&[plain(" ".repeat(indent)), span(style, more)]);
        }
    }
}

/// Breaks a text into lines of at most `width` characters, between words; a longer word is broken itself, after a comma or
/// a slash where it has one. Escaped before, so that the width is that of what is seen.
pub(super) fn folded(text: &str, width: usize) -> Vec<String> {
    let escaped = escape(text);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in escaped.split(' ').filter(|word| !word.is_empty()) {
        for (index, piece) in pieces(word, width).into_iter().enumerate() {
            let space = usize::from(!line.is_empty() && index == 0);
            let fits = line.chars().count() + space + piece.chars().count() <= width;
            if !(line.is_empty() || fits || is_command(&piece)) {
                lines.push(std::mem::take(&mut line));
            } else if space == 1 {
                line.push(' ');
            }
            line.push_str(&piece);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn is_command(piece: &str) -> bool {
    COMMANDS.iter().any(|command| piece.starts_with(command))
}

/// A word in pieces that fit into a line.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((at, _)) = rest.char_indices().nth(width.max(1)) {
        let after = rest[..at].rfind([',', '/']).map(|mark| mark + 1);
        let (piece, more) = rest.split_at(after.unwrap_or(at));
        pieces.push(piece.to_owned());
        rest = more;
    }
    pieces.push(rest.to_owned());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_broken_between_words_and_long_words_after_a_comma() {
        assert_eq!(folded("one two three", 7), ["one two", "three"]);
        assert_eq!(folded(r#"{"a":1,"b":2}"#, 8), [r#"{"a":1,"#, r#""b":2}"#]);
        assert_eq!(folded("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(folded("", 3), [""; 0]);
    }

    #[test]
    fn no_wrapped_line_begins_as_a_command_to_a_build_log() {
        assert_eq!(folded("aaaa ::error::b", 5), ["aaaa ::err", "or::b"]);
        assert_eq!(folded("aaaaa,::error::b", 6), ["aaaaa,::erro", "r::b"]);
        assert_eq!(folded("a\n::error::b c", 4), ["a\\n:", ":err", "or::", "b c"]);
    }

    #[test]
    fn a_label_is_no_command_either() {
        let printed = Printer::captured(|printer| Page::new(printer).labelled(Style::Dim, "::error::x", "a text"));
        assert_eq!(printed, "     ·::error::x   a text\n");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_begins_as_a_command(text in "[a:#, \n]{0,80}", width in 1_usize..20) {
            let lines = folded(&text, width);
            let kept = |text: &str| text.replace(' ', "");
            prop_assert_eq!(kept(&lines.concat()), kept(&escape(&text)));
            prop_assert!(!lines.iter().skip(1).any(|line| is_command(line)), "{:?}", lines);
        }
    }
}
