//! What was measured, as a value, and how it is printed.

use std::fmt::Write as _;
use std::path::Path;

use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use serde::Serialize;

/// The version of the JSON document.
const FORMAT: u32 = 1;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    format: u32,
    rounds: u32,
    /// Whether this and the measured executable were optimised.
    optimised: bool,
    cores: usize,
    folder: String,
    /// Then nothing reaches a disk, and a durable commit costs nothing.
    in_memory: bool,
    sections: Vec<Section>,
}

/// The answer to one question.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) about: String,
    pub(crate) rows: Vec<Row>,
}

/// One measured thing.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    name: &'static str,
    unit: Unit,
    min: f64,
    median: f64,
    p90: f64,
    means: &'static str,
    /// How far the name is indented: a part stands under its whole.
    depth: usize,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    #[serde(rename = "ratio")]
    Ratio,
}

impl Row {
    /// A row over the values of all rounds.
    pub(crate) fn new(depth: usize, name: &'static str, unit: Unit, mut values: Vec<f64>, means: &'static str) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |percent: usize| values[(values.len() * percent).div_ceil(100).saturating_sub(1)];
        Self {
            name,
            unit,
            min: at(0),
            median: at(50),
            p90: at(90),
            means,
            depth,
        }
    }
}

impl Report {
    pub(crate) fn new(rounds: u32, folder: &Path, sections: Vec<Section>) -> Self {
        Self {
            format: FORMAT,
            rounds,
            optimised: !cfg!(debug_assertions),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            folder: folder.parent().unwrap_or(folder).display().to_string(),
            in_memory: statfs(folder).is_ok_and(|system| system.filesystem_type() == TMPFS_MAGIC),
            sections,
        }
    }

    /// As one JSON document.
    pub(crate) fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report has string keys only");
        text.push('\n');
        text
    }

    /// As a table.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("{} rounds, {} cores, in {}\n", self.rounds, self.cores, self.folder);
        if self.in_memory {
            text.push_str("note: that folder is in memory, so a durable commit costs nothing there; see --folder\n");
        }
        if !self.optimised {
            text.push_str("note: this build is not optimised; run it by `cargo bench`\n");
        }
        for section in &self.sections {
            section.print(&mut text);
        }
        text
    }
}

impl Section {
    fn print(&self, text: &mut String) {
        let width = self
            .rows
            .iter()
            .map(|row| row.depth * 2 + row.name.len())
            .max()
            .unwrap_or(0);
        // Writing into a text cannot fail.
        let _ = writeln!(text, "\n{}: {}", self.name, self.about);
        let _ = writeln!(text, "  {:width$} {:>10} {:>10} {:>10}", "", "min", "median", "p90");
        for row in &self.rows {
            let name = format!("{:indent$}{}", "", row.name, indent = row.depth * 2);
            let (unit, digits) = match row.unit {
                Unit::Milliseconds => ("ms", 2),
                Unit::PerSecond => ("/s", 0),
                Unit::MegabytesPerSecond => ("MB/s", 1),
                Unit::Ratio => ("x", 2),
            };
            let _ = write!(text, "  {name:width$}");
            for value in [row.min, row.median, row.p90] {
                let _ = write!(text, " {value:>10.digits$}");
            }
            let _ = writeln!(text, " {unit:4}  {}", row.means);
        }
    }
}
