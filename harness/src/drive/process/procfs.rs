//! Reads what `/proc` says of processes. Linux only; it looks, and changes nothing.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::Pid;
use super::registry::Traces;

/// Longest environment that is searched for a variable, in bytes.
const ENVIRONMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The parts of `/proc/PID/stat` that tell processes and their relations apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: Pid,
    pub(crate) parent: Pid,
    pub(crate) group: Pid,
    pub(crate) session: Pid,
    /// Start, in clock ticks since boot: with the pid, the identity of a process.
    pub(crate) start: u64,
    pub(crate) threads: u64,
    pub(crate) state: char,
}

impl Stat {
    /// Whether it can still do anything. A zombie cannot, unless only its first thread has ended.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x') || self.threads > 1
    }

    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// Whether it does something, or waits only for a processor or a disk. Whoever waits for a lock or for input sleeps.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(self.state, 'R' | 'D')
    }
}

/// What `/proc` says of a process; `None` once it is gone.
pub(crate) fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&text))
}

/// proc(5): `pid (comm) state ppid pgrp session …`, `num_threads` is field 20 and `starttime` field 22. The command
/// may itself hold spaces and parentheses, so the fields are counted from the last one.
fn parse_stat(text: &str) -> Option<Stat> {
    let (pid, rest) = text.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let pid_at = |index: usize| fields.get(index)?.parse::<Pid>().ok();
    Some(Stat {
        pid: pid.parse().ok()?,
        state: fields.first()?.chars().next()?,
        parent: pid_at(1)?,
        group: pid_at(2)?,
        session: pid_at(3)?,
        threads: fields.get(17)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// Whether any thread of a process is at work; not once it is gone.
pub(crate) fn is_at_work(pid: Pid) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let states = threads.filter_map(|thread| fs::read(thread.path().join("stat")).ok());
    let mut stats = states.filter_map(|text| parse_stat(&String::from_utf8_lossy(&text)));
    stats.any(|thread| thread.is_at_work())
}

/// The direct children of a process, oldest first for each of its threads.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    if !kernel_lists_children() {
        let parent_is = |stat: &Stat| stat.parent == pid;
        return every_process()
            .filter_map(stat)
            .filter(parent_is)
            .map(|stat| stat.pid)
            .collect();
    }
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for task in tasks.flatten() {
        let Ok(text) = fs::read_to_string(task.path().join("children")) else {
            continue;
        };
        children.extend(
            text.split_ascii_whitespace()
                .filter_map(|word| word.parse::<Pid>().ok()),
        );
    }
    children
}

/// Whether the kernel was built with `CONFIG_PROC_CHILDREN`.
fn kernel_lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

/// The ids of all processes that `/proc` shows.
pub(crate) fn every_process() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok())
}

/// The pipes that a process has open, and the folder that it works in; what is not shown, as of a zombie, is left out.
pub(crate) fn traces(pid: Pid) -> Traces {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let pipe = |link: PathBuf| {
        let name = link.to_str()?.strip_prefix("pipe:[")?.strip_suffix(']')?;
        name.parse::<u64>().ok()
    };
    Traces {
        pipes: descriptors
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .filter_map(pipe)
            .collect(),
        cwd: fs::read_link(format!("/proc/{pid}/cwd")).ok(),
    }
}

/// A process whose environment cannot be read: of another user, without any, or just then executing a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// The value of a variable in the environment that a process was started with.
pub(crate) fn environment_value(pid: Pid, name: &str) -> Result<Option<String>, Unreadable> {
    let file = fs::File::open(format!("/proc/{pid}/environ")).map_err(|_| Unreadable)?;
    let mut environment = Vec::new();
    let read = file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment);
    if read.is_err() || environment.is_empty() {
        return Err(Unreadable);
    }
    let value_of = |entry: &[u8]| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    let value = environment.split(|byte| *byte == 0).find_map(value_of);
    Ok(value.and_then(|value| String::from_utf8(value).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_spaces_and_parentheses_shifts_no_field() {
        let text = "42 (a) R 1 (b) S 7 8 9 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 5555 1 2 3\n";
        let expected = Stat {
            pid: 42,
            parent: 7,
            group: 8,
            session: 9,
            start: 5555,
            threads: 3,
            state: 'S',
        };
        assert_eq!(parse_stat(text), Some(expected));
    }

    #[test]
    fn a_zombie_with_running_threads_is_live() {
        let stat = Stat {
            pid: 2,
            parent: 1,
            group: 2,
            session: 2,
            start: 1,
            threads: 2,
            state: 'Z',
        };
        assert!(stat.is_live());
        assert!(!Stat { threads: 1, ..stat }.is_live());
    }

    #[test]
    fn only_who_runs_or_waits_for_a_processor_or_a_disk_is_at_work() {
        let at_work = |state: &char| {
            let text = format!("42 (a) {state} 7 8 9 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 5555 1 2 3\n");
            parse_stat(&text).expect("a line").is_at_work()
        };
        let states = ['R', 'S', 'D', 'T', 't', 'Z', 'X', 'I'];
        assert_eq!(states.into_iter().filter(at_work).collect::<String>(), "RD");
    }

    /// Whoever asks is running.
    #[test]
    fn this_process_is_at_work() {
        assert!(is_at_work(std::process::id().cast_signed()));
        assert!(!is_at_work(Pid::MAX), "nobody has this number");
    }

    #[test]
    fn this_process_is_found_with_its_own_numbers() {
        let own = stat(std::process::id().cast_signed()).expect("this process is there");
        assert_eq!(
            Some(own.parent),
            rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get())
        );
        assert!(own.is_live() && !own.is_stopped());
        assert!(every_process().any(|pid| pid == own.pid));
    }
}
