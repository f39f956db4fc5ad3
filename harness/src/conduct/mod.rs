//! Conducts a run: plan everything, probe, drive each case, judge it, keep the evidence. Says what happens as it happens.
//!
//! - [`request`]: what to run, what can be told of it, and why it cannot be run.
//! - [`conductor`]: the run itself.
//! - [`crew`]: the cases, side by side.
//! - [`jobs`]: how many of them.
//! - [`prove`]: one run without a defect, and one with each.
//! - [`keep`]: what stays of a run that was one of many.
//! - [`offered`]: whether the server offers what the profile names.
//! - [`describe`]: `run.json` as it is before anything was run.
//! - [`dry`]: what would be done.
//! - [`removed`]: whether the evidence stays, and so has to be sealed.

mod conductor;
mod crew;
mod describe;
mod dry;
mod jobs;
mod keep;
mod lost_writes;
mod offered;
mod prove;
mod removed;
mod request;

pub use conductor::{conduct, conduct_until};
pub use dry::{Beside, DryRun, dry_run, with_effects_found};
pub use jobs::jobs;
pub use prove::{ProofRequest, Proved, Proving, prove};
pub use removed::IsRemoved;
pub use request::{ConductError, Progress, Repeat, Request, Running, fresh_naming};
