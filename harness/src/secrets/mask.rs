//! The bytes of one file without what was found in it. Pure.
//!
//! One mask byte for each byte that is meant: so a masked text is masked alike in a store, in a frame, in a row that was
//! counted and in a verdict, and what was equal before is equal after. In JSON of our own an escape is therefore masked by
//! what it means; elsewhere the length stays what it was, so that the pages of a database stay where they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::view::View;
use crate::record::{Find, MASK, MaskedPlace};

/// A file after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What was masked, where it is now.
    pub places: Vec<MaskedPlace>,
}

/// Masks `finds`, which are in order; `is_json` for JSON that the harness wrote.
pub fn mask(bytes: &[u8], finds: &[Find], is_json: bool) -> Masked {
    let escapes = View::of_json(bytes).filter(|_| is_json);
    let mut masked = Masked {
        bytes: Vec::with_capacity(bytes.len()),
        places: Vec::new(),
    };
    let (mut copied, mut rest) = (0, finds);
    while let Some(first) = rest.first() {
        let together = if first.in_frame.is_some() {
            rest.iter()
                .take_while(|find| find.range == first.range && find.in_frame.is_some())
                .count()
        } else {
            1
        };
        let (now, later) = rest.split_at(together);
        rest = later;
        let mut range = first.range.clone();
        if let Some(escapes) = &escapes {
            range = escapes.whole(&range);
        }
        range.start = range.start.max(copied);
        if range.is_empty() {
            continue;
        }
        masked.bytes.extend_from_slice(&bytes[copied..range.start]);
        copied = range.end;
        let start = masked.bytes.len();
        let frame = frame_without(&bytes[range.clone()], now);
        let in_frame = frame.is_some();
        let meant = escapes
            .as_ref()
            .map_or(range.len(), |escapes| escapes.length_of(&range));
        masked.bytes.extend(frame.unwrap_or_else(|| vec![MASK; meant]));
        masked.places.extend(now.iter().map(|find| MaskedPlace {
            range: start..masked.bytes.len(),
            kind: find.kind.clone(),
            in_frame,
        }));
    }
    masked.bytes.extend_from_slice(&bytes[copied..]);
    masked
}

/// A frame in base64 without what was found inside of it.
fn frame_without(field: &[u8], finds: &[Find]) -> Option<Vec<u8>> {
    let inside = finds.iter().map(|find| {
        Some(Find {
            kind: find.kind.clone(),
            range: find.in_frame.clone()?,
            in_frame: None,
        })
    });
    let inside: Vec<Find> = inside.collect::<Option<_>>()?;
    let frame = BASE64.decode(field).ok()?;
    Some(BASE64.encode(mask(&frame, &inside, true).bytes).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Body, Direction, Event, Message};
    use crate::secrets::search::Finder;
    use crate::secrets::wanted::{Secret, Wanted};
    use proptest::prelude::*;

    fn finder(value: &str) -> Finder {
        Finder::new(Wanted::new(&[Secret {
            name: "KEY".to_owned(),
            value: value.to_owned(),
        }]))
    }

    fn without(text: &[u8], value: &str, is_json: bool) -> Vec<u8> {
        mask(text, &finder(value).finds(text, is_json), is_json).bytes
    }

    #[test]
    fn json_stays_json_and_a_mask_is_as_long_as_what_is_meant() {
        let value = "hun\"ter\n2";
        let json = serde_json::json!({"text": format!("a\n{value}\tb"), "rest": 1}).to_string();
        let masked = without(json.as_bytes(), value, true);
        let masked: serde_json::Value = serde_json::from_slice(&masked).expect("JSON");
        assert_eq!(masked, serde_json::json!({"text": "a\n*********\tb", "rest": 1}));
        let stored = without(format!("|{value}|").as_bytes(), value, false);
        assert_eq!(stored, b"|*********|");
    }

    /// The base64 begins right after an escape, whose second character is a digit of base64 too.
    #[test]
    fn no_half_of_an_escape_is_left() {
        let value = "hunter2hunter2";
        // One byte before it: the third character is the first that the value alone decides.
        let encoded = BASE64.encode(format!("x{value}"));
        let json = serde_json::json!({"text": format!("a\n{}", &encoded[2..])}).to_string();
        let masked = without(json.as_bytes(), value, true);
        assert!(
            serde_json::from_slice::<serde_json::Value>(&masked).is_ok(),
            "{}",
            String::from_utf8_lossy(&masked)
        );
        assert!(finder(value).finds(&masked, true).is_empty());
    }

    #[test]
    fn a_frame_is_masked_inside_of_its_base64_as_in_its_payload() {
        let bytes = br#"{ "a": "hunter2\u0021", "b": "hunter2!" }"#;
        let message = Message::whole(Direction::ServerToClient, bytes);
        let event = Event {
            seq: 1,
            at: 1,
            process: None,
            body: Body::Message(message),
        };
        let line = serde_json::to_string(&event).expect("JSON");
        let masked: Event = serde_json::from_slice(&without(line.as_bytes(), "hunter2!", true)).expect("an event");
        let Body::Message(message) = masked.body else {
            panic!("a message")
        };
        assert_eq!(
            message.payload,
            Some(serde_json::json!({"a": "********", "b": "********"}))
        );
        assert_eq!(message.text(), r#"{ "a": "********", "b": "********" }"#);
    }

    proptest! {
        #[test]
        fn nothing_is_found_after_masking(
            value in "[ -~é\n]{6,30}",
            before in "[ -~\n]{0,20}",
            after in "[ -~\n]{0,20}",
            is_base64 in any::<bool>(),
        ) {
            prop_assume!(value.trim().len() >= 6 && value.trim().bytes().any(|byte| byte != MASK));
            let inside = if is_base64 { BASE64.encode(format!("{before}{value}")) } else { value.clone() };
            let json = serde_json::json!({"a": [format!("{before}{inside}{after}")]}).to_string();
            let finds = finder(&value).finds(json.as_bytes(), true);
            prop_assert!(!finds.is_empty());
            let masked = mask(json.as_bytes(), &finds, true);
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&masked.bytes).is_ok());
            prop_assert_eq!(finder(&value).finds(&masked.bytes, true), []);
            let plain = mask(json.as_bytes(), &finds, false);
            prop_assert_eq!(plain.bytes.len(), json.len());
        }
    }
}
