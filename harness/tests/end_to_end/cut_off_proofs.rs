//! A proof that was interrupted or killed: what it had come to is kept, and both verifiers call it incomplete.

use std::fs;
use std::path::{Path, PathBuf};

use harness::drive::clock::wait_until_blocking;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::prove::{OWN, own_words, problems, stored};
use crate::second_verifier::second;
use crate::support::forge::seal_proof_again;
use crate::support::python::has_python;
use crate::support::running::Running;
use crate::support::{WAIT_MAX, await_marked, new_mark};

/// A proof that waits in its one defect, after its baseline has passed, and where its evidence is.
fn waiting() -> (Running, PathBuf) {
    let (running, root) = waiting_in("reply-before-commit", "", "reply-means-done,start-over");
    // The case before that one has noticed the defect.
    let is_known = || stored(&root)["defects"][0]["kills"][0]["outcome"] == "broken";
    assert!(
        wait_until_blocking(WAIT_MAX, is_known),
        "the matrix does not say what was noticed"
    );
    (running, root)
}

/// A proof by these cases whose server is started with these variables more, once it waits in this run.
fn waiting_in(run: &str, variables: &str, cases: &str) -> (Running, PathBuf) {
    let mark = new_mark();
    let marked = format!("[launch.env]\n{variables}HARNESS_TEST_MARK = {mark:?}");
    let defects = "[[defect]]\nname = \"reply-before-commit\"\n\
                   kills = [\"reply-means-done:effect-is-there\", \"start-over:one-effect\"]\n";
    let harness = own_words(&OWN.replace("[launch.env]", &marked), defects)
        .words(&["--case", cases])
        .words(&["--jobs", "1", "--evidence", "proof"]);
    let root = harness.path("proof");
    let running = Running::start_with(harness, "prove", &mark);
    // With this defect no effect shows while the server lives, so the case waits for one.
    running.await_file(&root.join(run).join("cases/start-over/record.jsonl"));
    await_marked(&mark, 3);
    (running, root)
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
    let row = &json["defects"][0];
    assert_eq!(row["cut_short"], json!({"how": "unfinished"}));
    assert_eq!(
        (&row["verdicts"]["reply-means-done"], &row["verdicts"]["start-over"]),
        (&json!("fail"), &json!("inconclusive"))
    );
    let (noticed, open) = ("reply-means-done:effect-is-there", "start-over:one-effect");
    let line = format!("CUT OFF   reply-before-commit  noticed by {noticed}; not known: {open}");
    assert!(
        done.stdout.lines().any(|told| told.starts_with(&line)),
        "{}",
        done.stdout
    );
    assert_eq!(problems(&json), [""; 0], "what was broken off is nobody's mistake");
    let next = "prove what is left, with a baseline of its own: harness prove --target own.toml --defects defects.toml --case \
                reply-means-done,start-over --defect reply-before-commit --jobs 1\n";
    assert!(done.stderr.ends_with(next), "{}", done.stderr);
    let kept = "3 cases without a defect, 2 cases with `reply-before-commit`\n";
    assert!(done.stderr.contains(kept), "{}", done.stderr);
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
    assert_eq!(whole.json["kills_again"], 1, "what was noticed is noticed again");
    is_incomplete_for_the_second_verifier(&root);

    let forged = |by: &dyn Fn(&mut Value)| -> String {
        let mut matrix = json.clone();
        by(&mut matrix);
        fs::write(root.join("matrix.json"), matrix.to_string()).unwrap();
        seal_proof_again(&root);
        done.verify(&root).findings().join("\n")
    };
    let whole = forged(&|matrix| drop(matrix["defects"][0].as_object_mut().unwrap().remove("cut_short")));
    let told = "reply-before-commit: it does not say that its run did not come to its end";
    assert!(whole.contains(told), "{whole}");
    let noticed = forged(&|matrix| matrix["defects"][0]["kills"][1]["outcome"] = json!("broken"));
    assert!(
        noticed.contains("it says that `start-over:one-effect` is broken"),
        "{noticed}"
    );
    let other = forged(&|matrix| {
        drop(
            matrix["defects"][0]["verdicts"]
                .as_object_mut()
                .unwrap()
                .remove("reply-means-done"),
        );
    });
    assert!(
        other.contains("is broken, and judged again it is not judged"),
        "{other}"
    );
}

#[track_caller]
fn is_incomplete_for_the_second_verifier(root: &Path) {
    if has_python("the second verifier of a proof that was cut off") {
        let (code, text) = second(root);
        assert_eq!(code, 3, "{text}");
    }
}

/// The user did nothing wrong, so nothing is told as if he had: what is kept, and what to do next.
#[test]
fn an_interrupt_in_the_baseline_is_told_as_one() {
    let (running, root) = waiting_in("baseline", "GUARD_DEFECT = \"reply-before-commit\"\n", "start-over");
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    let lines: Vec<&str> = done.stdout.lines().skip(1).collect();
    let evidence = format!("evidence  {}", root.display());
    let result = "result    INTERRUPTED  before a defect was planted on reference-server (own.toml, contract guarded)";
    let baseline = "baseline  1 of 2 cases passed without a defect before the interrupt";
    assert_eq!(lines, [baseline, "", &evidence, result]);
    assert_eq!(
        done.stderr,
        "interrupted; the evidence holds what was done until then: 1 case without a defect\nto make it again: harness prove \
         --target own.toml --defects defects.toml --case start-over --jobs 1\n"
    );
    let json = stored(&root);
    assert_eq!(
        (problems(&json), &json["not_begun"]),
        (vec![], &json!(["reply-before-commit"]))
    );
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
    is_incomplete_for_the_second_verifier(&root);
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
    assert_eq!(json["baseline"]["start-over"], "pass");
    assert_eq!(json["defects"][0]["kills"][0]["outcome"], "broken");
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
    assert_eq!(verified.json["kills_again"], 1);
    is_incomplete_for_the_second_verifier(&root);
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
        json!({"sees-duplicates": "pass", "reply-means-done": "pass", "start-over": "pass"})
    );
    assert_eq!(json["defects"][0]["kills"][0]["outcome"], "broken");
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
    assert_eq!(verified.json["sealed"], false);
    is_incomplete_for_the_second_verifier(&root);
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
    let (running, root) = waiting_in(
        "baseline",
        "GUARD_DEFECT = \"reply-before-commit\"\n",
        "reply-means-done,start-over",
    );
    running.signal(running.run(), Signal::KILL);
    let done = running.end();
    done.exits(137);
    let json = stored(&root);
    assert_eq!(json["state"], "running");
    assert_eq!(json["baseline"]["sees-duplicates"], "pass");
    assert_eq!(json["baseline"].get("start-over"), None);
    let verified = done.verify(&root);
    assert_eq!((verified.findings(), verified.code), (vec![], 3));
}
