//! Read-back: what really happened, read from the server's own store and never from its replies.
//!
//! Must not write to a store that a server owns, must not repair it, and must not disturb a server that is using it.
//!
//! | file | for |
//! |---|---|
//! | [`query`] | the question and its bounded answer, the same for every kind of store that speaks SQL |
//! | [`error`] | why a question got no answer |
//! | [`sqlite`] | SQLite: reading beside a living server, freezing after a death, the doctored copy of the control |
//!
//! One folder or file per kind of store. The next kinds (PostgreSQL; JSON, JSON Lines, files, a command) answer with
//! [`Rows`] and fail with [`ReadError`] too, so that nothing above this room knows which kind it was.

pub mod error;
pub mod query;
pub mod sqlite;

pub use error::{Bound, ReadError};
pub use query::{Query, Rows};
pub use sqlite::doctor::{DoctorError, Doctored, DoubledTable, duplicate_marked_rows};
pub use sqlite::freeze::{FreezeError, Frozen, FrozenFile, freeze};
pub use sqlite::live::{LiveReader, Poll, observe_live};
pub use sqlite::read_copy::query_read_copy;
