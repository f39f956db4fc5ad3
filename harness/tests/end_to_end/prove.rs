//! The proof that cases can fail: what makes it complete, what makes it red, and what is kept of it.

use std::fs;
use std::path::{Path, PathBuf};

use reference_server::defect::Defect;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::run::{Done, Harness, names};
use crate::support::running::Running;
use crate::support::{await_marked, new_mark};

/// The profile of the built-in server, as somebody would write one for a server of his own.
const OWN: &str = include_str!("../../targets/reference-server.toml");

fn prove(harness: Harness, words: &[&str]) -> (Done, Value) {
    let done = harness
        .words(words)
        .words(&["--format", "json", "--evidence", "proof"])
        .call(&["prove"]);
    let json = serde_json::from_str(&done.stdout).unwrap_or(Value::Null);
    (done, json)
}

/// A server of one's own with a list of defects that says this.
fn own(defects: &str) -> (Done, Value) {
    let harness = Harness::new()
        .file("own.toml", &OWN.replace("{harness}", env!("CARGO_BIN_EXE_harness")))
        .file("defects.toml", &format!("format = 1\n{defects}"));
    prove(
        harness,
        &[
            "--target",
            "own.toml",
            "--defects",
            "defects.toml",
            "--case",
            "identical-retry",
        ],
    )
}

fn problems(json: &Value) -> Vec<&str> {
    let problems = json["problems"].as_array().expect("a list of problems").iter();
    problems.map(|problem| problem.as_str().expect("a text")).collect()
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
        ("", "no defect was planted, so nothing is shown"),
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
        let (done, json) = own(defects);
        done.exits(1);
        assert!(problems(&json).contains(&problem), "{:?}", problems(&json));
    }
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
    let broken = OWN.replace("{harness}", env!("CARGO_BIN_EXE_harness"));
    let broken = broken.replace("[launch.env]", "[launch.env]\nGUARD_DEFECT = \"no-ledger\"");
    let harness = Harness::new().file("own.toml", &broken).file(
        "defects.toml",
        "format = 1\n[[defect]]\nname = \"no-ledger\"\nkills = [\"identical-retry:one-effect\"]\n",
    );
    let words = [
        "--target",
        "own.toml",
        "--defects",
        "defects.toml",
        "--case",
        "identical-retry",
    ];
    let (done, json) = prove(harness, &words);
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
    refused(&["--target", "own.toml"]).exits(2);
}

/// A proof that waits in its one defect, after its baseline has passed, and where its evidence is.
fn waiting() -> (Running, PathBuf) {
    waiting_in("reply-before-commit", "")
}

/// A proof whose server is started with these variables more, once it waits in this run.
fn waiting_in(run: &str, variables: &str) -> (Running, PathBuf) {
    let mark = new_mark();
    let marked = OWN.replace("{harness}", env!("CARGO_BIN_EXE_harness"));
    let marked = marked.replace(
        "[launch.env]",
        &format!("[launch.env]\n{variables}HARNESS_TEST_MARK = {mark:?}"),
    );
    let kills = "kills = [\"reply-means-done:effect-is-there\"]";
    let list = ["reply-before-commit"].map(|name| format!("[[defect]]\nname = {name:?}\n{kills}\n"));
    let harness = Harness::new()
        .file("own.toml", &marked)
        .file("defects.toml", &format!("format = 1\n{}", list.concat()))
        .words(&[
            "--target",
            "own.toml",
            "--defects",
            "defects.toml",
            "--evidence",
            "proof",
        ])
        .words(&["--case", "reply-means-done,lost-reply", "--jobs", "1"]);
    let root = harness.path("proof");
    let running = Running::start_with(harness, "prove", &mark);
    // With this defect no effect shows while the server lives, so the case waits for one.
    running.await_file(&root.join(run).join("cases/lost-reply/record.jsonl"));
    await_marked(&mark, 3);
    (running, root)
}

fn stored(root: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(root.join("matrix.json")).unwrap()).unwrap()
}

/// What was done until then is printed and sealed.
#[test]
fn an_interrupt_keeps_what_was_done() {
    let (running, root) = waiting();
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    assert!(done.stdout.contains("INTERRUPTED"), "{}", done.stdout);
    let json = stored(&root);
    assert_eq!((&json["state"], &json["exit"]), (&json!("interrupted"), &json!(130)));
    assert_eq!(json["baseline"]["reply-means-done"], "pass");
    assert_eq!(json["defects"], json!([]));
    let verified = done.verify(&root.join("baseline"));
    assert_eq!((verified.findings(), verified.code), (vec![], 0));
    let cut = done.verify(&root.join("reply-before-commit"));
    assert_eq!((cut.findings(), cut.code), (vec![], 3));
    assert_eq!(cut.json["sealed"], true);
    let whole = done.verify(&root);
    assert_eq!((whole.findings(), whole.code), (vec![], 3));
    assert_eq!(
        (&whole.json["sealed"], &whole.json["finished"]),
        (&json!(true), &json!(false))
    );
}

/// Whatever came of the first one: either everything is as after one, or what was known lies there and says that it is a part.
#[test]
fn a_second_interrupt_keeps_what_was_known() {
    let (running, root) = waiting();
    while running.processes() > 0 {
        running.signal_group(Signal::INT);
    }
    let done = running.end();
    done.exits(130);
    assert!(done.stderr.contains("interrupted"), "{}", done.stderr);
    let json = stored(&root);
    assert!(json["state"] == "interrupted" || json["state"] == "running", "{json}");
    assert_eq!(json["baseline"]["lost-reply"], "pass");
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
}

/// SIGKILL leaves no time for anything.
#[test]
fn a_kill_leaves_the_last_matrix_and_it_says_that_it_is_a_part() {
    let (running, root) = waiting();
    running.signal(running.run(), Signal::KILL);
    let done = running.end();
    done.exits(137);
    let json = stored(&root);
    assert_eq!((&json["state"], &json["exit"]), (&json!("running"), &Value::Null));
    assert_eq!(
        json["baseline"],
        json!({"sees-duplicates": "pass", "reply-means-done": "pass", "lost-reply": "pass"})
    );
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
    assert_eq!(verified.json["sealed"], false);
    let shown = done.then().words(&["proof"]).call(&["show"]);
    shown.exits(0);
    assert!(
        shown.stdout.contains("not at its end: at work, or killed"),
        "{}",
        shown.stdout
    );
    assert!(
        shown.stdout.contains("NOT SEALED there is no SHA256SUMS"),
        "{}",
        shown.stdout
    );
}

/// The same in the run without a defect; what it was in the middle of is nobody's verdict.
#[test]
fn a_kill_in_the_baseline_leaves_the_verdicts_that_there_were() {
    let (running, root) = waiting_in("baseline", "GUARD_DEFECT = \"reply-before-commit\"\n");
    running.signal(running.run(), Signal::KILL);
    let done = running.end();
    done.exits(137);
    let json = stored(&root);
    assert_eq!(json["state"], "running");
    assert_eq!(json["baseline"]["sees-duplicates"], "pass");
    assert_eq!(json["baseline"].get("lost-reply"), None);
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
}

/// `.ci/run` makes the file anew, from a run; that it speaks of every defect and every kill can be seen without one.
#[test]
fn the_matrix_in_the_documentation_names_every_defect_and_every_kill() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/MATRIX.md");
    let text = fs::read_to_string(path).unwrap();
    for defect in Defect::ALL {
        let kills: Vec<String> = defect.killed_by().iter().map(|kill| format!("`{kill}`")).collect();
        let line = format!("| `{}` |", defect.name());
        let line = text.lines().find(|found| found.starts_with(&line)).unwrap_or_default();
        assert!(
            line.ends_with(&format!("| {} |", kills.join(", "))),
            "{}: {line:?}",
            defect.name()
        );
    }
    assert!(!text.contains("**not") && !text.contains("**nothing**"));
}
