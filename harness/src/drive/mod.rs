//! Runs one plan against one server: processes and signals, bytes on the wire, time.
//!
//! - [`clock`]: the only reader of a clock, and bounded waits.
//! - `clock_file`: the injected time, as processes read it.
//! - [`framing`]: bytes to lines.
//! - [`guard`]: nothing is left, whatever ends a run.
//! - [`process`]: starting a server, seeing it end, ending all of it.
//! - [`transport`]: frames to and from it.
//! - [`environment`]: what of the caller's environment it gets.
//! - [`stage`]: the folders of a case, and how its target is launched from them.
//! - `secrets`: the values of a target's secrets.
//! - `seed`: a new store, made from what the profile names.
//! - [`scribe`]: the one owner of a case's recorder and clock.
//! - [`session`]: one server process and the conversation with it.
//! - [`holder`]: whether somebody outside the server's tree has the store open.
//! - `inside`: whether a store still lies in the case's own folder.
//! - [`elsewhere`]: where a server wrote that did not write into the store.
//! - [`last_words`]: the end of a server's standard error.
//! - [`missing_answer`]: what is said where a question finds no answer.
//! - [`observer`]: read-back at a named moment.
//! - [`answers`]: what a server asks while a write is in flight, and what it is answered.
//! - [`living`]: the same while the server lives, also where nobody can read beside it.
//! - [`outside`]: the kill of a server that is no process of ours.
//! - [`watch`]: polls the living store for one effect.
//! - [`driver`]: the steps of a plan, in order.
//! - [`calibrate`]: where the effect shows, where nobody said it.
//! - [`probe`]: whether the target starts, and which era it speaks.
//!
//! Nothing here judges. `judge` and `report` never import this room.

mod answers;
mod calibrate;
pub mod clock;
mod clock_file;
mod driver;
mod elsewhere;
mod environment;
pub mod framing;
pub mod guard;
mod holder;
mod inside;
mod last_words;
mod living;
mod missing_answer;
mod observer;
mod outside;
mod probe;
pub mod process;
mod rest;
mod scribe;
mod secrets;
mod seed;
mod session;
mod stage;
mod store_lock;
pub mod transport;
mod watch;

pub use calibrate::{Calibrated, Lost, SEARCHED_ONE, SEARCHED_TWO, Written, calibrate, derive};
pub use driver::{CaseRun, run_case};
pub use elsewhere::{Elsewhere, look_elsewhere};
pub use outside::SideCommand;
pub use probe::{Found, probe};
pub use scribe::Scribe;
pub use stage::{RunSetting, Stage, StageError};
pub use store_lock::play as play_lock_holder;

use crate::readback::{FreezeError, ReadError};
use crate::record::{EvidenceError, RecordError};

/// Why a case could not be run to its end. None of these says anything about the target.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The server could not be launched.
    #[error(transparent)]
    Launch(#[from] process::LaunchError),
    /// The stage could not be set.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The record could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The evidence could not be written.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A store could not be frozen.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// The living store could not be watched.
    #[error("watch the store for the effect: {0}")]
    Watch(ReadError),
    /// A process wrote more than a case may hold.
    #[error(
        "{who} wrote too much on standard output in one case, together with whatever else wrote there (more than {} bytes, of which \
         a line takes {} beside its own); nothing after that was recorded",
        scribe::INCOMING_BYTES_MAX,
        scribe::FRAME_COST_BYTES
    )]
    Flood {
        /// Which process it was, in a sentence.
        who: String,
    },
    /// Somebody who is no process of the server has the store open.
    #[error(
        "the store is still open in process {pid} ({name}), which the launch command did not start: a kill does not reach it, so \
         nothing can be said of a crash; launch the process that owns the store, or add `[launch] kill` (`--kill`): a command that \
         kills it"
    )]
    StoreIsOpen {
        /// The process.
        pid: i32,
        /// Its name.
        name: String,
    },
    /// A scratch folder could not be made.
    #[error("create a scratch folder: {0}")]
    Scratch(std::io::Error),
    /// A frame of ours is wrong; it was not sent.
    #[error("our own frame is wrong and was not sent: {0}")]
    OwnFrame(String),
}
