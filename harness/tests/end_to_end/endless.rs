//! Evidence that is made to keep whoever looks at it busy: it is a difference, or can be interrupted without a trace. And
//! archives that are written where there is no room: they are there whole or not at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::archives::{evidence, export};
use crate::support::forge::{copy, name_again, seal_again};
use crate::support::new_mark;
use crate::support::run::{code, files, names};
use crate::support::running::Running;

/// A step of SQLite's machine that takes hours, and that nothing interrupts.
const ENDLESS: &str = "SELECT instr(zeroblob(40000000), zeroblob(20000000) || x'01') WHERE $marker IS NOT NULL";

/// What the built-in server's effects are selected by.
const EFFECTS: &str = "SELECT issue_id, operation_id, title, body FROM issues WHERE title = $marker ORDER BY issue_id";

const CASES: [&str; 2] = ["sees-duplicates", "lost-reply"];

/// The query is another one everywhere, and every digest is right.
fn replace_query(root: &Path, query: &str) {
    let is_json = |file: &String| {
        let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("json" | "jsonl"))
    };
    for file in files(root).into_iter().filter(is_json) {
        let text = fs::read_to_string(root.join(&file)).unwrap();
        fs::write(root.join(file), text.replace(EFFECTS, query)).unwrap();
    }
    for case in CASES {
        let observations = root.join(format!("cases/{case}/observations"));
        for file in files(&observations) {
            name_again(root, case, file.strip_suffix(".json").unwrap());
        }
    }
    seal_again(root);
}

/// However an archive or a folder is named, and however the look at it ends, nothing of it stays.
#[test]
fn a_look_that_does_not_end_is_interrupted_without_a_trace() {
    let done = evidence();
    copy(&done.path("run"), &done.path("endless"));
    replace_query(&done.path("endless"), ENDLESS);
    export(&done, "endless", "a.zip").exits(0);
    fs::create_dir_all(done.path("evidence/runs")).unwrap();
    symlink("../../a.zip", done.path("evidence/runs/latest")).unwrap();
    let looks = [
        ("a.zip", Signal::INT, 130),
        ("latest", Signal::INT, 130),
        ("latest", Signal::TERM, 143),
        ("endless", Signal::TERM, 143),
        ("latest", Signal::KILL, 1009),
    ];
    for (word, signal, code) in looks {
        let mark = new_mark();
        let running = Running::start_with(done.then().words(&[word]), "verify", &mark);
        // Its own read copy lies there when the first query is asked.
        running.await_temporary("0.sqlite3");
        running.signal(running.guard(), signal);
        running.end().exits(code);
    }
}

/// Numbers and depths that no reader of JSON takes are differences, and no crash.
#[test]
fn what_no_reader_takes_is_a_difference() {
    let done = evidence();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for odd in [deep, "1e999999".to_owned(), "-1E999999".to_owned()] {
        for file in [
            "run.json",
            "cases/lost-reply/verdict.json",
            "cases/lost-reply/record.jsonl",
            "cases/lost-reply/observations/end.json",
        ] {
            let root = tempfile::tempdir().unwrap();
            copy(&done.path("run"), root.path());
            let path = root.path().join(file);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replacen('{', &format!("{{\"odd\": {odd}, "), 1)).unwrap();
            if file.contains("/observations/") {
                let digest = harness::digest::sha256_file(&path).unwrap();
                let record = root.path().join("cases/lost-reply/record.jsonl");
                let before = harness::digest::sha256_file(&done.path("run").join(file)).unwrap();
                let text = fs::read_to_string(&record).unwrap();
                fs::write(&record, text.replace(&before, &digest)).unwrap();
            }
            seal_again(root.path());
            let verified = done.verify(root.path());
            let told = verified.findings().join("\n");
            let begins: String = odd.chars().take(12).collect();
            assert_eq!(verified.code, 1, "{file}, {begins}: {told}, {}", verified.stderr);
            assert!(
                told.contains(file) || told.contains("cases/lost-reply"),
                "{begins}: {told}"
            );
        }
    }
}

/// Blocks of 512 bytes, less than an archive has. Without the trap the system would kill whoever writes more.
const SMALL_FILES: &str = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";

#[test]
fn an_archive_for_which_there_is_no_room_is_not_there_at_all() {
    let done = evidence();
    let before = names(&done.path("."));
    let command = done.then().words(&["run", "-o", "a.zip"]).command(&["export"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", SMALL_FILES, "sh"]).arg(command.get_program());
    limited.args(command.get_args()).current_dir(done.path("."));
    limited.env("TMPDIR", done.path("tmp"));
    let output = limited.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(code(output.status), 3, "{said}");
    assert!(said.contains("File too large") && said.lines().count() == 1, "{said}");
    export(&done, "run", "nowhere/a.zip")
        .exits(3)
        .says_only(&["write nowhere/a.zip", "No such file or directory"]);
    let (mut before, mut after) = (before, names(&done.path(".")));
    before.sort();
    after.sort();
    assert_eq!(after, before, "nothing half-written");
}
