//! Two runs beside each other: verdicts that changed, and the first event in which a case went another way.
//!
//! Two runs never have a byte of their frames in common: ids, names, tokens, times and paths are another run's. What such a
//! thing is called is no difference; that it is the same thing as before is one. So names of the plan are put back, and
//! whatever else only names something is paired: once it stands for something, it must always stand for that.
//!
//! - [`side`]: the evidence of one run, read with suspicion.
//! - [`about`]: what the runs themselves differ in: server, artifact, revision, seed, harness.
//! - [`verdicts`]: verdicts that changed, and by which checks.
//! - [`lanes`]: a record taken apart: by process, requests with their replies; [`told`] turns events into what is compared.
//! - [`align`]: which event of one record is which of the other.
//! - [`records`]: the records of one case, compared.
//! - [`json`]: values compared, path by path; [`words`] texts among them, [`pairing`] what only names something.
//! - [`whole`]: all of it for two runs.
//!
//! It believes what the evidence says: whether that is true is the affair of [`verify`](crate::verify).

mod about;
mod align;
mod json;
mod lanes;
mod pairing;
mod records;
mod side;
#[cfg(test)]
mod tests;
mod told;
mod verdicts;
mod whole;
mod words;

pub use about::AboutDifference;
pub use json::PathDifference;
pub use records::{EventDifference, RecordsDiff};
pub use side::{Side, SideReport};
pub use verdicts::{CheckChange, VerdictChange};
pub use whole::{CaseDiff, DIFF_FORMAT, OnlyIn, RunDiff, compare_runs};
