//! Which children of this process are servers, which are helpers, and who an orphan belongs to.
//!
//! One table for the whole process, because orphans are handed to the whole process (a subreaper). Its lock is also
//! held while a child is started, so that nobody meets a child that is not in the table yet. Pure bookkeeping: it
//! starts and kills nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Pid;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    servers: Vec::new(),
    helpers: Vec::new(),
    closed: false,
});

/// The children that were started on purpose.
#[derive(Debug)]
pub(crate) struct Registry {
    servers: Vec<Server>,
    helpers: Vec<Pid>,
    closed: bool,
}

#[derive(Debug)]
struct Server {
    root: Pid,
    token: String,
    traces: Traces,
}

/// What a process keeps of the server that it comes from, also without its marker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Traces {
    /// The pipes that it has open, by inode; of a server its standard streams.
    pub(crate) pipes: BTreeSet<u64>,
    /// The folder that it works in; of a server the one that it was started in.
    pub(crate) cwd: Option<PathBuf>,
}

/// What is known of a direct child that nobody registered: an orphan that came to us, or a helper started elsewhere.
#[derive(Debug)]
pub(crate) struct Orphan {
    pub(crate) group: Pid,
    pub(crate) session: Pid,
    /// Value of the marker variable in its environment.
    pub(crate) marker: Option<String>,
    pub(crate) traces: Traces,
}

/// The server that claims orphans.
#[derive(Debug)]
pub(crate) struct Claimant<'a> {
    pub(crate) token: &'a str,
    /// Process groups and sessions in which members of its tree have been seen, never those of this process.
    pub(crate) groups: &'a BTreeSet<Pid>,
    /// The process group of this process.
    pub(crate) own_group: Pid,
}

/// The table, locked.
pub(crate) fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    pub(crate) fn add_server(&mut self, root: Pid, token: &str, traces: Traces) {
        self.servers.push(Server {
            root,
            token: token.to_owned(),
            traces,
        });
    }

    pub(crate) fn remove_server(&mut self, token: &str) {
        self.servers.retain(|server| server.token != token);
    }

    pub(crate) fn add_helper(&mut self, pid: Pid) {
        self.helpers.push(pid);
    }

    pub(crate) fn remove_helper(&mut self, pid: Pid) {
        self.helpers.retain(|helper| *helper != pid);
    }

    /// From now on nothing may be started: the guard is ending this process.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether no server is live.
    pub(crate) fn is_quiet(&self) -> bool {
        self.servers.is_empty()
    }

    /// Whether this child was started on purpose, and so is no orphan.
    pub(crate) fn is_registered(&self, pid: Pid) -> bool {
        self.helpers.contains(&pid) || self.servers.iter().any(|server| server.root == pid)
    }

    /// Whether an orphan belongs to the claimant.
    ///
    /// The marker decides where it names a live server. Without one: a child in our own process group is a helper
    /// (servers get a group of their own), then the groups seen decide, then a pipe of a live server, then the folder that
    /// it works in, where the claimant is the only live server that was started there or above. What nobody can claim
    /// falls to the claimant if no other server is live; else nobody kills it before the guard does, when the run ends.
    pub(crate) fn belongs(&self, orphan: &Orphan, claimant: &Claimant<'_>) -> bool {
        if orphan.marker.as_deref() == Some(claimant.token) {
            return true;
        }
        let is_live = |marker: &String| self.servers.iter().any(|server| server.token == *marker);
        if orphan.marker.as_ref().is_some_and(is_live) || orphan.group == claimant.own_group {
            return false;
        }
        if claimant.groups.contains(&orphan.group) || claimant.groups.contains(&orphan.session) {
            return true;
        }
        let shares_pipe = |server: &Server| !server.traces.pipes.is_disjoint(&orphan.traces.pipes);
        let shares_folder = |server: &Server| match (&server.traces.cwd, &orphan.traces.cwd) {
            (Some(above), Some(cwd)) => cwd.starts_with(above),
            (None, _) | (_, None) => false,
        };
        self.only_claimant(claimant, shares_pipe)
            .or_else(|| self.only_claimant(claimant, shares_folder))
            .or_else(|| self.only_claimant(claimant, |_| true))
            .unwrap_or_default()
    }

    /// Whether all live servers that this is true of are the claimant; nothing where it is true of none.
    fn only_claimant(&self, claimant: &Claimant<'_>, is_true: impl Fn(&Server) -> bool) -> Option<bool> {
        let mut meant = self.servers.iter().filter(|server| is_true(server)).peekable();
        meant.peek()?;
        Some(meant.all(|server| server.token == claimant.token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(tokens: &[&str]) -> Registry {
        let mut registry = Registry {
            servers: Vec::new(),
            helpers: Vec::new(),
            closed: false,
        };
        for (root, token) in (100..).zip(tokens) {
            registry.add_server(root, token, traces(&[], ""));
        }
        registry
    }

    fn traces(pipes: &[u64], cwd: &str) -> Traces {
        Traces {
            pipes: pipes.iter().copied().collect(),
            cwd: (!cwd.is_empty()).then(|| PathBuf::from(cwd)),
        }
    }

    /// Two servers in folders of their own, a third and a fourth that share one: who gets an orphan that has lost its marker?
    #[test]
    fn an_orphan_without_a_marker_leaves_traces() {
        let mut registry = registry(&[]);
        for (root, token, cwd) in [
            (1, "a", "/cases/a"),
            (2, "b", "/cases/b"),
            (3, "c", "/c"),
            (4, "d", "/c"),
        ] {
            let root_pipe = u64::try_from(root).expect("above zero");
            registry.add_server(root, token, traces(&[root_pipe, root_pipe + 10], cwd));
        }
        for (title, traces, owner) in [
            ("its folder", traces(&[], "/cases/a"), Some("a")),
            ("below it", traces(&[99], "/cases/b/below"), Some("b")),
            ("another that begins like it", traces(&[], "/cases/ab"), None),
            ("a folder of two", traces(&[], "/c"), None),
            ("a pipe, in a folder of two", traces(&[13], "/c"), Some("c")),
            ("a pipe counts more than a folder", traces(&[4], "/cases/a"), Some("d")),
            ("a daemon that left nothing", traces(&[], "/"), None),
        ] {
            let orphan = Orphan {
                group: 7,
                session: 7,
                marker: None,
                traces,
            };
            for token in ["a", "b", "c", "d"] {
                let claimant = Claimant {
                    token,
                    groups: &BTreeSet::new(),
                    own_group: 1,
                };
                assert_eq!(
                    registry.belongs(&orphan, &claimant),
                    owner == Some(token),
                    "{title}: {token}"
                );
            }
        }
    }

    /// (live servers, marker, group, session) → does it belong to server `a`, seen in group 100 and session 300?
    #[test]
    fn orphans_find_their_server() {
        let table = [
            ("the marker names us", &["a", "b"][..], Some("a"), 7, 7, true),
            (
                "the marker names us, even in our own group",
                &["a", "b"],
                Some("a"),
                1,
                1,
                true,
            ),
            ("the marker names another", &["a", "b"], Some("b"), 100, 1, false),
            ("the marker of nobody, two live", &["a", "b"], Some("x"), 7, 7, false),
            ("the marker of nobody, one live", &["a"], Some("x"), 7, 7, true),
            ("no marker, our group seen", &["a", "b"], None, 100, 1, true),
            ("no marker, our session seen", &["a", "b"], None, 7, 300, true),
            ("no marker, nothing known, two live", &["a", "b"], None, 7, 7, false),
            ("no marker, nothing known, one live", &["a"], None, 7, 7, true),
            ("a helper in the harness's own group", &["a"], None, 1, 1, false),
        ];
        let groups = BTreeSet::from([100, 300]);
        let claimant = Claimant {
            token: "a",
            groups: &groups,
            own_group: 1,
        };
        for (title, tokens, marker, group, session, expected) in table {
            let orphan = Orphan {
                group,
                session,
                marker: marker.map(str::to_owned),
                traces: Traces::default(),
            };
            assert_eq!(registry(tokens).belongs(&orphan, &claimant), expected, "{title}");
        }
    }

    #[test]
    fn children_started_on_purpose_are_no_orphans() {
        let mut registry = registry(&["a"]);
        registry.add_helper(7);
        assert!(registry.is_registered(100) && registry.is_registered(7) && !registry.is_registered(8));
        registry.remove_helper(7);
        registry.remove_server("a");
        assert!(!registry.is_registered(100) && !registry.is_registered(7));
    }
}
