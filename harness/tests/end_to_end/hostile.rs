//! What a server writes is untrusted: it cannot speak to a terminal, forge a line, or command a build log.

use crate::support::profile::Profile;
use crate::support::run::{Done, Harness};

/// Neither control characters nor invisible ones that turn text around, and no line that begins as a forged one would.
#[track_caller]
pub(super) fn is_tame(done: &Done) {
    for (name, text) in [("standard output", &done.stdout), ("standard error", &done.stderr)] {
        let wild = text
            .chars()
            .find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(wild, None, "{name}: {text}");
        for line in text.lines() {
            assert!(
                !line.trim_start().starts_with("::error::"),
                "a command to a build log: {line}"
            );
            assert!(!line.starts_with("PASS  forged"), "a forged line: {line}");
        }
    }
}

fn hostile() -> Profile {
    Profile::with_status().misbehave("hostile-text")
}

#[test]
fn names_and_results_of_a_server_are_printed_escaped() {
    let done = Harness::new().target(&hostile()).case("lost-reply").run_human();
    done.exits(0);
    is_tame(&done);
    assert!(
        done.stdout.contains("\\u{1b}[2J"),
        "it is shown, escaped: {}",
        done.stdout
    );
    is_tame(&done.then().words(&["evidence/runs/latest"]).call(&["verify"]));
}

#[test]
fn rows_and_findings_of_a_failing_server_are_printed_escaped() {
    let profile = hostile().flags("--dedupe none").effects(
        "SELECT id, note, char(27, 91, 50, 74, 10) || '::error::' || char(10) || 'PASS  forged' AS text FROM orders \
         WHERE note = $marker",
    );
    let done = Harness::new().target(&profile).case("lost-reply").run_human();
    done.exits(1);
    is_tame(&done);
    assert!(done.stdout.contains("forged"), "the rows are shown: {}", done.stdout);
}

#[test]
fn the_last_words_of_a_server_are_printed_escaped() {
    let profile = Profile::plain().misbehave("hostile-text,die-at-start");
    let done = Harness::new().target(&profile).run_human();
    done.exits(3);
    is_tame(&done);
    assert!(done.stdout.contains("forged"), "they are shown: {}", done.stdout);
}

#[test]
fn reports_for_programs_hold_no_control_characters_and_lose_nothing() {
    for format in ["json", "jsonl"] {
        let done = Harness::new()
            .target(&hostile())
            .case("lost-reply")
            .words(&["--format", format])
            .run_human();
        is_tame(&done);
        let first = done.stdout.lines().next().unwrap_or_default();
        let document = if format == "json" { done.stdout.as_str() } else { first };
        let json: serde_json::Value = serde_json::from_str(document).unwrap();
        let name = json["target"]["server"]["name"].as_str().unwrap();
        assert!(name.starts_with("plain-server\u{1b}[2J"), "{name:?}");
    }
}

/// A profile is the user's own, but its texts may come from elsewhere; so may a command line.
#[test]
fn names_from_a_profile_and_a_command_line_are_printed_escaped() {
    let text = Profile::plain()
        .text()
        .replacen("\"plain\"", r#""pl\u001b[2Jain\n::error::""#, 1);
    let done = Harness::new()
        .file("target.toml", &text)
        .case("identical-retry")
        .run_human();
    done.exits(0);
    is_tame(&done);
    is_tame(&Harness::new().case("x\u{1b}[2J\n::error::forged").run_human());
    is_tame(&Harness::new().words(&["--", "x\u{1b}[2J\n::error::forged"]).run_human());
    is_tame(
        &Harness::new()
            .file("target.toml", "\"\\u001b[2J\\n::error::\" = 1")
            .run_human(),
    );
}

/// Opening a pipe would wait for somebody to write into it.
#[test]
fn a_pipe_beside_the_store_does_not_hang_the_run() {
    let profile = Profile::plain()
        .flags("--journal memory")
        .misbehave("pipe-beside-store");
    let run = Harness::new().target(&profile).case("lost-reply").run();
    run.exits(3);
    assert_eq!(run.verdict("lost-reply"), "inconclusive");
}
