//! The harness in somebody's tests, seen from outside: what the test binary prints and exits with, on servers that are as
//! they should be and on others.
//!
//! This binary is both: started with [`SUITE`] it is the tests of a server's package, else it starts itself so.

#![allow(
    clippy::unwrap_used,
    reason = "a test: a panic is its failure, and it has no `#[test]` by which the lint could tell"
)]

#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::process::{Command, ExitCode, Stdio};

use harness::libtest::{Suite, Target};
use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};
use support::profile::{Profile, plain_server};
use support::{WAIT_MAX, await_marked, marked, new_mark};

/// Its words make the suite of the child.
const SUITE: &str = "HARNESS_TEST_SUITE";

fn main() -> ExitCode {
    if let Some(words) = std::env::var_os(SUITE) {
        return suite(&words.to_string_lossy()).run();
    }
    let tests: [(&str, fn()); 14] = [
        (
            "a sound server passes, and leaves neither processes nor evidence",
            sound,
        ),
        (
            "a broken server fails the right trials, as the console shows them",
            broken,
        ),
        ("a filter runs one case and the control it needs", filtered),
        ("a list starts nothing", listed),
        ("known failures are ignored, and no longer than they fail", known),
        (
            "known failures past their date fail, also where none of their cases is run",
            past_its_date,
        ),
        ("a server that does not start says so once in full", not_started),
        ("a suite of which nothing applies has tested nothing", nothing_applies),
        (
            "a suite of which only the control ran has tested nothing, and a filter may pick what does not apply",
            only_the_control,
        ),
        ("a list marks as ignored what the profile lacks", lacking),
        ("unguarded fails, unless it is allowed", unguarded),
        ("what is said wrongly is refused", refused),
        ("an interrupt fails what is left, and leaves no process", interrupted),
        ("killed, it leaves neither processes nor scratch files", killed),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// The suite of a child: `profile`, then flags of its own.
fn suite(words: &str) -> Suite {
    let mut words = words.split(' ');
    let target = match words.next() {
        Some("described") => Target::command(["plain-server", "--database", "{data}/orders.sqlite3"])
            .program(plain_server())
            .write(
                "create_order",
                r#"{"note": "{marker}", "qty": 1, "key": "{operation}"}"#,
            )
            .store("{data}/orders.sqlite3")
            .env("UNUSED", "1"),
        _ => Target::from_profile("mcp.toml"),
    };
    let mut suite = Suite::on(target);
    for word in words {
        suite = match word {
            "known" => suite.expected_failures("known.yaml"),
            "allowed" => suite.allow_unguarded(),
            "kept" => suite.keep_evidence("kept"),
            "own" => suite.case_file("own.toml"),
            other => suite.skip(other),
        };
    }
    suite
}

/// What a child printed on both streams, and its exit code.
struct Output {
    text: String,
    code: i32,
    package: tempfile::TempDir,
}

fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let package = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(package.path().join(name), text).unwrap();
    }
    package
}

fn command(package: &tempfile::TempDir, words: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(support::this_program());
    command.args(arguments).current_dir(package.path());
    command.env(SUITE, words).env("TMPDIR", package.path());
    command
}

fn test(package: tempfile::TempDir, words: &str, arguments: &[&str]) -> Output {
    let output = command(&package, words, arguments).output().unwrap();
    ended(package, output)
}

fn ended(package: tempfile::TempDir, output: std::process::Output) -> Output {
    Output {
        text: String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        code: support::run::code(output.status),
        package,
    }
}

impl Output {
    #[track_caller]
    fn says(&self, code: i32, parts: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}", self.text);
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is not in:\n{}", self.text);
        }
        self
    }

    /// The lines of trials with this outcome, by name.
    fn trials(&self, outcome: &str) -> Vec<&str> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("test "));
        let with = lines.filter_map(|line| line.split_once(" ... "));
        let with = with.filter(|(_, told)| told.starts_with(outcome));
        with.map(|(name, _)| name.trim()).collect()
    }
}

fn sound() {
    let mark = new_mark();
    let text = Profile::plain().mark(&mark).text();
    let output = test(package(&[("mcp.toml", &text)]), "profile", &["--test-threads", "2"]);
    output.says(0, &["0 failed", "the target lacks `status`"]);
    let passed = output.trials("ok");
    for name in ["control/sees-duplicates", "retry/lost-reply", "retry/changed-input"] {
        assert!(passed.contains(&name), "{passed:?}");
    }
    await_marked(&mark, 0);
    let left = support::run::names(output.package.path());
    assert_eq!(left, ["mcp.toml"]);
}

fn broken() {
    let text = Profile::plain().flags("--dedupe none").text();
    let output = test(package(&[("mcp.toml", &text)]), "profile kept crash continuation", &[]);
    output.says(
        101,
        &[
            "---- retry/lost-reply ----",
            "target    plain (mcp.toml, contract at-most-once)",
            "one-effect: the retry wrote again",
            "end.effects.A: expected 1, found 2",
            "made by retry (frame ",
            " cargo test --test embedding -- lost-reply",
        ],
    );
    let failed = output.trials("FAILED");
    assert!(
        failed.contains(&"retry/lost-reply") && failed.contains(&"retry/identical-retry"),
        "{failed:?}"
    );
    let passed = output.trials("ok");
    assert!(
        passed.contains(&"control/sees-duplicates") && passed.contains(&"retry/fresh-identity"),
        "{passed:?}"
    );
    let runs = support::run::names(&output.package.path().join("kept"));
    let evidence = output.package.path().join("kept").join(&runs[0]);
    assert_eq!(runs.len(), 1);
    assert!(evidence.join("SHA256SUMS").is_file());
}

fn filtered() {
    let text = Profile::plain().text();
    let output = test(
        package(&[("mcp.toml", &text)]),
        "profile kept",
        &["retry/lost-reply", "--exact"],
    );
    output.says(
        0,
        &[
            "running 1 test",
            "test retry/lost-reply ... ok",
            "1 passed; 0 failed; 0 ignored",
        ],
    );
    let runs = support::run::names(&output.package.path().join("kept"));
    let cases = output.package.path().join("kept").join(&runs[0]).join("cases");
    let mut cases = support::run::names(&cases);
    cases.sort();
    assert_eq!(cases, ["lost-reply", "sees-duplicates"]);
}

fn listed() {
    // There is no profile here: what starts nothing needs none.
    let own = case("own");
    let output = test(package(&[("own.toml", &own)]), "profile own crash", &["--list"]);
    output.says(
        0,
        &[
            "control/sees-duplicates: test\n",
            "retry/lost-reply: test\n",
            "retry/own: test\n",
        ],
    );
    assert!(!output.text.contains("crash/"), "{}", output.text);
    assert_eq!(support::run::names(output.package.path()), ["own.toml"]);
}

fn case(id: &str) -> String {
    let text = &harness::case::Catalogue::embedded().get("lost-reply").unwrap().text;
    text.replace("\"lost-reply\"", &format!("{id:?}"))
        .replace("number   = 3\n", "")
}

fn known() {
    let text = Profile::plain().flags("--dedupe none").text();
    let list = "- lost-reply\n- reply-means-done\n- identical-retry:one-effect\n";
    let files = [("mcp.toml", text.as_str()), ("known.yaml", list)];
    let output = test(package(&files), "profile known crash continuation", &[]);
    output.says(
        101,
        &[
            "reply-means-done does not fail, although known.yaml:2 lists it",
            "first-result: ",
        ],
    );
    assert!(
        output.trials("ignored").contains(&"retry/lost-reply"),
        "{}",
        output.text
    );
    let failed = output.trials("FAILED");
    assert!(
        failed.contains(&"retry/reply-means-done") && failed.contains(&"retry/identical-retry"),
        "{failed:?}"
    );
}

/// No trial can say it, because none of them runs the case.
fn past_its_date() {
    let text = Profile::plain().text();
    let list = |until: &str| format!("- {{ case: lost-reply, until: {until} }}\n");
    for (until, code) in [("2026-01-31", 101), ("2099-12-31", 0)] {
        let list = list(until);
        let files = [("mcp.toml", text.as_str()), ("known.yaml", list.as_str())];
        let output = test(package(&files), "profile known", &["retry/identical-retry", "--exact"]);
        output.says(code, &["1 passed; 0 failed"]);
        let told = "PAST DATE    lost-reply was to fail until 2026-01-31 (known.yaml:1), and was not run";
        assert_eq!(output.text.contains(told), code != 0, "{}", output.text);
    }
}

fn not_started() {
    let text = Profile::plain().launcher(&["false"]).text();
    let output = test(package(&[("mcp.toml", &text)]), "profile", &["retry"]);
    output.says(101, &["DID NOT START", "the server did not start: ", "0 passed"]);
    assert_eq!(output.text.matches("DID NOT START").count(), 1, "{}", output.text);
    assert!(output.trials("ok").is_empty());
}

fn nothing_applies() {
    let words = ["plain-server", "--database", "{data}/orders.sqlite3"];
    let text = format!(
        "format = 1\nname = \"bare\"\n[launch]\ncommand = {:?}\n",
        [&plain_server().display().to_string(), words[1], words[2]]
    );
    let output = test(package(&[("mcp.toml", &text)]), "profile", &[]);
    output.says(101, &["nothing was tested", "unsupported: the target lacks write"]);
}

fn only_the_control() {
    let text = Profile::plain().text();
    let files = [("mcp.toml", text.as_str())];
    let suite = |words: &str, arguments: &[&str]| test(package(&files), words, arguments);
    let output = suite("profile retry", &[]);
    output.says(101, &["1 passed; 0 failed", "nothing was tested"]);
    assert_eq!(output.trials("ok"), ["control/sees-duplicates"]);
    // Where somebody said which trials to run, none of them has to apply.
    for arguments in [
        &["--skip", "retry/"][..],
        &["crash/"],
        &["no-such-trial"],
        &["--ignored"],
        &["crash/failed-effect", "--exact"],
    ] {
        let output = suite("profile", arguments);
        output.says(0, &["0 failed"]);
        assert!(!output.text.contains("nothing was tested"), "{}", output.text);
    }
    // A failure that is known was tested, whatever else applies.
    let broken = Profile::plain().flags("--dedupe none").text();
    let files = [("mcp.toml", broken.as_str()), ("known.yaml", "- lost-reply\n")];
    let output = test(
        package(&files),
        "profile known crash continuation execution changed-input concurrent-first-use fresh-identity identical-retry \
         reply-means-done start-over cancelled-write crash-after-commit",
        &[],
    );
    output.says(0, &["fails, as the list of expected failures says"]);
}

fn lacking() {
    let text = Profile::plain().text();
    let list = |arguments: &[&str]| test(package(&[("mcp.toml", &text)]), "profile", arguments);
    let named = |output: &Output, name: &str| output.text.lines().any(|line| line == format!("{name}: test"));
    let all = list(&["--list", "--format", "terse"]);
    let ignored = list(&["--list", "--format", "terse", "--ignored"]);
    for (name, is_lacking) in [
        ("control/sees-duplicates", false),
        ("retry/lost-reply", false),
        // There is no status tool, nothing is asked, and nobody works beside the server.
        ("retry/crash-after-commit", true),
        ("continuation/changed-state", true),
        ("execution/heartbeat", true),
    ] {
        assert!(named(&all, name), "{name}: {}", all.text);
        assert_eq!(named(&ignored, name), is_lacking, "{name}: {}", ignored.text);
    }
    // Who insists is told what is lacking.
    let output = list(&["retry/crash-after-commit", "--exact", "--ignored"]);
    output.says(0, &["the target lacks", "1 ignored"]);
    // Effects that are looked for are lacking in no list, and what is revealed by a server alone is none either.
    let output = test(package(&[]), "described", &["--list", "--format", "terse", "--ignored"]);
    assert!(
        !named(&output, "retry/lost-reply") && named(&output, "retry/crash-after-commit"),
        "{}",
        output.text
    );
}

fn unguarded() {
    let text = Profile::without_promise().flags("--dedupe none").text();
    let files = || package(&[("mcp.toml", text.as_str())]);
    let output = test(files(), "profile", &["lost-reply"]);
    output.says(101, &["UNGUARDED    retry/lost-reply"]);
    let output = test(files(), "profile allowed", &["lost-reply"]);
    output.says(0, &["0 failed", "unguarded: "]);
}

fn refused() {
    let output = test(package(&[("mcp.toml", "format = 1\nnam = 2\n")]), "profile", &[]);
    output.says(2, &["error: mcp.toml:2:1: unknown key `nam`; did you mean `name`?"]);
    let output = test(package(&[]), "profile no-such-case", &["--list"]);
    output.says(2, &["error: there is no case `no-such-case`"]);
    // A command is described as on a command line, and its effects are found by their marker.
    let output = test(package(&[]), "described", &["retry/identical-retry", "--exact"]);
    output.says(0, &["1 passed"]);
}

/// Signals the test once a server of it lives that answers no write, and waits for its end.
fn signalled(signal: Signal) -> Output {
    let mark = new_mark();
    let text = Profile::plain().misbehave("never-answer-writes").mark(&mark).text();
    let package = package(&[("mcp.toml", &text)]);
    let mut command = command(&package, "profile", &["retry/lost-reply", "--exact"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lives = harness::drive::clock::wait_until_blocking(WAIT_MAX, || !marked(&mark).is_empty());
    assert!(lives, "no server was started");
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    await_marked(&mark, 0);
    ended(package, output)
}

fn interrupted() {
    let output = signalled(Signal::INT);
    output.says(101, &["the run was interrupted", "0 passed; 1 failed"]);
}

fn killed() {
    let output = signalled(Signal::KILL);
    assert_eq!(output.code, 1000 + Signal::KILL.as_raw());
    let clean = || support::run::names(output.package.path()) == ["mcp.toml"];
    assert!(
        harness::drive::clock::wait_until_blocking(WAIT_MAX, clean),
        "scratch files are left"
    );
}
