//! The kill of a server that is no process of ours: what was launched (`docker run`, `ssh`) is only a line to it, so the
//! profile names a command that kills it, `[launch] kill`.
//!
//! It is run once for each launch, before the launcher's own tree is killed, and also when a run is broken off: a container
//! must not outlive the run that started it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::DriveError;
use super::clock;
use super::process::{Helper, HelperError};
use super::scribe::Scribe;
use crate::record::Body;

/// Longest time that a kill command may take, in milliseconds.
const KILL_COMMAND_MS: u64 = 10_000;

/// How much of its standard error is looked at for its last words, in bytes.
const LAST_WORDS_BYTES: u64 = 4 * 1024;

/// How much of its last line is told, in characters.
const LAST_LINE_CHARS: usize = 300;

/// A kill command, filled in for one launch.
#[derive(Debug, Clone)]
pub struct KillCommand {
    /// A path, or a name to be found along the `PATH` in `env`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its entire environment: that of the launch.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
}

/// A server elsewhere, which lives until it was killed or has ended by itself.
#[derive(Debug)]
pub(super) struct Outside {
    command: KillCommand,
    is_over: bool,
}

/// What became of a kill command.
struct Ran {
    code: Option<i32>,
    trouble: Option<String>,
}

impl Outside {
    /// A server that this command kills.
    pub(super) fn new(command: KillCommand) -> Self {
        Self {
            command,
            is_over: false,
        }
    }

    /// It has ended by itself, so there is nothing to kill.
    pub(super) fn has_ended(&mut self) {
        self.is_over = true;
    }

    /// Runs the command; returns why it is not believed, where it is not.
    pub(super) async fn kill(&mut self, scribe: &mut Scribe, process: &str) -> Result<Option<String>, DriveError> {
        let ran = self.run().await;
        self.is_over = true;
        let body = Body::KillCommandRun {
            command: self.command.words(),
            code: ran.code,
            trouble: ran.trouble.clone(),
        };
        scribe.write(Some(process), body)?;
        Ok(ran.trouble)
    }

    async fn run(&self) -> Ran {
        let mut running = match self.command.start() {
            Ok(running) => running,
            Err(reason) => return self.command.failed(None, &format!("could not be run: {reason}")),
        };
        let bound = Duration::from_millis(KILL_COMMAND_MS);
        clock::wait_until(bound, || running.has_ended()).await;
        self.command.ended(running)
    }
}

impl Drop for Outside {
    /// Nobody is there any more to be told how it went.
    fn drop(&mut self) {
        if !self.is_over
            && let Ok(mut running) = self.command.start()
        {
            let bound = Duration::from_millis(KILL_COMMAND_MS);
            clock::wait_until_blocking(bound, || running.has_ended());
        }
    }
}

/// A kill command that was started.
struct Running {
    helper: Helper,
    /// Its standard error. A file: a child that it leaves behind may keep a pipe open.
    said: File,
    status: Option<ExitStatus>,
}

impl Running {
    fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.helper.child().try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// The last line of its standard error that is not empty.
    fn last_line(&mut self) -> Option<String> {
        let length = self.said.seek(SeekFrom::End(0)).ok()?;
        let from = length.saturating_sub(LAST_WORDS_BYTES);
        self.said.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        (&self.said).take(LAST_WORDS_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(LAST_LINE_CHARS).collect())
    }
}

impl KillCommand {
    /// Program and arguments.
    pub fn words(&self) -> Vec<String> {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn start(&self) -> Result<Running, String> {
        let said = tempfile::tempfile().map_err(|error| error.to_string())?;
        let stderr = said.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env);
        command
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let helper = Helper::spawn(command.stderr(stderr)).map_err(|error| match error {
            HelperError::Spawn { source, .. } => source.to_string(),
            HelperError::Ending { .. } => "the run is being ended".to_owned(),
        })?;
        Ok(Running {
            helper,
            said,
            status: None,
        })
    }

    fn ended(&self, mut running: Running) -> Ran {
        let Some(status) = running.status else {
            return self.failed(None, &format!("did not end within {KILL_COMMAND_MS} ms"));
        };
        if status.success() {
            return Ran {
                code: Some(0),
                trouble: None,
            };
        }
        let how = match status.code() {
            Some(code) => format!("exited with code {code}"),
            None => "was ended by a signal".to_owned(),
        };
        let how = match running.last_line() {
            Some(line) => format!("{how} and said: {line}"),
            None => how,
        };
        self.failed(status.code(), &how)
    }

    fn failed(&self, code: Option<i32>, how: &str) -> Ran {
        let command = self.words().join(" ");
        Ran {
            code,
            trouble: Some(format!(
                "the kill command `{command}` {how}; so it is not known whether the server was killed"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> KillCommand {
        KillCommand {
            program: "/bin/sh".into(),
            args: ["-c", script].map(OsString::from).to_vec(),
            env: BTreeMap::new(),
            cwd: std::env::temp_dir(),
        }
    }

    fn run(command: KillCommand) -> Ran {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let mut outside = Outside::new(command);
        outside.has_ended();
        runtime.expect("a runtime").block_on(outside.run())
    }

    #[test]
    fn only_an_exit_with_code_zero_is_believed() {
        let done = run(shell("exit 0"));
        assert_eq!((done.code, done.trouble), (Some(0), None));
        let failed = run(shell("echo first >&2; echo 'no such container' >&2; echo >&2; exit 3"));
        assert_eq!(failed.code, Some(3));
        let trouble = failed.trouble.expect("trouble");
        assert!(
            trouble.contains("exited with code 3 and said: no such container"),
            "{trouble}"
        );
        let killed = run(shell("kill -9 $$")).trouble.expect("trouble");
        assert!(killed.contains("was ended by a signal"), "{killed}");
    }

    #[test]
    fn a_command_that_is_not_there_is_told() {
        let command = KillCommand {
            program: "/no/such/program".into(),
            ..shell("")
        };
        let trouble = run(command).trouble.expect("trouble");
        assert!(trouble.contains("`/no/such/program -c ` could not be run"), "{trouble}");
    }

    /// A run that is broken off must leave no container.
    #[test]
    fn a_server_that_was_not_killed_is_killed_when_it_is_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("told");
        let script = format!("echo told > {}", told.display());
        let mut ended = Outside::new(shell(&script));
        ended.has_ended();
        drop(ended);
        assert!(!told.exists());
        drop(Outside::new(shell(&script)));
        assert!(told.exists());
    }
}
