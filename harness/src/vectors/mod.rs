//! Vectors that implementations in any language share, and the check of one of them: the built-in one, or an adapter.
//!
//! An implementation is asked one question a vector, a JSON object, and gives one answer, a JSON object;
//! `vectors/README.md` is the contract. What it should have answered stands in the file; nothing here computes it.
//!
//! - [`Suite`], [`Vector`], [`Set`]: the vectors of one file, and the embedded ones
//! - `written`: the files as they are written
//! - [`compare`]: an answer with what was expected, down to the first differing byte
//! - [`Adapter`]: an implementation that is a program of its own
//! - [`recover`]: the built-in answer to a question about recovery

mod adapter;
mod compare;
mod recover;
mod suite;
mod written;

pub use adapter::{ANSWER_BYTES_MAX, Adapter, AdapterError, Unusable};
pub use compare::{ByteDifference, Difference, compare, first_difference};
pub use recover::recover;
pub use suite::{Expected, Set, Suite, SuiteError, VECTORS_BYTES_MAX, Vector};
