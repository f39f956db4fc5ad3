//! A run as one HTML file, for people who have a browser and not the harness. It loads nothing, runs no script, and holds a
//! server's texts as texts.
//!
//! - [`page`]: policy and style, what was run, the table of verdicts.
//! - [`case`]: one case: its verdict, and what is behind it.
//! - [`gather`]: a record, read once for list, picture and counts.
//! - [`scene`]: what a picture shows, as a value.
//! - [`picture`]: that, drawn as SVG.
//! - [`list`]: the events in sentences, with their frames.
//! - [`checks`]: what was expected and found.
//! - [`counts`]: what was counted, and the rows.
//! - [`markup`]: the one way to write HTML.
//! - [`escape`]: text in it.

mod case;
mod checks;
mod counts;
mod escape;
mod gather;
mod list;
mod markup;
mod page;
mod picture;
mod scene;

pub use case::HtmlCase;
pub use page::{HtmlCases, HtmlOf, html_page};
