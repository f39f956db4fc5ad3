//! What was counted: how many rows at each observation, and the rows themselves with what made them.

use serde_json::Value;

use super::markup::Markup;
use super::scene::{count, rows};
use crate::case::Case;
use crate::counted::counted;
use crate::readback::Rows;
use crate::record::{CaseVerdict, EFFECTS, LEDGER, Observation, OperationSeen, ReadFrom, Reading, RowOrigin};
use crate::report::frame::cut;
use crate::report::story::{made_by, without};

/// How many rows of one reading are shown, and how many columns.
const ROWS_MAX: usize = 200;
const COLUMNS_MAX: usize = 40;

/// How much of one cell is shown, in characters.
const CELL_CHARS_MAX: usize = 240;

/// A text of more characters than this is long.
const LONG_CHARS: usize = 48;

/// Writes the counts of each observation, and where each row came from.
pub(super) fn write(
    markup: &mut Markup,
    observations: &[Observation],
    case: Option<&Case>,
    verdict: Option<&CaseVerdict>,
    id: &str,
) {
    if observations.is_empty() {
        return;
    }
    markup.leaf("h3", &[], "What was counted");
    write_counts(markup, observations);
    if let Some(verdict) = verdict.filter(|verdict| !verdict.rows.is_empty()) {
        write_origins(markup, &verdict.rows, case, id);
    }
}

/// What is read of one operation: its name, and that of the reading.
type Column<'a> = (&'a str, &'a str);

fn write_counts(markup: &mut Markup, observations: &[Observation]) {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for (name, seen) in observations.iter().flat_map(|observation| &observation.operations) {
        for (kind, _) in readings(seen) {
            if !columns.contains(&(name.as_str(), kind)) && columns.len() < COLUMNS_MAX {
                columns.push((name, kind));
            }
        }
    }
    scrolling(markup, "Rows at each observation", |markup| {
        markup.leaf("caption", &[], "Rows in the server's own store, at each observation");
        markup.element("thead", &[], |markup| {
            markup.element("tr", &[], |markup| {
                heading(markup, "Observed");
                heading(markup, "Read from");
                for (name, kind) in &columns {
                    heading(markup, &format!("{name}: {kind}"));
                }
            });
        });
        markup.element("tbody", &[], |markup| {
            for (index, observation) in observations.iter().enumerate() {
                let before = index.checked_sub(1).and_then(|before| observations.get(before));
                markup.element("tr", &[], |markup| {
                    markup.leaf("th", &[("scope", "row")], &observation.label);
                    markup.leaf("td", &[], read_from(&observation.read));
                    for column in &columns {
                        write_count(markup, of(observation, *column), before.and_then(|it| of(it, *column)));
                    }
                });
            }
        });
    });
}

fn of<'a>(observation: &'a Observation, (name, kind): Column<'_>) -> Option<&'a Reading> {
    observation.operations.get(name)?.reading(kind)
}

fn write_count(markup: &mut Markup, now: Option<&Reading>, before: Option<&Reading>) {
    let Some(now) = now else {
        return markup.leaf("td", &[("class", "number")], "–");
    };
    let is_changed = before.is_some_and(|before| count(before) != count(now));
    let class = if is_changed { "number strong" } else { "number" };
    markup.leaf("td", &[("class", class)], &count(now));
}

fn read_from(read: &ReadFrom) -> &'static str {
    match read {
        ReadFrom::Live => "the living store (the runner's word)",
        ReadFrom::Frozen { folder: None, .. } => "no store was there yet",
        ReadFrom::Frozen { .. } => "a frozen copy",
    }
}

fn write_origins(markup: &mut Markup, origins: &[RowOrigin], case: Option<&Case>, id: &str) {
    let mut operations: Vec<&str> = Vec::new();
    for origin in origins {
        if !operations.contains(&origin.operation.as_str()) {
            operations.push(&origin.operation);
        }
    }
    for operation in operations {
        let of_it: Vec<&RowOrigin> = origins.iter().filter(|row| row.operation == operation).collect();
        let columns: Vec<&String> = of_it
            .first()
            .map_or_else(Vec::new, |first| first.row.keys().take(COLUMNS_MAX).collect());
        let caption = format!("The effects of {operation}, and what made each");
        scrolling(markup, &caption, |markup| {
            markup.leaf("caption", &[], &caption);
            markup.element("thead", &[], |markup| {
                markup.element("tr", &[], |markup| {
                    heading(markup, "Made by");
                    heading(markup, "First seen");
                    for column in &columns {
                        heading(markup, &cut(column, CELL_CHARS_MAX));
                    }
                });
            });
            markup.element("tbody", &[], |markup| {
                for origin in of_it.iter().take(ROWS_MAX) {
                    markup.element("tr", &[], |markup| {
                        markup.element("td", &[], |markup| write_maker(markup, origin, case, id));
                        let gone = origin.gone_at.as_ref();
                        let gone = gone.map_or(String::new(), |label| format!(", GONE at {label}"));
                        markup.leaf("td", &[], &format!("{}{gone}", origin.first_seen));
                        for column in &columns {
                            cell(markup, origin.row.get(*column).unwrap_or(&Value::Null));
                        }
                    });
                }
            });
        });
        more(markup, of_it.len(), ROWS_MAX);
    }
}

/// The frames that can have made a row, each a link to it.
fn write_maker(markup: &mut Markup, origin: &RowOrigin, case: Option<&Case>, id: &str) {
    let [one] = origin.made_by.as_slice() else {
        return markup.text(&made_by(origin, case));
    };
    markup.text(&format!("{} ", one.step));
    let href = format!("#{id}-{}", one.seq);
    markup.leaf("a", &[("href", &href)], &format!("[{}]", one.seq));
}

/// Every reading of an observation, with its rows.
pub(super) fn write_readings(markup: &mut Markup, observation: &Observation) {
    if let Some(problem) = observation.read.problem() {
        markup.leaf("p", &[("class", "odd")], problem);
    }
    for (name, seen) in &observation.operations {
        for (kind, reading) in readings(seen) {
            write_reading(markup, &format!("{name}: {kind} at {}", observation.label), reading);
        }
    }
}

fn write_reading(markup: &mut Markup, caption: &str, reading: &Reading) {
    let Some(rows) = rows(reading).filter(|rows| rows.count() > 0) else {
        let why = reading.problem().or(reading.missing()).unwrap_or("no rows");
        return markup.leaf("p", &[("class", "aside")], &format!("{caption}: {why}"));
    };
    scrolling(markup, caption, |markup| {
        markup.leaf("caption", &[], caption);
        write_rows(markup, rows);
    });
    more(markup, rows.count(), ROWS_MAX);
}

fn write_rows(markup: &mut Markup, rows: &Rows) {
    markup.element("thead", &[], |markup| {
        markup.element("tr", &[], |markup| {
            for column in rows.columns.iter().take(COLUMNS_MAX) {
                heading(markup, &cut(column, CELL_CHARS_MAX));
            }
        });
    });
    markup.element("tbody", &[], |markup| {
        for row in without(rows, None).into_iter().take(ROWS_MAX) {
            markup.element("tr", &[], |markup| {
                row.iter().take(COLUMNS_MAX).for_each(|value| cell(markup, value));
            });
        }
    });
}

/// Every reading of one operation, by its kind.
fn readings(seen: &OperationSeen) -> impl Iterator<Item = (&str, &Reading)> {
    let more = seen.more.iter().map(|(kind, reading)| (kind.as_str(), reading));
    let ledger = seen.ledger.iter().map(|reading| (LEDGER, reading));
    std::iter::once((EFFECTS, &seen.effects)).chain(ledger).chain(more)
}

fn more(markup: &mut Markup, count: usize, shown: usize) {
    if count > shown {
        let rest = counted(count - shown, "row more", "rows more");
        markup.leaf("p", &[("class", "aside")], &format!("and {rest}, in the evidence"));
    }
}

fn heading(markup: &mut Markup, text: &str) {
    markup.leaf("th", &[("scope", "col")], text);
}

fn cell(markup: &mut Markup, value: &Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let class = if value.is_number() {
        "number data"
    } else {
        data_class(&text)
    };
    markup.leaf("td", &[("class", class)], &cut(&text, CELL_CHARS_MAX));
}

/// The look of a cell that holds data: a long text gets room.
pub(super) fn data_class(text: &str) -> &'static str {
    if text.chars().count() > LONG_CHARS {
        "data long"
    } else {
        "data"
    }
}

/// A table that scrolls by itself where it is wider than the page, also by keyboard.
pub(super) fn scrolling(markup: &mut Markup, name: &str, inside: impl FnOnce(&mut Markup)) {
    let attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "group"),
        ("aria-label", name),
    ];
    markup.element("div", &attributes, |markup| markup.element("table", &[], inside));
    markup.line_end();
}
