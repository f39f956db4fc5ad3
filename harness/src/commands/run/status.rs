//! What a run exits with. `harness report` says it of a run that is over, by the same rules.

use std::collections::BTreeSet;

use clap::ValueEnum;

use super::super::ExitStatus;
use crate::baseline::BaselineReport;
use crate::record::{CaseVerdict, CheckOutcome, Verdict};
use crate::report::RunReport;

/// What `--deny` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(in crate::commands) enum Deny {
    /// An effect doubled or was lost that nobody had promised to guard
    Unguarded,
    /// A case that the target lacks a surface for
    Unsupported,
    /// A SHOULD of the specification that is not met, lines on standard output that are no messages, a server that does not end
    Warnings,
}

/// From verdicts to the exit status, in the order of precedence of [`ExitStatus`].
pub(in crate::commands) fn judge_run(report: &RunReport, deny: &BTreeSet<Deny>) -> (ExitStatus, Option<&'static str>) {
    let baseline = report.baseline.as_ref();
    let is_listed = |case: &str, check: Option<&str>| baseline.is_some_and(|baseline| baseline.lists(case, check));
    let is_warned = |verdict: &CaseVerdict| {
        let case = verdict.case.as_str();
        let mut checks = verdict.checks.iter();
        let is_warning = |outcome: CheckOutcome| outcome == CheckOutcome::Warning;
        (!verdict.warnings.is_empty() && !is_listed(case, None))
            || checks.any(|check| is_warning(check.outcome) && !is_listed(case, Some(&check.id)))
    };
    let denied = |what: Deny| deny.contains(&what);
    let nothing_run = report.totals.pass + report.totals.unguarded == 0
        && !report.cases.iter().any(|case| case.requested && case.is_expected());
    let rules = [
        (report.any(Verdict::Fail, false), ExitStatus::Failed, "a case failed"),
        (
            report.any(Verdict::Unguarded, true),
            ExitStatus::Failed,
            "a case that was named is unguarded",
        ),
        (
            denied(Deny::Unguarded) && report.any(Verdict::Unguarded, false),
            ExitStatus::Failed,
            "a case is unguarded, and --deny says that it must not be",
        ),
        (
            denied(Deny::Unsupported) && report.any(Verdict::Unsupported, false),
            ExitStatus::Failed,
            "a case is unsupported, and --deny says that it must not be (leave it out with --skip)",
        ),
        (
            denied(Deny::Warnings) && report.cases.iter().any(|case| is_warned(&case.verdict)),
            ExitStatus::Failed,
            "there are warnings, and --deny says that there must not be",
        ),
        (
            baseline.is_some_and(BaselineReport::has_stale),
            ExitStatus::Failed,
            "an entry of the expected failures does not fail",
        ),
        (
            baseline.is_some_and(BaselineReport::has_past),
            ExitStatus::Failed,
            "an entry of the expected failures is past its date",
        ),
        (
            baseline.is_some_and(BaselineReport::has_regression),
            ExitStatus::Failed,
            "a case got worse than expected",
        ),
        (
            report.any(Verdict::Inconclusive, false),
            ExitStatus::Inconclusive,
            "a case is inconclusive",
        ),
        (
            report.any(Verdict::Unsupported, true),
            ExitStatus::Inconclusive,
            "a case that was named is unsupported",
        ),
        (
            nothing_run && (report.tools.is_some() || report.names_no_write()),
            ExitStatus::Inconclusive,
            "the server starts, and nothing was tested: no write is named",
        ),
        (
            report.blind.is_some(),
            ExitStatus::Inconclusive,
            "what the server writes could not be found, so no case was run",
        ),
        (nothing_run, ExitStatus::Inconclusive, "nothing was run"),
    ];
    let first = rules.into_iter().find(|(applies, ..)| *applies);
    first.map_or((ExitStatus::Success, None), |(_, status, reason)| {
        (status, Some(reason))
    })
}
