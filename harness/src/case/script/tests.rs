//! Scripts that cannot be meant, each refused at its step with what to do, and the ones beside them that can.

use crate::case::parse;

/// A case of these steps, each of them the lines of one `[[step]]`; it may ask for everything.
fn case(steps: &[&str]) -> String {
    let surfaces: Vec<&str> = crate::case::Surface::ALL.iter().map(|surface| surface.name()).collect();
    let mut text = format!(
        "format = 1\nid = \"mine\"\nfamily = \"mine\"\nrevision = 1\ntitle = \"t\"\nproves = \"p\"\nmatters = \"m\"\n\
         needs = {surfaces:?}\ncontrols = [\"sees-duplicates\"]\n"
    );
    for step in steps {
        text.extend(["[[step]]\n", step, "\n"]);
    }
    text + "[[check]]\nid = \"c\"\nbasis = \"contract\"\nexpect = { \"recovery.x\" = 1 }\n"
}

/// What a case of these steps is refused with, which must be at the step of this number.
#[track_caller]
fn refused(steps: &[&str], number: usize) -> String {
    let text = case(steps);
    let error = parse("mine.toml", &text).expect_err("it cannot be meant").to_string();
    let before: String = text.split("[[step]]").take(number).collect();
    let place = format!("mine.toml:{}:1: step {number}: ", before.lines().count() + 1);
    let message = error.strip_prefix(&place);
    message
        .unwrap_or_else(|| panic!("{steps:?} is refused elsewhere than {place}: {error}"))
        .to_owned()
}

#[track_caller]
fn refuses(table: &[(&[&str], usize, &str)]) {
    for (steps, number, message) in table {
        let refused = refused(steps, *number);
        assert!(refused.contains(message), "{steps:?}: {refused}");
    }
}

#[track_caller]
fn takes(table: &[&[&str]]) {
    for steps in table {
        if let Err(error) = parse("mine.toml", &case(steps)) {
            panic!("{steps:?}: {error}");
        }
    }
}

const SERVER: &str = "start = \"server\"";
const WORKER: &str = "start = \"worker\"";
const GATED: &str = "write = \"A\"\nrounds = \"submit\"\ngate = \"closed\"";
const SUBMIT: &str = "write = \"A\"\nrounds = \"submit\"";
const OPEN: &str = "open = \"A\"";
const PAUSE: &str = "pause = \"server\"";
const RESUME: &str = "resume = \"server\"";
const STOP: &str = "stop = \"server\"";

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

const SERVER_AGAIN: &str = "start = \"server\"\nas = \"again\"";

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
        (&[SERVER, release], 2, "no step before holds it"),
    ]);
    takes(&[&[SERVER, hold, release, PAUSE, RESUME]]);
}

#[test]
fn a_gate_that_is_closed_is_opened_once() {
    refuses(&[
        (
            &[SERVER, OPEN],
            2,
            "no closed gate holds it; add gate = \"closed\" to its first write",
        ),
        (&[SERVER, SUBMIT, OPEN], 3, "no closed gate holds it"),
        (&[SERVER, GATED, OPEN, OPEN], 4, "no closed gate holds it"),
        (
            &[SERVER, GATED, "open = \"B\"", OPEN],
            3,
            "open = \"B\": no closed gate holds it",
        ),
        (&[SERVER, GATED], 2, "no step opens the gate of `A`: add open = \"A\""),
        (
            &[
                SERVER,
                SUBMIT,
                "write = \"A\"\nrounds = \"submit\"\nas = \"two\"\ngate = \"closed\"",
                OPEN,
            ],
            3,
            "belong to the first write",
        ),
    ]);
    takes(&[&[SERVER, GATED, OPEN], &[SERVER, GATED, "kill = \"server\"", OPEN]]);
}

#[test]
fn nobody_waits_for_what_a_closed_gate_holds() {
    let fault = |until: &str| {
        format!(
            "write = \"A\"\nas = \"struck\"\nfault = {{ at = \"last-round\", withhold_reply_until = \"{until}\", then = \"kill-group\" }}"
        )
    };
    let (effect, reply) = (fault("effect-visible"), fault("reply-in-pipe"));
    let again = "write = \"A\"\nas = \"again\"";
    let add =
        "it waits for an execution that the closed gate holds; put open = \"A\" before it, or add rounds = \"submit\"";
    refuses(&[
        (
            &[SERVER, "write = \"A\"\ngate = \"closed\"", OPEN],
            2,
            "add rounds = \"submit\", or leave `gate` out",
        ),
        (
            &[
                SERVER,
                "write = \"A\"\nrounds = \"all-but-last\"\ngate = \"closed\"",
                OPEN,
            ],
            2,
            "add rounds = \"submit\"",
        ),
        (&[SERVER, GATED, again, OPEN], 3, add),
        (&[SERVER, GATED, &effect, OPEN], 3, add),
    ]);
    takes(&[
        &[
            SERVER,
            GATED,
            "write = \"A\"\nas = \"again\"\nrounds = \"submit\"",
            OPEN,
        ],
        &[SERVER, GATED, OPEN, again],
        &[SERVER, GATED, "write = \"B\"", OPEN],
        &[SERVER, GATED, &reply, OPEN],
    ]);
}

#[test]
fn copies_are_one_to_a_thousand_and_are_submitted() {
    let copies = |copies: u64| format!("write = \"A\"\nrounds = \"submit\"\ncopies = {copies}");
    let (none, two, most, more) = (copies(0), copies(2), copies(1_000), copies(1_001));
    refuses(&[
        (&[SERVER, &none], 2, "copies = 0: it must be 1 to 1000"),
        (&[SERVER, &more], 2, "copies = 1001: it must be 1 to 1000"),
        (&[SERVER, "write = \"A\"\ncopies = 2"], 2, "add rounds = \"submit\""),
        (
            &[
                SERVER,
                SUBMIT,
                "write = \"A\"\nas = \"two\"\nrounds = \"submit\"\ncopies = 2",
            ],
            3,
            "begin with the first write",
        ),
    ]);
    takes(&[
        &[SERVER, &two],
        &[SERVER, &most],
        &[SERVER, "write = \"A\"\ncopies = 1"],
    ]);
    // None of them is the one that could be meant.
    let continued = "write = \"A\"\nas = \"next\"\nfrom = \"continuation\"\nof = \"A\"";
    let repeated = "write = \"A\"\nas = \"again\"\nrounds = \"submit\"";
    refuses(&[
        (
            &[SERVER, &two, repeated],
            3,
            "there is no last request to send again; put a write of one before it",
        ),
        (
            &[SERVER, &two, "send = \"A\"\nas = \"sent\""],
            3,
            "there is no last request to send again",
        ),
        (
            &[SERVER, &two, continued],
            3,
            "of = \"A\": no earlier step sends one write by that name",
        ),
        (
            &[SERVER, "write = \"A\"\nchanged = true", "send = \"A\"\nas = \"sent\""],
            3,
            "only changed data",
        ),
    ]);
    takes(&[&[
        SERVER,
        &two,
        "write = \"A\"\nas = \"one\"\nfrom = \"start\"\nrounds = \"submit\"",
        repeated,
    ]]);
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

#[test]
fn what_an_observation_waits_for_can_come() {
    let observe = |until: &str| format!("observe = \"seen\"\nuntil = {{ {until} }}");
    let table = [
        (
            "of = \"B\", read = \"events\"",
            "until: of = \"B\": no earlier step writes that operation",
        ),
        (
            "of = \"A\", read = \"event\"",
            "there is no [read.event] in a profile; did you mean `events`?",
        ),
        ("of = \"A\", read = \"events\", rows = 0", "wait for 1 to 10000"),
        ("of = \"A\", read = \"effects\", rows = 10001", "wait for 1 to 10000"),
        (
            "of = \"A\", read = \"events\", where = { evnt = \"claimed\" }",
            "`evnt` is no column of [read.events], which has execution, seq, event, token, worker, note; did you mean `event`?",
        ),
        (
            "of = \"A\", read = \"events\", where = { event = \"claimd\" }",
            "`event` is never \"claimd\": it is one of submitted, ready, claimed,",
        ),
        (
            "of = \"A\", read = \"events\", where = { event = \"claimd\" }",
            "; did you mean `claimed`?",
        ),
        (
            "of = \"A\", read = \"events\", where = { token = \"1\" }",
            "`token` is never \"1\": it is an integer",
        ),
        (
            "of = \"A\", read = \"events\", where = { worker = true }",
            "`worker` is never true: it is a text or an integer",
        ),
        (
            "of = \"A\", read = \"executions\", where = { state = \"done\" }",
            "it is one of ready, running, retry_wait,",
        ),
        (
            "of = \"A\", read = \"leases\", where = { expires = 1 }",
            "`expires` is no column of [read.leases]",
        ),
        (
            "of = \"A\", read = \"retries\", where = { backoff_s = \"5\" }",
            "`backoff_s` is never \"5\": it is a number",
        ),
    ];
    for (until, message) in table {
        let refused = refused(&[SERVER, SUBMIT, &observe(until)], 3);
        assert!(refused.contains(message), "{until}: {refused}");
    }
    let quiet = "observe = \"seen\"\nwhen = \"quiet\"\nuntil = { of = \"A\", read = \"effects\" }";
    let message = refused(&[SERVER, SUBMIT, STOP, quiet], 4);
    assert!(message.contains("leave out when = \"quiet\""), "{message}");
    for until in [
        "of = \"A\", read = \"effects\"",
        "of = \"A\", read = \"effects\", rows = 10000, where = { anything = \"x\" }",
        "of = \"A\", read = \"events\", rows = 2, where = { event = \"failed\", note = \"terminal\", worker = 7, token = 1 }",
        "of = \"A\", read = \"executions\", where = { state = \"retry_wait\", attempts = 2 }",
        "of = \"A\", read = \"leases\", where = { state = \"taken\", expires_at = \"later\" }",
        "of = \"A\", read = \"retries\", where = { backoff_s = 2.5, attempt = 1 }",
        "of = \"A\", read = \"outside\"",
    ] {
        takes(&[&[SERVER, SUBMIT, &observe(until)]]);
    }
}

#[test]
fn the_log_is_tampered_with_on_a_frozen_copy_only() {
    refuses(&[
        (
            &[SERVER, SUBMIT, "observe = \"end\"\ntampered = true"],
            3,
            "`tampered` works on a frozen copy: add when = \"quiet\"",
        ),
        (
            &[SERVER, SUBMIT, "observe = \"end\"\nwhen = \"quiet\"\ntampered = true"],
            3,
            "every process stopped or killed",
        ),
        (
            &[SERVER, "write = \"A\"\ntampered = true"],
            2,
            "`tampered` does not belong to a `write` step",
        ),
    ]);
    takes(&[&[
        SERVER,
        SUBMIT,
        STOP,
        "observe = \"end\"\nwhen = \"quiet\"\ntampered = true",
    ]]);
}

#[test]
fn keys_of_one_step_do_not_stand_at_another() {
    for (step, key, verb) in [
        ("pause = \"server\"\nas = \"x\"", "as", "pause"),
        ("resume = \"server\"\non = \"server\"", "on", "resume"),
        ("open = \"A\"\ngate = \"closed\"", "gate", "open"),
        ("send = \"A\"\ncopies = 2", "copies", "send"),
        ("observe = \"x\"\nrounds = \"submit\"", "rounds", "observe"),
        (
            "write = \"A\"\nuntil = { of = \"A\", read = \"events\" }",
            "until",
            "write",
        ),
        (
            "cancel_execution = \"A\"\nonly = \"status\"",
            "only",
            "cancel_execution",
        ),
    ] {
        let message = refused(&[SERVER, step], 2);
        assert_eq!(message, format!("`{key}` does not belong to a `{verb}` step"));
    }
}

#[test]
fn every_wait_of_executions_has_one_millisecond_to_an_hour() {
    for name in ["condition_ms", "settled_ms"] {
        for (ms, is_taken) in [(0, false), (1, true), (3_600_000, true), (3_600_001, false)] {
            let text = case(&[SERVER]).replace("controls =", &format!("bounds = {{ {name} = {ms} }}\ncontrols ="));
            let message = format!(
                "mine.toml:9:{}: bounds: {name} = {ms}: a wait has 1 to 3600000",
                15 + name.len()
            );
            match parse("mine.toml", &text) {
                Ok(_) => assert!(is_taken, "{name} = {ms}"),
                Err(error) => assert!(!is_taken && error.to_string().starts_with(&message), "{error}"),
            }
        }
    }
}

/// A surface that a step asks for is named, so that a target without it is `unsupported` and not broken.
#[test]
fn steps_of_executions_ask_for_their_surfaces() {
    let table: [(&[&str], &str); 10] = [
        (&[SERVER, SUBMIT], "write.submit"),
        (&[SERVER, GATED, OPEN], "write.gate"),
        (&[SERVER, "write = \"A\"\nmode = \"failing\""], "write.failing"),
        (&[SERVER, SUBMIT, "cancel_execution = \"A\""], "write.cancel"),
        (&[WORKER], "processes.worker"),
        (&["start = \"reaper\""], "processes.reaper"),
        (&["start = \"server\"\nsettings = { workers = 0 }"], "launch.workers"),
        (&["start = \"server\"\nsettings = { backoff_s = 1 }"], "launch.leases"),
        (
            &["start = \"server\"\nsettings = { outside_key = \"none\" }"],
            "launch.outside-key",
        ),
        (
            &[
                SERVER,
                SUBMIT,
                STOP,
                "observe = \"end\"\nwhen = \"quiet\"\ntampered = true",
            ],
            "tampering",
        ),
    ];
    for (steps, surface) in table {
        let text = case(steps);
        let without = text
            .replacen(&format!("{surface:?}, "), "", 1)
            .replacen(&format!(", {surface:?}"), "", 1);
        assert_ne!(text, without, "{surface}");
        let error = parse("mine.toml", &without).expect_err(surface).to_string();
        assert!(
            error.contains(&format!("a step uses `{surface}`: name it in `needs`")),
            "{error}"
        );
    }
}
