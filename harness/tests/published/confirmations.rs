//! Servers that ask for a confirmation before they write (MRTR), on the SDKs' own sealed request state: it binds a
//! confirmation to one request, and does not make it good for one use.

use crate::parts::{Part, profiles};
use crate::support::run::Harness;
use crate::{Test, is_doubled, is_verified};

/// A key that outlives the process, as both SDKs advise where several processes serve.
const SHARED_KEY: &str = "REQUEST_STATE_KEY=a key of the tests, of 32 bytes or more";

pub(crate) const TESTS: &[Test] = &[
    (
        "python_sdk_a_confirmation_is_good_for_two_writes",
        Part::PythonSdk,
        a_confirmation_is_good_for_two_writes,
    ),
    (
        "python_sdk_with_a_shared_key_doubles_across_processes_too",
        Part::PythonSdk,
        a_shared_key_doubles_across_processes,
    ),
    (
        "typescript_sdk_a_confirmation_is_good_for_two_writes_also_across_a_crash",
        Part::Node,
        || {
            let run = typescript_target().run();
            run.exits(0);
            assert_eq!(run.json["target"]["server"]["protocol"], "2026-07-28");
            for case in ["identical-retry", "lost-reply"] {
                is_doubled(&run, case);
                assert_eq!(run.fact(case, "/attempt/input_required"), true);
                assert_eq!(run.fact(case, "/retry/repeats_exactly"), true);
            }
            assert_eq!(run.verdict("reply-means-done"), "pass");
            assert_eq!(run.verdict("changed-input"), "unsupported");
            is_verified(&run);
        },
    ),
];

/// The key dies with the process: the retry after a crash is refused, whatever became of the first attempt.
fn a_confirmation_is_good_for_two_writes() {
    let run = Part::PythonSdk.target("python-sdk-mrtr").run();
    // Two processes of this server refuse each other's states, so they are never inside one write.
    run.exits(3);
    assert_eq!(run.verdict("concurrent-first-use"), "inconclusive");
    assert_eq!(run.check("concurrent-first-use", "both-warm"), "inconclusive");
    assert_eq!(run.json["totals"]["inconclusive"], 1, "{}", run.done.stdout);
    assert_eq!(run.verdict("restart-between-rounds"), "unguarded");
    assert_eq!(run.verdict("undeclared-capability"), "pass");
    assert_eq!(run.json["target"]["server"]["protocol"], "2026-07-28");
    is_doubled(&run, "identical-retry");
    assert_eq!(run.fact("identical-retry", "/attempt/input_required"), true);
    assert_eq!(run.fact("identical-retry", "/retry/repeats_exactly"), true);

    assert_eq!(run.verdict("lost-reply"), "pass");
    assert_eq!(run.fact("lost-reply", "/end/effects/A"), 1);
    assert_eq!(run.fact("lost-reply", "/retry/outcome"), "refused");
    let record = run.record("lost-reply");
    let refusal = record
        .iter()
        .find(|event| event["payload"]["error"].is_object())
        .unwrap();
    assert_eq!(refusal["payload"]["error"]["data"]["reason"], "invalid_request_state");

    assert_eq!(run.verdict("reply-means-done"), "pass");
    assert_eq!(run.verdict("changed-input"), "unsupported");
    is_verified(&run);
}

fn a_shared_key_doubles_across_processes() {
    let harness = Part::PythonSdk.target("python-sdk-mrtr").words(&["-e", SHARED_KEY]);
    let run = harness.case("lost-reply").case("concurrent-first-use").run();
    run.exits(1);
    is_doubled(&run, "lost-reply");
    assert_eq!(run.fact("lost-reply", "/attempt/input_required"), true);
    // One confirmation, two processes at once.
    assert_eq!(run.verdict("concurrent-first-use"), "unguarded");
    assert_eq!(run.fact("concurrent-first-use", "/end/effects/A"), 2);
    is_verified(&run);
}

/// A program of Node.js finds packages beside itself, so it is copied to where they are.
fn typescript_target() -> Harness {
    let harness = Part::Node.harness();
    for name in ["typescript-sdk-mrtr.toml", "typescript-sdk-mrtr.mjs"] {
        std::fs::copy(profiles().join(name), harness.path(name)).expect("copy the profile and its server");
    }
    let packages = Part::Node.folder().join("node_modules");
    std::os::unix::fs::symlink(packages, harness.path("node_modules")).expect("a link to the packages");
    harness.words(&["--target", "typescript-sdk-mrtr.toml"])
}
