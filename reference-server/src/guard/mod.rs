//! The guard: what makes a repeat a repeat, and what a continuation may do. Pure, except that a seal needs its key.
//!
//! - [`canonical`]: the one JSON text of a JSON value
//! - [`fingerprint`](mod@fingerprint): what must be equal for a request to be a repeat
//! - [`request_state`]: the sealed continuation state of a first round
//! - [`decision`]: apply, replay, or a refusal

pub mod canonical;
pub mod decision;
pub mod fingerprint;
pub mod request_state;
