//! The stage of a case: its folders, its clock, its secrets, and how its target is launched from them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::clock_file;
use super::elsewhere::own_store;
use super::environment;
use super::inside::refuse_outside;
use super::outside::SideCommand;
use super::process::LaunchSpec;
use super::secrets;
use super::seed;
use crate::case::{Role, Rotation, StartStep};
use crate::plan::{CLOCK_START_UNIX, Naming, common_values};
use crate::protocol::{Era, Offer};
use crate::secrets::Secret;
use crate::target::{PlaceholderError, Seed, Target, Values};

/// How long a lock of the server is waited for when its rows are aged.
const AGE_BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// Most bytes of a server's standard error that are kept.
pub(super) const STDERR_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Why a stage could not be set.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A template of the profile has a placeholder that means nothing there.
    #[error("{place}: {source}")]
    Placeholder {
        /// Which key of the profile.
        place: String,
        /// What is wrong.
        source: PlaceholderError,
    },
    /// A secret is to come from a variable that is not set.
    #[error("launch.secrets.{name}: the environment variable {variable} is not set; set it, or use `random:32`")]
    Secret {
        /// The variable of the server.
        name: String,
        /// The variable of the caller.
        variable: String,
    },
    /// A folder or file could not be made.
    #[error("create {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The seed of a new store does not run, or cannot be copied.
    #[error("make the store from store.seed {path}: {reason}")]
    Seed {
        /// The script, or what was to be copied.
        path: PathBuf,
        /// What SQLite or the system said.
        reason: String,
    },
    /// The store of the profile is in use by earlier data, and lies outside the case's own folder.
    #[error(
        "store.path {path} is not {{data}} or a path below it: the harness writes only to stores that it made; {}",
        own_store(path)
    )]
    ForeignStore {
        /// The path.
        path: String,
    },
    /// The server made a link of its store.
    #[error(
        "the store {store} leads out of the case's own folder ({{data}}), to {real}: nothing was read or copied there; let the \
         server keep its store below {{data}}, and make no link of it"
    )]
    Outside {
        /// The path of the store.
        store: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
}

/// What is the same for every case of a run.
#[derive(Debug)]
pub struct RunSetting {
    /// The target.
    pub target: Target,
    /// Where names come from.
    pub naming: Naming,
    /// The harness's own executable.
    pub harness: PathBuf,
    /// The folder under which every case gets its own.
    pub scratch: PathBuf,
    /// Values of the secrets, the same in every process of the run.
    secrets: BTreeMap<String, String>,
    /// Values of the secrets of each rotation.
    rotated: BTreeMap<Rotation, BTreeMap<String, String>>,
    /// The planted defect.
    defect: Option<String>,
}

/// The stage of one case.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The name of its folder.
    name: String,
    /// `{data}`.
    pub data: PathBuf,
    home: PathBuf,
    gates: PathBuf,
    clock: PathBuf,
    /// What the clock says, in Unix seconds.
    now: i64,
    values: Values,
    /// Variables of one launch beside those of the profile.
    env: BTreeMap<String, String>,
}

impl RunSetting {
    /// What is offered in the handshake of the legacy era: forms, where the profile has answers to forms. A server that can
    /// do without an answer then writes without one, and is not stopped by a question.
    pub(super) fn offer(&self) -> Offer {
        let revision = self.target.protocol.spoken_in(Era::Legacy);
        let write = self.target.write.as_ref();
        let responses = write.map(|write| &write.responses);
        Offer::of(responses, revision)
    }

    /// Resolves what needs the environment: secrets.
    pub fn new(
        target: Target,
        naming: Naming,
        harness: PathBuf,
        scratch: PathBuf,
        defect: Option<String>,
    ) -> Result<Self, StageError> {
        let secrets = secrets::revealed(&target.launch.secrets)?;
        let rotated = (target.rotations.iter())
            .map(|(rotation, rotated)| Ok((*rotation, secrets::revealed(&rotated.secrets)?)))
            .collect::<Result<_, StageError>>()?;
        if let Some(store) = &target.store
            && !is_inside_data(&store.path)
        {
            return Err(StageError::ForeignStore {
                path: store.path.clone(),
            });
        }
        Ok(Self {
            target,
            naming,
            harness,
            scratch,
            secrets,
            rotated,
            defect,
        })
    }

    /// The secrets of this run, those of rotations too.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        secrets::listed(self.rotated.values().chain([&self.secrets]))
    }

    /// Makes the folders of one case.
    pub fn stage(&self, case: &str) -> Result<Stage, StageError> {
        let root = self.scratch.join(case);
        let stage = self.stage_at(&root);
        for folder in [&stage.data, &stage.home, &stage.gates] {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        clock_file::set(&stage.clock, CLOCK_START_UNIX).map_err(failed(&stage.clock))?;
        if let Some(store) = self.store_path(&stage)? {
            self.seed(&store)?;
        }
        Ok(stage)
    }

    fn stage_at(&self, root: &Path) -> Stage {
        let (data, home, gates) = (root.join("data"), root.join("home"), root.join("gates"));
        let clock = root.join("clock");
        let values = common_values(&self.naming)
            .with("data", data.display().to_string())
            .with("clock", clock.display().to_string())
            .with("harness", self.harness.display().to_string());
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Stage {
            name,
            data,
            home,
            gates,
            clock,
            now: CLOCK_START_UNIX,
            values,
            env: BTreeMap::new(),
        }
    }

    /// The same stage for the launch of one process: `{launch}` is a text that no other launch of any run has.
    pub fn for_launch(&self, stage: &Stage, start: &StartStep) -> Stage {
        let launch = self.naming.launch(&stage.name, &start.process);
        let mut values = stage
            .values
            .clone()
            .with("launch", launch)
            .with("process", &start.process);
        for (name, length) in start.settings.values() {
            values = values.with(name, length);
        }
        if let Some(principal) = &start.principal {
            values = values.with("principal", principal);
        }
        let mut env = BTreeMap::new();
        if let (Some(variable), Some(failpoint)) = (&self.target.failpoints_env, &start.failpoint) {
            env.insert(variable.clone(), failpoint.clone());
        }
        if let Some(rotated) = start.rotate.and_then(|rotation| self.target.rotations.get(&rotation)) {
            env.extend(rotated.env.clone());
        }
        if let Some(secrets) = start.rotate.and_then(|rotation| self.rotated.get(&rotation)) {
            env.extend(secrets.clone());
        }
        Stage {
            values,
            env,
            ..stage.clone()
        }
    }

    /// Moves the clock of a stage, and ages the rows of these operations, as the profile says; the inner error says why that
    /// was not possible.
    pub fn advance(
        &self,
        stage: &mut Stage,
        seconds: u64,
        operations: &[&str],
    ) -> Result<Result<(), String>, StageError> {
        stage.now += i64::try_from(seconds).unwrap_or(i64::MAX);
        clock_file::set(&stage.clock, stage.now).map_err(failed(&stage.clock))?;
        let Some(age) = &self.target.clock.age else {
            return Ok(Ok(()));
        };
        let Some(store) = self.sqlite_path(stage)? else {
            return Ok(Err("the store is no SQLite file, so its rows cannot be aged".to_owned()));
        };
        Ok(age_rows(&store, age, seconds, operations).map_err(|error| format!("[clock] age: {error}")))
    }

    /// The SQLite file that holds the effects, where there is one: to be written or locked, so it must be the case's own.
    pub fn sqlite_path(&self, stage: &Stage) -> Result<Option<PathBuf>, StageError> {
        let Some(inside) = self.target.sqlite_path() else {
            return Ok(None);
        };
        let store = self.store_path(stage)?;
        let sqlite = store.map(|store| if inside.is_empty() { store } else { store.join(inside) });
        if let Some(sqlite) = &sqlite {
            refuse_outside(sqlite, &stage.data)?;
        }
        Ok(sqlite)
    }

    /// The command by which the operator settles an operation.
    pub fn reconcile_command(&self, stage: &Stage, operation: &str) -> Result<Option<SideCommand>, StageError> {
        let Some(words) = &self.target.reconcile else {
            return Ok(None);
        };
        let launch = self.for_launch(stage, &StartStep::default());
        let named = Stage {
            values: launch.values.clone().with("operation", operation),
            ..launch
        };
        self.side_command("reconcile.command", words, &named).map(Some)
    }

    /// Fills every template of the launch, and runs a seed that is a script once, on a store in memory, so that what is wrong
    /// with them is found before anything is started.
    pub fn check(&self) -> Result<(), StageError> {
        let stage = self.stage_at(&self.scratch.join("check"));
        let launch = self.for_launch(&stage, &StartStep::default());
        self.reconcile_command(&stage, "check")?;
        for role in Role::ALL {
            self.launch_spec(&launch, role, PathBuf::new())?;
        }
        self.kill_command(&launch)?;
        self.store_path(&stage)?;
        self.artifacts(&stage)?;
        let seed = self.target.store.as_ref().and_then(|store| store.seed.as_ref());
        seed.map_or(Ok(()), |seed| seed::check(seed).map_err(seed_failed(seed)))
    }

    /// How a process of this stage is launched; the stage is one for a launch.
    pub fn launch_spec(&self, stage: &Stage, role: Role, stderr_file: PathBuf) -> Result<LaunchSpec, StageError> {
        let launch = &self.target.launch;
        let beside = self.target.processes.get(&role);
        let command = match beside {
            Some(process) => stage.fill_all(&format!("processes.{}.command", role.name()), &process.command)?,
            None => stage.fill_all("launch.command", &launch.command)?,
        };
        let (program, arguments) = command
            .split_first()
            .expect("a target has a program: resolving checks it");
        let mut env = if launch.inherit_env {
            // Less what the guard tells its run: it means nothing to a server.
            let own = |name: &OsString| name.to_string_lossy().starts_with("HARNESS_");
            std::env::vars_os().filter(|(name, _)| !own(name)).collect()
        } else {
            environment::passed_on(std::env::vars_os(), &stage.home)
        };
        for (name, template) in &launch.env {
            let value = stage.fill(&format!("launch.env.{name}"), template)?;
            env.insert(name.into(), value.into());
        }
        for (name, template) in beside.into_iter().flat_map(|process| &process.env) {
            let value = stage.fill(&format!("processes.{}.env.{name}", role.name()), template)?;
            env.insert(name.into(), value.into());
        }
        for (name, value) in &self.secrets {
            env.insert(name.into(), value.into());
        }
        if let (Some(variable), Some(defect)) = (&self.target.defects_env, &self.defect) {
            env.insert(variable.into(), defect.into());
        }
        for (name, template) in &stage.env {
            env.insert(
                name.into(),
                stage.fill(&format!("rotations.env.{name}"), template)?.into(),
            );
        }
        let cwd = match &launch.cwd {
            Some(cwd) => PathBuf::from(stage.fill("launch.cwd", cwd)?),
            None => stage.data.clone(),
        };
        Ok(LaunchSpec {
            program: program.into(),
            args: arguments.iter().map(OsString::from).collect(),
            env,
            cwd,
            stderr_file,
            stderr_bytes_max: STDERR_BYTES_MAX,
        })
    }

    /// How the server of this stage is killed, where what is launched does not own it.
    pub fn kill_command(&self, stage: &Stage) -> Result<Option<SideCommand>, StageError> {
        let Some(words) = &self.target.launch.kill else {
            return Ok(None);
        };
        self.side_command("launch.kill", words, stage).map(Some)
    }

    fn side_command(&self, place: &str, words: &[String], stage: &Stage) -> Result<SideCommand, StageError> {
        let words = stage.fill_all(place, words)?;
        let (program, arguments) = words
            .split_first()
            .expect("a command has a program: resolving checks it");
        let LaunchSpec { env, cwd, .. } = self.launch_spec(stage, Role::Server, PathBuf::new())?;
        Ok(SideCommand {
            program: program.into(),
            args: arguments.iter().map(OsString::from).collect(),
            env,
            cwd,
        })
    }

    /// Where the store of this stage is, where the target has one.
    pub fn store_path(&self, stage: &Stage) -> Result<Option<PathBuf>, StageError> {
        let Some(store) = &self.target.store else {
            return Ok(None);
        };
        Ok(Some(PathBuf::from(stage.fill("store.path", &store.path)?)))
    }

    /// Where the store of a case's stage is, where the target has one.
    pub fn store_of(&self, case: &str) -> Result<Option<PathBuf>, StageError> {
        self.store_path(&self.stage_at(&self.scratch.join(case)))
    }

    /// The folder of a case's own data.
    pub(super) fn data_of(&self, case: &str) -> PathBuf {
        self.stage_at(&self.scratch.join(case)).data
    }

    /// The stage of a case, to be looked into: nothing is made.
    pub fn stage_of(&self, case: &str) -> Stage {
        self.for_launch(&self.stage_at(&self.scratch.join(case)), &StartStep::default())
    }

    /// The files and folders whose digests say what was tested.
    pub fn artifacts(&self, stage: &Stage) -> Result<Vec<String>, StageError> {
        stage.fill_all("launch.artifact", &self.target.launch.artifact)
    }

    /// A stage that only fills templates; its folders are not made.
    pub fn dry_stage(&self) -> Stage {
        self.stage_at(&self.scratch.join("dry"))
    }

    fn seed(&self, store: &Path) -> Result<(), StageError> {
        let seed = self.target.store.as_ref().and_then(|store| store.seed.as_ref());
        seed.map_or(Ok(()), |seed| seed::make(seed, store).map_err(seed_failed(seed)))
    }
}

/// Runs the profile's ageing statement for each operation.
fn age_rows(store: &Path, statement: &str, seconds: u64, operations: &[&str]) -> rusqlite::Result<()> {
    let mut connection = rusqlite::Connection::open_with_flags(store, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(AGE_BUSY)?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for operation in operations {
        let mut prepared = transaction.prepare(statement)?;
        let named = [
            ("$seconds", seconds.to_string()),
            ("$operation", (*operation).to_owned()),
        ];
        for (name, value) in named {
            if let Some(index) = prepared.parameter_index(name)? {
                prepared.raw_bind_parameter(index, value)?;
            }
        }
        prepared.raw_execute()?;
    }
    transaction.commit()
}

fn seed_failed(seed: &Seed) -> impl FnOnce(String) -> StageError {
    let (Seed::Script(path) | Seed::Copy(path)) = seed.clone();
    move |reason| StageError::Seed { path, reason }
}

impl Stage {
    /// The new HOME of the server.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The gate of an operation: an execution that is told of it waits until this file exists.
    pub(super) fn gate(&self, operation: &str) -> PathBuf {
        self.gates.join(operation)
    }

    /// Opens the gate of an operation.
    pub(super) fn open_gate(&self, operation: &str) -> Result<(), StageError> {
        let gate = self.gate(operation);
        fs::write(&gate, "").map_err(failed(&gate))
    }

    fn fill(&self, place: &str, template: &str) -> Result<String, StageError> {
        self.values.fill(template).map_err(|source| StageError::Placeholder {
            place: place.to_owned(),
            source,
        })
    }

    fn fill_all(&self, place: &str, templates: &[String]) -> Result<Vec<String>, StageError> {
        templates.iter().map(|template| self.fill(place, template)).collect()
    }
}

/// Whether a template leads below the case's own folder, and not out of it again.
fn is_inside_data(path: &str) -> bool {
    let inside = path.strip_prefix("{data}");
    let inside = inside.filter(|inside| inside.is_empty() || inside.starts_with('/'));
    let inside = inside.map(|inside| inside.trim_start_matches('/'));
    inside.is_some_and(|inside| !Path::new(inside).components().any(|part| part == Component::ParentDir))
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> StageError {
    let path = path.to_path_buf();
    move |source| StageError::File { path, source }
}
