//! What is installed, and where: `install` decides it, here and on the command line alike.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::run::Harness;

/// The command to run, from the root of the repository.
pub(crate) const INSTALL: &str = "harness/tests/published/install";

/// Says what a missing package means: `required` makes it a failure.
const VARIABLE: &str = "HARNESS_PUBLISHED";

/// What is installed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// On `PyPI`: mcp-server-sqlite with an SDK of its time.
    SqliteServer,
    /// The same with today's SDK, with which it dies.
    SqliteServerBroken,
    /// On `PyPI`: mcp 2.
    PythonSdk,
    /// Everything from npm.
    Node,
}

impl Part {
    /// Its name, in `install` and as a folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SqliteServer => "mcp-server-sqlite",
            Self::SqliteServerBroken => "mcp-server-sqlite-broken",
            Self::PythonSdk => "python-sdk",
            Self::Node => "node",
        }
    }

    /// Its folder.
    pub(crate) fn folder(self) -> PathBuf {
        package().join("../target/published").join(self.name())
    }

    /// A harness that finds the commands of this part first.
    pub(crate) fn harness(self) -> Harness {
        let commands = match self {
            Self::Node => self.folder().join("node_modules/.bin"),
            Self::SqliteServer | Self::SqliteServerBroken | Self::PythonSdk => self.folder().join("bin"),
        };
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(commands).chain(std::env::split_paths(&usual));
        let path: OsString = std::env::join_paths(folders).expect("no folder has a colon in its name");
        Harness::new().env("PATH", path.to_str().expect("a PATH in UTF-8"))
    }

    /// The same, with the profile of this name.
    pub(crate) fn target(self, profile: &str) -> Harness {
        let path = profiles().join(format!("{profile}.toml"));
        self.harness().words(&["--target", path.to_str().unwrap()])
    }
}

/// The folder of the profiles that people copy.
pub(crate) fn profiles() -> PathBuf {
    package().join("targets")
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What is there on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    /// Everything that `install` says is missing or out of date; nothing is known where it cannot be run.
    missing: Option<Vec<String>>,
    is_required: bool,
}

impl Installed {
    /// Asks `install`, and tells aloud what is missing: libtest prints a mere `ignored`, which nobody reads.
    pub(crate) fn look() -> Self {
        let output = Command::new(package().join("tests/published/install"))
            .arg("--check")
            .output();
        let output = output.ok().filter(|output| output.status.success());
        let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
        let installed = Self {
            missing: output.map(|output| lines(&output.stdout)),
            is_required: std::env::var_os(VARIABLE).is_some_and(|value| value == "required"),
        };
        let what = match &installed.missing {
            None => "whether anything".to_owned(),
            Some(missing) if missing.is_empty() => return installed,
            Some(missing) => missing.join(", "),
        };
        let _ = writeln!(
            std::io::stderr(),
            "\nNOT TESTED: published packages are missing here ({what}).\n\
             To install them (Python 3.10, Node.js 20): {INSTALL}\n"
        );
        installed
    }

    /// Whether a part is there.
    pub(crate) fn has(&self, part: Part) -> bool {
        let missing = self.missing.as_ref();
        missing.is_some_and(|missing| missing.iter().all(|name| name != part.name()))
    }

    /// Whether what needs this part is left out.
    pub(crate) fn ignores(&self, part: Part) -> bool {
        !self.is_required && !self.has(part)
    }
}
