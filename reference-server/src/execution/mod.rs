//! Durable execution: a call is persisted before it is dispatched, done by a worker under a fenced lease, and told by an
//! append-only log.
//!
//! Delivery is at-least-once, and this room does not pretend otherwise: what it guarantees is the transition. A change of state
//! and its event commit together, an effect in the store and its completion commit together, and both only inside the fence: by
//! the worker whose token is the last one that was given. An effect outside the store needs a key of its own (`outside`).
//!
//! - [`event`]: what can happen, and the pure fold of a log
//! - [`schema`]: the tables, and the triggers that make the log append-only
//! - [`verification`]: folds every log of a store and compares with its rows
//! - `log`, `rows`: the statements, in raw SQL
//! - `engine`: the transactions' common ground
//! - `submission`: submit, look at, cancel
//! - `lease`: claim, heartbeat, give back
//! - `outcome`: complete and fail, inside the fence
//! - `reaper`: expires leases, promotes retries that are due
//! - `worker`: the loop of one worker
//! - `outside`: an effect that no transaction of ours covers
//! - `planted`: the longer wrong turns of planted defects
//! - [`inspection`]: what stands in these tables, as plain values
//! - [`messages`]: what the engine is asked through the ledger's thread
//! - [`settings`]: leases, attempts, backoff

pub(crate) mod engine;
pub mod event;
pub mod inspection;
mod lease;
mod log;
pub mod messages;
mod outcome;
mod outside;
pub(crate) mod planted;
pub(crate) mod reaper;
mod rows;
pub mod schema;
pub mod settings;
mod submission;
pub mod verification;
pub(crate) mod worker;
