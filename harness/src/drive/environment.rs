//! What a launched server gets of the caller's environment: a fixed list, a new HOME, and what the profile names.
//!
//! Launchers (npm, rustup, uv, nvm, volta, pyenv) keep their folders: a new HOME alone would make `cargo` or `npx`
//! forget their tool chains, so their variables are resolved against the old HOME where they are not set.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variables passed on as they are.
const PASSED: [&str; 16] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "TERM",
    "TZ",
    "NODE_EXTRA_CA_CERTS",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Variables passed on by the way their names begin.
const PASSED_PREFIXES: [&str; 6] = ["LC_", "SSL_CERT_", "npm_config_", "NPM_CONFIG_", "PIP_", "UV_"];

/// Folders of launchers: the variable, and where it is under HOME when it is not set.
const LAUNCHER_FOLDERS: [(&str, &str); 6] = [
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("PYENV_ROOT", ".pyenv"),
    ("npm_config_cache", ".npm"),
];

/// The environment of a server: the passed part of `caller`, then `home` as HOME.
pub(super) fn passed_on(
    caller: impl Iterator<Item = (OsString, OsString)>,
    home: &Path,
) -> BTreeMap<OsString, OsString> {
    let caller: BTreeMap<OsString, OsString> = caller.collect();
    let is_passed = |name: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        PASSED.contains(&name) || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let mut passed: BTreeMap<OsString, OsString> = caller
        .iter()
        .filter(|(name, _)| is_passed(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let old_home = caller.get(OsStr::new("HOME")).map(Path::new);
    for (variable, folder) in LAUNCHER_FOLDERS {
        let usual = || old_home.map(|home| home.join(folder)).filter(|path| path.is_dir());
        let value = caller.get(OsStr::new(variable)).cloned();
        if let Some(value) = value.or_else(|| usual().map(Into::into)) {
            passed.insert(variable.into(), value);
        }
    }
    passed.insert("HOME".into(), home.into());
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(caller: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        let caller = caller.iter().map(|(name, value)| (name.into(), value.into()));
        passed_on(caller, Path::new("/new-home"))
    }

    #[test]
    fn only_what_is_on_the_list_is_passed_and_home_is_new() {
        let passed = pass(&[
            ("PATH", "/bin"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("HOME", "/old-home"),
            ("LC_ALL", "C"),
            ("npm_config_registry", "r"),
        ]);
        let names: Vec<_> = passed.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "PATH", "npm_config_registry"]);
        assert_eq!(passed[OsStr::new("HOME")], "/new-home");
    }

    #[test]
    fn folders_of_launchers_stay_where_they_are() {
        let home = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(home.path().join(".cargo")).expect("a folder");
        let old_home = home.path().to_str().expect("UTF-8");
        let passed = pass(&[("HOME", old_home), ("RUSTUP_HOME", "/elsewhere")]);
        assert_eq!(passed[OsStr::new("CARGO_HOME")], home.path().join(".cargo"));
        assert_eq!(passed[OsStr::new("RUSTUP_HOME")], "/elsewhere");
        assert!(
            !passed.contains_key(OsStr::new("NVM_DIR")),
            "a folder that is not there is not named"
        );
    }
}
