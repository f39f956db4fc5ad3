//! What it costs to look at a large run: a hundred cases with ten thousand frames between them, made a page, verified and
//! shown. Each is a process of its own, started anew.

use std::path::Path;

use crate::evidence::run;
use crate::report::{Row, Section, Unit};
use crate::stage::{Stage, milliseconds, timed};

/// So many cases of one's own, each with fifty submissions: two frames each.
const CASES: usize = 100;

/// What is done with the run, and what it is.
#[rustfmt::skip] // A table, one line a row.
const ACTS: [(&str, &[&str], &str); 3] = [
    ("report --html", &["report", "run", "--html", "page.html"], "`harness report --html`: every frame in it, with its JSON set out"),
    ("verify",        &["verify", "run"],                        "`harness verify` of the folder"),
    ("show",          &["show", "run"],                          "`harness show`: the whole story on a terminal"),
];

/// All of them in turns, on one run.
pub(crate) fn measure(stage: &Stage, rounds: u32) -> Section {
    let folder = stage.round("many", 0);
    let names: Vec<String> = (0..CASES).map(|number| write_case(&folder, number)).collect();
    let mut arguments = vec!["run", "--target", "reference-execution", "--evidence", "run"];
    arguments.extend(names.iter().flat_map(|name| ["--case-file", name]));
    run(stage, &folder, &arguments);
    let mut times: [Vec<f64>; ACTS.len()] = Default::default();
    let mut page_bytes = 0;
    for _ in 0..rounds {
        for (times, (_, arguments, _)) in times.iter_mut().zip(ACTS) {
            times.push(milliseconds(timed(|| run(stage, &folder, arguments)).1));
        }
        let page = folder.join("page.html");
        page_bytes = page.metadata().expect("the page").len();
        // A page that is there is not replaced.
        std::fs::remove_file(page).expect("remove the page");
    }
    let row = |((name, _, means), times)| Row::new(0, name, Unit::Milliseconds, times, means);
    Section {
        name: "many",
        about: format!(
            "{CASES} cases with {} frames; the page has {} kB",
            frames(&folder),
            page_bytes / 1000
        ),
        rows: ACTS.into_iter().zip(times).map(row).collect(),
    }
}

/// Writes one case into the folder; its file name.
fn write_case(folder: &Path, number: usize) -> String {
    let name = format!("fifty-{number:03}.toml");
    let case = include_str!("fifty.toml").replace("fifty-000", &format!("fifty-{number:03}"));
    std::fs::write(folder.join(&name), case).expect("write a case");
    name
}

/// How many frames the records of the run hold.
fn frames(folder: &Path) -> usize {
    let cases = std::fs::read_dir(folder.join("run/cases")).expect("the cases of a run");
    let records = cases.map(|case| case.expect("a case").path().join("record.jsonl"));
    let count = |record| {
        let text = std::fs::read_to_string(record).expect("a record");
        text.lines().filter(|line| line.contains(r#""kind":"message""#)).count()
    };
    records.map(count).sum()
}
