//! The finds in the bytes of one file. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use regex::bytes::Regex;

use super::shapes;
use super::view::View;
use super::wanted::Wanted;
use crate::record::{Find, Kind};

/// A document in a string in a document: so often escapes are undone.
const DEPTH_MAX: usize = 3;

/// What is found in a store is written down once more as a text of an observation, and that as a text of a verdict.
const DEPTH_MAX_OF_JSON: usize = DEPTH_MAX + 2;

/// What one file is looked through for.
#[derive(Debug, Default)]
pub struct Finder {
    wanted: Wanted,
    with_shapes: bool,
}

/// The base64 of a frame in a record.
static FRAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?-u)"bytes":"([A-Za-z0-9+/]+={0,2})""#).expect("the pattern is a constant"));

impl Finder {
    /// Looks for the values and for what looks like a credential.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            with_shapes: true,
        }
    }

    /// Looks for the values alone.
    pub fn of_values(wanted: Wanted) -> Self {
        Self {
            wanted,
            with_shapes: false,
        }
    }

    /// The values that are looked for.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Every place in a file, in order; the frames of a record are decoded.
    pub fn finds(&self, bytes: &[u8], is_record: bool) -> Vec<Find> {
        let mut finds = self.finds_in(bytes, if is_json(bytes) { DEPTH_MAX_OF_JSON } else { DEPTH_MAX });
        if is_record {
            for field in FRAME.captures_iter(bytes).filter_map(|captured| captured.get(1)) {
                let Ok(frame) = BASE64.decode(field.as_bytes()) else {
                    continue;
                };
                // What the field shows by itself is there once more in its frame, where it can be masked.
                finds.retain(|find| find.range.start < field.start() || field.end() < find.range.end);
                finds.extend(self.finds_in(&frame, DEPTH_MAX_OF_JSON).into_iter().map(|find| Find {
                    kind: find.kind,
                    range: field.range(),
                    in_frame: Some(find.range),
                }));
            }
            finds.sort_by_key(|find| (find.range.start, find.in_frame.as_ref().map(|frame| frame.start)));
        }
        finds
    }

    fn finds_in(&self, bytes: &[u8], depth_max: usize) -> Vec<Find> {
        let mut finds = Vec::new();
        self.look(bytes, depth_max, &mut Vec::new(), &mut finds);
        merged(finds)
    }

    /// Looks through what `way` has led to, and through what is behind its escapes.
    fn look(&self, bytes: &[u8], depth_max: usize, way: &mut Vec<View>, finds: &mut Vec<Find>) {
        let raw = |range: Range<usize>| way.iter().rev().fold(range, |range, view| view.raw(&range));
        self.wanted.each(bytes, |range, spelling| {
            finds.push(Find {
                kind: Kind::Value {
                    name: spelling.name.clone(),
                    encoding: spelling.encoding,
                },
                range: raw(range),
                in_frame: None,
            });
        });
        if self.with_shapes {
            shapes::each(bytes, |range, name| {
                finds.push(Find {
                    kind: Kind::Shape(name.to_owned()),
                    range: raw(range),
                    in_frame: None,
                });
            });
        }
        if way.len() == depth_max {
            return;
        }
        for view in [View::of_json(bytes), View::of_percent(bytes)].into_iter().flatten() {
            let bytes = view.bytes.clone();
            way.push(view);
            self.look(&bytes, depth_max, way, finds);
            way.pop();
        }
    }
}

/// Whether it is a JSON document, or lines of them, as everything is that a harness writes.
fn is_json(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{")
}

/// What overlaps is one place, called by the name of a secret where it has one.
fn merged(mut finds: Vec<Find>) -> Vec<Find> {
    finds.sort_by(|left, right| (left.range.start, &left.kind).cmp(&(right.range.start, &right.kind)));
    let mut merged: Vec<Find> = Vec::new();
    for find in finds {
        match merged.last_mut() {
            Some(last) if find.range.start < last.range.end => {
                last.range.end = last.range.end.max(find.range.end);
                last.kind = last.kind.clone().min(find.kind);
            }
            Some(_) | None => merged.push(find),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Body, Direction, Encoding, Event, Message};
    use crate::secrets::wanted::Secret;

    const VALUE: &str = "hunter2/\"is\" älter";

    fn finder() -> Finder {
        Finder::new(Wanted::new(&[Secret {
            name: "KEY".to_owned(),
            value: VALUE.to_owned(),
        }]))
    }

    fn texts<'a>(text: &'a str, finds: &[Find]) -> Vec<&'a str> {
        finds.iter().map(|find| &text[find.range.clone()]).collect()
    }

    /// A value that a document in a document in a string holds, with as much of it escaped as the writer liked.
    #[test]
    fn escapes_hide_nothing() {
        let once = serde_json::to_string(VALUE).expect("JSON");
        let twice = serde_json::to_string(&format!("{{\"a\":{once}}}")).expect("JSON");
        let thrice = serde_json::to_string(&twice).expect("JSON");
        let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for text in [
            VALUE,
            &once,
            &twice,
            &thrice,
            &percent,
            "hunter2%2F%22is%22 %c3%a4lter",
            r"hunter2\/\u0022is\u0022 \u00e4lter",
        ] {
            let finds = finder().finds(text.as_bytes(), false);
            assert_eq!(finds.len(), 1, "{text}");
            let kind = Kind::Value {
                name: "KEY".to_owned(),
                encoding: Encoding::Plain,
            };
            assert_eq!(finds[0].kind, kind);
            assert!(texts(text, &finds)[0].starts_with(['h', '%']), "{text}");
        }
    }

    #[test]
    fn a_frame_that_is_kept_in_base64_is_decoded() {
        let bytes = format!("{{ \"text\": {} }}", serde_json::to_string(VALUE).expect("JSON"));
        let event = Event {
            seq: 1,
            at: 1,
            process: None,
            body: Body::Message(Message::whole(Direction::ServerToClient, bytes.as_bytes())),
        };
        let line = serde_json::to_string(&event).expect("JSON");
        let finds = finder().finds(line.as_bytes(), true);
        let in_frame: Vec<&str> = finds
            .iter()
            .filter_map(|find| find.in_frame.clone())
            .map(|range| &bytes[range])
            .collect();
        assert_eq!(in_frame, [r#"hunter2/\"is\" älter"#]);
        assert_eq!(finds.len(), 2, "the payload and the bytes: {finds:?}");
    }

    #[test]
    fn one_place_is_one_find_and_the_name_of_a_secret_comes_first() {
        let text = format!("password={}", "hunter2/\"is\" älter");
        let finds = finder().finds(text.as_bytes(), false);
        assert_eq!(texts(&text, &finds), [VALUE]);
        assert!(matches!(finds[0].kind, Kind::Value { .. }));
    }

    #[test]
    fn values_alone_are_looked_for_where_that_is_asked() {
        let values = Finder::of_values(Wanted::new(&[]));
        assert_eq!(values.finds(b"password=hunter2", false), []);
        assert_eq!(Finder::new(Wanted::new(&[])).finds(b"password=hunter2", false).len(), 1);
    }
}
