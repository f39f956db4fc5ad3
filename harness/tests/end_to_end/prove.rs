//! The proof that cases can fail: what makes it complete, what makes it red, and what is kept of it.

use std::fs;
use std::path::Path;

use reference_server::defect::Defect;
use serde_json::{Value, json};

use crate::support::run::{Done, Harness, names};

/// The profile of the built-in server, as somebody would write one for a server of his own.
pub(super) const OWN: &str = include_str!("../../targets/reference-server.toml");

fn prove(harness: Harness, words: &[&str]) -> (Done, Value) {
    let done = harness
        .words(words)
        .words(&["--format", "json", "--evidence", "proof"])
        .call(&["prove"]);
    let json = serde_json::from_str(&done.stdout).unwrap_or(Value::Null);
    (done, json)
}

/// The words that prove a server of one's own: this profile, and a list of defects that says this.
pub(super) fn own_words(profile: &str, defects: &str) -> Harness {
    Harness::new()
        .file("own.toml", &profile.replace("{harness}", env!("CARGO_BIN_EXE_harness")))
        .file("defects.toml", &format!("format = 1\n{defects}"))
        .words(&["--target", "own.toml", "--defects", "defects.toml"])
}

/// A proof by one case of a server of one's own with a list of defects that says this.
fn own(defects: &str) -> (Done, Value) {
    prove(own_words(OWN, defects), &["--case", "identical-retry"])
}

pub(super) fn problems(json: &Value) -> Vec<&str> {
    let problems = json["problems"].as_array().expect("a list of problems").iter();
    problems.map(|problem| problem.as_str().expect("a text")).collect()
}

/// What a server cannot run nobody asked for, so only what it can run and no defect names is missing from the proof.
#[test]
fn a_list_of_ones_own_is_proved_by_what_it_names_and_the_server_can_run() {
    let defects = "[[defect]]\nname = \"no-ledger\"\nsays = \"it forgets\"\nkills = [\"identical-retry:one-effect\"]\n";
    let (done, json) = prove(own_words(OWN, defects), &[]);
    done.exits(1);
    assert_eq!(json["baseline"]["lost-reply"], "pass");
    assert_eq!(json["baseline"]["heartbeat"], Value::Null, "it needs workers");
    let problems = problems(&json);
    let lonely = |problem: &&str| problem.starts_with("no defect has to be noticed by `");
    assert!(problems.len() > 10 && problems.iter().all(lonely), "{problems:?}");
    assert!(!problems.concat().contains("`heartbeat`"), "{problems:?}");
}

#[test]
fn a_profile_without_a_way_to_plant_a_defect_is_told_the_key() {
    let words = ["--target", "own.toml", "--defects", "defects.toml"];
    let profile = OWN.replace("[defects]\nenv = \"GUARD_DEFECT\"\n", "");
    assert_ne!(profile, OWN);
    let harness = Harness::new().file("own.toml", &profile).words(&words);
    harness
        .call(&["prove"])
        .exits(2)
        .says_only(&["has no [defects]", "`env = \"NAME\"`"]);
}

#[test]
fn a_proof_keeps_what_shows_the_named_kills_and_nothing_else() {
    let words = [
        "--defect",
        "no-ledger,unbound-input",
        "--case",
        "identical-retry,changed-input,lost-reply",
    ];
    let (done, json) = prove(Harness::new(), &words);
    done.exits(0);
    assert_eq!(problems(&json), [""; 0]);
    assert_eq!(json["baseline"]["lost-reply"], "pass");
    assert_eq!(json["defects"][0]["defect"], "no-ledger");
    assert_eq!(json["defects"][0]["verdicts"]["changed-input"], "fail");
    assert_eq!(
        json["defects"][1]["kills"],
        json!([{"case": "changed-input", "check": "is-refused", "outcome": "broken"}])
    );
    let written: Value = serde_json::from_str(&fs::read_to_string(done.path("proof/matrix.json")).unwrap()).unwrap();
    assert_eq!(written, json);
    for (run, cases) in [
        (
            "baseline",
            &["changed-input", "identical-retry", "lost-reply", "sees-duplicates"][..],
        ),
        ("no-ledger", &["identical-retry", "lost-reply", "sees-duplicates"]),
        ("unbound-input", &["changed-input", "sees-duplicates"]),
    ] {
        let folder = done.path("proof").join(run);
        let mut kept = names(&folder.join("cases"));
        kept.sort();
        assert_eq!(kept, cases, "{run}");
        let verified = done.verify(&folder);
        assert_eq!((verified.findings(), verified.code), (vec![], 0), "{run}");
        let sums = harness::digest::sha256_file(&folder.join("SHA256SUMS")).unwrap();
        let runs = json["runs"].as_array().unwrap();
        assert!(runs.contains(&json!({"folder": run, "sums_sha256": sums})), "{runs:?}");
    }
}

#[test]
fn a_server_of_ones_own_with_a_list_of_its_own() {
    let (done, json) = own("[[defect]]\nname = \"no-ledger\"\nkills = [\"retry/identical-retry:one-effect\"]\n");
    done.exits(0);
    assert_eq!(json["defects"][0]["kills"][0]["case"], "identical-retry");
    assert!(
        json["target"].as_str().unwrap().contains("own.toml"),
        "{}",
        json["target"]
    );
}

#[test]
fn whatever_is_missing_from_a_proof_is_red() {
    for (defects, problem) in [
        (
            // Planted for real, and noticed elsewhere only.
            "[[defect]]\nname = \"unbound-input\"\nkills = [\"identical-retry:one-effect\"]\n",
            "`identical-retry:one-effect` did not notice `unbound-input`: the check is held, the case pass",
        ),
        (
            "[[defect]]\nname = \"no-ledger\"\nkills = [\"lost-reply:one-effect\"]\n",
            "no defect has to be noticed by `identical-retry`, so nothing shows that it can fail",
        ),
    ] {
        let (done, json) = prove(own_words(OWN, defects), &["--case", "identical-retry,lost-reply"]);
        done.exits(1);
        assert!(problems(&json).contains(&problem), "{:?}", problems(&json));
    }
}

/// A whole run without a defect would show nothing.
#[test]
fn where_there_is_nothing_to_plant_nothing_is_run() {
    let other = "[[defect]]\nname = \"no-ledger\"\nkills = [\"lost-reply:one-effect\"]\n";
    for (defects, told) in [
        (
            "",
            "error: defects.toml:1:10: it lists no defect, so there is nothing to plant; add `[[defect]]`",
        ),
        (
            other,
            "error: --case: none of these cases has to notice no-ledger, so there is nothing to plant; leave --case out, or name \
             what has to: --case lost-reply",
        ),
    ] {
        let done = own_words(OWN, defects)
            .words(&["--case", "identical-retry", "--evidence", "proof"])
            .call(&["prove"]);
        done.exits(2).says_only(&[told]);
        assert!(!done.path("proof").exists(), "a folder was made");
    }
}

/// The server refuses a defect that it does not know: then nobody has looked whether anything notices it.
#[test]
fn a_defect_with_which_the_server_does_not_start_was_not_run() {
    let defects = "[[defect]]\nname = \"no-legder\"\nkills = [\"identical-retry:one-effect\"]\n";
    let words = own_words(OWN, defects).words(&["--case", "identical-retry", "--evidence", "proof"]);
    let done = words.call(&["prove"]);
    done.exits(3);
    let why = "it exited with code 2 before it answered a request";
    for told in [
        format!("NOT RUN   no-legder  {why}"),
        "          stderr    reference-server: --defect (GUARD_DEFECT) is \"no-legder\"".to_owned(),
        format!("PROBLEM   no-legder: {why}"),
        "result    NOT PROVED".to_owned(),
    ] {
        assert!(
            done.stdout.lines().any(|line| line.starts_with(&told)),
            "{told}:\n{}",
            done.stdout
        );
    }
    assert!(!done.stdout.contains("NOTICED"), "{}", done.stdout);
    let row = &stored(&done.path("proof"))["defects"][0];
    assert_eq!(row["cut_short"], json!({"how": "not-run", "reason": why}));
    assert_eq!(row["kills"][0]["outcome"], Value::Null);
    let verified = done.verify(&done.path("proof"));
    assert_eq!((verified.findings(), verified.code), (vec![], 0));
    let shown = done.then().words(&["proof"]).call(&["show"]);
    let told = format!("run       no-legder  NOT RUN: {why}");
    assert!(shown.stdout.lines().any(|line| line == told), "{}", shown.stdout);
    let document = own_words(OWN, defects).words(&["--case", "identical-retry", "--format", "markdown"]);
    let document = document.call(&["prove"]).stdout;
    assert!(
        document.contains("| **not run** `identical-retry:one-effect` |"),
        "{document}"
    );
}

/// Before anything is run or made, and with the place.
#[test]
fn a_list_with_a_wrong_name_is_refused_when_it_is_read() {
    for (kill, told) in [
        ("lost-replay:one-effect", "there is no case `lost-replay`"),
        ("retry/identical-retry:one-efect", "did you mean `one-effect`?"),
        ("identical-retry:retry-answered", "name `identical-retry:one-effect`"),
    ] {
        let (done, _) = own(&format!("[[defect]]\nname = \"no-ledger\"\nkills = [{kill:?}]\n"));
        done.exits(2);
        let place = "error: defects.toml:4:10: defect `no-ledger`: ";
        assert!(
            done.stderr.starts_with(place) && done.stderr.contains(told),
            "{}",
            done.stderr
        );
        assert!(!done.path("proof").exists(), "a folder was made");
    }
}

/// Every case is red on this server already: nothing is planted.
#[test]
fn a_baseline_that_is_not_green_ends_it() {
    let broken = OWN.replace("[launch.env]", "[launch.env]\nGUARD_DEFECT = \"no-ledger\"");
    let defects = "[[defect]]\nname = \"no-ledger\"\nkills = [\"identical-retry:one-effect\"]\n";
    let (done, json) = prove(own_words(&broken, defects), &["--case", "identical-retry"]);
    done.exits(1);
    assert_eq!(json["defects"], json!([]));
    assert!(
        problems(&json)[0].starts_with("without a defect, `identical-retry` is fail"),
        "{:?}",
        problems(&json)
    );
}

#[test]
fn wrong_words_are_refused() {
    let refused = |words: &[&str]| Harness::new().words(words).call(&["prove"]);
    let done = refused(&["--defect", "no-legder"]);
    done.exits(2).says_only(&["no-legder", "did you mean `no-ledger`?"]);
    done.wrote_nothing();
    refused(&["--case", "lost-replay"])
        .exits(2)
        .says_only(&["lost-replay"])
        .wrote_nothing();
    let listless = Harness::new()
        .file("own.toml", OWN)
        .words(&["--target", "own.toml"])
        .call(&["prove"]);
    listless
        .exits(2)
        .says_only(&["--target own.toml", "--defects FILE", "reference-execution"])
        .wrote_nothing();
    refused(&["--defects", "defects.toml"]).exits(2);
}

/// Each of the two has defects and cases of its own; what belongs to the other is refused with the word that is missing.
#[test]
fn what_belongs_to_the_other_built_in_target_is_refused_with_its_name() {
    for (words, parts) in [
        (
            &["--case", "stale-fencing"][..],
            [
                "--case stale-fencing: no defect of reference-server",
                "take --target reference-execution",
            ],
        ),
        (
            &["--case", "execution"],
            [
                "--case execution: no defect of reference-server",
                "take --target reference-execution",
            ],
        ),
        (
            &["--defect", "claim-not-atomic"],
            [
                "--defect claim-not-atomic: it is one of reference-execution",
                "take --target reference-execution",
            ],
        ),
        (
            &["--target", "reference-execution", "--case", "retry/lost-reply"],
            [
                "--case lost-reply: no defect of reference-execution",
                "take --target reference-server",
            ],
        ),
        (
            &["--target", "reference-execution", "--defect", "no-ledger"],
            [
                "--defect no-ledger: it is one of reference-server",
                "take --target reference-server",
            ],
        ),
        (
            &["--target", "reference-execution", "--defect", "cancel-ignord"],
            ["--defect cancel-ignord", "did you mean `cancel-ignored`?"],
        ),
    ] {
        let done = Harness::new().words(words).call(&["prove"]);
        done.exits(2).says_only(&parts).wrote_nothing();
    }
}

/// Of a family only the cases are taken that are about this server; what no defect of it names is proved on the other.
#[test]
fn the_built_in_target_of_executions_is_proved_by_its_name() {
    let words = ["--target", "reference-execution"];
    let (done, json) = prove(
        Harness::new().words(&words),
        &[
            "--case",
            "retry,event-log",
            "--defect",
            "mutable-event-log,changed-submission-returns-old",
        ],
    );
    done.exits(0);
    assert_eq!(problems(&json), [""; 0]);
    let cases: Vec<&Value> = json["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| &case["case"])
        .collect();
    assert_eq!(
        cases,
        ["sees-duplicates", "event-log", "identical-retry", "changed-input"]
    );
    assert_eq!(json["baseline"]["event-log"], "pass");
    let rows = json["defects"].as_array().unwrap();
    let kills: Vec<usize> = rows.iter().map(|row| row["kills"].as_array().unwrap().len()).collect();
    assert_eq!((rows.len(), kills), (2, vec![1, 3]));
    assert_eq!(rows[1]["kills"][0]["outcome"], "broken");
    let verified = done.verify(&done.path("proof"));
    assert_eq!((verified.findings(), verified.code), (vec![], 0));
    assert_eq!(verified.json["kills_again"], 4);
    let shown = done.then().words(&["proof"]).call(&["show"]);
    shown.exits(0);
    let line = "run       mutable-event-log  noticed by event-log:update-refused, event-log:delete-refused, \
                event-log:replace-refused";
    assert!(shown.stdout.lines().any(|shown| shown == line), "{}", shown.stdout);
    let run = ["proof/mutable-event-log", "event-log"];
    let repeat = done.then().words(&run).words(&["--format", "json"]).call(&["show"]);
    repeat.exits(0);
}

pub(super) fn stored(root: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(root.join("matrix.json")).unwrap()).unwrap()
}

/// `.ci/run` makes the file anew, from two runs; that it speaks of every defect and every kill can be seen without them.
#[test]
fn the_matrix_in_the_documentation_names_every_target_every_defect_and_every_kill() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/MATRIX.md");
    let text = fs::read_to_string(path).unwrap();
    let title = "# What each case has been seen to notice on ";
    let sections: Vec<&str> = text.split(title).skip(1).collect();
    assert_eq!(sections.len(), 2, "a section for each built-in target");
    for (section, target, defects) in [
        (sections[0], "reference-server (built in, ", Defect::ALL),
        (sections[1], "reference-execution (built in, ", Defect::EXECUTION),
    ] {
        assert!(section.starts_with(target), "{target}");
        for defect in defects {
            let kills: Vec<String> = defect.killed_by().iter().map(|kill| format!("`{kill}`")).collect();
            let line = format!("| `{}` |", defect.name());
            let line = section
                .lines()
                .find(|found| found.starts_with(&line))
                .unwrap_or_default();
            assert!(
                line.ends_with(&format!("| {} |", kills.join(", "))),
                "{}: {line:?}",
                defect.name()
            );
        }
    }
    assert!(!text.contains("**not") && !text.contains("**nothing**"));
    for case in harness::case::Catalogue::embedded().all() {
        let line = format!("| `{}/{}` |", case.family, case.id);
        assert!(text.contains(&line), "no target is proved by {}", case.id);
    }
}
