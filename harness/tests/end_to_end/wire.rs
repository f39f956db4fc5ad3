//! Both eras, frames that are none, and servers that die, restart badly or never answer.

use crate::support::profile::Profile;
use crate::support::run::{Harness, Report};
use crate::support::running::Running;
use rustix::process::Signal;

use crate::support::{MARK_VARIABLE, await_marked, new_mark};

/// The harness keeps at most 16 MiB of a line, and then takes 36 MiB in all; with the whole line it took 70.
const RESIDENT_KIB_MAX: u64 = 56 * 1024;

fn run_on(profile: &Profile, case: &str) -> Report {
    Harness::new().target(profile).case(case).run()
}

#[test]
fn a_modern_server_is_asked_for_no_handshake() {
    let run = run_on(&Profile::plain().flags("--era modern"), "lost-reply");
    run.exits(0);
    assert_eq!(run.json["target"]["server"]["protocol"], "2026-07-28");
    assert!(!methods(&run, "lost-reply").contains(&"initialize".to_owned()));
}

#[test]
fn a_legacy_server_gets_its_handshake_in_every_process() {
    for trouble in [None, Some("exit-on-discover")] {
        let mut profile = Profile::plain().flags("--era legacy");
        if let Some(kind) = trouble {
            profile = profile.misbehave(kind);
        }
        let run = run_on(&profile, "lost-reply");
        run.exits(0);
        assert_eq!(run.json["target"]["server"]["protocol"], "2025-11-25");
        let methods = methods(&run, "lost-reply");
        let count = |name: &str| methods.iter().filter(|method| *method == name).count();
        assert_eq!(count("initialize"), 2, "{methods:?}");
        assert_eq!(count("notifications/initialized"), 2, "{methods:?}");
        assert_eq!(count("server/discover"), 0, "{methods:?}");
    }
}

/// The methods of the frames that the harness sent.
fn methods(run: &Report, case: &str) -> Vec<String> {
    let sent = run
        .record(case)
        .into_iter()
        .filter(|event| event["direction"] == "client-to-server");
    sent.map(|event| event["payload"]["method"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Nothing but one tool of one round, in the era that most servers speak.
#[test]
fn a_profile_with_nothing_but_a_write_and_a_query_is_enough() {
    let profile = Profile::without_promise()
        .flags("--era legacy --dedupe none")
        .without("contract")
        .without("contract.conflict")
        .without("identity")
        .part(
            "write",
            "tool = \"create_order\"\narguments = { note = \"{marker}\", qty = 1 }",
        );
    let run = Harness::new().target(&profile).run();
    run.exits(0);
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
    assert_eq!(run.verdict("lost-reply"), "unguarded");
    assert_eq!(run.verdict("reply-means-done"), "pass");
    assert_eq!(run.verdict("changed-input"), "unsupported");
}

/// What comes beside the reply is no reply: banners, notifications, doubles, and ids of another type.
#[test]
fn frames_that_are_no_reply_change_nothing() {
    for kind in [
        "banner-on-stdout",
        "notification-before-reply",
        "reply-twice",
        "decoy-reply",
    ] {
        for era in ["modern", "legacy"] {
            let profile = Profile::with_status().flags("--era").flags(era).misbehave(kind);
            for case in ["lost-reply", "identical-retry"] {
                let run = run_on(&profile, case);
                run.exits(0);
                assert_eq!(
                    run.verdict(case),
                    "pass",
                    "{kind} in the {era} era: {}",
                    run.reason(case)
                );
                assert_eq!(run.done.verify(&run.evidence()).code, 0, "{kind}");
            }
        }
    }
}

#[test]
fn an_id_of_another_type_is_no_reply() {
    let run = run_on(
        &Profile::plain().misbehave_in("identical-retry", "wrong-id-type"),
        "identical-retry",
    );
    run.exits(3);
    assert_eq!(run.fact("identical-retry", "/attempt/outcome"), "unknown");
}

#[test]
fn a_line_of_50_mib_is_recorded_by_its_digest_and_not_held_in_memory() {
    let run = run_on(
        &Profile::plain().misbehave_in("identical-retry", "big-line"),
        "identical-retry",
    );
    run.exits(0);
    let record = run.record("identical-retry");
    let long: Vec<_> = record.iter().filter(|event| event["length"].is_u64()).collect();
    assert_eq!(long.len(), 2, "one for each write");
    assert_eq!(long[0]["length"], 50 * 1024 * 1024);
    assert!(long[0]["payload"].is_null());
    assert_eq!(long[0]["sha256"].as_str().unwrap().len(), 64);
    let folder = run.evidence().join("cases/identical-retry/record.jsonl");
    assert!(std::fs::metadata(folder).unwrap().len() < 200 * 1024);
}

/// The server sends its long line and then stays silent, so the harness can be looked at.
#[test]
fn a_line_of_50_mib_fits_into_bounded_memory() {
    let mark = new_mark();
    let profile = Profile::plain()
        .misbehave("big-line,never-answer-writes")
        .flags("--only-in /sees-duplicates/")
        .mark(&mark);
    let running = Running::start(Harness::new().target(&profile).case("identical-retry"), &mark);
    running.await_event("cases/sees-duplicates", |event| event["length"].is_u64());
    let peak = running.memory_kib("VmHWM");
    assert!(peak < RESIDENT_KIB_MAX, "{peak} KiB");
    running.signal(running.guard(), Signal::INT);
    running.end().exits(130);
}

#[test]
fn a_server_that_dies_at_the_start_gets_one_line_and_its_last_words() {
    let profile = Profile::plain().misbehave("die-at-start");
    let done = Harness::new().target(&profile).case("lost-reply").run_human();
    done.exits(3);
    let starts = done
        .stdout
        .lines()
        .filter(|line| line.starts_with("DID NOT START"))
        .count();
    assert_eq!(starts, 1, "{}", done.stdout);
    assert!(done.stdout.contains("no licence: cannot go on"), "{}", done.stdout);
    assert!(!done.stdout.contains("FAIL"), "{}", done.stdout);
    assert_eq!(done.verify(&done.latest()).code, 0);

    let run = Harness::new().target(&profile).run();
    run.exits(3);
    assert_eq!(run.json["cases"], serde_json::json!([]));
    assert!(run.json["did_not_start"].is_string());
    let words = run.json["last_words"].as_array().unwrap();
    assert_eq!(words.last().unwrap(), "no licence: cannot go on");
}

#[test]
fn a_program_that_is_not_there_did_not_start() {
    let done = Harness::new().words(&["--", "no-such-program-anywhere"]).run_human();
    done.exits(3);
    assert!(done.stdout.contains("DID NOT START"), "{}", done.stdout);
    assert!(done.stdout.contains("no-such-program-anywhere"), "{}", done.stdout);
}

#[test]
fn a_server_that_does_not_start_again_is_inconclusive_and_said() {
    let profile = Profile::plain().misbehave_in("lost-reply", "restart-fails");
    let run = run_on(&profile, "lost-reply");
    run.exits(3);
    let reason = run.reason("lost-reply");
    assert!(
        reason.contains("`second`") && reason.contains("did not start"),
        "{reason}"
    );
}

#[test]
fn a_child_that_outlives_its_server_is_ended_with_it() {
    let mark = new_mark();
    let profile = Profile::plain().misbehave("fork-child").mark(&mark);
    let run = run_on(&profile, "lost-reply");
    run.exits(0);
    await_marked(&mark, 0);
    assert_eq!(run.fact("lost-reply", "/first/survivors"), 0);
    let record = run.record("lost-reply");
    let killed: Vec<_> = record.iter().filter(|event| event["kind"] == "signalled").collect();
    assert_eq!(killed[0]["processes"], 2, "the server and its child: {killed:#?}");
    let environment = record.iter().find(|event| event["kind"] == "process-started").unwrap();
    assert!(environment["environment"].to_string().contains(MARK_VARIABLE));
}

#[test]
fn a_server_that_never_answers_did_not_start() {
    let done = Harness::new()
        .target(&Profile::plain().misbehave("never-answer"))
        .words(&["--timeout", "1"])
        .run_human();
    done.exits(3);
    assert!(
        done.stdout
            .contains("answered neither `server/discover` within 1000 ms nor `initialize` within 1000 ms"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_retry_that_is_never_answered_is_no_pass() {
    let profile = Profile::plain().misbehave_in("lost-reply", "never-answer-retry");
    let harness = Harness::new().target(&profile).words(&["--timeout", "1"]);
    let run = harness.case("lost-reply").run();
    run.exits(3);
    // The bound is ours: a slow server would look the same, and is not accused.
    let reason = run.reason("lost-reply");
    assert!(
        reason.contains("did not come within 1000 ms, which is the harness's bound"),
        "{reason}"
    );
}

/// Flags say what a server gets beside the usual list; what a file of variables holds is in no evidence.
#[test]
fn variables_of_flags_and_files_reach_the_server_and_those_of_files_are_not_told() {
    let run = |words: &[&str]| {
        let harness = Harness::new()
            .target(&Profile::plain())
            .file("vars", "# mine\nFROM_FILE=do-not-tell-4711\nBOTH=file\n")
            .env("ONLY_IN_SHELL", "1");
        let run = harness.words(words).case("reply-means-done").run();
        run.exits(0);
        run
    };
    let names = |run: &crate::support::run::Report| {
        let record = run.record("reply-means-done");
        let started = record
            .iter()
            .find(|event| event["kind"] == "process-started")
            .unwrap()
            .clone();
        started["environment"].to_string()
    };
    let given = run(&["-e", "FROM_FLAG={data}/x", "-e", "BOTH=flag", "--env-file", "vars"]);
    for name in ["FROM_FLAG", "FROM_FILE", "BOTH"] {
        assert!(names(&given).contains(name), "{name} is not in {}", names(&given));
    }
    assert!(!names(&given).contains("ONLY_IN_SHELL"));
    for file in crate::support::run::files(&given.evidence()) {
        let bytes = std::fs::read(given.evidence().join(&file)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("do-not-tell-4711"), "{file} tells it");
    }
    assert!(names(&run(&["--inherit-env"])).contains("ONLY_IN_SHELL"));
    assert!(names(&run(&["-e", "ONLY_IN_SHELL"])).contains("ONLY_IN_SHELL"));
}

#[test]
fn the_working_directory_can_be_named() {
    let harness = Harness::new().target(&Profile::plain());
    let folder = harness.path("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let run = harness.words(&["--cwd", "elsewhere"]).case("reply-means-done").run();
    let record = run.record("reply-means-done");
    let started = record.iter().find(|event| event["kind"] == "process-started").unwrap();
    assert!(started["cwd"].as_str().unwrap().ends_with("/elsewhere"), "{started}");
}

/// What `at` and `seq` mean beside each other, as the schema of the record says it: whoever sorts by the one has not the other.
#[test]
fn times_go_backwards_only_where_output_waited_to_be_taken_up() {
    // A kill takes longer than the end of the output that it brings about; helpers and a second process are told apart.
    for (case, profile) in [
        ("lost-reply", Profile::plain()),
        ("concurrent-first-use", Profile::plain()),
    ] {
        let run = run_on(&profile, case);
        run.exits(0);
        let record = run.record(case);
        let (mut own, mut read) = (0, std::collections::BTreeMap::new());
        for (index, event) in record.iter().enumerate() {
            assert_eq!(event["seq"], index as u64 + 1);
            let at = event["at"].as_u64().unwrap();
            if is_own(event) {
                assert!(own <= at, "{case}: {event}");
                own = at;
                continue;
            }
            let process = event["process"].as_str().unwrap().to_owned();
            let before = read.insert(process, at).unwrap_or(0);
            assert!(before <= at, "{case}: {event}");
            let next = record[index..].iter().find(|next| is_own(next)).unwrap();
            assert!(
                at <= next["at"].as_u64().unwrap(),
                "{case}: {event} was taken up before {next}"
            );
        }
        assert!(own > 0 && !read.is_empty());
    }
}

/// Whether an event is of the harness's own making, and not of an output that was read.
fn is_own(event: &serde_json::Value) -> bool {
    event["direction"] != "server-to-client" && event["kind"] != "stream-ended" && event["kind"] != "send-failed"
}
