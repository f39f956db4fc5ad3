//! What a server said or did in the place of what was expected is shown, with the next step, in the words of who reads it.

use serde_json::{Value, json};

use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Done, Harness};

const WRITE: &str = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
const STORE: &str = "{data}/o.sqlite3";

/// The plain server as a command, its database where `{data}` is, with flags for the harness and for the server.
fn command(flags: &[&str], server: &[&str]) -> Harness {
    let program = plain_server().display().to_string();
    let harness = Harness::new().words(flags).words(&["--timeout", "2"]);
    harness.server(&[&program, "--database", STORE]).server(server)
}

/// The same with its write and its store.
fn writing(server: &[&str]) -> Harness {
    command(&["--write", WRITE, "--store", STORE], server)
}

#[track_caller]
fn says(done: &Done, parts: &[&str]) {
    for part in parts {
        assert!(
            done.stdout.contains(part),
            "{part:?} is not in\n{}\n{}",
            done.stdout,
            done.stderr
        );
    }
}

#[test]
fn what_the_server_said_to_the_first_write_is_shown() {
    let table = [
        ("refuse-writes", "the server said: the warehouse is closed"),
        (
            "die-on-write",
            "the server exited with code 9; its last words: no space left for orders",
        ),
        ("wrong-id-type", "with the id \"2\", a text"),
        (
            "never-answer-writes",
            "the reply to tools/call did not come within 2000 ms",
        ),
    ];
    for (kind, said) in table {
        // The search for the effect, and the control where it is named.
        let done = writing(&["--misbehave", kind]).run_human();
        done.exits(3);
        says(
            &done,
            &[
                "INCONCLUSIVE written: ",
                said,
                "frames        harness show evidence/runs/",
            ],
        );
        let profile = Profile::plain().misbehave(kind);
        let run = Harness::new()
            .target(&profile)
            .case("lost-reply")
            .words(&["--timeout", "2"])
            .run();
        run.exits(3);
        let reason = run.reason("sees-duplicates");
        assert!(reason.contains(said), "{said:?} is not in {reason}");
        assert_eq!(run.done.verify(&run.evidence()).code, 0);
    }
}

/// What the server wanted of us before it refused may be why it did.
#[test]
fn what_the_server_asked_of_us_is_shown() {
    let done = writing(&["--era", "legacy", "--misbehave", "ask-everything,refuse-writes"]).run_human();
    done.exits(3);
    says(
        &done,
        &[
            "elicitation in URL mode",
            "then the server said: the warehouse is closed",
        ],
    );
}

/// Where the data is the key, no other key is missed.
#[test]
fn a_natural_key_is_no_missing_identity() {
    let run = Harness::new().target(&Profile::natural()).case("identical-retry").run();
    run.exits(0);
    let notes = run.case("identical-retry")["notes"].to_string();
    assert!(!notes.contains("first-result"), "{notes}");
}

#[test]
fn the_search_for_the_effect_can_be_shown_and_is_judged_again() {
    let done = writing(&["--misbehave", "refuse-writes"]).run_human();
    let show = |words: &[&str]| done.then().words(words).call(&["show"]);
    let shown = show(&["latest", "calibration"]);
    shown.exits(0);
    says(
        &shown,
        &[
            "control/calibration",
            "tools/call create_order",
            "the warehouse is closed",
        ],
    );
    says(
        &show(&["latest"]),
        &["control/calibration", "INCONCLUSIVE   written: a plain write"],
    );
    let run = done.then().words(&["latest", "--format", "json"]).call(&["show"]);
    let run: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run["run"]["nothing_run"]["kind"], "blind");
    let verified = done.verify(&done.latest());
    assert_eq!(
        (verified.code, &verified.json["judged"]),
        (0, &json!({"calibration": "inconclusive"}))
    );

    let verdict = done.latest().join("calibration/verdict.json");
    let text = std::fs::read_to_string(&verdict).unwrap();
    std::fs::write(&verdict, text.replacen("inconclusive", "pass", 1)).unwrap();
    let verified = done.verify(&done.latest());
    let findings = verified.findings().join("\n");
    assert!(
        findings.contains("calibration/verdict.json: it says pass"),
        "{findings}"
    );

    let both = writing(&[]).words(&["--case", "identical-retry"]).run_human();
    both.exits(0);
    both.then()
        .words(&["latest", "calibration-two"])
        .call(&["show"])
        .exits(0);
}

#[test]
fn why_nothing_was_run_is_the_same_word_later() {
    let table = [
        (
            writing(&["--misbehave", "die-at-start"]),
            3,
            "did-not-start",
            "DID NOT START",
        ),
        (writing(&["--misbehave", "write-elsewhere"]), 3, "blind", "INCONCLUSIVE"),
        (
            command(
                &["--write", "create_ordr={\"note\":\"{marker}\"}", "--store", STORE],
                &[],
            ),
            2,
            "not-offered",
            "NOT OFFERED",
        ),
    ];
    for (harness, code, kind, word) in table {
        let done = harness.run_human();
        done.exits(code);
        let run = std::fs::read_to_string(done.latest().join("run.json")).unwrap();
        let run: Value = serde_json::from_str(&run).unwrap();
        assert_eq!(run["nothing_run"]["kind"], kind);
        let shown = done.then().words(&["latest"]).call(&["show"]);
        assert!(
            shown.stdout.lines().any(|line| line.starts_with(word)),
            "{word}\n{}",
            shown.stdout
        );
        assert_eq!(done.verify(&done.latest()).code, 0, "{kind}");
    }
}

#[test]
fn writes_that_went_elsewhere_are_found_where_the_harness_may_look() {
    let at = |path: &str, more: &[&str]| {
        let program = plain_server().display().to_string();
        let harness = Harness::new().words(&["--write", WRITE, "--store", STORE]).words(more);
        harness.server(&[&program, "--database", path]).run_human()
    };
    let done = at("{data}/other.sqlite3", &[]);
    done.exits(3);
    says(
        &done,
        &["the marker is in {data}/other.sqlite3: say --store '{data}/other.sqlite3'"],
    );

    // In HOME: the shell is only there to expand it.
    let program = plain_server().display().to_string();
    let line = format!("mkdir -p ~/.orders && exec {program} --database ~/.orders/o.db");
    let words = ["sh", "-c", &line];
    let done = Harness::new()
        .words(&["--write", WRITE, "--store", STORE])
        .server(&words)
        .run_human();
    done.exits(3);
    says(
        &done,
        &[
            "the marker is in HOME/.orders/o.db",
            "-e 'HOME={data}', and say --store '{data}/.orders/o.db'",
        ],
    );
    let recipe = ["--write", WRITE, "--store", "{data}/.orders/o.db", "-e", "HOME={data}"];
    Harness::new()
        .words(&recipe)
        .case("identical-retry")
        .server(&words)
        .run_human()
        .exits(0);

    // Nowhere: what was written is named.
    let folder = Harness::new();
    let away = folder.path("away.db").display().to_string();
    let done = folder
        .words(&["--write", WRITE, "--store", STORE])
        .server(&[&program, "--database", &away])
        .run_human();
    done.exits(3);
    says(
        &done,
        &[
            "{data} and HOME are empty",
            "it wrote somewhere else",
            "by their markers: mk-",
        ],
    );

    // The control says it too.
    let profile = Profile::plain().database("{data}/away.db");
    let done = Harness::new().target(&profile).case("lost-reply").run_human();
    done.exits(3);
    says(
        &done,
        &[
            "elsewhere     written and not counted: mk-",
            "the marker is in {data}/away.db",
        ],
    );
}

#[test]
fn the_working_directory_is_a_template_on_the_command_line_too() {
    let program = plain_server().display().to_string();
    let words = ["--write", WRITE, "--store", "{data}", "--cwd", "{data}"];
    let run = Harness::new()
        .words(&words)
        .case("identical-retry")
        .server(&[&program, "--database", "o.db"])
        .run();
    run.exits(0);
    assert_eq!(run.verdict("identical-retry"), "pass");
    let plan = Harness::new()
        .words(&["--cwd", "sub", "--dry-run", "--format", "json"])
        .server(&["x"])
        .run_human();
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert!(plan["cwd"].as_str().unwrap().ends_with("/sub"), "{plan}");

    for (store, next) in [
        ("~/.orders/o.db", "name the store {data}/.orders/o.db"),
        ("o.db", "--cwd '{data}'"),
        ("/var/o.db", "name the store {data}/o.db"),
    ] {
        let done = Harness::new()
            .words(&["--write", WRITE, "--store", store])
            .server(&["x"])
            .run_human();
        done.exits(2).says_only(&["--store", next]);
    }
}

#[test]
fn answers_are_given_by_flag_and_a_missing_one_is_shown_as_a_flag() {
    let asking = ["--era", "legacy", "--elicit", "note,qty"];
    let with = |answers: &str| {
        let flags = [
            "--write",
            WRITE,
            "--store",
            STORE,
            "--responses",
            answers,
            "--case",
            "lost-reply",
        ];
        command(&flags, &asking)
    };
    let note = r#""n":{"action":"accept","content":{"note":"{marker} {input}"}}"#;
    let all = format!(r#"{{{note},"q":{{"action":"accept","content":{{"qty":3}}}}}}"#);
    let run = with(&all).run();
    run.exits(0);
    assert_eq!(run.verdict("lost-reply"), "pass");
    assert!(
        run.case("lost-reply")["repeat"]
            .as_str()
            .unwrap()
            .contains("--responses")
    );

    let done = with(&format!("{{{note}}}")).run_human();
    done.exits(3);
    let added = r#"add to --responses: "ANY_NAME": {"action":"accept","content":{"qty":1}}"#;
    says(&done, &["no answer in --responses has that", added]);

    let first = writing(&["--era", "legacy", "--elicit", "note", "--misbehave", "ask-undeclared"]).run_human();
    first.exits(3);
    let line = r#"one would be --responses '{"ANY_NAME":{"action":"accept","content":{"note":"{input}"}}}'"#;
    says(&first, &[line, "put {marker} into it"]);

    let done = with(r#"{"n":{"content":{"note":"x"}}}"#).run_human();
    done.exits(2).says_only(&["--responses n lacks `action`"]);
    with("[]")
        .run_human()
        .exits(2)
        .says_only(&["--responses", "no JSON object"]);
}

/// Who wrote no profile cannot correct a key of one.
#[test]
fn what_is_missing_is_told_in_the_words_of_flags() {
    let write = "create_order={\"note\":\"{marker}\",\"qty\":1}";
    let flags = ["--write", write, "--store", STORE];
    let done = command(&flags, &["--dedupe", "none"]).run_human();
    assert!(
        !done.stdout.contains("[write]") && !done.stdout.contains("[identity]"),
        "{}",
        done.stdout
    );
    says(
        &done,
        &[
            "--write has no `{input}`",
            "no argument of --write is `{operation}`",
            "only a profile (target.toml) can say it",
        ],
    );

    let died = command(&[], &["--misbehave", "die-at-start"]).run_human();
    says(&died, &["pass what it needs with -e NAME"]);
    let missing = Harness::new()
        .server(&["sh", "-c", "echo \"No module named 'mcp'\" >&2; exit 1"])
        .run_human();
    says(&missing, &["No module named"]);
    assert!(!missing.stdout.contains("hint"), "{}", missing.stdout);
}

#[test]
fn what_came_in_the_place_of_a_reply_is_named() {
    let done = command(&[], &["--misbehave", "text-ids"]).run_human();
    done.exits(3);
    says(&done, &["DID NOT START", "it answered #1 with the id \"1\", a text"]);
    let done = command(
        &[],
        &["--era", "legacy", "--misbehave", "glued-banner,exit-on-discover"],
    )
    .run_human();
    done.exits(3);
    says(&done, &["its output line is not JSON: hello {"]);
}

#[test]
fn logs_as_json_on_standard_output_are_warned_of_and_can_be_denied() {
    let profile = Profile::plain().misbehave("json-logs");
    let run = Harness::new().target(&profile).case("identical-retry").run();
    run.exits(0);
    let warnings = run.case("identical-retry")["warnings"].to_string();
    assert!(warnings.contains("lines that are no MCP messages"), "{warnings}");
    let denied = Harness::new()
        .target(&profile)
        .case("identical-retry")
        .words(&["--deny", "warnings"])
        .run();
    denied.exits(1);
}

#[test]
fn a_command_alone_is_told_its_tools_and_the_next_command() {
    let done = command(&[], &[]).run_human();
    done.exits(3);
    says(
        &done,
        &[
            "tools     create_order  needs note, qty; takes key",
            "get_order_status",
            "next      harness run --write 'create_order={\"note\":\"{marker}\",\"qty\":1}' --store '{data}/…'",
            "exit      3: the server starts, and nothing was tested: no write is named",
        ],
    );
    assert!(!done.stdout.contains("UNSUPPORTED"), "{}", done.stdout);
}

/// A program that reads the document gets one, also where nothing could be run.
#[test]
fn wrong_usage_is_a_document_too() {
    let table: [(&str, &[&str]); 6] = [
        ("run", &["--case", "nope"]),
        ("run", &["--no-such-flag"]),
        ("run", &["--target", "nowhere.toml"]),
        ("show", &["nowhere"]),
        ("verify", &["nowhere"]),
        ("explain", &["nope"]),
    ];
    for (command, words) in table {
        let done = Harness::new()
            .words(words)
            .words(&["--format", "json"])
            .call(&[command]);
        done.exits(2);
        let document: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"));
        assert_eq!(document["exit"], 2);
        let error = document["error"].as_str().unwrap();
        assert!(!error.is_empty() && done.stderr.contains(error), "{done:?}");
    }
}

#[test]
fn a_folder_names_the_profile_in_it() {
    let done = Harness::new()
        .file("server/target.toml", &Profile::plain().text())
        .words(&["--target", "server", "--case", "identical-retry"])
        .run_human();
    done.exits(0);
    says(&done, &["plain (server/target.toml, contract at-most-once)"]);
}

#[test]
fn the_defects_that_can_be_planted_are_listed() {
    let done = Harness::new().words(&["--defects", "--format", "json"]).call(&["list"]);
    let defects: Value = serde_json::from_str(&done.stdout).unwrap();
    let names: Vec<&str> = defects
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|defect| defect["name"].as_str())
        .collect();
    assert!(
        names.contains(&"no-ledger") && names.contains(&"same-reply-two-effects"),
        "{names:?}"
    );
}
