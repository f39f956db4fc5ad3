//! `harness explain CASE`: what a case proves, why it matters, what it does and checks, and how to mend a server. Of a family its
//! cases are listed.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::{ExitStatus, Format, list, refuse};
use crate::case::{Basis, Case, Catalogue, Check, Step};
use crate::report::{Printer, Style, WIDTH, plain, span, wrap};

/// How far the items of a numbered list stand in.
const LIST_INDENT: usize = 6;

/// Say what a case proves, why it matters, and how to mend a server that fails it
#[derive(Debug, Args)]
#[command(
    override_usage = "harness explain [OPTIONS] <CASE>\n       harness explain [OPTIONS] --case-file <FILE> [CASE]"
)]
pub(super) struct ExplainArguments {
    /// Id, family/id, or number of the case; of a family its cases are listed, one line each
    #[arg(required_unless_present = "case_file")]
    case: Option<String>,
    /// File of a case of your own, which is explained where CASE names no other one
    #[arg(long, value_name = "FILE")]
    case_file: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Serialize)]
struct Explained<'a> {
    id: &'a str,
    family: &'a str,
    number: Option<u32>,
    revision: u32,
    digest: &'a str,
    title: &'a str,
    proves: &'a str,
    matters: &'a str,
    mend: Option<&'a str>,
    needs: Vec<&'static str>,
    uses: Vec<&'static str>,
    controls: &'a [String],
    steps: Vec<String>,
    checks: Vec<ExplainedCheck<'a>>,
    sources: &'a [String],
}

#[derive(Serialize)]
struct ExplainedCheck<'a> {
    id: &'a str,
    basis: Basis,
    about: bool,
    say: Option<&'a str>,
}

/// Explains one case, or lists a family.
pub(super) fn explain(arguments: &ExplainArguments, printer: &mut Printer) -> ExitStatus {
    let format = arguments.format;
    let files: Vec<PathBuf> = arguments.case_file.iter().cloned().collect();
    let catalogue = match Catalogue::embedded().with_files(&files, Path::new(".")) {
        Ok(catalogue) => catalogue,
        Err(error) => return refuse(format, &error.to_string(), ExitStatus::Usage, printer),
    };
    let word = arguments.case.as_deref().or_else(|| catalogue.own().next());
    let word = word.unwrap_or_default();
    match (catalogue.named(word), catalogue.family(word).as_slice()) {
        (Ok(case), _) => show(case, format, printer),
        (Err(error), []) => return refuse(format, &error.to_string(), ExitStatus::Usage, printer),
        (Err(_), family) => list::show(family, &catalogue, format, printer),
    }
    ExitStatus::Success
}

fn show(case: &Case, format: Format, printer: &mut Printer) {
    match format {
        Format::Human => human(case, printer),
        Format::Json => printer.json(&explained(case)),
        Format::Jsonl => printer.json_line(&explained(case)),
    }
}

fn human(case: &Case, printer: &mut Printer) {
    let number = case.number.map_or(String::new(), |number| format!(" ({number:02})"));
    printer.line(&[
        span(Style::Bold, format!("{}/{}{number}", case.family, case.id)),
        plain(format!("  {}", case.title)),
    ]);
    section(printer, "Proves", &case.proves);
    section(printer, "Matters because", &case.matters);
    numbered(printer, "Does", case.steps.iter().map(Step::in_words));
    numbered(printer, "Checks", case.checks.iter().map(check_in_words));
    if let Some(mend) = &case.mend {
        section(printer, "To mend a server that fails it", mend);
    }
    let names = |surfaces: &[crate::case::Surface]| -> String {
        let names: Vec<&str> = surfaces.iter().map(|surface| surface.name()).collect();
        names.join(", ")
    };
    section(printer, "Needs", &names(&case.needs));
    if !case.uses.is_empty() {
        let text = format!(
            "{} (without one of these only its checks are switched off)",
            names(&case.uses)
        );
        section(printer, "Uses", &text);
    }
    if !case.controls.is_empty() {
        section(printer, "Believed only after", &case.controls.join(", "));
    }
    if !case.sources.is_empty() {
        section(printer, "Sources", &case.sources.join("; "));
    }
    section(
        printer,
        "Revision",
        &format!("{}, SHA-256 {}", case.revision, case.digest),
    );
}

fn section(printer: &mut Printer, heading: &str, text: &str) {
    printer.blank();
    printer.line(&[span(Style::Bold, heading)]);
    printer.prose("  ", text);
}

fn numbered(printer: &mut Printer, heading: &str, items: impl Iterator<Item = String>) {
    printer.blank();
    printer.line(&[span(Style::Bold, heading)]);
    for (index, item) in items.enumerate() {
        let mut number = format!("{:>2}", index + 1);
        for line in wrap(&item, WIDTH - LIST_INDENT) {
            printer.line(&[span(Style::Dim, format!("  {number}  ")), plain(line)]);
            "  ".clone_into(&mut number);
        }
    }
}

fn explained(case: &Case) -> Explained<'_> {
    let names = |surfaces: &[crate::case::Surface]| surfaces.iter().map(|surface| surface.name()).collect();
    let checks = case.checks.iter().map(|check| ExplainedCheck {
        id: &check.id,
        basis: check.basis,
        about: check.about,
        say: check.say.as_deref(),
    });
    Explained {
        id: &case.id,
        family: &case.family,
        number: case.number,
        revision: case.revision,
        digest: &case.digest,
        title: &case.title,
        proves: &case.proves,
        matters: &case.matters,
        mend: case.mend.as_deref(),
        needs: names(&case.needs),
        uses: names(&case.uses),
        controls: &case.controls,
        steps: case.steps.iter().map(Step::in_words).collect(),
        checks: checks.collect(),
        sources: &case.sources,
    }
}

fn check_in_words(check: &Check) -> String {
    let basis = match check.basis {
        Basis::SpecMust => "a MUST of the specification",
        Basis::SpecShould => "a SHOULD of the specification",
        Basis::Contract => "the target's contract",
        Basis::Annotation => "the server's own annotation",
        Basis::Reference => "a policy of the reference server",
        Basis::Machinery => "the harness's own machinery",
    };
    let say = check.say.as_deref().unwrap_or("it is not as expected");
    let about = if check.about { "; the case is about this" } else { "" };
    format!("{}: broken when {say} [{basis}{about}]", check.id)
}
