//! A harness that is still at work: started in a process group of its own, watched through its evidence, and killed.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;

use harness::drive::clock::wait_until_blocking;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use super::run::{Done, Harness, code, names};
use super::{MARK_VARIABLE, WAIT_MAX, await_marked, marked};

/// A harness at work.
#[derive(Debug)]
pub(crate) struct Running {
    harness: Harness,
    guard: Child,
    mark: String,
}

impl Running {
    /// Starts `harness run`. The target's profile must carry the same mark, so that its server can be found.
    pub(crate) fn start(harness: Harness, mark: &str) -> Self {
        Self::start_with(harness, "run", mark)
    }

    /// The same with another command of the harness.
    pub(crate) fn start_with(harness: Harness, command: &str, mark: &str) -> Self {
        let mut command = harness.command(&[command]);
        let file = |name: &str| File::create(harness.path(name)).expect("a file for what is printed");
        command.stdout(file("stdout")).stderr(file("stderr")).process_group(0);
        let guard = command.env(MARK_VARIABLE, mark).spawn().expect("start the harness");
        Self {
            harness,
            guard,
            mark: mark.to_owned(),
        }
    }

    /// The process that was started.
    pub(crate) fn guard(&self) -> Pid {
        Pid::from_child(&self.guard)
    }

    /// The process that does the work: the guard's child.
    pub(crate) fn run(&self) -> Pid {
        let guard = self.guard().as_raw_nonzero().get();
        let is_child = |pid: &i32| status(*pid, "PPid").and_then(|value| value.parse().ok()) == Some(guard);
        let run = marked(&self.mark).into_iter().find(is_child);
        run.and_then(Pid::from_raw)
            .expect("the guard has a child that carries the mark")
    }

    /// Every process of this harness and its server.
    pub(crate) fn processes(&self) -> usize {
        marked(&self.mark).len()
    }

    /// A number that the system keeps of the process that does the work, in KiB.
    pub(crate) fn memory_kib(&self, name: &str) -> u64 {
        let value = status(self.run().as_raw_nonzero().get(), name).expect("a line of the status");
        value.trim_end_matches(" kB").parse().expect("a number")
    }

    /// The evidence folder, once there is one.
    pub(crate) fn evidence(&self) -> Option<PathBuf> {
        let runs = self.harness.path("evidence/runs");
        let name = fs::read_link(runs.join("latest")).ok()?;
        Some(runs.join(name))
    }

    /// Waits until an event that is asked for stands in the record in this folder of the evidence.
    pub(crate) fn await_event(&self, folder: &str, is_it: impl Fn(&Value) -> bool) {
        let found = wait_until_blocking(WAIT_MAX, || {
            let file = self
                .evidence()
                .map(|evidence| evidence.join(folder).join("record.jsonl"));
            let text = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
            // A line without its end is still being written.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            whole
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .any(|event| is_it(&event))
        });
        assert!(found, "the event did not come: {}", self.printed());
    }

    /// Waits until there is such a file.
    pub(crate) fn await_file(&self, path: &Path) {
        let found = wait_until_blocking(WAIT_MAX, || path.exists());
        assert!(found, "{} did not come: {}", path.display(), self.printed());
    }

    /// Waits until a file of this name lies in some folder for temporary files.
    pub(crate) fn await_temporary(&self, name: &str) {
        let found = wait_until_blocking(WAIT_MAX, || lies_below(&self.harness.path("tmp"), name));
        assert!(found, "no {name} came: {}", self.printed());
    }

    /// Sends a signal to one process.
    pub(crate) fn signal(&self, pid: Pid, signal: Signal) {
        assert!(self.processes() > 0, "nothing runs any more");
        kill_process(pid, signal).expect("send a signal");
    }

    /// Sends a signal to the process group that the harness was started in, as a terminal does.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(self.guard(), signal).expect("send a signal");
    }

    /// Waits for the end; nothing of the harness, its server, or its temporary files may be left.
    pub(crate) fn end(mut self) -> Done {
        let ended = wait_until_blocking(WAIT_MAX, || matches!(self.guard.try_wait(), Ok(Some(_))));
        if !ended {
            let _ = self.guard.kill();
        }
        assert!(ended, "it does not end: {}", self.printed());
        let status = self.guard.wait().expect("the status of the guard");
        await_marked(&self.mark, 0);
        let temporary = self.harness.path("tmp");
        let is_empty = wait_until_blocking(WAIT_MAX, || names(&temporary).is_empty());
        assert!(is_empty, "temporary files are left: {:?}", names(&temporary));
        let read = |name: &str| fs::read_to_string(self.harness.path(name)).expect("what was printed");
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        Done::new(&self.harness, code(status), stdout, stderr)
    }

    fn printed(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.harness.path(name)).unwrap_or_default();
        format!("{}\n{}", read("stdout"), read("stderr"))
    }
}

impl Drop for Running {
    /// A test that failed leaves nothing: the run ends when its guard does.
    fn drop(&mut self) {
        if let Ok(None) = self.guard.try_wait() {
            let _ = self.guard.kill();
            let _ = self.guard.wait();
        }
    }
}

/// One value of `/proc/<pid>/status`.
fn status(pid: i32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(|value| value.trim().to_owned())
}

/// Whether a file of this name lies in a folder, which somebody is at work in.
fn lies_below(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| path.file_name().is_some_and(|found| found == name) || path.is_dir() && lies_below(&path, name))
}
