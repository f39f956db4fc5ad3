//! Servers that keep their data in files: JSON Lines, a JSON document, a folder. Read as a profile says it, or found.

use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Harness, Report};

/// The three kinds: the flag of the server, its path, how a profile reads it, what a search finds.
const KINDS: [(&str, &str, &str, &str); 3] = [
    (
        "lines",
        "{data}/orders.jsonl",
        "jsonl = true",
        r#"path = "orders.jsonl", jsonl = true"#,
    ),
    (
        "document",
        "{data}/orders.json",
        r#"json = "/orders""#,
        r#"path = "orders.json", json = "/orders""#,
    ),
    ("notes", "{data}/orders", r#"files = "*.md""#, r#"files = "*.md""#),
];

fn profile(keep_in: &str, path: &str, read: &str) -> Profile {
    Profile::plain()
        .database(path)
        .flags("--keep-in")
        .flags(keep_in)
        .part("store", &format!("kind = \"files\"\npath = \"{path}\""))
        .part("read.effects", read)
}

fn by_flags(keep_in: &str, path: &str, server: &[&str]) -> Harness {
    let program = plain_server().display().to_string();
    let write = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
    let harness = Harness::new().words(&["--write", write, "--store", path]);
    harness
        .server(&[&program, "--database", path, "--keep-in", keep_in])
        .server(server)
}

fn is_verified(run: &Report) {
    let verification = run.done.verify(&run.evidence());
    assert_eq!(verification.code, 0, "{verification:?}");
}

#[test]
fn a_profile_reads_them_and_a_guarded_server_passes() {
    for (keep_in, path, read, _) in KINDS {
        let run = Harness::new().target(&profile(keep_in, path, read)).run();
        run.exits(0);
        assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]), "{keep_in}");
        for case in ["lost-reply", "identical-retry", "changed-input", "reply-means-done"] {
            assert_eq!(run.verdict(case), "pass", "{keep_in} {case}");
        }
        is_verified(&run);
    }
}

#[test]
fn a_second_effect_is_found_with_both_its_rows() {
    for (keep_in, path, read, _) in KINDS {
        let unguarded = profile(keep_in, path, read).flags("--dedupe none");
        let run = Harness::new().target(&unguarded).case("lost-reply").run();
        run.exits(1);
        assert_eq!(run.check("lost-reply", "one-effect"), "broken", "{keep_in}");
        let rows = run.case("lost-reply")["rows"].as_array().expect("rows").clone();
        let made_by: Vec<&str> = rows
            .iter()
            .map(|row| row["made_by"][0]["step"].as_str().expect("a step"))
            .collect();
        assert_eq!(made_by, ["attempt", "retry"], "{keep_in}");
    }
}

#[test]
fn the_effect_is_found_without_a_word_about_the_kind_of_store() {
    for (keep_in, path, _, found) in KINDS {
        let run = by_flags(keep_in, path, &["--dedupe", "none"]).run();
        run.exits(0);
        assert_eq!(run.json["read_effects"], found);
        assert_eq!(run.verdict("lost-reply"), "unguarded", "{keep_in}");
        assert_eq!(run.verdict("identical-retry"), "unguarded", "{keep_in}");
        assert_eq!(run.verdict("fresh-identity"), "pass", "{keep_in}");
        is_verified(&run);
    }
}

/// The server's own key forbids a second row, so the control counts where each one stands twice.
#[test]
fn a_server_that_knows_content_is_controlled_on_doubled_files() {
    for (keep_in, path, ..) in KINDS {
        let run = by_flags(keep_in, path, &["--dedupe", "content"]).run();
        assert_eq!(run.json["control"]["verdict"], "pass", "{keep_in}: {}", run.done.stdout);
        assert_eq!(run.verdict("lost-reply"), "pass", "{keep_in}");
    }
}

/// Where rows show no input, because a file is told by its digest, changed data is told by comparison.
#[test]
fn data_that_was_changed_inside_a_file_is_seen() {
    let (keep_in, path, read, _) = KINDS[2];
    let overwrites = profile(keep_in, path, read)
        .flags("--conflict apply --dedupe key")
        .part(
            "write",
            "tool = \"create_order\"\narguments = { note = \"{marker} {input}\", qty = 1, key = \"{operation}\" }",
        );
    let run = Harness::new().target(&overwrites).case("changed-input").run();
    run.exits(1);
    assert_eq!(run.check("changed-input", "no-new-data"), "broken");
}

#[test]
fn a_torn_file_is_seen_as_torn_and_never_passes() {
    let (keep_in, path, read, _) = KINDS[0];
    let torn = profile(keep_in, path, read).misbehave_in("lost-reply", "tear-at-end");
    let done = Harness::new().target(&torn).case("lost-reply").run_human();
    done.exits(3);
    for part in [
        "INCONCLUSIVE",
        "orders.jsonl: line 2 is cut off",
        "1 of the marked effects stand whole",
    ] {
        assert!(done.stdout.contains(part), "{part} is not in {}", done.stdout);
    }
}

#[test]
fn a_file_in_a_folder_is_named_by_its_path() {
    let lines = profile(
        "lines",
        "{data}/d/orders.jsonl",
        "path = \"d/orders.jsonl\"\njsonl = true",
    )
    .part("store", "kind = \"files\"\npath = \"{data}\"\nseed = \"seed\"");
    let run = Harness::new()
        .target(&lines)
        .file("seed/d/orders.jsonl", "")
        .case("lost-reply")
        .run();
    run.exits(0);
    let sqlite = Profile::plain()
        .database("{data}/d/o.db")
        .part("store", "path = \"{data}\"\nseed = \"seed\"")
        .part(
            "read.effects",
            "path = \"d/o.db\"\nsql = \"SELECT * FROM orders WHERE note = $marker\"",
        );
    let run = Harness::new()
        .target(&sqlite)
        .file("seed/d/readme.txt", "beside the database")
        .case("lost-reply")
        .run();
    run.exits(0);
    is_verified(&run);
}

#[test]
fn what_cannot_be_read_that_way_is_refused_with_the_next_step() {
    let refused = |store: &str, read: &str, part: &str| {
        let wrong = Profile::plain().part("store", store).part("read.effects", read);
        let done = Harness::new().target(&wrong).run_human();
        done.exits(2).wrote_nothing();
        assert!(done.stderr.contains(part), "{part} is not in {}", done.stderr);
    };
    let (sqlite, files) = (
        "kind = \"sqlite\"\npath = \"{data}/a\"",
        "kind = \"files\"\npath = \"{data}/a\"",
    );
    refused(sqlite, "jsonl = true", "say kind = \"files\"");
    refused(
        files,
        "sql = \"SELECT $marker\"",
        "name the SQLite file in it with `path`",
    );
    refused(files, "json = \"entities\"", "is no JSON pointer");
    refused(files, "jsonl = true\nfiles = \"*\"", "say once what is counted");
    refused(files, "files = \"[\"", "is no glob");
    refused(files, "path = \"../x\"\njsonl = true", "is no file in the store");
}
