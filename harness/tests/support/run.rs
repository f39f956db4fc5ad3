//! The language of the end-to-end tests: the real binary, in a temporary folder of its own.
//!
//! ```text
//! let run = Harness::new().target(&Profile::plain()).case("lost-reply").run();
//! run.exits(0);
//! assert_eq!(run.verdict("lost-reply"), "pass");
//! ```
//!
//! After every command it is checked that nothing is left in the folder for temporary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use serde_json::Value;
use tempfile::TempDir;

use super::WAIT_MAX;
use super::profile::Profile;

/// The name under which [`Harness::target`] writes a profile.
const PROFILE_FILE: &str = "profile.toml";

/// A command line of the harness in the making.
#[derive(Debug, Clone)]
pub(crate) struct Harness {
    folder: Rc<TempDir>,
    words: Vec<String>,
    /// What comes after `--`.
    server: Vec<String>,
    env: Vec<(String, String)>,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    folder: Rc<TempDir>,
    /// The exit code; a signal that ended it plus 1000.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Harness {
    /// A new, empty folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("tmp")).expect("a folder for temporary files");
        Self {
            folder: Rc::new(folder),
            words: Vec::new(),
            server: Vec::new(),
            env: Vec::new(),
        }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder).expect("make a folder of the test");
        fs::write(path, text).expect("write a file of the test");
        self
    }

    /// Adds words to the command line.
    pub(crate) fn words(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    /// Names the command of the server, after `--`.
    pub(crate) fn server(mut self, words: &[&str]) -> Self {
        self.server.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    /// Writes the profile, and names it.
    pub(crate) fn target(self, profile: &Profile) -> Self {
        self.file(PROFILE_FILE, &profile.text())
            .words(&["--target", PROFILE_FILE])
    }

    /// Names a case.
    pub(crate) fn case(self, case: &str) -> Self {
        self.words(&["--case", case])
    }

    /// Plants a defect in the built-in server.
    pub(crate) fn defect(self, defect: &str) -> Self {
        self.words(&["--defect", defect])
    }

    /// Sets a variable of the harness's own environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs cases, and reads the JSON report.
    pub(crate) fn run(self) -> Report {
        let done = self.words(&["--format", "json"]).call(&["run"]);
        Report::of(done)
    }

    /// Runs cases, printing for people.
    pub(crate) fn run_human(self) -> Done {
        self.call(&["run"])
    }

    /// The command, ready to be started; `first` comes before the words.
    pub(crate) fn command(&self, first: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        command.args(first).args(&self.words).current_dir(self.folder.path());
        if !self.server.is_empty() {
            command.arg("--").args(&self.server);
        }
        // Only what is named, so that no variable of the caller changes what is printed.
        command.env_clear().env("TMPDIR", self.path("tmp"));
        for name in ["PATH", "HOME", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs any command to its end, within a bound.
    pub(crate) fn call(self, first: &[&str]) -> Done {
        let mut command = assert_cmd::Command::from_std(self.command(first));
        let output = command.timeout(WAIT_MAX).output().expect("start the harness");
        let done = Done {
            folder: self.folder,
            code: code(output.status),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        };
        let left = names(&done.path("tmp"));
        assert!(left.is_empty(), "temporary files are left: {left:?}\n{done:?}");
        done
    }
}

impl Done {
    /// A command that was waited for elsewhere.
    pub(crate) fn new(harness: &Harness, code: i32, stdout: String, stderr: String) -> Self {
        Self {
            folder: Rc::clone(&harness.folder),
            code,
            stdout,
            stderr,
        }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Another command in the same folder.
    pub(crate) fn then(&self) -> Harness {
        Harness {
            folder: Rc::clone(&self.folder),
            words: Vec::new(),
            server: Vec::new(),
            env: Vec::new(),
        }
    }

    /// Fails, with everything that was printed, unless this is the exit code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless standard error is one line that contains all these parts, and standard output is empty.
    #[track_caller]
    pub(crate) fn says_only(&self, parts: &[&str]) -> &Self {
        assert_eq!(self.stdout, "", "standard output");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(
            lines.len() == 1 && lines[0].starts_with("error: "),
            "not one message:\n{}",
            self.stderr
        );
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in:\n{}", self.stderr);
        }
        self
    }

    /// Fails if any evidence was begun.
    #[track_caller]
    pub(crate) fn wrote_nothing(&self) -> &Self {
        assert!(!self.path("evidence").exists(), "an evidence folder was made");
        self
    }

    /// The folder of the newest run.
    pub(crate) fn latest(&self) -> PathBuf {
        let runs = self.path("evidence/runs");
        let latest = fs::read_link(runs.join("latest")).expect("a link to the newest run");
        runs.join(latest)
    }

    /// `harness verify` of a folder.
    pub(crate) fn verify(&self, evidence: &Path) -> Verification {
        let path = evidence.display().to_string();
        let done = self.then().words(&[&path, "--format", "json"]).call(&["verify"]);
        Verification {
            code: done.code,
            json: serde_json::from_str(&done.stdout).unwrap_or(Value::Null),
            stderr: done.stderr,
        }
    }
}

/// What `harness verify --format json` said.
#[derive(Debug)]
pub(crate) struct Verification {
    pub(crate) code: i32,
    pub(crate) json: Value,
    pub(crate) stderr: String,
}

impl Verification {
    /// The differences found.
    pub(crate) fn findings(&self) -> Vec<&str> {
        let list = self.json["findings"].as_array().map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Value::as_str).collect()
    }
}

/// A run that printed its JSON report, and nothing else on standard output.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) done: Done,
    pub(crate) json: Value,
}

impl Report {
    fn of(done: Done) -> Self {
        let json: Value = serde_json::from_str(&done.stdout)
            .unwrap_or_else(|error| panic!("no JSON report: {error}\n{}\n{}", done.stdout, done.stderr));
        assert_eq!(
            json["exit"], done.code,
            "the report says another exit code than the process"
        );
        Self { done, json }
    }

    /// Fails, with the report, unless this is the exit code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        self.done.exits(code);
        self
    }

    /// What the report says of one case.
    #[track_caller]
    pub(crate) fn case(&self, id: &str) -> &Value {
        let cases = self.json["cases"].as_array().expect("a list of cases");
        let case = cases.iter().find(|case| case["case"] == id);
        case.unwrap_or_else(|| panic!("{id} was not run:\n{}", self.done.stdout))
    }

    /// The verdict of one case.
    #[track_caller]
    pub(crate) fn verdict(&self, case: &str) -> &str {
        self.case(case)["verdict"].as_str().expect("a verdict")
    }

    /// Why it came to that verdict.
    #[track_caller]
    pub(crate) fn reason(&self, case: &str) -> &str {
        self.case(case)["reason"].as_str().unwrap_or_default()
    }

    /// The outcome of one check.
    #[track_caller]
    pub(crate) fn check(&self, case: &str, check: &str) -> &str {
        let checks = self.case(case)["checks"].as_array().expect("a list of checks");
        let found = checks.iter().find(|found| found["id"] == check);
        let found = found.unwrap_or_else(|| panic!("{case} has no check {check}"));
        found["outcome"].as_str().expect("an outcome")
    }

    /// A fact, by JSON pointer.
    #[track_caller]
    pub(crate) fn fact(&self, case: &str, pointer: &str) -> &Value {
        let facts = &self.case(case)["facts"];
        facts
            .pointer(pointer)
            .unwrap_or_else(|| panic!("{case} has no fact {pointer}: {facts:#}"))
    }

    /// The evidence folder.
    pub(crate) fn evidence(&self) -> PathBuf {
        self.done.path(self.json["evidence"].as_str().expect("a path"))
    }

    /// The events of one case's record.
    pub(crate) fn record(&self, case: &str) -> Vec<Value> {
        record(&self.evidence().join("cases").join(case))
    }
}

/// The events in the record of one case's folder; every line must be whole.
pub(crate) fn record(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("record.jsonl")).expect("a record");
    let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(event).collect()
}

/// The names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Every file in a folder, as relative paths in order.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder").flatten() {
            if entry.file_type().expect("a kind of file").is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                let inside = path.strip_prefix(folder).expect("inside");
                found.push(inside.display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The exit code; a signal that ended the process plus 1000.
pub(crate) fn code(status: std::process::ExitStatus) -> i32 {
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    status
        .code()
        .unwrap_or_else(|| 1000 + signal.expect("a code or a signal"))
}
