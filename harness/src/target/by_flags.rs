//! A target that is a command, described by the flags beside it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::flag_words::in_flag_words;
use super::reading;
use super::resolve::{join_unless_template, require_program, resolve_write};
use super::resolved::{Identity, Target, TargetSource};
use super::written::WriteWritten;

/// Gives a target that is a command alone its write and its store, as the flags say. The identity is the argument that
/// is `{operation}`, where one is.
pub fn set_write(
    target: &mut Target,
    tool: &str,
    arguments: serde_json::Map<String, Value>,
    responses: serde_json::Map<String, Value>,
    store: &str,
    seed: Option<PathBuf>,
) -> Result<(), String> {
    if target.source != TargetSource::Command {
        return Err("--write and --store describe a command: name it after `--`".to_owned());
    }
    let is_identity = |(_, value): &(&String, &Value)| value.as_str() == Some("{operation}");
    let identity = arguments.iter().find(is_identity);
    target.identity = identity.map_or(Identity::None, |(name, _)| Identity::Argument(name.clone()));
    let written = WriteWritten {
        meta: Map::new(),
        failing: Map::new(),
        submitted: None,
        tool: tool.to_owned(),
        arguments,
        change: serde_json::Map::new(),
        responses,
    };
    target.write = Some(resolve_write(written, &target.identity).map_err(|message| in_flag_words(&message))?);
    target.store = Some(reading::store(store.to_owned(), seed));
    Ok(())
}

/// Gives a target what counts as its effects: an SQL statement, or keys of `[read.effects]` with commas between.
pub fn set_effects(target: &mut Target, text: &str) -> Result<(), String> {
    target.read_effects = Some(reading::from_flag(text)?);
    Ok(())
}

/// Gives a target the working directory of its server: a template, relative to `folder`.
pub fn set_cwd(target: &mut Target, folder: &Path, cwd: &str) {
    target.launch.cwd = Some(join_unless_template(folder, cwd));
    target.launch.cwd_is_said = true;
}

/// Gives a target the command that kills its server.
pub fn set_kill(target: &mut Target, words: Vec<String>) -> Result<(), String> {
    target.launch.kill = Some(require_program(words)?);
    Ok(())
}
