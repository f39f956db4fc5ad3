//! Asking for input inside a call, as servers of the legacy era do: a request to the client, and its answer among the lines
//! that come in.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{Lines, StdinLock};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::say;
use crate::store::Order;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Field {
    /// The note
    Note,
    /// The quantity
    Qty,
}

/// The client's side of the conversation: its lines, and what it can be asked.
#[derive(Debug)]
pub(crate) struct Client {
    lines: Lines<StdinLock<'static>>,
    /// Frames that came while an answer was waited for.
    later: VecDeque<Value>,
    asked: u64,
    /// Whether it declared that it answers forms.
    pub(crate) fills_in_forms: bool,
}

/// What the user made of a question.
#[derive(Debug)]
pub(crate) enum Filled {
    /// The order, filled in.
    In(Order),
    /// He declined, dismissed it, or filled in nothing that can be used.
    Declined,
    /// The client does not ask its user.
    Unasked,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self {
            lines: std::io::stdin().lines(),
            later: VecDeque::new(),
            asked: 0,
            fills_in_forms: false,
        }
    }

    /// The next frame; nothing when standard input has ended. A line that is no JSON is passed over.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        match self.later.pop_front() {
            Some(frame) => Ok(Some(frame)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        for line in self.lines.by_ref() {
            if let Ok(frame) = serde_json::from_str(&line?) {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Sends a request and waits for its answer; nothing when standard input ends before it.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Option<Value>, Box<dyn Error>> {
        self.asked += 1;
        let id = json!(format!("ask-{}", self.asked));
        say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        while let Some(frame) = self.read()? {
            if frame.get("method").is_none() && frame["id"] == id {
                return Ok(Some(frame));
            }
            self.later.push_back(frame);
        }
        Ok(None)
    }

    /// Remembers what a client declares in `initialize`: an empty object means forms.
    pub(crate) fn declares(&mut self, capabilities: &Value) {
        let declared = capabilities["elicitation"].as_object();
        self.fills_in_forms = declared.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"));
    }

    /// Has the user fill in one part of an order.
    pub(crate) fn fill_in(&mut self, field: Field, mut order: Order) -> Result<Filled, Box<dyn Error>> {
        let (name, kind, message) = match field {
            Field::Note => ("note", "string", "Which note?"),
            Field::Qty => ("qty", "integer", "How many?"),
        };
        let schema = json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
        let params = json!({"message": message, "requestedSchema": schema});
        let answer = self.ask("elicitation/create", &params)?.unwrap_or_default();
        let Some(action) = answer["result"]["action"].as_str() else {
            return Ok(Filled::Unasked);
        };
        let value = &answer["result"]["content"][name];
        match (field, value.as_str(), value.as_i64()) {
            _ if action != "accept" => return Ok(Filled::Declined),
            (Field::Note, Some(note), _) => note.clone_into(&mut order.note),
            (Field::Qty, _, Some(qty)) => order.qty = qty,
            _ => return Ok(Filled::Declined),
        }
        Ok(Filled::In(order))
    }
}
