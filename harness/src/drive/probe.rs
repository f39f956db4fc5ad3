//! The probe: once per target and run, on processes of its own, finds out whether the server starts and which era it
//! speaks.

use super::DriveError;
use super::scribe::Scribe;
use super::session::{Answer, Session};
use super::stage::RunSetting;
use crate::protocol::{self, Era, Probed, REVISION_MODERN};
use crate::record::{CaseFolder, ServerSeen};

/// How long a server that may not know the probe is given to answer it, in milliseconds.
const PROBE_MS: u64 = 10_000;

/// How much of a server's last words is shown, in lines.
const LAST_WORDS_LINES: usize = 8;

/// The most of a stderr file that is read for them, in bytes.
const LAST_WORDS_BYTES: usize = 16 * 1024;

/// What the probe found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// It speaks this era.
    Speaks(Era, ServerSeen),
    /// It did not start: why, and the last lines of its standard error.
    DidNotStart {
        /// Why.
        reason: String,
        /// What it said before it ended.
        last_words: Vec<String>,
    },
}

/// Probes the target of a run.
pub async fn probe(
    setting: &RunSetting,
    folder: &CaseFolder,
    scribe: &mut Scribe,
    start_ms: u64,
) -> Result<Found, DriveError> {
    let mut session = match launch(setting, folder, scribe, "discover", Era::Modern) {
        Ok(session) => session,
        Err(DriveError::Launch(error)) => return Ok(did_not_start(folder, "discover", error.to_string())),
        Err(error) => return Err(error),
    };
    let answer = session.shake_hands(scribe, PROBE_MS.min(start_ms)).await?;
    let probed = match &answer {
        Answer::Reply(reply) => protocol::read_probe(reply),
        Answer::TimedOut | Answer::Gone => Probed::Legacy,
    };
    match probed {
        Probed::Modern(identity) => {
            end(session, scribe).await?;
            let server = ServerSeen {
                name: identity.name,
                version: identity.version,
                protocol: REVISION_MODERN.to_owned(),
            };
            Ok(Found::Speaks(Era::Modern, server))
        }
        Probed::TooNew(versions) => {
            end(session, scribe).await?;
            let reason = format!(
                "it speaks only {}; this harness knows up to {REVISION_MODERN}",
                versions.join(", ")
            );
            Ok(did_not_start(folder, "discover", reason))
        }
        Probed::Legacy if session.stream_ended() => {
            end(session, scribe).await?;
            let fresh = launch(setting, folder, scribe, "initialize", Era::Legacy)?;
            initialize(fresh, folder, scribe, start_ms).await
        }
        Probed::Legacy => {
            session.speak(Era::Legacy);
            initialize(session, folder, scribe, start_ms).await
        }
    }
}

fn launch(
    setting: &RunSetting,
    folder: &CaseFolder,
    scribe: &mut Scribe,
    process: &str,
    era: Era,
) -> Result<Session, DriveError> {
    let stage = setting.stage(&format!("probe-{process}"))?;
    let spec = setting.launch_spec(&stage, folder.stderr_file(process))?;
    Session::launch(scribe, process, &spec, era)
}

async fn initialize(
    mut session: Session,
    folder: &CaseFolder,
    scribe: &mut Scribe,
    start_ms: u64,
) -> Result<Found, DriveError> {
    let process = session.process.clone();
    let answer = session.shake_hands(scribe, start_ms).await?;
    end(session, scribe).await?;
    let reason = match &answer {
        Answer::Reply(reply) => match protocol::read_initialize(reply) {
            Some((protocol, identity)) => {
                let server = ServerSeen {
                    name: identity.name,
                    version: identity.version,
                    protocol,
                };
                return Ok(Found::Speaks(Era::Legacy, server));
            }
            None => "it answered `initialize` with an error, or without a protocol version".to_owned(),
        },
        Answer::TimedOut => format!("it answered neither `server/discover` nor `initialize` within {start_ms} ms"),
        Answer::Gone => "it ended before it answered a request".to_owned(),
    };
    Ok(did_not_start(folder, &process, reason))
}

async fn end(session: Session, scribe: &mut Scribe) -> Result<(), DriveError> {
    session.stop(scribe, PROBE_MS).await.map(drop)
}

fn did_not_start(folder: &CaseFolder, process: &str, reason: String) -> Found {
    let bytes = std::fs::read(folder.stderr_file(process)).unwrap_or_default();
    let tail = &bytes[bytes.len().saturating_sub(LAST_WORDS_BYTES)..];
    let text = String::from_utf8_lossy(tail);
    let lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect();
    let last_words = lines[lines.len().saturating_sub(LAST_WORDS_LINES)..].to_vec();
    Found::DidNotStart { reason, last_words }
}
