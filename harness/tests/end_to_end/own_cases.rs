//! Cases of the user's own: run from a file, kept and judged like the embedded ones, and never taken for one of them.

use crate::support::run::Harness;

/// The case of the lost reply under another id.
fn own(id: &str) -> String {
    let text = &harness::case::Catalogue::embedded().get("lost-reply").unwrap().text;
    text.replace("\"lost-reply\"", &format!("{id:?}"))
        .replace("number   = 3\n", "")
}

fn with_file(id: &str) -> Harness {
    Harness::new()
        .file("mine.toml", &own(id))
        .words(&["--case-file", "mine.toml"])
}

#[test]
fn a_file_alone_runs_its_case_and_the_control_it_names() {
    let run = with_file("mine").run();
    run.exits(0);
    let cases: Vec<&str> = run.json["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["case"].as_str().unwrap())
        .collect();
    assert_eq!(cases, ["sees-duplicates", "mine"]);
    assert_eq!(run.verdict("mine"), "pass");
    assert_eq!(run.case("mine")["named"], true);
    let repeat = run.case("mine")["repeat"].as_str().unwrap();
    assert!(
        repeat.starts_with("harness run --case-file mine.toml --seed "),
        "{repeat}"
    );

    // Evidence holds the file, and says that it is none of the catalogue's.
    let kept = std::fs::read_to_string(run.evidence().join("cases/mine/case.toml")).unwrap();
    assert_eq!(kept, own("mine"));
    let verified = run.done.verify(&run.evidence());
    assert_eq!((verified.code, verified.findings()), (0, Vec::new()));
    assert_eq!(verified.json["judged"]["mine"], "pass");
    let notes = verified.json["notes"].to_string();
    assert!(notes.contains("no case of this harness's catalogue"), "{notes}");
    assert!(notes.contains("judged by the file in the evidence"), "{notes}");
}

#[test]
fn it_runs_beside_embedded_ones_and_fails_like_them() {
    let run = with_file("mine").case("identical-retry").defect("no-ledger").run();
    run.exits(1);
    assert_eq!(run.check("mine", "one-effect"), "broken");
    let repeat = run.case("identical-retry")["repeat"].as_str().unwrap();
    assert!(repeat.starts_with("harness run --case identical-retry "), "{repeat}");
    let shown = run.done.then().words(&["latest", "mine"]).call(&["show"]);
    assert!(shown.stdout.contains("retry/mine"), "{}", shown.stdout);
}

#[test]
fn what_is_wrong_with_it_is_said_with_the_place() {
    let wrong = own("mine").replace("observe = \"end\"", "observes = \"end\"");
    let harness = Harness::new()
        .file("mine.toml", &wrong)
        .words(&["--case-file", "mine.toml"]);
    let done = harness.run_human();
    done.exits(2)
        .says_only(&["mine.toml:41:1: unknown key `observes`; did you mean `observe`?"])
        .wrote_nothing();
    let done = with_file("lost-reply").run_human();
    done.exits(2)
        .says_only(&[
            "mine.toml:2:12: ",
            "id `lost-reply` is taken by the embedded case retry/lost-reply",
        ])
        .wrote_nothing();
    // `harness show latest` would be two things, and no wait of a year is one.
    let done = with_file("Latest").run_human();
    done.exits(2)
        .says_only(&["mine.toml:2:12: id `Latest` means something else"])
        .wrote_nothing();
    let year = own("mine").replace("reply_ms = 10000", "reply_ms = 31536000000");
    let harness = Harness::new().file("mine.toml", &year);
    let done = harness.words(&["--case-file", "mine.toml"]).run_human();
    done.exits(2)
        .says_only(&[
            "mine.toml:13:",
            ": bounds: reply_ms = 31536000000: a wait has 1 to 3600000 milliseconds",
        ])
        .wrote_nothing();
}

#[test]
fn it_is_explained_and_listed() {
    let harness = Harness::new().file("mine.toml", &own("mine"));
    let explained = harness.clone().call(&["explain", "--case-file", "mine.toml"]);
    assert!(explained.stdout.starts_with("retry/mine  "), "{}", explained.stdout);
    // Both together: the case is looked for among those of the catalogue and of the file.
    for (case, heading) in [("mine", "retry/mine  "), ("lost-reply", "retry/lost-reply (03)  ")] {
        let explained = harness.clone().call(&["explain", case, "--case-file", "mine.toml"]);
        explained.exits(0);
        assert!(explained.stdout.starts_with(heading), "{}", explained.stdout);
    }
    let refused = harness.clone().call(&["explain", "mien", "--case-file", "mine.toml"]);
    refused
        .exits(2)
        .says_only(&["there is no case `mien`; did you mean `mine`?"]);
    let usage = harness.clone().call(&["explain"]);
    assert_eq!(usage.code, 2);
    for form in [
        "harness explain [OPTIONS] <CASE>\n",
        "harness explain [OPTIONS] --case-file <FILE> [CASE]\n",
    ] {
        assert!(usage.stderr.contains(form), "{}", usage.stderr);
    }
    let listed = harness.call(&["list", "--case-file", "mine.toml"]);
    assert!(listed.stdout.contains("  mine  "), "{}", listed.stdout);
    let foot = "\nharness explain --case-file mine.toml says what that case proves; harness run --case-file mine.toml runs it\n";
    assert!(listed.stdout.ends_with(foot), "{}", listed.stdout);
}
