//! What the command line asks of evidence beside its being whole: cases that have to have passed, and artifacts to compare.

use serde::Serialize;

use super::VerifyArguments;
use crate::report::{Printer, Style, plain, span};
use crate::verify::{ArtifactCompared, Required, Verified, compare_artifact, not_shown, require, required_by};

/// The answers, and what is not shown however they are.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    required: Vec<Required>,
    artifacts_compared: Vec<ArtifactCompared>,
    /// Artifacts that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts_unread: Vec<String>,
    not_shown: Vec<String>,
}

impl Asked {
    /// Asks a run; of a proof that is the one without a defect.
    pub(super) fn of(arguments: &VerifyArguments, run: Option<&Verified>) -> Self {
        let about = run.and_then(|run| run.about.as_ref());
        let mut asked = Self {
            required: Vec::new(),
            artifacts_compared: Vec::new(),
            artifacts_unread: Vec::new(),
            not_shown: not_shown(about),
        };
        for case in arguments.require.iter().flat_map(|word| required_by(word)) {
            if asked.required.iter().all(|required| required.case != case) {
                asked
                    .required
                    .push(run.map_or_else(|| no_run(&case), |run| require(&case, run)));
            }
        }
        for path in &arguments.artifact {
            match compare_artifact(path, about) {
                Ok(compared) => asked.artifacts_compared.push(compared),
                Err(error) => asked.artifacts_unread.push(format!("read {}: {error}", path.display())),
            }
        }
        asked
    }

    /// Everything that is not as it was asked for, a sentence each.
    pub(super) fn problems(&self) -> Vec<String> {
        let required = self.required.iter().filter_map(|required| required.problem.clone());
        let others = self
            .artifacts_compared
            .iter()
            .filter(|compared| compared.launched_as.is_none());
        let others = others.map(|compared| {
            format!(
                "{} is not what was launched: its digest {} is none of the artifacts of the run",
                compared.path, compared.sha256
            )
        });
        required
            .chain(others)
            .chain(self.artifacts_unread.iter().cloned())
            .collect()
    }

    /// What is as it was asked for, and what is not.
    pub(super) fn show(&self, printer: &mut Printer) {
        for compared in &self.artifacts_compared {
            if let Some(launched_as) = &compared.launched_as {
                let text = format!("{} is what was launched as {launched_as}", compared.path);
                printer.line(&[span(Style::Good, "same      "), plain(text)]);
            }
        }
        for required in self.required.iter().filter(|required| required.problem.is_none()) {
            printer.line(&[
                span(Style::Good, "required  "),
                plain(format!("{}: pass", required.case)),
            ]);
        }
        for problem in self.problems() {
            printer.line(&[span(Style::Bad, "REQUIRED  "), plain(problem)]);
        }
    }

    /// What follows the result of evidence that is whole.
    pub(super) fn show_not_shown(&self, printer: &mut Printer) {
        printer.line(&[span(Style::Bold, "not shown")]);
        for text in &self.not_shown {
            printer.prose("          ", &format!("{text}."));
        }
    }
}

fn no_run(case: &str) -> Required {
    Required {
        case: case.to_owned(),
        problem: Some(format!(
            "{case} is required to pass, and there is no run that could be read"
        )),
    }
}
