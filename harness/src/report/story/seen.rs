//! An observation: what was counted of each operation, and which rows are new or gone since the observation before. Any kind
//! that a profile reads is told alike.

use serde_json::Value;

use super::table::{Mark, Table, without};
use super::told::Told;
use super::value::brief;
use crate::readback::Rows;
use crate::record::{Observation, OperationSeen, ReadFrom, Reading, ReadingOutcome};
use crate::report::printer::Style;

/// The kind of reading that a case counts.
const EFFECTS: &str = "effects";

/// The server's own list of operations.
const LEDGER: &str = "ledger";

/// What one observation saw, `before` being the one before it.
pub(super) fn tell(observation: &Observation, before: Option<&Observation>) -> Vec<Told> {
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
            let change = Change::of(reading, earlier.map(|(_, reading)| reading));
            let count = reading.count().unwrap_or_default();
            if let Some(reason) = reading.problem() {
                let text = format!("UNREADABLE, so nothing is known: {reason}");
                changed.add(kind, Style::Odd, name, text, None);
            } else if !change.marked.is_empty() {
                let style = if kind == EFFECTS { Style::Bold } else { Style::Dim };
                let text = format!("{count}{}", change.in_words(count, since));
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

/// What differs between two readings.
struct Change<'a> {
    columns: &'a [String],
    marked: Vec<(Mark, &'a Vec<Value>)>,
}

impl<'a> Change<'a> {
    fn of(now: &'a Reading, before: Option<&'a Reading>) -> Self {
        let before = before.and_then(rows);
        let (is_known, now) = (now.problem().is_none(), rows(now));
        let columns = now.or(before).map_or(&[][..], |rows| rows.columns.as_slice());
        let mut marked = Vec::new();
        // Where nothing could be read, nothing is known to be gone.
        if let Some(before) = before.filter(|_| is_known) {
            marked.extend(without(before, now).into_iter().map(|row| (Mark::Gone, row)));
        }
        if let Some(now) = now {
            marked.extend(without(now, before).into_iter().map(|row| (Mark::New, row)));
        }
        Self { columns, marked }
    }

    fn table(&self) -> Table {
        Table::of(self.columns, &self.marked)
    }

    fn in_words(&self, count: usize, before: Option<&str>) -> String {
        let Some(before) = before else { return String::new() };
        let before = brief(before);
        match (self.count(Mark::New), self.count(Mark::Gone)) {
            (0, 0) => format!(", nothing new since `{before}`"),
            (new, 0) if new == count => format!(", new since `{before}`"),
            (new, 0) => format!(", {new} of them new since `{before}`"),
            (0, gone) => format!(", {gone} GONE since `{before}`"),
            (new, gone) => format!(", {new} new and {gone} gone since `{before}`"),
        }
    }

    fn count(&self, mark: Mark) -> usize {
        self.marked.iter().filter(|(its, _)| *its == mark).count()
    }
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
    if !seen.set_aside.is_empty() {
        let files = brief(&seen.set_aside.join(", "));
        let text = format!("not counted, since by their names a save left them behind: {files}");
        groups.add("set aside", Style::Dim, name, text, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Printer;
    use crate::report::story::page::Page;
    use serde_json::json;

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
        Printer::captured(|printer| {
            let mut page = Page::new(printer);
            for told in tell(now, before) {
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
       | seq  event    token  worker
       + 1    claimed  1      one
";
        assert_eq!(printed(&first, Some(&none)), expected[1..]);
        let expected = "
     effects       A: 1, nothing new since `first`
     effects       B: 0, nothing new since `first`
     events        A: 2, 1 of them new since `first`
       | seq  event    token  worker
       + 2    claimed  2      two
";
        assert_eq!(printed(&second, Some(&first)), expected[1..]);
        assert!(printed(&second, Some(&second)).contains("as before     A: events 2\n"));
        let gone = printed(&first, Some(&second));
        assert!(gone.contains("A: 1, 1 GONE since `second`"), "{gone}");
        assert!(gone.contains("       - 2    claimed  2      two\n"), "{gone}");
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
