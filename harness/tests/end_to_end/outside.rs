//! Launchers that do not own the server: a kill of what was launched crashes nothing, so `[launch] kill` is run, or it is said.
//!
//! The servers here are no children of the harness: a broker that the test started starts them.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::broker::Broker;
use crate::support::new_mark;
use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Harness, Report};
use crate::support::running::Running;

const KILLING: [&str; 4] = ["lost-reply", "crash-after-commit", "fresh-identity", "reply-means-done"];

fn kinds(record: &[Value]) -> Vec<&str> {
    record.iter().filter_map(|event| event["kind"].as_str()).collect()
}

/// The kill reached the line and not the server, which still has its store open.
#[test]
fn without_a_kill_command_an_unknown_launcher_is_found_by_its_open_store() {
    let broker = Broker::start();
    let profile = broker.launches(Profile::plain());
    let run = Harness::new().target(&profile).case("lost-reply").run();
    run.exits(3);
    assert_eq!(
        run.verdict("sees-duplicates"),
        "pass",
        "{}",
        run.reason("sees-duplicates")
    );
    assert_eq!(run.verdict("lost-reply"), "inconclusive");
    let reason = run.reason("lost-reply");
    for part in [
        "the store is still open in process",
        "plain-server",
        "add `[launch] kill`",
    ] {
        assert!(reason.contains(part), "{part} is not in {reason}");
    }
    broker.has_servers(1);
    assert_eq!(run.done.verify(&run.evidence()).code, 0);
}

#[test]
fn with_it_a_guarded_server_passes_everything_and_nothing_is_left() {
    let broker = Broker::start();
    let profile = broker.launches_and_kills(Profile::with_status());
    let run = Harness::new().target(&profile).run();
    run.exits(0);
    assert_eq!(run.json["totals"]["pass"], 6, "{}", run.done.stdout);
    for case in KILLING {
        let record = run.record(case);
        let kills: Vec<&Value> = record
            .iter()
            .filter(|event| event["kind"] == "kill-command-run")
            .collect();
        assert_eq!(kills.len(), 1, "{case}: one kill, and the other server ended by itself");
        assert_eq!(
            (&kills[0]["code"], &kills[0]["trouble"]),
            (&Value::from(0), &Value::Null)
        );
        let started = record.iter().find(|event| event["kind"] == "process-started").unwrap();
        assert_eq!(started["command"][3], kills[0]["command"][3], "the same name in both");
    }
    broker.has_servers(0);
    assert_eq!(run.done.verify(&run.evidence()).code, 0);
    let shown = run.done.then().words(&["latest", "lost-reply"]).call(&["show"]);
    assert!(shown.stdout.contains("kill command run: "), "{}", shown.stdout);
}

#[test]
fn with_it_an_unguarded_server_is_found_with_both_rows() {
    let broker = Broker::start();
    let profile = broker.launches_and_kills(Profile::without_promise().flags("--dedupe none"));
    let run = Harness::new().target(&profile).case("lost-reply").run();
    run.exits(1);
    assert_eq!(run.verdict("lost-reply"), "unguarded", "{}", run.reason("lost-reply"));
    assert_eq!(run.fact("lost-reply", "/end/effects/A"), 2);
}

/// A server that never wrote what it confirmed is crashed for real: an end in order would have let it commit.
#[test]
fn the_kill_command_is_a_crash_and_no_end_in_order() {
    let broker = Broker::start();
    let profile = broker.launches_and_kills(Profile::plain().misbehave("asynchronous-write"));
    let run = Harness::new().target(&profile).case("reply-means-done").run();
    run.exits(1);
    assert_eq!(run.check("reply-means-done", "effect-is-there"), "broken");
}

#[test]
fn a_kill_command_that_fails_is_inconclusive_with_command_code_and_last_words() {
    let broker = Broker::start();
    let program = plain_server().display().to_string();
    let fails = |words: &[String], parts: &[&str]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let profile = broker.launches(Profile::plain().kill(&words));
        for case in ["lost-reply", "reply-means-done"] {
            let run = Harness::new().target(&profile).case(case).run();
            run.exits(3);
            assert_eq!(run.verdict(case), "inconclusive");
            for part in parts {
                assert!(run.reason(case).contains(part), "{part} is not in {}", run.reason(case));
            }
            assert!(kinds(&run.record(case)).contains(&"kill-command-run"));
        }
    };
    let wrong_name = broker.kill(&program, "x-{launch}");
    fails(
        &wrong_name,
        &["--kill-through", "exited with code 1", "no such server: x-"],
    );
    fails(&["no-such-program".to_owned()], &["`no-such-program` could not be run"]);
}

/// The server never answers, so the case is over with the server alive.
#[test]
fn a_server_that_is_alive_at_the_end_of_its_case_is_killed_too() {
    let broker = Broker::start();
    let profile = broker.launches_and_kills(Profile::plain().misbehave_in("lost-reply", "never-answer"));
    let run = Harness::new()
        .target(&profile)
        .case("lost-reply")
        .words(&["--timeout", "3"])
        .run();
    run.exits(3);
    assert!(run.reason("lost-reply").contains("no answer to the handshake"));
    assert!(kinds(&run.record("lost-reply")).contains(&"kill-command-run"));
    broker.has_servers(0);
}

#[test]
fn an_interrupt_leaves_no_server_behind() {
    let broker = Broker::start();
    let mark = new_mark();
    let profile = Profile::plain().misbehave_in("identical-retry", "never-answer-writes");
    let profile = broker.launches_and_kills(profile).mark(&mark);
    let running = Running::start(Harness::new().target(&profile).case("identical-retry"), &mark);
    running.await_event("cases/identical-retry", |event| {
        event["direction"] == "client-to-server" && event["payload"]["method"] == "tools/call"
    });
    broker.has_servers(1);
    running.signal_group(Signal::INT);
    running.end().exits(130);
    broker.has_servers(0);
}

/// A folder first on the path, in which the plain server is called `docker`.
fn with_docker(harness: Harness) -> Harness {
    let bin = harness.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(plain_server(), bin.join("docker")).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    harness.env("PATH", &format!("{}:{path}", bin.display()))
}

fn docker_run(broker: &Broker, words: &[&str]) -> Report {
    let launcher = broker.launcher("docker");
    let profile = Profile::with_status().launcher(&launcher.iter().map(String::as_str).collect::<Vec<_>>());
    with_docker(Harness::new()).target(&profile).words(words).run()
}

#[test]
fn a_known_launcher_is_refused_before_anything_is_written_and_other_cases_run() {
    let broker = Broker::start();
    let run = docker_run(&broker, &[]);
    run.exits(3);
    for case in KILLING {
        assert_eq!(run.verdict(case), "inconclusive");
        let reason = run.reason(case);
        let advice = "`docker` starts the server and does not own it";
        let line = "`[launch] kill = [\"docker\", \"kill\", \"mcp-{launch}\"]`";
        assert!(reason.contains(advice) && reason.contains(line), "{reason}");
        assert_eq!(kinds(&run.record(case)), ["case-planned", "case-ended"]);
    }
    for case in ["identical-retry", "changed-input"] {
        assert_eq!(run.verdict(case), "pass", "{}", run.reason(case));
    }
    broker.has_servers(0);
}

#[test]
fn a_known_launcher_with_a_kill_command_as_a_flag_is_like_any_other() {
    let broker = Broker::start();
    let kill = broker.kill("docker", "{launch}").join(" ");
    let run = docker_run(&broker, &["--kill", &kill, "--case", "lost-reply"]);
    run.exits(0);
    assert_eq!(run.verdict("lost-reply"), "pass");
    let repeat = run.case("lost-reply")["repeat"].as_str().unwrap();
    assert!(repeat.contains("--kill 'docker --kill-through"), "{repeat}");
    broker.has_servers(0);
}

#[test]
fn a_kill_command_is_checked_and_shown_before_anything_is_started() {
    let refused = |profile: &Profile, part: &str| {
        let done = Harness::new().target(profile).run_human();
        done.exits(2).wrote_nothing();
        assert!(done.stderr.contains(part), "{part} is not in {}", done.stderr);
    };
    refused(&Profile::plain().kill(&[]), "launch.kill: it is empty");
    refused(
        &Profile::plain().kill(&["docker", "kill", "{lunch}"]),
        "launch.kill: unknown placeholder `{lunch}`",
    );
    refused(
        &Profile::plain().part("store", "kind = \"sqlite\"\npath = \"{data}/{launch}.sqlite3\""),
        "store.path: unknown placeholder `{launch}`",
    );
    let done = Harness::new().words(&["--kill", " ", "--", "docker"]).run_human();
    done.exits(2).wrote_nothing();
    let profile = Profile::plain().kill(&["podman", "kill", "mcp-{launch}"]);
    let done = Harness::new().target(&profile).words(&["--dry-run"]).run_human();
    done.exits(0).wrote_nothing();
    assert!(done.stdout.contains("podman kill mcp-"), "{}", done.stdout);
    let profile = Profile::plain().launcher(&["docker", "run", "-i", "image"]);
    let done = Harness::new().target(&profile).words(&["--dry-run"]).run_human();
    assert!(done.stdout.contains("does not own it"), "{}", done.stdout);
}
