//! An observation: what was counted of each operation, and which rows are new or gone since the observation before. Any kind
//! that a profile reads is told alike.

use super::change::Change;
use super::log;
use super::table::{ROWS_SHOWN_MAX, Table};
use super::told::Told;
use super::value::brief;
use crate::plan::CLOCK_START_UNIX;
use crate::readback::{Rows, Tampering};
use crate::record::{EVENTS, Observation, OperationSeen, ReadFrom, Reading, ReadingOutcome};
use crate::report::frame::shortened;
use crate::report::printer::Style;

/// The kind of reading that a case counts.
const EFFECTS: &str = "effects";

/// The server's own list of operations; where it lists executions too, those say more.
const LEDGER: &str = "ledger";

/// The rows of executions.
const EXECUTIONS: &str = "executions";

/// The column of leases that says when one ends, in Unix seconds.
const EXPIRES_AT: &str = "expires_at";

/// How much of a statement or of the words of a store is shown, in characters.
const SAID_CHARS_MAX: usize = 120;

/// A case moves the clock by less than this (seconds).
const CASE_S_MAX: i64 = 100_000;

/// What one observation saw, `before` being the one before it. The last one of a case shows the whole log.
pub(super) fn tell(observation: &Observation, before: Option<&Observation>, is_last: bool) -> Vec<Told> {
    let mut told = Vec::new();
    let is_there = !matches!(observation.read, ReadFrom::Frozen { folder: None, .. });
    if !is_there {
        told.push(Told::new("store", "there is none yet"));
    }
    if let Some(problem) = observation.read.problem() {
        told.push(Told::new("store", problem).styled(Style::Odd));
    }
    let since = before.map(|before| before.label.as_str());
    let rest_label = if since.is_some() { "as before" } else { "and" };
    let (mut alike, mut changed, mut rest) = (Groups::default(), Groups::default(), Groups::default());
    for (name, seen) in &observation.operations {
        let earlier = before.and_then(|before| before.operations.get(name));
        let mut same = Vec::new();
        for (kind, reading) in readings(seen) {
            let earlier = earlier.and_then(|earlier| readings(earlier).find(|(known, _)| *known == kind));
            let change = change(kind, reading, earlier.map(|(_, reading)| reading), is_last);
            let count = reading.count().unwrap_or_default();
            if let Some(reason) = reading.problem() {
                let text = format!("UNREADABLE, so nothing is known: {reason}");
                changed.add(kind, Style::Odd, name, text, None);
            } else if is_shown(kind, &change, seen) {
                let style = if kind == EFFECTS { Style::Bold } else { Style::Dim };
                let whole = if kind == EVENTS && is_last {
                    ", the whole log"
                } else {
                    ""
                };
                let text = format!("{count}{whole}{}", change.in_words(count, since));
                changed.add(kind, style, name, text, Some(change.table()));
            } else if kind == EFFECTS {
                let missing = reading.missing().filter(|_| is_there);
                let missing = missing.map_or(String::new(), |missing| format!(" ({missing})"));
                let text = format!("{count}{missing}{}", change.in_words(count, since));
                alike.add(EFFECTS, Style::Bold, name, text, None);
            } else {
                same.push(format!("{} {count}", brief(kind)));
            }
        }
        if !same.is_empty() {
            rest.add(rest_label, Style::Dim, name, same.join(", "), None);
        }
        beside(name, seen, &mut changed);
    }
    told.extend(alike.told());
    told.extend(changed.told());
    told.extend(rest.told());
    told
}

/// What is told of operations; those of which the same is to be told are told together.
#[derive(Default)]
struct Groups {
    groups: Vec<(Told, Vec<String>)>,
}

impl Groups {
    fn add(&mut self, label: &str, style: Style, name: &str, text: String, table: Option<Table>) {
        let told = Told::new(&brief(label), text).styled(style).with(table);
        let is_same = |known: &Told| known.label == told.label && known.text == told.text && known.table == told.table;
        match self.groups.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, names)) => names.push(brief(name)),
            None => self.groups.push((told, vec![brief(name)])),
        }
    }

    fn told(self) -> impl Iterator<Item = Told> {
        self.groups.into_iter().map(|(mut told, names)| {
            told.text = format!("{}: {}", names.join(", "), told.text);
            told
        })
    }
}

/// Every reading of one operation, by its kind.
fn readings(seen: &OperationSeen) -> impl Iterator<Item = (&str, &Reading)> {
    let more = seen.more.iter().map(|(kind, reading)| (kind.as_str(), reading));
    let ledger = seen.ledger.iter().map(|reading| (LEDGER, reading));
    std::iter::once((EFFECTS, &seen.effects)).chain(ledger).chain(more)
}

/// Whether the rows of a change are shown, and not only counted.
fn is_shown(kind: &str, change: &Change, seen: &OperationSeen) -> bool {
    let is_told_better = kind == LEDGER && seen.more.contains_key(EXECUTIONS);
    !is_told_better && !change.is_nothing()
}

/// What became of a reading since the one before, in the form in which it is shown.
fn change(kind: &str, now: &Reading, before: Option<&Reading>, is_last: bool) -> Change {
    let whole = rows(now).or(before.and_then(rows));
    let shown = |reading: &Reading| {
        let rows = rows(reading)?;
        let log = whole
            .filter(|_| kind == EVENTS)
            .and_then(|whole| log::explained(rows, whole));
        Some(log.unwrap_or_else(|| dated(rows)))
    };
    // Where nothing could be read, nothing is known to be gone.
    let before = before.filter(|_| now.problem().is_none()).and_then(shown);
    let now = shown(now);
    let change = Change::of(now.as_ref(), before.as_ref(), ![EFFECTS, EVENTS].contains(&kind));
    match now.filter(|now| kind == EVENTS && is_last && (1..=ROWS_SHOWN_MAX).contains(&now.rows.len())) {
        Some(now) => change.with_all(&now),
        None => change,
    }
}

/// Rows with the time at which a lease ends as the case counts time.
fn dated(rows: &Rows) -> Rows {
    let mut rows = rows.clone();
    if let Some(at) = rows.columns.iter().position(|column| column == EXPIRES_AT) {
        for cell in rows.rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            if let Some(passed_s) = cell.as_i64().and_then(since_clock_start) {
                *cell = format!("T0+{passed_s} s").into();
            }
        }
    }
    rows
}

/// The seconds since the clock of a case began; nothing where a server seems to go by another clock.
fn since_clock_start(unix_s: i64) -> Option<i64> {
    let passed_s = unix_s.checked_sub(CLOCK_START_UNIX)?;
    (0..CASE_S_MAX).contains(&passed_s).then_some(passed_s)
}

fn rows(reading: &Reading) -> Option<&Rows> {
    match &reading.outcome {
        ReadingOutcome::Rows(rows) => Some(rows),
        ReadingOutcome::Nothing { .. } | ReadingOutcome::Unreadable { .. } => None,
    }
}

/// What was found and not counted, and what a copy with doubled rows showed.
fn beside(name: &str, seen: &OperationSeen, groups: &mut Groups) {
    if let Some(copy) = &seen.doctored {
        let tables = brief(&copy.tables.join(", "));
        let text = format!(
            "{}, counted again on a copy of the store with every marked row doubled ({tables})",
            copy.count
        );
        groups.add("copy", Style::Dim, name, text, None);
    }
    for (how, tampered) in &seen.tampered {
        let (style, became) = match &tampered.outcome {
            Tampering::Refused(words) => (Style::Dim, format!("REFUSED by the store: “{}”", said(words))),
            Tampering::Changed(rows) => (Style::Odd, format!("DONE, and {rows} rows are others than before")),
            Tampering::Nothing => (Style::Odd, "done, and it changed nothing".to_owned()),
            Tampering::Failed(reason) => (Style::Odd, format!("could not be tried: {}", said(reason))),
        };
        let text = format!("on a copy, {} ({}): {became}", brief(how), said(&tampered.statement));
        groups.add("tampering", style, name, text, None);
    }
    if !seen.set_aside.is_empty() {
        let files = brief(&seen.set_aside.join(", "));
        let text = format!("not counted, since by their names a save left them behind: {files}");
        groups.add("set aside", Style::Dim, name, text, None);
    }
}

/// A statement, or the words of a store.
fn said(text: &str) -> String {
    shortened(text, SAID_CHARS_MAX).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Printer;
    use crate::report::story::page::Page;
    use serde_json::{Value, json};

    fn reading(columns: &[&str], rows: &Value) -> Value {
        json!({"query": {"sql": "", "parameters": {}}, "outcome": {"rows": {"columns": columns, "rows": rows}}})
    }

    fn observation(label: &str, effects: &Value, events: &Value) -> Observation {
        let seen = json!({
            "effects": reading(&["id"], effects),
            "more": {"events": reading(&["seq", "event", "token", "worker"], events)},
        });
        let observation = json!({
            "format": 1, "label": label, "when": "now", "read": {"from": "live"},
            "operations": {"A": seen, "B": {"effects": reading(&["id"], &json!([]))}},
        });
        serde_json::from_value(observation).expect("an observation")
    }

    fn printed(now: &Observation, before: Option<&Observation>) -> String {
        printed_as(now, before, false)
    }

    fn printed_as(now: &Observation, before: Option<&Observation>, is_last: bool) -> String {
        Printer::captured(|printer| {
            let mut page = Page::new(printer);
            for told in tell(now, before, is_last) {
                told.print(&mut page);
            }
        })
    }

    #[test]
    fn a_log_of_any_kind_is_shown_by_what_is_new_in_it() {
        let log = [json!([1, "claimed", 1, "one"]), json!([2, "claimed", 2, "two"])];
        let none = observation("none", &json!([]), &json!([]));
        let first = observation("first", &json!([[7]]), &json!([log[0]]));
        let second = observation("second", &json!([[7]]), &json!(log));
        let expected = "
     effects       A, B: 0
     and           A: events 0
";
        assert_eq!(printed(&none, None), expected[1..]);
        let expected = "
     effects       B: 0, nothing new since `none`
     effects       A: 1, new since `none`
       | id
       + 7
     events        A: 1, new since `none`
       | seq  event    token  worker  what it means
       + 1    claimed  1      one     `one` holds it, with token 1
";
        assert_eq!(printed(&first, Some(&none)), expected[1..]);
        let expected = "
     effects       A: 1, nothing new since `first`
     effects       B: 0, nothing new since `first`
     events        A: 2, 1 of them new since `first`
       | seq  event    token  worker  what it means
       + 2    claimed  2      two     `two` holds it, with token 2
";
        assert_eq!(printed(&second, Some(&first)), expected[1..]);
        assert!(printed(&second, Some(&second)).contains("as before     A: events 2\n"));
        let gone = printed(&first, Some(&second));
        assert!(gone.contains("A: 1, 1 GONE since `second`"), "{gone}");
        assert!(
            gone.contains("       - 2    claimed  2      two     `two` holds"),
            "{gone}"
        );
    }

    #[test]
    fn the_last_observation_shows_the_whole_log_and_what_was_tried_on_it() {
        let log = [json!([1, "claimed", 1, "one"]), json!([2, "completed", 1, "one"])];
        let first = observation("first", &json!([]), &json!([log[0]]));
        let mut last = observation("last", &json!([]), &json!(log));
        let tampered =
            json!({"delete": {"statement": "DELETE FROM log", "outcome": {"refused": "no event is deleted"}}});
        let seen = last.operations.get_mut("A").expect("A");
        seen.tampered = serde_json::from_value(tampered).expect("what was tried");
        let expected = "
     effects       A, B: 0, nothing new since `first`
     events        A: 2, the whole log, 1 of them new since `first`
       | seq  event      token  worker  what it means
         1    claimed    1      one     `one` holds it, with token 1
       + 2    completed  1      one     `one` did it, with token 1
     tampering     A: on a copy, delete (DELETE FROM log): REFUSED by the store: “no event is
                   deleted”
";
        assert_eq!(printed_as(&last, Some(&first), true), expected[1..]);
    }

    /// A server that goes by another clock says when, and not how long after the beginning of the case.
    #[test]
    fn the_end_of_a_lease_is_told_as_the_case_counts_time() {
        let rows = |at: i64| Rows {
            columns: vec![EXPIRES_AT.to_owned()],
            rows: vec![vec![at.into()]],
        };
        assert_eq!(dated(&rows(CLOCK_START_UNIX + 30)).rows[0][0], "T0+30 s");
        for other in [0, CLOCK_START_UNIX - 1, CLOCK_START_UNIX + CASE_S_MAX, i64::MIN] {
            assert_eq!(dated(&rows(other)), rows(other));
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_gone() {
        let before = observation("before", &json!([[7]]), &json!([]));
        let mut now = before.clone();
        let seen = now.operations.get_mut("A").expect("A");
        seen.effects.outcome = ReadingOutcome::Unreadable {
            reason: "it is locked".to_owned(),
        };
        let text = printed(&now, Some(&before));
        assert!(
            text.contains("A: UNREADABLE, so nothing is known: it is locked"),
            "{text}"
        );
        assert!(!text.contains("GONE"), "{text}");
    }
}
