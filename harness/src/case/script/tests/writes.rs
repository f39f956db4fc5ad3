//! Gates and copies.

use super::{GATED, OPEN, SERVER, SUBMIT, refuses, takes};

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
        (
            &[
                SERVER,
                &two,
                "write = \"A\"\nas = \"more\"\nfrom = \"start\"\nrounds = \"submit\"\ncopies = 2",
            ],
            3,
            "A was written before, and a copy of it is nobody's repeat",
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
