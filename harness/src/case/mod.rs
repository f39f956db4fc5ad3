//! Case definitions: the file as written, the case as resolved, the embedded catalogue and its frozen digests.
//!
//! - [`written`]: format 1, letter by letter, as serde reads it.
//! - [`definition`]: the same as types that cannot be wrong; everything after parsing works on these.
//! - [`resolve`]: the way from one to the other, with every rule of meaning.
//! - [`catalogue`]: the cases embedded in the binary, and how a user's words select among them.

mod catalogue;
mod definition;
mod resolve;
mod written;

pub(crate) use catalogue::is_name_of;
pub use catalogue::{Catalogue, FROZEN, Selection, SelectionError, calibrations};
pub use definition::{
    Basis, Bounds, Case, Check, CheckSource, Doubled, Fault, From, Promise, Round, Step, Surface, Then, Until, When,
    WriteStep,
};
pub(crate) use resolve::is_plain_word;
pub use resolve::parse;
pub use written::CASE_FORMAT;
