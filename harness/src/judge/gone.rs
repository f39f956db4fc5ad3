//! Processes beside the server that ended before anybody told them to: a worker that dies at its start leaves everything
//! undone that a case waits for, and nothing else would say why.

use crate::case::{Role, StartStep, Step};
use crate::plan::Plan;
use crate::record::{Body, Event, Record};

/// A sentence for each of them, in the order in which they were started. One that was started with a failpoint ends by it.
pub(super) fn by_themselves(plan: &Plan, record: &Record) -> Vec<String> {
    let started = plan.steps.iter().filter_map(|step| {
        let Step::Start(start) = step else { return None };
        (start.role != Role::Server && start.failpoint.is_none()).then_some(start)
    });
    started.filter_map(|start| by_itself(start, record)).collect()
}

fn by_itself(start: &StartStep, record: &Record) -> Option<String> {
    let of_process = |event: &&Event| event.process.as_deref() == Some(&start.process);
    let of_process = || record.events.iter().filter(of_process);
    // Only those are signalled that are still there.
    let is_told = |event: &Event| {
        let Body::Signalled { signal, processes } = &event.body else {
            return false;
        };
        *processes > 0 && (signal == "SIGTERM" || signal == "SIGKILL")
    };
    if of_process().any(is_told) {
        return None;
    }
    of_process().find_map(|event| {
        let Body::ProcessEnded {
            code,
            signal,
            last_words,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(ended(start, *code, *signal, last_words.as_deref()))
    })
}

fn ended(start: &StartStep, code: Option<i32>, signal: Option<i32>, last_words: Option<&str>) -> String {
    let who = start.role.of_process(&start.process);
    let how = match (code, signal) {
        (Some(code), _) => format!("{who} exited with code {code}"),
        (None, Some(signal)) => format!("signal {signal} ended {who}"),
        (None, None) => format!("{who} ended"),
    };
    let words = last_words.map_or(String::new(), |words| format!("; its last words: {words}"));
    format!("{how} before anybody told it to{words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(role: Role, process: &str, bodies: Vec<Body>) -> Option<String> {
        let start = StartStep {
            process: process.to_owned(),
            role,
            ..StartStep::default()
        };
        let events = (1..).zip(bodies).map(|(seq, body)| Event {
            seq,
            at: 0,
            process: Some(process.to_owned()),
            body,
        });
        let record = Record {
            events: events.collect(),
            observations: std::collections::BTreeMap::new(),
        };
        by_itself(&start, &record)
    }

    fn end(code: Option<i32>, signal: Option<i32>, last_words: Option<&str>) -> Body {
        Body::ProcessEnded {
            code,
            signal,
            survivors: 0,
            last_words: last_words.map(str::to_owned),
        }
    }

    fn signalled(signal: &str, processes: usize) -> Body {
        Body::Signalled {
            signal: signal.to_owned(),
            processes,
        }
    }

    #[test]
    fn whoever_was_told_to_end_did_not_end_by_itself() {
        let of_first = |bodies| told(Role::Worker, "first", bodies);
        let words = "the worker `first` exited with code 7 before anybody told it to; its last words: no licence";
        assert_eq!(
            of_first(vec![end(Some(7), None, Some("no licence"))]).as_deref(),
            Some(words)
        );
        let segfault = "signal 11 ended the worker `first` before anybody told it to";
        let paused = vec![
            signalled("SIGSTOP", 1),
            signalled("SIGKILL", 0),
            end(None, Some(11), None),
        ];
        assert_eq!(of_first(paused).as_deref(), Some(segfault));
        for signal in ["SIGTERM", "SIGKILL"] {
            assert_eq!(of_first(vec![signalled(signal, 1), end(Some(7), None, None)]), None);
        }
        assert_eq!(of_first(vec![signalled("SIGSTOP", 1)]), None, "it is still there");
        let reaper = told(Role::Reaper, "reaper", vec![end(Some(0), None, None)]);
        let words = "the reaper exited with code 0 before anybody told it to";
        assert_eq!(reaper.as_deref(), Some(words));
    }
}
