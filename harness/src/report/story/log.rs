//! The event log of durable executions, each event with what it means. Columns are known by the names of `cases/README.md`,
//! "Event logs"; a log without them is shown as it is.

use std::collections::BTreeMap;

use serde_json::Value;

use super::value::{brief, in_words};
use crate::readback::Rows;

/// The columns that the story has words for, in its order.
const COLUMNS: [&str; 4] = ["seq", "event", "token", "worker"];

/// The execution that an event is of.
const EXECUTION: &str = "execution";

/// What the source of an event says beside.
const NOTE: &str = "note";

/// The heading over the words.
const MEANS: &str = "what it means";

/// A log with words instead of notes, and without the execution where there is only one in `whole`, of which it may be a part.
pub(super) fn explained(rows: &Rows, whole: &Rows) -> Option<Rows> {
    let at = |name: &str| rows.columns.iter().position(|column| column == name);
    let known: Vec<usize> = COLUMNS.iter().map(|name| at(name)).collect::<Option<_>>()?;
    let (note, execution) = (at(NOTE), at(EXECUTION));
    let of = |row: &[Value], column: Option<usize>| column.and_then(|column| row.get(column)).cloned();
    let executions: Vec<Option<Value>> = whole.rows.iter().map(|row| of(row, execution)).collect();
    let is_one = executions.windows(2).all(|two| two[0] == two[1]);
    // By execution, the last token that was given.
    let mut given: BTreeMap<String, i64> = BTreeMap::new();
    let mut explained = |row: &Vec<Value>| {
        let [seq, event, token, worker] = [0, 1, 2, 3].map(|index| of(row, Some(known[index])).unwrap_or_default());
        let execution = of(row, execution);
        let last = given
            .entry(in_words(execution.as_ref().unwrap_or(&Value::Null)))
            .or_default();
        *last = token.as_i64().unwrap_or_default().max(*last);
        let means = Event {
            token: &token,
            worker: &worker,
            note: of(row, note).as_ref().and_then(Value::as_str),
            last: *last,
        }
        .means(event.as_str().unwrap_or_default());
        let first = execution.filter(|_| !is_one);
        let rest = [seq, event, dash(token), dash(worker), means.into()];
        first.into_iter().chain(rest).collect()
    };
    let first = (!is_one).then_some(EXECUTION);
    let columns = first.into_iter().chain(COLUMNS).chain([MEANS]);
    Some(Rows {
        columns: columns.map(str::to_owned).collect(),
        rows: rows.rows.iter().map(&mut explained).collect(),
    })
}

/// Nobody holds the execution.
fn dash(value: Value) -> Value {
    if value.is_null() { "-".into() } else { value }
}

/// What the words of an event need.
struct Event<'a> {
    token: &'a Value,
    worker: &'a Value,
    note: Option<&'a str>,
    /// The last token that was given until then.
    last: i64,
}

impl Event<'_> {
    fn means(&self, event: &str) -> String {
        let worker = self.worker.as_str().map_or_else(|| in_words(self.worker), brief);
        let token = in_words(self.token);
        match (event, self.note) {
            ("submitted", _) => "the request is written down".to_owned(),
            ("ready", None) => "it waits for a worker".to_owned(),
            ("ready", Some("lease_expired")) => "it waits for another worker".to_owned(),
            ("ready", Some("retry_due")) => "the wait before a retry is over".to_owned(),
            ("ready", Some("given_back")) => "its worker gave it back".to_owned(),
            ("claimed", _) => format!("`{worker}` holds it, with token {token}"),
            ("heartbeat", _) => format!("`{worker}` lives: its lease is extended"),
            ("completed", _) => format!("`{worker}` did it, with token {token}"),
            ("failed", Some("terminal")) => "the last attempt failed: it is over".to_owned(),
            ("failed", _) => format!("the attempt of `{worker}` failed"),
            ("lease_expired", _) => format!("`{worker}` was not heard of in time"),
            ("stale_rejected", act) => self.refused(act),
            ("retry_scheduled", _) => "it waits before a retry".to_owned(),
            ("cancelled", _) => "its client ended it".to_owned(),
            ("duplicate_detected", Some("conflict")) => "REFUSED: its key with other data".to_owned(),
            ("duplicate_detected", _) => "its key again: nothing new begins".to_owned(),
            (_, note) => note.map_or_else(String::new, brief),
        }
    }

    /// By its token, or because the execution is over.
    fn refused(&self, act: Option<&str>) -> String {
        let act = act.map_or_else(|| "an act".to_owned(), brief);
        let token = in_words(self.token);
        if self.token.as_i64().is_some_and(|token| token < self.last) {
            format!("REFUSED: {act} with token {token}, the last is {}", self.last)
        } else {
            format!("REFUSED: {act} with token {token}, it is over")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn log(columns: &[&str], rows: Value) -> Rows {
        Rows {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: serde_json::from_value(rows).expect("rows"),
        }
    }

    #[test]
    fn each_event_says_what_it_means() {
        let columns = ["execution", "seq", "event", "token", "worker", "note"];
        let rows = json!([
            ["e", 1, "submitted", null, null, null],
            ["e", 2, "claimed", 1, "first", null],
            ["e", 3, "claimed", 2, "second", null],
            ["e", 4, "stale_rejected", 1, "first", "complete"],
            ["e", 5, "cancelled", null, null, null],
            ["e", 6, "stale_rejected", 2, "second", "heartbeat"],
            ["e", 7, "of_a_stranger", 2, "second", "odd"],
        ]);
        let log = log(&columns, rows);
        let told = explained(&log, &log).expect("a log");
        assert_eq!(told.columns, ["seq", "event", "token", "worker", "what it means"]);
        let expected = json!([
            [1, "submitted", "-", "-", "the request is written down"],
            [2, "claimed", 1, "first", "`first` holds it, with token 1"],
            [3, "claimed", 2, "second", "`second` holds it, with token 2"],
            [
                4,
                "stale_rejected",
                1,
                "first",
                "REFUSED: complete with token 1, the last is 2"
            ],
            [5, "cancelled", "-", "-", "its client ended it"],
            [
                6,
                "stale_rejected",
                2,
                "second",
                "REFUSED: heartbeat with token 2, it is over"
            ],
            [7, "of_a_stranger", 2, "second", "odd"],
        ]);
        assert_eq!(json!(told.rows), expected);
    }

    #[test]
    fn two_executions_are_told_apart_and_another_kind_of_log_is_left_as_it_is() {
        let columns = ["execution", "seq", "event", "token", "worker"];
        let rows = json!([["e", 1, "ready", null, null], ["f", 1, "ready", null, null]]);
        let both = log(&columns, rows);
        let told = explained(&both, &both).expect("a log");
        assert_eq!(told.columns[0], "execution");
        assert_eq!(told.rows[1][0], "f");
        let mut first = both.clone();
        first.rows.pop();
        let part = explained(&first, &both).expect("a log");
        assert_eq!(part.rows[..], told.rows[..1]);
        let strange = log(&["seq", "event"], json!([[1, "ready"]]));
        assert_eq!(explained(&strange, &strange), None);
    }
}
