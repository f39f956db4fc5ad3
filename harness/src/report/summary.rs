//! One case in a few lines: what was counted when, and what each step came to.

use serde_json::Value;

use super::result::CaseReport;
use crate::case::{Case, ObserveStep, SendStep, Step, WriteStep};
use crate::protocol::said_in;
use crate::record::Verdict;

/// How much of a server's text one line shows, in characters.
const SAID_CHARS_MAX: usize = 200;

/// A label, as wide as all of them, and apart from its text also where it is longer.
pub(super) fn padded(label: &str) -> String {
    format!("{label:<13} ")
}

/// Label and text of each line.
pub(super) fn lines(case: &Case, report: &CaseReport) -> Vec<(String, String)> {
    let facts = &report.verdict.facts;
    let mut lines = Vec::new();
    for kind in ["effects", "ledger"] {
        let counts: Vec<String> = labels(case)
            .filter_map(|label| Some((label, facts.get(label)?.get(kind)?.get("A")?)))
            .map(|(label, count)| format!("{label} {count}"))
            .collect();
        if !counts.is_empty() {
            lines.push((kind.to_owned(), counts.join(", ")));
        }
    }
    for step in &case.steps {
        let line = match step {
            Step::Write(WriteStep { name, .. }) | Step::Send(SendStep { name, .. }) => {
                if let Some(facts) = facts.get(name) {
                    let mut told = told(facts) + &said(facts, report.verdict.verdict);
                    if matches!(step, Step::Send(_)) {
                        told.push_str(missed(facts, report.verdict.verdict));
                    }
                    lines.push((name.clone(), told));
                    lines.extend(withheld(facts));
                }
                None
            }
            Step::Status { name, .. } => facts.get(name).map(|status| {
                let recovery = report.verdict.facts.get("recovery");
                let action = recovery.and_then(|recovery| recovery["after"][name].as_str());
                (name.clone(), status_line(status, action))
            }),
            Step::Start(_)
            | Step::Stop { .. }
            | Step::Kill { .. }
            | Step::Pause { .. }
            | Step::Resume { .. }
            | Step::Open { .. }
            | Step::CancelExecution { .. }
            | Step::Observe(_)
            | Step::Await { .. }
            | Step::Cancel { .. }
            | Step::Advance { .. }
            | Step::Hold { .. }
            | Step::Release { .. }
            | Step::Reconcile { .. } => None,
        };
        lines.extend(line);
    }
    lines
}

/// Where to look when the reply to a request that ran beside others is missing from a case that failed: its server may have
/// died of it, after the step that sent it.
fn missed(facts: &Value, verdict: Verdict) -> &'static str {
    if verdict == Verdict::Fail && facts["answered"] == false && facts["outcome"] == "unknown" {
        " (what its server wrote then: harness show, with --stderr)"
    } else {
        ""
    }
}

fn labels(case: &Case) -> impl Iterator<Item = &str> {
    case.steps.iter().filter_map(|step| {
        let Step::Observe(ObserveStep { label, .. }) = step else {
            return None;
        };
        Some(label.as_str())
    })
}

fn told(facts: &Value) -> String {
    let mut told = match facts["outcome"].as_str() {
        Some("unknown") if facts["server_ended"] == true => {
            "no reply: the server ended (its last words: harness show, with --stderr)".to_owned()
        }
        Some("unknown") => "no reply: the outcome is unknown to the client".to_owned(),
        Some("result") => "a result".to_owned(),
        Some("asked") => "asked for input".to_owned(),
        Some("refused") => refused(facts),
        Some(_) | None => "nothing was sent".to_owned(),
    };
    if facts["replayed"] == true {
        told.push_str(", replayed");
    }
    if facts["input_required"] == true {
        told.push_str(", after input was asked for");
        if facts["asked_inside"].is_u64() {
            told.push_str(" inside the call");
        }
    }
    told
}

/// What the server said, where nothing came out and that is all there is to go on.
fn said(facts: &Value, verdict: Verdict) -> String {
    if verdict != Verdict::Inconclusive {
        return String::new();
    }
    match (facts["outcome"].as_str(), facts.get("result"), facts["said"].as_str()) {
        (Some("result"), Some(result), _) => format!(": {}", said_in(result)),
        (Some("unknown"), _, Some(said)) => format!("; {said}"),
        _ => String::new(),
    }
}

fn refused(facts: &Value) -> String {
    let reason = text(&facts["refusal"]);
    match facts["refusal_text"].as_str() {
        Some(said) => format!("refused: {reason}; the server said: {}", shortened(said)),
        None => format!("refused: {reason}"),
    }
}

/// What the client lost.
fn withheld(facts: &Value) -> Option<(String, String)> {
    let withheld = facts.get("withheld")?;
    let told = match withheld.get("result") {
        Some(result) => shortened(&result.to_string()),
        None => text(&withheld["outcome"]),
    };
    Some(("withheld".to_owned(), told))
}

fn shortened(said: &str) -> String {
    if said.chars().count() <= SAID_CHARS_MAX {
        return said.to_owned();
    }
    let head: String = said.chars().take(SAID_CHARS_MAX).collect();
    format!("{head}…")
}

fn status_line(status: &Value, action: Option<&str>) -> String {
    let state = status.get("state").map_or("no observation".to_owned(), text);
    match action {
        Some(action) => format!("{state}; recovery: {action}"),
        None => state,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_label_does_not_run_into_its_text() {
        assert_eq!(padded("effects"), "effects       ");
        assert_eq!(padded("the-first-submission"), "the-first-submission ");
    }

    #[test]
    fn only_a_reply_that_is_missing_from_a_failed_case_sends_the_reader_to_what_the_server_wrote() {
        let lost = json!({"answered": false, "outcome": "unknown"});
        assert!(missed(&lost, Verdict::Fail).contains("--stderr"));
        assert_eq!(missed(&lost, Verdict::Pass), "");
        let result = json!({"answered": true, "outcome": "result"});
        assert_eq!(missed(&result, Verdict::Fail), "");
    }
}
