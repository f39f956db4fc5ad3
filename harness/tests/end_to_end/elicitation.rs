//! A server of the legacy era that asks for input inside the call: the write has two rounds, and the last one begins with
//! our answer. What else it asks is answered or refused by rule.

use serde_json::{Value, json};

use crate::support::profile::Profile;
use crate::support::run::{Harness, Report};

const RETRY: [&str; 5] = [
    "lost-reply",
    "identical-retry",
    "fresh-identity",
    "reply-means-done",
    "changed-input",
];

fn run_on(profile: &Profile, case: &str) -> Report {
    Harness::new().target(profile).case(case).run()
}

fn passes_everything(profile: &Profile) -> Report {
    let run = Harness::new().target(profile).run();
    run.exits(0);
    assert_eq!(run.json["control"]["counts"], json!([0, 1, 2]));
    for case in RETRY {
        assert_eq!(run.verdict(case), "pass", "{case}: {}", run.reason(case));
    }
    let verified = run.done.verify(&run.evidence());
    assert_eq!(verified.code, 0, "{:?} {}", verified.findings(), verified.stderr);
    run
}

/// The frames in one direction, each with the number of its event.
fn frames(run: &Report, case: &str, direction: &str) -> Vec<(u64, Value)> {
    let events = run.record(case).into_iter();
    let of_direction = events.filter(|event| event["direction"] == direction);
    of_direction
        .map(|event| (event["seq"].as_u64().unwrap(), event["payload"].clone()))
        .collect()
}

/// What the harness answered to requests of the server.
fn answers(run: &Report, case: &str) -> Vec<(u64, Value)> {
    let sent = frames(run, case, "client-to-server").into_iter();
    sent.filter(|(_, frame)| frame.get("method").is_none()).collect()
}

#[test]
fn a_guarded_server_that_asks_inside_the_call_passes_everything() {
    let run = passes_everything(&Profile::asking());
    let fact = |pointer: &str| run.fact("lost-reply", pointer);
    assert_eq!(fact("/attempt/input_required"), true);
    assert_eq!(fact("/attempt/asked_inside"), 1);
    assert_eq!(fact("/attempt/rounds"), 2);
    assert_eq!(fact("/attempt/outcome"), "unknown");
    assert_eq!(fact("/attempt/last_round/delivered_bytes"), 0);
    assert_eq!(fact("/attempt/withheld/outcome"), "result");
    assert_eq!(fact("/retry/repeats_exactly"), true);
    assert_eq!(fact("/retry/asked_inside"), 1);
    assert_eq!(fact("/recovery/after/status"), "return-stored-result");
    assert_eq!(run.fact("changed-input", "/changed/refusal"), "conflict");
}

/// The moment of the fault begins with the answer: the call and the question have reached their sides before.
#[test]
fn the_last_round_begins_with_the_answer() {
    let run = run_on(&Profile::asking(), "lost-reply");
    run.exits(0);
    let answers = answers(&run, "lost-reply");
    assert_eq!(*run.fact("lost-reply", "/attempt/last_round/seq"), answers[0].0);
    let received = run.record("lost-reply");
    let withheld: Vec<&Value> = received.iter().filter(|event| event["withheld"] == true).collect();
    assert_eq!(withheld.len(), 1, "{withheld:#?}");
    assert!(withheld[0]["payload"]["result"].is_object());
    let row = &run.case("lost-reply")["rows"][0];
    assert_eq!(row["made_by"][0]["seq"], answers[0].0);
    // The retry is the same call with a new id, and the same answer.
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0].1["result"], answers[1].1["result"]);
    let sent = frames(&run, "lost-reply", "client-to-server");
    let mut calls: Vec<Value> = sent
        .into_iter()
        .map(|(_, frame)| frame)
        .filter(|frame| frame["params"]["name"] == "create_order")
        .collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    calls[1]["id"] = calls[0]["id"].clone();
    assert_eq!(calls[0], calls[1]);
}

/// Without its first round the last one never begins, and the fault with it: nobody is accused, of the launch neither.
#[test]
fn a_first_round_that_is_never_answered_is_a_missed_moment() {
    let answers = r#"{ note = { action = "accept", content = { note = "{input}" } } }"#;
    let modern = Profile::plain().responses(answers);
    let dies = Profile::asking().misbehave_in("lost-reply", "die-on-write");
    let silent = |profile: Profile| profile.misbehave_in("lost-reply", "never-answer-writes");
    for (profile, why) in [
        (silent(Profile::asking()), "round one was not answered within 1000 ms"),
        (silent(modern), "round one was not answered within 1000 ms"),
        (dies, "the server ended by itself in round one"),
    ] {
        let harness = Harness::new().target(&profile).case("lost-reply");
        let run = harness.words(&["--timeout", "1"]).run();
        run.exits(3);
        let reason = format!("the fault missed its moment: {why}, so the last round, in which it strikes, never began");
        assert_eq!(run.reason("lost-reply"), reason);
        assert_eq!(run.done.verify(&run.evidence()).code, 0);
    }
}

#[test]
fn without_deduplication_both_rows_are_shown_with_the_answers_that_made_them() {
    for (promise, verdict) in [("at-most-once", "fail"), ("none", "unguarded")] {
        let profile = Profile::asking()
            .part("contract", &format!("preset = {promise:?}"))
            .flags("--dedupe none");
        for case in ["lost-reply", "identical-retry"] {
            let run = run_on(&profile, case);
            run.exits(1);
            assert_eq!(run.verdict(case), verdict, "{case}: {}", run.reason(case));
            let rows = run.case(case)["rows"].as_array().unwrap();
            assert_eq!(rows.len(), 2, "{rows:#?}");
            let made_by: Vec<&Value> = rows.iter().map(|row| &row["made_by"][0]["seq"]).collect();
            let answers = answers(&run, case);
            assert_eq!(made_by, [&json!(answers[0].0), &json!(answers[1].0)]);
        }
    }
}

#[test]
fn changed_answers_under_a_used_key_are_found_in_the_store() {
    let run = run_on(&Profile::asking().flags("--conflict apply"), "changed-input");
    run.exits(1);
    assert_eq!(run.check("changed-input", "no-new-data"), "broken");
    assert_eq!(run.fact("changed-input", "/end/new_data/A"), 1);
    let answers = answers(&run, "changed-input");
    assert_ne!(answers[0].1["result"], answers[1].1["result"]);
}

#[test]
fn what_was_asked_inside_the_call_is_told() {
    let done = Harness::new().target(&Profile::asking()).case("lost-reply").run_human();
    done.exits(0);
    assert!(
        done.stdout
            .contains("no reply: the outcome is unknown to the client, after input was asked for inside the call"),
        "{}",
        done.stdout
    );
    let shown = done.then().words(&["latest", "lost-reply"]).call(&["show"]);
    let line = |part: &str| {
        shown
            .stdout
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {}", shown.stdout))
    };
    let call = line("tools/call create_order");
    let question = line("← #\"ask-1\" elicitation/create asks for input: note");
    let answer = line("→ #\"ask-1\" answered: accept");
    assert!(call < question && question < answer && answer < line("WITHHELD"));
}

/// Each question gets the answer that has what it requires, also the one that comes while the reply is withheld.
#[test]
fn several_questions_get_the_answers_that_fit() {
    let answers = r#"{
        note = { action = "accept", content = { note = "{marker} {input}" } },
        number = { action = "accept", content = { qty = 3 } },
        other = { action = "decline" } }"#
        .replace('\n', " ");
    let run = passes_everything(&Profile::asking().flags("--elicit qty").responses(&answers));
    assert_eq!(run.fact("lost-reply", "/attempt/asked_inside"), 2);
    assert_eq!(run.fact("lost-reply", "/attempt/rounds"), 3);
    assert_eq!(run.fact("lost-reply", "/attempt/last_round/delivered_bytes"), 0);
    assert_eq!(run.fact("lost-reply", "/end/rows/A/0/qty"), 3);
}

fn inconclusive(profile: &Profile, parts: &[&str]) -> Report {
    let run = run_on(profile, "lost-reply");
    run.exits(3);
    let reason = run.reason("lost-reply");
    for part in parts {
        assert!(reason.contains(part), "{part:?} is not in: {reason}");
    }
    assert_eq!(run.done.verify(&run.evidence()).code, 0);
    run
}

#[test]
fn a_question_without_an_answer_is_named_with_the_answer_that_is_missing() {
    let asks = "the server asks for `qty` inside the call (\"How many?\")";
    let missing = "add to responses: ANY_NAME = { action = \"accept\", content = { qty = 1 } }";
    let profile = Profile::asking().flags("--elicit qty");
    inconclusive(&profile, &[asks, "no answer in [write] responses has that", missing]);

    let two = r#"{ a = { action = "accept", content = { note = "{marker}" } }, b = { action = "accept", content = { note = "{marker}!" } } }"#;
    let several = "several answers in [write] responses have that (`a`, `b`)";
    inconclusive(&Profile::asking().responses(two), &[several]);
}

/// A client that has no answers declares none, and refuses what is asked all the same.
#[test]
fn a_question_that_was_not_declared_is_refused_and_is_the_reason() {
    let profile = Profile::plain().flags("--era legacy --elicit note");
    // A server that looks at what is declared does not ask.
    let run = inconclusive(&profile, &["a plain write was not answered with a result"]);
    assert_eq!(
        *run.fact("sees-duplicates", "/write-one/refusal_text"),
        "this client asks its user nothing"
    );
    let sent = frames(&run, "sees-duplicates", "client-to-server");
    assert_eq!(sent[0].1["params"]["capabilities"], json!({}));
    assert_eq!(answers(&run, "sees-duplicates"), []);

    let refused = "it was refused, because [write] responses answers no form; one would be responses = { ANY_NAME";
    let run = inconclusive(&profile.misbehave("ask-undeclared"), &["asks for `note`", refused]);
    assert_eq!(answers(&run, "sees-duplicates")[0].1["error"]["code"], -32602);
}

#[test]
fn a_declined_write_is_a_refusal_with_nothing_written() {
    let profile = Profile::asking().responses(r#"{ no = { action = "decline", content = { note = "{marker}" } } }"#);
    let run = inconclusive(&profile, &["a plain write was not answered with a result"]);
    assert_eq!(
        *run.fact("sees-duplicates", "/write-one/refusal_text"),
        "the user said no"
    );
    assert_eq!(*run.fact("sees-duplicates", "/write-one/asked_inside"), 1);
    assert_eq!(*run.fact("sees-duplicates", "/one/effects/A"), 0);
}

#[test]
fn a_server_that_asks_for_ever_is_bounded() {
    let nine = ["note"; 9].join(",");
    let profile = Profile::asking().flags("--elicit").flags(&nine);
    inconclusive(&profile, &["the server asked for input more than 8 times"]);
}

/// Its reply has been delivered before anybody could know that it was the last.
#[test]
fn a_server_that_does_not_ask_although_it_should_misses_the_fault() {
    let profile = Profile::plain()
        .flags("--era legacy")
        .responses(r#"{ note = { action = "accept", content = { note = "{marker}" } } }"#);
    inconclusive(
        &profile,
        &["the fault missed its moment", "leave responses out if it does not ask"],
    );
}

/// Also while a reply is withheld: a server that waits for an answer would never come to its effect.
#[test]
fn everything_else_that_a_server_asks_is_answered_by_rule() {
    for profile in [Profile::with_status().flags("--era legacy"), Profile::asking()] {
        let run = passes_everything(&profile.misbehave("ask-everything"));
        let answers = answers(&run, "lost-reply");
        let codes: Vec<&Value> = answers[..5]
            .iter()
            .map(|(_, answer)| &answer["error"]["code"])
            .collect();
        assert_eq!(
            codes,
            [
                &Value::Null,
                &json!(-32601),
                &json!(-32601),
                &json!(-32601),
                &json!(-32602)
            ]
        );
        assert_eq!(answers[0].1["result"], json!({}));
        assert_eq!(run.fact("lost-reply", "/attempt/last_round/delivered_bytes"), 0);
    }
}
