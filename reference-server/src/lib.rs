//! A guarded MCP server: one effect per operation, whatever happens to the reply.
//!
//! It is the proof that the cases of the harness can be passed, and an example to copy; started with a planted defect it gets
//! one thing wrong. A binary that embeds it takes [`Cli`] as the arguments of a subcommand, or calls [`main`].
//!
//! - [`command`]: the command line
//! - [`settings`]: flags and environment, as written and as resolved
//! - `server`: the glue to the MCP SDK
//! - `tasks`: executions as the protocol's tasks
//! - [`tools`]: one file per tool
//! - [`guard`]: fingerprint, request state, and the pure decision
//! - [`ledger`]: schema, transactions, and the thread that owns the store
//! - [`execution`]: durable execution: workers, fenced leases, the event log
//! - [`clock`], [`failpoint`], [`defect`]: injected time, named cut points, planted faults

#![forbid(unsafe_code)]

pub mod clock;
pub mod command;
pub mod defect;
pub mod execution;
pub mod failpoint;
pub mod guard;
pub mod ledger;
pub mod server;
pub mod settings;
mod tasks;
pub mod tools;

pub use command::{Cli, Command, main};
