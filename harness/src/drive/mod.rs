//! Runs one plan against one server: processes and signals, bytes on the wire, time.
//!
//! - [`clock`]: the only reader of a clock, and bounded waits.
//! - [`framing`]: bytes to lines.
//! - [`guard`]: nothing is left, whatever ends a run.
//! - [`process`]: starting a server, seeing it end, ending all of it.
//! - [`transport`]: frames to and from it.
//!
//! Nothing here judges. `judge` and `report` never import this room.

pub mod clock;
pub mod framing;
pub mod guard;
pub mod process;
pub mod transport;
