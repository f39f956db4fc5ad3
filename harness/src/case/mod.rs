//! Case definitions: the file as written, the case as resolved, the embedded catalogue and its frozen digests.
//!
//! - [`written`]: format 1, letter by letter, as serde reads it.
//! - [`definition`]: the same as types that cannot be wrong; everything after parsing works on these.
//! - [`step`]: the steps among them, [`start`] how a process is started; `words` says each of them to people.
//! - [`surface`]: what a target must offer, as one table.
//! - [`resolve`]: the way from one to the other, with every rule of meaning; `script` does the steps, `strangers` refuses keys
//!   that a step has no use for, `wanted` says what a step asks of a target, `checks` does the checks.
//! - `facts`: the closed list of what checks can ask for.
//! - `log_words`: the words and columns by which executions are spoken of.
//! - [`catalogue`]: the cases embedded in the binary, and how a user's words select among them; `own` adds the user's.

mod catalogue;
mod checks;
mod definition;
mod facts;
mod log_words;
mod own;
mod resolve;
mod script;
mod start;
mod step;
mod strangers;
mod surface;
mod wanted;
mod words;
mod written;

pub(crate) use catalogue::is_name_of;
pub use catalogue::{Catalogue, FROZEN, Selection, SelectionError, calibrations};
pub use definition::{BOUND_MS_MAX, Basis, Bounds, Case, Check, CheckSource, Mode, OperationUse, Promise};
#[cfg(test)]
pub(crate) use facts::{known as known_facts, unknown as unknown_facts};
pub(crate) use log_words::{State as ExecutionState, Word as EventWord};
pub(crate) use resolve::is_plain_word;
pub use resolve::parse;
pub use start::{OutsideKey, Role, Rotation, Settings, StartStep};
pub use step::{
    Condition, Doubled, Fault, From, Inputs, ObserveStep, Round, Rounds, SendStep, State, Step, Then, Until, When,
    WriteStep,
};
pub use surface::Surface;
pub use written::CASE_FORMAT;
#[cfg(test)]
pub(crate) use written::schema;
