//! Whether what a record launched is what `run.json` says is launched: of each process the words, as far as the templates there
//! fix them. Pure.

use crate::case::{Role, Step};
use crate::plan::Plan;
use crate::record::{Body, Record, TargetSummary};

/// Each process that was launched by other words than `run.json` has for its kind.
pub(super) fn launched_otherwise(place: &str, plan: &Plan, record: &Record, target: &TargetSummary) -> Vec<String> {
    let mut found = Vec::new();
    for event in &record.events {
        let (Body::ProcessStarted { command, .. }, Some(process)) = (&event.body, &event.process) else {
            continue;
        };
        let at = format!("{place}/record.jsonl: event {}: `{process}`", event.seq);
        let Some(role) = role_of(plan, process) else {
            found.push(format!("{at} was launched, and no step of the plan starts it"));
            continue;
        };
        let templates = match role {
            Role::Server => Some(&target.command),
            Role::Worker | Role::Reaper => target.processes.get(&role),
        };
        let is_of = |templates: &Vec<String>| {
            let mut pairs = templates.iter().zip(command);
            templates.len() == command.len() && pairs.all(|(template, word)| can_become(template, word))
        };
        if !templates.is_some_and(is_of) {
            found.push(format!(
                "{at} was launched by another command than run.json has for a {}",
                role.name()
            ));
        }
    }
    found
}

fn role_of(plan: &Plan, process: &str) -> Option<Role> {
    plan.steps.iter().find_map(|step| {
        if let Step::Start(start) = step
            && start.process == process
        {
            return Some(start.role);
        }
        None
    })
}

/// Whether a template becomes this word where its placeholders stand for something. What they stand for is not known here.
fn can_become(template: &str, word: &str) -> bool {
    let literals = literals(template);
    let [first, between @ .., last] = literals.as_slice() else {
        return literals.first().is_some_and(|only| only == word);
    };
    let Some(mut rest) = word.strip_prefix(first.as_str()) else {
        return false;
    };
    for literal in between {
        let Some(at) = rest.find(literal.as_str()) else {
            return false;
        };
        rest = &rest[at + literal.len()..];
    }
    rest.ends_with(last.as_str())
}

/// The texts between the placeholders of a template, in order: one more than it has placeholders.
fn literals(template: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(at);
        let last = all.last_mut().expect("there is one from the beginning");
        last.push_str(before);
        let doubled = [("{{", '{'), ("}}", '}')];
        if let Some((_, brace)) = doubled.iter().find(|(doubled, _)| after.starts_with(doubled)) {
            last.push(*brace);
            rest = &after[2..];
            continue;
        }
        // What is no template any more never becomes anything.
        let Some(end) = after.find('}') else { return Vec::new() };
        all.push(String::new());
        rest = &after[end + 1..];
    }
    let last = all.last_mut().expect("there is one from the beginning");
    last.push_str(rest);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_becomes_what_has_its_texts_in_their_order() {
        let table = [
            ("serve", "serve", true),
            ("serve", "server", false),
            ("{harness}", "/usr/bin/harness", true),
            ("{data}/store.sqlite3", "/tmp/x/data/store.sqlite3", true),
            ("{data}/store.sqlite3", "/tmp/x/data/other.sqlite3", false),
            ("mcp-{launch}", "mcp-1a2b", true),
            ("mcp-{launch}", "xmcp-1a2b", false),
            ("{data}:{data}", "/d:/d", true),
            ("{data}:{data}", "/d", false),
            ("a{x}b{y}b", "a1b2b", true),
            ("a{x}b{y}b", "a1b", false),
            ("{{\"a\": {x}}}", "{\"a\": 1}", true),
            ("{{\"a\": {x}}}", "{\"b\": 1}", false),
            ("{open", "anything", false),
            ("", "", true),
            ("", "x", false),
        ];
        for (template, word, becomes) in table {
            assert_eq!(can_become(template, word), becomes, "{template} → {word}");
        }
    }
}
