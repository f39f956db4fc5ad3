//! From checks to one of the five verdicts.

use super::checks;
use super::elsewhere;
use super::facts::Facts;
use super::moment;
use super::rows;
use super::steps::outcome;
use crate::case::{Basis, Case, Check, From, Promise, Role, Step, Surface};
use crate::plan::Plan;
use crate::protocol::{self, Revision};
use crate::record::{
    AWAITED_EXIT, AWAITED_EXIT_AFTER_TERM, AWAITED_HELPERS, AWAITED_HELPERS_AFTER_TERM, Body, CaseVerdict,
    CheckOutcome, CheckResult, Direction, Outcome, Record, VERDICT_FORMAT, Verdict,
};
use crate::target::{Identity, in_flag_words};

/// The version of the judge: goes up when the same record can get another verdict.
pub const JUDGE_VERSION: u32 = 1;

/// Judges one case by its record alone.
pub fn judge(case: &Case, record: &Record) -> CaseVerdict {
    let mut verdict = CaseVerdict {
        format: VERDICT_FORMAT,
        judge: JUDGE_VERSION,
        case: case.id.clone(),
        revision: case.revision,
        verdict: Verdict::Inconclusive,
        reason: None,
        checks: Vec::new(),
        notes: Vec::new(),
        warnings: Vec::new(),
        rows: Vec::new(),
        facts: serde_json::Map::new(),
    };
    let Some(plan) = record.plan() else {
        verdict.reason = Some("the record is empty: the run was cut off before the case began".to_owned());
        return verdict;
    };
    if plan.case != case.id || plan.digest != case.digest {
        verdict.reason =
            Some("the record was made with another case or revision than the one it is judged by".to_owned());
        return verdict;
    }
    let missing = plan.missing(case);
    if !missing.is_empty() {
        let names: Vec<String> = missing
            .iter()
            .map(|surface| format!("`{}` ({})", surface.name(), surface.advice(plan.by_flags)))
            .collect();
        verdict.verdict = Verdict::Unsupported;
        verdict.reason = Some(format!("the target lacks {}", names.join(" and ")));
        return verdict;
    }
    let facts = Facts::of(plan, record);
    verdict.rows = rows::origins(plan, record);
    verdict.checks = case
        .checks
        .iter()
        .map(|check| checks::evaluate(check, plan, &facts))
        .collect();
    verdict.notes = notes(case, &verdict.checks, plan);
    verdict.notes.extend(refused_repeats(case, plan, &facts));
    verdict.notes.extend(elsewhere::notes(plan, record));
    verdict.warnings = (stray_output(plan, record).into_iter())
        .chain(unclean_stops(plan, record))
        .collect();
    let gone = facts.gone();
    verdict.facts = facts.tree;
    let cut_short = cut_short(plan, record, gone.as_deref());
    let is_cut_short = cut_short.is_some();
    let (word, reason) = conclude(&verdict.checks, cut_short);
    if word == Verdict::Inconclusive {
        retract(&mut verdict.checks, is_cut_short);
    }
    if matches!(word, Verdict::Fail | Verdict::Unguarded) {
        verdict.notes.extend(gone);
    }
    verdict.verdict = word;
    verdict.reason = reason;
    if plan.by_flags {
        speak_of_flags(&mut verdict);
    }
    verdict
}

/// Why a case is inconclusive in which the user interrupted the run.
pub const INTERRUPTED: &str = "the run was interrupted";

/// Who wrote no profile cannot correct a key of one.
fn speak_of_flags(verdict: &mut CaseVerdict) {
    let says = verdict.checks.iter_mut().filter_map(|check| check.say.as_mut());
    for text in says.chain(&mut verdict.reason).chain(&mut verdict.notes) {
        *text = in_flag_words(text);
    }
}

/// What broke in a case that tested nothing is nobody's fault; in a case that was cut short not even the machinery's.
fn retract(checks: &mut [CheckResult], is_cut_short: bool) {
    for check in checks {
        match check.outcome {
            CheckOutcome::Inconclusive if is_cut_short => check.outcome = CheckOutcome::NotJudged,
            CheckOutcome::Broken | CheckOutcome::Unguarded | CheckOutcome::Warning | CheckOutcome::Noted => {
                check.outcome = CheckOutcome::NotJudged;
                check.whose = None;
            }
            CheckOutcome::Held | CheckOutcome::NotApplicable | CheckOutcome::NotJudged | CheckOutcome::Inconclusive => {
            }
        }
    }
}

/// Nothing that counts effects is believed before its controls have passed in the same run.
pub fn gate_by_controls(mut verdict: CaseVerdict, case: &Case, controls: &[CaseVerdict]) -> CaseVerdict {
    if verdict.verdict == Verdict::Unsupported {
        return verdict;
    }
    for id in &case.controls {
        let control = controls.iter().find(|control| control.case == *id);
        let trouble = match control {
            Some(control) if control.verdict == Verdict::Pass => continue,
            Some(control) => control
                .reason
                .clone()
                .unwrap_or_else(|| control.verdict.name().to_owned()),
            None => "it was not run".to_owned(),
        };
        retract(&mut verdict.checks, true);
        verdict.verdict = Verdict::Inconclusive;
        verdict.reason = Some(format!("the control `{id}` did not pass: {trouble}"));
        break;
    }
    verdict
}

/// Why the case did not come to its end, where it did not.
fn cut_short(plan: &Plan, record: &Record, gone: Option<&str>) -> Option<String> {
    match outcome(record) {
        Some(Outcome::Finished) => None,
        Some(Outcome::Unsupported) => Some("the case was skipped, although the target has what it needs".to_owned()),
        Some(Outcome::Stopped { reason }) => Some(gone.map_or(reason.clone(), |gone| format!("{reason}; {gone}"))),
        Some(Outcome::Interrupted) => Some(INTERRUPTED.to_owned()),
        None => Some("the record ends in the middle: the run was cut off".to_owned()),
    }
    .or_else(|| missed(plan, record))
}

fn missed(plan: &Plan, record: &Record) -> Option<String> {
    let told = record.events.iter().find_map(|event| {
        let Body::FaultMissed { reason } = &event.body else {
            return None;
        };
        Some(reason.clone())
    });
    let reason = told.or_else(|| moment::missed(plan, record))?;
    Some(format!("the fault missed its moment: {reason}"))
}

fn conclude(checks: &[CheckResult], cut_short: Option<String>) -> (Verdict, Option<String>) {
    if cut_short.is_some() {
        return (Verdict::Inconclusive, cut_short);
    }
    let first = |outcome: CheckOutcome| {
        let with = || checks.iter().filter(move |check| check.outcome == outcome);
        // What the case is about is the reason, before what merely came with it. Of what kept us from testing, the first
        // is the reason: the others follow from it.
        let about = || with().find(|check| check.about && outcome != CheckOutcome::Inconclusive);
        about().or_else(|| with().next())
    };
    let verdicts = [
        (CheckOutcome::Inconclusive, Verdict::Inconclusive),
        (CheckOutcome::Broken, Verdict::Fail),
        (CheckOutcome::Unguarded, Verdict::Unguarded),
    ];
    for (outcome, verdict) in verdicts {
        if let Some(check) = first(outcome) {
            let say = check.say.clone().unwrap_or_default();
            return (verdict, Some(format!("{}: {say}", check.id)));
        }
    }
    let about_held = checks
        .iter()
        .any(|check| check.about && check.outcome == CheckOutcome::Held);
    if !about_held {
        let reason = "no check that the case is about applies to this target, so nothing was tested".to_owned();
        return (Verdict::Inconclusive, Some(reason));
    }
    (Verdict::Pass, None)
}

/// What a reader of a pass should know: a promise that the case could not test, or that nobody made. That a policy of the
/// reference server does not apply elsewhere is no news, unless the contract claims it.
fn notes(case: &Case, results: &[CheckResult], plan: &Plan) -> Vec<String> {
    let claims_policies = plan.contract.preset.is_reference();
    // Where the data is the key, there is no other key that a client could choose.
    let is_natural =
        |check: &Check| matches!(plan.identity, Identity::Natural(_)) && check.only == Some(Surface::Identity);
    let noted = |(check, result): &(&Check, &CheckResult)| match result.outcome {
        CheckOutcome::Noted => true,
        CheckOutcome::NotApplicable => (result.basis == Basis::Contract || claims_policies) && !is_natural(check),
        CheckOutcome::Held
        | CheckOutcome::Broken
        | CheckOutcome::Unguarded
        | CheckOutcome::Warning
        | CheckOutcome::NotJudged
        | CheckOutcome::Inconclusive => false,
    };
    let pairs = case.checks.iter().zip(results).filter(noted);
    pairs
        .filter_map(|(_, result)| Some(format!("{}: {}", result.id, result.say.as_deref()?)))
        .collect()
}

/// A retry that was refused had no effect, and taught its client nothing: a pass that rests on it has to say so.
fn refused_repeats(case: &Case, plan: &Plan, facts: &Facts) -> Vec<String> {
    let repeats = plan.steps.iter().filter_map(|step| {
        if let Step::Send(send) = step {
            return Some(&send.name);
        }
        let Step::Write(write) = step else { return None };
        (write.from == From::Repeat && !write.changed).then_some(&write.name)
    });
    // Where a case asks whether a retry was answered, it expects the first result, and a refusal is something else.
    let promises = || case.checks.iter().filter(|check| check.promise == Promise::Answer);
    let is_asked = |name: &&String| promises().any(|check| check.expect.contains_key(&format!("{name}.answered")));
    let repeats = repeats.filter(is_asked);
    let refused = repeats.filter(|name| facts.tree.get(*name).is_some_and(|of| of["outcome"] == "refused"));
    refused
        .map(|name| {
            let of = &facts.tree[name];
            let text = of
                .get("refusal_text")
                .or(of.get("refusal"))
                .and_then(|text| text.as_str());
            let said = text.map_or(String::new(), |text| format!(": {text}"));
            format!(
                "`{name}` was refused{said} (it had no effect, and the client does not learn what became of the write)"
            )
        })
        .collect()
}

/// Servers that did not end by themselves: what they still had in hand is not in any count.
fn unclean_stops(plan: &Plan, record: &Record) -> impl Iterator<Item = String> {
    record.events.iter().filter_map(|event| {
        let Body::TimedOut { what, bound_ms } = &event.body else { return None };
        let process = event.process.as_deref()?;
        let who = match what.as_str() {
            AWAITED_EXIT | AWAITED_HELPERS => process.to_owned(),
            AWAITED_EXIT_AFTER_TERM | AWAITED_HELPERS_AFTER_TERM => plan.role(process).of_process(process),
            _ => return None,
        };
        Some(format!(
            "{who}: {what} did not come within {bound_ms} ms; it was killed, and what it still meant to write is in no count"
        ))
    })
}

/// Lines on standard output that are neither request, notification nor response: the protocol allows nothing else there.
/// What a kill cut off does not count, nor what somebody prints who speaks no MCP: a worker.
fn stray_output(plan: &Plan, record: &Record) -> Option<String> {
    let may_batch = speaks_batches(record);
    let strays: Vec<u64> = record
        .events
        .iter()
        .filter(|event| {
            let Body::Message(message) = &event.body else {
                return false;
            };
            let is_cut = message.length.is_some() || message.unterminated;
            let is_message = message
                .payload
                .as_ref()
                .is_some_and(|frame| protocol::is_message(frame) || (may_batch && protocol::is_batch(frame)));
            let speaks = event
                .process
                .as_deref()
                .is_none_or(|process| plan.role(process) == Role::Server);
            message.direction == Direction::ServerToClient && !is_message && !is_cut && speaks
        })
        .map(|event| event.seq)
        .collect();
    let first = strays.first()?;
    Some(format!(
        "standard output carried {} lines that are no MCP messages (first: frame {first}); strict clients hang up on that, \
         so let the server print to standard error",
        strays.len()
    ))
}

/// Whether a handshake of the record came to the one revision in which a line may be a batch of messages.
fn speaks_batches(record: &Record) -> bool {
    record.events.iter().any(|event| {
        let Body::Message(message) = &event.body else {
            return false;
        };
        let answered = message
            .payload
            .as_ref()
            .and_then(|frame| frame.pointer("/result/protocolVersion"));
        message.direction == Direction::ServerToClient
            && answered.is_some_and(|name| name == Revision::V2025_03_26.name())
    })
}
