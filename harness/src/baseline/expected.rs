//! The file of expected verdicts: JSON, the same for the same verdicts, so that it can lie in a repository.

use std::collections::BTreeMap;

use crate::document::{self, DocumentError};
use crate::record::{EXPECTED_FORMAT, ExpectedVerdicts, Verdict};

/// Reads a file of expected verdicts for this target. `name` is what errors call it.
pub fn read_expected(name: &str, text: &str, target: &str, contract: &str) -> Result<ExpectedVerdicts, DocumentError> {
    let read: ExpectedVerdicts = serde_json::from_str(text).map_err(|error| {
        let at = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        DocumentError::Form {
            place: format!("{name}:{}:{}", error.line(), error.column()),
            message: message.strip_suffix(&at).unwrap_or(&message).to_owned(),
        }
    })?;
    if read.format != EXPECTED_FORMAT {
        let message = format!(
            "format {} is not one this harness reads (it reads {EXPECTED_FORMAT}); write it anew with --write-expected",
            read.format
        );
        return Err(document::refuse(name, message));
    }
    for (what, expected, found) in [
        ("target", read.target.as_str(), target),
        ("contract", read.contract.as_str(), contract),
    ] {
        if expected != found {
            let message = format!(
                "it is of the {what} `{expected}`, and this is `{found}`; take the right file, or write one with --write-expected"
            );
            return Err(document::refuse(name, message));
        }
    }
    Ok(read)
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
            ("a-case".to_owned(), Verdict::Pass),
        ];
        expected_text("plain", "none", verdicts.into())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let expected = "{\n  \"format\": 1,\n  \"target\": \"plain\",\n  \"contract\": \"none\",\n  \"verdicts\": {\n    \
                        \"a-case\": \"pass\",\n    \"lost-reply\": \"unguarded\"\n  }\n}\n";
        assert_eq!(text(), expected);
        let read = read_expected("e.json", &text(), "plain", "none").expect("what we wrote");
        assert_eq!(read.verdicts["lost-reply"], Verdict::Unguarded);
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let table = [
            (
                "\"format\": 1",
                "\"format\": 2",
                "e.json: format 2 is not one this harness reads",
            ),
            (
                "\"plain\"",
                "\"fancy\"",
                "e.json: it is of the target `fancy`, and this is `plain`",
            ),
            (
                "\"none\"",
                "\"guarded\"",
                "e.json: it is of the contract `guarded`, and this is `none`",
            ),
            ("\"pass\"", "\"passed\"", "e.json:6:22: unknown variant `passed`"),
            ("\"verdicts\"", "\"verdict\"", "e.json:5:11: unknown field `verdict`"),
        ];
        for (from, to, message) in table {
            let text = text().replacen(from, to, 1);
            let error = read_expected("e.json", &text, "plain", "none")
                .expect_err(message)
                .to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
