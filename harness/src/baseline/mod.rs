//! Baselines: which failures are known, and which verdicts were there before.
//!
//! - [`yaml`]: as much of YAML as a list needs, with the place of everything.
//! - [`listed`]: the list of expected failures, as it is read.
//! - [`expected`]: the file of expected verdicts, read and written.
//! - `json_places`: where the keys of a JSON document stand.
//! - [`compare`]: a run compared with either; pure, so that `verify` and `show` come to the same from evidence.
//!
//! What is kept in evidence is in `record`.

mod compare;
mod expected;
mod json_places;
mod listed;
mod yaml;

pub use compare::{BaselineReport, Change, ChangeKind, EntryOutcome, EntryReport, compare, counts_as, of_list};
pub use expected::{ExpectedDocument, expected_text, read_expected};
pub use listed::read_expected_failures;
