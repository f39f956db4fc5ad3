//! The guard as real processes: whatever is killed, no process and no scratch folder is left.
//!
//! A binary of its own: it starts no server itself, so it is no subreaper, and cannot clean up for the guard.

#![allow(
    clippy::unwrap_used,
    reason = "a test: a panic is its failure, and it has no `#[test]` by which the lint could tell"
)]

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc;

use harness::drive::clock::{self, Clock};
use harness::drive::guard::{self, Interrupts, Role};
use harness::drive::process::{Helper, Launch, LaunchSpec, Launched};
use harness::drive::transport::{Incoming, StdioLimits};
use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use support::{MARK_VARIABLE, WAIT_MAX, await_gone, await_marked, marked, roles, this_program};

/// What the run of `guarded` and its guard add to the tree.
const GUARDED_PROCESSES: usize = roles::TREE_PROCESSES + 2;

/// Gives its command a terminal; part of util-linux. Without it one test is ignored.
const SCRIPT_PROGRAM: &str = "/usr/bin/script";

/// Most servers that `go-on-launching` starts.
const LAUNCHES_MAX: usize = 100;

fn main() -> ExitCode {
    match roles::role() {
        Some(role) if role[0] == "guarded" => return guarded(&role[1], Path::new(&role[2])),
        Some(role) => roles::play(&role),
        None => return libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
    ExitCode::SUCCESS
}

/// A program under guard that starts a server with a tree, says so, and then behaves as asked.
fn guarded(behaviour: &str, folder: &Path) -> ExitCode {
    let run = match guard::enter().expect("set up the guard") {
        Role::Guard(ended) => {
            assert_eq!((ended.survivors, ended.scratch_left), (0, None));
            return ExitCode::from(ended.code);
        }
        Role::Run(run) => run,
    };
    assert_eq!(run.note(), None);
    let orphaned = folder.join("orphaned");
    run.on_orphaned(move || fs::write(orphaned, "").expect("write what the hook did"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut interrupts = Interrupts::listen().unwrap();
        let mut server = launch_tree(run.scratch());
        let said = server.transport.receive(WAIT_MAX).await;
        assert!(matches!(said, Some(Incoming::Frame { .. })), "{said:?}");
        roles::say(&format!("{} {}", std::process::id(), run.scratch().display()));
        match behaviour {
            // Without the destructor, as a crash would: the guard has to find what is left.
            "exit" => {
                std::mem::forget(server);
                ExitCode::from(7)
            }
            "nest" => nest(),
            "go-on-launching" => {
                std::mem::forget(server);
                go_on_launching(run.scratch());
                ExitCode::SUCCESS
            }
            "finish-on-interrupt" => {
                interrupts.interrupted().await;
                server.process.kill_tree().await;
                ExitCode::from(130)
            }
            _ => {
                roles::park();
                ExitCode::SUCCESS
            }
        }
    })
}

/// A descendant of the run that inherits its environment is not the run.
fn nest() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(this_program());
    command
        .args(["--role", "guarded", "exit"])
        .arg(folder.path())
        .stdout(Stdio::piped());
    let mut nested = Helper::spawn(&mut command).unwrap();
    let (pid, _) = hear(nested.child().stdout.take().unwrap());
    let is_other_process = pid != nested.child().id().cast_signed();
    let code = nested.child().wait().unwrap().code();
    ExitCode::from(u8::from(!is_other_process || code != Some(7)))
}

/// Launches more and more, until it is refused.
fn go_on_launching(folder: &Path) {
    for number in 0..LAUNCHES_MAX {
        let mut spec = tree_spec(folder);
        spec.stderr_file = folder.join(format!("{number}.log"));
        match Launch::Plain.start(&spec, StdioLimits::default(), Clock::start().stamp_fn()) {
            Ok(server) => std::mem::forget(server),
            // And `main` ends while the other thread still cleans up.
            Err(_) => return,
        }
    }
    roles::park();
}

fn launch_tree(folder: &Path) -> Launched {
    Launch::Plain
        .start(&tree_spec(folder), StdioLimits::default(), Clock::start().stamp_fn())
        .unwrap()
}

fn tree_spec(folder: &Path) -> LaunchSpec {
    LaunchSpec {
        program: this_program().into(),
        args: ["--role", "tree"].map(Into::into).to_vec(),
        env: BTreeMap::from([(MARK_VARIABLE.into(), std::env::var_os(MARK_VARIABLE).unwrap())]),
        cwd: folder.to_owned(),
        stderr_file: folder.join("stderr.log"),
        stderr_bytes_max: 1 << 20,
    }
}

/// The run's pid and scratch folder, once it has said so.
fn hear(stdout: ChildStdout) -> (i32, PathBuf) {
    let (said, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        // Nobody waits any more once the bound has passed.
        let _ = said.send(line);
    });
    let line = hears
        .recv_timeout(WAIT_MAX)
        .expect("the run says something within the bound");
    let (pid, scratch) = line
        .trim_end()
        .split_once(' ')
        .expect("the run says its pid and its scratch folder");
    (pid.parse().unwrap(), scratch.into())
}

/// A guarded program that has said that it is ready.
struct Guarded {
    /// Its drop kills it, so a failing test leaves nothing either.
    guard: Helper,
    run: i32,
    scratch: PathBuf,
    mark: String,
    folder: tempfile::TempDir,
}

fn start(behaviour: &str) -> Guarded {
    let (mark, folder) = (support::new_mark(), tempfile::tempdir().unwrap());
    let mut command = Command::new(this_program());
    command
        .args(["--role", "guarded", behaviour])
        .arg(folder.path())
        .env(MARK_VARIABLE, &mark);
    let mut guard = Helper::spawn(command.stdout(Stdio::piped()).process_group(0)).unwrap();
    let (run, scratch) = hear(guard.child().stdout.take().unwrap());
    Guarded {
        guard,
        run,
        scratch,
        mark,
        folder,
    }
}

impl Guarded {
    fn guard_pid(&mut self) -> Pid {
        Pid::from_child(self.guard.child())
    }

    fn all_are_there(&self) {
        assert!(self.scratch.is_dir());
        await_marked(&self.mark, GUARDED_PROCESSES);
    }

    /// Waits for the guard's end and for everything else to be gone; returns the guard's code, or the signal + 1000.
    fn end(mut self) -> i32 {
        let mut status = None;
        let ended = clock::wait_until_blocking(WAIT_MAX, || {
            status = self.guard.child().try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "the guard lives on");
        let status = status.unwrap();
        await_marked(&self.mark, 0);
        await_gone(&self.scratch);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        status.code().unwrap_or_else(|| 1000 + signal.unwrap())
    }
}

fn trials() -> Vec<Trial> {
    let table: [(&str, fn()); 13] = [
        ("a_run_that_exits_leaves_nothing_and_its_code_is_the_guards", || {
            assert_eq!(start("exit").end(), 7);
        }),
        ("a_descendant_with_the_environment_of_the_run_is_not_the_run", || {
            assert_eq!(start("nest").end(), 0);
        }),
        ("the_guard_is_killed", the_guard_is_killed),
        ("the_run_is_killed", the_run_is_killed),
        ("the_process_group_is_killed", the_process_group_is_killed),
        (
            "a_run_that_goes_on_launching_leaves_nothing",
            a_run_that_goes_on_launching_leaves_nothing,
        ),
        ("an_interrupt_lets_the_run_finish", an_interrupt_lets_the_run_finish),
        ("an_interrupt_reaches_a_stopped_run", an_interrupt_reaches_a_stopped_run),
        ("a_stopped_run_is_told_to_go_on", a_stopped_run_is_told_to_go_on),
        (
            "a_run_that_is_stopped_again_and_again_is_killed",
            a_run_that_is_stopped_again_and_again_is_killed,
        ),
        ("a_second_interrupt_kills_the_run", a_second_interrupt_kills_the_run),
        (
            "a_guard_that_died_before_it_was_watched",
            a_guard_that_died_before_it_was_watched,
        ),
        (
            "a_child_that_the_guard_was_given_is_spared",
            a_child_that_the_guard_was_given_is_spared,
        ),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let terminal = trial((
        "a_run_may_write_to_a_terminal_that_stops_background_writers",
        a_run_may_write_to_a_terminal_that_stops_background_writers,
    ));
    let terminal = terminal.with_ignored_flag(!Path::new(SCRIPT_PROGRAM).exists());
    table.into_iter().map(trial).chain([terminal]).collect()
}

fn the_guard_is_killed() {
    let mut guarded = start("park");
    guarded.all_are_there();
    kill_process(guarded.guard_pid(), Signal::KILL).unwrap();
    let orphaned = guarded.folder.path().join("orphaned");
    assert!(
        clock::wait_until_blocking(WAIT_MAX, || orphaned.exists()),
        "the hook was not called"
    );
    assert_eq!(guarded.end(), 1009);
}

fn a_run_that_goes_on_launching_leaves_nothing() {
    for _ in 0..5 {
        let mut guarded = start("go-on-launching");
        kill_process(guarded.guard_pid(), Signal::KILL).unwrap();
        assert_eq!(guarded.end(), 1009);
    }
}

/// Under `stty tostop` a process that writes to a terminal from the background is stopped.
fn a_run_may_write_to_a_terminal_that_stops_background_writers() {
    let (mark, folder) = (support::new_mark(), tempfile::tempdir().unwrap());
    let (program, folder) = (this_program(), folder.path());
    let line = format!(
        "stty tostop; '{}' --role guarded exit '{}'",
        program.display(),
        folder.display()
    );
    let mut command = Command::new(SCRIPT_PROGRAM);
    command
        .args(["-qec", &line, "/dev/null"])
        .env(MARK_VARIABLE, &mark)
        .stdin(Stdio::null());
    let mut terminal = Helper::spawn(command.stdout(Stdio::piped())).unwrap();
    let (_, scratch) = hear(terminal.child().stdout.take().unwrap());
    assert_eq!(terminal.child().wait().unwrap().code(), Some(7));
    await_marked(&mark, 0);
    await_gone(&scratch);
}

fn the_run_is_killed() {
    let guarded = start("park");
    guarded.all_are_there();
    kill_process(Pid::from_raw(guarded.run).unwrap(), Signal::KILL).unwrap();
    assert_eq!(guarded.end(), 137);
}

fn the_process_group_is_killed() {
    let mut guarded = start("park");
    guarded.all_are_there();
    kill_process_group(guarded.guard_pid(), Signal::KILL).unwrap();
    assert_eq!(guarded.end(), 1009);
}

fn an_interrupt_lets_the_run_finish() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut guarded = start("finish-on-interrupt");
        guarded.all_are_there();
        kill_process(guarded.guard_pid(), signal).unwrap();
        assert_eq!(guarded.end(), 130);
    }
}

fn an_interrupt_reaches_a_stopped_run() {
    let mut guarded = start("finish-on-interrupt");
    guarded.all_are_there();
    kill_process(Pid::from_raw(guarded.run).unwrap(), Signal::STOP).unwrap();
    kill_process(guarded.guard_pid(), Signal::INT).unwrap();
    assert_eq!(guarded.end(), 130);
}

fn is_stopped(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:\tT"))
}

/// A server has the same user, and could hold up the run for ever.
fn a_stopped_run_is_told_to_go_on() {
    let mut guarded = start("finish-on-interrupt");
    guarded.all_are_there();
    for _ in 0..3 {
        kill_process(Pid::from_raw(guarded.run).unwrap(), Signal::STOP).unwrap();
        let goes_on = clock::wait_until_blocking(WAIT_MAX, || !is_stopped(guarded.run));
        assert!(goes_on, "the run stands still");
    }
    kill_process(guarded.guard_pid(), Signal::INT).unwrap();
    assert_eq!(guarded.end(), 130);
}

fn a_run_that_is_stopped_again_and_again_is_killed() {
    let guarded = start("park");
    guarded.all_are_there();
    let run_is_gone = || {
        // Once it was reaped this fails.
        let _ = kill_process(Pid::from_raw(guarded.run).unwrap(), Signal::STOP);
        !marked(&guarded.mark).contains(&guarded.run)
    };
    assert!(clock::wait_until_blocking(WAIT_MAX, run_is_gone), "the run lives on");
    assert_eq!(guarded.end(), 137);
}

fn a_second_interrupt_kills_the_run() {
    let mut guarded = start("park");
    guarded.all_are_there();
    // Two that are pending at once are one; so this repeats it until the run is gone.
    let run_is_gone = || {
        kill_process(guarded.guard_pid(), Signal::INT).unwrap();
        !marked(&guarded.mark).contains(&guarded.run)
    };
    assert!(clock::wait_until_blocking(WAIT_MAX, run_is_gone), "the run lives on");
    assert_eq!(guarded.end(), 130, "whoever interrupts twice has interrupted");
}

fn a_guard_that_died_before_it_was_watched() {
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let (mark, scratch) = (support::new_mark(), tempfile::tempdir().unwrap().keep());
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(this_program());
    command
        .args(["--role", "guarded", "park"])
        .arg(folder.path())
        .env(MARK_VARIABLE, &mark);
    command
        .env("HARNESS_GUARD", dead.id().to_string())
        .env("HARNESS_SCRATCH", &scratch);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(!run.wait().unwrap().success());
    await_marked(&mark, 0);
    await_gone(&scratch);
}

fn a_child_that_the_guard_was_given_is_spared() {
    let (mark, folder) = (support::new_mark(), tempfile::tempdir().unwrap());
    let mut command = Command::new("sh");
    command
        .args(["-c", "sleep 60 & exec \"$0\" \"$@\""])
        .arg(this_program());
    command
        .args(["--role", "guarded", "exit"])
        .arg(folder.path())
        .env(MARK_VARIABLE, &mark);
    let mut guard = command.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let (_, scratch) = hear(guard.stdout.take().unwrap());
    assert_eq!(guard.wait().unwrap().code(), Some(7));
    await_gone(&scratch);
    let left = marked(&mark);
    assert_eq!(left.len(), 1, "only the sleeper is left: {left:?}");
    kill_process(Pid::from_raw(left[0]).unwrap(), Signal::KILL).unwrap();
    await_marked(&mark, 0);
}
