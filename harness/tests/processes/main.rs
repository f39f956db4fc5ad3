//! Servers as real processes: nothing of a tree is left, no wire hangs, no flood fills the memory.

#![allow(
    clippy::unwrap_used,
    reason = "a test: a panic is its failure, and it has no `#[test]` by which the lint could tell"
)]

#[path = "../support/mod.rs"]
mod support;
mod trees;
mod wires;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::process::ExitCode;

use harness::drive::clock::Clock;
use harness::drive::framing::RawFrame;
use harness::drive::process::{Helper, Launch, LaunchSpec, Launched};
use harness::drive::transport::{Incoming, StdioLimits};
use libtest_mimic::{Arguments, Trial};
use support::{MARK_VARIABLE, WAIT_MAX, roles, this_program};

fn main() -> ExitCode {
    if let Some(role) = roles::role() {
        if role[0] == "scenario" {
            scenario(&role[1]);
        } else {
            roles::play(&role);
        }
        return ExitCode::SUCCESS;
    }
    let mut trials = trees::trials();
    trials.extend(wires::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A trial with a runtime of its own. A panic in it is its failure.
fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        block_on(test());
        Ok(())
    })
}

fn block_on<F: Future<Output = ()>>(future: F) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future);
}

/// What needs a process of its own; a panic is its failure.
fn scenario(name: &str) {
    match name {
        "long-line" => wires::long_line(),
        "traceless-orphan" => trees::traceless_orphan(),
        other => panic!("no such scenario: {other}"),
    }
}

fn play_scenario(name: &str) {
    let mut command = std::process::Command::new(this_program());
    let mut scenario = Helper::spawn(command.args(["--role", "scenario", name])).unwrap();
    assert!(scenario.child().wait().unwrap().success());
}

/// A launched part with its mark and a folder for its files.
struct Started {
    launched: Launched,
    mark: String,
    folder: tempfile::TempDir,
}

fn launch(program: &str, arguments: &[&str], limits: StdioLimits) -> Started {
    let (mark, folder) = (support::new_mark(), tempfile::tempdir().unwrap());
    let environment = [("PATH", "/usr/local/bin:/usr/bin:/bin"), (MARK_VARIABLE, &mark)];
    let spec = LaunchSpec {
        program: program.into(),
        args: arguments.iter().map(OsString::from).collect(),
        env: environment
            .map(|(name, value)| (name.into(), value.into()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        cwd: folder.path().to_owned(),
        stderr_file: folder.path().join("stderr.log"),
        stderr_bytes_max: 1 << 20,
    };
    let launched = Launch::Plain.start(&spec, limits, Clock::start().stamp_fn()).unwrap();
    Started { launched, mark, folder }
}

/// Starts this program in a role.
fn play(role: &[&str]) -> Started {
    let arguments = [&["--role"], role].concat();
    launch(this_program().to_str().unwrap(), &arguments, StdioLimits::default())
}

impl Started {
    async fn next(&mut self) -> Incoming {
        self.launched
            .transport
            .receive(WAIT_MAX)
            .await
            .expect("something comes in")
    }

    async fn next_frame(&mut self) -> RawFrame {
        match self.next().await {
            Incoming::Frame { frame, .. } => frame,
            Incoming::End { reason, .. } => panic!("the end came first: {reason:?}"),
        }
    }

    async fn expect_line(&mut self, line: &str) {
        assert_eq!(String::from_utf8_lossy(&self.next_frame().await.bytes), line);
    }
}
