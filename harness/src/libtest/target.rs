//! Which server is tested, as a test says it: a profile, or a command with its write and its store.

use std::path::{Path, PathBuf};

use crate::target::{self as resolved, TargetSource, TargetWords, literal, locate, set_effects, set_write};

/// What a profile in the text of a test is called where its file would be named.
const INLINE: &str = "the profile in the test";

/// The placeholder of the program that runs.
const OWN_PROGRAM: &str = "{harness}";

/// A server under test. Nothing is read before [`run`](super::run).
#[derive(Debug, Clone)]
pub struct Target {
    from: From,
    program: Option<PathBuf>,
    env: Vec<(String, String)>,
    write: Option<(String, String)>,
    store: Option<String>,
    store_seed: Option<PathBuf>,
    effects: Option<String>,
    protocol: Option<String>,
}

#[derive(Debug, Clone)]
enum From {
    Profile(PathBuf),
    Text(String),
    Command(Vec<String>),
}

impl Target {
    /// The server that a profile describes; its path starts at the package's folder, where Cargo runs tests.
    pub fn from_profile(path: impl Into<PathBuf>) -> Self {
        Self::new(From::Profile(path.into()))
    }

    /// The same with the text of a profile instead of its file. Relative paths start at the package's folder.
    pub fn from_toml(text: impl Into<String>) -> Self {
        Self::new(From::Text(text.into()))
    }

    /// The server that a command starts, one word each; `{data}` is a new folder for each case. Without [`Self::write`] and
    /// [`Self::store`] nothing more than its start can be tested.
    pub fn command<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self::new(From::Command(words.into_iter().map(Into::into).collect()))
    }

    fn new(from: From) -> Self {
        Self {
            from,
            program: None,
            env: Vec::new(),
            write: None,
            store: None,
            store_seed: None,
            effects: None,
            protocol: None,
        }
    }

    /// The program to start instead of the first word of the command: `env!("CARGO_BIN_EXE_<name>")` is the one that Cargo has
    /// built for this test.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// A variable for the server, which gets a fixed list of others only; `{data}` and its kin in the value are filled in.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The one call that writes, of a command: the tool, and its arguments as JSON, with `{marker}` where the written data
    /// will show it and, if the tool takes a key, `{operation}`.
    #[must_use]
    pub fn write(mut self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.write = Some((tool.into(), arguments.into()));
        self
    }

    /// Where a command keeps what it writes, such as `{data}/orders.db`.
    #[must_use]
    pub fn store(mut self, path: impl Into<String>) -> Self {
        self.store = Some(path.into());
        self
    }

    /// What makes that store before the first start: an SQL script, or a file or folder to copy.
    #[must_use]
    pub fn store_seed(mut self, path: impl Into<PathBuf>) -> Self {
        self.store_seed = Some(path.into());
        self
    }

    /// One row for each effect, by `$marker`; found by the marker where it is not said.
    #[must_use]
    pub fn effects(mut self, sql: impl Into<String>) -> Self {
        self.effects = Some(sql.into());
        self
    }

    /// The revision of MCP to speak, such as `2025-06-18`, and no other; what the server speaks where it is not said.
    #[must_use]
    pub fn protocol(mut self, revision: impl Into<String>) -> Self {
        self.protocol = Some(revision.into());
        self
    }

    /// The target as everything else knows it, or what is wrong with what was said.
    pub(super) fn resolve(&self, folder: &Path) -> Result<resolved::Target, String> {
        let mut target = match &self.from {
            From::Profile(path) => named(Some(path.clone()), Vec::new(), folder)?,
            From::Command(words) if words.is_empty() => return Err("the command is empty: name the program".to_owned()),
            From::Command(words) => named(None, words.clone(), folder)?,
            From::Text(text) => {
                let source = TargetSource::Profile(PathBuf::from(INLINE));
                resolved::parse(INLINE, text, source, folder).map_err(|error| error.to_string())?
            }
        };
        self.describe_command(&mut target, folder)?;
        if let (Some(program), Some(first)) = (&self.program, target.launch.command.first_mut()) {
            *first = literal(&folder.join(program).display().to_string());
        }
        refuse_own_program(&target)?;
        if let Some(protocol) = &self.protocol {
            target.want(protocol.parse().map_err(|error| format!("protocol: {error}"))?);
        }
        for (name, value) in &self.env {
            target.launch.secrets.remove(name);
            target.launch.env.insert(name.clone(), value.clone());
        }
        Ok(target)
    }

    fn describe_command(&self, target: &mut resolved::Target, folder: &Path) -> Result<(), String> {
        match (&self.write, &self.store) {
            (Some((tool, arguments)), Some(store)) => {
                let arguments = serde_json::from_str(arguments)
                    .map_err(|error| format!("write {tool}: the arguments are no JSON object: {error}"))?;
                let seed = self.store_seed.as_ref().map(|seed| folder.join(seed));
                set_write(target, tool, arguments, serde_json::Map::new(), store, seed)?;
            }
            (None, None) => {}
            (Some(_), None) => return Err("`write` needs `store`: where the server keeps what it writes".to_owned()),
            (None, Some(_)) => return Err("`store` needs `write`: the call that writes to it".to_owned()),
        }
        match &self.effects {
            Some(sql) => set_effects(target, sql).map_err(|message| format!("effects: {message}")),
            None => Ok(()),
        }
    }
}

/// The program that `{harness}` stands for is the test itself here, which is no server, whatever it is told to serve.
fn refuse_own_program(target: &resolved::Target) -> Result<(), String> {
    match target.launch.command.first() {
        Some(first) if first.contains(OWN_PROGRAM) => Err(format!(
            "launch.command: {OWN_PROGRAM} is this test's own binary, which carries no server; name the program, as with \
             .program(env!(\"CARGO_BIN_EXE_<name>\"))"
        )),
        Some(_) | None => Ok(()),
    }
}

fn named(profile: Option<PathBuf>, command: Vec<String>, folder: &Path) -> Result<resolved::Target, String> {
    let words = TargetWords {
        profile,
        command,
        has_built_in: false,
    };
    locate(&words, folder).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Protocol, Revision};

    fn folder() -> &'static Path {
        Path::new("/a/package")
    }

    #[test]
    fn a_command_is_described_as_on_a_command_line() {
        let target = Target::command(["orders", "--database", "{data}/o.db"])
            .program("/target/{debug}/orders")
            .write("create", r#"{"note": "{marker}", "key": "{operation}"}"#)
            .store("{data}/o.db")
            .env("MODE", "x")
            .protocol("2025-06-18");
        let target = target.resolve(folder()).expect("a target");
        assert_eq!(
            target.launch.command,
            ["/target/{{debug}}/orders", "--database", "{data}/o.db"]
        );
        assert_eq!(target.launch.env["MODE"], "x");
        assert_eq!(target.protocol, Protocol::Only(Revision::V2025_06_18));
        assert_eq!(target.identity, resolved::Identity::Argument("key".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let bare = || Target::command(["orders"]);
        let table = [
            (Target::command([""; 0]), "the command is empty"),
            (bare().write("create", "{}"), "`write` needs `store`"),
            (bare().store("{data}/o.db"), "`store` needs `write`"),
            (bare().write("create", "[]").store("{data}/o.db"), "are no JSON object"),
            (bare().write("create", "{}").store("{data}/o.db"), "carries no {marker}"),
            (
                bare().protocol("2025-06-19"),
                "protocol: `2025-06-19` is none of auto, 2026-07-28,",
            ),
            (
                Target::from_toml("format = 1\nname = \"x\"\n[launch]\ncommand = [\"{harness}\", \"serve\"]\n"),
                "launch.command: {harness} is this test's own binary, which carries no server; name the program",
            ),
            (Target::from_profile("mcp.toml"), "/a/package/mcp.toml"),
            (
                Target::from_toml("format = 1\nnam = 1"),
                "the profile in the test:2:1: unknown key `nam`",
            ),
        ];
        for (target, message) in table {
            let error = target.resolve(folder()).expect_err(message);
            assert!(error.contains(message), "{error}");
        }
    }
}
