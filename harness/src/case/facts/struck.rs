//! What the fault of a case makes impossible, whatever the server does: a reply to the write that it strikes, and an exit code of
//! the process that it kills. A check that expects one of these would accuse every server.

use serde_json::Value;

use super::steps::Maker;
use crate::case::script::Script;
use crate::case::step::{Step, WriteStep};

/// What only a reply that reached the client side says of a write; a withheld one says it below `withheld`.
const OF_A_REPLY: [&str; 4] = ["result", "replayed", "refusal", "refusal_text"];

/// A fact that a path leads to: the step at a place, and the rest of the path behind its name.
#[derive(Clone, Copy)]
pub(super) struct Struck<'a> {
    pub(super) script: &'a Script,
    pub(super) at: usize,
    pub(super) maker: Maker,
    pub(super) root: &'a str,
    pub(super) rest: &'a str,
}

impl Struck<'_> {
    /// Why this is never there because of a fault of the case, or never this value; and what to ask for in its place.
    pub(super) fn refusal(&self, value: Option<&Value>) -> Option<String> {
        match (self.maker, self.script.steps.get(self.at)?) {
            (Maker::Write, Step::Write(write)) if write.fault.is_some() => self.of_write(value),
            (Maker::Process, Step::Start(start)) if start.failpoint.is_none() => self.of_process(&start.process),
            _ => None,
        }
    }

    fn of_write(&self, value: Option<&Value>) -> Option<String> {
        let Self { root, rest, .. } = self;
        let fault = format!("the fault of `{root}` keeps the reply from the client side");
        let first = rest.split('.').next().unwrap_or_default();
        if OF_A_REPLY.contains(&first) {
            return Some(format!(
                "`{root}.{rest}` is never there: {fault}; what the reply was is in `{root}.withheld.{rest}`"
            ));
        }
        let value = value?;
        let is = match (*rest, value) {
            ("outcome", Value::String(word)) if word != "unknown" => "`unknown`",
            ("answered", Value::Bool(true)) => "false",
            _ => return None,
        };
        Some(format!(
            "`{root}.{rest}` is never {value}: {fault}, so it is {is}; how the reply answered is in `{root}.withheld.outcome`"
        ))
    }

    fn of_process(&self, process: &str) -> Option<String> {
        let kills = |write: &&WriteStep| write.fault.is_some() && write.process == process;
        let mut writes = self.script.steps.iter().filter_map(|step| {
            let Step::Write(write) = step else { return None };
            Some(write)
        });
        let write = writes.find(kills).filter(|_| self.rest == "code")?;
        Some(format!(
            "`{0}.code` is never there: the fault of `{1}` kills that process, so it has no exit code; what ended it is in \
             `{0}.signal`, which is 9",
            self.root, write.name
        ))
    }
}
