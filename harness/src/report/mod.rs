//! Reports: consumers of records and verdicts. They decide nothing.
//!
//! - [`printer`]: the one way to the terminal, with its escaping.
//! - [`result`]: what a run came to, as a value; also the JSON report.
//! - [`console`]: the same for people.
//! - [`summary`]: one case in a few lines.

mod console;
mod printer;
mod result;
mod summary;

pub use console::{show_case, show_end, show_server, show_target};
pub use printer::{Printer, Span, Style, WIDTH, escape, plain, span, wrap};
pub use result::{CaseReport, ControlReport, OperationReport, REPORT_FORMAT, RunReport, RunTotals, TargetReport};
