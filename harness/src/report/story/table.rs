//! Rows as a small table: names of columns above, cells cut so that a line fits, new rows and rows that went marked.

use serde_json::Value;

use super::page::{BODY_INDENT, Page};
use super::value::in_words;
use crate::readback::Rows;
use crate::report::printer::{Style, WIDTH, escape, plain, span};

/// How many rows are shown whole.
pub(super) const ROWS_SHOWN_MAX: usize = 16;

/// How many are shown of more than that.
const ROWS_SHOWN_OF_MANY: usize = 6;

/// How many columns are shown.
const COLUMNS_SHOWN_MAX: usize = 12;

/// A column is not made narrower than this (characters).
const COLUMN_CHARS_MIN: usize = 6;

/// Between two columns.
const GAP: &str = "  ";

/// What a row is to the observation before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It was not there.
    New,
    /// It is not there any more.
    Gone,
    /// It was another: its cells say what it was and is.
    Changed,
    /// It was there.
    Same,
}

/// A table, laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// The mark of each line, none for the heading, and its text.
    lines: Vec<(Option<Mark>, String)>,
    /// How many rows are not shown.
    rest: usize,
}

impl Table {
    /// Marked rows of one reading. `columns` are the names above them.
    pub(super) fn of(columns: &[String], rows: &[(Mark, &Vec<Value>)]) -> Self {
        let is_short = rows.len() <= ROWS_SHOWN_MAX;
        let shown = if is_short { rows } else { &rows[..ROWS_SHOWN_OF_MANY] };
        let cells = |row: &Vec<Value>| row.iter().take(COLUMNS_SHOWN_MAX).map(cell).collect();
        let mut lines: Vec<Vec<String>> = shown.iter().map(|(_, row)| cells(row)).collect();
        let heading = columns.iter().take(COLUMNS_SHOWN_MAX);
        lines.insert(0, heading.map(|name| escape(name)).collect());
        let left_out = columns.len().saturating_sub(COLUMNS_SHOWN_MAX);
        let marks = std::iter::once(None).chain(shown.iter().map(|(mark, _)| Some(*mark)));
        Self {
            lines: marks.zip(aligned(&lines, left_out)).collect(),
            rest: rows.len() - shown.len(),
        }
    }

    pub(super) fn print(&self, page: &mut Page<'_>) {
        let indent = " ".repeat(BODY_INDENT + 2);
        for (mark, text) in &self.lines {
            let (sign, style) = match mark {
                // No name of a column begins a line.
                None => ("| ", Style::Dim),
                Some(Mark::New) => ("+ ", Style::Plain),
                Some(Mark::Gone) => ("- ", Style::Dim),
                Some(Mark::Changed) => ("~ ", Style::Plain),
                Some(Mark::Same) => ("  ", Style::Dim),
            };
            let line = [
                plain(indent.as_str()),
                span(Style::Bold, sign),
                span(style, text.as_str()),
            ];
            page.line(&line);
        }
        if self.rest > 0 {
            page.line(&[plain(format!("{indent}  and {} rows more", self.rest))]);
        }
    }
}

/// The rows of an answer that another one does not have, each as often as it is missing there.
pub(super) fn without<'a>(rows: &'a Rows, other: Option<&Rows>) -> Vec<&'a Vec<Value>> {
    let mut there: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for row in other.into_iter().flat_map(|rows| &rows.rows) {
        *there.entry(key(row)).or_default() += 1;
    }
    let is_missing = |row: &&Vec<Value>| match there.get_mut(&key(row)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    };
    rows.rows.iter().filter(is_missing).collect()
}

fn key(row: &[Value]) -> String {
    Value::from(row).to_string()
}

/// An identity of which the beginning tells it from the others: the whole stands in the frames.
const LONG_ID_CHARS: usize = 36;
const LONG_ID_SHOWN_CHARS: usize = 8;

/// Whether a text is a UUID.
fn is_long_id(text: &str) -> bool {
    let is_in_place = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == LONG_ID_CHARS && text.bytes().enumerate().all(is_in_place)
}

fn cell(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_long_id(text) => format!("{}…", &text[..LONG_ID_SHOWN_CHARS]),
        Some(text) if !text.is_empty() => super::value::brief(&escape(text)),
        _ => escape(&in_words(value)),
    }
}

/// Lines of cells under each other, as wide as the page. Columns that do not fit are counted.
fn aligned(lines: &[Vec<String>], mut left_out: usize) -> Vec<String> {
    let room = WIDTH - BODY_INDENT - 4;
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..count).map(|column| width(lines, column)).collect();
    while total(&widths) > room {
        let widest = widths.iter().copied().max().unwrap_or(0);
        match widths.iter_mut().rev().find(|width| **width == widest) {
            Some(width) if *width > COLUMN_CHARS_MIN => *width -= 1,
            _ => {
                widths.pop();
                left_out += 1;
            }
        }
    }
    let line = |(index, cells): (usize, &Vec<String>)| {
        let fitted = widths.iter().enumerate().map(|(column, width)| {
            let text = cells.get(column).map_or("", String::as_str);
            let cut = cut_to(text, *width);
            format!("{cut:<width$}")
        });
        let mut text = fitted.collect::<Vec<_>>().join(GAP);
        if left_out > 0 && index == 0 {
            text = format!("{text}{GAP}+{left_out}");
        }
        text
    };
    lines.iter().enumerate().map(line).collect()
}

fn width(lines: &[Vec<String>], column: usize) -> usize {
    let cells = lines.iter().filter_map(|line| line.get(column));
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn cut_to(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Printer;
    use serde_json::json;

    fn rows(rows: Value) -> Rows {
        let columns = ["seq", "event", "token", "worker"].map(str::to_owned).to_vec();
        let rows = serde_json::from_value(rows).expect("rows");
        Rows { columns, rows }
    }

    fn printed(table: &Table) -> String {
        Printer::captured(|printer| table.print(&mut Page::new(printer)))
    }

    #[test]
    fn a_log_reads_as_a_table() {
        let log = rows(json!([[1, "claimed", 7, "one"], [2, "finished", null, "\u{1b}[2J\n"]]));
        let marked: Vec<(Mark, &Vec<Value>)> = log.rows.iter().map(|row| (Mark::New, row)).collect();
        let expected = "
       | seq  event     token  worker
       + 1    claimed   7      one
       + 2    finished  null   \\u{1b}[2J\\n
";
        assert_eq!(printed(&Table::of(&log.columns, &marked)), expected[1..]);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_counted() {
        let columns: Vec<String> = (0..20).map(|n| format!("column-{n}-with-a-name")).collect();
        let row: Vec<Value> = columns.iter().map(|name| json!(name.repeat(9))).collect();
        let marked = vec![(Mark::Gone, &row); 30];
        let text = printed(&Table::of(&columns, &marked));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.lines().count(), 1 + ROWS_SHOWN_OF_MANY + 1, "{text}");
        assert!(text.lines().next().is_some_and(|line| line.ends_with("  +9")), "{text}");
        assert!(text.ends_with("and 24 rows more\n"), "{text}");
    }

    #[test]
    fn rows_are_missing_as_often_as_they_are_missing() {
        let two = rows(json!([[1, 2], [1, 2], [3, 4]]));
        let one = rows(json!([[1, 2]]));
        let missing = without(&two, Some(&one));
        assert_eq!(missing.len(), 2);
        assert_eq!(*missing[1], [json!(3), json!(4)]);
        assert_eq!(without(&one, Some(&two)).len(), 0);
        assert_eq!(without(&two, None).len(), 3);
    }
}
