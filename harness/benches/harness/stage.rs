//! What the measurements share: the executable, folders, the built-in target and how it is launched, time.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use harness::case::{Case, Catalogue, Role};
use harness::drive::RunSetting;
use harness::drive::clock::Clock;
use harness::drive::process::LaunchSpec;
use harness::plan::{Naming, Plan, plan};
use harness::target::{Target, TargetWords, locate};

use crate::raw_server::Watchdog;

/// The case that is measured, and whose plan says how the server is called.
pub(crate) const CASE: &str = "lost-reply";

/// No command of this benchmark takes longer.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(120);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The executable that users run, built with the same profile as this benchmark.
    pub(crate) harness: PathBuf,
    /// Everything is made in here.
    pub(crate) folder: PathBuf,
    target: Target,
}

impl Stage {
    pub(crate) fn new(folder: &Path) -> Self {
        let words = TargetWords {
            has_built_in: true,
            ..TargetWords::default()
        };
        Self {
            harness: PathBuf::from(env!("CARGO_BIN_EXE_harness")),
            folder: folder.to_path_buf(),
            // In the new folder, or a `target.toml` would be taken for the target.
            target: locate(&words, folder).expect("the built-in target"),
        }
    }

    /// A new folder for one round of one thing.
    pub(crate) fn round(&self, name: &str, round: u32) -> PathBuf {
        let folder = self.folder.join(format!("{name}-{round}"));
        std::fs::create_dir(&folder).expect("a new folder");
        folder
    }

    /// How a run would set up the built-in server, with its own folders under `scratch`.
    pub(crate) fn setting(&self, scratch: &Path) -> RunSetting {
        RunSetting::new(
            self.target.clone(),
            naming(),
            self.harness.clone(),
            scratch.to_path_buf(),
            None,
        )
        .expect("the built-in target needs nothing of the environment")
    }

    /// The plan of [`CASE`] on the built-in server.
    pub(crate) fn plan(&self) -> Plan {
        plan(&self.target, case(), &naming()).expect("a plan of a frozen case on the built-in target")
    }

    /// How the built-in server is launched, on a new store under `scratch`; the same for every client.
    pub(crate) fn launch_spec(&self, scratch: &Path) -> LaunchSpec {
        let setting = self.setting(scratch);
        setting.stage("raw").expect("the folders of a stage");
        let stage = setting.stage_of("raw");
        let spec = setting.launch_spec(&stage, Role::Server, scratch.join("stderr.log"));
        spec.expect("the templates of the built-in target")
    }

    /// Runs the harness with these arguments in this folder, to its end.
    pub(crate) fn command(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.harness);
        command.args(arguments).current_dir(folder).env("TMPDIR", folder);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().expect("start the harness");
        let _watchdog = Watchdog::over(child.id(), COMMAND_TIME_MAX);
        child.wait_with_output().expect("the output of the harness")
    }
}

/// [`CASE`].
pub(crate) fn case() -> &'static Case {
    Catalogue::embedded().get(CASE).expect("a case of the catalogue")
}

fn naming() -> Naming {
    Naming {
        seed: 1,
        nonce: "bench".to_owned(),
    }
}

/// Does something; returns what came of it, and the microseconds that it took.
pub(crate) fn timed<T>(act: impl FnOnce() -> T) -> (T, u64) {
    let clock = Clock::start();
    let done = act();
    (done, clock.stamp().micros)
}

/// A time, in milliseconds.
pub(crate) fn milliseconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64() * 1000.0
}

/// How many a second.
pub(crate) fn per_second(count: u32, micros: u64) -> f64 {
    f64::from(count) / Duration::from_micros(micros.max(1)).as_secs_f64()
}
