//! Durable executions, as a server's own store tells of them: its event log, its rows, its leases and retries. Pure.
//!
//! Must not know the reference server: what the words mean is the contract of `cases/README.md`, "Event logs", and this is its
//! only reader. Rows that do not keep to it are nobody's fault: the facts that need them are not observed.
//!
//! - [`event`]: the words of the log and of a row, and one event.
//! - [`read`]: rows of a store as typed columns, or what is wrong with them.
//! - [`fold`]: the log of one execution, event by event, to what it comes to.
//! - [`holding`]: who held a lease by the log, and who acted without one.
//! - [`facts`]: what checks ask for.

mod event;
mod facts;
mod fold;
mod holding;
mod read;

#[cfg(test)]
mod facts_tests;
#[cfg(test)]
mod fold_properties;
#[cfg(test)]
mod fold_tests;
#[cfg(test)]
mod told_store;

pub(super) use facts::of_operation;
