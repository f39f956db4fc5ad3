//! As much of YAML as a list of a few texts needs: mappings, lists and scalars, each with its place.
//!
//! What a list of failures has no use for is refused and not interpreted: anchors and aliases (a few of which can stand for
//! gigabytes), tags, several documents. Every scalar is a text; whoever reads it decides what it has to look like.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use crate::document::DocumentError;

/// How deep a document may be nested.
const DEPTH_MAX: usize = 8;

/// A value and where it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// A place in a document, both from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing: an empty document or value, `~`, `null`.
    Nothing,
    Text(String),
    List(Vec<Node>),
    /// Keys in the order of the document, none of them twice.
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) at: At,
    pub(super) name: String,
}

/// An error at a place of the document that is called `name`.
pub(super) fn refuse(name: &str, at: At, message: impl Into<String>) -> DocumentError {
    DocumentError::Form {
        place: format!("{name}:{}:{}", at.line, at.column),
        message: message.into(),
    }
}

/// Parses a document. `name` is what errors call it.
pub(super) fn parse(name: &str, text: &str) -> Result<Node, DocumentError> {
    let mut reader = Reader {
        name,
        parser: Parser::new_from_str(text),
    };
    let mut root = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            Event::DocumentStart(_) if root.is_some() => {
                return Err(refuse(
                    name,
                    place(&span.start),
                    "a second document; there is one list in a file",
                ));
            }
            Event::DocumentStart(_) => {
                let (event, span) = reader.next()?;
                root = Some(reader.node(event, span, 0)?);
            }
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd => return Err(reader.out_of_order(span)),
        }
    }
    Ok(root.unwrap_or(Node {
        at: At { line: 1, column: 1 },
        value: Value::Nothing,
    }))
}

struct Reader<'a> {
    name: &'a str,
    parser: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), DocumentError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(refuse(self.name, place(error.marker()), error.info())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// The value that begins with this event.
    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, DocumentError> {
        let at = place(&span.start);
        if depth > DEPTH_MAX {
            return Err(refuse(self.name, at, format!("nested more than {DEPTH_MAX} deep")));
        }
        let (anchor, is_tagged) = match &event {
            Event::Scalar(_, _, anchor, tag) | Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                (*anchor, tag.is_some())
            }
            Event::Alias(_) => (1, false),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(self.out_of_order(span)),
        };
        if anchor != 0 {
            return Err(refuse(
                self.name,
                at,
                "anchors and aliases (`&`, `*`) are not read here; write it out, or quote the text",
            ));
        }
        if is_tagged {
            return Err(refuse(self.name, at, "tags (`!`) are not read here; quote the text"));
        }
        let value = match event {
            Event::Scalar(text, style, ..) => scalar(&text, style),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.mapping(depth)?,
            Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(self.out_of_order(span)),
        };
        Ok(Node { at, value })
    }

    fn list(&mut self, depth: usize) -> Result<Value, DocumentError> {
        let mut list = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Value::List(list));
            }
            list.push(self.node(event, span, depth + 1)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, DocumentError> {
        let mut mapping: Vec<(Key, Node)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Mapping(mapping));
            }
            let key = self.node(event, span, depth + 1)?;
            let Value::Text(key_name) = key.value else {
                return Err(refuse(self.name, key.at, "a key must be a text"));
            };
            if mapping.iter().any(|(known, _)| known.name == key_name) {
                return Err(refuse(self.name, key.at, format!("key `{key_name}` is there twice")));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            let key = Key {
                at: key.at,
                name: key_name,
            };
            mapping.push((key, value));
        }
    }

    fn out_of_order(&self, span: Span) -> DocumentError {
        refuse(self.name, place(&span.start), "something is missing here")
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain && ["", "~", "null"].contains(&text) {
        Value::Nothing
    } else {
        Value::Text(text.to_owned())
    }
}

fn place(marker: &Marker) -> At {
    At {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse("known.yaml", text).expect_err(text).to_string()
    }

    #[test]
    fn lists_mappings_and_texts_have_their_places() {
        let root = parse(
            "known.yaml",
            "# why\nserver:\n  - a:b   # a comment\n  - { case: 'c d', until: 2026-01-02 }\n",
        );
        let Value::Mapping(root) = root.expect("a mapping").value else {
            panic!("no mapping")
        };
        let (key, list) = &root[0];
        assert_eq!((key.name.as_str(), key.at), ("server", At { line: 2, column: 1 }));
        let Value::List(list) = &list.value else {
            panic!("no list")
        };
        assert_eq!(list[0].value, Value::Text("a:b".to_owned()));
        assert_eq!(list[0].at, At { line: 3, column: 5 });
        let Value::Mapping(entry) = &list[1].value else {
            panic!("no mapping")
        };
        assert_eq!(entry[0].1.value, Value::Text("c d".to_owned()));
        assert_eq!(entry[1].1.value, Value::Text("2026-01-02".to_owned()));
        assert_eq!(entry[1].0.at, At { line: 4, column: 20 });
    }

    #[test]
    fn nothing_is_nothing() {
        for text in ["", "# only a comment\n", "---\n", "~", "null\n"] {
            assert_eq!(parse("known.yaml", text).expect(text).value, Value::Nothing, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_read_is_refused_with_its_place() {
        let table = [
            ("- &a x\n- *a\n", "known.yaml:1:"),
            ("- *a\n", "known.yaml:1:3: "),
            ("- !!str x\n", "tags (`!`) are not read here"),
            ("- x\n---\n- y\n", "known.yaml:2:1: a second document"),
            ("a: 1\nb: 2\na: 3\n", "known.yaml:3:1: key `a` is there twice"),
            ("? [x]\n: y\n", "a key must be a text"),
            ("- [[[[[[[[[[x]]]]]]]]]]\n", "nested more than 8 deep"),
            ("- 'open\n", "known.yaml:"),
            ("a: b: c\n", "known.yaml:1:"),
            ("- x\n  y: [\n", "known.yaml:"),
        ];
        for (text, message) in table {
            let error = refused(text);
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
