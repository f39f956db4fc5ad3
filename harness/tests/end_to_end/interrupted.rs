//! What is left of a run that was interrupted, killed, or had no room on its disk: `verify` calls it incomplete, `show`
//! and `report` show it, `export` refuses it with the next step, and a second run never overwrites it.
//!
//! A full disk is a small tmpfs in a namespace of the test's own. Where nobody may make one, and once more everywhere, a
//! limit on the size of files stands in for it: it refuses the same writes of the harness, and needs no rights.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::kills::hanging;
use crate::support::forge::change;
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, code, files};

/// Large enough for the handshake and `run.json`, and too small for the stores of the control.
const FULL_DISK: &str = "mount -t tmpfs -o size=64k tmpfs full && {
    \"$@\"
    code=$?
    cp -a full/run kept
    exit $code
}";

/// Blocks of 512 bytes; less than the record of the control, and more than everything before it. Without the trap the
/// system would kill whoever writes more, instead of refusing it.
const SMALL_FILES: &str = "trap '' XFSZ; ulimit -f 14; exec \"$@\"";

/// Every file with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).unwrap();
        (name, bytes)
    };
    files(folder).into_iter().map(read).collect()
}

/// What everybody says of such evidence.
#[track_caller]
fn is_incomplete_for_everybody(done: &Done, evidence: &Path, why: &str) {
    let before = contents(evidence);
    let path = evidence.display().to_string();
    let verified = done.verify(evidence);
    assert_eq!((verified.findings(), verified.code), (vec![], 3), "{verified:?}");
    let told = done.then().words(&[&path]).call(&["verify"]);
    told.exits(3);
    assert!(told.stdout.contains("INCOMPLETE"), "{}", told.stdout);

    let shown = done.then().words(&[&path]).call(&["show"]);
    shown.exits(0);
    assert!(shown.stdout.contains("control/sees-duplicates"), "{}", shown.stdout);
    let page = done.then().words(&[&path, "--html", "page.html"]).call(&["report"]);
    page.exits(0);
    let page = fs::read_to_string(done.path("page.html")).unwrap();
    assert!(page.contains("sees-duplicates"), "the page shows the control");
    assert!(page.to_lowercase().contains("incomplete") || page.contains("interrupted"));

    done.then()
        .words(&[&path, "-o", "a.zip"])
        .call(&["export"])
        .exits(3)
        .says_only(&["is incomplete: ", why, "run it again to its end", "harness verify"]);
    assert!(!done.path("a.zip").exists() && !done.path("a.zip.sha256").exists());

    done.then()
        .words(&["--evidence", &path])
        .case("lost-reply")
        .call(&["run"])
        .exits(2)
        .says_only(&["exists already", "evidence is never overwritten"]);
    assert_eq!(contents(evidence), before, "nothing of the first run was touched");
}

#[test]
fn what_an_interrupt_leaves() {
    let running = hanging();
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    is_incomplete_for_everybody(&done, &done.latest(), "it was interrupted");
}

#[test]
fn what_a_killed_guard_leaves() {
    let running = hanging();
    running.signal(running.guard(), Signal::KILL);
    let done = running.end();
    done.exits(1009);
    is_incomplete_for_everybody(&done, &done.latest(), "it has no SHA256SUMS");
}

#[test]
fn what_a_killed_run_leaves() {
    let running = hanging();
    running.signal(running.run(), Signal::KILL);
    let done = running.end();
    done.exits(137);
    is_incomplete_for_everybody(&done, &done.latest(), "it has no SHA256SUMS");
}

/// A second interrupt may kill a proof while the cases that it does not keep are taken out of a run: by then they have no
/// verdict in `run.json`, and what is there of them is not judged.
#[test]
fn what_a_kill_leaves_of_a_case_that_was_being_taken_out() {
    let cases = ["identical-retry", "lost-reply"];
    let harness = cases.into_iter().fold(Harness::new(), Harness::case);
    let done = harness.words(&["--evidence", "run"]).run_human();
    done.exits(0);
    let root = done.path("run");
    change(&root, "run.json", |run| {
        run["state"] = "running".into();
        drop(run["verdicts"].as_object_mut().unwrap().shift_remove("identical-retry"));
    });
    fs::remove_file(root.join("SHA256SUMS")).unwrap();
    let folder = root.join("cases/identical-retry");
    for gone in ["case.toml", "record.jsonl"] {
        fs::remove_file(folder.join(gone)).unwrap();
        is_incomplete_for_everybody(&done, &root, "it has no SHA256SUMS");
        fs::remove_file(done.path("page.html")).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
    is_incomplete_for_everybody(&done, &root, "it has no SHA256SUMS");
}

/// A harness by way of a shell.
fn by_shell(before: &[&str], script: &str, harness: &Harness) -> Done {
    let command = harness.command(&["run"]);
    let mut words = before.iter().copied().chain(["sh", "-c", script, "sh"]);
    let mut shell = Command::new(words.next().unwrap());
    shell.args(words).arg(command.get_program()).args(command.get_args());
    shell.env_clear().current_dir(harness.path("."));
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = assert_cmd::Command::from_std(shell)
        .timeout(crate::support::WAIT_MAX)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done::new(harness, code(output.status), text(output.stdout), text(output.stderr))
}

fn may_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output();
    tried.is_ok_and(|output| output.status.success())
}

fn with_small_files() {
    let path = "{data}/orders.jsonl";
    let profile = Profile::plain()
        .database(path)
        .flags("--keep-in lines")
        .part("store", &format!("kind = \"files\"\npath = \"{path}\""))
        .part("read.effects", "jsonl = true");
    let harness = Harness::new().target(&profile).case("identical-retry");
    let done = by_shell(&[], SMALL_FILES, &harness.words(&["--evidence", "kept"]));
    done.exits(3);
    assert!(done.stderr.contains("File too large"), "{}", done.stderr);
    is_incomplete_for_everybody(&done, &done.path("kept"), "it has no SHA256SUMS");
}

#[test]
fn what_a_full_disk_leaves() {
    if !may_mount() {
        return with_small_files();
    }
    let harness = Harness::new().case("lost-reply").words(&["--evidence", "full/run"]);
    fs::create_dir(harness.path("full")).unwrap();
    let done = by_shell(&["unshare", "-rm"], FULL_DISK, &harness);
    done.exits(3);
    assert!(done.stderr.contains("No space left on device"), "{}", done.stderr);
    is_incomplete_for_everybody(&done, &done.path("kept"), "it has no SHA256SUMS");
}

#[test]
fn what_a_limit_on_files_leaves() {
    with_small_files();
}
