//! The command that repeats a case of a run that is over, as far as `run.json` says how it was run.

use super::super::target_arguments::quoted;
use crate::record::Run;
use crate::target::{BUILT_IN_NAMES, TargetSource};

/// The command that runs a case again.
pub(super) fn line(run: &Run, id: &str) -> String {
    let mut words = match run.case_files.get(id) {
        Some(file) => vec![format!("harness run --case-file {}", quoted(file))],
        None => vec![format!("harness run --case {}", quoted(id))],
    };
    match &run.target.source {
        TargetSource::BuiltIn if run.target.name == BUILT_IN_NAMES[0] => {}
        TargetSource::BuiltIn => words.push(format!("--target {}", quoted(&run.target.name))),
        TargetSource::Profile(path) => words.push(format!("--target {}", quoted(&path.display().to_string()))),
        // `run.json` does not have all of them, and a guess would test something else.
        TargetSource::Command => words.push("(and the flags that the run was given)".to_owned()),
    }
    if let Some(protocol) = run.target.protocol {
        words.push(format!("--protocol {}", protocol.name()));
    }
    if let Some(defect) = &run.defect {
        words.push(format!("--defect {}", quoted(defect)));
    }
    words.push(format!("--seed {}", run.naming.seed));
    if run.target.source == TargetSource::Command {
        words.push("--".to_owned());
        words.extend(run.target.command.iter().map(|word| quoted(word)));
    }
    words.join(" ")
}
