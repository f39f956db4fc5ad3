//! Whether a record belongs to the run whose folder it lies in, and its plan to the case: what can be derived again is, and
//! observations stand where the plan has them and ask what `run.json` says is counted. Pure.
//!
//! Must not open anything. What a profile says (surfaces, bounds, arguments of calls) is the runner's word.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Case, Doubled, Role, Step, Surface, When};
use crate::plan::{Operation, Plan};
use crate::readback::Selector;
use crate::record::{
    Body, EVENTS, Event, Observation, OperationSeen, Outcome, ReadFrom, Reading, Record, Run, TargetSummary,
};

/// How the plan wants an observation to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted<'a> {
    pub(super) label: &'a str,
    pub(super) when: When,
    pub(super) doubled: Option<Doubled>,
    pub(super) tampered: bool,
}

/// Whether a record belongs to the run whose folder it lies in.
pub(super) fn spliced(place: &str, plan: &Plan, run: &Run) -> Option<String> {
    let differs = [
        ("target", plan.target != run.target.name),
        ("seed or nonce", plan.naming != run.naming),
        ("contract", plan.contract != run.target.contract),
        ("identity", plan.identity != run.target.identity),
        ("replies", plan.replies != run.target.replies),
    ];
    told(place, "it was planned with another", &differs, " than run.json names")
}

/// Whether a plan is the one of its case: its steps and names follow from the case, its surfaces, seed and nonce.
pub(super) fn planned_otherwise(place: &str, plan: &Plan, case: &Case) -> Option<String> {
    let names_differ = case.operations.iter().any(|(name, used)| {
        let planned = plan.operations.get(name).map(Operation::names);
        planned != Some(plan.naming.operation(case, name, used))
    });
    let differs = [
        ("revision", plan.revision != case.revision),
        ("steps", plan.steps != Plan::steps_of(case, &plan.surfaces)),
        (
            "operations",
            names_differ || plan.operations.len() != case.operations.len(),
        ),
    ];
    told(place, "its plan has other", &differs, " than follow from its case.toml")
}

/// Whether what a plan says can be launched beside the server, or tried on its event log, is in `run.json`.
pub(super) fn offers_otherwise(place: &str, plan: &Plan, target: &TargetSummary) -> Option<String> {
    let offers = [
        (Surface::Worker, target.processes.contains_key(&Role::Worker)),
        (Surface::Reaper, target.processes.contains_key(&Role::Reaper)),
        (Surface::Tampering, !target.tampering.is_empty()),
    ];
    let differs = offers.map(|(surface, is_there)| (surface.name(), plan.surfaces.contains(&surface) && !is_there));
    told(
        place,
        "its plan has",
        &differs,
        ", and run.json does not say by which words",
    )
}

/// Whether what a plan says can be read is what `run.json` says how to read.
pub(super) fn reads_otherwise(place: &str, plan: &Plan, target: &TargetSummary) -> Option<String> {
    let more = |kind: &str| target.read_more.contains_key(kind);
    let reads = [
        (Surface::ReadEffects, target.read_effects.is_some()),
        (Surface::ReadLedger, target.read_ledger.is_some()),
        (Surface::ReadWatchers, more("watchers")),
        (Surface::ReadCompensations, more("compensations")),
        (Surface::ReadSteps, more("steps")),
        (Surface::ReadEvents, more("events")),
        (Surface::ReadExecutions, more("executions")),
        (Surface::ReadLeases, more("leases")),
        (Surface::ReadRetries, more("retries")),
        (Surface::ReadOutside, more("outside")),
    ];
    let differs = reads.map(|(surface, is_read)| (surface.name(), plan.surfaces.contains(&surface) && !is_read));
    told(place, "its plan reads", &differs, ", and run.json does not say how")
}

fn told(place: &str, what: &str, differs: &[(&str, bool)], than: &str) -> Option<String> {
    let names = differs.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name);
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| format!("{place}/record.jsonl: {what} {}{than}", names.join(", ")))
}

/// Whether the steps of a record are those of its plan, each once and in turn.
pub(super) fn steps_out_of_turn(place: &str, plan: &Plan, record: &Record) -> Option<String> {
    let mut begun = 0;
    for event in &record.events {
        if let Body::StepStarted { step, .. } = event.body {
            if let Some(problem) = not_next(place, event, step, begun, plan) {
                return Some(problem);
            }
            begun += 1;
        }
    }
    None
}

fn not_next(place: &str, event: &Event, step: usize, begun: usize, plan: &Plan) -> Option<String> {
    let is_next = step == begun && step < plan.steps.len();
    let problem = || format!("{place}/record.jsonl: event {}: step {step} is not the next", event.seq);
    (!is_next).then(problem)
}

/// The observations of a record in their order, each with the step of the plan in which it was taken; and what is wrong.
pub(super) fn observations<'a>(
    place: &str,
    plan: &'a Plan,
    record: &'a Record,
    run: &Run,
) -> (Vec<Wanted<'a>>, Vec<String>) {
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    let mut begun: BTreeMap<usize, bool> = BTreeMap::new();
    let mut current = None;
    for event in &record.events {
        match &event.body {
            Body::StepStarted { step, .. } => {
                if let Some(problem) = not_next(place, event, *step, begun.len(), plan) {
                    found.push(problem);
                    return (wanted, found);
                }
                current = Some(*step);
                begun.insert(*step, false);
            }
            Body::Observed { label, .. } => {
                let at = current.and_then(|at| Some((at, as_wanted(plan.steps.get(at)?)?)));
                match at {
                    Some((at, step)) if step.label == label && begun.insert(at, true) == Some(false) => {
                        wanted.push(step);
                    }
                    Some(_) | None => found.push(format!(
                        "{place}/record.jsonl: event {}: the plan has no observation `{label}` there",
                        event.seq
                    )),
                }
            }
            Body::CaseEnded { outcome } if *outcome == Outcome::Finished && run.target.read_effects.is_some() => {
                let missed = begun.iter().filter(|(_, is_observed)| !**is_observed);
                let missed = missed.filter_map(|(at, _)| as_wanted(&plan.steps[*at]));
                let told =
                    |step: Wanted<'_>| format!("{place}/record.jsonl: it lacks the observation `{}`", step.label);
                found.extend(missed.map(told));
            }
            Body::CasePlanned { .. }
            | Body::ProcessStarted { .. }
            | Body::Message(_)
            | Body::StreamEnded
            | Body::SendFailed { .. }
            | Body::Signalled { .. }
            | Body::KillCommandRun { .. }
            | Body::ClockAdvanced { .. }
            | Body::LockHeld
            | Body::LockReleased { .. }
            | Body::OperatorRan { .. }
            | Body::ProcessEnded { .. }
            | Body::EffectVisible { .. }
            | Body::ReplyMarkedMoment { .. }
            | Body::FaultMissed { .. }
            | Body::TimedOut { .. }
            | Body::CaseEnded { .. } => {}
        }
    }
    for step in &wanted {
        let path = format!("{place}/observations/{}.json", step.label);
        let differences = differences(&record.observations[step.label], *step, plan, &run.target);
        found.extend(differences.into_iter().map(|reason| format!("{path}: {reason}")));
    }
    (wanted, found)
}

fn as_wanted(step: &Step) -> Option<Wanted<'_>> {
    if let Step::Observe(observe) = step {
        return Some(Wanted {
            label: &observe.label,
            when: observe.when,
            doubled: observe.doubled,
            tampered: observe.tampered,
        });
    }
    None
}

/// What an observation says of itself that the plan and `run.json` do not.
fn differences(observation: &Observation, step: Wanted<'_>, plan: &Plan, target: &TargetSummary) -> Vec<String> {
    let mut found = Vec::new();
    if observation.label != step.label {
        found.push(format!("it is the observation {:?}", observation.label));
    }
    if observation.when != step.when {
        found.push("it was taken at another moment than the plan has: quiet, or while the server lived".to_owned());
    }
    let is_live = matches!(observation.read, ReadFrom::Live);
    if is_live && step.when == When::Quiet {
        found.push("it is of the living store, and the plan has it of a frozen one".to_owned());
    }
    let named: BTreeSet<&String> = observation.operations.keys().collect();
    if named != plan.operations.keys().collect() {
        found.push("it is of other operations than the plan has".to_owned());
    }
    for (name, seen) in &observation.operations {
        if let Some(planned) = plan.operations.get(name) {
            let asked = asked_otherwise(seen, planned, target, is_live);
            found.extend(
                asked
                    .into_iter()
                    .map(|what| format!("{what} of {name} were not asked as run.json says")),
            );
        }
        let tried: BTreeMap<&String, &String> = (seen.tampered.iter())
            .map(|(name, tampered)| (name, &tampered.statement))
            .collect();
        let is_tried = step.tampered && !is_live && seen.more.contains_key(EVENTS);
        let to_try: BTreeMap<&String, &String> = target.tampering.iter().filter(|_| is_tried).collect();
        if tried != to_try {
            found.push(format!(
                "what was tried on the event log of {name} is not what run.json says"
            ));
        }
        if seen.doctored.is_some() && (is_live || step.doubled.is_none()) {
            found.push(format!(
                "the effects of {name} are said to have been doubled, where they are not"
            ));
        }
    }
    found
}

/// Which readings ask something else than `run.json` says is counted, or with other parameters than the plan has.
fn asked_otherwise(seen: &OperationSeen, planned: &Operation, target: &TargetSummary, is_live: bool) -> Vec<String> {
    let is_asked = |reading: Option<&Reading>, selector: Option<&Selector>| match (reading, selector) {
        (Some(reading), Some(selector)) => {
            let query = planned.query(selector);
            reading.query == if is_live { query.while_living() } else { query }
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let mut found = Vec::new();
    if !is_asked(Some(&seen.effects), target.read_effects.as_ref()) {
        found.push("the effects".to_owned());
    }
    if !is_asked(seen.ledger.as_ref(), target.read_ledger.as_ref()) {
        found.push("the ledger rows".to_owned());
    }
    let kinds: BTreeSet<&String> = seen.more.keys().chain(target.read_more.keys()).collect();
    for kind in kinds {
        if !is_asked(seen.more.get(kind), target.read_more.get(kind)) {
            found.push(format!("the {kind}"));
        }
    }
    found
}
