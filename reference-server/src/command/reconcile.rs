//! `reconcile`: an operator settles an operation that a crash left in progress.

use std::ffi::OsString;
use std::time::Duration;

use clap::ArgGroup;

use super::{Failure, say};
use crate::ledger::reconciliation::{self, Decision, ReconcileError, Reconciled, Reconciliation};
use crate::settings::{self, BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS_MAX, LIMIT_S_MAX, RETENTION_S, SettingError};

/// The longest reason that is accepted, in bytes.
const REASON_BYTES_MAX: usize = 1_000;

/// The arguments of `reconcile`.
#[derive(Debug, Clone, clap::Args)]
#[command(
    group(ArgGroup::new("decision").required(true).args(["applied", "not_applied"])),
    after_help = "\
A crash between two commits leaves an operation in progress: its status is unknown, and a
repeat is refused. First look at it with `inspect OPERATION`, and make sure that no server is
in the middle of it. Then say what you found:

  --applied      The effect stands. A repeat gets a stored result, and status says applied.
  --not-applied  It was not done, or you have undone it. A repeat is refused for good, as
                 operation_not_applied; whoever wants the write begins a new operation.

The decision is final, and stands in the step log with its reason. Saying the same again
changes nothing.

Exit codes: 0 settled, now or before in the same way; 1 refused, nothing was changed;
2 wrong usage, setting or store."
)]
pub struct ReconcileArguments {
    /// The operation that is in progress, by its `operation_id`
    pub operation: String,
    /// The write was done, and its effect stands
    #[arg(long)]
    pub applied: bool,
    /// The write was not done, or was undone by hand
    #[arg(long)]
    pub not_applied: bool,
    /// Why you believe it; kept in the step log
    #[arg(long, value_name = "TEXT")]
    pub reason: OsString,
    /// The SQLite store; it must exist
    #[arg(long, env = "GUARD_DATABASE", value_name = "PATH", hide_env_values = true)]
    pub database: Option<OsString>,
    /// The backend id that the store must be bound to; not compared when it is left out
    #[arg(long, env = "GUARD_BACKEND", value_name = "ID", hide_env_values = true)]
    pub backend: Option<OsString>,
    /// The clock: `system`, `fixed:UNIX_SECONDS`, or `file:PATH`
    #[arg(
        long,
        env = "GUARD_CLOCK",
        value_name = "CLOCK",
        default_value = "system",
        hide_env_values = true
    )]
    pub clock: OsString,
    /// How long the result of an applied operation is replayed, in seconds from now
    #[arg(long, env = "GUARD_RETENTION", value_name = "SECONDS", default_value = RETENTION_S, hide_env_values = true)]
    pub retention: OsString,
    /// How long to wait for a locked store, in milliseconds
    #[arg(long, env = "GUARD_BUSY_TIMEOUT_MS", value_name = "MILLISECONDS", default_value = BUSY_TIMEOUT_MS, hide_env_values = true)]
    pub busy_timeout_ms: OsString,
}

/// Settles it, and says so on stdout.
pub(super) fn reconcile(written: &ReconcileArguments) -> Result<(), Failure> {
    let database = settings::database(written.database.as_deref())?;
    let backend = match written.backend.as_deref() {
        Some(backend) => Some(settings::name(
            "--backend (GUARD_BACKEND)",
            Some(backend),
            "leave it out to compare nothing",
        )?),
        None => None,
    };
    let clock = settings::clock(&written.clock)?;
    clock.now_s().map_err(SettingError::ClockIsSilent)?;
    let busy_timeout_ms = settings::whole(
        "--busy-timeout-ms (GUARD_BUSY_TIMEOUT_MS)",
        &written.busy_timeout_ms,
        BUSY_TIMEOUT_MS_MAX,
    )?;
    let asked = Reconciliation {
        operation_id: written.operation.clone(),
        decision: if written.applied {
            Decision::Applied
        } else {
            Decision::NotApplied
        },
        reason: reason(&written.reason)?,
        retention_s: settings::whole("--retention (GUARD_RETENTION)", &written.retention, LIMIT_S_MAX)?.into(),
    };
    let busy_timeout = Duration::from_millis(busy_timeout_ms.into());
    let done = reconciliation::reconcile(&database, backend.as_deref(), busy_timeout, &clock, &asked);
    let reconciled = match done {
        Ok(reconciled) => reconciled,
        Err(ReconcileError::Open(error)) => return Err(Failure::store(&database, error)),
        Err(refused) => return Err(Failure::Refused(refused.to_string())),
    };
    let (id, state) = (&asked.operation_id, asked.decision.name());
    say(&match reconciled {
        Reconciled::Already { at, reason } => {
            format!("operation {id:?} was already settled as {state} at {at} ({reason:?}); nothing was changed\n")
        }
        Reconciled::Settled { issue_ids } => {
            format!(
                "operation {id:?} is settled as {state}{}\n",
                remark(asked.decision, &issue_ids)
            )
        }
    })
}

fn reason(written: &OsString) -> Result<String, SettingError> {
    const NAME: &str = "--reason";
    const ADVICE: &str = "say why you believe it, as in --reason 'issue 1 is there, and nobody watches it'";
    let text = settings::required(NAME, Some(written), ADVICE)?;
    if text.len() > REASON_BYTES_MAX || text.chars().any(char::is_control) || text.trim().is_empty() {
        let advice = format!("use at most {REASON_BYTES_MAX} printable bytes; {ADVICE}");
        return Err(settings::wrong(NAME, written, advice));
    }
    Ok(text)
}

/// What the store holds beside the decision, where the two might surprise.
fn remark(decision: Decision, issue_ids: &[i64]) -> String {
    let listed = issue_ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    match (decision, issue_ids) {
        (Decision::Applied, [only]) => format!("; its effect is issue {only}"),
        (Decision::Applied, _) => format!("; its result names the first of its effects: issues {listed}"),
        (Decision::NotApplied, []) => String::new(),
        (Decision::NotApplied, _) => format!("; the store still holds what it wrote: issue {listed}"),
    }
}
