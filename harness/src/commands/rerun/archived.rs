//! What evidence says of a run, as far as it can be run again: cases, target, and what of it nobody has agreed to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Taken;
use crate::case::{self, Case, Catalogue, Selection};
use crate::diff::Side;
use crate::digest;
use crate::document::DOCUMENT_BYTES_MAX;
use crate::record::{RerunOf, Run, SUMS_FILE};
use crate::target::{
    KeptSecret, KeptTarget, Seed, Target, TargetSource, TargetWords, built_in_named, literal, locate, set_cwd,
};

/// More cases than this are not repeated.
const CASES_MAX: usize = 1_000;

/// A `SHA256SUMS` is never larger than this (bytes).
const SUMS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The cases of a run.
#[derive(Debug)]
pub(super) struct Archived {
    pub(super) catalogue: Catalogue,
    pub(super) selection: Selection,
    /// What cannot be repeated as it was, in sentences.
    pub(super) notes: Vec<String>,
}

/// What the user says of the server.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) profile: Option<&'a Path>,
    pub(super) command: &'a [String],
    /// The working directory that the user names.
    pub(super) cwd: Option<&'a str>,
    /// Whether what the evidence names may be run.
    pub(super) is_agreed: bool,
}

/// Why there is no target.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) message: String,
    /// What the evidence names, a line each.
    pub(super) would_run: Vec<String>,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self {
            message,
            would_run: Vec::new(),
        }
    }
}

impl Archived {
    /// The cases that `words` name among those of the run; what was asked for then, where there are none.
    pub(super) fn of(side: &Side, words: &[String]) -> Result<Self, String> {
        let run = side.run();
        let mut notes = Vec::new();
        let (mut revisions, mut own, mut there) = (Vec::new(), Vec::new(), BTreeSet::new());
        let plain = run.executed.iter().filter(|id| case::is_plain_word(id));
        for id in plain.take(CASES_MAX) {
            let Some(text) = case_text(side, id)? else {
                notes.push(format!("{id}: the run did not come to it, so it is not repeated"));
                continue;
            };
            if !there.insert(id.clone()) {
                continue;
            }
            if let Some(file) = run.case_files.get(id) {
                notes.push(format!(
                    "{id}: the case that the evidence holds is run; the file that it came from ({file}) is not read"
                ));
                own.push((file.clone(), text));
                continue;
            }
            let case = parsed(side, id, &text)?;
            notes.extend(not_as_carried(side, &case)?);
            revisions.push(case);
        }
        let catalogue = Catalogue::embedded().with_revisions(revisions).with_texts(own);
        let catalogue = catalogue.map_err(|error| format!("{}: {error}", side.report().evidence))?;
        let strange = there.iter().find(|id| catalogue.get(id).is_none());
        if let Some(id) = strange {
            return Err(format!("cases/{id}/case.toml: it is not the case {id}"));
        }
        let selection = selection(&catalogue, run, words, &there)?;
        Ok(Self {
            catalogue,
            selection,
            notes,
        })
    }
}

fn case_text(side: &Side, id: &str) -> Result<Option<String>, String> {
    let path = format!("cases/{id}/case.toml");
    match side.reader().bytes(&path, DOCUMENT_BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| format!("{path}: it is no text")),
        Err(crate::record::ReaderError::Absent) => Ok(None),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

fn parsed(side: &Side, id: &str, text: &str) -> Result<Case, String> {
    let path = format!("{}/cases/{id}/case.toml", side.report().evidence);
    let case = case::parse(&path, text).map_err(|error| error.to_string())?;
    if case.id == id {
        return Ok(case);
    }
    Err(format!("{path}: it is the case {}, and not {id}", case.id))
}

/// A case that says that it is frozen has to be as it was frozen; whether another revision ever was, nobody can say here.
fn not_as_carried(side: &Side, case: &Case) -> Result<Option<String>, String> {
    let id = &case.id;
    match Catalogue::embedded().get(id) {
        Some(carried) if carried.revision == case.revision && carried.digest != case.digest => Err(format!(
            "{}/cases/{id}/case.toml: it is not revision {} as it was frozen, so it is not run",
            side.report().evidence,
            case.revision
        )),
        Some(carried) if carried.revision == case.revision => Ok(None),
        Some(carried) => Ok(Some(format!(
            "{id}: revision {} of the evidence is run; this harness carries revision {}",
            case.revision, carried.revision
        ))),
        None => Ok(Some(format!(
            "{id}: no case of this harness's catalogue; the file in the evidence is run"
        ))),
    }
}

fn selection(
    catalogue: &Catalogue,
    run: &Run,
    words: &[String],
    there: &BTreeSet<String>,
) -> Result<Selection, String> {
    let asked: Vec<String> = if words.is_empty() {
        run.requested.iter().filter(|id| there.contains(*id)).cloned().collect()
    } else {
        words.to_vec()
    };
    if asked.is_empty() {
        return Err("this run has no case that could be repeated".to_owned());
    }
    let mut selection = catalogue.select(&asked, &[]).map_err(|error| error.to_string())?;
    if words.is_empty() {
        selection.named = run
            .named
            .iter()
            .filter(|id| selection.requested.contains(id))
            .cloned()
            .collect();
        return Ok(selection);
    }
    // A pattern means the cases of this run.
    let (named, requested) = (selection.named.clone(), selection.requested.clone());
    let kept: Vec<String> = requested.into_iter().filter(|id| there.contains(id)).collect();
    if let Some(missing) = named.iter().find(|id| !there.contains(*id)) {
        return Err(format!(
            "this run has no case `{missing}` (`harness show` lists those that it has)"
        ));
    }
    let mut selection = catalogue.select(&kept, &[]).map_err(|error| error.to_string())?;
    selection.named = named;
    Ok(selection)
}

/// What identifies the evidence.
pub(super) fn rerun_of(taken: &Taken) -> RerunOf {
    let side = &taken.side;
    let sums = side.reader().bytes(SUMS_FILE, SUMS_BYTES_MAX).ok();
    RerunOf {
        started_at: side.run().started_at.clone(),
        sums_sha256: sums.map(|bytes| digest::sha256_hex(&bytes)),
        archive_sha256: taken.archive_sha256.clone(),
    }
}

/// The server to test, and what is not as it was.
pub(super) fn target(run: &Run, asked: &Asked<'_>, folder: &Path) -> Result<(Target, Vec<String>), Refused> {
    if let Some(profile) = asked.profile {
        let words = TargetWords {
            profile: Some(profile.to_path_buf()),
            has_built_in: cfg!(feature = "reference-server"),
            ..TargetWords::default()
        };
        let target = locate(&words, folder).map_err(|error| error.to_string())?;
        return Ok((target, Vec::new()));
    }
    if run.target.source == TargetSource::BuiltIn && asked.command.is_empty() {
        let (mut target, notes) = built_in(run, folder)?;
        if let Some(cwd) = asked.cwd {
            set_cwd(&mut target, folder, cwd);
        }
        return Ok((target, notes));
    }
    let (Some(mut target), Some(kept)) = (run.target.whole(), run.target.kept.as_deref()) else {
        let message = "its run.json does not keep enough of the target to launch it (an older harness made it): describe the server \
                       in a profile and add --target FILE";
        return Err(message.to_owned().into());
    };
    let is_own_command = !asked.command.is_empty();
    match asked.cwd {
        Some(cwd) => set_cwd(&mut target, folder, cwd),
        None if is_own_command || kept.cwd.is_none() => {
            let base = if is_own_command {
                folder.to_path_buf()
            } else {
                base(run, folder)
            };
            target.launch.cwd = Some(literal(&base.display().to_string()));
        }
        None => {}
    }
    let cwd = target.launch.cwd.clone().unwrap_or_default();
    let would_run = named(run, kept, (!is_own_command).then_some(cwd.as_str()));
    if !would_run.is_empty() && !asked.is_agreed {
        let what = if asked.command.is_empty() {
            "add --run-archived-command, or name a server of your own with -- COMMAND or --target FILE"
        } else {
            "add --run-archived-command, or describe the server in a profile and name that with --target FILE"
        };
        return Err(Refused {
            message: format!(
                "the evidence names what would be run and set, and whoever made it wrote that; nothing was run: look at it, and {what}"
            ),
            would_run,
        });
    }
    if is_own_command {
        target.source = TargetSource::Command;
        target.launch.command = asked.command.to_vec();
    }
    // With a placeholder in it the folder is made for the run.
    if asked.cwd.is_none() && !cwd.contains('{') && !Path::new(&cwd).is_dir() {
        let message = format!(
            "the evidence names the working directory {cwd}, which is not here; add --cwd DIR (`--cwd .` for this folder)"
        );
        return Err(message.into());
    }
    Ok((target, Vec::new()))
}

/// Where the server works if nobody said so: relative paths of a profile mean its own folder, those of a command line this one.
fn base(run: &Run, folder: &Path) -> PathBuf {
    let TargetSource::Profile(path) = &run.target.source else {
        return folder.to_path_buf();
    };
    let base = folder.join(path.parent().unwrap_or(Path::new("")));
    if base.is_dir() { base } else { folder.to_path_buf() }
}

/// The reference server that this binary carries: whatever the evidence says how it was launched, this one is.
fn built_in(run: &Run, folder: &Path) -> Result<(Target, Vec<String>), String> {
    let name = &run.target.name;
    let known = built_in_named(name, folder).filter(|_| cfg!(feature = "reference-server"));
    let mut target = known.ok_or_else(|| {
        format!("{name} is no server that this harness carries; name one with -- COMMAND or --target FILE")
    })?;
    let is_as_it_is = target.launch.command == run.target.command && target.launch.env == run.target.env;
    if let Some(revision) = run.target.protocol {
        target.want(crate::protocol::Protocol::Only(revision));
    }
    let note = "the reference server of this harness is run as this harness has it; the evidence names another command or other \
                variables";
    Ok((target, (!is_as_it_is).then(|| note.to_owned()).into_iter().collect()))
}

/// Everything that would be run, read or set because the evidence says so, a line each. `cwd` is where its command would be
/// run, if that is.
fn named(run: &Run, kept: &KeptTarget, cwd: Option<&str>) -> Vec<String> {
    let target = &run.target;
    let words = |words: &[String]| {
        words
            .iter()
            .map(|word| super::quoted(word))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut lines = Vec::new();
    if let Some(cwd) = cwd {
        lines.push(format!("command {}", words(&target.command)));
        lines.push(format!("working directory {cwd}"));
    }
    lines.extend(target.kill.iter().map(|kill| format!("kill command {}", words(kill))));
    for (role, command) in &target.processes {
        lines.push(format!("{} {}", role.name(), words(command)));
    }
    lines.extend(
        kept.reconcile
            .iter()
            .map(|command| format!("operator's command {}", words(command))),
    );
    let rotated = kept
        .rotations
        .values()
        .map(|rotation| (&rotation.env, &rotation.secrets));
    let sets = std::iter::once((&target.env, &kept.secrets)).chain(rotated);
    for (env, secrets) in sets {
        lines.extend(env.iter().map(|(name, value)| format!("variable {name}={value}")));
        lines.extend(secrets.iter().map(|(name, secret)| match secret {
            KeptSecret::Env(variable) => format!("variable {name} with the value of your {variable}"),
            KeptSecret::Random(bytes) => format!("variable {name} with {bytes} random bytes"),
        }));
    }
    // Any variable can be called one of defects or failpoints, also one that a dynamic linker or an interpreter reads.
    let planted = kept.defects_env.as_ref().zip(run.defect.as_ref());
    lines.extend(planted.map(|(name, defect)| format!("variable {name}={defect}")));
    let failpoints = kept.failpoints_env.iter();
    lines.extend(failpoints.map(|name| format!("variable {name} with the failpoint of a case")));
    for (role, env) in &kept.process_env {
        lines.extend(
            env.iter()
                .map(|(name, value)| format!("variable {name}={value} of the {}", role.name())),
        );
    }
    if kept.inherit_env {
        lines.push("your whole environment is passed on".to_owned());
    }
    lines.extend(
        kept.store
            .iter()
            .filter_map(|store| store.seed.as_ref())
            .map(|seed| match seed {
                Seed::Script(path) => format!("SQL script {}", path.display()),
                Seed::Copy(path) => format!("a copy of {} as the store", path.display()),
            }),
    );
    lines.extend(kept.clock.age.iter().map(|sql| format!("SQL on the store: {sql}")));
    lines.extend(
        target
            .tampering
            .values()
            .map(|sql| format!("SQL on copies of the store: {sql}")),
    );
    lines
}
