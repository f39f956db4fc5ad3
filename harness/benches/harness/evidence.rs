//! What it costs to review evidence: a whole run of the built-in server verified as a folder and as an archive, exported,
//! and made a page, beside `sha256sum` on the same bytes. Each is a process of its own, started anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::report::{Row, Section, Unit};
use crate::stage::{Stage, per_second, timed};

/// Each thing with its name beside `sha256sum`, and what it is.
#[rustfmt::skip] // A table, one line a row.
const ACTS: [(&str, &str, &str); 4] = [
    ("verify folder",  "verify folder / sha256sum",  "`harness verify` of the folder: digests, stores recovered, verdicts judged again"),
    ("verify archive", "verify archive / sha256sum", "the same of its archive, which is unpacked first"),
    ("export",         "export / sha256sum",         "`harness export`: verified, searched for secrets, packed"),
    ("report --html",  "report --html / sha256sum",  "`harness report --html`: a page of all cases and frames"),
];

/// All of them in turns, on one run.
pub(crate) fn measure(stage: &Stage, rounds: u32) -> Section {
    let folder = stage.round("evidence", 0);
    run(stage, &folder, &["run", "--evidence", "run"]);
    run(stage, &folder, &["export", "run", "-o", "run.zip"]);
    let files = files(&folder.join("run"));
    let bytes: u64 = files.iter().map(|file| file.metadata().expect("a file").len()).sum();
    let kilobytes = u32::try_from(bytes / 1000).expect("evidence is smaller than terabytes");
    let rate = |micros| per_second(kilobytes, micros) / 1000.0;
    let mut sums = Vec::new();
    let mut rates: [Vec<f64>; ACTS.len()] = Default::default();
    for round in 0..rounds {
        sums.push(rate(timed(|| sha256sum(&files)).1));
        let (archive, page) = (format!("{round}.zip"), format!("{round}.html"));
        let commands: [&[&str]; ACTS.len()] = [
            &["verify", "run"],
            &["verify", "run.zip"],
            &["export", "run", "-o", &archive],
            &["report", "run", "--html", &page],
        ];
        for (rates, arguments) in rates.iter_mut().zip(commands) {
            rates.push(rate(timed(|| run(stage, &folder, arguments)).1));
        }
    }
    let means = "every file by one process; all rates are of the same bytes";
    let mut rows = vec![Row::new(0, "sha256sum", Unit::MegabytesPerSecond, sums.clone(), means)];
    for ((name, beside, means), rates) in ACTS.into_iter().zip(rates) {
        let ratios = rates.iter().zip(&sums).map(|(rate, sums)| rate / sums).collect();
        rows.push(Row::new(0, name, Unit::MegabytesPerSecond, rates, means));
        rows.push(Row::new(1, beside, Unit::Ratio, ratios, "what is left of the speed"));
    }
    Section {
        name: "evidence",
        about: format!(
            "a run of every case on the built-in server, {} files, {kilobytes} kB",
            files.len()
        ),
        rows,
    }
}

/// Runs the harness in the folder; it must be content.
pub(crate) fn run(stage: &Stage, folder: &Path, arguments: &[&str]) {
    let output = stage.command(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "harness {arguments:?}, {}: {said}",
        output.status
    );
}

fn sha256sum(files: &[PathBuf]) {
    let status = Command::new("sha256sum").args(files).stdout(Stdio::null()).status();
    assert!(status.expect("start sha256sum").success(), "every file can be read");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
