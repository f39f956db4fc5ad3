//! The settings of `serve`, as written (flags and environment) and as resolved (typed and checked).
//!
//! It must not touch the store, and must not print: a wrong setting is an error that says which one, what it holds unless it is
//! a secret, and what to do.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use crate::clock::{Clock, ClockError};
use crate::defect::{Defect, Planted};
use crate::execution::engine::Terms;
use crate::execution::settings::{ExecutionArguments, ExecutionSettings};
use crate::failpoint::{Failpoint, Failpoints};
use crate::guard::fingerprint::FingerprintKey;
use crate::guard::request_state::StateSeal;

/// The environment variable that holds the key of request states, in hex. It has no flag: flags are seen by every user.
pub const STATE_KEY_VARIABLE: &str = "GUARD_STATE_KEY";
/// The environment variable that holds the key of fingerprints, in hex. It has no flag either.
pub const FINGERPRINT_KEY_VARIABLE: &str = "GUARD_FINGERPRINT_KEY";

const STATE_TTL_S: &str = "600";
const AUTHORITY_S: &str = "300";
pub(crate) const RETENTION_S: &str = "360";
pub(crate) const BUSY_TIMEOUT_MS: &str = "2000";
const TOOL_VERSION: &str = "1.0";
/// The longest limit that is accepted: ten years. It keeps every deadline far from overflow.
pub(crate) const LIMIT_S_MAX: u32 = 10 * 366 * 86_400;
/// The longest wait for a locked ledger that is accepted: half a minute.
pub(crate) const BUSY_TIMEOUT_MS_MAX: u32 = 30_000;
/// The longest principal or backend id that is accepted, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// The most workers that one process takes.
const WORKERS_MAX: u32 = 64;

/// The settings as they were written: flags first, then the environment. The two keys come from the environment only:
/// `GUARD_STATE_KEY` and `GUARD_FINGERPRINT_KEY`, each 32 bytes or more in hex.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Keys come from the environment only: GUARD_STATE_KEY and GUARD_FINGERPRINT_KEY, each 32 bytes or more in hex.
For each of them, `openssl rand -hex 32` makes one.")]
pub struct ServeArguments {
    /// The SQLite store; made when it does not exist
    #[arg(long, env = "GUARD_DATABASE", value_name = "PATH", hide_env_values = true)]
    pub database: Option<OsString>,
    /// The clock: `system`, `fixed:UNIX_SECONDS`, or `file:PATH` (read at each use)
    #[arg(
        long,
        env = "GUARD_CLOCK",
        value_name = "CLOCK",
        default_value = "system",
        hide_env_values = true
    )]
    pub clock: OsString,
    /// Who calls: the principal that every operation is bound to
    #[arg(long, env = "GUARD_PRINCIPAL", value_name = "NAME", hide_env_values = true)]
    pub principal: Option<OsString>,
    /// The id of the backend that the store is bound to
    #[arg(long, env = "GUARD_BACKEND", value_name = "ID", hide_env_values = true)]
    pub backend: Option<OsString>,
    /// How long a request state is accepted, in seconds from its issuance
    #[arg(long, env = "GUARD_STATE_TTL", value_name = "SECONDS", default_value = STATE_TTL_S, hide_env_values = true)]
    pub state_ttl: OsString,
    /// How long the caller's consent is good, in seconds from the issuance of the request state
    #[arg(long, env = "GUARD_AUTHORITY", value_name = "SECONDS", default_value = AUTHORITY_S, hide_env_values = true)]
    pub authority: OsString,
    /// How long a stored result is replayed, in seconds from its commit
    #[arg(long, env = "GUARD_RETENTION", value_name = "SECONDS", default_value = RETENTION_S, hide_env_values = true)]
    pub retention: OsString,
    /// How long a write waits for a locked ledger before it is refused as busy, in milliseconds
    #[arg(long, env = "GUARD_BUSY_TIMEOUT_MS", value_name = "MILLISECONDS", default_value = BUSY_TIMEOUT_MS, hide_env_values = true)]
    pub busy_timeout_ms: OsString,
    /// The version of `create_issue`'s contract, which request states and fingerprints bind
    #[arg(long, env = "GUARD_TOOL_VERSION", value_name = "VERSION", default_value = TOOL_VERSION, hide_env_values = true)]
    pub tool_version: OsString,
    /// How many workers, with a reaper, work inside this process; the others are processes of their own
    #[arg(
        long,
        env = "GUARD_WORKERS",
        value_name = "COUNT",
        default_value = "0",
        hide_env_values = true
    )]
    pub workers: OsString,
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

/// The settings as resolved. Nothing else of the crate reads flags or the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The store's path.
    pub database: PathBuf,
    /// Where the time comes from.
    pub clock: Clock,
    /// Who calls.
    pub principal: String,
    /// Which backend the store is bound to.
    pub backend: String,
    /// The version of `create_issue`'s contract.
    pub tool_version: String,
    /// Seals and opens request states.
    pub state_seal: StateSeal,
    /// The key of fingerprints.
    pub fingerprint_key: FingerprintKey,
    /// How long things are good.
    pub limits: Limits,
    /// How many workers work inside this process.
    pub workers: u32,
    /// Leases, attempts, backoff.
    pub execution: ExecutionSettings,
    /// The failpoint that is armed, if any.
    pub failpoints: Failpoints,
    /// The defect that is planted, if any.
    pub planted: Planted,
}

/// How long things are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A request state, in seconds from its issuance.
    pub state_ttl_s: i64,
    /// The caller's consent, in seconds from the issuance of the request state.
    pub authority_s: i64,
    /// A stored result, in seconds from its commit.
    pub retention_s: i64,
    /// The wait for a locked ledger, in milliseconds.
    pub busy_timeout_ms: u32,
}

/// A setting that cannot be used. Its text is one line.
#[derive(Debug, Error)]
pub enum SettingError {
    /// It is not there.
    #[error("{name} is missing; {advice}")]
    Missing {
        /// The setting: its flag and its variable.
        name: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// It is there, and holds nothing.
    #[error("{name} is empty; {advice}")]
    Empty {
        /// The setting.
        name: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// It holds something that cannot be used.
    #[error("{name} is {value:?}: {advice}")]
    Wrong {
        /// The setting.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What is wrong and what to do.
        advice: String,
    },
    /// A secret holds something that cannot be used, and is not shown.
    #[error("{name} cannot be used: {advice}")]
    WrongSecret {
        /// The setting.
        name: &'static str,
        /// What is wrong and what to do.
        advice: &'static str,
    },
    /// The clock is well named, and tells no time.
    #[error("--clock (GUARD_CLOCK) tells no time: {0}; write the Unix seconds there before the start")]
    ClockIsSilent(ClockError),
}

const KEY_ADVICE: &str = "set it to 32 random bytes or more in hex, as `openssl rand -hex 32` prints them";

impl Settings {
    /// Checks every setting. `variable` looks a variable of the environment up; only the two keys are asked for.
    pub fn resolve(
        written: &ServeArguments,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingError> {
        let key = |name| {
            let text = required(name, variable(name).as_deref(), KEY_ADVICE)?;
            key_bytes(name, &text)
        };
        let planted = planted(written.defect.as_deref())?;
        let settings = Self {
            database: database(written.database.as_deref())?,
            clock: clock(&written.clock)?,
            principal: name(
                "--principal (GUARD_PRINCIPAL)",
                written.principal.as_deref(),
                "name the caller, as in alice",
            )?,
            backend: name(
                "--backend (GUARD_BACKEND)",
                written.backend.as_deref(),
                "name the store, as in sqlite:main",
            )?,
            tool_version: name(
                "--tool-version (GUARD_TOOL_VERSION)",
                Some(&written.tool_version),
                "leave it out to get the default",
            )?,
            state_seal: state_seal(key(STATE_KEY_VARIABLE)?, planted)?,
            fingerprint_key: FingerprintKey::new(key(FINGERPRINT_KEY_VARIABLE)?).map_err(|_short| {
                SettingError::WrongSecret {
                    name: FINGERPRINT_KEY_VARIABLE,
                    advice: KEY_ADVICE,
                }
            })?,
            limits: limits(written)?,
            workers: workers(&written.workers)?,
            execution: ExecutionSettings::resolve(&written.execution)?,
            failpoints: failpoints(written.failpoint.as_deref())?,
            planted,
        };
        settings.clock.now_s().map_err(SettingError::ClockIsSilent)?;
        Ok(settings)
    }

    /// What durable execution works under.
    pub(crate) fn terms(&self) -> Terms {
        Terms {
            clock: self.clock.clone(),
            settings: self.execution.clone(),
            retention_s: self.limits.retention_s,
            failpoints: self.failpoints.clone(),
            planted: self.planted,
        }
    }
}

/// None is a number of workers too.
fn workers(written: &OsStr) -> Result<u32, SettingError> {
    if written == "0" {
        return Ok(0);
    }
    whole("--workers (GUARD_WORKERS)", written, WORKERS_MAX)
}

pub(crate) fn planted(written: Option<&OsStr>) -> Result<Planted, SettingError> {
    let known = || Defect::every().map(Defect::name).collect();
    Ok(Planted(choice("--defect (GUARD_DEFECT)", written, known)?))
}

pub(crate) fn failpoints(written: Option<&OsStr>) -> Result<Failpoints, SettingError> {
    let chosen = choice("--failpoint (GUARD_FAILPOINT)", written, || {
        Failpoint::names().collect()
    })?;
    Ok(Failpoints::new(chosen))
}

fn state_seal(key: Vec<u8>, planted: Planted) -> Result<StateSeal, SettingError> {
    let key = if planted.is(Defect::ForgetsFirstRound) {
        let of_this_process = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
        of_this_process.iter().flat_map(uuid::Uuid::as_bytes).copied().collect()
    } else {
        key
    };
    StateSeal::new(key).map_err(|_short| SettingError::WrongSecret {
        name: STATE_KEY_VARIABLE,
        advice: KEY_ADVICE,
    })
}

pub(crate) fn required(
    name: &'static str,
    value: Option<&OsStr>,
    advice: &'static str,
) -> Result<String, SettingError> {
    let value = value.ok_or(SettingError::Missing { name, advice })?;
    if value.is_empty() {
        return Err(SettingError::Empty { name, advice });
    }
    let text = value.to_str().map(str::to_owned);
    text.ok_or_else(|| wrong(name, value, format!("it is not UTF-8; {advice}")))
}

pub(crate) fn wrong(name: &'static str, value: &OsStr, advice: String) -> SettingError {
    SettingError::Wrong {
        name,
        value: value.to_string_lossy().into_owned(),
        advice,
    }
}

/// Something about the store, with the setting that names it and its path in front.
pub(crate) fn about_store(path: &Path, words: &dyn Display) -> String {
    format!("--database (GUARD_DATABASE) {}: {words}", path.display())
}

pub(crate) fn database(value: Option<&OsStr>) -> Result<PathBuf, SettingError> {
    const NAME: &str = "--database (GUARD_DATABASE)";
    const ADVICE: &str = "give the path of the SQLite store";
    let text = required(NAME, value, ADVICE)?;
    let path = PathBuf::from(&text);
    let advice = if text.starts_with(':') {
        "a store must be a file, or nothing survives a restart"
    } else if path.is_dir() {
        "it is a folder; give the path of a file in it"
    } else if path
        .parent()
        .is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        "its folder does not exist; make it first"
    } else {
        return Ok(path);
    };
    Err(wrong(NAME, OsStr::new(&text), advice.to_owned()))
}

pub(crate) fn clock(value: &OsStr) -> Result<Clock, SettingError> {
    const NAME: &str = "--clock (GUARD_CLOCK)";
    let text = required(NAME, Some(value), "use system, fixed:UNIX_SECONDS or file:PATH")?;
    Clock::parse(&text).map_err(|error| wrong(NAME, value, error.to_string()))
}

pub(crate) fn name(name: &'static str, value: Option<&OsStr>, advice: &'static str) -> Result<String, SettingError> {
    let text = required(name, value, advice)?;
    if text.len() > NAME_BYTES_MAX || text.chars().any(char::is_control) || text.trim() != text {
        let advice = format!("use at most {NAME_BYTES_MAX} printable bytes without white space around them");
        return Err(wrong(name, OsStr::new(&text), advice));
    }
    Ok(text)
}

fn key_bytes(name: &'static str, text: &str) -> Result<Vec<u8>, SettingError> {
    base16ct::mixed::decode_vec(text).map_err(|_not_hex| SettingError::WrongSecret {
        name,
        advice: KEY_ADVICE,
    })
}

fn limits(written: &ServeArguments) -> Result<Limits, SettingError> {
    Ok(Limits {
        state_ttl_s: whole("--state-ttl (GUARD_STATE_TTL)", &written.state_ttl, LIMIT_S_MAX)?.into(),
        authority_s: whole("--authority (GUARD_AUTHORITY)", &written.authority, LIMIT_S_MAX)?.into(),
        retention_s: whole("--retention (GUARD_RETENTION)", &written.retention, LIMIT_S_MAX)?.into(),
        busy_timeout_ms: whole(
            "--busy-timeout-ms (GUARD_BUSY_TIMEOUT_MS)",
            &written.busy_timeout_ms,
            BUSY_TIMEOUT_MS_MAX,
        )?,
    })
}

pub(crate) fn whole(name: &'static str, value: &OsStr, at_most: u32) -> Result<u32, SettingError> {
    let text = required(name, Some(value), "leave it out to get the default")?;
    let number = text.parse::<u32>().ok().filter(|number| (1..=at_most).contains(number));
    number.ok_or_else(|| wrong(name, value, format!("use a whole number from 1 to {at_most}")))
}

fn choice<T: FromStr>(
    name: &'static str,
    value: Option<&OsStr>,
    known: impl Fn() -> Vec<&'static str>,
) -> Result<Option<T>, SettingError> {
    let Some(value) = value else { return Ok(None) };
    let text = required(name, Some(value), "leave it out to have none")?;
    let chosen = text.parse::<T>();
    chosen
        .map(Some)
        .map_err(|_unknown| wrong(name, value, format!("use one of {}", known().join(", "))))
}
