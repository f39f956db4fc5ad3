//! What a user names that is no evidence: every command that takes a run says what it is instead, and what to name.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::run::{Done, Harness};

/// Calls each command with the same place, and has each refuse it so.
fn refused_by_all(done: &Done, place: &str, parts: &[&str]) {
    let commands: [&[&str]; 6] = [
        &["verify", place],
        &["show", place],
        &["report", place],
        &["diff", place, place],
        &["rerun", place],
        &["export", place, "-o", "new.zip"],
    ];
    for command in commands {
        let said = done.then().call(command);
        said.exits(2).says_only(parts);
    }
    assert!(!done.path("new.zip").exists());
}

/// An archive with one file of that name, stored, as `zip -0` makes it.
fn stranger_zip(name: &str) -> Vec<u8> {
    let (length, name) = (u16::try_from(name.len()).unwrap(), name.as_bytes());
    let mut local = b"PK\x03\x04\x0a\0\0\0\0\0\0\0\x21\0".to_vec();
    local.extend([0; 12]);
    local.extend(length.to_le_bytes());
    local.extend([0; 2]);
    let mut directory = b"PK\x01\x02\x0a\0\x0a\0\0\0\0\0\0\0\x21\0".to_vec();
    directory.extend([0; 12]);
    directory.extend(length.to_le_bytes());
    directory.extend([0; 16]);
    for part in [&mut local, &mut directory] {
        part.extend(name);
    }
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    for bytes in [directory.len(), local.len()] {
        end.extend(u32::try_from(bytes).unwrap().to_le_bytes());
    }
    end.extend([0; 2]);
    [local, directory, end].concat()
}

#[test]
fn what_is_not_there_is_said_not_to_be_there() {
    let done = Harness::new().file("text", "words\n").call(&["show", "latest"]);
    refused_by_all(
        &done,
        "nonsense.zip",
        &[
            "nonsense.zip is not evidence: there is no such file or folder",
            "evidence/runs has no run yet",
            "`harness run` makes one",
        ],
    );
    for place in ["sub/nonsense.zip", "text/nonsense"] {
        let said = format!("{place} is not evidence: there is no such file or folder; name the folder");
        refused_by_all(&done, place, &[&said, "`latest`"]);
    }
    symlink("nowhere", done.path("link")).unwrap();
    refused_by_all(
        &done,
        "link",
        &["link is not evidence: it is a link that leads nowhere"],
    );

    // Where there are runs, they are named.
    fs::create_dir_all(done.path("evidence/runs/20260101T000000Z-aa")).unwrap();
    refused_by_all(
        &done,
        "2027",
        &["no run in evidence/runs begins so", "20260101T000000Z-aa"],
    );
}

#[test]
fn what_is_something_else_is_called_what_it_is() {
    let done = Harness::new()
        .file("text.zip", "words\n")
        .file("empty.zip", "")
        .call(&["show", "latest"]);
    for place in ["text.zip", "empty.zip"] {
        let said = format!("{place} is not evidence: it is a file, and no archive (.zip)");
        refused_by_all(&done, place, &[&said, "or the folder of a run"]);
    }
    fs::create_dir(done.path("folder")).unwrap();
    let said = "folder is not evidence: it has no run.json; name the folder that";
    refused_by_all(&done, "folder", &[said, "`latest`"]);
    nix::unistd::mkfifo(&done.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused_by_all(
        &done,
        "pipe",
        &["pipe is not evidence: it is neither a folder nor an archive"],
    );
}

/// The same as a folder or a file that may not be read, which this user may be allowed all the same.
#[test]
fn what_cannot_be_looked_at_is_not_said_to_be_missing() {
    let done = Harness::new().call(&["show", "latest"]);
    symlink("loop", done.path("loop")).unwrap();
    fs::create_dir(done.path("locked")).unwrap();
    symlink("run.json", done.path("locked/run.json")).unwrap();
    for (place, looked_at) in [("loop", "loop"), ("locked", "locked/run.json")] {
        let said = format!("look at {looked_at}: ");
        refused_by_all(&done, place, &[&said, "symbolic links"]);
    }
}

#[test]
fn an_archive_of_something_else_is_said_to_be_one() {
    let done = Harness::new().call(&["show", "latest"]);
    fs::write(done.path("other.zip"), stranger_zip("a.txt")).unwrap();
    for command in [
        &["show", "other.zip"][..],
        &["report", "other.zip"],
        &["diff", "other.zip", "other.zip"],
        &["rerun", "other.zip"],
    ] {
        let said = done.then().call(command);
        said.exits(2).says_only(&[
            "other.zip is not evidence: it has no run.json",
            "name an archive that `harness export` wrote",
        ]);
    }
    // It may be evidence of which that was taken, so it is a difference.
    let verified = done.then().call(&["verify", "other.zip"]);
    assert_eq!(verified.code, 1, "{verified:?}");
    let said = "archive: it has no run.json: name an archive that `harness export` wrote";
    assert!(verified.stdout.contains(said), "{}", verified.stdout);
}
