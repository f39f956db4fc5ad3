//! The seam by which a server is started: what is launched, how, and what comes of it.
//!
//! Decides nothing about the environment: it is passed exactly as given, plus the marker variable.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::{SignalKind, signal};

use super::exit::ExitWait;
use super::registry::Traces;
use super::server::ServerProcess;
use super::stderr::StderrDrain;
use super::{MARKER_VARIABLE, registry, tree};
use crate::drive::clock::StampFn;
use crate::drive::transport::{StdioLimits, StdioTransport, Transport};

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The working directory is not a directory.
    #[error("start `{program}`: the working directory {} is not a directory", cwd.display())]
    WorkingDirectory {
        /// The program as it was named.
        program: String,
        /// The directory.
        cwd: PathBuf,
    },
    /// The file for standard error could not be created; it must not exist.
    #[error("start `{program}`: create {} for its standard error: {source}", path.display())]
    StderrFile {
        /// The program as it was named.
        program: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program, or the interpreter that its first line names, was not found, neither as a path nor along the
    /// `PATH` in its environment.
    #[error(
        "start `{program}`: it, or the interpreter that its first line names, was not found; give a path, or a PATH that leads to it"
    )]
    NotFound {
        /// The program as it was named.
        program: String,
    },
    /// The system refused to start it.
    #[error("start `{program}`: {source}")]
    Spawn {
        /// The program as it was named.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// Our own machinery around it could not be set up: subreaper, signal handler, pipes.
    #[error("watch over `{program}`: {source}")]
    Machinery {
        /// The program as it was named.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The guard is ending this process; nothing is started any more.
    #[error("start `{program}`: the run is being ended")]
    Ending {
        /// The program as it was named.
        program: String,
    },
}

/// What is launched.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// A path, or a name to be found along the `PATH` in `env`.
    pub program: OsString,
    /// Its arguments, without the program.
    pub args: Vec<OsString>,
    /// Its entire environment; [`MARKER_VARIABLE`] is added.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Where its standard error goes; must not exist.
    pub stderr_file: PathBuf,
    /// Most bytes of standard error that are kept.
    pub stderr_bytes_max: u64,
}

/// How it is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Launch {
    /// As any program is.
    #[default]
    Plain,
}

/// A started server: its process and its wire.
#[derive(Debug)]
pub struct Launched {
    /// The process and all that descends from it.
    pub process: ServerProcess,
    /// The frames to and from it.
    pub transport: Transport,
}

impl Launch {
    /// Starts a server in a process group of its own. Must be called within a runtime that has io and time.
    ///
    /// `stamp` tells the time at which a frame was read. Dropping the result kills the whole tree.
    pub fn start(self, spec: &LaunchSpec, limits: StdioLimits, stamp: StampFn) -> Result<Launched, LaunchError> {
        let program = spec.program.to_string_lossy().into_owned();
        if !spec.cwd.is_dir() {
            return Err(LaunchError::WorkingDirectory {
                program,
                cwd: spec.cwd.clone(),
            });
        }
        let failed = |source| LaunchError::Machinery {
            program: program.clone(),
            source,
        };
        tree::become_subreaper().map_err(failed)?;
        // Started with SIGCHLD ignored, as some parents do, we could see no child end. A handler undoes that.
        let _ = signal(SignalKind::child()).map_err(failed)?;
        let stderr_file = File::create_new(&spec.stderr_file).map_err(|source| LaunchError::StderrFile {
            program: program.clone(),
            path: spec.stderr_file.clone(),
            source,
        })?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        let mut child = match self {
            Self::Plain => spawn_registered(spec, &token, &program).inspect_err(|_| {
                // Nobody wrote it, and nothing in the evidence would speak of it.
                let _ = fs::remove_file(&spec.stderr_file);
            })?,
        };
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on the drop of `process` ends what was started.
        let mut process = ServerProcess::new(child, token);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three were asked for as pipes");
        };
        let stderr = ChildStderr::from_std(stderr).map_err(failed)?;
        process.drain_stderr(StderrDrain::start(stderr, stderr_file, spec.stderr_bytes_max));
        let stdin = ChildStdin::from_std(stdin).map_err(failed)?;
        let stdout = ChildStdout::from_std(stdout).map_err(failed)?;
        let transport = Transport::Stdio(StdioTransport::start(stdin, stdout, limits, stamp));
        Ok(Launched { process, transport })
    }
}

impl Launched {
    /// Closes the server's standard input, as a client does that is done, and waits for it to exit.
    pub async fn close_stdin_and_wait(&mut self, bound: Duration) -> ExitWait {
        self.transport.close_sending();
        self.process.wait(bound).await
    }
}

fn spawn_registered(spec: &LaunchSpec, token: &str, program: &str) -> Result<Child, LaunchError> {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(&spec.env)
        .env(MARKER_VARIABLE, token)
        .current_dir(&spec.cwd);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let program = program.to_owned();
    let mut registry = registry::lock();
    if registry.is_closed() {
        return Err(LaunchError::Ending { program });
    }
    let child = command.spawn().map_err(|source| {
        if source.kind() == io::ErrorKind::NotFound {
            LaunchError::NotFound { program }
        } else {
            LaunchError::Spawn { program, source }
        }
    })?;
    registry.add_server(child.id().cast_signed(), token, traces(&child, spec));
    Ok(child)
}

/// By what the processes of a server are known, should they lose the marker.
fn traces(child: &Child, spec: &LaunchSpec) -> Traces {
    let inode = |pipe: Option<BorrowedFd<'_>>| Some(rustix::fs::fstat(pipe?).ok()?.st_ino);
    let pipes = [
        inode(child.stdin.as_ref().map(AsFd::as_fd)),
        inode(child.stdout.as_ref().map(AsFd::as_fd)),
        inode(child.stderr.as_ref().map(AsFd::as_fd)),
    ];
    Traces {
        pipes: pipes.into_iter().flatten().collect(),
        // As the system names it.
        cwd: spec.cwd.canonicalize().ok(),
    }
}
