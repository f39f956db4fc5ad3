//! Processes beside the server: what is wrong with a worker is told as what it is, and not as the server's doing.

use crate::support::run::{Harness, Report};

/// The profile of the built-in server with workers, as somebody would write one for a server of his own.
const OWN: &str = include_str!("../../targets/reference-execution.toml");

/// `stale-fencing` with workers that a shell runs: `$0` and what follows are the words of the real one.
fn with_worker(script: &str) -> Report {
    let real = "[processes.worker]\ncommand = [\n    ";
    let shell = format!("[processes.worker]\ncommand = [\n    \"sh\", \"-c\", {script:?}, ");
    let profile = OWN.replace(real, &shell);
    assert_ne!(profile, OWN);
    Harness::new()
        .file("own.toml", &profile.replace("{harness}", env!("CARGO_BIN_EXE_harness")))
        .words(&["--target", "own.toml", "--case", "stale-fencing"])
        .run()
}

#[track_caller]
fn is_verified(run: &Report) {
    let verified = run.done.verify(&run.evidence());
    assert_eq!((verified.findings(), verified.code), (vec![], 0));
}

#[test]
fn a_worker_that_dies_at_its_start_is_told_with_its_end_and_its_last_words() {
    for (script, told) in [
        (
            "echo no licence for a worker >&2; exit 7",
            "; the worker `first` exited with code 7 before anybody told it to; its last words: no licence for a worker; the worker \
             `second` exited with code 7",
        ),
        (
            "echo out of everything >&2; kill -SEGV $$",
            "; signal 11 ended the worker `first` before anybody told it to; its last words: out of everything; signal 11",
        ),
    ] {
        let run = with_worker(script);
        run.exits(3);
        let reason = run.reason("stale-fencing");
        assert!(reason.starts_with("overtaken: ") && reason.contains(told), "{reason}");
        is_verified(&run);
    }
}

#[test]
fn a_worker_that_does_not_end_is_warned_of_by_its_name() {
    // The real worker is a child of a shell that hears no SIGTERM.
    let run = with_worker("trap '' TERM; \"$0\" \"$@\"");
    let warnings = run.case("stale-fencing")["warnings"].to_string();
    let told = "the worker `first`: its exit after SIGTERM did not come within ";
    assert!(
        warnings.contains(told) && !warnings.contains("the server"),
        "{warnings}"
    );
    is_verified(&run);
}

/// A worker speaks no MCP, so its standard output is its own.
#[test]
fn what_a_worker_prints_is_no_stray_message() {
    let run = with_worker("echo ready; exec \"$0\" \"$@\"");
    run.exits(0);
    assert_eq!(run.verdict("stale-fencing"), "pass");
    assert_eq!(run.case("stale-fencing")["warnings"].to_string(), "[]");
    is_verified(&run);
}
