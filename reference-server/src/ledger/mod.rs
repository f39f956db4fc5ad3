//! The durable record of operations, and the effects it guards, in one SQLite store.
//!
//! - [`schema`]: the tables, and the opening of a store
//! - `rows`: the statements, in raw SQL
//! - `store`: the transactions
//! - `planted`: the longer wrong turns of planted defects
//! - [`inspection`]: everything that stands in a store, read and never changed
//! - [`reconciliation`]: an operator's decision about an operation in progress
//! - [`messages`]: what the ledger is asked and what it answers
//! - [`thread`]: the thread that owns the connection, and the handle that talks to it
//!
//! The order of checks is not here: each transaction asks [`crate::guard::decision`].

pub mod inspection;
pub mod messages;
mod planted;
pub mod reconciliation;
mod rows;
pub mod schema;
mod store;
pub mod thread;
