//! Runs one plan against one server: processes and signals, bytes on the wire, time.
//!
//! - [`clock`]: the only reader of a clock, and bounded waits.
//! - [`framing`]: bytes to lines.
//!
//! Nothing here judges. `judge` and `report` never import this room.

pub mod clock;
pub mod framing;
