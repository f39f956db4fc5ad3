//! Finds and signals every process of a tree on Linux, also those that left the group, the session or their parent.
//!
//! Works because this process is a subreaper: an orphan comes to us, not to init. One call here is one look or one
//! round; repeating until nothing is left, and the bound on that, are in `kill.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustix::process::{
    PidfdFlags, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, set_child_subreaper, waitid,
};

use super::procfs::{self, Stat};
use super::registry::{self, Claimant, Orphan, Registry};
use super::{MARKER_VARIABLE, Pid, raw, typed};

/// Most looks at a tree that is being stopped: each finds what was forked since the last.
const FREEZE_ROUNDS_MAX: usize = 64;

/// Whose processes are meant.
#[derive(Debug)]
enum Scope {
    /// One server: its root, whatever descends from it, and the orphans that are attributed to it.
    Server {
        root: Pid,
        token: String,
        root_is_reaped: bool,
    },
    /// All descendants of this process, except these children (pid and start) and what hangs below them.
    Everything { except: BTreeMap<Pid, u64> },
}

/// A process tree; see the module's documentation.
#[derive(Debug)]
pub(crate) struct Tree {
    scope: Scope,
    /// Groups and sessions in which members were seen, never our own.
    groups: BTreeSet<Pid>,
    /// Live members seen at the last look, with their start: kept even if they can no longer be reached.
    known: BTreeMap<Pid, u64>,
    /// Orphans at the last look that nobody claimed and whose environment could not be read.
    unsure: usize,
    /// Members that were sent SIGKILL, with their start, in this order.
    killed: Vec<(Pid, u64)>,
}

/// What one round of killing found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Members that were signalled for the first time.
    pub(crate) fresh: usize,
    /// Members that were still live when the round began.
    pub(crate) live: usize,
    /// Orphans that may be of this tree: while a process executes a program, its marker cannot be read.
    pub(crate) unsure: usize,
}

/// Makes this process the one that orphans come to.
pub(crate) fn become_subreaper() -> std::io::Result<()> {
    set_child_subreaper(Some(getpid())).map_err(Into::into)
}

/// How many orphans are there that no server could claim, where none is live any more that could: while there were
/// several, nothing told whose they are.
pub(crate) fn unclaimed() -> usize {
    let (registry, own_pid, own_group) = (registry::lock(), raw(getpid()), raw(getpgrp()));
    if !registry.is_quiet() {
        return 0;
    }
    let children = procfs::children(own_pid).into_iter().filter_map(procfs::stat);
    children
        .filter(|child| child.parent == own_pid && child.is_live() && child.group != own_group)
        .filter(|child| !registry.is_registered(child.pid))
        .count()
}

impl Tree {
    /// The tree of a server that was started in a process group of its own.
    pub(crate) fn of_server(root: Pid, token: &str) -> Self {
        let scope = Scope::Server {
            root,
            token: token.to_owned(),
            root_is_reaped: false,
        };
        Self {
            scope,
            groups: BTreeSet::from([root]),
            known: BTreeMap::new(),
            killed: Vec::new(),
            unsure: 0,
        }
    }

    /// Everything below this process, except the given children.
    pub(crate) fn of_everything(except: BTreeMap<Pid, u64>) -> Self {
        Self {
            scope: Scope::Everything { except },
            groups: BTreeSet::new(),
            known: BTreeMap::new(),
            killed: Vec::new(),
            unsure: 0,
        }
    }

    /// The root's pid is free for reuse: from now on its group must not be signalled.
    pub(crate) fn root_was_reaped(&mut self) {
        if let Scope::Server { root_is_reaped, .. } = &mut self.scope {
            *root_is_reaped = true;
        }
    }

    /// Number of live members.
    pub(crate) fn live(&mut self) -> usize {
        self.members().len()
    }

    /// Whether the last look met an orphan that may be of this tree.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure > 0
    }

    /// Number of live members that are not stopped.
    pub(crate) fn running(&mut self) -> usize {
        self.members().iter().filter(|member| !member.is_stopped()).count()
    }

    /// Whether any thread of any member is at work, or somebody may be a member of whom that is not known.
    pub(crate) fn is_at_work(&mut self) -> bool {
        let members = self.members();
        self.is_unsure() || members.iter().any(|member| procfs::is_at_work(member.pid))
    }

    /// The processes that were sent SIGKILL, first to last.
    pub(crate) fn killed(&self) -> Vec<Pid> {
        self.killed.iter().map(|(pid, _)| *pid).collect()
    }

    /// Sends SIGSTOP to all members, again and again until no new one turns up; returns those that were signalled.
    pub(crate) fn freeze(&mut self) -> Vec<Pid> {
        self.signal_group(Signal::STOP);
        let mut frozen = BTreeSet::new();
        for _ in 0..FREEZE_ROUNDS_MAX {
            let members = self.members();
            let fresh = members
                .iter()
                .filter(|member| !frozen.contains(&(member.pid, member.start)));
            let fresh: Vec<&Stat> = fresh.filter(|member| signal(member, Signal::STOP)).collect();
            if fresh.is_empty() {
                break;
            }
            frozen.extend(fresh.iter().map(|member| (member.pid, member.start)));
        }
        frozen.into_iter().map(|(pid, _)| pid).collect()
    }

    /// Sends SIGCONT to all members; returns how many there were.
    pub(crate) fn thaw(&mut self) -> usize {
        self.signal_group(Signal::CONT);
        self.members()
            .iter()
            .filter(|member| signal(member, Signal::CONT))
            .count()
    }

    /// Sends SIGKILL to the group and to every live member that was not sent it before.
    pub(crate) fn kill_round(&mut self) -> Round {
        let members = self.members();
        self.signal_group(Signal::KILL);
        let mut fresh = 0;
        for member in &members {
            let identity = (member.pid, member.start);
            if !self.killed.contains(&identity) {
                signal(member, Signal::KILL);
                self.killed.push(identity);
                fresh += 1;
            }
        }
        Round {
            fresh,
            live: members.len(),
            unsure: self.unsure,
        }
    }

    /// Looks for all live members. Zombie orphans of the tree are reaped on the way, each by its pid.
    fn members(&mut self) -> Vec<Stat> {
        let registry = registry::lock();
        let own_pid = raw(getpid());
        let mut queue: VecDeque<Stat> = VecDeque::new();
        self.unsure = 0;
        for child in procfs::children(own_pid).into_iter().filter_map(procfs::stat) {
            if child.parent == own_pid && self.owns_child(&child, &registry) {
                queue.push_back(child);
            }
        }
        self.known
            .retain(|pid, start| procfs::stat(*pid).is_some_and(|stat| stat.start == *start));
        queue.extend(self.known.keys().filter_map(|pid| procfs::stat(*pid)));
        drop(registry);
        self.walk(queue, own_pid)
    }

    /// All live processes that descend from the given ones, and those themselves.
    fn walk(&mut self, mut queue: VecDeque<Stat>, own_pid: Pid) -> Vec<Stat> {
        let own = procfs::stat(own_pid);
        let mut visited = BTreeSet::new();
        let mut members = Vec::new();
        while let Some(stat) = queue.pop_front() {
            if !visited.insert(stat.pid) {
                continue;
            }
            if stat.is_live() {
                self.known.insert(stat.pid, stat.start);
                self.groups
                    .extend(own.filter(|own| own.group != stat.group).map(|_| stat.group));
                self.groups
                    .extend(own.filter(|own| own.session != stat.session).map(|_| stat.session));
                members.push(stat);
            }
            // A child whose parent is neither of these got a used pid between two looks.
            let children = procfs::children(stat.pid).into_iter().filter_map(procfs::stat);
            queue.extend(children.filter(|child| child.parent == stat.pid || child.parent == own_pid));
        }
        members
    }

    /// Whether a direct child of this process is the root or an orphan of this tree, and not yet dead.
    fn owns_child(&mut self, child: &Stat, registry: &Registry) -> bool {
        let (root, token) = match &self.scope {
            Scope::Everything { except } => return except.get(&child.pid) != Some(&child.start),
            Scope::Server { root, token, .. } => (*root, token),
        };
        if child.pid == root {
            return true;
        }
        if registry.is_registered(child.pid) {
            return false;
        }
        let environment = procfs::environment_value(child.pid, MARKER_VARIABLE);
        let orphan = Orphan {
            group: child.group,
            session: child.session,
            marker: environment.clone().unwrap_or(None),
            traces: procfs::traces(child.pid),
        };
        let claimant = Claimant {
            token,
            groups: &self.groups,
            own_group: raw(getpgrp()),
        };
        let is_ours = self.known.get(&child.pid) == Some(&child.start) || registry.belongs(&orphan, &claimant);
        if !is_ours && child.is_live() && environment.is_err() && child.group != claimant.own_group {
            self.unsure += 1;
        }
        if is_ours && !child.is_live() {
            reap(child.pid);
        }
        is_ours && child.is_live()
    }

    fn signal_group(&self, signal: Signal) {
        if let Scope::Server {
            root,
            root_is_reaped: false,
            ..
        } = self.scope
        {
            // The group may be empty by now, which is what we want of it.
            let _ = kill_process_group(typed(root), signal);
        }
    }
}

/// Reaps one dead child. Never all of them: the others have owners who wait for their status.
fn reap(pid: Pid) {
    let _ = waitid(WaitId::Pid(typed(pid)), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// Signals the very process that was looked at, never a later one with its pid; returns whether it was there.
fn signal(member: &Stat, signal: Signal) -> bool {
    let pid = typed(member.pid);
    let pidfd = pidfd_open(pid, PidfdFlags::empty());
    let is_same = procfs::stat(member.pid).is_some_and(|now| now.start == member.start);
    match pidfd {
        _ if !is_same => false,
        Ok(pidfd) => pidfd_send_signal(pidfd, signal).is_ok(),
        // No descriptor left, or a kernel without them: the identity was checked a moment ago.
        Err(_) => kill_process(pid, signal).is_ok(),
    }
}
