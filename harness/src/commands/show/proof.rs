//! `harness show` of the folder of a proof: its runs, with the command that looks at each.

use serde::Serialize;

use super::super::target_arguments::quoted;
use super::super::{ExitStatus, Format, refuse};
use super::ShowArguments;
use super::glance::{JSON_BYTES_MAX, SHOW_FORMAT};
use crate::counted::counted;
use crate::matrix::{BASELINE, CutShort, MATRIX_FORMAT, Proof, Row};
use crate::record::{MATRIX_FILE, ProofFolder, Reader, RunState, SUMS_FILE, Verdict};
use crate::report::{Printer, Style, plain, span};

/// A proof, as far as it can be read.
#[derive(Serialize)]
struct ProofGlance {
    format: u32,
    evidence: String,
    /// Whether there is a `SHA256SUMS`; without it the proof is at work, or was cut off.
    sealed: bool,
    matrix: Option<Proof>,
    /// Why it cannot be read.
    problem: Option<String>,
    runs: Vec<RunLine>,
}

/// One run of it.
#[derive(Serialize)]
struct RunLine {
    run: String,
    /// What the matrix says of it.
    says: String,
    /// What shows it.
    command: String,
}

/// Shows a proof; one case of one run is shown from the folder of that run.
pub(super) fn show(arguments: &ShowArguments, folder: &ProofFolder, printer: &mut Printer) -> ExitStatus {
    let glance = match glance(folder) {
        Ok(glance) => glance,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Failed, printer),
    };
    if let Some(word) = &arguments.case {
        let message = format!(
            "{} is a proof, and has runs and no cases{}",
            glance.evidence,
            glance.next(word)
        );
        return refuse(arguments.format, &message, ExitStatus::Usage, printer);
    }
    match arguments.format {
        Format::Human => human(&glance, printer),
        Format::Json => printer.json(&glance),
        Format::Jsonl => printer.json_line(&glance),
    }
    ExitStatus::Success
}

impl ProofGlance {
    /// What was probably meant by a word where a case could stand: a run, or a case of one that had to notice its defect.
    fn next(&self, word: &str) -> String {
        if let Some(line) = self.runs.iter().find(|line| line.run == word) {
            return format!("; that run: {}", line.command);
        }
        let rows = self.matrix.iter().flat_map(|matrix| &matrix.defects);
        let mut noticing = rows.filter(|row| row.kills.iter().any(|kill| kill.kill.case == word));
        let run = noticing.next().map_or(BASELINE, |row| row.defect.as_str());
        let line = self.runs.iter().find(|line| line.run == run);
        line.map_or(String::new(), |line| {
            format!("; a case of one of them: {} {word}", line.command)
        })
    }
}

fn glance(folder: &ProofFolder) -> Result<ProofGlance, String> {
    let reader = Reader::of_proof(folder);
    let (matrix, problem) = match reader.json::<Proof>(MATRIX_FILE, JSON_BYTES_MAX) {
        Ok(proof) if proof.format == MATRIX_FORMAT => (Some(proof), None),
        Ok(proof) => {
            let format = proof.format;
            let problem = format!("format {format} is not one this harness reads (it reads {MATRIX_FORMAT})");
            (None, Some(problem))
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let mut names = folder.runs().map_err(|error| error.to_string())?;
    // In the order of the matrix, what it does not speak of at the end.
    let order = |name: &String| {
        let kept = matrix.iter().flat_map(|matrix| &matrix.runs);
        kept.map(|run| &run.folder).position(|folder| folder == name)
    };
    names.sort_by_key(|name| order(name).unwrap_or(usize::MAX));
    let line = |run: String| RunLine {
        says: says(matrix.as_ref(), &run),
        command: format!("harness show {}", quoted(&folder.run(&run).display().to_string())),
        run,
    };
    Ok(ProofGlance {
        format: SHOW_FORMAT,
        evidence: folder.root().display().to_string(),
        sealed: reader.head(SUMS_FILE, 0).is_ok(),
        runs: names.into_iter().map(line).collect(),
        matrix,
        problem,
    })
}

fn says(matrix: Option<&Proof>, run: &str) -> String {
    let Some(matrix) = matrix else {
        return String::new();
    };
    if run == BASELINE {
        let passed = matrix.baseline.values().filter(|verdict| **verdict == Verdict::Pass);
        let cases = counted(matrix.cases.len(), "case", "cases");
        return format!("{} of {cases} passed without a defect", passed.count());
    }
    let row = matrix.defects.iter().find(|row| row.defect == run);
    row.map_or_else(|| without_row(matrix.state).to_owned(), noticed)
}

fn without_row(state: RunState) -> &'static str {
    match state {
        RunState::Running => "it did not come to its end",
        RunState::Interrupted | RunState::Finished => "the matrix has no row of it, so nothing says what it came to",
    }
}

fn noticed(row: &Row) -> String {
    match &row.cut_short {
        Some(CutShort::NotRun { reason }) => format!("NOT RUN: {reason}"),
        Some(CutShort::Unfinished) => format!("it did not come to its end; {}", row.in_words()),
        None if row.kills.is_empty() => "it names no check that has to notice it".to_owned(),
        None => row.in_words(),
    }
}

fn human(glance: &ProofGlance, printer: &mut Printer) {
    printer.line(&[span(Style::Bold, "proof     "), plain(glance.evidence.as_str())]);
    if let Some(matrix) = &glance.matrix {
        printer.line(&[span(Style::Bold, "target    "), plain(matrix.target.as_str())]);
        printer.line(&[span(Style::Bold, "state     "), plain(state(matrix))]);
        for problem in &matrix.problems {
            printer.line(&[span(Style::Bad, "PROBLEM   "), plain(problem.as_str())]);
        }
    }
    if let Some(problem) = &glance.problem {
        let text = format!("{MATRIX_FILE} cannot be read: {problem}");
        printer.line(&[span(Style::Odd, "DAMAGED   "), plain(text)]);
    }
    if !glance.sealed {
        let text = "there is no SHA256SUMS: it is at work, or was cut off";
        printer.line(&[span(Style::Odd, "NOT SEALED "), plain(text)]);
    }
    let not_begun = glance.matrix.iter().flat_map(|matrix| &matrix.not_begun);
    let not_begun: Vec<&str> = not_begun.map(String::as_str).collect();
    if !not_begun.is_empty() {
        printer.line(&[span(Style::Dim, "not begun "), plain(not_begun.join(", "))]);
    }
    for line in &glance.runs {
        printer.line(&[
            span(Style::Bold, "run       "),
            span(Style::Bold, line.run.as_str()),
            plain(format!("  {}", line.says)),
        ]);
        printer.line(&[span(Style::Dim, format!("          {}", line.command))]);
    }
    printer.blank();
    if let Some(line) = glance.runs.last() {
        let case = glance.matrix.as_ref().and_then(|matrix| case_of(matrix, &line.run));
        let command = format!("{} {}", line.command, case.unwrap_or("CASE"));
        printer.line(&[span(Style::Bold, "one case  "), plain(command)]);
    }
    let folder = quoted(&glance.evidence);
    printer.line(&[
        span(Style::Bold, "check all "),
        plain(format!("harness verify {folder}")),
    ]);
}

fn state(matrix: &Proof) -> String {
    let (named, happened) = matrix.kills();
    let word = match (matrix.state, matrix.problems.is_empty()) {
        (RunState::Running, _) => "not at its end: at work, or killed",
        (RunState::Interrupted, _) => "interrupted",
        (RunState::Finished, true) => "proved",
        (RunState::Finished, false) => "not proved",
    };
    let kills = counted(named, "named kill", "named kills");
    let defects = counted(matrix.defects.len(), "defect", "defects");
    format!("{word}; {happened} of {kills} by {defects}")
}

/// A case that had to notice the defect of a run.
fn case_of<'a>(matrix: &'a Proof, run: &str) -> Option<&'a str> {
    let row = matrix.defects.iter().find(|row| row.defect == run)?;
    row.kills.first().map(|kill| kill.kill.case.as_str())
}
