//! The one way to the terminal. Everything that is printed passes its escaping: what a server wrote is untrusted.
//!
//! A text never brings its own control sequences or line ends: style comes from [`Span`]s, lines from [`Printer::line`].
//! So no server can move the cursor, forge a line, or speak to a build log that reads commands at the start of lines.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::rc::Rc;

use serde::Serialize;

/// The width that prose is wrapped to, in characters.
pub const WIDTH: usize = 100;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// Headings and names.
    Bold,
    /// What can be skipped.
    Dim,
    /// Passed.
    Good,
    /// Failed.
    Bad,
    /// Neither.
    Odd,
}

/// A piece of text with a style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    style: Style,
    text: String,
}

impl Span {
    /// How many characters it has before it is escaped.
    pub(super) fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

/// A styled piece of text.
pub fn span(style: Style, text: impl Into<String>) -> Span {
    Span {
        style,
        text: text.into(),
    }
}

/// An unstyled piece of text.
pub fn plain(text: impl Into<String>) -> Span {
    span(Style::Plain, text)
}

/// Writes to standard output and standard error.
pub struct Printer {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// The first thing that standard output did not take.
    refused: Option<io::Error>,
    styles: bool,
    progress: bool,
    progress_shown: bool,
}

/// Keeps what is written.
struct Captured(Rc<RefCell<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Printer")
            .field("styles", &self.styles)
            .finish_non_exhaustive()
    }
}

impl Printer {
    /// The printer of this process. Styles need a terminal, and neither `NO_COLOR` nor `TERM=dumb`; progress needs a
    /// terminal that is no build log (`CI`).
    pub fn from_environment() -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            refused: None,
            styles: io::stdout().is_terminal() && !set("NO_COLOR") && !dumb,
            progress: io::stderr().is_terminal() && !set("CI") && !dumb,
            progress_shown: false,
        }
    }

    /// What `show` prints, as a text without styles.
    pub fn captured(show: impl FnOnce(&mut Self)) -> String {
        let text = Rc::new(RefCell::new(Vec::new()));
        let mut printer = Self {
            out: Box::new(Captured(Rc::clone(&text))),
            err: Box::new(Captured(Rc::clone(&text))),
            refused: None,
            styles: false,
            progress: false,
            progress_shown: false,
        };
        show(&mut printer);
        String::from_utf8_lossy(&text.borrow()).into_owned()
    }

    /// Prints one line on standard output.
    pub fn line(&mut self, spans: &[Span]) {
        self.clear_progress();
        let mut text = self.render(spans);
        text.push('\n');
        self.put(&text);
    }

    /// Prints an empty line.
    pub fn blank(&mut self) {
        self.line(&[]);
    }

    /// Prints prose, wrapped to [`WIDTH`], each line after `indent`.
    pub fn prose(&mut self, indent: &str, text: &str) {
        for line in wrap(text, WIDTH.saturating_sub(indent.len())) {
            self.line(&[plain(indent), plain(line)]);
        }
    }

    /// Prints a text of our own as it is, line ends included; never one that a server wrote, but in a document that has
    /// escaped it in its own way.
    pub fn own_text(&mut self, text: &str) {
        self.put(text);
    }

    /// Prints an error as one line on standard error.
    pub fn error(&mut self, text: &str) {
        self.note("error: ", text);
    }

    /// Prints one line on standard error.
    pub fn note(&mut self, prefix: &str, text: &str) {
        self.clear_progress();
        let line = format!("{prefix}{}\n", escape(text));
        tell(&mut self.err, &line);
    }

    /// Prints a value as JSON on standard output, on several lines.
    pub fn json(&mut self, value: &impl Serialize) {
        let text = serde_json::to_string_pretty(value).expect("reports have string keys only");
        self.put(&format!("{}\n", escape_json(&text)));
    }

    /// Prints a value as JSON on standard output, on one line.
    pub fn json_line(&mut self, value: &impl Serialize) {
        let text = serde_json::to_string(value).expect("reports have string keys only");
        self.put(&format!("{}\n", escape_json(&text)));
    }

    /// Prints a value as JSON on several lines of standard output, each of them after `indent`.
    pub fn json_block(&mut self, indent: &str, value: &impl Serialize) {
        let text = serde_json::to_string_pretty(value).expect("what was read as JSON is JSON");
        // Line ends stand between values only: inside strings JSON itself escapes them.
        for line in escape_json(&text).split('\n') {
            self.put(&format!("{indent}{line}\n"));
        }
    }

    /// Shows what is being done, on a terminal; the next line replaces it.
    pub fn progress(&mut self, text: &str) {
        if self.progress {
            tell(&mut self.err, &format!("\r\u{1b}[K{}", escape(text)));
            self.progress_shown = true;
        }
    }

    fn clear_progress(&mut self) {
        if std::mem::take(&mut self.progress_shown) {
            tell(&mut self.err, "\r\u{1b}[K");
        }
    }

    /// Writes to standard output. After the first error nothing more is written: what follows a gap would be taken for
    /// what belongs there.
    fn put(&mut self, text: &str) {
        if self.refused.is_none() {
            let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
            self.keep(written);
        }
    }

    /// Remembers that something did not get to standard output, whoever tried to write it.
    pub fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.refused.get_or_insert(error);
        }
    }

    /// The first error of standard output, so that half a document is not taken for a whole one. A reader that went away
    /// (`| head`) has seen what it wanted, and is none.
    pub fn output_error(&self) -> Option<&io::Error> {
        let error = self.refused.as_ref();
        error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }

    fn render(&self, spans: &[Span]) -> String {
        let mut text = String::new();
        for span in spans {
            let escaped = escape(&span.text);
            match (self.styles, code(span.style)) {
                (true, Some(code)) => {
                    let _ = write!(text, "\u{1b}[{code}m{escaped}\u{1b}[0m");
                }
                _ => text.push_str(&escaped),
            }
        }
        text.truncate(text.trim_end_matches(' ').len());
        text
    }
}

fn code(style: Style) -> Option<&'static str> {
    match style {
        Style::Plain => None,
        Style::Bold => Some("1"),
        Style::Dim => Some("2"),
        Style::Good => Some("1;32"),
        Style::Bad => Some("1;31"),
        Style::Odd => Some("1;33"),
    }
}

/// Writes to standard error. There is nobody left to tell that it cannot be written.
fn tell(to: &mut dyn Write, text: &str) {
    let _ = to.write_all(text.as_bytes());
    let _ = to.flush();
}

/// Makes every character visible: controls, line ends, and what changes the direction of text.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if is_treacherous(c) => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// The same for JSON text, in which such characters stand inside strings only, and line ends between values.
fn escape_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_treacherous(c) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Controls (C0, DEL, C1), line and paragraph separators, marks and overrides of direction, and the invisible. All of
/// them lie below U+10000, so one `\uXXXX` writes each in JSON.
pub(super) fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Breaks prose into lines of at most `width` characters; a longer word gets a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_server_cannot_speak_to_the_terminal() {
        assert_eq!(escape("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(escape("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(escape("a\n::error::b"), "a\\n::error::b");
        assert_eq!(escape("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(escape("naïve 状態 😀"), "naïve 状態 😀");
    }

    /// Takes so many writes, and then none.
    struct Full {
        takes: usize,
        then: io::ErrorKind,
        taken: Rc<RefCell<Vec<u8>>>,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.takes == 0 {
                // As where somebody makes room in between.
                self.takes = usize::MAX;
                return Err(self.then.into());
            }
            self.takes -= 1;
            self.taken.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The error that is told after three lines, and what got through of them.
    fn three_lines(takes: usize, then: io::ErrorKind) -> (Option<io::ErrorKind>, String) {
        let taken = Rc::new(RefCell::new(Vec::new()));
        let full = |takes| Full {
            takes,
            then,
            taken: Rc::clone(&taken),
        };
        let mut printer = Printer {
            out: Box::new(full(takes)),
            err: Box::new(full(0)),
            refused: None,
            styles: false,
            progress: false,
            progress_shown: false,
        };
        printer.error("a full standard error is nobody's concern");
        for word in ["one", "two", "three"] {
            printer.line(&[plain(word)]);
        }
        let text = String::from_utf8_lossy(&taken.borrow()).into_owned();
        (printer.output_error().map(io::Error::kind), text)
    }

    #[test]
    fn the_first_error_of_the_output_is_kept_and_ends_it() {
        let full = io::ErrorKind::StorageFull;
        assert_eq!(three_lines(3, full), (None, "one\ntwo\nthree\n".to_owned()));
        assert_eq!(three_lines(1, full), (Some(full), "one\n".to_owned()));
        let gone = io::ErrorKind::BrokenPipe;
        assert_eq!(three_lines(1, gone), (None, "one\n".to_owned()), "the reader has gone");
    }

    #[test]
    fn prose_is_wrapped_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("immeasurable", 3), ["immeasurable"]);
    }

    proptest! {
        #[test]
        fn escaped_text_holds_nothing_treacherous(text in any::<String>()) {
            prop_assert!(!escape(&text).chars().any(is_treacherous));
        }

        #[test]
        fn escaped_json_means_the_same(text in any::<String>()) {
            let json = serde_json::to_string(&text).expect("JSON");
            let escaped = escape_json(&json);
            prop_assert!(!escaped.chars().any(is_treacherous));
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).expect("JSON"), text);
        }
    }
}
