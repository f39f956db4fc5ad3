//! The scribe of a case: the one owner of its recorder and its clock, so that events are ordered as they happen.

use super::DriveError;
use super::clock::{Clock, Stamp};
use super::framing::{FrameKind, RawFrame};
use crate::case::Role;
use crate::record::{Body, CaseFolder, Direction, Message, RecordError, Recorder};
use crate::values::values_in;

/// What a server may write in one case, in bytes, each frame costing [`FRAME_COST_BYTES`] more and each value in it
/// [`VALUE_COST_BYTES`]: a flood must fill neither the disk nor the memory of who reads the record.
pub(super) const INCOMING_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What the record needs in memory for a frame beside its bytes: an event has some 15 values of its own, and no two of them may
/// cost less than a value does.
pub(super) const FRAME_COST_BYTES: u64 = 1024;

/// What the record needs in memory for a value of a frame beside its bytes. So a record has at most half of the values that
/// its readers allow.
const VALUE_COST_BYTES: u64 = 64;

/// See the module's documentation.
#[derive(Debug)]
pub struct Scribe {
    recorder: Recorder,
    clock: Clock,
    next_id: u64,
    incoming_bytes: u64,
}

impl Scribe {
    /// Opens the record of a case; its time starts now.
    pub fn begin(folder: &CaseFolder) -> Result<Self, RecordError> {
        Ok(Self {
            recorder: Recorder::create(folder)?,
            clock: Clock::start(),
            next_id: 0,
            incoming_bytes: 0,
        })
    }

    /// The clock of the case.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Writes an event that happens now.
    pub fn write(&mut self, process: Option<&str>, body: Body) -> Result<(), RecordError> {
        let at = self.clock.stamp();
        self.write_at(at, process, body)
    }

    /// Writes an event that was read at `at`, and is taken up now.
    pub fn write_at(&mut self, at: Stamp, process: Option<&str>, body: Body) -> Result<(), RecordError> {
        self.recorder.write(at.micros, process, body).map(drop)
    }

    /// Writes a frame that came in, and whether it is withheld, which its payload may decide; returns it as JSON, where it is
    /// JSON.
    pub fn write_incoming(
        &mut self,
        at: Stamp,
        process: &str,
        role: Role,
        frame: RawFrame,
        withheld: impl FnOnce(Option<&serde_json::Value>) -> bool,
    ) -> Result<Option<serde_json::Value>, DriveError> {
        let values = values_in(&frame.bytes) as u64 * VALUE_COST_BYTES;
        self.incoming_bytes += frame.length_bytes() + FRAME_COST_BYTES + values;
        if self.incoming_bytes > INCOMING_BYTES_MAX {
            return Err(DriveError::Flood {
                who: role.of_process(process),
            });
        }
        let unterminated = matches!(frame.kind, FrameKind::Unterminated);
        let mut message = match frame.kind {
            FrameKind::Oversize { length, sha256, .. } => {
                Message::oversize(Direction::ServerToClient, &frame.bytes, length, sha256)
            }
            FrameKind::Whole | FrameKind::Unterminated => Message::whole(Direction::ServerToClient, &frame.bytes),
        };
        message.unterminated = unterminated;
        // A frame that the stream's end cut off is no frame, even if it happens to be JSON.
        let payload = if message.unterminated {
            None
        } else {
            message.payload.clone()
        };
        message.withheld = withheld(payload.as_ref());
        self.write_at(at, Some(process), Body::Message(message))?;
        Ok(payload)
    }

    /// A JSON-RPC id that no request of this case has had.
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Evidence;
    use crate::values::VALUES_MAX;

    fn write(process: &str, role: Role, frame: RawFrame) -> (Option<String>, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let evidence = Evidence::create_at(&folder.path().join("run")).expect("a new folder");
        let case = evidence.case("lost-reply");
        case.create().expect("the case's folder");
        let mut scribe = Scribe::begin(&case).expect("a record");
        let now = scribe.clock().stamp();
        let written = scribe.write_incoming(now, process, role, frame, |_| false);
        let record = std::fs::read_to_string(case.record_file()).expect("the record");
        (written.err().map(|error| error.to_string()), record)
    }

    #[test]
    fn whoever_writes_too_much_is_told_by_what_it_is() {
        for (process, role, who) in [
            ("first", Role::Server, "the server wrote too much "),
            ("first", Role::Worker, "the worker `first` wrote too much "),
            ("reaper", Role::Reaper, "the reaper wrote too much "),
        ] {
            let length = INCOMING_BYTES_MAX;
            let kind = FrameKind::Oversize {
                length,
                sha256: String::new(),
                terminated: true,
            };
            let bytes = Vec::new();
            let (told, _) = write(process, role, RawFrame { bytes, kind });
            assert!(told.as_ref().is_some_and(|told| told.starts_with(who)), "{told:?}");
        }
    }

    /// Else a flood of empty lines would be a record that nobody reads again, and end the whole run.
    #[test]
    fn a_record_of_the_smallest_lines_can_be_read() {
        let (bytes, kind) = (b"x".to_vec(), FrameKind::Whole);
        let (told, record) = write("first", Role::Server, RawFrame { bytes, kind });
        assert_eq!(told, None);
        let line = record.lines().last().expect("an event");
        let lines_max = INCOMING_BYTES_MAX / FRAME_COST_BYTES;
        let values = usize::try_from(lines_max).expect("a number of lines") * values_in(line.as_bytes());
        assert!(
            values <= VALUES_MAX / 2,
            "{values} values of {lines_max} lines like {line}"
        );
    }
}
