//! Case definitions: the file as written, the case as resolved, the embedded catalogue and its frozen digests.
//!
//! - [`written`]: format 1, letter by letter, as serde reads it.
//! - [`definition`]: the same as types that cannot be wrong; everything after parsing works on these.
//! - [`step`]: the steps among them; `words` says each of them to people.
//! - [`surface`]: what a target must offer, as one table.
//! - [`resolve`]: the way from one to the other, with every rule of meaning; `script` does the steps.
//! - [`catalogue`]: the cases embedded in the binary, and how a user's words select among them; `own` adds the user's.

mod catalogue;
mod definition;
mod own;
mod resolve;
mod script;
mod step;
mod surface;
mod words;
mod written;

pub(crate) use catalogue::is_name_of;
pub use catalogue::{Catalogue, FROZEN, Selection, SelectionError, calibrations};
pub use definition::{BOUND_MS_MAX, Basis, Bounds, Case, Check, CheckSource, Mode, OperationUse, Promise};
pub(crate) use resolve::is_plain_word;
pub use resolve::parse;
pub use step::{
    Doubled, Fault, From, Inputs, Rotation, Round, Rounds, SendStep, Settings, StartStep, State, Step, Then, Until,
    When, WriteStep,
};
pub use surface::Surface;
pub use written::CASE_FORMAT;
#[cfg(test)]
pub(crate) use written::schema;
