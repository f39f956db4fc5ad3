//! One thing that a step is told by: a label, a sentence, and the rows that belong to it.

use super::page::Page;
use super::table::Table;
use crate::report::printer::Style;

/// What a thing is to what comes after it in its step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Plain,
    /// One of many alike: a few are shown, the rest is counted.
    Noise,
    /// A request of the handshake with this id, which a result makes needless to tell.
    Handshake(String),
    /// The end of a process's standard output, which the end of the process says too.
    StreamEnded,
    /// The effect in the store, for which a fault waits.
    Visible,
    /// A signal to a process, whose end is told behind it.
    Signalled,
    /// A look at an execution that goes on, or what it found: the last one says what the ones before said, and more.
    Look,
    /// A write or its result: of many under identities of their own, the first is told and the rest counted.
    Copy,
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) kind: Kind,
    pub(super) style: Style,
    pub(super) label: String,
    pub(super) text: String,
    pub(super) process: Option<String>,
    pub(super) table: Option<Table>,
}

impl Told {
    pub(super) fn new(label: &str, text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Plain,
            style: Style::Dim,
            label: label.to_owned(),
            text: text.into(),
            process: None,
            table: None,
        }
    }

    pub(super) fn styled(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    pub(super) fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub(super) fn of(mut self, process: Option<&str>) -> Self {
        self.process = process.map(str::to_owned);
        self
    }

    pub(super) fn with(mut self, table: Option<Table>) -> Self {
        self.table = table;
        self
    }

    pub(super) fn print(&self, page: &mut Page<'_>) {
        page.labelled(self.style, &self.label, &self.text);
        if let Some(table) = &self.table {
            table.print(page);
        }
    }
}
