//! Bad input: one message that a user can act on, the right exit code, and nothing written.

use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, files};

/// Refused as wrong usage: exit 2, one message with all these parts, no evidence.
#[track_caller]
fn refused(harness: Harness, parts: &[&str]) -> Done {
    let done = harness.run_human();
    done.exits(2).says_only(parts).wrote_nothing();
    done
}

fn with_profile(text: &str) -> Harness {
    Harness::new().file("target.toml", text)
}

/// The profile of the plain server with one change in its text.
fn changed(from: &str, to: &str) -> Harness {
    let text = Profile::plain().text();
    assert!(text.contains(from), "{from} is not in:\n{text}");
    with_profile(&text.replacen(from, to, 1))
}

#[test]
fn a_profile_with_a_wrong_type_names_line_and_column() {
    let place = "target.toml:13:8";
    refused(
        changed("tool = \"create_order\"", "tool = 3"),
        &[place, "integer `3`", "expected a text in quotes"],
    );
}

#[test]
fn a_profile_with_an_unknown_key_or_value_names_the_nearest() {
    refused(
        changed("[identity]", "[identty]"),
        &["unknown key `identty`; did you mean `identity`?"],
    );
    refused(
        changed("\"at-most-once\"", "\"at-most-twice\""),
        &["unknown value `at-most-twice`; did you mean `at-most-once`?"],
    );
    refused(
        changed("format = 1", "format = 9"),
        &["target.toml", "format 9", "it reads 1"],
    );
}

#[test]
fn a_profile_that_is_no_toml_or_not_there_is_named() {
    refused(with_profile("name = "), &["target.toml:1:8"]);
    refused(
        Harness::new().words(&["--target", "nowhere.toml"]),
        &["nowhere.toml", "No such file"],
    );
    refused(
        Harness::new().words(&["--target", "."]),
        &["read", "target.toml", "No such file"],
    );
    refused(
        with_profile(&"#".repeat(2 << 20)),
        &["target.toml", "more than the 1048576"],
    );
}

#[test]
fn an_unknown_placeholder_is_refused_wherever_it_stands() {
    refused(
        changed("\"{marker}\"", "\"{marker} {markr}\""),
        &["`{markr}`", "did you mean `{marker}`?"],
    );
    refused(
        changed("{data}/orders.sqlite3\"]", "{dat}/orders\"]"),
        &["launch.command", "`{dat}`", "{data}"],
    );
    refused(
        changed("{data}/orders.sqlite3\"\n", "{data}/{nme}\"\n"),
        &["store.path", "`{nme}`"],
    );
    refused(
        changed("env = {", "env = { A = \"{b\","),
        &["launch.env.A", "a lone `{`"],
    );
}

#[test]
fn a_missing_secret_is_named_with_both_its_names() {
    let text = Profile::plain()
        .part("launch.secrets", "TOKEN = \"env:NOT_SET_ANYWHERE\"")
        .text();
    refused(
        with_profile(&text),
        &["launch.secrets.TOKEN", "NOT_SET_ANYWHERE is not set"],
    );
}

#[test]
fn a_store_outside_the_folder_of_the_case_is_refused() {
    for path in [
        "/var/lib/orders.sqlite3",
        "orders.sqlite3",
        "{data}/../orders.sqlite3",
        "{data}orders.sqlite3",
    ] {
        let part = format!("kind = \"sqlite\"\npath = {path:?}");
        refused(
            with_profile(&Profile::plain().part("store", &part).text()),
            &["store.path", "{data}"],
        );
    }
}

#[test]
fn a_seed_that_is_not_there_or_does_not_run_is_refused() {
    let seeded = |seed: &str| {
        let part = format!("kind = \"sqlite\"\npath = \"{{data}}/orders.sqlite3\"\nseed = {seed:?}");
        with_profile(&Profile::plain().part("store", &part).text())
    };
    refused(seeded("nowhere.sql"), &["store.seed", "nowhere.sql"]);
    refused(
        seeded("bad.sql").file("bad.sql", "CREATE TABEL x"),
        &["store.seed", "bad.sql", "syntax error"],
    );
    let good = seeded("good.sql").file("good.sql", "CREATE TABLE seeded (a);");
    good.case("identical-retry").run_human().exits(0);
}

#[test]
fn unknown_cases_defects_and_patterns_get_near_names() {
    refused(
        Harness::new().case("lost-replay"),
        &["no case `lost-replay`", "did you mean `lost-reply`?"],
    );
    refused(Harness::new().case("13"), &["no case `13`", "harness list"]);
    refused(Harness::new().case("nothing*"), &["no case `nothing*`"]);
    refused(Harness::new().case("[z-a]"), &["`[z-a]` is not a pattern"]);
    refused(
        Harness::new().words(&["--skip", "lost-replay"]),
        &["did you mean `lost-reply`?"],
    );
    refused(Harness::new().words(&["--skip", "*"]), &["nothing is left to run"]);
    refused(
        Harness::new().defect("no-leger"),
        &["no-leger", "did you mean `no-ledger`?"],
    );
    refused(
        Harness::new().target(&Profile::plain()).defect("no-ledger"),
        &["no [defects]"],
    );
    let done = Harness::new().words(&["lost-replay"]).call(&["explain"]);
    done.exits(2).says_only(&["did you mean `lost-reply`?"]);
}

#[test]
fn a_command_line_that_is_none_is_refused() {
    refused(
        Harness::new().words(&["--stdio", "server 'x"]),
        &["a quote is not closed"],
    );
    refused(Harness::new().words(&["--stdio", " "]), &["--stdio is empty"]);
    for words in [
        &["--sed", "1"][..],
        &["--seed", "one"],
        &["--deny", "everything"],
        &["--format", "xml"],
    ] {
        let done = Harness::new().words(words).run_human();
        done.exits(2).wrote_nothing();
        assert_eq!(done.stdout, "");
        assert!(done.stderr.starts_with("error: "), "{}", done.stderr);
    }
}

#[test]
fn evidence_is_never_overwritten() {
    let done = Harness::new()
        .file("kept", "precious")
        .words(&["--evidence", "kept"])
        .run_human();
    done.exits(2).says_only(&["evidence folder", "kept", "exists already"]);
    assert_eq!(std::fs::read_to_string(done.path("kept")).unwrap(), "precious");

    let done = Harness::new()
        .case("identical-retry")
        .words(&["--evidence", "new/run"])
        .run_human();
    done.exits(0);
    let before = files(&done.path("new/run"));
    assert!(before.contains(&"run.json".to_owned()), "{before:?}");
    let sums = std::fs::read(done.path("new/run/SHA256SUMS")).unwrap();
    let again = done
        .then()
        .case("identical-retry")
        .words(&["--evidence", "new/run"])
        .run_human();
    again.exits(2).says_only(&["exists already"]);
    assert_eq!(files(&done.path("new/run")), before);
    assert_eq!(std::fs::read(done.path("new/run/SHA256SUMS")).unwrap(), sums);
}

#[test]
fn evidence_below_a_file_is_refused() {
    let harness = Harness::new().file("file", "").words(&["--evidence", "file/run"]);
    refused(harness, &["create", "file"]);
}

#[test]
fn a_change_that_changes_nothing_is_refused() {
    refused(
        changed("change = { qty = 2 }", "change = { qty = 1 }"),
        &["target.toml", "write.change.qty", "changes nothing"],
    );
}

#[test]
fn a_query_without_the_marker_is_refused() {
    refused(
        with_profile(&Profile::plain().effects("SELECT 1").text()),
        &["target.toml", "does not select by $marker"],
    );
}

/// The server was started to ask it, so there is evidence of that.
#[test]
fn a_tool_that_the_server_does_not_have_is_named_with_the_near_one() {
    let done = changed("tool = \"create_order\"", "tool = \"create_orders\"").run_human();
    done.exits(2);
    assert!(
        done.stderr
            .starts_with("error: target.toml: write.tool = \"create_orders\""),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("did you mean `create_order`?"), "{}", done.stderr);
}
