//! The judge: `judge(case, record) -> verdict`, a pure function of what is on disk.
//!
//! No clock, no process, no environment, no network, no log. That is why `harness verify` reaches the same verdict
//! later, elsewhere, with no server.
//!
//! - [`steps`]: the record, cut into steps.
//! - [`facts`]: the record as a tree of facts that checks name by path.
//! - [`writes`]: the facts of requests and replies among them; `history` is what earlier steps did.
//! - [`disclosure`]: what a reply tells of earlier results.
//! - [`rows`]: which frames can have made which row.
//! - [`gone`]: processes beside the server that ended by themselves.
//! - [`said`]: what the server said where a write was not answered with a result.
//! - [`same`]: equality of JSON values as JSON means it.
//! - [`checks`]: expected and found, and what a difference means.
//! - [`submitted`]: what was submitted, how its execution stood, and what an observation waited for.
//! - [`executions`]: what the event log, the rows and the leases of durable executions say.
//! - [`elsewhere`]: what a retry may have changed beside the effects.
//! - [`moment`]: whether a kill that only the reply marked came after the effect.
//! - [`verdict`]: from checks to one of the five verdicts.

mod checks;
mod disclosure;
mod elsewhere;
mod executions;
mod facts;
mod gone;
mod history;
mod moment;
mod rows;
mod said;
mod same;
mod steps;
mod submitted;
mod verdict;
mod writes;

#[cfg(test)]
mod asked_tests;
#[cfg(test)]
mod tests;

pub use verdict::{INTERRUPTED, JUDGE_VERSION, gate_by_controls, judge};
