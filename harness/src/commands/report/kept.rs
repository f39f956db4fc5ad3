//! A run that is kept, as the report that `harness run` printed it from; and what its evidence cannot say any more.

use std::collections::BTreeSet;

use super::super::ExitStatus;
use super::super::run::status::judge_run;
use super::super::show::glance::{self, JSON_BYTES_MAX, folder};
use super::super::target_arguments::quoted;
use super::repeat;
use crate::baseline;
use crate::case::Case;
use crate::plan::Plan;
use crate::record::{Body, CaseVerdict, Evidence, Line, NothingRunKind, Reader, Run, RunState, Verdict};
use crate::report::{
    CaseGlance, CaseReport, ControlReport, OperationReport, Printer, RunGlance, RunReport, RunTotals, Style, plain,
    show_case, show_end, show_masked, show_overview, show_server, show_target, span,
};

/// The evidence of a run, read once.
pub(super) struct Kept {
    /// How the user names the run.
    pub(super) word: String,
    pub(super) reader: Reader,
    pub(super) glance: RunGlance,
    /// The cases, in the order of the run, each with what can be read of it.
    pub(super) cases: Vec<KeptCase>,
}

/// One case of it.
pub(super) struct KeptCase {
    pub(super) glance: CaseGlance,
    pub(super) case: Option<Case>,
    pub(super) verdict: Option<CaseVerdict>,
    plan: Option<Plan>,
}

impl Kept {
    /// Reads what can be read; `name` is where the evidence is.
    pub(super) fn of(evidence: &Evidence, name: &str, word: &str) -> Self {
        let reader = Reader::new(evidence);
        let mut glance = glance::glance(name, &reader);
        // What could not be run comes last, unless somebody asked for that very case.
        let named = glance.run.as_ref().map_or(Vec::new(), |run| run.named.clone());
        glance.cases.sort_by_key(|case| {
            let verdict = case.verdict.as_ref().map(|summary| summary.verdict);
            verdict == Some(Verdict::Unsupported) && !named.contains(&case.case)
        });
        let cases = glance.cases.iter().map(|case| KeptCase::of(&reader, case)).collect();
        Self {
            word: word.to_owned(),
            reader,
            glance,
            cases,
        }
    }

    /// What `harness run` exited with, by the rules that it goes by. `--deny` is in no evidence.
    pub(super) fn exit(&self) -> String {
        let Some(run) = self.glance.run.as_deref() else {
            return "not known: run.json cannot be read".to_owned();
        };
        let report = self.report(run);
        match report.exit_reason {
            _ if run.state == RunState::Running => "none: the run did not come to its end".to_owned(),
            Some(reason) => format!("{}: {reason}", report.exit),
            None => format!("{} (unless a --deny said otherwise)", report.exit),
        }
    }

    /// The controls that nobody named.
    pub(super) fn uncounted(&self) -> Vec<String> {
        let run = self.glance.run.as_deref();
        let is_named = |id: &String| run.is_none_or(|run| run.named.contains(id));
        let controls = self.cases.iter().filter(|kept| self.control_of(kept).is_some());
        let ids = controls.map(|kept| kept.glance.case.clone());
        ids.filter(|id| !is_named(id)).collect()
    }

    /// How many of each verdict there are, of what was asked for. As in the run, a control counts where it was named.
    pub(super) fn totals(&self) -> RunTotals {
        let run = self.glance.run.as_deref();
        let is_among = |kept: &&KeptCase, ids: fn(&Run) -> &Vec<String>| {
            run.is_none_or(|run| ids(run).contains(&kept.glance.case))
        };
        let uncounted = self.uncounted();
        let counted = self
            .cases
            .iter()
            .filter(|kept| is_among(kept, |run| &run.requested) && !uncounted.contains(&kept.glance.case));
        let mut totals = RunTotals::default();
        for summary in counted.filter_map(|kept| kept.glance.verdict.as_ref()) {
            totals.add(summary.verdict);
        }
        totals
    }

    /// Prints the run as `harness run` did. What is not whole is shown as far as it goes.
    pub(super) fn print(&self, printer: &mut Printer) {
        let run = self.glance.run.as_deref();
        let Some(run) = run.filter(|run| run.state != RunState::Running) else {
            return show_overview(printer, &self.glance, &self.word);
        };
        let report = self.report(run);
        show_target(printer, &report.target);
        show_server(printer, &report);
        for (case, kept) in report
            .cases
            .iter()
            .filter_map(|report| Some((report, self.kept(report)?)))
        {
            let Some(defined) = &kept.case else { continue };
            let control = self.control_of(kept);
            show_case(printer, defined, case, control.as_ref());
        }
        show_masked(printer, self.glance.masked.as_deref());
        if !self.glance.sealed {
            let text = "there is no SHA256SUMS: the evidence is not whole";
            printer.line(&[span(Style::Odd, "INCOMPLETE "), plain(text)]);
        }
        show_end(printer, &report);
    }

    fn kept(&self, report: &CaseReport) -> Option<&KeptCase> {
        self.cases.iter().find(|kept| kept.glance.case == report.verdict.case)
    }

    /// What the control showed, where the case is one.
    fn control_of(&self, kept: &KeptCase) -> Option<ControlReport> {
        let is_control = |id: &str| {
            let mut cases = self.cases.iter().filter_map(|other| other.case.as_ref());
            cases.any(|other| other.controls.iter().any(|control| control == id))
        };
        let (case, verdict) = (kept.case.as_ref()?, kept.verdict.as_ref()?);
        is_control(&case.id).then(|| ControlReport::of(case, verdict))
    }

    fn report(&self, run: &Run) -> RunReport {
        let mut report = RunReport::empty(run, run.target.title(), self.glance.evidence.clone());
        for kept in &self.cases {
            let Some(case) = kept.report(run, &self.glance.evidence) else {
                continue;
            };
            report.add(case, self.control_of(kept));
        }
        if let Some(nothing) = &run.nothing_run {
            let reason = Some(nothing.reason.clone());
            match nothing.kind {
                NothingRunKind::DidNotStart => {
                    report.did_not_start = reason;
                    report.frames = Some(format!("harness show {} probe --stderr", quoted(&self.word)));
                }
                NothingRunKind::Blind | NothingRunKind::NotOffered => report.blind = reason,
            }
        }
        let verdicts = report.cases.iter().map(|case| &case.verdict);
        report.baseline = baseline::compare(run, verdicts);
        let (status, reason) = if run.state == RunState::Interrupted {
            (ExitStatus::Interrupted, Some("it was interrupted"))
        } else if run
            .nothing_run
            .as_ref()
            .is_some_and(|nothing| nothing.kind == NothingRunKind::NotOffered)
        {
            let reason = "the server does not offer what the target's description names";
            (ExitStatus::Usage, Some(reason))
        } else {
            judge_run(&report, &BTreeSet::new())
        };
        report.exit = status.code();
        report.exit_reason = reason;
        report
    }
}

impl KeptCase {
    fn of(reader: &Reader, glance: &CaseGlance) -> Self {
        let folder = folder(&glance.case);
        let verdict = reader.json(&format!("{folder}/verdict.json"), JSON_BYTES_MAX).ok();
        Self {
            glance: glance.clone(),
            case: glance::definition(reader, &glance.case),
            verdict,
            plan: plan(reader, &folder),
        }
    }

    fn report(&self, run: &Run, evidence: &str) -> Option<CaseReport> {
        let (case, verdict) = (self.case.as_ref()?, self.verdict.as_ref()?);
        let id = &self.glance.case;
        let missing = self.plan.as_ref().map(|plan| plan.missing(case));
        Some(CaseReport {
            family: case.family.clone(),
            number: case.number,
            title: case.title.clone(),
            named: run.named.contains(id),
            requested: run.requested.contains(id),
            micros: self.glance.verdict.as_ref().map_or(0, |summary| summary.micros),
            operations: self.plan.as_ref().map(OperationReport::all).unwrap_or_default(),
            blocked: self.is_blocked(),
            elsewhere: None,
            missing: missing
                .unwrap_or_default()
                .iter()
                .map(|surface| surface.name())
                .collect(),
            counts_as: baseline::counts_as(verdict, run.baseline.expected_failures.as_ref()),
            case_file: run.case_files.get(id).cloned(),
            record: format!("{evidence}/{}/record.jsonl", folder(id)),
            repeat: repeat::line(run, id),
            verdict: verdict.clone(),
        })
    }

    /// Whether nothing was done in it, because its control had not passed.
    fn is_blocked(&self) -> bool {
        let reason = self.verdict.as_ref().and_then(|verdict| verdict.reason.as_deref());
        let is_controlled = reason.is_some_and(|reason| reason.starts_with("the control `"));
        let steps = self.glance.record.as_ref().and_then(|record| record.last_step.as_ref());
        is_controlled && steps.is_none()
    }
}

/// The plan, which is the first event of a record.
fn plan(reader: &Reader, folder: &str) -> Option<Plan> {
    let first = reader.lines(folder).ok()?.next()?;
    let Line::Event { event, .. } = first else {
        return None;
    };
    let Body::CasePlanned { plan, .. } = event.body else {
        return None;
    };
    Some(*plan)
}
