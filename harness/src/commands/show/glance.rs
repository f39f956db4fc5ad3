//! What a folder of evidence holds, as values: read once, with suspicion, and as far as it can be read.

use crate::baseline::{self, BaselineReport};
use crate::case::{self, Case, is_name_of};
use crate::counted::counted;
use crate::digest;
use crate::document::{DOCUMENT_BYTES_MAX, nearest};
use crate::plan::Plan;
use crate::record::{
    Body, CaseSummary, CaseVerdict, Line, Observation, REDACTIONS_FILE, RUN_FILE, RUN_FORMAT, Reader, ReaderError,
    Redactions, Run, SUMS_FILE, Verdict,
};
use crate::report::{CaseGlance, Glance, RunGlance};

/// The largest `run.json`, `verdict.json` or observation that is read (bytes).
pub(in crate::commands) const JSON_BYTES_MAX: u64 = 64 * DOCUMENT_BYTES_MAX;

/// The version of the JSON documents that `harness show` prints.
pub(super) const SHOW_FORMAT: u32 = 1;

/// How many damages of one record are kept.
const TROUBLES_MAX: usize = 20;

/// The word for the handshake, where a case could stand.
pub(in crate::commands) const PROBE: &str = "probe";

/// `run.json`, or why it cannot be read.
pub(in crate::commands) fn run(reader: &Reader) -> Result<Box<Run>, String> {
    let run: Run = reader
        .json(RUN_FILE, JSON_BYTES_MAX)
        .map_err(|error| error.to_string())?;
    if run.format != RUN_FORMAT {
        return Err(format!(
            "format {} is not one this harness reads (it reads {RUN_FORMAT})",
            run.format
        ));
    }
    Ok(Box::new(run))
}

/// A whole run; `evidence` is what the user calls it.
pub(in crate::commands) fn glance(evidence: &str, reader: &Reader) -> RunGlance {
    let (run, problem) = match run(reader) {
        Ok(run) => (Some(run), None),
        Err(problem) => (None, Some(problem)),
    };
    let cases = ids(reader, run.as_deref());
    RunGlance {
        format: SHOW_FORMAT,
        evidence: evidence.to_owned(),
        sealed: reader.head(SUMS_FILE, 0).is_ok(),
        masked: masked(reader),
        baseline: run.as_deref().and_then(|run| compared(reader, run)),
        probe: record(reader, PROBE).ok().map(|(glance, _)| glance),
        cases: cases.iter().map(|id| case_glance(reader, run.as_deref(), id)).collect(),
        run,
        problem,
    }
}

/// What was masked before the evidence was handed on, in a sentence; `harness verify` looks whether that is so.
pub(super) fn masked(reader: &Reader) -> Option<String> {
    let redactions: Redactions = match reader.json(REDACTIONS_FILE, JSON_BYTES_MAX) {
        Ok(redactions) => redactions,
        Err(ReaderError::Absent) => return None,
        Err(error) => return Some(format!("{REDACTIONS_FILE}: {error}")),
    };
    let masked = redactions.files.iter().filter(|file| !file.masked.is_empty());
    let (files, places) = masked.fold((0, 0), |(files, places), file| (files + 1, places + file.masked.len()));
    Some(format!(
        "{} in {} masked before this was handed on, and digests, counts and verdicts are those of the masked bytes; \
         {REDACTIONS_FILE} lists them",
        counted(places, "place was", "places were"),
        counted(files, "file", "files"),
    ))
}

/// The case that a word names, none where it names the handshake, or what is wrong with the word.
pub(super) fn part(reader: &Reader, run: Option<&Run>, word: &str) -> Result<Option<CaseGlance>, String> {
    if word == PROBE {
        return Ok(None);
    }
    let ids = ids(reader, run);
    let names_it = |id: &&String| *id == word || definition(reader, id).is_some_and(|case| is_name_of(word, &case));
    if let Some(id) = ids.iter().find(names_it) {
        return Ok(Some(case_glance(reader, run, id)));
    }
    let known: Vec<&str> = ids.iter().map(String::as_str).chain([PROBE]).collect();
    let near = nearest(word, known.iter().copied());
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Err(format!(
        "this run has no case `{word}`{near} (it has {})",
        known.join(", ")
    ))
}

/// The cases that were run or begun: in the order of the run, then what lies there beside.
fn ids(reader: &Reader, run: Option<&Run>) -> Vec<String> {
    let searched = case::calibrations().iter().map(|case| case.id.clone());
    let mut ids: Vec<String> = searched.filter(|id| !reader.names(id).is_empty()).collect();
    ids.extend(run.map_or(Vec::new(), |run| run.executed.clone()));
    for name in reader.names("cases") {
        if !ids.contains(&name) {
            ids.push(name);
        }
    }
    ids
}

/// The run beside its baseline, by the verdicts that can be read.
fn compared(reader: &Reader, run: &Run) -> Option<BaselineReport> {
    let path = |id: &String| format!("{}/verdict.json", folder(id));
    let ids = run.executed.iter().filter(|id| case::is_plain_word(id));
    let verdicts: Vec<CaseVerdict> = ids
        .filter_map(|id| reader.json(&path(id), JSON_BYTES_MAX).ok())
        .collect();
    baseline::compare(run, &verdicts)
}

fn case_glance(reader: &Reader, run: Option<&Run>, id: &str) -> CaseGlance {
    let case = definition(reader, id);
    let (record, plan, problem) = match record(reader, &folder(id)) {
        Ok((record, plan)) => (Some(record), plan, None),
        Err(ReaderError::Absent) => (None, None, None),
        Err(error) => (None, None, Some(error.to_string())),
    };
    let verdict = match run.and_then(|run| run.verdicts.get(id)) {
        Some(summary) => Some(summary.clone()),
        None => judged(reader, id, record.as_ref()),
    };
    let is_unsupported = verdict
        .as_ref()
        .is_some_and(|verdict| verdict.verdict == Verdict::Unsupported);
    let missing = case.as_ref().zip(plan.filter(|_| is_unsupported));
    let missing = missing.map_or_else(Vec::new, |(case, plan)| plan.missing(case));
    CaseGlance {
        case: id.to_owned(),
        family: case.as_ref().map(|case| case.family.clone()),
        number: case.as_ref().and_then(|case| case.number),
        title: case.map(|case| case.title),
        verdict,
        record,
        problem,
        missing: missing.iter().map(|surface| surface.name()).collect(),
    }
}

/// What `verdict.json` says, where `run.json` says nothing: the run was killed between the two, or lost one.
fn judged(reader: &Reader, id: &str, record: Option<&Glance>) -> Option<CaseSummary> {
    let path = format!("{}/verdict.json", folder(id));
    let verdict: CaseVerdict = reader.json(&path, JSON_BYTES_MAX).ok()?;
    Some(CaseSummary {
        verdict: verdict.verdict,
        reason: verdict.reason,
        micros: record.map_or(0, |record| record.micros),
    })
}

pub(in crate::commands) fn definition(reader: &Reader, id: &str) -> Option<Case> {
    let bytes = reader
        .bytes(&format!("{}/case.toml", folder(id)), DOCUMENT_BYTES_MAX)
        .ok()?;
    case::parse("case.toml", &String::from_utf8(bytes).ok()?).ok()
}

/// What read-back saw under a label; nothing that is not what the record names is believed.
pub(in crate::commands) fn observation(
    reader: &Reader,
    folder: &str,
    label: &str,
    sha256: &str,
) -> Result<Observation, String> {
    let name = format!("{folder}/observations/{label}.json");
    let bytes = reader.bytes(&name, JSON_BYTES_MAX);
    let bytes = bytes.map_err(|error| format!("its file cannot be read: {error}"))?;
    if digest::sha256_hex(&bytes) != sha256 {
        return Err("its file is not the one that the record names: the digest differs".to_owned());
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("its file cannot be read: {error}"))
}

/// The folder of a case inside the evidence. The search for the effect lies beside the cases.
pub(in crate::commands) fn folder(id: &str) -> String {
    if case::calibrations().iter().any(|case| case.id == id) {
        return id.to_owned();
    }
    format!("cases/{id}")
}

/// The record in numbers, and the plan, which is its first event.
fn record(reader: &Reader, folder: &str) -> Result<(Glance, Option<Plan>), ReaderError> {
    let (mut glance, mut planned) = (Glance::default(), None);
    for line in reader.lines(folder)? {
        let event = match line {
            Line::Event { event, .. } => event,
            Line::Trouble { line, reason } => {
                if glance.troubles.len() < TROUBLES_MAX {
                    glance.troubles.push(format!("line {line}: {reason}"));
                }
                continue;
            }
        };
        glance.events += 1;
        glance.micros = glance.micros.max(event.at);
        match event.body {
            Body::Message(message) => {
                glance.frames += 1;
                glance.withheld += usize::from(message.withheld);
            }
            Body::StepStarted { does, .. } => glance.last_step = Some(does),
            Body::CaseEnded { .. } => glance.ended = true,
            Body::CasePlanned { plan, .. } => planned = planned.or(Some(*plan)),
            Body::ProcessStarted { .. }
            | Body::StreamEnded
            | Body::SendFailed { .. }
            | Body::Signalled { .. }
            | Body::ProcessEnded { .. }
            | Body::KillCommandRun { .. }
            | Body::ClockAdvanced { .. }
            | Body::LockHeld
            | Body::LockReleased { .. }
            | Body::OperatorRan { .. }
            | Body::EffectVisible { .. }
            | Body::ReplyMarkedMoment { .. }
            | Body::FaultMissed { .. }
            | Body::TimedOut { .. }
            | Body::Observed { .. } => {}
        }
    }
    Ok((glance, planned))
}
