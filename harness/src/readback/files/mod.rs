//! Stores of files: JSON, JSON Lines, text, and folders of any files, SQLite stores among them.
//!
//! Must not follow a link inside a store, must not create anything in it, and must not take a torn file for a whole one.
//!
//! | file | for |
//! |---|---|
//! | [`tree`] | copying a folder or a file after a death |
//! | [`walk`] | what a folder holds, within bounds |
//! | [`query`] | which parts of which files are effects, as a profile says it |
//! | [`read`] | the bytes that a query is about: frozen, or beside a living server |
//! | [`answer`] | the rows of a query, from bytes |
//! | [`rows`] | elements of JSON as rows |
//! | `double` | the same files with every marked part twice, for the control |
//! | [`json`] | whole, torn and bad JSON |
//! | [`aside`] | files that a save leaves behind, which are no effects |

pub mod answer;
pub mod aside;
mod double;
pub mod json;
pub mod query;
pub mod read;
pub mod rows;
#[cfg(test)]
pub(in crate::readback) mod tests;
pub mod tree;
pub mod walk;
