//! `--story`: one case of a run, told step by step from its evidence. `harness run` tells each case that way once it has
//! ended, `harness show` any case that was kept.

use std::path::Path;

use super::show::glance::{self, JSON_BYTES_MAX};
use super::target_arguments::quoted;
use super::{ExitStatus, Format, refuse};
use crate::case::Case;
use crate::record::{CaseVerdict, Evidence, Line, Reader, ReaderError, Run, Verdict};
use crate::report::{CaseReport, ControlReport, Printer, Story, StoryOf, Style, plain, show_control_line, span};
use crate::target::TargetSource;

/// What a story cannot stand beside.
pub(super) fn refuse_beside(format: Format, is_dry: bool, printer: &mut Printer) -> Option<ExitStatus> {
    let message = match format {
        Format::Json | Format::Jsonl => {
            "`--story` is a text for people: leave out `--format` (what programs read is the report of `harness run`, and the \
             events of `harness show`)"
        }
        Format::Human if is_dry => {
            "`--story` tells what was done, and `--dry-run` does nothing: leave out one of the two"
        }
        Format::Human => return None,
    };
    Some(refuse(format, message, ExitStatus::Usage, printer))
}

/// Tells a case that a run has just judged. A control that passed and that nobody asked for keeps to its line.
pub(super) fn tell_judged(
    case: &Case,
    report: &CaseReport,
    control: Option<&ControlReport>,
    folder: &Path,
    printer: &mut Printer,
) {
    let inside = format!("/{}/record.jsonl", glance::folder(&case.id));
    let run = report.record.strip_suffix(&inside).unwrap_or(&report.record);
    if report.requested || report.verdict.verdict != Verdict::Pass {
        match Evidence::open(&folder.join(run)) {
            Ok(evidence) => {
                let told = tell(&Reader::new(&evidence), &case.id, run, Some(&report.repeat), printer);
                told.unwrap_or_else(|message| printer.error(&message));
            }
            Err(error) => printer.error(&error.to_string()),
        }
        if control.is_some() {
            printer.blank();
        }
    }
    if let Some(control) = control {
        show_control_line(printer, control);
        if let Some(elsewhere) = &report.elsewhere {
            printer.line(&[span(Style::Dim, "elsewhere "), plain(elsewhere.as_str())]);
        }
    }
}

/// Tells one case from its evidence. `run` is how the user names the run.
pub(super) fn tell(
    reader: &Reader,
    id: &str,
    run: &str,
    repeat: Option<&str>,
    printer: &mut Printer,
) -> Result<(), String> {
    let folder = glance::folder(id);
    let case = glance::definition(reader, id);
    let verdict: Option<CaseVerdict> = reader.json(&format!("{folder}/verdict.json"), JSON_BYTES_MAX).ok();
    let about = glance::run(reader).ok();
    let target = about.as_ref().map(|about| about.target.title());
    let planted = about.as_deref().and_then(planted);
    let again = again(id, run, about.as_deref(), repeat);
    let lines = match reader.lines(&folder) {
        Ok(lines) => Some(lines),
        Err(ReaderError::Absent) => None,
        Err(error) => return Err(format!("read {folder}/record.jsonl: {error}")),
    };
    let mut story = Story::begin(
        printer,
        StoryOf {
            id,
            case: case.as_ref(),
            target: target.as_deref(),
            planted: planted.as_deref(),
            verdict: verdict.as_ref(),
            again: &again,
        },
    );
    for line in lines.into_iter().flatten() {
        match line {
            Line::Event { event, .. } => {
                story.event(&event, |label, sha256| {
                    glance::observation(reader, &folder, label, sha256)
                });
            }
            Line::Trouble { line, reason } => story.trouble(line, &reason),
        }
    }
    story.end();
    Ok(())
}

/// The planted defect, with what it does where that is known.
fn planted(run: &Run) -> Option<String> {
    let name = run.defect.as_deref()?;
    let does = (run.target.source == TargetSource::BuiltIn)
        .then(|| described(name))
        .flatten();
    Some(match does {
        Some(does) => format!("the defect {name}. {does}"),
        None => format!("the defect {name}"),
    })
}

#[cfg(feature = "reference-server")]
fn described(name: &str) -> Option<&'static str> {
    use reference_server::defect::Defect;
    let defect = Defect::ALL.iter().find(|defect| defect.name() == name);
    defect.map(|defect| defect.description())
}

#[cfg(not(feature = "reference-server"))]
fn described(_: &str) -> Option<&'static str> {
    None
}

fn again(id: &str, run: &str, about: Option<&Run>, repeat: Option<&str>) -> Vec<(&'static str, String)> {
    let run = quoted(run);
    let explain = match about.and_then(|about| about.case_files.get(id)) {
        Some(file) => format!("harness explain --case-file {}", quoted(file)),
        None => format!("harness explain {id}"),
    };
    let mut again = vec![
        ("every frame", format!("harness show {run} {id}")),
        ("frame [N]", format!("harness show {run} {id} --frame N")),
        ("judge again", format!("harness verify {run}")),
        ("explain", explain),
    ];
    again.extend(repeat.map(|repeat| ("repeat", repeat.to_owned())));
    again
}
