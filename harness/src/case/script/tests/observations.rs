//! What is waited for, and what is tried on a copy.

use super::{SERVER, STOP, SUBMIT, refused, refused_at, refuses, takes};

#[test]
fn what_an_observation_waits_for_can_come() {
    let observe = |until: &str| format!("observe = \"seen\"\nuntil = {{ {until} }}");
    let table = [
        (
            "of = \"B\", read = \"events\"",
            "until: of = \"B\": no earlier step writes that operation; those that are written before are A",
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
        let refused = refused_at(&[SERVER, SUBMIT, &observe(until)], 3, Some("until"));
        assert!(refused.contains(message), "{until}: {refused}");
    }
    let quiet = "observe = \"seen\"\nwhen = \"quiet\"\nuntil = { of = \"A\", read = \"effects\" }";
    let message = refused_at(&[SERVER, SUBMIT, STOP, quiet], 4, Some("until"));
    assert!(message.contains("leave out when = \"quiet\""), "{message}");
    let nothing = refused(&[SERVER, "status = \"A\""], 2);
    assert_eq!(nothing, "status = \"A\": no earlier step writes that operation, or any");
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
