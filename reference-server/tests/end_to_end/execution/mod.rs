//! Durable execution, with real processes: servers, workers and reapers on one store, killed, paused and overtaken.

mod concurrency;
mod defects;
mod leases;
mod log;
mod retries;
mod status;
mod submission;
mod support;
mod trouble;
