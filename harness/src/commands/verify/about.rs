//! What a reviewer has to know of a run, printed: by whom, on what, when, which cases, and what was declared beforehand.

use crate::counted::counted;
use crate::record::Verdict;
use crate::report::{Printer, Style, plain, span};
use crate::verify::About;

/// Prints it. All of it is what the run says of itself, but the controls.
pub(super) fn show_about(about: &About, printer: &mut Printer) {
    let mut line = |word: &str, text: String| printer.line(&[span(Style::Bold, format!("{word:<10}")), plain(text)]);
    let ended = about.ended_at.as_deref().unwrap_or("no end");
    let host = &about.host;
    line(
        "when",
        format!("{} to {ended}, on {} {}", about.started_at, host.os, host.arch),
    );
    let harness = &about.harness;
    let digest = harness.sha256.as_deref().unwrap_or("unknown");
    line(
        "harness",
        format!("{}, judge {}, sha256 {digest}", harness.version, harness.judge),
    );
    if about.artifacts.is_empty() {
        line(
            "artifact",
            "none is named: nothing says which bytes were launched".to_owned(),
        );
    }
    for artifact in &about.artifacts {
        let digest = artifact.sha256.as_deref().unwrap_or("could not be read");
        line("artifact", format!("sha256 {digest}  {}", artifact.path));
    }
    line("seed", about.seed.to_string());
    if let Some(defect) = &about.defect {
        line("defect", format!("{defect}: it was planted"));
    }
    let requested = counted(about.requested.len(), "case", "cases");
    line(
        "requested",
        format!("{requested}; that harness carries {}", about.catalogue),
    );
    for declared in &about.declared {
        let reason = declared.reason.as_deref().unwrap_or("no reason is given");
        line("declared", format!("{} fails: {reason}", declared.name()));
    }
    for (control, verdict) in &about.controls {
        let text = match verdict {
            Verdict::Pass => format!("{control}: pass"),
            Verdict::Fail | Verdict::Unguarded | Verdict::Unsupported | Verdict::Inconclusive => {
                format!("{control}: {}, so that no count is believed", verdict.name())
            }
        };
        line("control", text);
    }
}
