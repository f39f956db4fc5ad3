//! What a target lacks is summed up: a line for a whole family, a line for each surface else, and a line of its own for a case
//! that was named.

use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Done, Harness};

/// The lines about what is unsupported, as they begin.
fn summed_up(done: &Done) -> Vec<&str> {
    let lines = done.stdout.lines();
    lines.filter(|line| line.starts_with("UNSUPPORTED  ")).collect()
}

/// One case of the family `crash` can be run there, so the others are told by what each lacks.
#[test]
fn a_family_of_which_nothing_can_be_run_is_one_line_and_another_one_a_line_for_each_surface() {
    let done = Harness::new()
        .words(&["--target", "reference-execution", "--case", "continuation,crash"])
        .run_human();
    done.exits(0);
    let lines = summed_up(&done);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(
        lines[0].starts_with("UNSUPPORTED  continuation (15 cases): [write] responses has no answers"),
        "{}",
        lines[0]
    );
    assert!(
        lines[0].ends_with("; 3 surfaces more are missing; run them with --target reference-server"),
        "{}",
        lines[0]
    );
    assert_eq!(
        lines[1..],
        [
            "UNSUPPORTED  [write] arguments have no `{mode}`: crash-between-steps",
            "UNSUPPORTED  [failpoints] names no variable: crash-before-commit, crash-before-effect, crash-between-steps, \
             failed-effect",
        ]
    );
    assert!(!done.stdout.contains("no --target"), "{}", done.stdout);
}

/// A case that is alone is told by its name, and a server of one's own is no server that the binary carries.
#[test]
fn who_tests_a_server_of_ones_own_is_sent_to_no_other_target() {
    let done = Harness::new()
        .target(&Profile::plain())
        .case("execution,never-*")
        .run_human();
    let lines = summed_up(&done);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].starts_with("UNSUPPORTED  [write] responses has no answers") && lines[0].ends_with(": never-admitted"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].starts_with("UNSUPPORTED  execution (11 cases): [write.submitted] is missing: "),
        "{}",
        lines[1]
    );
    assert!(!done.stdout.contains("--target reference"), "{}", done.stdout);
}

#[test]
fn a_case_that_was_named_keeps_its_own_line_and_every_case_its_verdict() {
    let words = ["--case", "execution,stale-fencing"];
    let done = Harness::new().words(&words).run_human();
    done.exits(3);
    let lines = summed_up(&done);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].starts_with("UNSUPPORTED  execution/stale-fencing  "),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].starts_with("UNSUPPORTED  execution (10 cases): "),
        "{}",
        lines[1]
    );
    let hint = "      hint          take --target reference-execution for stale-fencing";
    assert!(done.stdout.lines().any(|line| line == hint), "{}", done.stdout);
    let run = Harness::new().words(&words).run();
    for (case, lacks) in [("stale-fencing", 8), ("event-log", 4)] {
        assert_eq!(run.verdict(case), "unsupported");
        assert_eq!(run.case(case)["missing"].as_array().unwrap().len(), lacks, "{case}");
    }
}

/// Whoever has named no write yet has tested nothing, and no number of cases says anything of the server.
#[test]
fn a_look_at_a_server_does_not_end_in_a_number_of_cases() {
    let program = plain_server().display().to_string();
    let done = Harness::new()
        .server(&[&program, "--database", "{data}/o.sqlite3"])
        .run_human();
    done.exits(3);
    let last = done.stdout.lines().last().unwrap();
    assert!(last.starts_with("result    nothing was tested on "), "{last}");
    let report = done.then().words(&["latest"]).call(&["report"]);
    let ends = |text: &str| -> Vec<String> { text.lines().rev().take(3).map(str::to_owned).collect() };
    assert_eq!(ends(&report.stdout), ends(&done.stdout));
    assert!(
        report
            .stdout
            .contains("3: the server starts, and nothing was tested: no write is named"),
        "{}",
        report.stdout
    );
}

/// A run that is kept says it like the run itself: last, and a line for a family.
#[test]
fn what_could_not_be_run_is_last_and_in_one_line_wherever_a_run_is_shown() {
    let done = Harness::new()
        .words(&["--case", "event-log,execution,control", "--case", "retry/start-over"])
        .run_human();
    let family = summed_up(&done)[1].to_owned();
    assert!(family.starts_with("UNSUPPORTED  execution (10 cases): "), "{family}");
    let call = |command: &str, words: &[&str]| done.then().words(&["latest"]).words(words).call(&[command]);
    let shown = call("show", &[]);
    let lines = summed_up(&shown);
    assert!(
        lines[0].starts_with("UNSUPPORTED  execution/event-log  ") && lines[1..] == [family.as_str()],
        "{lines:#?}"
    );
    let place = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
    assert!(
        place(&shown.stdout, &family) > place(&shown.stdout, "PASS         retry/start-over"),
        "{}",
        shown.stdout
    );
    call("report", &["--html", "page.html"]).exits(0);
    let page = std::fs::read_to_string(done.path("page.html")).unwrap();
    assert!(
        place(&page, "lease-expiry") > place(&page, "start-over"),
        "the table of the page"
    );
}

/// A reviewer has to know what was not asked for, and not to read the whole catalogue for it.
#[test]
fn what_was_not_asked_for_is_told_by_families() {
    let done = Harness::new().words(&["--case", "execution,lost-reply,04"]).run_human();
    let verified = done.then().words(&["latest"]).call(&["verify"]);
    verified.exits(0);
    let words: Vec<&str> = verified.stdout.split_whitespace().collect();
    let told = words.join(" ");
    assert!(
        told.contains(
            "anything of the 27 cases that were not asked for: all 15 of continuation; all 5 of crash; 7 of retry \
             (identical-retry, concurrent-first-use, crash-after-commit, cancelled-write, fresh-identity, reply-means-done, \
             start-over)."
        ),
        "{}",
        verified.stdout
    );
    let judged: Vec<&str> = verified
        .stdout
        .lines()
        .filter(|line| line.starts_with("judged "))
        .collect();
    assert_eq!(
        judged,
        [
            "judged    changed-input: pass",
            "judged    lost-reply: pass",
            "judged    sees-duplicates: pass",
            "judged    all 11 of execution: unsupported",
        ]
    );
    let json = done.verify(&done.latest()).json;
    assert_eq!(
        json["about"]["not_tested"].as_array().unwrap().len(),
        27,
        "all of them, by name"
    );
}
