//! One case as a story, step by step: what was done, what broke, what was seen in the store, and why the verdict is what it
//! is. For readers who know neither the project nor its words.
//!
//! It is told from the evidence of a case that has ended, and decides nothing. Everything here may have been written by
//! somebody else: [`page`] keeps it in its place.
//!
//! - [`teller`]: events in, a story out.
//! - [`wire`]: requests and replies in words.
//! - [`happened`]: every other event in words.
//! - [`seen`]: an observation, and what changed since the one before.
//! - [`change`]: what differs between two readings.
//! - [`log`]: the event log of durable executions, with what each event means.
//! - [`findings`]: the checks, the rows that broke them, and the verdict.
//! - [`value`]: JSON values in few words.
//! - [`table`]: rows as a small table.
//! - [`page`]: labels, indents and line breaks.

mod change;
mod findings;
mod happened;
mod log;
mod page;
mod seen;
mod table;
mod teller;
mod told;
mod value;
mod wire;

pub use teller::{Story, StoryOf};
