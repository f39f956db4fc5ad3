//! The probe: once per target and run, on processes of its own, finds out whether the server starts, which era it speaks,
//! and which tools it lists.

use std::io::ErrorKind;

use serde_json::Value;

use super::DriveError;
use super::last_words::last_words;
use super::process::{Exit, LaunchError};
use super::scribe::Scribe;
use super::session::{Answer, Ending, Session};
use super::stage::RunSetting;
use crate::case::{Role, StartStep};
use crate::protocol::{self, Era, Probed, Protocol, REVISION_MODERN, ServerIdentity};
use crate::record::{CaseFolder, ServerSeen};
use crate::target::TargetSource;

/// How long a server that may not know the probe is given to answer it, in milliseconds.
const PROBE_MS: u64 = 10_000;

/// How much of a server's last words is shown, in lines.
const LAST_WORDS_LINES: usize = 8;

/// What interpreters say of a program or a module that is not there.
const NOT_THE_ENVIRONMENT: [&str; 6] = [
    "can't open file",
    "No module named",
    "Cannot find module",
    "MODULE_NOT_FOUND",
    "ERR_MODULE_NOT_FOUND",
    "Unable to access jarfile",
];

/// What a user can try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hint {
    Environment,
    Silence,
    Executable,
    /// No modern server, and no other is wanted.
    NotModern,
    /// A server that does not take the legacy revision that is wanted.
    OtherRevision,
}

impl Hint {
    /// Whether it is no help where a program or a module is not there.
    fn needs_a_program(self) -> bool {
        matches!(self, Self::Environment | Self::NotModern)
    }

    /// In the words of where the target came from.
    fn text(self, source: &TargetSource) -> &'static str {
        let by_flags = *source == TargetSource::Command;
        match self {
            Self::Environment if by_flags => {
                "if it starts in your shell, it may need more of your environment: pass what it needs with -e NAME, or \
                 everything with --inherit-env"
            }
            Self::Environment => {
                "if it starts in your shell, it may need more of your environment: name what it needs in [launch] env, or \
                 as [launch] secrets"
            }
            Self::Silence if by_flags => {
                "does it write each reply as one line, and flush its standard output after it (Python: \
                 -e PYTHONUNBUFFERED=1)?"
            }
            Self::Silence => {
                "does it write each reply as one line, and flush its standard output after it (Python: PYTHONUNBUFFERED = \
                 \"1\" in [launch] env)?"
            }
            Self::Executable if by_flags => "make it executable (chmod +x), or name its interpreter first",
            Self::Executable => "make it executable (chmod +x), or name its interpreter first in launch.command",
            Self::NotModern => {
                "--protocol auto finds out what the server speaks; older revisions begin with `initialize`, such as \
                 --protocol 2025-11-25"
            }
            Self::OtherRevision => {
                "--protocol auto finds out what the server speaks, and takes the revision that it answers with"
            }
        }
    }
}

/// What the probe found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// It serves.
    Speaks {
        /// The era that it speaks.
        era: Era,
        /// What it says of itself.
        server: ServerSeen,
        /// The tools that it lists; nothing where it does not list them all on one page.
        tools: Option<Vec<Value>>,
    },
    /// It did not start.
    DidNotStart {
        /// Why.
        reason: String,
        /// What to try.
        hint: Option<&'static str>,
        /// The last lines of its standard error.
        last_words: Vec<String>,
    },
}

/// Probes the target of a run; no wait is longer than `start_ms`.
pub async fn probe(
    setting: &RunSetting,
    folder: &CaseFolder,
    scribe: &mut Scribe,
    start_ms: u64,
) -> Result<Found, DriveError> {
    let probing = Probing {
        setting,
        folder,
        start_ms,
    };
    let (process, era) = match setting.target.protocol.era() {
        Some(Era::Legacy) => ("initialize", Era::Legacy),
        Some(Era::Modern) | None => ("discover", Era::Modern),
    };
    let mut session = match probing.launch(scribe, process, era) {
        Ok(session) => session,
        Err(DriveError::Launch(error)) => return Ok(not_launched(&error, &setting.target.source)),
        Err(error) => return Err(error),
    };
    if let Protocol::Only(_) = setting.target.protocol {
        return match era {
            Era::Modern => probing.discover(session, scribe).await,
            Era::Legacy => probing.initialize(session, scribe).await,
        };
    }
    let answer = session.shake_hands(scribe, probing.bound_ms()).await?;
    let probed = match &answer {
        Answer::Reply(reply) => protocol::read_probe(reply),
        Answer::TimedOut | Answer::Gone => Probed::Legacy,
    };
    match probed {
        Probed::Modern(identity) => probing.listed(session, scribe, identity, REVISION_MODERN).await,
        Probed::TooNew(versions) => {
            probing.end(session, scribe).await?;
            Ok(probing.did_not_start("discover", too_new(&versions), None))
        }
        // After the end of the stream, `initialize` goes to a fresh process.
        Probed::Legacy if session.stream_ended() => {
            probing.end(session, scribe).await?;
            let fresh = probing.launch(scribe, "initialize", Era::Legacy)?;
            probing.initialize(fresh, scribe).await
        }
        Probed::Legacy => {
            session.speak(Era::Legacy);
            probing.initialize(session, scribe).await
        }
    }
}

struct Probing<'a> {
    setting: &'a RunSetting,
    folder: &'a CaseFolder,
    start_ms: u64,
}

impl Probing<'_> {
    fn bound_ms(&self) -> u64 {
        PROBE_MS.min(self.start_ms)
    }

    fn launch(&self, scribe: &mut Scribe, process: &str, era: Era) -> Result<Session, DriveError> {
        let stage = self.setting.stage(&format!("probe-{process}"))?;
        let stage = self.setting.for_launch(
            &stage,
            &StartStep {
                process: process.to_owned(),
                ..StartStep::default()
            },
        );
        let spec = self
            .setting
            .launch_spec(&stage, Role::Server, self.folder.stderr_file(process))?;
        let kill = self.setting.kill_command(&stage)?;
        Ok(Session::launch(scribe, process, &spec, kill, era)?
            .asking_for(self.setting.target.protocol, self.setting.offer()))
    }

    /// The modern era, which alone is wanted.
    async fn discover(&self, mut session: Session, scribe: &mut Scribe) -> Result<Found, DriveError> {
        let process = session.process.clone();
        let answer = session.shake_hands(scribe, self.start_ms).await?;
        let (instead, _) = session.instead();
        let reason = match &answer {
            Answer::Reply(reply) => match protocol::read_probe(reply) {
                Probed::Modern(identity) => return self.listed(session, scribe, identity, REVISION_MODERN).await,
                Probed::TooNew(versions) => {
                    self.end(session, scribe).await?;
                    return Ok(self.did_not_start(&process, too_new(&versions), None));
                }
                Probed::Legacy => {
                    let said = protocol::said_to_discover(reply);
                    format!("it was asked for {REVISION_MODERN}, and answered `server/discover` {said}")
                }
            },
            Answer::TimedOut => format!(
                "it was asked for {REVISION_MODERN}, and did not answer `server/discover` within {} ms{instead}",
                self.start_ms
            ),
            Answer::Gone => {
                let exit = self.end(session, scribe).await?;
                let reason = format!("{exit} before it answered `server/discover`{instead}");
                return Ok(self.did_not_start(&process, reason, Some(Hint::NotModern)));
            }
        };
        self.end(session, scribe).await?;
        Ok(self.did_not_start(&process, reason, Some(Hint::NotModern)))
    }

    async fn initialize(&self, mut session: Session, scribe: &mut Scribe) -> Result<Found, DriveError> {
        let process = session.process.clone();
        let wanted = self.setting.target.protocol;
        let answer = session.shake_hands(scribe, self.start_ms).await?;
        // The answer to the first probe came late: the server is slow to start, and modern all the same. After
        // `initialize` it may be confused, so the next words go to a fresh process.
        if let Some(Probed::Modern(identity)) = session.late_probe().map(protocol::read_probe) {
            self.end(session, scribe).await?;
            let mut fresh = self.launch(scribe, "discover-again", Era::Modern)?;
            if let Answer::Reply(_) = fresh.shake_hands(scribe, self.start_ms).await? {
                return self.listed(fresh, scribe, identity, REVISION_MODERN).await;
            }
            let exit = self.end(fresh, scribe).await?;
            let reason =
                format!("it answered `server/discover` once, late, and at the second start it did not ({exit})");
            return Ok(self.did_not_start("discover-again", reason, None));
        }
        let (reason, hint) = match &answer {
            Answer::Reply(reply) => match protocol::read_initialize(reply, wanted) {
                Ok((revision, identity)) => return self.listed(session, scribe, identity, &revision).await,
                Err(reason) => (reason, wanted.revision().map(|_| Hint::OtherRevision)),
            },
            Answer::TimedOut => {
                let silent = match wanted {
                    Protocol::Auto => format!(
                        "it answered neither `server/discover` within {} ms nor `initialize` within {} ms",
                        self.bound_ms(),
                        self.start_ms
                    ),
                    Protocol::Only(revision) => format!(
                        "it was asked for {}, and did not answer `initialize` within {} ms",
                        revision.name(),
                        self.start_ms
                    ),
                };
                // What came is more to the point than what may be.
                let (instead, is_meant) = session.instead();
                (format!("{silent}{instead}"), (!is_meant).then_some(Hint::Silence))
            }
            Answer::Gone => {
                let (instead, _) = session.instead();
                let exit = self.end(session, scribe).await?;
                let reason = format!("{exit} before it answered a request{instead}");
                return Ok(self.did_not_start(&process, reason, Some(Hint::Environment)));
            }
        };
        self.end(session, scribe).await?;
        Ok(self.did_not_start(&process, reason, hint))
    }

    /// The server serves: ask for its tools, and end it.
    async fn listed(
        &self,
        mut session: Session,
        scribe: &mut Scribe,
        identity: ServerIdentity,
        revision: &str,
    ) -> Result<Found, DriveError> {
        let era = session.era();
        let request = protocol::list_tools(era, scribe.new_id());
        let answer = session.ask(scribe, &request, self.bound_ms()).await?;
        let tools = match &answer {
            Answer::Reply(reply) if reply.pointer("/result/nextCursor").is_none_or(Value::is_null) => {
                reply.pointer("/result/tools").and_then(Value::as_array).cloned()
            }
            Answer::Reply(_) | Answer::TimedOut | Answer::Gone => None,
        };
        self.end(session, scribe).await?;
        let server = ServerSeen {
            name: identity.name,
            version: identity.version,
            protocol: revision.to_owned(),
        };
        Ok(Found::Speaks { era, server, tools })
    }

    async fn end(&self, session: Session, scribe: &mut Scribe) -> Result<Exit, DriveError> {
        Ok(session
            .stop(scribe, Ending::StandardInput, self.bound_ms(), self.bound_ms())
            .await?
            .exit)
    }

    fn did_not_start(&self, process: &str, reason: String, hint: Option<Hint>) -> Found {
        let last_words = last_words(&self.folder.stderr_file(process), LAST_WORDS_LINES);
        // A program that is not there, or lacks a module, is not mended by more variables.
        let is_missing = |line: &String| NOT_THE_ENVIRONMENT.iter().any(|text| line.contains(text));
        let hint = hint.filter(|hint| !(hint.needs_a_program() && last_words.iter().any(is_missing)));
        Found::DidNotStart {
            reason,
            hint: hint.map(|hint| hint.text(&self.setting.target.source)),
            last_words,
        }
    }
}

fn too_new(versions: &[String]) -> String {
    let versions = protocol::shortened(&versions.join(", "), protocol::SAID_CHARS_MAX);
    format!("it speaks only {versions}; this harness knows up to {REVISION_MODERN}")
}

fn not_launched(error: &LaunchError, source: &TargetSource) -> Found {
    let hint = match error {
        LaunchError::Spawn { source: cause, .. } if cause.kind() == ErrorKind::PermissionDenied => {
            Some(Hint::Executable.text(source))
        }
        LaunchError::Spawn { .. }
        | LaunchError::WorkingDirectory { .. }
        | LaunchError::StderrFile { .. }
        | LaunchError::NotFound { .. }
        | LaunchError::Machinery { .. }
        | LaunchError::Ending { .. } => None,
    };
    Found::DidNotStart {
        reason: error.to_string(),
        hint,
        last_words: Vec::new(),
    }
}
