//! The durable record of operations, and the effects it guards, in one SQLite store.
//!
//! - [`schema`]: the tables, and the opening of a store
//! - [`store`]: the transactions, in raw SQL
//! - [`thread`]: the thread that owns the connection, and the handle that talks to it
//!
//! The order of checks is not here: each transaction asks [`crate::guard::decision`].

pub mod schema;
pub mod store;
pub mod thread;
