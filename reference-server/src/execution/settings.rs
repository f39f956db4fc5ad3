//! The settings of durable execution, as written and as resolved: the part that `serve`, `work` and `reap` share, and the whole
//! of the last two.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::Connection;

use super::engine::Terms;
use super::schema::WITHOUT_LOG_GUARDS;
use crate::defect::Defect;
use crate::ledger::schema::{self, OpenError};
use crate::settings::{self, BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS_MAX, LIMIT_S_MAX, RETENTION_S, SettingError, Settings};

const LEASE_S: &str = "30";
const HEARTBEAT_S: &str = "10";
const ATTEMPTS: &str = "3";
const BACKOFF_S: &str = "5";
const GATE_WAIT_S: &str = "3600";
const POLL_MS: &str = "200";
/// The most attempts that are accepted. The doubled backoff of the last one is cut at [`LIMIT_S_MAX`].
const ATTEMPTS_MAX: u32 = 100;
/// The longest pause between two looks that is accepted: a minute.
const POLL_MS_MAX: u32 = 60_000;

/// What `serve`, `work` and `reap` share, as written.
#[derive(Debug, Clone, clap::Args)]
pub struct ExecutionArguments {
    /// How long a lease is good without a heartbeat, in seconds of the clock
    #[arg(long, env = "GUARD_LEASE", value_name = "SECONDS", default_value = LEASE_S, hide_env_values = true)]
    pub lease: OsString,
    /// How often a worker says that it lives, in seconds of the clock; shorter than the lease
    #[arg(long, env = "GUARD_HEARTBEAT", value_name = "SECONDS", default_value = HEARTBEAT_S, hide_env_values = true)]
    pub heartbeat: OsString,
    /// How many attempts an execution gets before it has failed
    #[arg(long, env = "GUARD_ATTEMPTS", value_name = "COUNT", default_value = ATTEMPTS, hide_env_values = true)]
    pub attempts: OsString,
    /// The wait after the first failed attempt, in seconds of the clock; it doubles with each one
    #[arg(long, env = "GUARD_BACKOFF", value_name = "SECONDS", default_value = BACKOFF_S, hide_env_values = true)]
    pub backoff: OsString,
    /// How long a worker waits for a gate before the attempt has failed, in seconds of the clock
    #[arg(long, env = "GUARD_GATE_WAIT", value_name = "SECONDS", default_value = GATE_WAIT_S, hide_env_values = true)]
    pub gate_wait: OsString,
    /// The pause between two looks for work, for a gate, for what has expired, in milliseconds
    #[arg(long, env = "GUARD_POLL_MS", value_name = "MILLISECONDS", default_value = POLL_MS, hide_env_values = true)]
    pub poll_ms: OsString,
    /// A file to which each execution also appends a line: an effect that no transaction covers
    #[arg(long, env = "GUARD_OUTSIDE", value_name = "PATH", hide_env_values = true)]
    pub outside: Option<OsString>,
    /// Whether the execution id is handed on as the key of the outside effect
    #[arg(
        long,
        env = "GUARD_OUTSIDE_KEY",
        value_enum,
        default_value_t = OutsideKey::ExecutionId,
        hide_env_values = true
    )]
    pub outside_key: OutsideKey,
}

/// Which key an outside effect is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutsideKey {
    /// The execution id: a repeat finds what was done.
    ExecutionId,
    /// None: a repeat does it again.
    None,
}

/// The same, as resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSettings {
    /// How long a lease is good without a heartbeat.
    pub lease_s: i64,
    /// How often a worker says that it lives.
    pub heartbeat_s: i64,
    /// How many attempts an execution gets.
    pub attempts_max: i64,
    /// The wait after the first failed attempt.
    pub backoff_s: i64,
    /// How long a worker waits for a gate.
    pub gate_wait_s: i64,
    /// The pause between two looks.
    pub poll: Duration,
    /// Where the outside effect goes, if there is one.
    pub outside: Option<PathBuf>,
    /// Which key it is given.
    pub outside_key: OutsideKey,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self {
            lease_s: 30,
            heartbeat_s: 10,
            attempts_max: 3,
            backoff_s: 5,
            gate_wait_s: 3_600,
            poll: Duration::from_millis(200),
            outside: None,
            outside_key: OutsideKey::ExecutionId,
        }
    }
}

impl ExecutionSettings {
    /// Checks every setting.
    pub fn resolve(written: &ExecutionArguments) -> Result<Self, SettingError> {
        const HEARTBEAT: &str = "--heartbeat (GUARD_HEARTBEAT)";
        let lease_s = settings::whole("--lease (GUARD_LEASE)", &written.lease, LIMIT_S_MAX)?;
        let heartbeat_s = settings::whole(HEARTBEAT, &written.heartbeat, LIMIT_S_MAX)?;
        if heartbeat_s >= lease_s {
            let advice = format!("a lease of {lease_s} s would end before it; use a shorter one");
            return Err(settings::wrong(HEARTBEAT, &written.heartbeat, advice));
        }
        let outside = written.outside.as_deref().map(|path| {
            let text = settings::required("--outside (GUARD_OUTSIDE)", Some(path), "leave it out to have none");
            text.map(PathBuf::from)
        });
        let poll_ms = settings::whole("--poll-ms (GUARD_POLL_MS)", &written.poll_ms, POLL_MS_MAX)?;
        Ok(Self {
            lease_s: lease_s.into(),
            heartbeat_s: heartbeat_s.into(),
            attempts_max: settings::whole("--attempts (GUARD_ATTEMPTS)", &written.attempts, ATTEMPTS_MAX)?.into(),
            backoff_s: settings::whole("--backoff (GUARD_BACKOFF)", &written.backoff, LIMIT_S_MAX)?.into(),
            gate_wait_s: settings::whole("--gate-wait (GUARD_GATE_WAIT)", &written.gate_wait, LIMIT_S_MAX)?.into(),
            poll: Duration::from_millis(poll_ms.into()),
            outside: outside.transpose()?,
            outside_key: written.outside_key,
        })
    }

    /// The wait after the failed attempt `attempt` (from 1): doubled with each one, and never beyond the longest limit.
    pub(crate) fn backoff_after_s(&self, attempt: i64) -> i64 {
        let doublings = u32::try_from(attempt - 1).unwrap_or_default();
        let waited = 2_i64
            .checked_pow(doublings)
            .and_then(|factor| self.backoff_s.checked_mul(factor));
        waited.unwrap_or(i64::MAX).min(LIMIT_S_MAX.into())
    }
}

/// What `work` and `reap` need beside: the store, the clock, and what is planted.
#[derive(Debug, Clone, clap::Args)]
pub struct StoreArguments {
    /// The SQLite store; made when it does not exist and a backend is given
    #[arg(long, env = "GUARD_DATABASE", value_name = "PATH", hide_env_values = true)]
    pub database: Option<OsString>,
    /// The backend id that the store must be bound to; not compared when it is left out
    #[arg(long, env = "GUARD_BACKEND", value_name = "ID", hide_env_values = true)]
    pub backend: Option<OsString>,
    /// The clock: `system`, `fixed:UNIX_SECONDS`, or `file:PATH` (read at each use)
    #[arg(
        long,
        env = "GUARD_CLOCK",
        value_name = "CLOCK",
        default_value = "system",
        hide_env_values = true
    )]
    pub clock: OsString,
    /// How long the result of an execution is replayed, in seconds from its end
    #[arg(long, env = "GUARD_RETENTION", value_name = "SECONDS", default_value = RETENTION_S, hide_env_values = true)]
    pub retention: OsString,
    /// How long to wait for a locked store, in milliseconds
    #[arg(long, env = "GUARD_BUSY_TIMEOUT_MS", value_name = "MILLISECONDS", default_value = BUSY_TIMEOUT_MS, hide_env_values = true)]
    pub busy_timeout_ms: OsString,
    /// Durable execution.
    #[command(flatten)]
    pub execution: ExecutionArguments,
    /// End or fail at a named cut point, once (for tests)
    #[arg(long, env = "GUARD_FAILPOINT", value_name = "NAME", hide_env_values = true)]
    pub failpoint: Option<OsString>,
    /// Get one thing wrong on purpose (for tests)
    #[arg(long, env = "GUARD_DEFECT", value_name = "NAME", hide_env_values = true)]
    pub defect: Option<OsString>,
}

/// The same, as resolved: everything that a worker or a reaper needs to open the store and work.
#[derive(Debug, Clone)]
pub(crate) struct Workplace {
    pub(crate) database: PathBuf,
    pub(crate) backend: Option<String>,
    pub(crate) busy_timeout: Duration,
    pub(crate) terms: Terms,
}

impl Workplace {
    /// Checks every setting.
    pub(crate) fn resolve(written: &StoreArguments) -> Result<Self, SettingError> {
        const BUSY: &str = "--busy-timeout-ms (GUARD_BUSY_TIMEOUT_MS)";
        const ADVICE: &str = "name the store, as in sqlite:main";
        let backend = written.backend.as_deref();
        let backend = backend.map(|backend| settings::name("--backend (GUARD_BACKEND)", Some(backend), ADVICE));
        let busy_timeout_ms = settings::whole(BUSY, &written.busy_timeout_ms, BUSY_TIMEOUT_MS_MAX)?;
        let terms = Terms {
            clock: settings::clock(&written.clock)?,
            settings: ExecutionSettings::resolve(&written.execution)?,
            retention_s: settings::whole("--retention (GUARD_RETENTION)", &written.retention, LIMIT_S_MAX)?.into(),
            failpoints: settings::failpoints(written.failpoint.as_deref())?,
            planted: settings::planted(written.defect.as_deref())?,
        };
        terms.clock.now_s().map_err(SettingError::ClockIsSilent)?;
        Ok(Self {
            database: settings::database(written.database.as_deref())?,
            backend: backend.transpose()?,
            busy_timeout: Duration::from_millis(busy_timeout_ms.into()),
            terms,
        })
    }

    /// The same for a worker inside a server.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            database: settings.database.clone(),
            backend: Some(settings.backend.clone()),
            busy_timeout: Duration::from_millis(settings.limits.busy_timeout_ms.into()),
            terms: settings.terms(),
        }
    }

    /// Opens the store; makes it when there is none and its backend is known.
    pub(crate) fn open(&self) -> Result<Connection, OpenError> {
        let connection = match &self.backend {
            Some(backend) => schema::open(&self.database, backend, self.busy_timeout)?,
            None => schema::open_existing(&self.database, None, self.busy_timeout)?,
        };
        if self.terms.planted.is(Defect::MutableEventLog) {
            connection.execute_batch(WITHOUT_LOG_GUARDS)?;
        }
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_and_has_an_end() {
        let settings = ExecutionSettings::default();
        let waits = [1, 2, 3, 4, 100].map(|attempt| settings.backoff_after_s(attempt));
        assert_eq!(waits, [5, 10, 20, 40, LIMIT_S_MAX.into()]);
    }

    #[test]
    fn the_defaults_are_those_of_the_flags() {
        let default = ExecutionSettings::default();
        let flags = [LEASE_S, HEARTBEAT_S, ATTEMPTS, BACKOFF_S, GATE_WAIT_S].map(|text| text.parse::<i64>().unwrap());
        let values = [
            default.lease_s,
            default.heartbeat_s,
            default.attempts_max,
            default.backoff_s,
            default.gate_wait_s,
        ];
        assert_eq!(flags, values);
        assert_eq!(default.poll.as_millis().to_string(), POLL_MS);
    }
}
