//! What was measured, as a value, and how it is printed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) rounds: usize,
    pub(crate) folder: PathBuf,
    /// What the stores of both sides have in common.
    pub(crate) settings: String,
    pub(crate) sections: Vec<Section>,
}

/// The answer to one question.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) rows: Vec<Row>,
}

/// One measured thing.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    unit: Unit,
    min: f64,
    median: f64,
    p90: f64,
    means: &'static str,
}

/// What a number counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    PerSecond,
    Ratio,
    Count,
}

impl Row {
    /// A row over the values of all rounds.
    pub(crate) fn new(name: &'static str, unit: Unit, mut values: Vec<f64>, means: &'static str) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |percent: usize| values[(values.len() * percent).div_ceil(100).saturating_sub(1)];
        Self {
            name,
            unit,
            min: at(0),
            median: at(50),
            p90: at(90),
            means,
        }
    }
}

impl Report {
    /// As a table.
    pub(crate) fn table(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut text = format!("{} rounds, {cores} cores, in {}\n", self.rounds, self.folder.display());
        // Writing into a text cannot fail.
        let _ = writeln!(text, "stores: {}", self.settings);
        if is_in_memory(&self.folder) {
            text.push_str("note: that folder is in memory, so a durable commit costs nothing there; see --folder\n");
        }
        if cfg!(debug_assertions) {
            text.push_str("note: this build is not optimised; run it by `cargo bench`\n");
        }
        for section in &self.sections {
            section.print(&mut text);
        }
        text
    }
}

/// Whether the file system that is mounted nearest above `folder` keeps nothing on a disk.
fn is_in_memory(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (place, kind) = (words.nth(1)?, words.next()?);
        folder.starts_with(place).then_some((place.len(), kind))
    });
    // The last one of several at the same place is the one that is seen.
    let nearest = mounted.max_by_key(|(length, _)| *length);
    nearest.is_some_and(|(_, kind)| kind == "tmpfs" || kind == "ramfs")
}

impl Section {
    fn print(&self, text: &mut String) {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        // Writing into a text cannot fail.
        let _ = writeln!(text, "\n{}: {}", self.name, self.about);
        let _ = writeln!(text, "  {:width$} {:>10} {:>10} {:>10}", "", "min", "median", "p90");
        for row in &self.rows {
            let (unit, digits) = match row.unit {
                Unit::Milliseconds => ("ms", 2),
                Unit::PerSecond => ("/s", 0),
                Unit::Ratio => ("x", 2),
                Unit::Count => ("", 2),
            };
            let _ = write!(text, "  {:width$}", row.name);
            for value in [row.min, row.median, row.p90] {
                let _ = write!(text, " {value:>10.digits$}");
            }
            let _ = writeln!(text, " {unit:2}  {}", row.means);
        }
    }
}
