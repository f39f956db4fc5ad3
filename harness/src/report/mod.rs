//! Reports: consumers of records and verdicts. They decide nothing.
//!
//! - [`printer`]: the one way to the terminal, with its escaping.
//! - [`result`]: what a run came to, as a value; also the JSON report.
//! - [`console`]: the same for people.
//! - [`missing`]: what a target lacks, summed up.
//! - [`diff`]: two runs beside each other.
//! - [`baseline`]: what came of comparing it with its baseline.
//! - [`summary`]: one case in a few lines.
//! - [`story`]: one case step by step, for people who know nothing of it yet.
//! - [`timeline`]: a record for people, event by event.
//! - [`offer`]: what a server offers, where its write is not named.
//! - [`frame`]: one frame in a few words.
//! - [`origin`]: what made a row, in a few words.
//! - [`attestation`]: a run as an in-toto statement.
//! - [`overview`]: a run of the past for people.
//! - [`html`]: the same as a page for a browser.

mod attestation;
mod baseline;
mod console;
mod diff;
mod frame;
mod html;
mod missing;
mod offer;
mod origin;
mod overview;
mod printer;
mod result;
mod story;
mod summary;
mod timeline;

pub use attestation::{AttestationError, NamedArchive, Statement, attestation};
pub use baseline::show_baseline;
pub use console::{show_case, show_case_lines, show_control_line, show_effect, show_end, show_server, show_target};
pub use diff::show_diff;
pub use html::{HtmlCase, HtmlCases, HtmlOf, html_page};
pub use overview::{CaseGlance, Glance, RunGlance, show_case_heading, show_masked, show_overview};
pub use printer::{Printer, Span, Style, WIDTH, escape, plain, span, wrap};
pub use result::{
    CaseReport, ControlReport, OperationReport, REPORT_FORMAT, RunReport, RunTotals, TargetReport, ToolReport,
};
pub use story::{Story, StoryOf};
pub use timeline::{Timeline, TimelineOptions};
