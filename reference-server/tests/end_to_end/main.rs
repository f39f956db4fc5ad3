//! The real binary, driven by raw JSON lines over pipes, and its store, read by SQL afterwards.
//!
//! Every wait has a bound, nothing sleeps, and no test depends on how fast the machine is.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and the place says why"
)]

mod continuation;
mod crash;
mod deadlines;
mod defects;
mod eras;
mod execution;
mod lifetime;
mod operator;
mod settings;
mod support;
mod write;
