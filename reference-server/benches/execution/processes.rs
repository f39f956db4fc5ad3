//! The children of the benchmark, each killed and waited for by its handle, whatever happens to whoever started it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All children that live. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crew(Arc<Mutex<Members>>);

#[derive(Debug, Default)]
struct Members {
    children: Vec<Child>,
    ended: bool,
}

impl Crew {
    /// Starts a process with pipes for its input and output. What it complains of is seen.
    pub(crate) fn start(&self, command: &mut Command) -> Process {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        // Under the lock, so that no child comes to life beside the end.
        let mut members = self.members();
        assert!(!members.ended, "the benchmark was told to end");
        let mut child = command.spawn().expect("start a process");
        let process = Process {
            crew: self.clone(),
            pid: child.id(),
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().expect("it was asked for as a pipe")),
            line: Vec::new(),
        };
        members.children.push(child);
        process
    }

    /// Kills every child, and lets nobody start another one.
    pub(crate) fn end(&self) {
        let mut members = self.members();
        members.ended = true;
        members.children.drain(..).for_each(kill);
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, pid: u32) -> Option<Child> {
        let mut members = self.members();
        let place = members.children.iter().position(|child| child.id() == pid)?;
        Some(members.children.swap_remove(place))
    }
}

fn kill(mut child: Child) {
    // Both do nothing where it has ended.
    let _ = child.kill();
    let _ = child.wait();
}

/// A child with the bare pipes to it; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    crew: Crew,
    pid: u32,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Process {
    /// Sends one line, which brings its own end, and returns the next one.
    pub(crate) fn exchange(&mut self, line: &[u8]) -> &[u8] {
        let stdin = self.stdin.as_mut().expect("it is closed at the end only");
        stdin.write_all(line).expect("write to a process");
        self.line.clear();
        let length = self.stdout.read_until(b'\n', &mut self.line);
        assert!(length.expect("read from a process") > 0, "it ended before it replied");
        &self.line
    }

    /// Closes its input, and waits until it has ended well. The wait is for the end of its output, which nobody has to lock.
    pub(crate) fn end(mut self) {
        self.stdin = None;
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest).expect("read from a process");
        let mut child = self.crew.release(self.pid).expect("nobody has ended it");
        let status = child.wait().expect("wait for a process");
        assert!(status.success(), "a process failed, {status}; it has said why above");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = self.crew.release(self.pid) {
            kill(child);
        }
    }
}
