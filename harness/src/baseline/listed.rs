//! The list of expected failures, as it is read: a bare list or one under `server:`, each entry short or long.
//!
//! ```yaml
//! server:
//!   - changed-input
//!   - lost-reply:first-result
//!   - { case: identical-retry, check: one-effect, reason: no ledger yet, issue: "#12", until: 2027-01-31 }
//! ```

use super::yaml::{self, At, Node, Value, refuse};
use crate::case::{Catalogue, SelectionError};
use crate::document::{DocumentError, nearest};
use crate::record::{ExpectedFailure, ExpectedFailures};

/// The key that a list may stand under.
const SERVER: &str = "server";

/// The keys of an entry in the long form.
const KEYS: [&str; 5] = ["case", "check", "reason", "issue", "until"];

/// Why a key is refused where only `server` may stand. The other file of a run is mistaken for this one.
fn unknown_beside_server(key: &str) -> String {
    let verdicts = if ["format", "target", "contract", "verdicts"].contains(&key) {
        "; if --write-expected wrote this file, compare with it by --expected"
    } else {
        ""
    };
    format!("unknown key `{key}`; known here: {SERVER}{verdicts}")
}

/// Reads a list. `name` is what errors call the file, `today` is `YYYY-MM-DD`.
pub fn read_expected_failures(
    name: &str,
    text: &str,
    catalogue: &Catalogue,
    today: &str,
) -> Result<ExpectedFailures, DocumentError> {
    let reading = Reading { name, catalogue };
    let mut entries: Vec<ExpectedFailure> = Vec::new();
    for node in reading.list(yaml::parse(name, text)?)? {
        let at = node.at;
        let entry = reading.entry(node)?;
        if let Some(message) = clash(&entries, &entry) {
            return Err(refuse(name, at, message));
        }
        entries.push(entry);
    }
    Ok(ExpectedFailures {
        file: name.to_owned(),
        today: today.to_owned(),
        entries,
    })
}

/// Why an entry cannot stand beside those before it.
fn clash(entries: &[ExpectedFailure], entry: &ExpectedFailure) -> Option<String> {
    let same_case = entries.iter().filter(|known| known.case == entry.case);
    let name = entry.name();
    for known in same_case {
        let line = known.line;
        match (&known.check, &entry.check) {
            (before, now) if before == now => return Some(format!("`{name}` is listed in line {line} already")),
            (None, _) | (_, None) => {
                let case = &entry.case;
                return Some(format!(
                    "`{case}` is listed both whole and by check (line {line}); keep one of the two"
                ));
            }
            (Some(_), Some(_)) => {}
        }
    }
    None
}

struct Reading<'a> {
    name: &'a str,
    catalogue: &'a Catalogue,
}

impl Reading<'_> {
    /// The entries, from either form of the document.
    fn list(&self, root: Node) -> Result<Vec<Node>, DocumentError> {
        match root.value {
            Value::Nothing => Ok(Vec::new()),
            Value::List(list) => Ok(list),
            Value::Mapping(mapping) => {
                let mut list = Vec::new();
                for (key, node) in mapping {
                    if key.name != SERVER {
                        let message = unknown_beside_server(&key.name);
                        return Err(refuse(self.name, key.at, message));
                    }
                    list = match node.value {
                        Value::Nothing => Vec::new(),
                        Value::List(list) => list,
                        Value::Text(_) | Value::Mapping(_) => {
                            return Err(refuse(self.name, node.at, "`server` must be a list"));
                        }
                    };
                }
                Ok(list)
            }
            Value::Text(_) => Err(refuse(
                self.name,
                root.at,
                "it is neither a list nor `server:` with a list",
            )),
        }
    }

    fn entry(&self, node: Node) -> Result<ExpectedFailure, DocumentError> {
        let at = node.at;
        match node.value {
            Value::Text(text) => self.named(at, at.line, &text),
            Value::Mapping(members) => {
                let mut texts: [Option<(At, String)>; KEYS.len()] = Default::default();
                for (key, value) in members {
                    let Some(index) = KEYS.iter().position(|known| *known == key.name) else {
                        return Err(refuse(self.name, key.at, self.unknown_key(&key.name)));
                    };
                    texts[index] = Some((value.at, self.text(&key.name, value)?));
                }
                self.long(at, texts)
            }
            Value::Nothing | Value::List(_) => Err(refuse(
                self.name,
                at,
                "an entry is `case`, `case:check`, or a mapping with `case`",
            )),
        }
    }

    fn long(&self, at: At, texts: [Option<(At, String)>; KEYS.len()]) -> Result<ExpectedFailure, DocumentError> {
        let [case, check, reason, issue, until] = texts;
        let Some((case_at, case)) = case else {
            return Err(refuse(self.name, at, "an entry needs `case`"));
        };
        let named = match &check {
            Some(_) if case.contains(':') => {
                let message = format!("`check` is there twice: in `{case}`, and alone");
                return Err(refuse(self.name, case_at, message));
            }
            Some((check_at, check)) => {
                self.named(case_at, at.line, &case)?;
                self.named(*check_at, at.line, &format!("{case}:{check}"))?
            }
            None => self.named(case_at, at.line, &case)?,
        };
        if let Some((at, until)) = &until
            && !is_date(until)
        {
            let message = format!("until `{until}` is no date; write YYYY-MM-DD");
            return Err(refuse(self.name, *at, message));
        }
        let text = |pair: Option<(At, String)>| pair.map(|(_, text)| text);
        Ok(ExpectedFailure {
            reason: text(reason),
            issue: text(issue),
            until: text(until),
            ..named
        })
    }

    /// `case` or `case:check`, both of which must be there.
    fn named(&self, at: At, line: usize, text: &str) -> Result<ExpectedFailure, DocumentError> {
        let (word, check) = match text.split_once(':') {
            Some((case, check)) => (case.trim(), Some(check.trim())),
            None => (text.trim(), None),
        };
        let case = match check {
            Some(check) => self.catalogue.named_check(word, check).map(|(case, _)| case),
            None => self.catalogue.one(word),
        };
        let case = case.map_err(|error| {
            let next = match &error {
                SelectionError::Several { .. } => "; write a line for each of them that fails, `CASE` or `CASE:CHECK`",
                SelectionError::Unknown { .. }
                | SelectionError::NoCheck { .. }
                | SelectionError::Pattern { .. }
                | SelectionError::Nothing => "",
            };
            refuse(self.name, at, format!("{error}{next}"))
        })?;
        Ok(ExpectedFailure {
            line,
            case: case.id.clone(),
            check: check.map(str::to_owned),
            reason: None,
            issue: None,
            until: None,
        })
    }

    /// A colon with a space after it makes a mapping of what was meant as a text.
    fn unknown_key(&self, key: &str) -> String {
        if self.catalogue.named(key).is_ok() {
            return format!("unknown key `{key}`; a check is named without a space: `{key}:CHECK`");
        }
        match nearest(key, KEYS) {
            Some(near) => format!("unknown key `{key}`; did you mean `{near}`?"),
            None => format!("unknown key `{key}`; known here: {}", KEYS.join(", ")),
        }
    }

    fn text(&self, key: &str, node: Node) -> Result<String, DocumentError> {
        match node.value {
            Value::Text(text) => Ok(text),
            Value::Nothing | Value::List(_) | Value::Mapping(_) => {
                Err(refuse(self.name, node.at, format!("`{key}` must be a text")))
            }
        }
    }
}

/// Whether a text is a day of the calendar, written `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let shape = |(at, c): (usize, char)| {
        if at == 4 || at == 7 {
            c == '-'
        } else {
            c.is_ascii_digit()
        }
    };
    text.len() == 10 && text.chars().enumerate().all(shape) && text.parse::<jiff::civil::Date>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ExpectedFailures, String> {
        let list = read_expected_failures("known.yaml", text, Catalogue::embedded(), "2026-11-30");
        list.map_err(|error| error.to_string())
    }

    fn names(text: &str) -> Vec<(usize, String)> {
        let list = read(text).expect(text);
        list.entries.iter().map(|entry| (entry.line, entry.name())).collect()
    }

    #[test]
    fn both_forms_of_a_document_and_of_an_entry_are_read() {
        let entry = |line, name: &str| (line, name.to_owned());
        let expected = [entry(1, "lost-reply"), entry(2, "identical-retry:one-effect")];
        assert_eq!(names("- lost-reply\n- identical-retry:one-effect\n"), expected);
        assert_eq!(
            names("server:\n- case: retry/lost-reply\n  check: one-effect\n- 04\n"),
            [entry(2, "lost-reply:one-effect"), entry(4, "changed-input")]
        );
        assert_eq!(names("# nothing is known to fail\n"), []);
        assert_eq!(names("server: []\n"), []);
        let long = "- case: lost-reply:one-effect\n  reason: no ledger yet\n  issue: 12\n  until: 2027-02-28\n";
        assert_eq!(
            read(long).expect("right").entries,
            [ExpectedFailure {
                line: 1,
                case: "lost-reply".to_owned(),
                check: Some("one-effect".to_owned()),
                reason: Some("no ledger yet".to_owned()),
                issue: Some("12".to_owned()),
                until: Some("2027-02-28".to_owned()),
            }]
        );
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let table = [
            (
                "- lost-replay\n",
                "known.yaml:1:3: there is no case `lost-replay`; did you mean `lost-reply`?",
            ),
            (
                "\n- lost-reply:one-efect\n",
                "known.yaml:2:3: `lost-reply` has no check `one-efect`; did you mean `one-effect`?",
            ),
            (
                "- lost-reply: one-effect\n",
                "known.yaml:1:3: unknown key `lost-reply`; a check is named without a space: `lost-reply:CHECK`",
            ),
            (
                "- case: lost-reply\n  resaon: x\n",
                "known.yaml:2:3: unknown key `resaon`; did you mean `reason`?",
            ),
            ("- reason: x\n", "known.yaml:1:3: an entry needs `case`"),
            (
                "- crash\n",
                "known.yaml:1:3: `crash` is a family or a pattern, and one case must be named here: ",
            ),
            (
                "- case: crash/*\n",
                "failed-effect, ledger-busy; write a line for each of them that fails, `CASE` or `CASE:CHECK`",
            ),
            (
                "- retry:one-effect\n",
                "known.yaml:1:3: `retry` is a family or a pattern",
            ),
            (
                "client:\n- lost-reply\n",
                "known.yaml:1:1: unknown key `client`; known here: server",
            ),
            (
                "{\n  \"format\": 1\n}\n",
                "known.yaml:2:3: unknown key `format`; known here: server; if --write-expected wrote this file, compare with it",
            ),
            (
                "lost-reply\n",
                "known.yaml:1:1: it is neither a list nor `server:` with a list",
            ),
            ("server: lost-reply\n", "known.yaml:1:9: `server` must be a list"),
            ("- [lost-reply]\n", "known.yaml:1:3: an entry is `case`"),
            (
                "- case: lost-reply\n  reason: [x]\n",
                "known.yaml:2:11: `reason` must be a text",
            ),
            (
                "- case: lost-reply\n  until: 2026-02-30\n",
                "known.yaml:2:10: until `2026-02-30` is no date; write YYYY-MM-DD",
            ),
            ("- case: lost-reply\n  until: 31.12.2026\n", "is no date"),
            (
                "- case: lost-reply:one-effect\n  check: one-effect\n",
                "`check` is there twice",
            ),
            (
                "- lost-reply\n- 03\n",
                "known.yaml:2:3: `lost-reply` is listed in line 1 already",
            ),
            (
                "- lost-reply:one-effect\n- identical-retry\n- lost-reply\n",
                "known.yaml:3:3: `lost-reply` is listed both whole and by check (line 1)",
            ),
            (
                "- lost-reply\n- lost-reply:one-effect\n",
                "known.yaml:2:3: `lost-reply` is listed both whole and by check",
            ),
        ];
        for (text, message) in table {
            let error = read(text).expect_err(text);
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
