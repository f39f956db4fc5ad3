//! Scripts that cannot be meant, each refused at its step with what to do, and the ones beside them that can.

mod observations;
mod processes;
mod writes;

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
    // A step of its own, so that there is a fact whatever the others are.
    text + "[[step]]\nobserve = \"last-of-all\"\n[[check]]\nid = \"c\"\nbasis = \"contract\"\nexpect = { \"last-of-all.problem\" = \"none\" }\n"
}

/// What a case of these steps is refused with, which must be at the step of this number.
#[track_caller]
fn refused(steps: &[&str], number: usize) -> String {
    refused_at(steps, number, None)
}

/// The same; with a key, which must stand at the beginning of a line, at its value.
#[track_caller]
fn refused_at(steps: &[&str], number: usize, key: Option<&str>) -> String {
    let text = case(steps);
    let error = parse("mine.toml", &text).expect_err("it cannot be meant").to_string();
    let before: String = text.split("[[step]]").take(number).collect();
    let (lines, column) = key.map_or((0, 1), |key| {
        let mut lines = steps[number - 1].lines();
        let of_key = lines.position(|line| line.starts_with(key)).expect("the key");
        (of_key + 1, key.len() + " = ".len() + 1)
    });
    let line = before.lines().count() + 1 + lines;
    let place = format!("mine.toml:{line}:{column}: step {number}: ");
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
const SERVER_AGAIN: &str = "start = \"server\"\nas = \"again\"";

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
            error.contains(&format!(") uses `{surface}`: name it in `needs`")) && error.contains(": step "),
            "{error}"
        );
    }
}
