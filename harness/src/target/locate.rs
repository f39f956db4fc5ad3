//! Which target a command line means: `--target FILE`, a command, `./target.toml`, or the built-in reference server.
//!
//! A green that tested something else is the worst thing a gate can do, so the choice is made in one place.

use std::path::{Path, PathBuf};

use super::placeholder::literal;
use super::resolve;
use super::resolved::{Target, TargetSource};
use crate::document::{self, DocumentError};

/// The profile that is taken when it lies in the current folder and nothing else is named.
const PROFILE_USUAL: &str = "target.toml";

/// The profiles of the reference server that the binary carries, by name; the first is the usual one.
const BUILT_IN: [(&str, &str); 2] = [
    ("reference-server", include_str!("../../targets/reference-server.toml")),
    (
        "reference-execution",
        include_str!("../../targets/reference-execution.toml"),
    ),
];

/// The names of the built-in targets: of writes that are answered when they are done, and of writes that are submitted.
pub const BUILT_IN_NAMES: [&str; 2] = [BUILT_IN[0].0, BUILT_IN[1].0];

/// What a command line says about the target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetWords {
    /// `--target FILE`, or the name of a built-in target.
    pub profile: Option<PathBuf>,
    /// `-- COMMAND…`, or `--stdio "CMD"` taken apart.
    pub command: Vec<String>,
    /// Whether this binary carries the reference server.
    pub has_built_in: bool,
}

/// Why no target could be had.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The profile is wrong or unreadable.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Nothing was named, and there is nothing to fall back on.
    #[error(
        "no target: name one with --target FILE or -- COMMAND, or put a {PROFILE_USUAL} here (this build carries no reference server)"
    )]
    NoTarget,
}

/// Finds the target that the words mean, looking for `./target.toml` in `folder`.
pub fn locate(words: &TargetWords, folder: &Path) -> Result<Target, LocateError> {
    if let Some(path) = &words.profile {
        // A profile of that name is what was meant, and a folder is one only where there is a profile in it.
        let there = folder.join(path);
        let is_profile = if there.is_dir() {
            there.join(PROFILE_USUAL).exists()
        } else {
            there.exists()
        };
        let name = path.to_str().filter(|_| words.has_built_in && !is_profile);
        return match name.and_then(|name| built_in_named(name, folder)) {
            Some(target) => Ok(target),
            None => Ok(read_profile(path, folder)?),
        };
    }
    if !words.command.is_empty() {
        let mut target = resolve::command_only(words.command.clone());
        target.launch.cwd = Some(literal(&folder.display().to_string()));
        return Ok(target);
    }
    let usual = folder.join(PROFILE_USUAL);
    // A link that leads nowhere is a mistake to be told, not a reason to test something else.
    if usual.symlink_metadata().is_ok() {
        return Ok(read_profile(Path::new(PROFILE_USUAL), folder)?);
    }
    if words.has_built_in {
        return Ok(built_in(folder));
    }
    Err(LocateError::NoTarget)
}

/// The reference server that the binary may carry, as it is tested where nobody says otherwise.
pub fn built_in(folder: &Path) -> Target {
    let (name, _) = BUILT_IN[0];
    built_in_named(name, folder).expect("it is the first of them")
}

/// The built-in target of this name.
pub fn built_in_named(name: &str, folder: &Path) -> Option<Target> {
    let (name, text) = BUILT_IN.iter().find(|(own, _)| *own == name)?;
    let built_in = resolve::parse(&format!("{name}.toml"), text, TargetSource::BuiltIn, folder);
    Some(built_in.expect("the built-in profiles are right: a test resolves each"))
}

fn read_profile(path: &Path, folder: &Path) -> Result<Target, DocumentError> {
    // A folder means the profile in it.
    let in_folder = path.join(PROFILE_USUAL);
    let path = if folder.join(path).is_dir() {
        in_folder.as_path()
    } else {
        path
    };
    let whole = folder.join(path);
    let text = document::read(&whole)?;
    let profile_folder = whole.parent().unwrap_or(folder);
    let source = TargetSource::Profile(path.to_path_buf());
    resolve::parse(&path.display().to_string(), &text, source, profile_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> TargetWords {
        TargetWords {
            has_built_in: true,
            ..TargetWords::default()
        }
    }

    #[test]
    fn without_a_word_the_folder_decides_and_then_the_built_in_server() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = locate(&words(), folder.path()).expect("built in");
        assert_eq!(target.source, TargetSource::BuiltIn);

        std::fs::write(
            folder.path().join(PROFILE_USUAL),
            BUILT_IN[0].1.replace("\"reference-server\"\n", "\"mine\"\n"),
        )
        .expect("write");
        let target = locate(&words(), folder.path()).expect("the profile in the folder");
        assert_eq!(target.name, "mine");
        assert_eq!(target.source, TargetSource::Profile(PathBuf::from(PROFILE_USUAL)));
    }

    #[test]
    fn a_command_wins_over_the_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join(PROFILE_USUAL), BUILT_IN[0].1).expect("write");
        let words = TargetWords {
            command: vec!["server".to_owned()],
            ..words()
        };
        assert_eq!(
            locate(&words, folder.path()).expect("a command").source,
            TargetSource::Command
        );
    }

    #[test]
    fn a_built_in_target_is_meant_by_its_name_unless_a_file_is_called_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in BUILT_IN {
            let words = TargetWords {
                profile: Some(PathBuf::from(name)),
                ..words()
            };
            let target = locate(&words, folder.path()).expect("built in");
            assert_eq!((target.name.as_str(), &target.source), (name, &TargetSource::BuiltIn));
            std::fs::create_dir(folder.path().join(name)).expect("a folder without a profile");
            let target = locate(&words, folder.path()).expect("built in");
            assert_eq!(target.source, TargetSource::BuiltIn);
            std::fs::remove_dir(folder.path().join(name)).expect("remove it");
            std::fs::write(folder.path().join(name), text).expect("write");
            let target = locate(&words, folder.path()).expect("a file");
            assert_eq!(target.source, TargetSource::Profile(PathBuf::from(name)));
        }
        let without = TargetWords {
            profile: Some(PathBuf::from("reference-server-too")),
            ..words()
        };
        assert!(matches!(locate(&without, folder.path()), Err(LocateError::Document(_))));
    }

    #[test]
    fn a_build_without_the_reference_server_asks_for_a_target() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = locate(&TargetWords::default(), folder.path()).expect_err("nothing named");
        assert!(error.to_string().contains("--target FILE"), "{error}");
    }
}
