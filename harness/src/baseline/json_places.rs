//! Where the keys of a JSON document stand. It has been parsed already, so nothing is checked here.

use std::ops::Range;

/// A key, how many objects and lists it stands in, and its place in bytes, with the quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyPlace {
    pub(super) key: String,
    pub(super) depth: usize,
    pub(super) span: Range<usize>,
}

/// Every key of a document, in its order, those too that are there twice.
pub(super) fn keys(json: &str) -> Vec<KeyPlace> {
    let bytes = json.as_bytes();
    let (mut found, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let span = at..end_of_text(bytes, at);
                let is_key = json[span.end..].trim_start().starts_with(':');
                if let (true, Ok(key)) = (is_key, serde_json::from_str(&json[span.clone()])) {
                    found.push(KeyPlace {
                        key,
                        depth,
                        span: span.clone(),
                    });
                }
                at = span.end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Where the text ends whose quote is at `start`.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_beside_whatever_else_stands_there() {
        let json = r#"{"a": "b:", "c\"\u002d" : [{"é": 1}, "x\\"], "a": {"": null}}"#;
        let found: Vec<(String, usize, &str)> = keys(json)
            .into_iter()
            .map(|place| (place.key, place.depth, &json[place.span]))
            .collect();
        let key = |key: &str, depth, written| (key.to_owned(), depth, written);
        let expected = [
            key("a", 1, r#""a""#),
            key("c\"-", 1, r#""c\"\u002d""#),
            key("é", 3, r#""é""#),
            key("a", 1, r#""a""#),
            key("", 2, r#""""#),
        ];
        assert_eq!(found, expected);
        assert_eq!(keys(r#""only a text"#), []);
    }
}
