//! A bare client on a server of its own: writes a line, reads a line, and looks for nothing but the line's end.
//!
//! It has no bounds of its own, which would be costs; a watchdog beside it ends what hangs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use harness::drive::clock::wait_until_blocking;
use harness::drive::process::LaunchSpec;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// No server of this benchmark lives longer.
const SERVER_TIME_MAX: Duration = Duration::from_secs(120);

/// From the end of a server's standard input to its exit.
const EXIT_TIME_MAX: Duration = Duration::from_secs(10);

/// Kills one process when its time is over; dropping it calls that off.
#[derive(Debug)]
pub(crate) struct Watchdog {
    _called_off: mpsc::Sender<()>,
}

impl Watchdog {
    /// Watches over a child of this process that nobody has waited for yet.
    pub(crate) fn over(pid: u32, time_max: Duration) -> Self {
        let pid = Pid::from_raw(pid.cast_signed()).expect("the pid of a child is above zero");
        // By a descriptor, because the pid may mean another process by the time it is over.
        let child = pidfd_open(pid, PidfdFlags::empty()).expect("a descriptor of a child");
        let (called_off, is_called_off) = mpsc::channel();
        std::thread::spawn(move || {
            if is_called_off.recv_timeout(time_max) == Err(RecvTimeoutError::Timeout) {
                // It may have ended in this moment.
                let _ = pidfd_send_signal(&child, Signal::KILL);
            }
        });
        Self {
            _called_off: called_off,
        }
    }
}

/// A started server and the bare pipes to it; dropping it kills it.
#[derive(Debug)]
pub(crate) struct RawServer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    _watchdog: Watchdog,
}

impl RawServer {
    /// Starts it just as the driver does, but for its standard error, which nobody keeps.
    pub(crate) fn start(spec: &LaunchSpec) -> Self {
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.args)
            .env_clear()
            .envs(&spec.env)
            .current_dir(&spec.cwd);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("start a server");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it was asked for as a pipe"));
        Self {
            _watchdog: Watchdog::over(child.id(), SERVER_TIME_MAX),
            child,
            stdin,
            stdout,
            line: Vec::new(),
        }
    }

    /// Sends one line, which brings its own end, and returns the next one.
    pub(crate) fn exchange(&mut self, line: &[u8]) -> &[u8] {
        let stdin = self.stdin.as_mut().expect("it is closed at the end only");
        stdin.write_all(line).expect("write to a server");
        self.line.clear();
        let length = self
            .stdout
            .read_until(b'\n', &mut self.line)
            .expect("read from a server");
        assert!(length > 0, "a server ended, or was ended, before it replied");
        &self.line
    }

    /// Ends it as a client does that is done.
    pub(crate) fn end(mut self) {
        self.stdin = None;
        let child = &mut self.child;
        let ended = wait_until_blocking(EXIT_TIME_MAX, || matches!(child.try_wait(), Ok(Some(_))));
        assert!(ended, "a server did not end within {} s", EXIT_TIME_MAX.as_secs());
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        // Both do nothing where it has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
