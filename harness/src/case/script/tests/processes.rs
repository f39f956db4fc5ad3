//! What is started, paused, resumed, ended, and written to.

use super::{PAUSE, RESUME, SERVER, SERVER_AGAIN, STOP, SUBMIT, WORKER, refused, refuses, takes};

#[test]
fn only_what_lives_is_paused_and_only_what_is_paused_goes_on() {
    refuses(&[
        (
            &[PAUSE],
            1,
            "no such process lives at this point; put a `start` step before it",
        ),
        (
            &[SERVER, "pause = \"serve\""],
            2,
            "no such process lives at this point; those that live are server",
        ),
        (&[SERVER, STOP, PAUSE], 3, "no such process lives"),
        (
            &[SERVER, PAUSE, PAUSE, RESUME],
            3,
            "it is paused already; leave one of the two out",
        ),
        (
            &[SERVER, RESUME],
            2,
            "it is not paused; put pause = \"server\" before it",
        ),
        (&[SERVER, PAUSE, RESUME, RESUME], 4, "it is not paused"),
        (
            &[SERVER, PAUSE, "kill = \"server\"", RESUME],
            4,
            "no such process lives",
        ),
        (
            &[SERVER, PAUSE, STOP],
            3,
            "it is paused, and would not end; resume it before, or kill it",
        ),
        (
            &[SERVER, PAUSE],
            2,
            "no step lets it go on or kills it: add resume = \"server\", or kill = \"server\"",
        ),
        (
            &[SERVER, WORKER, "pause = \"worker\"", STOP],
            3,
            "add resume = \"worker\"",
        ),
    ]);
    takes(&[
        &[SERVER, PAUSE, RESUME, PAUSE, RESUME, STOP],
        &[
            SERVER,
            PAUSE,
            "kill = \"server\"",
            SERVER_AGAIN,
            "pause = \"again\"",
            "resume = \"again\"",
        ],
    ]);
}

/// The lock is the case's own, so there is no moment at which nobody holds it.
#[test]
fn nothing_is_paused_while_the_case_holds_the_store() {
    let (hold, release) = ("hold = \"store\"", "release = \"store\"");
    refuses(&[
        (
            &[SERVER, hold, PAUSE, release, RESUME],
            3,
            "put release = \"store\" before it",
        ),
        (&[SERVER, hold], 2, "no step gives it back: add release = \"store\""),
        (
            &[hold, SERVER, release],
            1,
            "nothing was started before, so there may be no store to hold, and nobody who could be kept waiting; put a `start` step",
        ),
        (&[SERVER, release], 2, "no step before holds it"),
    ]);
    takes(&[&[SERVER, hold, release, PAUSE, RESUME]]);
}

#[test]
fn only_a_server_that_is_awake_is_written_to() {
    let on = |process: &str| format!("write = \"A\"\non = \"{process}\"");
    let (worker, server, nobody) = (on("worker"), on("server"), on("serve"));
    refuses(&[
        (
            &[WORKER, "write = \"A\""],
            2,
            "no server lives at this point: put a `start = \"server\"` step before it",
        ),
        (
            &[WORKER, &worker],
            2,
            "it is a worker, which takes no requests; put a `start = \"server\"` step before it",
        ),
        (
            &[SERVER, WORKER, &worker],
            3,
            "it is a worker, which takes no requests; name one of server",
        ),
        (
            &[SERVER, &nobody],
            2,
            "no such server lives at this point; name one of server",
        ),
        (
            &[SERVER, PAUSE, "write = \"A\"", RESUME],
            3,
            "every server is paused, and answers nothing: put resume = \"server\"",
        ),
        (
            &[SERVER, PAUSE, &server, RESUME],
            3,
            "on = \"server\": it is paused, and answers nothing",
        ),
        (
            &[SERVER, SUBMIT, WORKER, "cancel_execution = \"A\"\non = \"worker\""],
            4,
            "it is a worker",
        ),
        (
            &[SERVER, SERVER_AGAIN, "write = \"A\""],
            3,
            "several servers live (server, again): say which with `on`",
        ),
    ]);
    takes(&[
        &[SERVER, SERVER_AGAIN, PAUSE, "write = \"A\"", RESUME],
        &[WORKER, SERVER, "write = \"A\""],
    ]);
}

#[test]
fn what_is_started_is_of_a_known_kind_and_has_what_its_kind_has() {
    refuses(&[
        (
            &["start = \"wroker\""],
            1,
            "what can be started is \"server\", \"worker\", \"reaper\"",
        ),
        (
            &["start = \"worker\"\nprincipal = \"bob\""],
            1,
            "principal: only a server has callers",
        ),
        (
            &["start = \"reaper\"\nsettings = { workers = 2 }"],
            1,
            "put it beside a start = \"server\"",
        ),
        (
            &[WORKER, WORKER],
            2,
            "the name `worker` is used twice; give one of them another with `as`",
        ),
    ]);
    // Names are files of the evidence, and an archive of it holds no two that differ in letter case only.
    for (steps, message) in [
        (
            [SERVER, "observe = \"end\"", "observe = \"End\""],
            "the name `End` differs from `end` in letter case only; take another",
        ),
        (
            [SERVER, "start = \"server\"\nas = \"Two\"", "observe = \"two\""],
            "the name `two` differs from `Two` in letter case only",
        ),
        (
            [SERVER, "write = \"A\"", "write = \"A\"\nas = \"a\""],
            "the name `a` differs from `A` in letter case only",
        ),
    ] {
        assert!(refused(&steps, 3).contains(message), "{steps:?}");
    }
    takes(&[&["start = \"worker\"\nfailpoint = \"before-commit\"\nsettings = { lease_s = 5 }"]]);
}

#[test]
fn lengths_are_such_that_a_server_can_be_told_of_them() {
    let table: [(&str, u64, u64, &str); 9] = [
        ("authority_s", 0, 100_000_000, "seconds"),
        ("retention_s", 0, 100_000_000, "seconds"),
        ("state_s", 0, 100_000_000, "seconds"),
        ("busy_ms", 0, 3_600_000, "milliseconds"),
        ("workers", 0, 64, "workers"),
        ("lease_s", 1, 100_000_000, "seconds"),
        ("heartbeat_s", 1, 100_000_000, "seconds"),
        ("attempts", 1, 1_000, "attempts"),
        ("backoff_s", 0, 100_000_000, "seconds"),
    ];
    for (name, least, most, unit) in table {
        let with = |length: u64| format!("start = \"server\"\nsettings = {{ {name} = {length} }}");
        takes(&[&[&with(least)], &[&with(most)]]);
        let above = format!("settings: {name} = {}: it has at most {most} {unit}", most + 1);
        assert_eq!(refused(&[&with(most + 1)], 1), above);
        if let Some(below) = least.checked_sub(1) {
            let message = format!("settings: {name} = {below}: it has at least {least} {unit}");
            assert_eq!(refused(&[&with(below)], 1), message);
        }
    }
}
