//! Whoever is killed in the middle of a run: no server survives, and the evidence so far can be read.
//!
//! The server blocks in the middle of a case, because it never answers a write; that it has come so far stands in the
//! record. So nothing here depends on how long anything takes.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, record};
use crate::support::running::Running;
use crate::support::{await_marked, new_mark};

/// Guard, run, the server of the case, and the child that it left in a session of its own: the server itself would end
/// with its standard input, the child has to be ended.
const PROCESSES: usize = 4;

/// A run that hangs in `identical-retry`, after its control has passed.
pub(super) fn hanging() -> Running {
    hanging_among("identical-retry,lost-reply")
}

/// The same with these cases asked for.
fn hanging_among(cases: &str) -> Running {
    let mark = new_mark();
    let profile = Profile::plain()
        .misbehave_in("identical-retry", "never-answer-writes,fork-child")
        .mark(&mark);
    let harness = Harness::new().target(&profile).case(cases).words(&["--jobs", "1"]);
    let running = Running::start(harness, &mark);
    running.await_event("cases/identical-retry", is_write);
    await_marked(&mark, PROCESSES);
    running
}

fn is_write(event: &Value) -> bool {
    event["direction"] == "client-to-server" && event["payload"]["method"] == "tools/call"
}

/// What was written until then can be read, line by line, and `verify` calls it incomplete and not false.
fn is_readable_and_incomplete(done: &Done) {
    let evidence = done.latest();
    let control = record(&evidence.join("cases/sees-duplicates"));
    assert_eq!(control.last().unwrap()["kind"], "case-ended");
    let cut_off = record(&evidence.join("cases/identical-retry"));
    assert!(cut_off.iter().any(is_write));
    for (index, event) in cut_off.iter().enumerate() {
        assert_eq!(event["seq"], index + 1);
    }
    let run: Value = serde_json::from_slice(&std::fs::read(evidence.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["verdicts"]["sees-duplicates"]["verdict"], "pass");
    let verified = done.verify(&evidence);
    assert_eq!(verified.findings(), [""; 0]);
    assert_eq!(verified.code, 3, "{verified:?}");
    assert_eq!(verified.json["sealed"], false);
    assert_eq!(verified.json["finished"], false);
    assert_eq!(verified.json["judged"], json!({"sees-duplicates": "pass"}));
    assert_eq!(verified.json["not_finished"], json!(["identical-retry"]));
    let told = done.then().words(&["latest"]).call(&["verify"]).stdout;
    let line = "unfinished identical-retry: the run was cut off in it, so it has no verdict\n";
    assert!(
        told.contains(line) && !told.contains("identical-retry: inconclusive"),
        "{told}"
    );
    let required = ["latest", "--require", "identical-retry"];
    let required = done.then().words(&required).call(&["verify"]).stdout;
    assert!(
        required.contains("identical-retry is required to pass, and was not finished\n"),
        "{required}"
    );
}

#[test]
fn the_guard_is_killed() {
    let running = hanging();
    running.signal(running.guard(), Signal::KILL);
    let done = running.end();
    done.exits(1009);
    is_readable_and_incomplete(&done);
}

#[test]
fn the_run_is_killed() {
    let running = hanging();
    running.signal(running.run(), Signal::KILL);
    let done = running.end();
    done.exits(137);
    is_readable_and_incomplete(&done);
}

#[test]
fn the_process_group_is_killed() {
    let running = hanging();
    running.signal_group(Signal::KILL);
    let done = running.end();
    done.exits(1009);
    is_readable_and_incomplete(&done);
}

/// An interrupt ends the run in order: what was done is judged, and sealed as interrupted.
#[test]
fn an_interrupt_seals_what_was_done() {
    let running = hanging();
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    assert!(done.stderr.contains("interrupted"), "{}", done.stderr);
    let again = "\nto run it again: harness run --case identical-retry,lost-reply --jobs 1 --target profile.toml\n";
    assert!(done.stderr.contains(again), "{}", done.stderr);
    let evidence = done.latest();
    assert!(evidence.join("SHA256SUMS").is_file());
    let run: Value = serde_json::from_slice(&std::fs::read(evidence.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["state"], "interrupted");
    assert_eq!(run["executed"], json!(["sees-duplicates", "identical-retry"]));
    assert_eq!(run["verdicts"]["identical-retry"]["verdict"], "inconclusive");
    let ended = record(&evidence.join("cases/identical-retry")).pop().unwrap();
    assert_eq!(ended["outcome"]["how"], "interrupted");

    let verified = done.verify(&evidence);
    assert_eq!(verified.findings(), [""; 0]);
    assert_eq!(verified.code, 3, "{verified:?}");
    let printed = done.then().words(&[&evidence.display().to_string()]).call(&["verify"]);
    assert!(printed.stdout.contains("interrupted"), "{}", printed.stdout);
    assert!(!printed.stdout.contains("there is no SHA256SUMS"), "{}", printed.stdout);

    std::fs::write(evidence.join("cases/identical-retry/verdict.json"), "{}").unwrap();
    assert_eq!(done.verify(&evidence).code, 1, "sealed, so a change is found");
}

/// The case that it was in, and the one that it did not come to.
#[test]
fn an_interrupt_names_what_is_left_and_the_command_for_it() {
    let running = hanging_among("sees-duplicates,identical-retry,lost-reply");
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    assert!(done.stdout.contains("\nnot begun lost-reply\n"), "{}", done.stdout);
    let left = "\nto run what is left: harness run --case identical-retry,lost-reply --jobs 1 --target profile.toml\n";
    assert!(done.stderr.contains(left), "{}", done.stderr);
}

/// The run has no time to say anything any more: the guard says where it is, and how it is run again.
#[test]
fn a_second_interrupt_says_where_it_is_and_how_to_go_on() {
    let mark = new_mark();
    // It hangs once it is to hang, so the run that was interrupted once waits for it.
    let kill = "test -e hang || exit 0; touch hangs; exec sleep 600";
    let harness = Harness::new();
    let kill = format!("cd '{}'; {kill}", harness.path(".").display());
    let profile = Profile::plain()
        .misbehave_in("identical-retry", "never-answer-writes")
        .kill(&["sh", "-c", &kill])
        .mark(&mark);
    let hangs = harness.path("hangs");
    let hang = harness.path("hang");
    let harness = harness.target(&profile).case("identical-retry");
    let running = Running::start(harness.words(&["--jobs", "1"]), &mark);
    running.await_event("cases/identical-retry", is_write);
    std::fs::write(hang, "").unwrap();
    running.signal_group(Signal::INT);
    running.await_file(&hangs);
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    let evidence = format!("evidence/runs/{}", done.latest().file_name().unwrap().display());
    let said = format!(
        "interrupted twice, so it was cut short; the evidence holds what was done until then, and is not sealed\n\
         it is in {evidence}; harness show {evidence} shows it\n\
         to run it again: harness run --case identical-retry --jobs 1 --target "
    );
    assert!(done.stderr.contains(&said), "{}", done.stderr);
}

#[test]
fn an_interrupt_while_the_target_is_probed_leaves_nothing() {
    let mark = new_mark();
    let profile = Profile::plain().misbehave("never-answer").mark(&mark);
    let running = Running::start(Harness::new().target(&profile), &mark);
    running.await_event("probe", |event| event["direction"] == "client-to-server");
    running.signal(running.guard(), Signal::TERM);
    let done = running.end();
    done.exits(130);
    let verified = done.verify(&done.latest());
    assert_eq!(verified.findings(), [""; 0]);
    assert_eq!(verified.code, 3);
}

/// The search for the effect is a part of the run: who stops it there has stopped the run, and nothing was found wanting.
#[test]
fn an_interrupt_while_the_effect_is_looked_for_is_an_interrupt() {
    let mark = new_mark();
    let server = crate::support::profile::plain_server().display().to_string();
    let harness = Harness::new()
        .words(&[
            "--write",
            "create_order={\"note\":\"{marker}\",\"qty\":1}",
            "--store",
            "{data}/o.sqlite3",
        ])
        .words(&["-e", &format!("{}={mark}", crate::support::MARK_VARIABLE)])
        .server(&[
            &server,
            "--database",
            "{data}/o.sqlite3",
            "--misbehave",
            "never-answer-writes",
        ]);
    let running = Running::start(harness, &mark);
    running.await_event("calibration", is_write);
    running.signal_group(Signal::INT);
    let done = running.end();
    done.exits(130);
    let run: Value = serde_json::from_slice(&std::fs::read(done.latest().join("run.json")).unwrap()).unwrap();
    assert_eq!(run["state"], "interrupted");
    assert_eq!(run["did_not_start"], Value::Null);
    assert_eq!(done.verify(&done.latest()).code, 3);
}
