//! Table tests of the facts: hand-written logs and rows, good ones and one for each way to be wrong.

use serde_json::{Value, json};

use super::told_store::{Store, fenced, overtaken, rows};
use crate::record::ReadingOutcome;

#[test]
fn a_fenced_worker_leaves_every_fact_as_it_should_be() {
    fenced().shows(&[
        ("happened.submitted", json!(1)),
        ("happened.ready", json!(2)),
        ("happened.claimed", json!(2)),
        ("happened.heartbeat", json!(0)),
        ("happened.completed", json!(1)),
        ("happened.failed", json!(0)),
        ("happened.lease_expired", json!(1)),
        ("happened.stale_rejected", json!(1)),
        ("happened.retry_scheduled", json!(0)),
        ("happened.cancelled", json!(0)),
        ("happened.duplicate_detected", json!(0)),
        ("tokens", json!([1, 2])),
        ("tokens_increase", json!(true)),
        ("gapless", json!(true)),
        ("folds", json!(true)),
        ("overlaps", json!(0)),
        ("claimed_once", json!(false)),
        ("ended_once", json!(true)),
        ("completed_by", json!(["B"])),
        ("stale_tokens", json!([1])),
        ("refused", json!(["complete"])),
        ("late_acts", json!(1)),
        ("state", json!("completed")),
        ("attempts", json!(2)),
    ]);
    let facts = fenced().facts();
    assert!(!facts.contains_key("folds_because"), "{facts:?}");
}

#[test]
fn facts_are_there_for_what_is_read_only() {
    let names = |store: Store| store.facts().into_keys().collect::<Vec<_>>();
    assert!(names(Store::quiet()).is_empty());
    assert_eq!(names(Store::quiet().rows(&["x ready 0 0"])), ["attempts", "state"]);
    let log_alone = names(Store::quiet().log(&["x submitted", "x ready"]));
    assert_eq!(log_alone.len(), 21);
    for absent in ["folds", "folds_because", "state", "held", "backoffs"] {
        assert!(!log_alone.contains(&absent.to_owned()), "{absent}");
    }
}

#[test]
fn a_late_act_is_one_of_a_worker_whose_lease_had_ended() {
    let late = |rest: &[&str]| Store::quiet().log(&overtaken(rest)).fact("late_acts");
    assert_eq!(late(&[]), 0);
    for act in [
        "x completed 1 A",
        "x heartbeat 1 A",
        "x failed 1 A",
        "x failed 1 A terminal",
        "x stale_rejected 1 A complete",
        "x stale_rejected 1 - complete",
        "x stale_rejected - A complete",
        "x ready 1 A given_back",
    ] {
        assert_eq!(late(&[act]), 1, "nobody holds it: {act}");
        assert_eq!(late(&["x claimed 2 B", act]), 1, "another one holds it: {act}");
        // A worker's name is what tells them apart where a token is given twice.
        let names_worker = act.contains('A');
        assert_eq!(
            late(&["x claimed 1 B", act]),
            usize::from(names_worker),
            "the token again: {act}"
        );
        assert_eq!(late(&["x claimed 2 B", "x completed 2 B", act]), 1, "it is done: {act}");
        assert_eq!(
            late(&["x claimed 2 B", "x cancelled", act]),
            1,
            "it is cancelled: {act}"
        );
    }
    let both = ["x claimed 2 B", "x completed 1 A", "x completed 2 B"];
    assert_eq!(late(&both), 1, "B holds it all the while");
    let held = [
        "x claimed 2 B",
        "x heartbeat 2 B",
        "x failed 2 B",
        "x retry_scheduled",
        "x ready",
        "x claimed 3 A",
        "x ready 3 A given_back",
        "x claimed 4 A",
        "x completed 4 A",
    ];
    assert_eq!(late(&held), 0);
    assert_eq!(
        late(&["x claimed 2 A", "x stale_rejected 1 A heartbeat"]),
        1,
        "A again, under another token"
    );
    assert_eq!(late(&["x stale_rejected - - complete"]), 0, "it names nobody");
}

#[test]
fn a_worker_whose_execution_was_cancelled_acts_late() {
    let late = |act: &str| {
        let lines = ["x submitted", "x ready", "x claimed 1 A", "x cancelled", act];
        Store::quiet().log(&lines).fact("late_acts")
    };
    assert_eq!(late("x stale_rejected 1 A complete"), 1);
    assert_eq!(late("x completed 1 A"), 1);
    assert_eq!(late("x duplicate_detected"), 0);
}

/// Whoever expires the lease of a last attempt says of it that it failed; its worker did nothing.
#[test]
fn the_end_of_a_last_attempt_is_no_act_of_its_worker() {
    let late = |rest: &[&str]| {
        let begins = ["x submitted", "x ready", "x claimed 1 A", "x lease_expired 1 A"];
        Store::quiet().log(&[&begins, rest].concat()).fact("late_acts")
    };
    assert_eq!(late(&["x failed 1 A terminal"]), 0);
    assert_eq!(late(&["x failed 1 A"]), 1);
    assert_eq!(late(&["x failed 1 A terminal", "x completed 1 A"]), 1);
}

#[test]
fn claims_overlap_where_another_one_has_not_ended() {
    let overlaps = |rest: &[&str]| {
        let begins = ["x submitted", "x ready", "x claimed 1 A"];
        Store::quiet().log(&[&begins, rest].concat()).fact("overlaps")
    };
    assert_eq!(overlaps(&[]), 0);
    assert_eq!(overlaps(&["x claimed 2 B"]), 1);
    assert_eq!(overlaps(&["x claimed 1 A"]), 1);
    assert_eq!(overlaps(&["x claimed 2 B", "x claimed 3 C"]), 2);
    for end in [
        "x lease_expired 1 A",
        "x completed 1 A",
        "x failed 1 A",
        "x ready 1 A given_back",
        "x cancelled",
    ] {
        assert_eq!(overlaps(&[end, "x claimed 2 B"]), 0, "{end}");
    }
    for no_end in [
        "x heartbeat 1 A",
        "x stale_rejected 7 C",
        "x completed 7 C",
        "x ready",
        "y cancelled",
    ] {
        assert_eq!(overlaps(&[no_end, "x claimed 2 B"]), 1, "{no_end}");
    }
    assert_eq!(
        overlaps(&["y submitted", "y ready", "y claimed 1 B"]),
        0,
        "another execution"
    );
    // The one that ended was the first of two under the same token.
    assert_eq!(
        overlaps(&[
            "x claimed 1 B",
            "x completed 1 B",
            "x lease_expired 1 A",
            "x claimed 1 C"
        ]),
        1
    );
}

#[test]
fn several_executions_are_told_apart_and_have_to_be_right_each() {
    let log = [
        "x submitted",
        "x ready",
        "y submitted",
        "y ready",
        "y claimed 1 B",
        "x claimed 1 A",
        "y completed 1 B",
        "x completed 1 A",
    ];
    let both = Store::quiet().log(&log).rows(&["x completed 1 1", "y completed 1 1"]);
    both.shows(&[
        ("tokens", json!([1, 1])),
        ("tokens_increase", json!(true)),
        ("gapless", json!(true)),
        ("folds", json!(true)),
        ("overlaps", json!(0)),
        ("late_acts", json!(0)),
        ("claimed_once", json!(true)),
        ("ended_once", json!(true)),
        ("completed_by", json!(["B", "A"])),
        ("state", json!("completed")),
        ("attempts", json!(1)),
    ]);
    let one = Store::quiet()
        .log(&log[..7])
        .rows(&["x running 1 1", "y completed 3 1"]);
    one.shows(&[
        ("claimed_once", json!(true)),
        ("ended_once", json!(false)),
        ("state", json!(["running", "completed"])),
        ("attempts", json!([1, 3])),
        ("folds", json!(false)),
    ]);
    let twice = Store::quiet().log(&[&log[..], &["x completed 1 A"]].concat());
    twice.shows(&[("ended_once", json!(false)), ("claimed_once", json!(true))]);
}

#[test]
fn tokens_increase_strictly_within_an_execution() {
    let increase = |lines: &[&str]| Store::quiet().log(lines).fact("tokens_increase");
    assert_eq!(
        increase(&["x claimed 1 A", "y claimed 1 A", "x claimed 5 A", "y claimed 2 A"]),
        true
    );
    assert_eq!(increase(&["x claimed 1 A", "x claimed 1 B"]), false);
    assert_eq!(increase(&["x claimed 2 A", "x claimed 1 B"]), false);
    assert_eq!(increase(&["x claimed - A"]), false);
    assert_eq!(increase(&["x claimed 1 A", "x completed 1 A", "x claimed 2 B"]), true);
}

#[test]
fn numbers_have_to_be_there_each_once_and_in_turn() {
    let log = || Store::quiet().log(&["x submitted", "y submitted", "x ready", "y ready"]);
    assert_eq!(log().fact("gapless"), true);
    for (row, seq) in [(0, 2), (2, 3), (2, 1), (3, 0)] {
        assert_eq!(log().cell("events", row, "seq", json!(seq)).fact("gapless"), false);
    }
}

#[test]
fn a_log_that_does_not_fold_to_its_row_says_why() {
    let because = |store: Store| {
        assert_eq!(store.fact("folds"), false);
        store.fact("folds_because")
    };
    let unfenced = overtaken(&["x claimed 2 B", "x completed 2 B", "x completed 1 A"]);
    assert_eq!(
        because(Store::quiet().log(&unfenced).rows(&["x completed 2 2"])),
        "execution x: event 8 (completed, token 1, worker A) cannot follow: it is completed"
    );
    for row in ["x running 2 2", "x completed 1 2", "x completed 2 1"] {
        let found: Vec<&str> = row.split(' ').collect();
        let says = format!("{}, attempts {}, token {}", found[1], found[2], found[3]);
        assert_eq!(
            because(fenced().rows(&[row])),
            format!("execution x: its log comes to completed, attempts 2, token 2, and its row says {says}")
        );
    }
    assert_eq!(
        because(fenced().rows(&[])),
        "execution x: its log comes to completed, attempts 2, token 2, and there is no row of it"
    );
    assert_eq!(
        because(fenced().rows(&["w ready 0 0", "x completed 2 2"])),
        "execution w: there is a row of it, and no event"
    );
    assert_eq!(
        because(fenced().cell("events", 4, "seq", json!(6))),
        "execution x: event 6 (ready) stands where event 5 must stand"
    );
}

/// What must hold of every execution does not hold where there is none: a query that selects nothing is no pass.
#[test]
fn an_empty_log_shows_nothing() {
    let missing = || ReadingOutcome::Nothing {
        missing: "no such table".to_owned(),
    };
    let nothing = Store::quiet().with("events", missing()).with("executions", missing());
    for store in [nothing, Store::quiet().log(&[]).rows(&[])] {
        store.shows(&[
            ("happened.submitted", json!(0)),
            ("tokens", json!([])),
            ("overlaps", json!(0)),
            ("late_acts", json!(0)),
            ("tokens_increase", json!(false)),
            ("gapless", json!(false)),
            ("claimed_once", json!(false)),
            ("ended_once", json!(false)),
            ("folds", json!(false)),
            (
                "folds_because",
                json!("there is neither an event nor an execution of it"),
            ),
            ("state", json!([])),
            ("attempts", json!([])),
        ]);
    }
}

#[test]
fn of_a_living_store_only_an_impossible_log_is_told_against_the_server() {
    let living = |store: Store| Store {
        is_living: true,
        ..store
    };
    assert_eq!(living(fenced()).fact("folds"), true);
    assert_eq!(
        living(fenced().rows(&["x running 2 2"])).not_observed(
            "log and rows were read one after the other while the server lived, and differ (execution x: its log comes to \
             completed, attempts 2, token 2, and its row says running, attempts 2, token 2): observe a quiet store"
        ),
        ["folds"]
    );
    let impossible = Store::quiet()
        .log(&["x submitted", "x claimed 1 A"])
        .rows(&["x running 1 1"]);
    assert_eq!(living(impossible).fact("folds"), false);
}

#[test]
fn what_cannot_be_read_keeps_only_the_facts_from_being_observed_that_need_it() {
    let others = "only execution, seq, event, token, worker, note";
    let missing = |column: &str| {
        let others = others
            .replace(&format!("{column}, "), "")
            .replace(&format!(", {column}"), "");
        let others = format!("{others}; name one so, with `AS {column}`");
        let reason = format!("[read.events] gives no column `{column}`, {others}");
        fenced().without("events", column).not_observed(&reason)
    };
    assert_eq!(missing("seq"), ["folds", "gapless"]);
    assert_eq!(
        missing("token"),
        [
            "folds",
            "late_acts",
            "overlaps",
            "stale_tokens",
            "tokens",
            "tokens_increase"
        ]
    );
    assert_eq!(missing("worker"), ["completed_by", "folds", "late_acts", "overlaps"]);
    assert_eq!(missing("note"), ["folds", "late_acts", "overlaps", "refused"]);
    assert_eq!(
        missing("execution"),
        [
            "claimed_once",
            "ended_once",
            "folds",
            "gapless",
            "late_acts",
            "overlaps",
            "tokens_increase"
        ]
    );
    let words = "submitted, ready, claimed, heartbeat, completed, failed, lease_expired, stale_rejected, retry_scheduled, \
                 cancelled, duplicate_detected";
    let unknown =
        format!("[read.events] gives a `event` that is not one of the event words ({words}): \"done\", in row 7");
    let observed_still = ["attempts", "gapless", "state"];
    let all = fenced().facts().into_keys();
    let rest: Vec<String> = all.filter(|name| !observed_still.contains(&name.as_str())).collect();
    let store = fenced().cell("events", 6, "event", json!("done"));
    assert_eq!(store.not_observed(&unknown), rest);

    let token = "[read.events] gives a `token` that is not an integer or null: \"one\", in row 3";
    let store = fenced().cell("events", 2, "token", json!("one"));
    assert_eq!(store.not_observed(token), missing("token"));
    let note = "[read.events] gives a `note` that is not a text or null: 7, in row 8";
    let store = fenced().cell("events", 7, "note", json!(7));
    assert_eq!(store.not_observed(note), missing("note"));
    let seq = "[read.events] gives a `seq` that is not an integer: null, in row 1";
    let store = fenced().cell("events", 0, "seq", Value::Null);
    assert_eq!(store.not_observed(seq), missing("seq"));

    let states = "ready, running, retry_wait, completed, failed, cancelled";
    let state =
        format!("[read.executions] gives a `state` that is not one of the states ({states}): \"done\", in row 1");
    let store = fenced().cell("executions", 0, "state", json!("done"));
    assert_eq!(store.not_observed(&state), ["folds", "state"]);
    let twice = "[read.executions] gives more than one row for execution x: let it give one for each";
    let store = fenced().rows(&["x completed 2 2", "x completed 2 2"]);
    assert_eq!(store.not_observed(twice), ["folds"]);
    let unreadable = ReadingOutcome::Unreadable {
        reason: "the store is torn".to_owned(),
    };
    let store = fenced().with("executions", unreadable);
    assert_eq!(store.not_observed("the store is torn"), ["attempts", "folds", "state"]);
}

#[test]
fn executions_and_workers_may_be_numbered() {
    let mut store = fenced();
    for row in &mut store.rows_of("events").rows {
        row[0] = json!(12);
    }
    let store = store
        .cell("executions", 0, "execution", json!(12))
        .cell("events", 6, "worker", json!(4711));
    store.shows(&[("folds", json!(true)), ("completed_by", json!(["4711"]))]);
}

#[test]
fn held_leases_are_told_in_an_order_of_their_own() {
    let columns = ["execution", "token", "worker", "state", "expires_at"];
    let lease = |token: i64, worker: &str, state: &str, expires_at: Value| {
        vec![json!("x"), json!(token), json!(worker), json!(state), expires_at]
    };
    let ended = lease(1, "A", "expired", json!(30));
    let leases = [
        lease(2, "B", "held", json!(60)),
        lease(1, "C", "held", json!("2026-07-28T00:00:00Z")),
    ];
    let held = |order: Vec<Vec<Value>>| Store::quiet().with("leases", rows(&columns, order)).fact("held");
    let [one, other] = leases.clone();
    assert_eq!(
        held(vec![ended.clone(), one, other]),
        json!([
            {"worker": "C", "token": 1, "expires_at": "2026-07-28T00:00:00Z"},
            {"worker": "B", "token": 2, "expires_at": 60},
        ])
    );
    let [one, other] = leases;
    assert_eq!(
        held(vec![other.clone(), one.clone(), ended.clone()]),
        held(vec![ended.clone(), one, other])
    );
    assert_eq!(held(vec![ended]), json!([]));
}

#[test]
fn backoffs_are_told_by_attempt() {
    let columns = ["execution", "attempt", "backoff_s", "state"];
    let retry = |attempt: i64, backoff_s: Value| vec![json!("x"), json!(attempt), backoff_s, json!("promoted")];
    let order = vec![retry(2, json!(10)), retry(1, json!(5)), retry(3, json!(20.5))];
    let store = Store::quiet().with("retries", rows(&columns, order));
    assert_eq!(store.fact("backoffs"), json!([5, 10, 20.5]));
    let reason = "[read.retries] gives a `backoff_s` that is not a number: \"5s\", in row 2";
    let store = store.cell("retries", 1, "backoff_s", json!("5s"));
    assert_eq!(store.not_observed(reason), ["backoffs"]);
}
