//! Which revision a server speaks, as its own frames say it.

use serde_json::Value;

use super::Revision;

/// Reads the handshakes among frames, which it is shown in their order. The modern era has none.
#[derive(Debug, Clone, Default)]
pub struct Spoken {
    /// The id of the `initialize` that waits for its answer.
    asked: Option<Value>,
    revision: Option<Revision>,
}

impl Spoken {
    /// One frame, to the server or from it.
    pub fn see(&mut self, is_to_server: bool, frame: &Value) {
        if self.revision.is_some() {
            return;
        }
        if is_to_server {
            if frame.get("method").and_then(Value::as_str) == Some("initialize") {
                self.asked = frame.get("id").cloned();
            }
        } else if self.asked.is_some() && frame.get("id") == self.asked.as_ref() {
            let named = frame.pointer("/result/protocolVersion").and_then(Value::as_str);
            let known = Revision::ALL.into_iter();
            self.revision = named.and_then(|named| known.clone().find(|revision| revision.name() == named));
        }
    }

    /// The first revision with which a handshake was answered; none where there was no handshake, or an unknown revision.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_answer_to_the_handshake_says_it_and_nothing_else() {
        let asks = (
            true,
            json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        );
        let answers = |id: u64, revision: &str| (false, json!({"id": id, "result": {"protocolVersion": revision}}));
        let table = [
            (
                vec![asks.clone(), answers(1, "2025-06-18")],
                Some(Revision::V2025_06_18),
            ),
            (
                vec![
                    asks.clone(),
                    answers(1, "2025-06-18"),
                    asks.clone(),
                    answers(1, "2024-11-05"),
                ],
                Some(Revision::V2025_06_18),
            ),
            (vec![asks.clone(), answers(2, "2025-06-18")], None),
            (vec![asks.clone(), answers(1, "2024-10-07")], None),
            (vec![asks, (false, json!({"id": 1, "error": {"code": -32602}}))], None),
            (vec![answers(1, "2025-06-18")], None),
            (
                vec![
                    (true, json!({"id": 1, "method": "tools/call"})),
                    answers(1, "2025-06-18"),
                ],
                None,
            ),
        ];
        for (frames, revision) in table {
            let mut spoken = Spoken::default();
            for (is_to_server, frame) in &frames {
                spoken.see(*is_to_server, frame);
            }
            assert_eq!(spoken.revision(), revision, "{frames:?}");
        }
    }
}
