//! Whose promise it is decides between fail, unguarded and unsupported; being named decides about the exit code.

use crate::support::profile::Profile;
use crate::support::run::Harness;

const DOUBLED: [&str; 2] = ["lost-reply", "identical-retry"];

fn unguarded_server() -> Profile {
    Profile::without_promise().flags("--dedupe none")
}

#[test]
fn a_server_that_keeps_its_promise_passes_everything_that_applies() {
    let run = Harness::new().target(&Profile::with_status()).run();
    run.exits(0);
    for case in [
        "lost-reply",
        "identical-retry",
        "fresh-identity",
        "reply-means-done",
        "changed-input",
    ] {
        assert_eq!(run.verdict(case), "pass", "{case}: {}", run.reason(case));
    }
    assert_eq!(run.fact("lost-reply", "/recovery/after/status"), "return-stored-result");
    assert_eq!(run.fact("lost-reply", "/end/ledger/A"), 1);
}

/// Also with a rollback journal, where a reader beside the server could be in its way.
#[test]
fn a_rollback_journal_makes_no_difference() {
    let run = Harness::new()
        .target(&Profile::with_status().flags("--journal delete"))
        .run();
    run.exits(0);
    assert_eq!(run.verdict("lost-reply"), "pass");
    assert_eq!(run.json["totals"]["fail"], 0);
}

#[test]
fn a_double_that_nobody_promised_to_prevent_is_unguarded_and_a_name_makes_it_a_gate() {
    for case in DOUBLED {
        let run = Harness::new().target(&unguarded_server()).case(case).run();
        run.exits(1);
        assert_eq!(run.verdict(case), "unguarded");
        assert_eq!(run.check(case, "one-effect"), "unguarded");
        let rows = run.case(case)["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2, "{rows:#?}");
        assert_eq!(rows[1]["made_by"][0]["step"], "retry");
    }
}

#[test]
fn unguarded_is_shown_and_not_failed_by_a_whole_run_or_a_pattern() {
    for words in [&[][..], &["--case", "*-re*y"], &["--case", "retry"]] {
        let run = Harness::new().target(&unguarded_server()).words(words).run();
        run.exits(0);
        for case in DOUBLED {
            assert_eq!(run.verdict(case), "unguarded", "{words:?}");
        }
    }
}

#[test]
fn unguarded_can_be_denied_everywhere() {
    let run = Harness::new()
        .target(&unguarded_server())
        .words(&["--case", "*-re*y", "--deny", "unguarded"])
        .run();
    run.exits(1);
    assert_eq!(run.json["totals"]["fail"], 0);
}

#[test]
fn the_same_double_is_a_fail_where_it_was_promised_not_to_happen() {
    let profile = Profile::plain().flags("--dedupe none");
    for words in [&["--case", "lost-reply"][..], &["--case", "*-re*y"]] {
        let run = Harness::new().target(&profile).words(words).run();
        run.exits(1);
        assert_eq!(run.verdict("lost-reply"), "fail");
        let checks = run.case("lost-reply")["checks"].as_array().unwrap();
        let broken = checks.iter().find(|check| check["id"] == "one-effect").unwrap();
        let whose = broken["whose"].as_str().unwrap();
        assert!(whose.contains("at-most-once") && whose.contains("README.md"), "{whose}");
    }
}

/// The server's own natural key forbids a second row, so the control counts on a copy with doubled rows.
#[test]
fn a_natural_key_is_controlled_on_a_doubled_copy() {
    let run = Harness::new().target(&Profile::natural()).run();
    run.exits(0);
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
    assert_eq!(run.json["control"]["doctored"], true);
    assert_eq!(run.verdict("identical-retry"), "pass");
    assert_eq!(run.verdict("lost-reply"), "pass");
    assert_eq!(run.verdict("fresh-identity"), "unsupported");
    assert!(
        run.reason("fresh-identity").contains("`identity`"),
        "{}",
        run.reason("fresh-identity")
    );
}

/// A server that takes a key and then goes by the content loses the second write.
#[test]
fn content_instead_of_the_key_loses_a_fresh_write() {
    for (promise, verdict) in [("at-most-once", "fail"), ("none", "unguarded")] {
        let profile = Profile::plain()
            .part("contract", &format!("preset = {promise:?}"))
            .flags("--dedupe content");
        let run = Harness::new().target(&profile).case("fresh-identity").run();
        run.exits(1);
        assert_eq!(
            run.verdict("fresh-identity"),
            verdict,
            "{}",
            run.reason("fresh-identity")
        );
        assert_eq!(
            run.check("fresh-identity", "second-effect"),
            if verdict == "fail" { "broken" } else { verdict }
        );
        assert_eq!(run.fact("fresh-identity", "/end/effects/A"), 1);
    }
}

#[test]
fn changed_data_under_a_used_key_is_a_conflict_or_a_fail() {
    let run = |conflict: &str| {
        let profile = Profile::plain().flags("--conflict").flags(conflict);
        Harness::new().target(&profile).case("changed-input").run()
    };
    run("refuse").exits(0);

    let ignored = run("ignore");
    ignored.exits(1);
    assert_eq!(ignored.check("changed-input", "is-refused"), "broken");
    assert_eq!(ignored.check("changed-input", "one-effect"), "held");
    assert_eq!(ignored.check("changed-input", "no-new-data"), "held");

    let applied = run("apply");
    applied.exits(1);
    assert_eq!(applied.check("changed-input", "one-effect"), "broken");
    assert_eq!(applied.check("changed-input", "no-new-data"), "broken");
    assert_eq!(applied.fact("changed-input", "/end/new_data/A"), 1);
}

#[test]
fn a_named_case_that_lacks_a_surface_is_one_line_and_exit_3() {
    let profile = Profile::plain();
    let done = Harness::new().target(&profile).case("crash-after-commit").run_human();
    done.exits(3);
    let why: Vec<&str> = done.stdout.lines().filter(|line| line.contains("`status`")).collect();
    assert_eq!(why.len(), 1, "{}", done.stdout);
    assert!(why[0].contains("[status] names no tool"), "{}", why[0]);

    let run = Harness::new().target(&profile).case("crash-after-*").run();
    run.exits(3);
    assert_eq!(run.verdict("crash-after-commit"), "unsupported");
    let run = Harness::new()
        .target(&profile)
        .case("crash-after-*,identical-retry")
        .run();
    run.exits(0);
    let run = Harness::new()
        .target(&profile)
        .words(&["--case", "crash-after-*,identical-retry", "--deny", "unsupported"])
        .run();
    run.exits(1);
}

/// The kill lands although the reply never comes, because the effect is what is waited for.
#[test]
fn a_server_that_exits_between_commit_and_reply_is_judged_by_its_effects() {
    let trouble = |profile: Profile| profile.misbehave_in("lost-reply", "exit-after-commit");
    let run = Harness::new()
        .target(&trouble(Profile::plain()))
        .case("lost-reply")
        .run();
    run.exits(0);
    assert_eq!(run.check("lost-reply", "one-effect"), "held");
    assert_eq!(
        run.check("lost-reply", "first-result"),
        "not-applicable",
        "no first result was ever sent"
    );

    let doubled = trouble(unguarded_server());
    let run = Harness::new().target(&doubled).case("lost-reply").run();
    assert_ne!(run.verdict("lost-reply"), "pass");
}

#[test]
fn a_reply_that_runs_ahead_of_its_commit_is_lost_by_a_kill() {
    for (promise, verdict) in [("at-most-once", "fail"), ("none", "unguarded")] {
        let profile = Profile::plain()
            .part("contract", &format!("preset = {promise:?}"))
            .misbehave("asynchronous-write");
        let run = Harness::new().target(&profile).case("reply-means-done").run();
        run.exits(1);
        assert_eq!(run.verdict("reply-means-done"), verdict);
        assert_eq!(run.json["control"]["verdict"], "pass", "it writes in the end");
    }
}

/// Many servers answer with content alone: a profile need not say so.
#[test]
fn a_result_is_compared_where_the_server_has_one() {
    let run = Harness::new().target(&Profile::plain()).case("lost-reply").run();
    run.exits(0);
    assert_eq!(run.check("lost-reply", "first-result"), "held");
    let elsewhere = Profile::plain().part("replies", "result = \"/nowhere\"");
    let run = Harness::new().target(&elsewhere).case("lost-reply").run();
    run.exits(3);
    let reason = run.reason("lost-reply");
    assert!(
        reason.contains("nothing at /nowhere; correct [replies] result"),
        "{reason}"
    );
}

/// Without a way to tell a conflict from other refusals, an answer that is no refusal still is none.
#[test]
fn changed_input_must_be_refused_also_where_no_conflict_is_described() {
    let profile = Profile::plain().flags("--conflict ignore").without("contract.conflict");
    let run = Harness::new().target(&profile).case("changed-input").run();
    run.exits(1);
    assert_eq!(run.check("changed-input", "is-refused"), "broken");
    assert_eq!(run.check("changed-input", "as-a-conflict"), "not-applicable");
}

#[test]
fn lines_that_are_no_messages_are_a_warning_that_can_be_denied() {
    let profile = Profile::plain().misbehave("banner-on-stdout");
    let run = || Harness::new().target(&profile).case("lost-reply");
    let warned = run().run();
    warned.exits(0);
    let warnings = warned.case("lost-reply")["warnings"].to_string();
    assert!(warnings.contains("no MCP messages"), "{warnings}");
    run().words(&["--deny", "warnings"]).run().exits(1);
}

/// One row before and one after is not enough: it must be the same row.
#[test]
fn an_effect_that_is_replaced_by_an_equal_one_is_noticed() {
    let profile = Profile::plain().misbehave("rewrite-on-retry");
    for case in ["lost-reply", "identical-retry"] {
        let run = Harness::new().target(&profile).case(case).run();
        run.exits(1);
        assert_eq!(run.check(case, "one-effect"), "held");
        assert_eq!(run.check(case, "first-effect-kept"), "broken");
    }
}

/// A count is taken when everybody who may still write has ended by himself.
#[test]
fn a_child_that_writes_after_its_server_has_ended_is_counted() {
    let profile = Profile::plain().misbehave("late-writer");
    for case in ["lost-reply", "identical-retry"] {
        let run = Harness::new().target(&profile).case(case).run();
        run.exits(1);
        assert_eq!(run.check(case, "one-effect"), "broken");
    }
}

#[test]
fn numbers_of_results_are_compared_by_value() {
    let profile = Profile::plain().misbehave("fraction-on-retry");
    let run = Harness::new().target(&profile).case("lost-reply").run();
    run.exits(0);
    assert_eq!(run.check("lost-reply", "first-result"), "held");
}

#[test]
fn every_way_of_keeping_a_journal_is_read() {
    for journal in ["wal", "delete", "truncate", "persist"] {
        let profile = Profile::plain().flags(&format!("--journal {journal}"));
        Harness::new().target(&profile).run().exits(0);
    }
}

/// The identity is sent where the server wants it, and the same in every retry.
#[test]
fn an_identity_travels_in_meta_or_beside_the_arguments() {
    for at in ["meta.example.com/key", "params.idempotencyKey"] {
        let write = "tool = \"create_order\"\narguments = { note = \"{marker}\", qty = 1 }\nchange = { qty = 2 }";
        let profile = Profile::plain()
            .part("write", write)
            .part("identity", &format!("at = \"{at}\""));
        let run = Harness::new().target(&profile).run();
        run.exits(0);
        for case in ["lost-reply", "identical-retry", "changed-input", "fresh-identity"] {
            assert_eq!(run.verdict(case), "pass", "{at}: {case}");
        }
        let sent = run.record("identical-retry");
        let calls = sent.iter().filter(|event| event["payload"]["method"] == "tools/call");
        let identity = &run.case("identical-retry")["operations"]["A"]["operation_id"];
        assert!(
            calls.clone().count() == 2
                && calls
                    .clone()
                    .all(|call| call.to_string().contains(&identity.to_string()))
        );
    }
}

/// Copies have one marker; who knows a write by its data alone may do them once, and has broken nothing.
#[test]
fn copies_are_no_case_against_a_natural_key() {
    let profile = include_str!("../../targets/reference-execution.toml")
        .replace("at = \"meta.idempotency_key\"", "at = \"natural:/title\"")
        .replace(
            "meta      = { namespace = \"harness\" }",
            "meta      = { namespace = \"harness\", idempotency_key = \"{operation}\" }",
        );
    let run = Harness::new()
        .file("natural.toml", &profile)
        .words(&["--target", "natural.toml"])
        .case("concurrent-claim")
        .run();
    run.exits(3);
    assert_eq!(run.verdict("concurrent-claim"), "inconclusive");
    let reason = run.reason("concurrent-claim");
    assert!(
        reason.contains("the natural key at /title is the same in all copies"),
        "{reason}"
    );
}
