//! The flags that say which server is meant, and how it is started: shared by every command that starts one.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::protocol::Protocol;
pub(super) use crate::shell_word::quoted;
use crate::target::{SecretSource, Target, TargetWords, literal, locate, set_cwd, set_effects, set_kill, set_write};

/// A file of variables is never larger than this, in bytes.
const ENV_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Which server, and how it is started.
#[derive(Debug, Args)]
pub(super) struct TargetArguments {
    /// Profile of the server under test, or the folder of a target.toml
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Command of the server under test, as one shell-like word
    #[arg(long, value_name = "CMD", conflicts_with = "target")]
    stdio: Option<String>,
    /// The write to test, with `{marker}` and, if the tool takes one, `{operation}` in its arguments
    #[arg(long, value_name = "TOOL=JSON", conflicts_with = "target", requires = "store")]
    write: Option<String>,
    /// Answers to what the server asks before it writes, by key, as under [write] responses: `{"ANY_NAME": {"action":
    /// "accept", "content": {…}}}`
    #[arg(long, value_name = "JSON", conflicts_with = "target", requires = "write")]
    responses: Option<String>,
    /// Where the server keeps what it writes: an SQLite file, another file (JSON, JSON Lines, text), or a folder of any files.
    /// Begin it with `{data}`, the case's own folder
    #[arg(long, value_name = "PATH", conflicts_with = "target", requires = "write")]
    store: Option<String>,
    /// What counts as one effect: an SQL query by `$marker` that returns one row for each, or keys of [read.effects], such as
    /// `jsonl = true`, `json = "/orders"`, `files = "*.md"`; looked for in the store by its marker when absent
    #[arg(long, value_name = "SQL|KEYS", requires = "store")]
    effects: Option<String>,
    /// What makes the store before the first start: an SQL script (*.sql), or a file or folder to copy
    #[arg(long, value_name = "FILE", requires = "store")]
    store_seed: Option<PathBuf>,
    /// Variable for the server; `{data}` in it is the case's own folder. NAME alone passes yours on. May be repeated
    #[arg(short = 'e', long = "env", value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// File of variables for the server, NAME=VALUE a line; their values appear in no evidence. May be repeated
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    /// Working directory of the server, relative to the current one; `{data}` in it is the case's own folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Command that kills the server, as one shell-like word, where what is launched does not own it (`docker run`, `ssh`);
    /// `{launch}`, here and in the server's command, is a text that no other launch has
    #[arg(long, value_name = "CMD")]
    kill: Option<String>,
    /// Revision of MCP to speak, and no other; `auto`, as when absent, finds out what the server speaks. Wins over `protocol` in
    /// a profile
    #[arg(long, value_name = "REVISION", value_parser = protocols())]
    protocol: Option<Protocol>,
    /// Pass on your whole environment, not only the usual list
    #[arg(long)]
    inherit_env: bool,
}

impl TargetArguments {
    /// The target that the flags and the words after `--` mean, looking for `./target.toml` in `folder`.
    pub(super) fn resolve(&self, command: &[String], folder: &Path) -> Result<Target, String> {
        let command = match &self.stdio {
            Some(line) => split_words("--stdio", line)?,
            None => command.to_vec(),
        };
        let words = TargetWords {
            profile: self.target.clone(),
            command,
            has_built_in: cfg!(feature = "reference-server"),
        };
        let mut target = locate(&words, folder).map_err(|error| error.to_string())?;
        self.apply(&mut target, folder)?;
        Ok(target)
    }

    fn apply(&self, target: &mut Target, folder: &Path) -> Result<(), String> {
        if let (Some(write), Some(store)) = (&self.write, &self.store) {
            let (tool, arguments) = write
                .split_once('=')
                .ok_or_else(|| format!("--write {write:?}: it is not TOOL={{…}}, the arguments being JSON"))?;
            let arguments = serde_json::from_str(arguments)
                .map_err(|error| format!("--write {tool}: the arguments are no JSON object: {error}"))?;
            let responses = match &self.responses {
                None => serde_json::Map::new(),
                Some(text) => serde_json::from_str(text).map_err(|error| {
                    format!(
                        "--responses: it is no JSON object such as {{\"ANY_NAME\":{{\"action\":\"accept\",\"content\":{{}}}}}}: {error}"
                    )
                })?,
            };
            let seed = self.store_seed.as_ref().map(|seed| folder.join(seed));
            set_write(target, tool, arguments, responses, store, seed)?;
            if let Some(sql) = &self.effects {
                set_effects(target, sql).map_err(|message| format!("--effects: {message}"))?;
            }
        }
        if let Some(line) = &self.kill {
            set_kill(target, split_words("--kill", line)?).map_err(|message| format!("--kill: {message}"))?;
        }
        if let Some(cwd) = &self.cwd {
            set_cwd(target, folder, cwd);
        }
        if let Some(protocol) = self.protocol {
            target.want(protocol);
        }
        let launch = &mut target.launch;
        launch.inherit_env |= self.inherit_env;
        for path in &self.env_file {
            for (name, value) in read_env_file(&folder.join(path))? {
                launch.env.remove(&name);
                launch.secrets.insert(name, SecretSource::Value(value));
            }
        }
        for word in &self.env {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => match std::env::var(word) {
                    Ok(value) => (word.as_str(), literal(&value)),
                    Err(_) => return Err(format!("-e {word}: it is not set here; write -e {word}=VALUE")),
                },
            };
            if name.is_empty() {
                return Err(format!("-e {word:?}: the name of the variable is empty"));
            }
            launch.secrets.remove(name);
            launch.env.insert(name.to_owned(), value);
        }
        Ok(())
    }

    /// Whether they name a command.
    pub(super) fn is_command(&self) -> bool {
        self.stdio.is_some()
    }

    /// The same flags as words of a command line.
    pub(super) fn repeat_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut flag = |name: &str, value: &str| words.push(format!("{name} {}", quoted(value)));
        if let Some(target) = &self.target {
            flag("--target", &target.display().to_string());
        }
        if let Some(line) = &self.stdio {
            flag("--stdio", line);
        }
        if let Some(write) = &self.write {
            flag("--write", write);
        }
        if let Some(responses) = &self.responses {
            flag("--responses", responses);
        }
        if let Some(store) = &self.store {
            flag("--store", store);
        }
        if let Some(sql) = &self.effects {
            flag("--effects", sql);
        }
        if let Some(seed) = &self.store_seed {
            flag("--store-seed", &seed.display().to_string());
        }
        for word in &self.env {
            flag("-e", word);
        }
        for path in &self.env_file {
            flag("--env-file", &path.display().to_string());
        }
        if let Some(cwd) = &self.cwd {
            flag("--cwd", cwd);
        }
        if let Some(line) = &self.kill {
            flag("--kill", line);
        }
        if let Some(protocol) = self.protocol {
            flag("--protocol", protocol.name());
        }
        if self.inherit_env {
            words.push("--inherit-env".to_owned());
        }
        words
    }
}

/// What `--protocol` takes.
pub(super) fn protocols() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::NAMES).try_map(|name| name.parse::<Protocol>())
}

/// Reads `NAME=VALUE` lines; empty lines and those that begin with `#` are passed over, `export ` and one pair of quotes
/// around a value are taken off.
fn read_env_file(path: &Path) -> Result<Vec<(String, String)>, String> {
    let text = crate::plain_file::read_text(path, ENV_FILE_BYTES_MAX)
        .map_err(|error| format!("--env-file {}: {error}", path.display()))?;
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = assignment.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            // The line may hold a secret, so it is not repeated.
            return Err(format!(
                "--env-file {}:{}: it is not NAME=VALUE",
                path.display(),
                index + 1
            ));
        };
        variables.push((name.trim().to_owned(), unquoted(value.trim()).to_owned()));
    }
    Ok(variables)
}

fn unquoted(value: &str) -> &str {
    let inside = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// Splits the command line that a flag has, at spaces; single and double quotes keep a word together. No shell is involved.
pub(super) fn split_words(flag: &str, line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("{flag} {line:?}: a quote is not closed"));
    }
    words.extend(word);
    if words.is_empty() {
        return Err(format!("{flag} is empty: name the command"));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_without_a_shell() {
        let words = |line| split_words("--stdio", line).expect("words");
        assert_eq!(
            words("npx -y 'my server' --x=\"a b\""),
            ["npx", "-y", "my server", "--x=a b"]
        );
        assert_eq!(words("a '' b"), ["a", "", "b"]);
        assert!(split_words("--stdio", "a 'b").is_err());
        assert!(split_words("--kill", "  ").is_err());
    }

    #[test]
    fn a_file_of_variables_is_read_and_a_wrong_line_is_named_but_not_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("vars");
        std::fs::write(&path, "# a comment\n\nexport A=1\nB = 'two words'\nC=\"x=y\"\n").expect("write");
        let pairs = read_env_file(&path).expect("variables");
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        std::fs::write(&path, "A=1\nsecret\n").expect("write");
        let error = read_env_file(&path).expect_err("not an assignment");
        assert!(error.ends_with("vars:2: it is not NAME=VALUE"), "{error}");
    }

    #[test]
    fn words_are_quoted_for_a_shell_where_they_need_it() {
        assert_eq!(quoted("targets/a.toml"), "targets/a.toml");
        assert_eq!(quoted("my target"), "'my target'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
