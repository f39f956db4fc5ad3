//! The rules of the repository that a program can check. What only Cargo can tell (the library without the reference
//! server, licences) is checked by `.ci/run`: Cargo inside a test would wait for the lock of the Cargo that runs it.

use std::fs;
use std::path::{Path, PathBuf};

use harness::case::{Catalogue, FROZEN};
use harness::vectors::Set;

/// No source file is longer than this (lines).
const LINES_MAX: usize = 500;

/// Folders that hold nothing of ours.
const NOT_OURS: [&str; 3] = ["target", ".git", "runs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file of the repository that is text, with its text.
fn texts() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository").flatten() {
            let path = entry.path();
            let is_ours = !NOT_OURS.iter().any(|name| path.ends_with(name));
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if is_ours && let Ok(text) = fs::read_to_string(&path) {
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 100, "only {} files were found", found.len());
    found
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let is_source = |(path, _): &(PathBuf, String)| path.extension().is_some_and(|extension| extension == "rs");
    texts().into_iter().filter(is_source)
}

#[test]
fn every_source_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{} does not open with `//!`", path.display());
    }
}

#[test]
fn no_source_file_is_too_long_to_be_read() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines; cut it", path.display());
    }
}

/// A path of somebody's machine helps nobody else. The words are put together here, so that this file holds none.
#[test]
fn no_file_names_a_place_outside_the_repository() {
    let words = [
        ["/wo", "rk/"].concat(),
        ["../sha", "red"].concat(),
        ["/ro", "ot/"].concat(),
    ];
    for (path, text) in texts() {
        for word in &words {
            assert!(!text.contains(word), "{} mentions {word}", path.display());
        }
    }
}

#[test]
fn every_embedded_case_is_frozen_and_every_frozen_case_is_embedded() {
    let frozen: Vec<Vec<&str>> = FROZEN.lines().map(|line| line.split(' ').collect()).collect();
    for case in Catalogue::embedded().all() {
        let line = [case.id.as_str(), &case.revision.to_string(), &case.digest];
        assert!(
            frozen.iter().any(|frozen| frozen == &line),
            "cases/FROZEN lacks {line:?}"
        );
    }
    assert_eq!(frozen.len(), Catalogue::embedded().all().len());
}

/// Who reads what is tested reads of every family and of all its cases.
#[test]
fn the_readme_counts_the_cases_of_every_family() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let mut counted = std::collections::BTreeMap::<&str, usize>::new();
    for case in Catalogue::embedded().all() {
        *counted.entry(&case.family).or_default() += 1;
    }
    for (family, count) in counted {
        let row = format!("| `{family}` | {count} |");
        assert!(readme.contains(&row), "README.md has no row {row:?}");
    }
}

/// Who writes bounds wants to know what those are that he leaves out.
#[test]
fn the_readme_of_the_cases_has_the_usual_bounds() {
    let readme = fs::read_to_string(root().join("cases/README.md")).expect("the README");
    let row = readme
        .lines()
        .find(|line| line.starts_with("| `bounds` |"))
        .expect("the row");
    let usual = serde_json::to_value(harness::case::Bounds::default()).expect("JSON");
    for (name, ms) in usual.as_object().expect("an object") {
        let thousands = ms.as_u64().expect("milliseconds") / 1000;
        let is_said = row.contains(&format!("`{name}` ({thousands},000"));
        assert!(is_said, "cases/README.md does not say what {name} usually is");
    }
}

/// A case file that lies in the folder and is not embedded would never be run.
#[test]
fn every_case_file_is_embedded() {
    let is_case = |path: &Path| path.starts_with(root().join("cases")) && path.extension().is_some_and(|e| e == "toml");
    let files = texts().into_iter().filter(|(path, _)| is_case(path)).count();
    assert_eq!(files, Catalogue::embedded().all().len());
}

/// A file of vectors that no set embeds would be checked by nobody.
#[test]
fn every_file_of_vectors_is_embedded() {
    let is_vectors =
        |path: &Path| path.starts_with(root().join("vectors")) && path.extension().is_some_and(|e| e == "json");
    let name = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let files = texts().into_iter().filter(|(path, _)| is_vectors(path));
    let found: std::collections::BTreeSet<String> = files.filter_map(|(path, _)| name(&path)).collect();
    let embedded = Set::ALL.map(|set| set.name().to_owned()).into();
    assert_eq!(found, embedded);
}

/// An example that is not read as it stands would cost everybody who copies it an hour.
#[test]
fn the_examples_of_the_readmes_are_read_as_they_stand() {
    let blocks = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(root().join(file)).expect("a README");
        let toml = text.split("```toml\n").skip(1);
        toml.map(|block| block.split("```").next().unwrap_or_default().to_owned())
            .collect()
    };
    let cases = blocks("cases/README.md");
    assert!(!cases.is_empty(), "cases/README.md has no example");
    for case in cases {
        harness::case::parse("cases/README.md", &case).expect("the example of a case");
    }
    let is_profile = |block: &String| block.starts_with("format = 1\nname");
    let profiles: Vec<String> = blocks("README.md").into_iter().filter(is_profile).collect();
    assert_eq!(profiles.len(), 2, "a profile, and one of a server with workers");
    for profile in profiles {
        let source = harness::target::TargetSource::Profile("README.md".into());
        harness::target::parse("README.md", &profile, source, Path::new("/")).expect("the example of a profile");
    }
}

/// What cannot be pasted into a manifest, or names a feature or a folder that is not there, embeds nothing.
#[test]
fn the_embedding_that_the_readme_shows_fits_this_package() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let section = readme.split("## In your own tests\n").nth(1).expect("the section");
    let block = |language: &str| {
        let fence = format!("```{language}\n");
        let mut blocks = section.split(&fence).skip(1);
        let block = blocks.next().and_then(|block| block.split("```").next());
        block.unwrap_or_default().to_owned()
    };
    let shown: toml::Table = block("toml").parse().expect("a manifest");
    let own = fs::read_to_string(root().join("harness/Cargo.toml")).expect("the manifest");
    let own: toml::Table = own.parse().expect("a manifest");
    let dependency = &shown["dev-dependencies"]["harness"];
    let path = dependency["path"].as_str().expect("the path of a checkout");
    let folder = Path::new(path).file_name().expect("a folder");
    assert!(root().join(folder).join("Cargo.toml").is_file(), "{path}");
    for feature in dependency["features"].as_array().expect("features") {
        let feature = feature.as_str().expect("a name");
        assert!(own["features"].get(feature).is_some(), "there is no feature {feature}");
    }
    assert_eq!(shown["test"][0]["harness"].as_bool(), Some(false));

    // The program is the one that the documentation has compiled.
    let documented = fs::read_to_string(root().join("harness/src/libtest/mod.rs")).expect("the source");
    let call =
        "harness::libtest::run(Target::from_profile(\"tests/mcp.toml\").program(env!(\"CARGO_BIN_EXE_orders\")))";
    assert!(block("rust").contains(call) && documented.contains(call));
}
