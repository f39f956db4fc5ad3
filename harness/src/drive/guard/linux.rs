//! The two roles of the guard on Linux.
//!
//! The guard hands its pid and the scratch folder to the run in two variables. The run claims the folder by a file that
//! only one process can create, so a descendant that inherits the variables is not taken for the run: it gets a guard of
//! its own.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal as MaskedSignal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open};
use tokio::signal::unix::{SignalKind, signal};

use super::{Ended, GuardError, Interrupt, Interrupts, LAST_WORD_FILE, Role, scratch};
use crate::drive::clock;
use crate::drive::process::kill::{self, KILL_TIME_MAX};
use crate::drive::process::tree::{self, Tree};
use crate::drive::process::{Exit, ExitWait, ExitWatch, Pid, procfs, raw, registry, typed};

/// Longest time that the hook of an orphaned run may take.
pub const HOOK_TIME_MAX: Duration = Duration::from_secs(5);

/// Longest time for the removal of the scratch folder.
pub const SCRATCH_TIME_MAX: Duration = Duration::from_secs(5);

pub(super) const NOTE: Option<&str> = None;

/// Pid of the guard, for the run.
const GUARD_VARIABLE: &str = "HARNESS_GUARD";
/// The scratch folder, for the run.
const SCRATCH_VARIABLE: &str = "HARNESS_SCRATCH";
/// File in the scratch folder; who creates it is the run.
const CLAIM_FILE: &str = ".claimed";
/// The run is waited for in slices of this length; it has no bound of its own here.
const WAIT_SLICE: Duration = Duration::from_secs(3600);

/// What a shell sees of a program that SIGINT ended.
const INTERRUPTED: u8 = 130;

/// So often a stopped run is told to go on. Who stops it once more wants it not to end, and then it is killed.
const STOPS_MAX: u32 = 10;

type Hook = Box<dyn FnOnce() + Send>;

pub(super) struct Run {
    scratch: PathBuf,
    /// The guard; none if it was dead before it could be watched.
    guard: Option<Arc<OwnedFd>>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Run")
            .field("scratch", &self.scratch)
            .finish_non_exhaustive()
    }
}

pub(super) fn enter() -> Result<Role, GuardError> {
    match claim() {
        Some((guard, scratch)) => start_run(guard, scratch).map(|inner| Role::Run(super::Run { inner })),
        None => stand_guard().map(Role::Guard),
    }
}

/// Whether SIGHUP was ignored when this process was started, as under `nohup`.
pub(super) fn ignores_hang_up() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 != 0)
}

// The guard.

fn stand_guard() -> Result<Ended, GuardError> {
    tree::become_subreaper().map_err(GuardError::at("become a subreaper"))?;
    // Children that this process was given by `exec` belong to someone else.
    let inherited = procfs::children(raw(getpid())).into_iter().filter_map(procfs::stat);
    let inherited: BTreeMap<Pid, u64> = inherited.map(|stat| (stat.pid, stat.start)).collect();
    let folder = tempfile::Builder::new().prefix("harness-").tempdir();
    let folder = folder.map_err(GuardError::at("make a scratch folder"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(GuardError::at("start the runtime that waits"))?;
    let (exit, cut_short) = runtime.block_on(watch_over(folder.path()))?;
    let survivors = kill::kill_blocking(&mut Tree::of_everything(inherited), KILL_TIME_MAX);
    let folder = folder.keep();
    let last_word = fs::read_to_string(folder.join(LAST_WORD_FILE)).unwrap_or_default();
    let is_gone = scratch::remove(&folder, SCRATCH_TIME_MAX);
    Ok(Ended {
        code: if cut_short { INTERRUPTED } else { exit.shell_code() },
        cut_short,
        last_word,
        survivors,
        scratch_left: (!is_gone).then_some(folder),
    })
}

/// Starts the run and waits for its end, forwarding signals to it. Also says whether a second SIGINT is what ended it.
async fn watch_over(scratch: &Path) -> Result<(Exit, bool), GuardError> {
    let mut interrupts = Interrupts::listen().map_err(GuardError::at("listen for signals"))?;
    // Started with SIGCHLD ignored we could not see how the run ends. A handler undoes that.
    let mut children = signal(SignalKind::child()).map_err(GuardError::at("listen for signals"))?;
    let mut run = spawn_run(scratch)?;
    let pid = run.id().cast_signed();
    let watch = ExitWatch::new(pid);
    let (mut was_interrupted, mut was_told_twice) = (false, false);
    let mut stops = 0;
    let exit = loop {
        tokio::select! {
            wait = watch.wait(WAIT_SLICE) => if let ExitWait::Ended(exit) = wait {
                break exit;
            },
            Some(()) = children.recv() => if is_stopped(pid) {
                stops += 1;
                let answer = if stops > STOPS_MAX { Signal::KILL } else { Signal::CONT };
                let _ = kill_process(typed(pid), answer);
            },
            interrupt = interrupts.interrupted() => {
                let forwarded = match interrupt {
                    Interrupt::Interrupt if was_interrupted => Signal::KILL,
                    Interrupt::Interrupt => Signal::INT,
                    Interrupt::Terminate => Signal::TERM,
                    Interrupt::HangUp => Signal::HUP,
                };
                was_told_twice |= forwarded == Signal::KILL;
                was_interrupted |= interrupt == Interrupt::Interrupt;
                // Not reaped yet, so the pid is still the run's; it may have ended, which the wait tells.
                let _ = kill_process(typed(pid), forwarded);
                // Should something have stopped the run, it could not act on that.
                let _ = kill_process(typed(pid), Signal::CONT);
            }
        }
    };
    // It is a zombie, so this does not wait.
    run.wait().map_err(GuardError::at("reap the run"))?;
    Ok((exit, was_told_twice && exit == Exit::Signal(Signal::KILL.as_raw())))
}

/// Whether something stopped the run: a server has the same user, and no wait of a stopped run ends. One that is being
/// traced is not stopped.
fn is_stopped(pid: Pid) -> bool {
    procfs::stat(pid).is_some_and(|stat| stat.state == 'T')
}

fn spawn_run(scratch: &Path) -> Result<Child, GuardError> {
    let executable = env::current_exe().map_err(GuardError::at("find this executable"))?;
    // Replaced on disk since it was started, as a rebuild does: then by the link that still leads to it.
    let executable = if executable.exists() {
        executable
    } else {
        PathBuf::from("/proc/self/exe")
    };
    let mut command = Command::new(executable);
    let mut arguments = env::args_os();
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    command
        .env(GUARD_VARIABLE, raw(getpid()).to_string())
        .env(SCRATCH_VARIABLE, scratch);
    command.spawn().map_err(GuardError::at("start this executable again"))
}

// The run.

/// The guard's pid and the scratch folder, if this process is the run.
fn claim() -> Option<(Pid, PathBuf)> {
    let guard: Pid = env::var(GUARD_VARIABLE).ok()?.parse().ok().filter(|pid| *pid > 0)?;
    let scratch = PathBuf::from(env::var_os(SCRATCH_VARIABLE)?);
    fs::File::create_new(scratch.join(CLAIM_FILE)).ok()?;
    Some((guard, scratch))
}

fn start_run(guard: Pid, scratch: PathBuf) -> Result<Run, GuardError> {
    // Not the terminal's foreground group: writing under `stty tostop` would stop us. Threads started later inherit
    // this; children do not, `Command` gives them an empty mask.
    let mut mask = SigSet::empty();
    mask.add(MaskedSignal::SIGTTOU);
    mask.thread_block().map_err(GuardError::at("block SIGTTOU"))?;
    tree::become_subreaper().map_err(GuardError::at("become a subreaper"))?;
    let hook = Arc::new(Mutex::new(None));
    let pidfd = pidfd_open(typed(guard), PidfdFlags::empty()).ok();
    // Only now is it certain whom the descriptor means: as long as it is our parent, it is the guard.
    let pidfd = pidfd.filter(|_| getppid() == Some(typed(guard))).map(Arc::new);
    let (folder, shared, guard) = (scratch.clone(), Arc::clone(&hook), pidfd.clone());
    let watcher = std::thread::Builder::new().name("guard-watch".to_owned());
    let watch = move || {
        if let Some(guard) = guard {
            wait_for_death(&guard);
        }
        end_orphaned(&folder, &shared);
    };
    watcher
        .spawn(watch)
        .map_err(GuardError::at("start the thread that watches the guard"))?;
    Ok(Run {
        scratch,
        guard: pidfd,
        hook,
    })
}

/// Waits until the process of the descriptor has ended, for as long as that takes.
fn wait_for_death(pidfd: &OwnedFd) {
    loop {
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], None) {
            Ok(0) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN | rustix::io::Errno::NOMEM) => {}
            Ok(1..) | Err(_) => return,
        }
    }
}

/// The guard is dead: this process ends everything, and last itself.
fn end_orphaned(folder: &Path, hook: &Mutex<Option<Hook>>) {
    registry::lock().close();
    if let Some(hook) = hook.lock().unwrap_or_else(PoisonError::into_inner).take() {
        call_bounded(hook);
    }
    kill::kill_blocking(&mut Tree::of_everything(BTreeMap::new()), KILL_TIME_MAX);
    scratch::remove(folder, SCRATCH_TIME_MAX);
    // Not `exit`: it would run the exit handlers of a program whose other threads are still at work.
    let _ = kill_process(getpid(), Signal::KILL);
}

fn call_bounded(hook: Hook) {
    let (done, is_done) = mpsc::channel();
    let call = move || {
        hook();
        // The receiver is gone only when the bound has passed.
        let _ = done.send(());
    };
    if std::thread::Builder::new()
        .name("guard-hook".to_owned())
        .spawn(call)
        .is_ok()
    {
        let _ = is_done.recv_timeout(HOOK_TIME_MAX);
    }
}

impl Drop for Run {
    /// The end of `main` would end the process while the other thread still cleans up after a dead guard.
    fn drop(&mut self) {
        let is_dead = |guard: &Arc<OwnedFd>| {
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            matches!(
                poll(&mut [PollFd::new(&**guard, PollFlags::IN)], Some(&at_once)),
                Ok(1..)
            )
        };
        if self.guard.as_ref().is_none_or(is_dead) {
            // The last act of the other thread ends this one too.
            clock::wait_until_blocking(HOOK_TIME_MAX + KILL_TIME_MAX + SCRATCH_TIME_MAX, || false);
        }
    }
}

impl Run {
    pub(super) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(super) fn on_orphaned(&self, hook: Hook) {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(hook);
    }
}
