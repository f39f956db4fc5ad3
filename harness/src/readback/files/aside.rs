//! Files that a save leaves beside a store: temporary files of a rename that never came, and copies of an earlier state.
//!
//! What stands only there is no effect: the server will not read it. It must not be counted, nor be silently
//! left out, so every answer names the files of this kind that carry the marker. Judged by the name alone, since a
//! reviewer must come to the same result. A temporary file whose name is not recognised is counted as another place, so
//! that the places disagree: nothing is concluded, which is safe.

/// Parts of a name, behind a point, that say so wherever they stand: `memory.json.tmp.4711`, `orders.old.json`.
const ANYWHERE: [&str; 4] = ["tmp", "temp", "bak", "old"];

/// Parts of a name that say so only at its end: of editors, downloads, rsync, and copies of an earlier state.
const AT_THE_END: [&str; 9] = [
    "part",
    "partial",
    "swp",
    "swx",
    "crdownload",
    "new",
    "backup",
    "orig",
    "prev",
];

/// Whether a file of this name (a path in a store, or the pattern of one) is set aside.
pub fn is_set_aside(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_one_of = |part: &str, known: &[&str]| known.iter().any(|known| part.eq_ignore_ascii_case(known));
    // The first part is the name proper: `tmp` alone, or `old.json`, is a name that somebody chose.
    let mut parts = name.split('.').skip(1);
    let last = name.rsplit_once('.').map_or("", |(_, last)| last);
    // Python's `tempfile` makes `tmp` and eight letters.
    let is_pythons = name
        .strip_prefix("tmp")
        .is_some_and(|rest| rest.len() == 8 && !rest.contains('.'));
    parts.any(|part| is_one_of(part, &ANYWHERE))
        || is_one_of(last, &AT_THE_END)
        || is_pythons
        || name.ends_with('~')
        || name.starts_with(".#")
        || name.starts_with(".~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_save_leaves_is_set_aside_and_nothing_else() {
        for name in [
            "memory.json.3f2a.tmp",
            "memory.json.tmp",
            "memory.json.tmp.4711",
            "d/.memory.json.swp",
            "tmpab12_xyz",
            "notes.txt~",
            "d/.#notes.txt",
            "memory.json.bak",
            "memory.json.TMP",
            "orders.old.json",
        ] {
            assert!(is_set_aside(name), "{name}");
        }
        for name in [
            "memory.json",
            "tmp",
            "new.json",
            "d.tmp/notes.md",
            "a.new.md",
            "tmpl.html",
            "template.md",
            ".hidden",
            "a.news",
        ] {
            assert!(!is_set_aside(name), "{name}");
        }
    }
}
