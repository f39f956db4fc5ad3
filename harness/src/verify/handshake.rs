//! The revision that `run.json` says was spoken, beside the frames of the probe. Pure but for reading that record.

use serde_json::Value;

use crate::protocol::{Era, Revision};
use crate::record::{Body, Direction, Evidence, Record, Run};

/// Whether the server answered the probe with another revision than `run.json` says. Without a record of the probe nothing
/// can be compared: all of it is the runner's word.
pub(super) fn spoken_otherwise(evidence: &Evidence, run: &Run) -> Option<String> {
    let says = &run.server.as_ref()?.protocol;
    let record = Record::read(&evidence.probe()).ok()?;
    let spoken = match answered(&record) {
        Asked::Never => Revision::newest(Era::Modern).name().to_owned(),
        Asked::Answered(revision) => revision,
        Asked::Unanswered => return None,
    };
    let differs = spoken != *says;
    differs.then(|| {
        format!(
            "run.json: it says that the server speaks {says:?}, and by the frames of the probe it speaks {spoken:?}"
        )
    })
}

/// What became of the handshake that only the legacy era has.
enum Asked {
    Never,
    Unanswered,
    Answered(String),
}

fn answered(record: &Record) -> Asked {
    let mut asked = Asked::Never;
    let mut waits: Option<&Value> = None;
    for event in &record.events {
        let Body::Message(message) = &event.body else { continue };
        let Some(frame) = &message.payload else { continue };
        match message.direction {
            Direction::ClientToServer if frame.get("method").and_then(Value::as_str) == Some("initialize") => {
                waits = frame.get("id");
                asked = Asked::Unanswered;
            }
            Direction::ServerToClient if waits.is_some() && frame.get("id") == waits => {
                if let Some(revision) = frame.pointer("/result/protocolVersion").and_then(Value::as_str) {
                    asked = Asked::Answered(revision.to_owned());
                }
            }
            Direction::ClientToServer | Direction::ServerToClient => {}
        }
    }
    asked
}
