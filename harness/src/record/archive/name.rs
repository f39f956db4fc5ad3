//! Which paths an archive can hold: those that mean the same file on every machine, below the folder that it is unpacked into.

use std::collections::BTreeMap;

use crate::record::evidence::DEPTH_MAX;

/// Longest path, in bytes.
pub(super) const PATH_BYTES_MAX: usize = 2048;

/// Longest name of a file or folder, in bytes: what common file systems take.
const NAME_BYTES_MAX: usize = 255;

/// Most folders around a file: those of evidence, and that of the run in a proof.
const FOLDERS_MAX: usize = DEPTH_MAX + 1;

/// Why this can be no path in an archive; nothing where it can.
pub(super) fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("an empty path");
    }
    if path.len() > PATH_BYTES_MAX || path.split('/').any(|name| name.len() > NAME_BYTES_MAX) {
        return Some("a path of more than 2048 bytes, or a name of more than 255");
    }
    if path.matches('/').count() > FOLDERS_MAX {
        return Some("a path that is deeper than evidence can be");
    }
    if path.chars().any(char::is_control) {
        return Some("a control character in its path");
    }
    if path.contains('\\') {
        return Some("a backslash in its path");
    }
    if path.starts_with('/') {
        return Some("an absolute path");
    }
    let leads_nowhere = |name: &str| name.is_empty() || name == "." || name == "..";
    path.split('/')
        .any(leads_nowhere)
        .then_some("a path that leads out of the folder, or in no single way into it")
}

/// Paths that cannot lie beside each other everywhere, each with why: one that is there twice, one that is a file and a folder,
/// and two that differ only in case, of which some file systems keep one.
pub(in crate::record) fn clashes<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut files: BTreeMap<String, &str> = BTreeMap::new();
    let mut folders: BTreeMap<String, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for path in paths {
        match files.insert(path.to_lowercase(), path) {
            Some(other) if other == path => found.push(format!("twice: {path}")),
            Some(other) => found.push(only_in_case(other, path)),
            None => {}
        }
        for (end, _) in path.match_indices('/') {
            let folder = &path[..end];
            let other = *folders.entry(folder.to_lowercase()).or_insert(folder);
            if other != folder {
                found.push(only_in_case(other, folder));
            }
        }
    }
    let is_both = files.iter().filter(|(folded, _)| folders.contains_key(*folded));
    found.extend(is_both.map(|(_, path)| format!("a file and a folder: {path}")));
    found.sort();
    found.dedup();
    found
}

fn only_in_case(one: &str, other: &str) -> String {
    let (first, second) = if one < other { (one, other) } else { (other, one) };
    format!("{first} and {second} differ only in case: some file systems keep one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_folder_are_taken() {
        let long = format!("a/{}", "b".repeat(NAME_BYTES_MAX + 1));
        let wide = format!("{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}", "b".repeat(NAME_BYTES_MAX));
        let deep = "a/".repeat(FOLDERS_MAX + 1) + "b";
        for path in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a/./b",
            "a//b",
            "a/",
            "a\\b",
            "..\\a",
            "a\0b",
            "a\nb",
            "a\u{7f}",
            "a\u{85}b",
            &long,
            &wide,
            &deep,
        ] {
            assert!(fault(path).is_some(), "{path:?}");
        }
        let deepest = "a/".repeat(FOLDERS_MAX) + "b";
        for path in [
            &deepest,
            "run.json",
            "cases/lost-reply/stores/end/notes/Täglich .. 1:2.md",
            "...",
            "a/..b",
            "-",
        ] {
            assert_eq!(fault(path), None, "{path:?}");
        }
    }

    #[test]
    fn what_cannot_lie_beside_each_other_is_told() {
        let found = |paths: &[&str]| clashes(paths.iter().copied());
        assert_eq!(found(&["a/b", "a/c", "a-b", "ab"]), [""; 0]);
        assert_eq!(found(&["a", "a"]), ["twice: a"]);
        assert_eq!(found(&["a", "a/b"]), ["a file and a folder: a"]);
        let case = |one: &str, two: &str| {
            [format!(
                "{one} and {two} differ only in case: some file systems keep one of them"
            )]
        };
        assert_eq!(found(&["x/Über", "x/über"]), case("x/Über", "x/über"));
        assert_eq!(found(&["x/a", "X/b", "x/c"]), case("X", "x"));
    }
}
