//! One server in each revision of MCP that it speaks, and servers that do not speak the one that is wanted.

use serde_json::{Value, json};

use crate::support::forge::change;
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report, record};

const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const MODERN: &str = "2026-07-28";

fn on(profile: &Profile, revision: &str, case: &str) -> Harness {
    Harness::new()
        .target(profile)
        .words(&["--protocol", revision])
        .case(case)
}

/// The frames that were sent to the server, or came from it.
fn frames(events: Vec<Value>, direction: &str) -> Vec<Value> {
    let of_direction = events.into_iter().filter(|event| event["direction"] == direction);
    of_direction.map(|event| event["payload"].clone()).collect()
}

fn sent_by_the_probe(done: &Done) -> Vec<Value> {
    frames(record(&done.latest().join("probe")), "client-to-server")
}

fn methods(sent: &[Value]) -> Vec<&str> {
    sent.iter().filter_map(|frame| frame["method"].as_str()).collect()
}

fn run_json(done: &Done) -> Value {
    serde_json::from_str(&std::fs::read_to_string(done.latest().join("run.json")).unwrap()).unwrap()
}

#[test]
fn one_server_passes_in_every_revision() {
    for revision in LEGACY.into_iter().chain([MODERN]) {
        let run = on(&Profile::plain(), revision, "identical-retry,lost-reply").run();
        run.exits(0);
        assert_eq!(run.json["target"]["protocol"], revision);
        assert_eq!(run.json["target"]["server"]["protocol"], revision);
        assert_eq!(run_json(&run.done)["target"]["protocol"], revision);
        let verified = run.done.verify(&run.evidence());
        assert_eq!(verified.code, 0, "{revision}: {:?}", verified.findings());
        for case in ["identical-retry", "lost-reply"] {
            assert_eq!(run.verdict(case), "pass", "{revision}: {}", run.reason(case));
            let repeat = run.case(case)["repeat"].as_str().unwrap();
            assert!(repeat.contains(&format!(" --protocol {revision} ")), "{repeat}");
            only_this_is_spoken(&run, case, revision);
        }
        let first = sent_by_the_probe(&run.done)[0]["method"].clone();
        assert_eq!(
            first,
            if revision == MODERN {
                "server/discover"
            } else {
                "initialize"
            }
        );
    }
}

/// Every process of the case is asked for this revision, and results have the form of it.
fn only_this_is_spoken(run: &Report, case: &str, revision: &str) {
    let sent = frames(run.record(case), "client-to-server");
    let starts = run.record(case);
    let starts = starts.iter().filter(|event| event["kind"] == "process-started").count();
    let asked: Vec<&Value> = sent.iter().filter(|frame| frame["method"] == "initialize").collect();
    if revision == MODERN {
        assert!(asked.is_empty(), "{asked:?}");
        return;
    }
    assert!(!methods(&sent).contains(&"server/discover"), "{sent:?}");
    assert_eq!(asked.len(), starts);
    for frame in asked {
        assert_eq!(frame["params"]["protocolVersion"], revision);
        assert_eq!(frame["params"]["capabilities"], json!({}));
    }
    let results = frames(run.record(case), "server-to-client");
    let written: Vec<&Value> = results
        .iter()
        .filter(|frame| frame["result"]["content"].is_array())
        .collect();
    assert!(!written.is_empty());
    for frame in written {
        let is_structured = frame["result"]["structuredContent"].is_object();
        assert_eq!(is_structured, revision >= "2025-06-18", "{revision}: {frame}");
    }
}

#[test]
fn what_is_wanted_is_said_first_and_last_and_in_the_overview() {
    let done = on(&Profile::plain(), "2025-03-26", "identical-retry").run_human();
    done.exits(0);
    let title = "plain (profile.toml, contract at-most-once, MCP 2025-03-26)";
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].contains(title), "{}", lines[0]);
    assert_eq!(lines[1].trim(), "plain-server 0.1.0, MCP 2025-03-26");
    assert!(lines[lines.len() - 1].contains(title), "{}", done.stdout);
    let shown = done.then().words(&["latest"]).call(&["show"]);
    shown.exits(0);
    assert!(shown.stdout.contains(title), "{}", shown.stdout);
}

#[test]
fn without_a_wish_the_server_decides_and_none_is_recorded() {
    let older = Profile::plain().flags("--era legacy --revisions 2025-03-26");
    for words in [&[][..], &["--protocol", "auto"]] {
        let run = Harness::new().target(&older).words(words).case("identical-retry").run();
        run.exits(0);
        assert_eq!(run.json["target"]["server"]["protocol"], "2025-03-26");
        assert_eq!(run.json["target"].get("protocol"), None);
        assert_eq!(run_json(&run.done)["target"].get("protocol"), None);
        // Older evidence looks like this too.
        assert_eq!(run.done.verify(&run.evidence()).code, 0);
        let sent = sent_by_the_probe(&run.done);
        assert_eq!(methods(&sent)[..2], ["server/discover", "initialize"]);
        assert_eq!(sent[1]["params"]["protocolVersion"], "2025-11-25");
    }
}

/// The revision decides which sentence a check cites, and stands on every page about the run.
#[test]
fn a_revision_that_the_probe_did_not_come_to_is_found() {
    for (revision, other) in [(LEGACY[2], LEGACY[0]), (LEGACY[0], MODERN), (MODERN, LEGACY[0])] {
        let run = on(&Profile::plain(), revision, "identical-retry").run();
        run.exits(0);
        let root = run.evidence();
        change(&root, "run.json", |run| run["server"]["protocol"] = json!(other));
        let told = format!(
            "run.json: it says that the server speaks {other:?}, and by the frames of the probe it speaks {revision:?}"
        );
        let verified = run.done.verify(&root);
        assert_eq!((verified.findings(), verified.code), (vec![told.as_str()], 1));
    }
}

/// The run ends with this reason, and no case was run.
#[track_caller]
fn did_not_start(run: &Report, reason: &str, hint: &str) {
    run.exits(3);
    assert_eq!(run.json["did_not_start"], reason);
    let said = run.json["hint"].as_str().unwrap();
    assert!(said.contains(hint), "{said}");
    assert_eq!(run.json["cases"], json!([]));
    let kept = run_json(&run.done);
    assert_eq!(kept["nothing_run"], json!({"kind": "did-not-start", "reason": reason}));
    assert_eq!(run.done.verify(&run.evidence()).code, 0);
}

/// A server may answer with another revision than it was asked for; who asked for one did not mean another.
#[test]
fn a_server_that_chooses_another_revision_is_not_tested_in_it() {
    let profile = Profile::plain().flags("--revisions 2025-11-25");
    let run = on(&profile, "2025-06-18", "lost-reply").run();
    did_not_start(
        &run,
        "it was asked for 2025-06-18 and speaks 2025-11-25",
        "--protocol auto",
    );
    // A client that turns an answer down says nothing more.
    assert_eq!(methods(&sent_by_the_probe(&run.done)), ["initialize"]);
}

#[test]
fn a_server_that_changes_its_mind_later_stops_the_case() {
    let profile = Profile::plain().misbehave_in("identical-retry", "other-revision");
    let run = on(&profile, "2025-11-25", "identical-retry").run();
    run.exits(3);
    assert_eq!(run.json["control"]["verdict"], "pass");
    let reason = run.reason("identical-retry");
    assert!(
        reason.ends_with("did not start: it was asked for 2025-11-25 and speaks 2024-11-05"),
        "{reason}"
    );
    let legacy = profile.flags("--era legacy");
    on(&legacy, "auto", "identical-retry").run().exits(0);
}

#[test]
fn a_modern_server_is_not_asked_otherwise_where_an_older_revision_is_wanted() {
    let profile = Profile::plain().flags("--era modern");
    let run = on(&profile, "2024-11-05", "lost-reply").run();
    let reason = "it was asked for 2024-11-05, and answered `initialize` with an error: unknown method initialize";
    did_not_start(&run, reason, "--protocol auto");
    assert_eq!(methods(&sent_by_the_probe(&run.done)), ["initialize"]);

    let silent = on(&profile.misbehave("never-answer"), "2024-11-05", "lost-reply").words(&["--timeout", "1"]);
    let reason = "it was asked for 2024-11-05, and did not answer `initialize` within 1000 ms";
    did_not_start(&silent.run(), reason, "flush its standard output");
}

#[test]
fn a_legacy_server_gets_no_handshake_where_the_modern_revision_is_wanted() {
    let asked = "it was asked for 2026-07-28, and";
    let table = [
        (
            None,
            format!("{asked} answered `server/discover` with an error: unknown method server/discover"),
        ),
        (
            Some("never-answer"),
            format!("{asked} did not answer `server/discover` within 1000 ms"),
        ),
        (
            Some("exit-on-discover"),
            "it exited with code 1 before it answered `server/discover`".to_owned(),
        ),
    ];
    for (trouble, reason) in table {
        let mut profile = Profile::plain().flags("--era legacy");
        if let Some(kind) = trouble {
            profile = profile.misbehave(kind);
        }
        let run = on(&profile, MODERN, "lost-reply").words(&["--timeout", "1"]).run();
        did_not_start(
            &run,
            &reason,
            "--protocol auto finds out what the server speaks; older revisions",
        );
        assert_eq!(methods(&sent_by_the_probe(&run.done)), ["server/discover"]);
    }
}

/// It writes in the modern era only; what it answers to the others is seen all the same.
#[test]
fn the_built_in_server_is_started_in_each_revision_that_it_speaks() {
    for (revision, verdict) in [
        (MODERN, "pass"),
        ("2025-11-25", "inconclusive"),
        ("2025-06-18", "inconclusive"),
    ] {
        let run = Harness::new().words(&["--protocol", revision]).case("lost-reply").run();
        assert_eq!(run.json["target"]["server"]["protocol"], revision);
        assert_eq!(
            run.verdict("sees-duplicates"),
            verdict,
            "{}",
            run.reason("sees-duplicates")
        );
    }
    let older = Harness::new()
        .words(&["--protocol", "2024-11-05"])
        .case("lost-reply")
        .run();
    did_not_start(
        &older,
        "it was asked for 2024-11-05 and speaks 2025-11-25",
        "--protocol auto",
    );
}

/// A submitted write needs no second round, so nothing of the family is out of reach for the older revisions.
#[test]
fn a_submitted_write_is_retried_in_each_revision_that_the_built_in_server_speaks() {
    for revision in [MODERN, "2025-11-25", "2025-06-18"] {
        // Whether two writes are inside at once is the machine's affair, and the same in every revision.
        let aside = ["--skip", "concurrent-first-use"];
        let words = ["--target", "reference-execution", "--protocol", revision];
        let run = Harness::new().words(&words).words(&aside).case("retry").run();
        run.exits(0);
        assert_eq!(run.json["target"]["server"]["protocol"], revision);
        let cases = run.json["cases"].as_array().unwrap();
        let retried: Vec<&Value> = cases.iter().filter(|case| case["family"] == "retry").collect();
        assert_eq!(retried.len(), 8, "{revision}: {cases:?}");
        for case in retried {
            assert_eq!(case["verdict"], "pass", "{revision}: {case}");
            let notes = case["notes"].as_array().unwrap();
            let is_of_continuations = case["case"] == "start-over";
            assert_eq!(notes.len(), usize::from(is_of_continuations), "{revision}: {case}");
        }
        let note = run.case("start-over")["notes"][0].as_str().unwrap();
        assert!(
            note.starts_with("as-a-conflict: not asked of this target") && note.contains("so there is no second round"),
            "{note}"
        );
        for case in ["lost-reply", "crash-after-commit"] {
            assert_eq!(run.check(case, "status-holds-the-result"), "held", "{revision}");
        }
        assert_eq!(run.done.verify(&run.evidence()).code, 0, "{revision}");
    }
}

fn with_key(value: &str) -> String {
    Profile::plain()
        .text()
        .replacen("format = 1", &format!("format = 1\nprotocol = \"{value}\""), 1)
}

#[test]
fn a_profile_names_the_revision_and_the_flag_wins() {
    let spoken = |words: &[&str]| {
        let harness = Harness::new().file("target.toml", &with_key("2025-06-18"));
        let run = harness.words(words).case("identical-retry").run();
        run.exits(0);
        run.json["target"]["server"]["protocol"].clone()
    };
    assert_eq!(spoken(&[]), "2025-06-18");
    assert_eq!(spoken(&["--protocol", "2025-03-26"]), "2025-03-26");
    assert_eq!(spoken(&["--protocol", "auto"]), MODERN);
}

#[test]
fn no_other_revision_can_be_wanted() {
    let done = Harness::new()
        .file("target.toml", &with_key("2025-06-19"))
        .case("identical-retry")
        .run_human();
    let place = "target.toml:2:12: unknown value `2025-06-19`; did you mean `2025-06-18`?";
    done.exits(2).says_only(&[place]).wrote_nothing();
    for command in ["run", "prove"] {
        let done = Harness::new().words(&["--protocol", "2025-06-19"]).call(&[command]);
        done.exits(2).wrote_nothing();
        for name in LEGACY.into_iter().chain([MODERN, "auto"]) {
            assert!(done.stderr.contains(name), "{}", done.stderr);
        }
    }
}

#[test]
fn a_dry_run_shows_it() {
    let dry = |words: &[&str]| {
        let harness = Harness::new().target(&Profile::asking()).case("lost-reply");
        harness.words(&["--dry-run"]).words(words)
    };
    let protocol = |words: &[&str]| {
        let done = dry(words).run_human();
        let line = done.stdout.lines().find(|line| line.starts_with("protocol"));
        line.unwrap_or_default().to_owned()
    };
    assert!(protocol(&[]).contains("2026-07-28 where the server answers `server/discover`"));
    assert!(protocol(&["--protocol", MODERN]).contains("2026-07-28 only, without `initialize`"));
    let older = protocol(&["--protocol", "2025-06-18"]);
    assert!(older.contains("2025-06-18 only, asked for in `initialize`"), "{older}");
    let json = |words: &[&str]| {
        let done = dry(words).words(&["--format", "json"]).run_human();
        serde_json::from_str::<Value>(&done.stdout).unwrap()
    };
    assert_eq!(json(&[])["protocol"], "auto");
    let older = json(&["--protocol", "2025-06-18"]);
    assert_eq!(older["protocol"], "2025-06-18");
    // The plan is the one that will be run: a legacy request has no second round.
    let surfaces = |dry: &Value| dry["plans"][0]["surfaces"].to_string();
    assert!(surfaces(&json(&[])).contains("write.continuation"));
    assert!(!surfaces(&older).contains("write.continuation"), "{}", surfaces(&older));
}

/// Elicitation came with 2025-06-18: before, it is neither declared nor known.
#[test]
fn answers_are_offered_only_in_revisions_that_have_questions() {
    let profile = Profile::asking().misbehave("ask-undeclared");
    for revision in LEGACY {
        let run = on(&profile, revision, "identical-retry").run();
        let sent = frames(run.record("sees-duplicates"), "client-to-server");
        let declared = &sent[0]["params"]["capabilities"];
        let answer = sent.iter().find(|frame| frame.get("method").is_none()).unwrap();
        if revision >= "2025-06-18" {
            run.exits(0);
            assert_eq!(*declared, json!({"elicitation": {}}));
            assert_eq!(answer["result"]["action"], "accept");
        } else {
            run.exits(3);
            assert_eq!(*declared, json!({}));
            assert_eq!(answer["error"]["code"], -32601);
            let reason = run.reason("sees-duplicates");
            assert!(
                reason.contains("has no elicitation, which came with 2025-06-18"),
                "{reason}"
            );
        }
    }
}

/// Batches are messages in one revision, and stray output in every other.
#[test]
fn a_batch_is_a_message_in_one_revision_only() {
    let profile = Profile::plain().misbehave("batch-before-reply");
    for revision in LEGACY.into_iter().chain([MODERN]) {
        let run = on(&profile, revision, "lost-reply").run();
        run.exits(0);
        let warnings = run.case("lost-reply")["warnings"].to_string();
        let is_warned = warnings.contains("lines that are no MCP messages");
        assert_eq!(is_warned, revision != "2025-03-26", "{revision}: {warnings}");
    }
}

#[test]
fn a_proof_speaks_it_too() {
    let words = ["--case", "identical-retry", "--defect", "no-ledger", "--format", "json"];
    let done = Harness::new()
        .words(&words)
        .words(&["--protocol", "2025-11-25"])
        .call(&["prove"]);
    // In that revision the built-in server does not write, so there is nothing to prove on.
    done.exits(1);
    let proof: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        proof["target"],
        "reference-server (built in, contract guarded, MCP 2025-11-25)"
    );
}

/// Who is held to a sentence finds it in the revision that was spoken, and held or broken alike.
#[test]
fn a_sentence_is_quoted_from_the_revision_that_was_spoken() {
    let modern = "basic/patterns/cancellation: \"Servers receiving";
    let legacy = "basic/utilities/cancellation: \"Receivers of";
    for (revision, page) in [("2026-07-28", modern), ("2025-06-18", legacy), ("2024-11-05", legacy)] {
        let harness = Harness::new().target(&Profile::plain()).case("cancelled-write");
        let run = harness.words(&["--protocol", revision]).run();
        run.exits(0);
        let checks = run.case("cancelled-write")["checks"].as_array().unwrap();
        let check = checks
            .iter()
            .find(|check| check["id"] == "cancelled-is-not-answered")
            .unwrap();
        let quoted = format!("MCP {revision}, {page}");
        let whose = check["whose"].as_str().unwrap();
        assert!(whose.starts_with(&quoted), "{whose}");
        let html = run.done.then().call(&["report", "latest", "--html", "-"]).stdout;
        assert!(
            html.contains(&quoted.replace('"', "&quot;")) || html.contains(&quoted),
            "{revision}"
        );
        assert_eq!(run.done.verify(&run.evidence()).code, 0);
    }
}
