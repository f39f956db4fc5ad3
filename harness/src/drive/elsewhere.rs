//! Where a server wrote that did not write into the store: the case's own folders, `{data}` and HOME, are ours to look into.
//!
//! Bounded, because what lies there is the server's: so many files, so many bytes, so deep; only regular files are opened,
//! and no link is followed. Nothing is concluded from it: it is shown to a person.

use std::path::Path;

use super::stage::{RunSetting, Stage};
use crate::case::Role;
use crate::plain_file;
use crate::readback::Marker;

/// Bounds of the search.
const FILES_MAX: usize = 2_000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;
const DEPTH_MAX: usize = 8;

/// How many files are named.
const NAMED_MAX: usize = 8;

/// Files that belong to an SQLite file beside them.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What lies in the folders of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Files that carry a marker, as a user names them: `{data}/o.db`, `HOME/.orders/o.db`.
    pub carry: Vec<String>,
    /// All files of `{data}`, and of HOME where the server made any.
    pub lie_there: Vec<String>,
    /// The working directory of the server.
    pub cwd: String,
    /// Whether a bound cut the search short.
    pub cut: bool,
}

struct Looking<'a> {
    markers: &'a [Marker],
    found: Elsewhere,
    files: usize,
    bytes: u64,
}

/// Looks for markers in the folders of a case.
pub fn look_elsewhere(setting: &RunSetting, case: &str, markers: &[Marker]) -> Elsewhere {
    let stage = setting.stage_of(case);
    let mut looking = Looking {
        markers,
        found: Elsewhere::default(),
        files: 0,
        bytes: 0,
    };
    for (name, folder) in folders(&stage) {
        looking.folder(folder, name, 0);
    }
    let mut found = looking.found;
    found.carry.dedup();
    found.lie_there.dedup();
    let spec = setting.launch_spec(&stage, Role::Server, std::path::PathBuf::new());
    found.cwd = spec.map_or(String::new(), |spec| spec.cwd.display().to_string());
    found
}

fn folders(stage: &Stage) -> [(&'static str, &Path); 2] {
    [("{data}", stage.data.as_path()), ("HOME", stage.home())]
}

impl Looking<'_> {
    fn folder(&mut self, folder: &Path, name: &str, depth: usize) {
        let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let inside = format!("{name}/{}", entry.file_name().to_string_lossy());
            if kind.is_dir() && depth < DEPTH_MAX {
                self.folder(&entry.path(), &inside, depth + 1);
            } else if kind.is_file() {
                self.file(&entry.path(), &inside);
            } else if kind.is_dir() {
                self.found.cut = true;
            }
        }
    }

    fn file(&mut self, path: &Path, name: &str) {
        self.files += 1;
        if self.files > FILES_MAX {
            self.found.cut = true;
            return;
        }
        let companion = COMPANIONS.iter().find_map(|ending| name.strip_suffix(ending));
        let named = companion.unwrap_or(name).to_owned();
        self.found.lie_there.push(named.clone());
        let left = BYTES_MAX.saturating_sub(self.bytes);
        let Ok(bytes) = plain_file::read_bytes(path, left) else {
            self.found.cut = true;
            return;
        };
        self.bytes += bytes.len() as u64;
        let carries = |marker: &Marker| marker.occurrences(&bytes) > 0;
        if self.markers.iter().any(carries) {
            self.found.carry.push(named);
        }
    }
}

impl Elsewhere {
    /// What a user should know and can do. `store` is the template of the store that was read; `markers` are the texts that
    /// were written.
    pub fn in_words(&self, store: &str, by_flags: bool, markers: &[&str]) -> String {
        let carries_store = |file: &&String| is_in(file, store);
        let inside: Vec<&String> = self.carry.iter().filter(carries_store).collect();
        let outside: Vec<&String> = self.carry.iter().filter(|file| !is_in(file, store)).collect();
        if let ([_, ..], []) = (inside.as_slice(), outside.as_slice()) {
            return format!(
                "the marker is in the store, in {}, and what counts does not see it",
                listed(&inside)
            );
        }
        if let Some(first) = outside.first() {
            let said = format!("the marker is in {}", listed(&outside));
            return format!("{said}: {}", advice(first, by_flags));
        }
        let lie_there: Vec<&String> = self.lie_there.iter().collect();
        let holds = if lie_there.is_empty() {
            "{data} and HOME are empty".to_owned()
        } else {
            format!("{{data}} and HOME hold {} without it", listed(&lie_there))
        };
        let cut = if self.cut { " (not all of it was looked at)" } else { "" };
        format!(
            "{holds}{cut}; if the server wrote, it wrote somewhere else (its working directory was {}), where the writes can \
             be found and removed by their markers: {}",
            self.cwd,
            markers.join(", ")
        )
    }
}

/// How a server is made to write below `{data}`, where this is where it writes by itself.
pub(super) fn own_store(path: &str) -> String {
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("store");
    let home = path.strip_prefix("~/").or(path.strip_prefix("$HOME/"));
    match home {
        Some(inside) => format!(
            "let the server's HOME be {{data}} (-e 'HOME={{data}}', or env = {{ HOME = \"{{data}}\" }} in a profile), and name \
             the store {{data}}/{inside}"
        ),
        None if Path::new(path).is_absolute() => format!(
            "tell the server to write below {{data}} (in its command or with -e NAME='{{data}}/{name}'), and name the store \
             {{data}}/{name}"
        ),
        None => format!(
            "let the server work in {{data}} (--cwd '{{data}}', or cwd = \"{{data}}\" in a profile), and name the store \
             {{data}}/{path}"
        ),
    }
}

/// Whether a file is the store, or lies in it.
fn is_in(file: &str, store: &str) -> bool {
    let rest = file.strip_prefix(store.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// How the store is named so that this file is read.
fn advice(file: &str, by_flags: bool) -> String {
    let store = file.replacen("HOME/", "{data}/", 1);
    let is_home = store != file;
    match (is_home, by_flags) {
        (true, true) => format!("let HOME be {{data}} with -e 'HOME={{data}}', and say --store '{store}'"),
        (true, false) => format!(
            "let HOME be {{data}} with env = {{ HOME = \"{{data}}\" }}, and say path = \"{store}\" under [store]"
        ),
        (false, true) => format!("say --store '{store}', or --store '{{data}}' for all of it"),
        (false, false) => format!("say path = \"{store}\" under [store], or path = \"{{data}}\" for all of it"),
    }
}

fn listed(names: &[&String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(|name| name.as_str()).collect();
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(carry: &[&str], lie_there: &[&str]) -> Elsewhere {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Elsewhere {
            carry: owned(carry),
            lie_there: owned(lie_there),
            cwd: "/here".to_owned(),
            cut: false,
        }
    }

    #[test]
    fn what_was_found_is_said_with_the_next_step() {
        let told = |found: Elsewhere| found.in_words("{data}/s.db", true, &["mk-1", "mk-2"]);
        let text = told(found(&["{data}/o.db"], &["{data}/o.db"]));
        assert!(
            text.contains("the marker is in {data}/o.db: say --store '{data}/o.db'"),
            "{text}"
        );
        let text = told(found(&["HOME/.orders/o.db"], &["HOME/.orders/o.db"]));
        assert!(
            text.contains("-e 'HOME={data}', and say --store '{data}/.orders/o.db'"),
            "{text}"
        );
        let text = told(found(&[], &["{data}/x"]));
        assert!(
            text.contains("{data}/x without it") && text.contains("mk-1, mk-2") && text.contains("/here"),
            "{text}"
        );
        let text = told(found(&["{data}/s.db"], &["{data}/s.db"]));
        assert!(text.contains("in the store"), "{text}");
    }

    #[test]
    fn many_names_are_cut() {
        let names: Vec<String> = (0..20).map(|number| format!("{{data}}/{number}")).collect();
        let names: Vec<&String> = names.iter().collect();
        assert!(listed(&names).ends_with("and 12 more"));
    }

    #[test]
    fn only_regular_files_are_read_and_companions_belong_to_their_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).expect("a folder");
        std::fs::write(path("sub/o.db-wal"), "xx mk-1 xx").expect("write");
        std::fs::write(path("other"), "nothing").expect("write");
        std::os::unix::fs::symlink("/proc/self/mem", path("link")).expect("a link");
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let markers = [Marker::new("mk-1").expect("a marker")];
        let mut looking = Looking {
            markers: &markers,
            found: Elsewhere::default(),
            files: 0,
            bytes: 0,
        };
        looking.folder(folder.path(), "{data}", 0);
        assert_eq!(looking.found.carry, ["{data}/sub/o.db"]);
        assert_eq!(looking.found.lie_there, ["{data}/other", "{data}/sub/o.db"]);
    }
}
