//! From the profile as written to the target as resolved: every rule of meaning that format 1 has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::contract::{Conflict, Contract, GUARDED_CONFLICT, Preset};
use super::placeholder::{Values, literal, mentions};
use super::reading;
use super::resolved::{
    Clock, Identity, Launch, RefusalAt, Replies, Rotated, SecretSource, Status, Store, Target, TargetSource, Write,
};
use super::side;
use super::written::{
    ConflictWritten, ContractWritten, LaunchWritten, PROFILE_FORMAT, ProfileWritten, RotationWritten, StoreWritten,
    WriteWritten,
};
use crate::case::Rotation;
use crate::document::{self, DocumentError};
use crate::protocol::{Era, Protocol};

/// Members of `params` that a `tools/call` has already.
const RESERVED_PARAMS: [&str; 5] = ["name", "arguments", "_meta", "inputResponses", "requestState"];

/// What a write can be filled in with.
const WRITE_PLACEHOLDERS: [&str; 7] = ["operation", "marker", "input", "mode", "gate", "principal", "run"];

/// Random secrets have at least and at most so many bytes.
pub(super) const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=1024;

/// Where a status observation stands when a profile does not say.
const STATUS_USUAL: &str = "/structuredContent";

/// Parses and resolves a profile. `name` is what errors call the file; relative paths start at `folder`.
pub fn parse(name: &str, text: &str, source: TargetSource, folder: &Path) -> Result<Target, DocumentError> {
    let written: ProfileWritten = document::parse(name, text)?;
    resolve(written, source, folder).map_err(|message| document::refuse(name, message))
}

/// A target of which nothing but the command is known.
pub fn command_only(command: Vec<String>) -> Target {
    let name = command.join(" ");
    Target {
        name,
        source: TargetSource::Command,
        launch: Launch {
            command,
            env: BTreeMap::new(),
            secrets: BTreeMap::new(),
            artifact: Vec::new(),
            cwd: Some(".".to_owned()),
            cwd_is_said: false,
            inherit_env: false,
            kill: None,
        },
        processes: BTreeMap::new(),
        store: None,
        write: None,
        identity: Identity::None,
        contract: Contract {
            preset: Preset::None,
            claimed_in: None,
            conflict: None,
        },
        replies: Replies {
            result: None,
            replayed: None,
            refusal: RefusalAt::default(),
        },
        status: None,
        read_effects: None,
        read_ledger: None,
        read_more: BTreeMap::new(),
        clock: Clock::default(),
        failpoints_env: None,
        defects_env: None,
        tampering: BTreeMap::new(),
        rotations: BTreeMap::new(),
        reconcile: None,
        is_legacy: false,
        protocol: Protocol::Auto,
    }
}

pub(super) fn require_program(words: Vec<String>) -> Result<Vec<String>, String> {
    if words.iter().all(String::is_empty) {
        return Err("it is empty: name the program that kills the server, or leave it out".to_owned());
    }
    Ok(words)
}

fn resolve(written: ProfileWritten, source: TargetSource, folder: &Path) -> Result<Target, String> {
    if written.format != PROFILE_FORMAT {
        return Err(format!(
            "format {} is not one this harness reads (it reads {PROFILE_FORMAT})",
            written.format
        ));
    }
    let protocol = written.protocol;
    let reads = reading::resolve(written.read, written.store.as_ref())?;
    let identity = resolve_identity(written.identity.at.as_deref())?;
    let write = written.write.map(|write| resolve_write(write, &identity)).transpose()?;
    let replies = Replies {
        result: pointer_if("replies.result", written.replies.result.as_deref())?,
        replayed: pointer_if("replies.replayed", written.replies.replayed.as_deref())?,
        refusal: RefusalAt {
            error: pointer_if("replies.refusal.error", written.replies.refusal.error.as_deref())?,
            tool_error: pointer_if(
                "replies.refusal.tool_error",
                written.replies.refusal.tool_error.as_deref(),
            )?,
        },
    };
    let status = match written.status {
        None => None,
        Some(status) => Some(Status {
            result: pointer("status.result", status.result.as_deref().unwrap_or(STATUS_USUAL))?,
            stored: pointer_if("status.stored", status.stored.as_deref())?,
            tool: status.tool,
            arguments: status.arguments,
            scope: status.scope,
        }),
    };
    Ok(Target {
        name: written.name,
        source,
        launch: resolve_launch(written.launch, folder)?,
        processes: side::processes(written.processes)?,
        store: written.store.map(|store| resolve_store(store, folder)),
        write,
        identity,
        contract: resolve_contract(written.contract, &replies.refusal)?,
        replies,
        status,
        read_effects: reads.effects,
        read_ledger: reads.ledger,
        clock: written.clock.map_or_else(Clock::default, |clock| Clock {
            file: clock.file,
            age: clock.age,
        }),
        failpoints_env: written.failpoints.map(|variable| variable.env),
        defects_env: written.defects.map(|variable| variable.env),
        tampering: side::tampering(written.tampering, &reads.more)?,
        read_more: reads.more,
        rotations: resolve_rotations(written.rotations)?,
        reconcile: written.reconcile.map(|reconcile| reconcile.command),
        is_legacy: protocol.era() == Some(Era::Legacy),
        protocol,
    })
}

fn resolve_launch(written: LaunchWritten, folder: &Path) -> Result<Launch, String> {
    if written.command.is_empty() {
        return Err("launch.command is empty: name the program that serves".to_owned());
    }
    let mut secrets = BTreeMap::new();
    for (name, source) in written.secrets {
        if written.env.contains_key(&name) {
            return Err(format!("`{name}` stands in launch.env and in launch.secrets: keep one"));
        }
        let source = secret(&source).map_err(|message| format!("launch.secrets.{name}: {message}"))?;
        secrets.insert(name, source);
    }
    let kill = written.kill.map(require_program).transpose();
    let kill = kill.map_err(|message| format!("launch.kill: {message}"))?;
    // Relative paths of a profile mean the profile's own folder, wherever the harness was called from.
    let cwd_is_said = written.cwd.is_some();
    let cwd = written.cwd.unwrap_or_else(|| ".".to_owned());
    Ok(Launch {
        command: written.command,
        env: written.env,
        secrets,
        artifact: written.artifact,
        cwd: Some(join_unless_template(folder, &cwd)),
        cwd_is_said,
        inherit_env: written.inherit_env,
        kill,
    })
}

fn resolve_rotations(written: BTreeMap<Rotation, RotationWritten>) -> Result<BTreeMap<Rotation, Rotated>, String> {
    let mut rotations = BTreeMap::new();
    for (rotation, RotationWritten { env, secrets }) in written {
        let place = format!("rotations.{}", rotation.name());
        if env.is_empty() && secrets.is_empty() {
            return Err(format!("[{place}] changes nothing: give it env or secrets"));
        }
        let secrets = (secrets.into_iter())
            .map(|(name, source)| {
                let source = secret(&source).map_err(|message| format!("{place}.secrets.{name}: {message}"))?;
                Ok((name, source))
            })
            .collect::<Result<_, String>>()?;
        rotations.insert(rotation, Rotated { env, secrets });
    }
    Ok(rotations)
}

fn secret(source: &str) -> Result<SecretSource, String> {
    let unknown = || format!("`{source}` is neither `random:BYTES` nor `env:NAME`");
    let (kind, rest) = source.split_once(':').ok_or_else(unknown)?;
    match kind {
        "env" if !rest.is_empty() => Ok(SecretSource::Env(rest.to_owned())),
        "random" => {
            let bytes: usize = rest.parse().map_err(|_| unknown())?;
            if !SECRET_BYTES.contains(&bytes) {
                let (least, most) = (SECRET_BYTES.start(), SECRET_BYTES.end());
                return Err(format!("{bytes} random bytes: take {least} to {most}"));
            }
            Ok(SecretSource::Random(bytes))
        }
        _ => Err(unknown()),
    }
}

fn resolve_store(written: StoreWritten, folder: &Path) -> Store {
    let path = join_unless_template(folder, &written.path);
    reading::store(path, written.seed.map(|seed| folder.join(seed)))
}

/// Joins a relative path to the profile's folder; a path that begins with a placeholder is left as it is.
pub(super) fn join_unless_template(folder: &Path, path: &str) -> String {
    if path.starts_with('{') || Path::new(path).is_absolute() {
        return path.to_owned();
    }
    let escaped = literal(&folder.display().to_string());
    if path == "." {
        return escaped;
    }
    PathBuf::from(escaped).join(path).display().to_string()
}

pub(super) fn resolve_write(written: WriteWritten, identity: &Identity) -> Result<Write, String> {
    let known = WRITE_PLACEHOLDERS
        .iter()
        .fold(Values::default(), |values, name| values.with(name, ""));
    for (key, template) in [
        ("arguments", &written.arguments),
        ("change", &written.change),
        ("responses", &written.responses),
        ("meta", &written.meta),
        ("failing", &written.failing),
    ] {
        known
            .fill_map(template)
            .map_err(|error| format!("write.{key}: {error}"))?;
    }
    let carries = |name| mentions(&written.arguments, name) || mentions(&written.responses, name);
    if !carries("marker") {
        return Err("[write] carries no {marker}: put it where the written data will show it".to_owned());
    }
    if let Some(key) = lacks_action(&written.responses) {
        return Err(format!(
            "write.responses.{key} lacks `action`: every answer to a form has one (\"accept\", \"decline\" or \"cancel\")"
        ));
    }
    match identity {
        Identity::Argument(argument) if !written.arguments.contains_key(argument) => {
            return Err(format!(
                "identity.at = \"arguments.{argument}\", but write.arguments has no `{argument}`"
            ));
        }
        Identity::Argument(_) if !carries("operation") => {
            return Err("[identity] names an argument, but [write] carries no {operation}".to_owned());
        }
        Identity::Argument(_) | Identity::Meta(_) | Identity::Params(_) | Identity::Natural(_) | Identity::None => {}
    }
    for (key, changed) in &written.change {
        match written.arguments.get(key) {
            None => {
                return Err(format!(
                    "write.change.{key} changes an argument that write.arguments does not have"
                ));
            }
            Some(same) if same == changed => {
                return Err(format!(
                    "write.change.{key} is what write.arguments has already, so it changes nothing"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(Write {
        meta: written.meta,
        failing: written.failing,
        submitted: written.submitted.map(side::submitted).transpose()?,
        takes_input: carries("input"),
        tool: written.tool,
        arguments: written.arguments,
        change: written.change,
        responses: written.responses,
    })
}

/// An answer that has the content of a form and does not say what is done with the form. (What a model is asked to say has a
/// role.)
fn lacks_action(responses: &serde_json::Map<String, Value>) -> Option<&str> {
    let lacks = |answer: &Value| {
        answer.get("content").is_some() && answer.get("action").is_none() && answer.get("role").is_none()
    };
    let mut lacking = responses.iter().filter(|(_, answer)| lacks(answer));
    lacking.next().map(|(key, _)| key.as_str())
}

fn resolve_identity(at: Option<&str>) -> Result<Identity, String> {
    let Some(at) = at else { return Ok(Identity::None) };
    match (at.split_once('.'), at.split_once(':')) {
        _ if at == "none" => Ok(Identity::None),
        (Some(("arguments", argument)), _) if !argument.is_empty() => Ok(Identity::Argument(argument.to_owned())),
        (Some(("meta", key)), _) if !key.is_empty() => Ok(Identity::Meta(key.to_owned())),
        (Some(("params", key)), _) if RESERVED_PARAMS.contains(&key) => Err(format!(
            "identity.at = \"{at}\": `{key}` has a meaning of its own in params; take another name"
        )),
        (Some(("params", key)), _) if !key.is_empty() => Ok(Identity::Params(key.to_owned())),
        (_, Some(("natural", at))) => Ok(Identity::Natural(pointer("identity.at", at)?)),
        _ => Err(format!(
            "identity.at = \"{at}\": it must be `arguments.NAME`, `meta.KEY`, `params.KEY`, `natural:/JSON/POINTER` or `none`"
        )),
    }
}

fn resolve_contract(written: ContractWritten, refusal: &RefusalAt) -> Result<Contract, String> {
    let preset = written.preset.unwrap_or_default();
    let conflict = match (written.conflict, preset) {
        (Some(conflict), _) => Some(resolve_conflict(conflict)?),
        (None, Preset::Guarded) => Some(Conflict {
            at: refusal.clone(),
            is: Value::from(GUARDED_CONFLICT),
        }),
        (None, Preset::AtMostOnce | Preset::None) => None,
    };
    Ok(Contract {
        preset,
        claimed_in: written.claimed_in,
        conflict,
    })
}

fn resolve_conflict(written: ConflictWritten) -> Result<Conflict, String> {
    if written.error.is_none() && written.tool_error.is_none() {
        return Err("contract.conflict needs `error` or `tool_error`: a JSON pointer to the reason".to_owned());
    }
    Ok(Conflict {
        at: RefusalAt {
            error: pointer_if("contract.conflict.error", written.error.as_deref())?,
            tool_error: pointer_if("contract.conflict.tool_error", written.tool_error.as_deref())?,
        },
        is: written.is,
    })
}

fn pointer_if(key: &str, text: Option<&str>) -> Result<Option<String>, String> {
    text.map(|text| pointer(key, text)).transpose()
}

/// A JSON pointer (RFC 6901) is empty or begins with a slash.
pub(super) fn pointer(key: &str, text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(format!("{key} = \"{text}\" is no JSON pointer: it must begin with `/`"))
}

#[cfg(test)]
mod tests;
