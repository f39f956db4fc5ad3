//! Servers that run the SQL they are given: nothing tells a repeated INSERT from a second one, and nobody promises that
//! anything would.

use crate::parts::{Part, profiles};
use crate::support::run::{Harness, Report};
use crate::support::{MARK_VARIABLE, await_marked, new_mark};
use crate::{Test, is_doubled, is_verified};

const WRITE: &str = "write_query={\"query\":\"INSERT INTO notes (text) VALUES ('{marker}')\"}";
const STORE: &str = "{data}/notes.db";

const DOUBLED: [&str; 2] = ["lost-reply", "identical-retry"];

pub(crate) const TESTS: &[Test] = &[
    (
        "mcp_server_sqlite_doubles_what_is_sent_twice",
        Part::SqliteServer,
        || whole_run(&by_profile(Part::SqliteServer).run()),
    ),
    (
        "mcp_server_sqlite_needs_no_file_for_the_same_verdicts",
        Part::SqliteServer,
        || {
            let server = ["mcp-server-sqlite", "--db-path", STORE];
            let run = by_flags(Part::SqliteServer).server(&server).run();
            assert_eq!(run.json["read_effects"], "SELECT * FROM notes WHERE text = $marker");
            whole_run(&run);
        },
    ),
    (
        "mcp_server_sqlite_is_failed_by_a_named_case_and_by_deny",
        Part::SqliteServer,
        || is_a_gate(Part::SqliteServer),
    ),
    (
        "mcp_server_sqlite_is_shown_with_both_rows_and_their_frames",
        Part::SqliteServer,
        both_rows_are_shown,
    ),
    (
        "mcp_server_sqlite_with_todays_sdk_did_not_start",
        Part::SqliteServerBroken,
        did_not_start,
    ),
    ("mcp_server_sqlite_npx_doubles_what_is_sent_twice", Part::Node, || {
        whole_run(&by_profile(Part::Node).run());
    }),
    (
        "mcp_server_sqlite_npx_is_failed_by_a_named_case_and_by_deny",
        Part::Node,
        || is_a_gate(Part::Node),
    ),
    (
        "a_launcher_a_shell_and_a_server_are_killed_together",
        Part::Node,
        through_npx,
    ),
];

fn by_profile(part: Part) -> Harness {
    part.target(if part == Part::Node {
        "mcp-server-sqlite-npx"
    } else {
        "mcp-server-sqlite"
    })
}

fn by_flags(part: Part) -> Harness {
    let seed = profiles().join("notes.sql");
    let flags = [
        "--write",
        WRITE,
        "--store",
        STORE,
        "--store-seed",
        seed.to_str().unwrap(),
    ];
    part.harness().words(&flags)
}

/// Everything that applies to such a server, without a case being named.
fn whole_run(run: &Report) {
    run.exits(0);
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
    for case in DOUBLED {
        is_doubled(run, case);
    }
    assert_eq!(run.verdict("reply-means-done"), "pass");
    assert_eq!(run.json["totals"]["fail"], 0);
    assert_eq!(run.json["totals"]["inconclusive"], 0);
    is_verified(run);
}

fn is_a_gate(part: Part) {
    for case in DOUBLED {
        let run = by_profile(part).case(case).run();
        run.exits(1);
        is_doubled(&run, case);
    }
    let denied = ["--case", "*-re*y", "--deny", "unguarded"];
    by_profile(part).words(&denied).run().exits(1);
}

fn both_rows_are_shown() {
    let done = by_profile(Part::SqliteServer).case("lost-reply").run_human();
    done.exits(1);
    let rows = done.stdout.lines().filter(|line| line.trim_start().starts_with("row "));
    let made_by: Vec<&str> = rows
        .filter_map(|row| row.split_once("made by "))
        .map(|(_, by)| by)
        .collect();
    assert_eq!(made_by.len(), 2, "{}", done.stdout);
    assert!(made_by[0].starts_with("attempt (frame "), "{}", made_by[0]);
    assert!(made_by[1].starts_with("retry (frame "), "{}", made_by[1]);
}

/// Its requirements have no upper bound, so this is what a plain `pip install` gives.
fn did_not_start() {
    let done = by_profile(Part::SqliteServerBroken).run_human();
    done.exits(3);
    let starts = done.stdout.lines().filter(|line| line.starts_with("DID NOT START"));
    assert_eq!(starts.count(), 1, "{}", done.stdout);
    assert!(done.stdout.contains("AttributeError"), "{}", done.stdout);
    for word in ["FAIL", "UNGUARDED", "PASS"] {
        assert!(!done.stdout.contains(word), "{}", done.stdout);
    }
    let run = by_profile(Part::SqliteServerBroken).case("lost-reply").run();
    run.exits(3);
    assert_eq!(run.json["cases"], serde_json::json!([]));
}

fn through_npx() {
    let mark = new_mark();
    let (folder, variable) = (Part::Node.folder(), format!("{MARK_VARIABLE}={mark}"));
    let flags = ["--cwd", folder.to_str().unwrap(), "-e", &variable];
    let server = ["npx", "--no-install", "mcp-server-sqlite-npx", STORE];
    let run = by_flags(Part::Node).words(&flags).server(&server).run();
    whole_run(&run);
    await_marked(&mark, 0);
    assert_eq!(run.fact("lost-reply", "/first/survivors"), 0);
    let record = run.record("lost-reply");
    let killed = record.iter().find(|event| event["kind"] == "signalled").unwrap();
    let processes = killed["processes"].as_u64().unwrap();
    assert!(processes >= 2, "the launcher was killed alone: {killed}");
}
