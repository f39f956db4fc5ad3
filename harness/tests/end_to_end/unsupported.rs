//! What a target lacks is summed up: a line for a whole family, a line for each surface else, and a line of its own for a case
//! that was named.

use crate::support::profile::Profile;
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
