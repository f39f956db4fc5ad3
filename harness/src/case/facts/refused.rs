//! What is refused in a check, and from where in its line; and what is taken beside it.

use crate::case::parse;
use crate::case::surface::Surface;

/// Most kinds of steps; `status` only where the target has it.
const STEPS: &str = r#"
[[step]]
start = "server"
as    = "first"
[[step]]
observe = "before"
[[step]]
write = "A"
as    = "attempt"
fault = { at = "last-round", withhold_reply_until = "effect-visible", then = "kill-group" }
[[step]]
start = "server"
as    = "second"
[[step]]
write = "A"
as    = "retry"
[[step]]
write   = "C"
as      = "changed"
rounds  = "submit"
[[step]]
cancel_execution = "C"
[[step]]
status = "A"
only   = "status"
[[step]]
hold = "store"
[[step]]
send = "A"
as   = "sent"
[[step]]
release = "store"
[[step]]
reconcile = "A"
as = "decision"
[[step]]
stop = "second"
[[step]]
observe = "end"
when    = "quiet"
"#;

/// What a check of such a case is refused with, and from where in its line.
fn refusal(check: &str) -> Option<(usize, String)> {
    let needs: Vec<&str> = Surface::ALL
        .iter()
        .map(|surface| surface.name())
        .filter(|name| !["status", "read.ledger", "tampering"].contains(name))
        .collect();
    let text = format!(
        "format = 1\nid = \"mine\"\nfamily = \"mine\"\nrevision = 1\ntitle = \"t\"\nproves = \"p\"\nmatters = \"m\"\n\
         needs = {needs:?}\nuses = [\"status\", \"read.ledger\"]\ncontrols = [\"sees-duplicates\"]\n{STEPS}\n\
         [[check]]\nid = \"c\"\nbasis = \"contract\"\n{check}\n"
    );
    let error = parse("mine.toml", &text).err()?.to_string();
    let line = text
        .lines()
        .position(|line| line == check.lines().last().unwrap_or_default());
    let place = format!("mine.toml:{}:", line.expect("the line of the check") + 1);
    let rest = error
        .strip_prefix(&place)
        .unwrap_or_else(|| panic!("{check}: not at {place}: {error}"));
    let (column, message) = rest
        .split_once(": check `c`: ")
        .unwrap_or_else(|| panic!("{check}: {error}"));
    Some((column.parse().expect("a column"), message.to_owned()))
}

#[test]
fn what_can_be_there_is_taken() {
    for check in [
        "expect = { \"end.effects.A\" = 1, \"end.rows.C\" = [], \"before.effects.A\" = 0.0 }",
        "expect = { \"end.happened.stale_rejected.A\" = 2, \"end.entries.steps.A\" = [\"x\", 1] }",
        "expect = { \"end.state.C\" = \"completed\", \"end.attempts.C\" = [1, 2] }",
        "among = { \"end.state.C\" = [\"completed\", [\"failed\", \"ready\"]] }",
        "expect = { \"attempt.outcome\" = \"unknown\", \"attempt.withheld.outcome\" = \"result\", \"attempt.moment\" = \"reply\" }",
        "expect = { \"retry.result\" = { a = 1 }, \"retry.result.state.of.it\" = true, \"retry.result.0\" = \"x\" }",
        "same = [[\"retry.result\", \"attempt.withheld.result.inside\"], [\"end.attempts.C\", \"end.effects.A\"]]",
        "same = [[\"retry.result.state\", \"end.state.C\"], [\"end.backoffs.A\", \"end.tokens.A\"]]",
        "expect = { \"retry.refusal\" = \"words of the server\", \"changed.refusal\" = -32602, \"retry.repeats_exactly\" = true }",
        "expect = { \"sent.answered\" = false, \"sent.withheld.outcome\" = \"asked\", \"release.answered\" = 0 }",
        "only = \"status\"\nexpect = { \"status.state\" = \"applied\", \"status.execution_state\" = \"done\", \"status.scope.tool\" = \"x\" }",
        "only = \"status\"\nexpect = { \"recovery.after.status\" = \"stop\" }",
        "only = \"read.ledger\"\nexpect = { \"end.ledger.A\" = 1 }",
        "expect = { \"cancelled.state\" = \"cancelled\", \"decision.code\" = -1, \"first.survivors\" = 0, \"end.kept.A\" = true }",
    ] {
        assert_eq!(refusal(check), None, "{check}");
    }
}

/// Each of these checks is refused from this column on, with these words.
#[track_caller]
fn refuses(table: &[(&str, usize, &str)]) {
    for (check, column, message) in table {
        let (found, refused) = refusal(check).unwrap_or_else(|| panic!("{check} is taken"));
        assert!(refused.contains(message), "{check}: {refused}");
        assert_eq!(found, *column, "{check}: {refused}");
    }
}

#[test]
fn a_name_that_no_fact_of_the_step_has_is_refused() {
    refuses(&[
        (
            "expect = { \"end.newdata.A\" = 0 }",
            12,
            "`newdata` is no fact of `observe`, which has effects, ledger, rows,",
        ),
        ("expect = { \"end.newdata.A\" = 0 }", 12, "; did you mean `new_data`?"),
        (
            "expect = { \"changed.outcom\" = \"refused\" }",
            12,
            "`outcom` is no fact of `write` or `send`, which has outcome, answered,",
        ),
        (
            "expect = { \"changed.outcom\" = \"refused\" }",
            12,
            "; did you mean `outcome`?",
        ),
        (
            "expect = { \"first.survivor\" = 0 }",
            12,
            "which has survivors, code, signal, writes, statuses; did you mean `survivors`?",
        ),
        (
            "expect = { \"decision.cod\" = 0 }",
            12,
            "`cod` is no fact of `reconcile`",
        ),
        (
            "expect = { \"release.outcome\" = \"result\" }",
            12,
            "`outcome` is no fact of `release`, which has drained, answered",
        ),
        (
            "only = \"status\"\nexpect = { \"status.stat\" = \"applied\" }",
            12,
            "`stat` is no fact of `status`",
        ),
    ]);
}

#[test]
fn a_path_that_leads_nowhere_is_refused() {
    refuses(&[
        (
            "expect = { \"ende.effects.A\" = 0 }",
            12,
            "`ende.effects.A` begins with no step's name; did you mean `end`?",
        ),
        (
            "expect = { \"end\" = 0 }",
            12,
            "`end` is the step, and no fact of it: what can follow is effects,",
        ),
        (
            "expect = { \"end.effects\" = 0 }",
            12,
            "`end.effects` ends too early: what can follow is A, C",
        ),
        (
            "expect = { \"end.effects.B\" = 0 }",
            12,
            "no step writes an operation `B`; those that are written are A, C",
        ),
        (
            "expect = { \"end.effects.A.rows\" = 0 }",
            12,
            "`end.effects.A` is the whole fact, and nothing follows; leave out `.rows`",
        ),
        (
            "expect = { \"end.happened.claimd.A\" = 0 }",
            12,
            "in `end.happened` is no `claimd`; there are submitted, ready, claimed,",
        ),
        (
            "expect = { \"end.entries.effects.A\" = [] }",
            12,
            "in `end.entries` is no `effects`; there are watchers,",
        ),
        (
            "expect = { \"attempt.withheld.reslt\" = 0 }",
            12,
            "in `attempt.withheld` is no `reslt`; there are outcome, result, replayed, refusal, refusal_text; did you mean `result`?",
        ),
        (
            "same = [[\"retry.result\", \"attempt.withheld.reslt\"]]",
            26,
            "did you mean `result`?",
        ),
        (
            "same = [[\"retry.reslt\", \"attempt.withheld.result\"]]",
            10,
            "did you mean `result`?",
        ),
        (
            "expect = { \"recovery.then.status\" = \"stop\" }",
            12,
            "in `recovery` is no `then`; there are after, because",
        ),
        (
            "expect = { \"recovery.after.attempt\" = \"stop\" }",
            12,
            "in `recovery.after` is no `attempt`; there are status",
        ),
    ]);
}

#[test]
fn a_fact_that_this_step_or_this_case_never_has_is_refused() {
    refuses(&[
        (
            "expect = { \"end.doubled.A\" = 2 }",
            12,
            "is never there: an observation has it only with `doubled`",
        ),
        (
            "expect = { \"end.reached\" = true }",
            12,
            "is never there: an observation has it only with `until`",
        ),
        (
            "expect = { \"before.kept.A\" = true }",
            12,
            "is never there: an observation has it only with another `observe` before it",
        ),
        (
            "expect = { \"end.new_data.C\" = 0 }",
            12,
            "is never there: an observation has it only behind a write of the operation with `changed = true`",
        ),
        (
            "expect = { \"end.tampering.update.A\" = \"refused\" }",
            12,
            "is never there: an observation has it only with `tampered = true`",
        ),
        (
            "expect = { \"retry.withheld.outcome\" = \"result\" }",
            12,
            "is never there: a write has it only with `fault`",
        ),
        (
            "expect = { \"changed.repeats_exactly\" = true }",
            12,
            "is never there: only a `write` has it that repeats",
        ),
        (
            "expect = { \"sent.accepted\" = 1 }",
            12,
            "is never there: only a `write` has it",
        ),
        (
            "expect = { \"end.ledger.A\" = 1 }",
            12,
            "is there only with `read.ledger`: name it in `needs`, or in `uses` with only = \"read.ledger\" at the check",
        ),
        (
            "expect = { \"status.state\" = \"applied\" }",
            12,
            "is there only with `status`: add only = \"status\"",
        ),
        (
            "expect = { \"recovery.after.status\" = \"stop\" }",
            12,
            "is there only with `status`: add only = \"status\"",
        ),
    ]);
}

/// Every server would fail such a check, whatever it does.
#[test]
fn what_the_fault_of_the_case_makes_impossible_is_refused() {
    refuses(&[
        (
            "expect = { \"attempt.outcome\" = \"result\" }",
            32,
            "`attempt.outcome` is never \"result\": the fault of `attempt` keeps the reply from the client side, so it is \
             `unknown`; how the reply answered is in `attempt.withheld.outcome`",
        ),
        (
            "expect = { \"attempt.answered\" = true }",
            33,
            "so it is false; how the reply answered is in `attempt.withheld.outcome`",
        ),
        (
            "expect = { \"attempt.result.state\" = \"applied\" }",
            12,
            "`attempt.result.state` is never there: the fault of `attempt` keeps the reply from the client side; what the reply \
             was is in `attempt.withheld.result.state`",
        ),
        (
            "among = { \"attempt.refusal\" = [\"conflict\"] }",
            11,
            "what the reply was is in `attempt.withheld.refusal`",
        ),
        (
            "same = [[\"retry.result\", \"attempt.result\"]]",
            26,
            "what the reply was is in `attempt.withheld.result`",
        ),
        (
            "among = { \"attempt.outcome\" = [\"result\", \"refused\"] }",
            31,
            "so it is `unknown`",
        ),
        (
            "expect = { \"first.code\" = 0 }",
            12,
            "`first.code` is never there: the fault of `attempt` kills that process, so it has no exit code; what ended it is in \
             `first.signal`, which is 9",
        ),
    ]);
    for check in [
        "expect = { \"attempt.outcome\" = \"unknown\", \"attempt.answered\" = false, \"first.signal\" = 9 }",
        "expect = { \"second.code\" = 0, \"retry.outcome\" = \"result\", \"attempt.withheld.outcome\" = \"result\" }",
        "among = { \"attempt.outcome\" = [\"unknown\", \"result\"] }",
        "same = [[\"attempt.withheld.result\", \"retry.result\"]]",
    ] {
        assert_eq!(refusal(check), None, "{check}");
    }
}

#[test]
fn facts_that_can_never_be_equal_are_refused() {
    refuses(&[(
        "same = [[\"retry.answered\", \"end.effects.A\"]]",
        10,
        "are never the same: one is true or false, the other a count, 0 or more",
    )]);
}

#[test]
fn a_value_that_a_fact_never_has_is_refused() {
    refuses(&[
        (
            "expect = { \"before.effects.A\" = \"0\" }",
            33,
            "`before.effects.A` is never \"0\": it is a count, 0 or more",
        ),
        ("expect = { \"end.effects.A\" = -1 }", 30, "is never -1: it is a count"),
        (
            "expect = { \"end.effects.A\" = 1.5 }",
            30,
            "is never 1.5: it is a count",
        ),
        (
            "expect = { \"end.effects.A\" = true }",
            30,
            "is never true: it is a count",
        ),
        (
            "expect = { \"retry.outcome\" = \"refusd\" }",
            30,
            "is never \"refusd\": it is one of result, refused, asked, unknown; did you mean `refused`?",
        ),
        (
            "among = { \"retry.outcome\" = [\"result\", \"ok\"] }",
            40,
            "`retry.outcome` is never \"ok\": it is one of",
        ),
        (
            "among = { \"retry.outcome\" = [] }",
            29,
            "`retry.outcome` can be none of no values: name some",
        ),
        (
            "expect = { \"attempt.withheld.outcome\" = \"unknown\" }",
            41,
            "it is one of result, refused, asked",
        ),
        (
            "expect = { \"end.state.C\" = \"done\" }",
            28,
            "it is one of ready, running, retry_wait, completed, failed, cancelled, or a list of such",
        ),
        (
            "expect = { \"end.state.C\" = [\"complete\"] }",
            28,
            "; did you mean `completed`?",
        ),
        (
            "only = \"status\"\nexpect = { \"status.state\" = \"aplied\" }",
            29,
            "; did you mean `applied`?",
        ),
        (
            "only = \"status\"\nexpect = { \"recovery.after.status\" = \"status-only\" }",
            38,
            "it is one of return-stored-result, stop",
        ),
        (
            "expect = { \"retry.answered\" = \"true\" }",
            31,
            "is never \"true\": it is true or false",
        ),
        (
            "expect = { \"retry.server_ended\" = false }",
            35,
            "is never false: it is true",
        ),
        (
            "expect = { \"retry.asked_inside\" = 0 }",
            35,
            "is never 0: it is a count, 1 or more",
        ),
        (
            "expect = { \"end.tokens.A\" = [\"1\"] }",
            29,
            "it is a list, each in it an integer, or null",
        ),
        (
            "expect = { \"end.completed_by.A\" = \"second\" }",
            35,
            "it is a list, each in it a text, or null",
        ),
    ]);
}
