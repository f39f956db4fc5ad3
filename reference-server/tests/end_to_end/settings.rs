//! Wrong settings and foreign stores: one clear line, exit 2, and nothing written.

use std::fs;
use std::process::{Command, Output};

use rusqlite::Connection;

use crate::support::{Bench, Launch, issue};

/// Checks for exit 2 and one line on stderr that contains every one of `words`; gives the line.
#[track_caller]
fn assert_complaint(output: &Output, words: &[&str]) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
    text
}

type Change = fn(Launch) -> Launch;

/// Starts once with each change, and checks the complaint and that no store was made.
#[track_caller]
fn assert_each_is_refused(rows: &[(Change, &[&str])]) {
    for (change, words) in rows {
        let bench = Bench::new();
        assert_complaint(&change(bench.launch()).output(), words);
        assert!(!bench.store().exists(), "{words:?} made a store");
    }
}

#[test]
fn a_wrong_place_or_name_is_one_line_and_no_store_is_made() {
    assert_each_is_refused(&[
        (
            |launch| launch.without("GUARD_DATABASE"),
            &["GUARD_DATABASE", "missing"],
        ),
        (|launch| launch.env("GUARD_DATABASE", ""), &["GUARD_DATABASE", "empty"]),
        (
            |launch| launch.env("GUARD_DATABASE", ":memory:"),
            &["GUARD_DATABASE", ":memory:"],
        ),
        (
            |launch| launch.env("GUARD_DATABASE", "/nowhere/at/all"),
            &["GUARD_DATABASE", "folder"],
        ),
        (
            |launch| launch.env("GUARD_DATABASE", "/"),
            &["GUARD_DATABASE", "folder"],
        ),
        (
            |launch| launch.without("GUARD_PRINCIPAL"),
            &["GUARD_PRINCIPAL", "missing"],
        ),
        (
            |launch| launch.env("GUARD_PRINCIPAL", ""),
            &["GUARD_PRINCIPAL", "empty"],
        ),
        (
            |launch| launch.env("GUARD_PRINCIPAL", "a\nb"),
            &["GUARD_PRINCIPAL", "printable"],
        ),
        (|launch| launch.without("GUARD_BACKEND"), &["GUARD_BACKEND", "missing"]),
        (
            |launch| launch.env("GUARD_BACKEND", " x"),
            &["GUARD_BACKEND", "white space"],
        ),
    ]);
}

#[test]
fn a_wrong_clock_or_key_is_one_line_and_no_store_is_made() {
    assert_each_is_refused(&[
        (|launch| launch.env("GUARD_CLOCK", ""), &["GUARD_CLOCK", "empty"]),
        (
            |launch| launch.env("GUARD_CLOCK", "soon"),
            &["GUARD_CLOCK", "soon", "fixed:"],
        ),
        (
            |launch| launch.env("GUARD_CLOCK", "file:/nowhere/clock"),
            &["GUARD_CLOCK", "/nowhere/clock"],
        ),
        (
            |launch| launch.env("GUARD_CLOCK", "file:/dev/null"),
            &["GUARD_CLOCK", "Unix seconds"],
        ),
        (
            |launch| launch.without("GUARD_STATE_KEY"),
            &["GUARD_STATE_KEY", "missing"],
        ),
        (
            |launch| launch.env("GUARD_STATE_KEY", ""),
            &["GUARD_STATE_KEY", "empty"],
        ),
        (
            |launch| launch.env("GUARD_FINGERPRINT_KEY", ""),
            &["GUARD_FINGERPRINT_KEY", "empty"],
        ),
    ]);
}

#[test]
fn a_wrong_limit_or_choice_is_one_line_and_no_store_is_made() {
    assert_each_is_refused(&[
        (
            |launch| launch.env("GUARD_STATE_TTL", "0"),
            &["GUARD_STATE_TTL", "\"0\"", "whole number"],
        ),
        (
            |launch| launch.env("GUARD_AUTHORITY", ""),
            &["GUARD_AUTHORITY", "empty"],
        ),
        (
            |launch| launch.env("GUARD_RETENTION", "-1"),
            &["GUARD_RETENTION", "\"-1\""],
        ),
        (
            |launch| launch.env("GUARD_BUSY_TIMEOUT_MS", "1e3"),
            &["GUARD_BUSY_TIMEOUT_MS", "1e3"],
        ),
        (
            |launch| launch.env("GUARD_TOOL_VERSION", ""),
            &["GUARD_TOOL_VERSION", "empty"],
        ),
        (
            |launch| launch.env("GUARD_FAILPOINT", "after-lunch"),
            &["GUARD_FAILPOINT", "after-ledger-insert"],
        ),
        (|launch| launch.env("GUARD_DEFECT", ""), &["GUARD_DEFECT", "empty"]),
        (
            |launch| launch.flag("--defect", "perfect"),
            &["GUARD_DEFECT", "perfect", "no-ledger"],
        ),
    ]);
}

#[test]
fn a_wrong_key_is_refused_and_never_shown() {
    for name in ["GUARD_STATE_KEY", "GUARD_FINGERPRINT_KEY"] {
        for wrong in [
            "abad1dea".repeat(7),
            "not hex, but a secret".to_owned(),
            "abad1dea".repeat(8) + "a",
        ] {
            let bench = Bench::new();
            let line = assert_complaint(&bench.launch().env(name, &wrong).output(), &[name, "32"]);
            assert!(!line.contains(&wrong[..8]), "{line}");
            assert!(!bench.store().exists());
        }
    }
}

#[test]
fn a_store_of_another_backend_is_refused() {
    let bench = Bench::new();
    bench.start().close();
    let before = fs::read(bench.store()).unwrap();
    let output = bench.launch().env("GUARD_BACKEND", "sqlite:other").output();
    assert_complaint(&output, &["GUARD_DATABASE", "sqlite:test", "sqlite:other"]);
    assert_eq!(fs::read(bench.store()).unwrap(), before);
}

#[test]
fn a_store_with_a_newer_schema_is_refused() {
    let bench = Bench::new();
    bench.start().close();
    bench
        .connection()
        .execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'", [])
        .unwrap();
    let before = fs::read(bench.store()).unwrap();
    assert_complaint(
        &bench.launch().output(),
        &["GUARD_DATABASE", "schema version 99", "newer server"],
    );
    assert_eq!(fs::read(bench.store()).unwrap(), before);
}

#[test]
fn a_store_with_an_older_schema_is_refused() {
    let bench = Bench::new();
    bench.start().close();
    bench
        .connection()
        .execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'", [])
        .unwrap();
    let before = fs::read(bench.store()).unwrap();
    assert_complaint(&bench.launch().output(), &["schema version 1", "another --database"]);
    assert_eq!(fs::read(bench.store()).unwrap(), before);
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_is() {
    let bench = Bench::new();
    fs::write(
        bench.store(),
        "not a database, but longer than a header, so that it cannot be mistaken for a new one",
    )
    .unwrap();
    let before = fs::read(bench.store()).unwrap();
    assert_complaint(&bench.launch().output(), &["GUARD_DATABASE", "not a database"]);
    assert_eq!(fs::read(bench.store()).unwrap(), before);

    let bench = Bench::new();
    Connection::open(bench.store())
        .unwrap()
        .execute_batch("CREATE TABLE theirs (a)")
        .unwrap();
    let before = fs::read(bench.store()).unwrap();
    assert_complaint(
        &bench.launch().output(),
        &["GUARD_DATABASE", "not a store of this server"],
    );
    assert_eq!(fs::read(bench.store()).unwrap(), before);
}

/// A refused store may hold commits in its log that its own server has not moved yet. They are left there.
#[test]
fn a_refused_store_keeps_its_write_ahead_log() {
    let bench = Bench::new();
    let mut server = bench.start();
    server.write(&issue("op-1"), "alpha");
    server.kill();
    let log = format!("{}-wal", bench.store().display());
    let before = (fs::read(bench.store()).unwrap(), fs::read(&log).unwrap());
    let output = bench.launch().env("GUARD_BACKEND", "sqlite:other").output();
    assert_complaint(&output, &["sqlite:test"]);
    assert_eq!((fs::read(bench.store()).unwrap(), fs::read(&log).unwrap()), before);
}

#[test]
fn a_flag_wins_over_the_environment() {
    let bench = Bench::new();
    let mut server = bench.launch().flag("--principal", "carol").start();
    assert_eq!(server.status("op-1")["scope"]["principal"], "carol");
}

#[test]
fn wrong_usage_is_exit_2_and_help_is_exit_0() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reference-server"));
        command.args(arguments).env_clear().output().unwrap()
    };
    for wrong in [&["serve", "--unknown"][..], &["swerve"], &[], &["serve", "--database"]] {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let help = run(&["serve", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8(help.stdout).unwrap();
    for name in [
        "GUARD_DATABASE",
        "GUARD_CLOCK",
        "GUARD_PRINCIPAL",
        "GUARD_BACKEND",
        "GUARD_STATE_TTL",
        "GUARD_AUTHORITY",
        "GUARD_RETENTION",
        "GUARD_BUSY_TIMEOUT_MS",
        "GUARD_TOOL_VERSION",
        "GUARD_FAILPOINT",
        "GUARD_DEFECT",
        "GUARD_STATE_KEY",
        "GUARD_FINGERPRINT_KEY",
    ] {
        assert!(text.contains(name), "{name} is not in the help");
    }
}
