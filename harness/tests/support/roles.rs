//! The parts that processes play in the tests: servers, their children, and what misbehaves.

use std::io::{BufRead, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use super::this_program;

/// After so long every part ends by itself.
const LIFE_MAX: Duration = Duration::from_secs(120);

/// Number of processes of [`tree`]: itself and three children, wherever they went.
pub(crate) const TREE_PROCESSES: usize = 4;

/// The arguments after `--role`, if this process was started to play one.
pub(crate) fn role() -> Option<Vec<String>> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next().as_deref() == Some("--role")).then(|| arguments.collect())
}

/// Plays a part that any test may ask for.
pub(crate) fn play(role: &[String]) {
    let number = || role[1].parse::<usize>().expect("a number");
    match role[0].as_str() {
        "tree" => tree(),
        "sleeper" => park(),
        "session-sleeper" => {
            new_session();
            park();
        }
        "daemon-middle" => start("session-sleeper", &[], false),
        "comet" => comet(number()),
        "deaf-to-sigterm" => {
            let mut mask = SigSet::empty();
            mask.add(Signal::SIGTERM);
            mask.thread_block().unwrap();
            say("ready");
            park();
        }
        "silent" => {
            say("ready");
            park();
        }
        "long-line" => long_line(number()),
        "stderr-flood" => stderr_flood(number()),
        "chatty" => chatty(number()),
        "echo" => echo(),
        "tail" => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(b"whole\n\ntail").unwrap();
            stdout.flush().unwrap();
        }
        other => panic!("no such role: {other}"),
    }
}

/// Starts this program in another role, with the environment of this process.
#[expect(
    clippy::zombie_processes,
    reason = "a parent that ends or lives on without waiting is the part it plays"
)]
fn start(role: &str, arguments: &[&str], wait: bool) {
    let mut command = Command::new(this_program());
    command.arg("--role").arg(role).args(arguments).stdin(Stdio::null());
    let mut child = command.spawn().expect("start a child");
    if wait {
        child.wait().expect("wait for a child");
    }
}

/// A root with one child in its group, one in a session of its own, and one daemon that has left its parents.
fn tree() {
    start("sleeper", &[], false);
    start("session-sleeper", &[], false);
    start("daemon-middle", &[], true);
    say("ready");
    park();
}

/// Forks a successor in a session of its own and ends, again and again.
fn comet(generations: usize) {
    new_session();
    if generations > 0 {
        start("comet", &[&(generations - 1).to_string()], false);
    } else {
        park();
    }
}

fn new_session() {
    // The leader of a group may not; then it is alone in one already.
    let _ = rustix::process::setsid();
}

fn long_line(bytes: usize) {
    let mut stdout = std::io::stdout().lock();
    let piece = vec![b'x'; 64 * 1024];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(piece.len());
        stdout.write_all(&piece[..length]).unwrap();
        left -= length;
    }
    stdout.write_all(b"\ndone\n").unwrap();
    stdout.flush().unwrap();
}

fn stderr_flood(bytes: usize) {
    std::io::stderr().write_all(&vec![b'e'; bytes]).unwrap();
    say("done");
}

/// Writes much before it reads anything.
fn chatty(lines: usize) {
    let mut stdout = std::io::stdout().lock();
    for _ in 0..lines {
        stdout.write_all(&[b'y'; 1023]).unwrap();
        stdout.write_all(b"\n").unwrap();
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    writeln!(stdout, "got {}", line.trim_end().len()).unwrap();
}

fn echo() {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).unwrap();
    std::io::stdout().lock().write_all(&bytes).unwrap();
}

pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").unwrap();
    stdout.flush().unwrap();
}

/// Does nothing until it is killed or the life of a part is over.
pub(crate) fn park() {
    let (_keep, nothing) = mpsc::channel::<()>();
    let _ = nothing.recv_timeout(LIFE_MAX);
}
