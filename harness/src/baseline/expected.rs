//! The file of expected verdicts: JSON, the same for the same verdicts, so that it can lie in a repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::json_places;
use crate::case::Catalogue;
use crate::document::{self, DocumentError};
use crate::record::{EXPECTED_FORMAT, ExpectedVerdicts, Verdict};

/// How deep the verdicts of a file stand in it.
const VERDICTS_DEPTH: usize = 2;

/// What is said of a file that is not of the form that is written.
const NO_OBJECT: &str = "it is no file of expected verdicts, which is an object with `format`, `target`, `contract` and \
                         `verdicts`; write one with --write-expected";

/// A file of expected verdicts that has been read, and where its cases stand.
#[derive(Debug)]
pub struct ExpectedDocument<'a> {
    name: &'a str,
    text: &'a str,
    expected: ExpectedVerdicts,
    cases: Vec<(String, Range<usize>)>,
}

/// Reads a file of expected verdicts for this target. `name` is what errors call it.
pub fn read_expected<'a>(
    name: &'a str,
    text: &'a str,
    target: &str,
    contract: &str,
) -> Result<ExpectedDocument<'a>, DocumentError> {
    // A list of the same values, in their order, would be read as well, and nobody could see what they stand for.
    let start = text.len() - text.trim_start().len();
    if !text[start..].starts_with('{') {
        return Err(document::refuse_at(
            name,
            text,
            Some(start..start),
            NO_OBJECT.to_owned(),
        ));
    }
    let read: ExpectedVerdicts = serde_json::from_str(text).map_err(|error| {
        let at = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        DocumentError::Form {
            place: format!("{name}:{}:{}", error.line(), error.column()),
            message: message.strip_suffix(&at).unwrap_or(&message).to_owned(),
        }
    })?;
    let keys = json_places::keys(text);
    let place = |key: &str| {
        let mut keys = keys.iter();
        let found = keys.find(|place| place.depth == 1 && place.key == key);
        found.map(|place| place.span.clone())
    };
    if read.format != EXPECTED_FORMAT {
        let message = format!(
            "format {} is not one this harness reads (it reads {EXPECTED_FORMAT}); write it anew with --write-expected",
            read.format
        );
        return Err(document::refuse_at(name, text, place("format"), message));
    }
    for (what, expected, found) in [
        ("target", read.target.as_str(), target),
        ("contract", read.contract.as_str(), contract),
    ] {
        if expected != found {
            let message = format!(
                "it is of the {what} `{expected}`, and this is `{found}`; take the right file, or write one with --write-expected"
            );
            return Err(document::refuse_at(name, text, place(what), message));
        }
    }
    let mut seen = BTreeSet::new();
    let mut cases = Vec::new();
    for place in keys.into_iter().filter(|place| place.depth == VERDICTS_DEPTH) {
        if !seen.insert(place.key.clone()) {
            let message = format!("`{}` is there twice; keep one of the two", place.key);
            return Err(document::refuse_at(name, text, Some(place.span), message));
        }
        cases.push((place.key, place.span));
    }
    Ok(ExpectedDocument {
        name,
        text,
        expected: read,
        cases,
    })
}

impl ExpectedDocument<'_> {
    /// The verdicts, all of which must be of cases of this catalogue.
    pub fn of_known_cases(self, catalogue: &Catalogue) -> Result<ExpectedVerdicts, DocumentError> {
        match self.cases.iter().find(|(case, _)| catalogue.get(case).is_none()) {
            Some((case, span)) => {
                let message = format!(
                    "{}; take the entry out, or write the file anew with --write-expected; a case of your own needs its \
                     --case-file",
                    catalogue.unknown_case(case)
                );
                Err(document::refuse_at(self.name, self.text, Some(span.clone()), message))
            }
            None => Ok(self.expected),
        }
    }

    /// The verdicts of cases of this catalogue, and the names of the others.
    pub fn without_unknown_cases(self, catalogue: &Catalogue) -> (BTreeMap<String, Verdict>, Vec<String>) {
        let verdicts = self.expected.verdicts.into_iter();
        let (known, unknown): (BTreeMap<_, _>, BTreeMap<_, _>) =
            verdicts.partition(|(case, _)| catalogue.get(case).is_some());
        (known, unknown.into_keys().collect())
    }
}

/// The text of such a file.
pub fn expected_text(target: &str, contract: &str, verdicts: BTreeMap<String, Verdict>) -> String {
    let expected = ExpectedVerdicts {
        format: EXPECTED_FORMAT,
        target: target.to_owned(),
        contract: contract.to_owned(),
        verdicts,
    };
    let text = serde_json::to_string_pretty(&expected).expect("verdicts have string keys only");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        let verdicts = [
            ("lost-reply".to_owned(), Verdict::Unguarded),
            ("identical-retry".to_owned(), Verdict::Pass),
        ];
        expected_text("plain", "none", verdicts.into())
    }

    fn read(text: &str) -> Result<ExpectedVerdicts, String> {
        let read = read_expected("e.json", text, "plain", "none");
        let known = read.and_then(|document| document.of_known_cases(Catalogue::embedded()));
        known.map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let expected = "{\n  \"format\": 1,\n  \"target\": \"plain\",\n  \"contract\": \"none\",\n  \"verdicts\": {\n    \
                        \"identical-retry\": \"pass\",\n    \"lost-reply\": \"unguarded\"\n  }\n}\n";
        assert_eq!(text(), expected);
        let read = read(&text()).expect("what we wrote");
        assert_eq!(read.verdicts["lost-reply"], Verdict::Unguarded);
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let table = [
            (
                "\"format\": 1",
                "\"format\": 2",
                "e.json:2:3: format 2 is not one this harness reads",
            ),
            (
                "\"plain\"",
                "\"fancy\"",
                "e.json:3:3: it is of the target `fancy`, and this is `plain`",
            ),
            (
                "\"none\"",
                "\"guarded\"",
                "e.json:4:3: it is of the contract `guarded`, and this is `none`",
            ),
            ("\"pass\"", "\"passed\"", "e.json:6:31: unknown variant `passed`"),
            ("\"verdicts\"", "\"verdict\"", "e.json:5:11: unknown field `verdict`"),
            ("\"contract\"", "\"target\"", "e.json:4:10: duplicate field `target`"),
            (
                "\"identical-retry\"",
                "\"lost\\u002dreply\"",
                "e.json:7:5: `lost-reply` is there twice",
            ),
            (
                "\"identical-retry\"",
                "\"identical-retri\"",
                "e.json:6:5: there is no case `identical-retri`; did you mean `identical-retry`?",
            ),
            ("\"identical-retry\"", "\"01\"", "e.json:6:5: there is no case `01`"),
        ];
        for text in [
            "[1, \"plain\", \"none\", {\"lost-reply\": \"pass\"}]",
            "[]",
            "7",
            "null",
            "pass",
            "",
        ] {
            let error = read(&format!("\n {text}")).expect_err(text);
            assert_eq!(error, format!("e.json:2:2: {NO_OBJECT}"));
        }
        for (from, to, message) in table {
            let error = read(&text().replacen(from, to, 1)).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn cases_of_no_catalogue_are_left_out_where_the_file_is_written_anew() {
        let text = text().replacen("identical-retry", "renamed-long-ago", 1);
        let document = read_expected("e.json", &text, "plain", "none").expect("its form is right");
        let (known, unknown) = document.without_unknown_cases(Catalogue::embedded());
        assert_eq!(known, [("lost-reply".to_owned(), Verdict::Unguarded)].into());
        assert_eq!(unknown, ["renamed-long-ago"]);
    }
}
