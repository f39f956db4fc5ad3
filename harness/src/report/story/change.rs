//! What differs between two readings of one kind: rows that are new, rows that are gone, and rows that became others.

use serde_json::Value;

use super::table::{Mark, Table, without};
use super::value::{brief, in_words};
use crate::readback::Rows;

/// A reading beside the one before.
pub(super) struct Change {
    columns: Vec<String>,
    marked: Vec<(Mark, Vec<Value>)>,
}

impl Change {
    /// `now` is nothing where there are no rows. `pairs` says whether a row that went and one that came with the same name may
    /// be one that changed.
    pub(super) fn of(now: Option<&Rows>, before: Option<&Rows>, pairs: bool) -> Self {
        let columns = now.or(before).map_or(Vec::new(), |rows| rows.columns.clone());
        let mut gone = before.map_or(Vec::new(), |before| without(before, now));
        let new = now.map_or(Vec::new(), |now| without(now, before));
        let names = now
            .zip(before)
            .filter(|_| pairs)
            .and_then(|(now, before)| naming(now, before));
        let mut marked: Vec<(Mark, Vec<Value>)> = Vec::new();
        for row in new {
            let is_named_alike = |old: &&Vec<Value>| names.is_some_and(|names| old.get(..names) == row.get(..names));
            match gone.iter().position(is_named_alike) {
                Some(at) => marked.push((Mark::Changed, became(gone.remove(at), row))),
                None => marked.push((Mark::New, row.clone())),
            }
        }
        let gone = gone.into_iter().map(|row| (Mark::Gone, row.clone()));
        marked.splice(0..0, gone);
        Self { columns, marked }
    }

    /// The whole of a reading, with what is new in it marked.
    pub(super) fn with_all(mut self, now: &Rows) -> Self {
        let mut new = std::mem::take(&mut self.marked);
        for row in &now.rows {
            let at = new.iter().position(|(mark, its)| *mark == Mark::New && its == row);
            self.marked
                .push(at.map_or_else(|| (Mark::Same, row.clone()), |at| new.remove(at)));
        }
        // What went stands first.
        self.marked.splice(0..0, new);
        self
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.marked.is_empty()
    }

    pub(super) fn table(&self) -> Table {
        let marked: Vec<(Mark, &Vec<Value>)> = self.marked.iter().map(|(mark, row)| (*mark, row)).collect();
        Table::of(&self.columns, &marked)
    }

    /// How many of the `count` rows are new, and so on, since the observation `before`.
    pub(super) fn in_words(&self, count: usize, before: Option<&str>) -> String {
        let Some(before) = before else { return String::new() };
        let before = brief(before);
        let counted = [
            (self.count(Mark::New), "new"),
            (self.count(Mark::Changed), "changed"),
            (self.count(Mark::Gone), "GONE"),
        ];
        let parts: Vec<(usize, &str)> = counted.into_iter().filter(|(number, _)| *number > 0).collect();
        match parts.as_slice() {
            [] => format!(", nothing new since `{before}`"),
            [(number, what)] if *number == count && *what != "GONE" => format!(", {what} since `{before}`"),
            [(number, "GONE")] => format!(", {number} GONE since `{before}`"),
            [(number, what)] => format!(", {number} of them {what} since `{before}`"),
            parts => {
                let parts: Vec<String> = parts.iter().map(|(number, what)| format!("{number} {what}")).collect();
                format!(", {} since `{before}`", parts.join(" and "))
            }
        }
    }

    fn count(&self, mark: Mark) -> usize {
        self.marked.iter().filter(|(its, _)| *its == mark).count()
    }
}

/// How many columns name a row: the fewest, from the first on, in which no two rows of a reading agree. None where that is all of
/// them, so that nothing is left to change.
fn naming(now: &Rows, before: &Rows) -> Option<usize> {
    let is_unique = |rows: &Rows, columns: usize| {
        let mut names: Vec<String> = rows.rows.iter().map(|row| named(row, columns)).collect();
        names.sort_unstable();
        names.windows(2).all(|two| two[0] != two[1])
    };
    (1..now.columns.len()).find(|columns| is_unique(now, *columns) && is_unique(before, *columns))
}

fn named(row: &[Value], columns: usize) -> String {
    Value::from(row.get(..columns).unwrap_or(row)).to_string()
}

/// A row with what it was and what it is in each column that differs.
fn became(old: &[Value], new: &[Value]) -> Vec<Value> {
    let cell = |(old, new): (&Value, &Value)| {
        if old == new {
            return new.clone();
        }
        Value::from(format!("{} → {}", in_words(old), in_words(new)))
    };
    old.iter().zip(new).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Printer;
    use crate::report::story::page::Page;
    use serde_json::json;

    fn leases(rows: Value) -> Rows {
        let columns = ["execution", "token", "state"].map(str::to_owned).to_vec();
        let rows = serde_json::from_value(rows).expect("rows");
        Rows { columns, rows }
    }

    fn printed(change: &Change) -> String {
        Printer::captured(|printer| change.table().print(&mut Page::new(printer)))
    }

    #[test]
    fn a_row_that_became_another_is_one_line() {
        let before = leases(json!([["e", 1, "held"]]));
        let now = leases(json!([["e", 1, "expired"], ["e", 2, "held"]]));
        let change = Change::of(Some(&now), Some(&before), true);
        let expected = "
       | execution  token  state
       ~ e          1      held → expired
       + e          2      held
";
        assert_eq!(printed(&change), expected[1..]);
        assert_eq!(change.in_words(2, Some("first")), ", 1 new and 1 changed since `first`");
        let change = Change::of(Some(&now), Some(&before), false);
        assert_eq!(change.in_words(2, Some("first")), ", 2 new and 1 GONE since `first`");
    }

    #[test]
    fn what_went_is_gone_and_no_row_is_taken_for_two() {
        let before = leases(json!([["e", 1, "held"], ["f", 1, "held"]]));
        let now = leases(json!([["e", 1, "done"]]));
        let change = Change::of(Some(&now), Some(&before), true);
        assert!(printed(&change).contains("- f "), "{}", printed(&change));
        assert_eq!(change.in_words(1, Some("x")), ", 1 changed and 1 GONE since `x`");
        let none = Change::of(None, Some(&before), true);
        assert_eq!(none.in_words(0, Some("x")), ", 2 GONE since `x`");
        let twice = leases(json!([["e", 1, "held"], ["e", 1, "held"]]));
        assert_eq!(naming(&twice, &before), None);
    }

    #[test]
    fn all_of_a_reading_is_shown_with_what_is_new_in_it() {
        let before = leases(json!([["e", 1, "held"]]));
        let now = leases(json!([["e", 1, "held"], ["e", 2, "held"]]));
        let all = Change::of(Some(&now), Some(&before), false).with_all(&now);
        let expected = "
       | execution  token  state
         e          1      held
       + e          2      held
";
        assert_eq!(printed(&all), expected[1..]);
    }
}
