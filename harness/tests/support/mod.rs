//! What the tests with real processes share: the parts that processes play, and finding them again by a mark.
//!
//! A test binary starts itself with `--role NAME …` and then plays that part. Every part ends by itself after a while,
//! so that a failing test leaves nothing for long.

#![allow(dead_code, reason = "every test binary uses other parts of this")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) mod broker;
pub(crate) mod forge;
pub(crate) mod page;
pub(crate) mod profile;
pub(crate) mod python;
pub(crate) mod redact;
pub(crate) mod roles;
pub(crate) mod run;
pub(crate) mod running;

/// Variable by which a test finds the processes that it is the cause of.
pub(crate) const MARK_VARIABLE: &str = "HARNESS_TEST_MARK";

/// Longest time for anything that a test waits for.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// This executable, to be started in another role.
pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().expect("the path of a test binary")
}

/// A mark that no other test uses.
pub(crate) fn new_mark() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// The live processes that carry the mark. A zombie has no environment, so none is among them; nor has a process for
/// the moment in which it executes a program.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let entry = format!("{MARK_VARIABLE}={mark}");
    let processes = fs::read_dir("/proc").expect("proc is mounted").flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == entry.as_bytes())
    };
    pids.filter(carries).collect()
}

/// Waits until the number of marked processes is the one expected; fails with what was found instead.
pub(crate) fn await_marked(mark: &str, expected: usize) {
    let found = harness::drive::clock::wait_until_blocking(WAIT_MAX, || marked(mark).len() == expected);
    assert!(found, "expected {expected} processes, found {:?}", marked(mark));
}

/// Waits until the path is gone.
pub(crate) fn await_gone(path: &Path) {
    let gone = harness::drive::clock::wait_until_blocking(WAIT_MAX, || !path.exists());
    assert!(gone, "{} is still there", path.display());
}
