//! A case as a story: all of its steps, what broke and where, and why the verdict is what it is, for whoever reads it first.

use std::fs;

use harness::case::Catalogue;
use serde_json::Value;

use super::command_line::prints;
use super::hostile::is_tame;
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, record};

fn told(harness: Harness) -> Done {
    harness.words(&["--story"]).run_human()
}

/// One case of a run that is kept.
fn shown(done: &Done, case: &str) -> String {
    let shown = done.then().words(&["latest", case, "--story"]).call(&["show"]);
    shown.exits(0);
    shown.stdout
}

/// The numbers of the steps that a story tells, in its order.
fn numbers(story: &str) -> Vec<usize> {
    let heading = |line: &str| {
        let (number, text) = line.get(..5).zip(line.get(5..))?;
        let is_heading = number.ends_with("  ") && !text.starts_with(' ');
        number.trim().parse().ok().filter(|_| is_heading)
    };
    story.lines().filter_map(heading).collect()
}

#[track_caller]
fn holds(story: &str, parts: &[&str]) {
    // Where a line is broken is the layout's affair.
    let text = story.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{story}");
    }
}

/// Whether the withheld reply or the look into the store came first is the machine's affair, and moves one number by one.
fn settled(mut done: Done) -> Done {
    done.stdout = done.stdout.replace("[13]", "[12]");
    done
}

#[test]
fn a_pass_a_lost_reply_and_a_doubled_effect() {
    let done = told(Harness::new().case("identical-retry"));
    prints("story-identical-retry", &done);
    prints("story-lost-reply", &settled(told(Harness::new().case("lost-reply"))));
    let doubled = Harness::new().defect("same-reply-two-effects").case("lost-reply");
    prints("story-lost-reply-doubled", &settled(told(doubled)));
}

/// The built-in target whose write is submitted.
fn executing() -> Harness {
    Harness::new().words(&["--target", "reference-execution"])
}

#[test]
fn a_worker_that_wakes_too_late_and_attempts_that_end() {
    prints("story-stale-fencing", &told(executing().case("stale-fencing")));
    prints("story-retry-exhaustion", &told(executing().case("retry-exhaustion")));
}

#[test]
fn the_cases_of_durable_execution_are_told_with_their_log() {
    let done = told(executing().case("execution").case("identical-retry"));
    done.exits(0);
    let stories: Vec<&str> = done.stdout.split("\nSTORY  ").skip(1).collect();
    assert_eq!(stories.len(), 12);
    for story in &stories {
        let whole = story.lines().filter(|line| line.contains(", the whole log")).count();
        assert!(whole > 0, "{story}");
        let told = story.split("\nWhat was expected").next().unwrap();
        let is_claim = |line: &&str| line.starts_with("       + ") && line.contains("  claimed  ");
        let log = told.lines().filter(is_claim);
        let without_words = log.filter(|line| !line.contains("holds it, with token"));
        assert_eq!(without_words.count(), 0, "{story}");
        // Time is told as the case counts it.
        assert!(!told.contains("17900352"), "{story}");
    }
    let of = |id: &str| {
        *stories
            .iter()
            .find(|story| story.starts_with(&format!("{id} ")))
            .unwrap()
    };
    holds(
        of("execution/concurrent-claim"),
        &["and 49 more like it, each under its own identity: 49 of them got a result"],
    );
    holds(
        of("execution/event-log"),
        &[
            "tampering A: on a copy, update (UPDATE execution_events SET event = 'completed'): REFUSED by the store: “the event log \
             is append-only: no event is updated”",
            "get_execution: execution_id=",
            "state=completed",
        ],
    );
    holds(
        of("execution/cancel-running"),
        &["state=cancelled", "REFUSED: complete with token 1, it is over"],
    );
    holds(
        of("execution/lease-expiry"),
        &["held → expired", "and stands at T0+31 s"],
    );
    holds(
        of("execution/duplicate-submission"),
        &[
            "a result with the execution_id of [8], marked as a replay:",
            "REFUSED: its key with other data",
        ],
    );
    holds(
        of("retry/identical-retry"),
        &["later The write is submitted:", "marked as a replay: execution_id="],
    );
}

/// Cases that run side by side are told one after the other, each whole, in the order of the catalogue.
#[test]
fn every_case_is_told_with_all_of_its_steps() {
    let catalogue = Catalogue::embedded();
    let of_execution = ["execution".to_owned()];
    let rest = catalogue.select(&[], &of_execution).unwrap().execute;
    told_whole(Harness::new().words(&["--skip", "execution"]), &rest);
    let executions = catalogue.select(&of_execution, &[]).unwrap().execute;
    told_whole(executing().case("execution"), &executions);
}

/// What is run, a control among it; a control that nobody asked for has a line only.
fn told_whole(harness: Harness, run: &[String]) {
    let done = told(harness.words(&["--jobs", "4"]));
    done.exits(0);
    let stories: Vec<&str> = done.stdout.split("\nSTORY  ").skip(1).collect();
    let told: Vec<&String> = run.iter().skip(run.len().saturating_sub(stories.len())).collect();
    let cases = run.iter().filter(|id| *id != "sees-duplicates").count();
    assert!(stories.len() >= cases, "{} of {run:?}", stories.len());
    for (story, id) in stories.iter().zip(told) {
        let first = story.lines().next().unwrap();
        assert!(first.contains(&format!("/{id}")) && first.ends_with("PASS"), "{first}");
        let record = record(&done.latest().join("cases").join(id));
        let steps = record[0]["plan"]["steps"].as_array().unwrap().len();
        let expected: Vec<usize> = (1..=steps).collect();
        assert_eq!(numbers(story), expected, "{id}:\n{story}");
        for event in record.iter().filter(|event| event["kind"] == "step-started") {
            holds(story, &[event["does"].as_str().unwrap()]);
        }
        holds(
            story,
            &["What was expected, and what was found", "PASS all", "To look again"],
        );
        let kept = shown(&done, id);
        assert!(
            story.starts_with(
                kept.split("\nSTORY  ")
                    .nth(1)
                    .unwrap()
                    .split("\nTo look")
                    .next()
                    .unwrap()
            )
        );
    }
    let lines = stories
        .iter()
        .flat_map(|story| story.lines().take_while(|line| *line != "To look again"));
    let widest = lines.map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 100, "{widest:?} characters in a line");
    let end = done.stdout.rsplit("\nTo look again").next().unwrap();
    assert_eq!(end.matches("\nPASS  ").count(), cases, "{end}");
}

#[test]
fn what_was_done_to_a_request_and_where_a_fault_struck_is_said() {
    let cases = [
        "changed-state",
        "stripped-state",
        "crash-before-commit",
        "lost-first-reply",
    ];
    let done = told(cases.iter().fold(Harness::new(), |harness, case| harness.case(case)));
    done.exits(0);
    holds(
        &shown(&done, "changed-state"),
        &[
            "with a request state that the server never issued",
            "REFUSED, reason conflict: “this operation_id was used by a different request; nothing was written”",
        ],
    );
    holds(&shown(&done, "stripped-state"), &["WITHOUT a request state"]);
    holds(
        &shown(&done, "crash-before-commit"),
        &[
            "FAULT it strikes here: `first` was started with the failpoint after-effect-insert, and its standard output ended",
            "client it has no reply, and cannot know whether A was done",
        ],
    );
    holds(
        &shown(&done, "lost-first-reply"),
        &[
            "FAULT it strikes here, after the first question left the server and before the client saw it: SIGKILL for 1 process",
        ],
    );
}

/// The summary after a story says what the story has not said, and nothing twice.
#[test]
fn the_story_of_a_failure_is_told_once() {
    let harness = Harness::new().defect("memory-ledger").case("lost-reply");
    let done = told(harness);
    done.exits(1);
    holds(
        &done.stdout,
        &[
            "planted the defect memory-ledger. The ledger lives in memory",
            "BROKEN one-effect ★: the retry wrote again, or the write was lost end.effects.A: expected 1, found 2 promise: the \
             target's contract `guarded` BROKEN",
            "retry.result: expected issue_id=1, receipt=",
            "FAIL one-effect is broken: the retry wrote again, or the write was lost. It was promised by the \
             target's contract `guarded`, so the server fails.",
        ],
    );
    for once in ["end.effects.A: expected 1", "made by", "repeat   "] {
        assert_eq!(done.stdout.matches(once).count(), 1, "{once}: {}", done.stdout);
    }
    assert!(
        done.stdout.contains("\nFAIL         retry/lost-reply (03)"),
        "{}",
        done.stdout
    );
}

#[test]
fn what_was_not_tested_has_a_short_story() {
    let plain = Profile::plain();
    let done = told(Harness::new().target(&plain).case("crash-after-commit"));
    done.exits(3);
    holds(
        &done.stdout,
        &["UNSUPPORTED nothing was tested: the target lacks `status` ([status] names no tool)."],
    );
    assert_eq!(numbers(&done.stdout), [0; 0], "{}", done.stdout);
    assert!(!done.stdout.contains("What was expected"), "{}", done.stdout);

    let blind = plain.clone().effects("SELECT id FROM order_s WHERE note = $marker");
    let done = told(Harness::new().target(&blind).case("identical-retry"));
    done.exits(3);
    let stories: Vec<&str> = done.stdout.split("\nSTORY  ").skip(1).collect();
    assert_eq!(
        stories.len(),
        2,
        "the control that did not pass is told too: {}",
        done.stdout
    );
    holds(
        stories[0],
        &[
            "control/sees-duplicates INCONCLUSIVE",
            "UNCLEAR sees-two ★:",
            "So nothing can be said of the server, good or bad.",
            "control sees-duplicates: inconclusive; it counted 0, 0, 0 elsewhere written and not counted: mk-",
        ],
    );
    holds(
        stories[1],
        &["STOPPED it was not run, because the control `sees-duplicates` did not pass; no step was done"],
    );
    assert!(!stories[1].contains("What was done"), "{}", stories[1]);
}

#[test]
fn a_fault_that_missed_its_moment_is_not_said_to_strike() {
    let harness = Harness::new().defect("reply-before-commit").case("lost-reply");
    let done = told(harness.words(&["--timeout", "1"]));
    done.exits(3);
    holds(
        &done.stdout,
        &[
            "fault FAULT MISSED: no effect was visible in the store",
            "signal SIGKILL for 1 process; `first` ended by signal 9",
            "INCONCLUSIVE the fault missed its moment",
        ],
    );
    assert!(!done.stdout.contains("it strikes here"), "{}", done.stdout);
}

#[test]
fn nobodys_promise_is_said_to_be_nobodys() {
    let unguarded = Profile::without_promise().flags("--dedupe none");
    let done = told(Harness::new().target(&unguarded).case("identical-retry"));
    done.exits(1);
    holds(
        &done.stdout,
        &[
            "UNGUARDED one-effect ★: the retry wrote again",
            "promise: nobody's: the contract `none` does not promise it",
            "Nobody had promised that it would not be so",
            "no matter one-ledger-row: not asked of this target",
        ],
    );
}

/// Names, results, rows, and what a server prints beside its messages.
#[test]
fn what_a_server_wrote_is_told_escaped() {
    let profile = Profile::with_status()
        .misbehave("hostile-text,banner-on-stdout")
        .flags("--dedupe none")
        .effects(
            "SELECT id, note, char(27, 91, 50, 74, 10) || '::error::' || char(10) || 'PASS  forged' AS \"::error::x\" FROM \
             orders WHERE note = $marker",
        );
    let done = told(Harness::new().target(&profile).case("lost-reply"));
    done.exits(1);
    is_tame(&done);
    is_tame(&done.then().words(&["latest", "lost-reply", "--story"]).call(&["show"]));
    holds(
        &done.stdout,
        &[
            "it runs [12] plain-server\\u{1b}[2J",
            "stray [7] NOT JSON plain-server: ready",
            "and 2 more that answer nothing",
            "| id note ::error::x",
            "\\u{1b}[2J\\n::error::\\nPASS forged",
        ],
    );
}

#[test]
fn a_record_that_was_cut_off_is_told_as_far_as_it_goes() {
    let done = told(Harness::new().case("lost-reply"));
    let folder = done.latest().join("cases/lost-reply");
    let text = fs::read_to_string(folder.join("record.jsonl")).unwrap();
    let kept: Vec<&str> = text.lines().take(14).collect();
    fs::write(folder.join("record.jsonl"), kept.join("\n") + "\n{\"seq\":").unwrap();
    fs::remove_file(folder.join("verdict.json")).unwrap();
    let story = shown(&done, "lost-reply");
    assert_eq!(numbers(&story), [1, 2, 3], "{story}");
    holds(
        &story,
        &[
            "STORY retry/lost-reply (03) NO VERDICT",
            "DAMAGED line 15 of the record: the file ends in the middle of the line",
            "STOPPED the record ends here, and does not say how the case ended; steps 4 to 9 were not done",
            "NO VERDICT there is none in the evidence",
        ],
    );
    fs::remove_file(folder.join("case.toml")).unwrap();
    holds(&shown(&done, "lost-reply"), &["STORY lost-reply NO VERDICT"]);
    fs::remove_file(folder.join("record.jsonl")).unwrap();
    let nothing = shown(&done, "lost-reply");
    assert_eq!(numbers(&nothing), [0; 0], "{nothing}");
}

#[test]
fn a_story_is_for_people_and_of_a_case_that_was_run() {
    for format in ["json", "jsonl"] {
        for first in [&["run", "--case", "lost-reply"][..], &["show", "latest", "lost-reply"]] {
            let done = Harness::new().words(&["--story", "--format", format]).call(first);
            done.exits(2).wrote_nothing();
            assert!(
                done.stderr.contains("`--story` is a text for people"),
                "{}",
                done.stderr
            );
            let document: Value = serde_json::from_str(&done.stdout).unwrap();
            assert_eq!(document["exit"], 2, "{first:?}");
        }
    }
    let dry = Harness::new().words(&["--story", "--dry-run"]).run_human();
    dry.exits(2).says_only(&["--dry-run", "does nothing"]).wrote_nothing();

    let done = told(Harness::new().case("identical-retry"));
    let probe = done.then().words(&["latest", "probe", "--story"]).call(&["show"]);
    probe.exits(2).says_only(&["the handshake is no case"]);
    let beside = done.then().words(&["latest", "identical-retry", "--story", "--frames"]);
    beside.call(&["show"]).exits(2);
    let whole = done.then().words(&["latest", "--story"]).call(&["show"]);
    whole.exits(2);
    assert!(whole.stderr.contains("CASE"), "{}", whole.stderr);
}
