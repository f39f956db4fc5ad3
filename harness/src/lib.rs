//! Conformance and fault-injection test harness for MCP servers: it counts effects, not replies.
//!
//! ```text
//! target + case + seed ──plan──▶ Plan ──drive──▶ Record ──judge──▶ Verdict ──report──▶ console, JSON
//!                                a value         on disk  pure function               consumers only
//! ```
//!
//! Data goes one way. Record first, judge after: a verdict is a pure function of what is on disk.

pub mod baseline;
pub mod case;
pub mod commands;
pub mod conduct;
mod counted;
pub mod diff;
pub mod digest;
pub mod document;
pub mod drive;
pub mod fault;
pub mod judge;
#[cfg(feature = "libtest")]
pub mod libtest;
pub mod matrix;
mod parallel;
mod plain_file;
pub mod plan;
pub mod protocol;
pub mod readback;
pub mod record;
pub mod recovery;
pub mod report;
pub mod schema;
pub mod secrets;
mod shell_word;
pub mod signature;
pub mod target;
mod values;
pub mod vectors;
pub mod verify;
