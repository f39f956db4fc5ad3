//! The built-in servers get it right, and the report says how that is known.

use std::collections::BTreeSet;

use crate::support::run::Harness;

/// Each of the two passes all that it has the surfaces for, and together they pass every case.
#[test]
fn the_whole_catalogue_passes() {
    let all = harness::case::Catalogue::embedded().all();
    let mut passed = BTreeSet::new();
    for target in harness::target::BUILT_IN_NAMES {
        let run = Harness::new().words(&["--target", target]).run();
        run.exits(0);
        let totals = &run.json["totals"];
        let without_control = totals["pass"].as_u64().unwrap() + totals["unsupported"].as_u64().unwrap();
        assert_eq!(without_control, all.len() as u64 - 1, "{target}: {totals}");
        assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
        let cases = run.json["cases"].as_array().unwrap().iter();
        let passes = cases.filter(|case| case["verdict"] == "pass");
        passed.extend(passes.map(|case| case["case"].as_str().unwrap().to_owned()));
    }
    let every: BTreeSet<String> = all.iter().map(|case| case.id.clone()).collect();
    assert_eq!(passed, every);
}

#[test]
fn the_report_of_a_lost_reply_holds_everything_that_is_needed_to_believe_it() {
    let run = Harness::new().case("lost-reply").words(&["--seed", "7"]).run();
    run.exits(0);
    assert_eq!(run.verdict("lost-reply"), "pass");
    assert_eq!(run.json["target"]["name"], "reference-server");
    assert_eq!(run.json["target"]["server"]["protocol"], "2026-07-28");
    assert_eq!(run.json["seed"], 7);
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
    assert_eq!(run.json["control"]["verdict"], "pass");

    let fact = |pointer| run.fact("lost-reply", pointer);
    let operation = &run.case("lost-reply")["operations"]["A"]["operation_id"];
    assert_eq!(fact("/attempt/input_required"), true);
    assert_eq!(fact("/attempt/outcome"), "unknown");
    assert_eq!(fact("/attempt/last_round/delivered_bytes"), 0);
    assert_eq!(fact("/attempt/withheld/outcome"), "result");

    assert_eq!(fact("/status/operation_id"), operation);
    assert_eq!(fact("/status/state"), "applied");
    assert_eq!(fact("/status/fresh_write_authorized"), false);
    assert_eq!(fact("/status/effect_ids/0"), fact("/attempt/withheld/result/issue_id"));
    assert_eq!(fact("/status/stored_result"), fact("/attempt/withheld/result"));
    assert_eq!(fact("/recovery/after/status"), "return-stored-result");

    assert_eq!(fact("/retry/replayed"), true);
    assert_eq!(fact("/retry/result"), fact("/attempt/withheld/result"));
    assert_eq!(fact("/before/effects/A"), 0);
    assert_eq!(fact("/after-kill/effects/A"), 1);
    assert_eq!(fact("/end/effects/A"), 1);
    assert_eq!(fact("/end/ledger/A"), 1);
    assert!(run.evidence().join("run.json").is_file());
}

#[test]
fn secrets_made_for_a_run_appear_in_no_file() {
    let run = Harness::new()
        .target(&crate::support::profile::Profile::plain().part("launch.secrets", "TOKEN = \"env:SECRET_OF_THE_TEST\""))
        .env("SECRET_OF_THE_TEST", "s3cr3t-c0ffee")
        .case("identical-retry")
        .run();
    run.exits(0);
    for file in crate::support::run::files(&run.evidence()) {
        let bytes = std::fs::read(run.evidence().join(&file)).unwrap();
        let holds = bytes.windows(13).any(|window| window == b"s3cr3t-c0ffee");
        assert!(!holds, "{file} holds a secret");
    }
    let named = std::fs::read_to_string(run.evidence().join("run.json")).unwrap();
    assert!(named.contains("\"TOKEN\""), "its name should be there");
}

#[test]
fn events_come_one_a_line_as_they_happen() {
    let done = Harness::new()
        .case("identical-retry")
        .words(&["--format", "jsonl"])
        .run_human();
    done.exits(0);
    let parse = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let events: Vec<String> = done
        .stdout
        .lines()
        .map(|line| parse(line)["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(events, ["target", "case", "case", "end"]);
    assert_eq!(done.stderr, "");
}

/// What a developer has in the environment must not decide a verdict, and is nobody's business.
#[test]
fn a_server_gets_a_home_of_its_own_and_nothing_of_the_caller_but_a_fixed_list() {
    let run = Harness::new()
        .target(&crate::support::profile::Profile::plain().env("GIVEN", "by the profile"))
        .env("AWS_SECRET_ACCESS_KEY", "x")
        .env("LC_ALL", "C")
        .case("identical-retry")
        .run();
    run.exits(0);
    let record = run.record("identical-retry");
    let started = record.iter().find(|event| event["kind"] == "process-started").unwrap();
    let names: Vec<&str> = started["environment"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    for name in ["GIVEN", "HOME", "LC_ALL", "PATH"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(!names.contains(&"AWS_SECRET_ACCESS_KEY"), "{names:?}");
}
