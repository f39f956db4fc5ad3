//! The closed list of facts. In a path `A` stands for an operation that a step writes, `WORD` for an event word, `KIND` for a
//! reading, `STATUS` for a `status` step, `NAME` for what a profile names, and `MEMBER` for what a server does.

use super::holds::{Holds, Item};
use super::steps::{Maker, On};
use crate::case::surface::Surface;

/// One fact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fact {
    /// Its path behind the name of its step.
    pub(super) path: &'static str,
    /// The steps that make it.
    pub(super) maker: Maker,
    /// What they must be, or have before them.
    pub(super) on: On,
    /// Without these surfaces it is not made.
    pub(super) surfaces: &'static [Surface],
    /// What it can be.
    pub(super) holds: Holds,
    /// What it is, for people.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "the table in `cases/README.md` says it, and a test compares the two"
        )
    )]
    pub(super) is: &'static str,
}

/// How a reply is told, or that none came.
const OUTCOMES: &[&str] = &["result", "refused", "asked", "unknown"];

/// The same of a reply that was withheld.
const OUTCOMES_OF_A_REPLY: &[&str] = &["result", "refused", "asked"];

const FLAG: Holds = Holds::One(Item::Flag);
const COUNT: Holds = Holds::One(Item::Count);
const TEXT: Holds = Holds::One(Item::Text);
const TEXTS: Holds = Holds::List(Item::Text);

const fn fact(maker: Maker, path: &'static str, holds: Holds, is: &'static str) -> Fact {
    Fact {
        path,
        maker,
        on: On::Any,
        surfaces: &[],
        holds,
        is,
    }
}

impl Fact {
    const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    const fn with(mut self, surfaces: &'static [Surface]) -> Self {
        self.surfaces = surfaces;
        self
    }
}

/// Rows of a reading.
const fn reading(path: &'static str, surfaces: &'static [Surface], is: &'static str) -> Fact {
    fact(Maker::Observe, path, COUNT, is).with(surfaces)
}

/// Of the event log.
const fn logged(path: &'static str, holds: Holds, is: &'static str) -> Fact {
    fact(Maker::Observe, path, holds, is).with(&[Surface::ReadEvents])
}

use Maker::{CancelExecution, Observe, Process, Reconcile, Recovery, Release, Status, Write};

/// Every fact, in the order of the table in `cases/README.md`.
pub(super) const FACTS: &[Fact] = &[
    reading("effects.A", &[Surface::ReadEffects], "rows that carry A's marker at that observation"),
    reading("ledger.A", &[Surface::ReadLedger], "rows of `[read.ledger]`"),
    fact(Observe, "rows.A", Holds::List(Item::Row), "the rows themselves").with(&[Surface::ReadEffects]),
    reading("watchers.A", &[Surface::ReadWatchers], "rows of `[read.watchers]`"),
    reading("compensations.A", &[Surface::ReadCompensations], "rows of `[read.compensations]`"),
    reading("steps.A", &[Surface::ReadSteps], "rows of `[read.steps]`"),
    reading("events.A", &[Surface::ReadEvents], "rows of `[read.events]`"),
    reading("executions.A", &[Surface::ReadExecutions], "rows of `[read.executions]`"),
    reading("leases.A", &[Surface::ReadLeases], "rows of `[read.leases]`"),
    reading("retries.A", &[Surface::ReadRetries], "rows of `[read.retries]`"),
    reading("outside.A", &[Surface::ReadOutside], "rows of `[read.outside]`"),
    fact(Observe, "entries.KIND.A", Holds::List(Item::Cell),
        "the first columns of the rows of `[read.KIND]`, for each of them but `effects` and `ledger`"),
    logged("happened.WORD.A", COUNT, "how often this event is in the log, for each [event word](#event-logs)"),
    logged("tokens.A", Holds::ListWithNulls(Item::Integer), "tokens of the `claimed` events, in order"),
    logged("tokens_increase.A", FLAG, "whether they strictly increase within each execution"),
    logged("gapless.A", FLAG, "whether `seq` is 1, 2, 3 … for each execution"),
    logged("folds.A", FLAG,
        "whether each execution's log tells a history that can have happened, and comes to state, attempts and token of its row")
        .with(&[Surface::ReadEvents, Surface::ReadExecutions]),
    logged("folds_because.A", TEXT, "where not, why, for people").with(&[Surface::ReadEvents, Surface::ReadExecutions]),
    logged("overlaps.A", COUNT, "how many claims came while another claim of the same execution had not ended in the log"),
    logged("late_acts.A", COUNT,
        "how many events are of a worker whose lease on that execution had ended in the log: what it did (`completed`, \
         `heartbeat`, `failed`, `ready` as given back), or was refused (`stale_rejected`)"),
    logged("claimed_once.A", FLAG, "whether each execution in the log has exactly one `claimed`"),
    logged("ended_once.A", FLAG, "whether each has exactly one `completed`"),
    logged("completed_by.A", Holds::ListWithNulls(Item::Text), "workers of the `completed` events, in order"),
    logged("stale_tokens.A", Holds::ListWithNulls(Item::Integer), "tokens of the `stale_rejected` events, in order"),
    logged("refused.A", Holds::ListWithNulls(Item::Text), "their notes, in order"),
    fact(Observe, "state.A", Holds::Shared(Item::Words(crate::case::ExecutionState::NAMES)),
        "the states of the rows of executions: what all share, else the list").with(&[Surface::ReadExecutions]),
    fact(Observe, "attempts.A", Holds::Shared(Item::Integer), "their attempts: what all share, else the list")
        .with(&[Surface::ReadExecutions]),
    fact(Observe, "held.A", Holds::List(Item::Row),
        "the leases that are held, as `worker`, `token`, `expires_at`, sorted by token").with(&[Surface::ReadLeases]),
    fact(Observe, "backoffs.A", Holds::List(Item::Number), "`backoff_s` of the retries, by attempt")
        .with(&[Surface::ReadRetries]),
    fact(Observe, "tampering.NAME.A", Holds::One(Item::Words(&["refused", "changed", "nothing"])),
        "what became of the statement NAME of `[tampering]` on a copy: `refused` (by a constraint or a trigger), `changed` (what \
         `[read.events]` answers is other than before), or `nothing`; not observed where it could not be tried, as with a \
         misspelt table").on(On::Tampered),
    fact(Observe, "agree.A", FLAG, "whether all results of A so far are equal"),
    fact(Observe, "replays.A", Holds::List(Item::Flag), "their `replayed` flags, sorted").with(&[Surface::RepliesReplayed]),
    fact(Observe, "honest.A", FLAG, "false where a reply so far was a result of A, and there is no effect")
        .with(&[Surface::ReadEffects]),
    fact(Observe, "kept.A", FLAG,
        "whether every row that the last observation before saw is still there, unchanged; absent where none saw one")
        .on(On::SecondLook).with(&[Surface::ReadEffects]),
    fact(Observe, "doubled.A", COUNT, "the count on the copy with doubled rows").on(On::Doubled).with(&[Surface::ReadEffects]),
    fact(Observe, "new_data.A", COUNT, "rows that hold data of a `changed` write").on(On::AfterChange)
        .with(&[Surface::ReadEffects]),
    fact(Observe, "reached", FLAG, "whether what an observation waited for was there").on(On::Until),
    fact(Observe, "problem", TEXT, "why the store could not be read, where it could not, for people"),
    fact(Write, "outcome", Holds::One(Item::Words(OUTCOMES)),
        "how it was answered; `unknown` when no reply reached the client side"),
    fact(Write, "answered", FLAG, "whether any reply reached the client side; of a `send` also behind its `cancel`"),
    fact(Write, "result…", Holds::Anything, "the comparable result (without `replayed`), and what is in it"),
    fact(Write, "replayed", FLAG, "the flag").with(&[Surface::RepliesReplayed]),
    fact(Write, "refusal", Holds::One(Item::Name),
        "`conflict`, or the server's reason, or the code of an error that gives none"),
    fact(Write, "refusal_text", TEXT, "what the refusal says to people"),
    fact(Write, "withheld.outcome", Holds::One(Item::Words(OUTCOMES_OF_A_REPLY)), "of the withheld reply: how it answers")
        .on(On::Fault),
    fact(Write, "withheld.result…", Holds::Anything, "its result, as above").on(On::Fault),
    fact(Write, "withheld.replayed", FLAG, "its flag").on(On::Fault).with(&[Surface::RepliesReplayed]),
    fact(Write, "withheld.refusal", Holds::One(Item::Name), "its refusal, as above").on(On::Fault),
    fact(Write, "withheld.refusal_text", TEXT, "what that says to people").on(On::Fault),
    fact(Write, "rounds", COUNT, "requests sent, and answers given inside them"),
    fact(Write, "input_required", FLAG, "whether input was asked for"),
    fact(Write, "asked_inside", Holds::One(Item::CountFromOne),
        "how often it was asked for inside the call (`elicitation/create`); absent where it was not"),
    fact(Write, "asked_for", TEXTS, "the keys that a first round asks for"),
    fact(Write, "asked_undeclared", TEXTS, "the kinds of questions that the client did not declare"),
    fact(Write, "last_round.delivered_bytes", COUNT,
        "bytes that reached the client side after the last round began (requests of the server not counted)"),
    fact(Write, "last_round.seq", COUNT, "the frame with which it began"),
    fact(Write, "server_ended", Holds::One(Item::True), "true where the server ended instead of answering; absent elsewhere"),
    fact(Write, "moment", Holds::One(Item::Words(&["effect", "reply"])),
        "what marked the moment of the kill: `effect`, seen in the living store, or `reply`, the whole of it withheld; absent \
         where nothing did").on(On::Fault),
    fact(Write, "disclosed", TEXTS, "texts of earlier results that the reply tells although the request did not"),
    fact(Write, "repeats_exactly", FLAG,
        "whether a repeat was equal but for its id, and answered nothing that the request before had not answered")
        .on(On::Repeat),
    fact(Write, "said", TEXT,
        "where a write that no fault struck was not answered with a result: what the server said or did in its place, for people")
        .on(On::NoFault),
    fact(Write, "accepted", COUNT, "how many submissions were answered with a result").on(On::Write)
        .with(&[Surface::WriteSubmit]),
    fact(Write, "execution.state", Holds::One(Item::Text),
        "how the execution stood at the last look, or by the reply to the submission where nobody looked; in the server's words")
        .on(On::Write).with(&[Surface::WriteSubmit]),
    fact(Status, "outcome", Holds::One(Item::Words(OUTCOMES)), "how the status tool answered"),
    fact(Status, "operation_id", TEXT, "of the status observation, as the server gives it"),
    fact(Status, "state", Holds::One(Item::Words(&["unknown", "in_progress", "applied", "partial"])), "of the status observation"),
    fact(Status, "authoritative", FLAG, "of the status observation"),
    fact(Status, "scope…", Holds::Anything, "of the status observation, and what is in it"),
    fact(Status, "observed_at", TEXT, "of the status observation"),
    fact(Status, "effect_ids", Holds::List(Item::Name), "of the status observation"),
    fact(Status, "result…", Holds::Anything, "of the status observation, and what is in it"),
    fact(Status, "fresh_write_authorized", FLAG, "of the status observation"),
    fact(Status, "stored_result…", Holds::Anything,
        "its result without `replayed`, or what `[status] stored` points at in it; and what is in that"),
    fact(Status, "disclosed", TEXTS, "texts of earlier results that the status tells although the request did not"),
    fact(
        Status,
        "MEMBER…",
        Holds::Anything,
        "another member of the status observation, the server's own, and what is in it; a name near to one of those above is refused",
    ),
    fact(Recovery, "after.STATUS", Holds::One(Item::Words(&["return-stored-result", "stop"])),
        "what the recovery rules permit after that `status` step"),
    fact(Recovery, "because.STATUS", TEXT, "where they say `stop`, why, for people"),
    fact(CancelExecution, "outcome", Holds::One(Item::Words(OUTCOMES)), "how the tool answered"),
    fact(CancelExecution, "state", TEXT, "the state that the reply tells, in the server's words"),
    fact(CancelExecution, "refusal", Holds::One(Item::Name), "as of a write"),
    fact(Process, "survivors", COUNT, "how many processes of its tree could not be ended"),
    fact(Process, "code", Holds::OneOrNull(Item::Integer), "its exit code, where it exited"),
    fact(Process, "signal", Holds::OneOrNull(Item::Integer), "the signal that ended it, where one did"),
    fact(Process, "writes", COUNT, "how many write calls it got"),
    fact(Process, "statuses", COUNT, "how many status calls it got"),
    fact(Release, "drained", FLAG,
        "whether, before the release, every request in flight had been taken in and every process that got one, with all its \
         helpers, had come to rest (see below)"),
    fact(Release, "answered", COUNT, "how many of those requests were answered before the release"),
    fact(Reconcile, "code", Holds::OneOrNull(Item::Integer), "the exit code of the operator's command"),
    fact(Reconcile, "trouble", Holds::OneOrNull(Item::Text), "why it did not run to its end, where it did not, for people"),
];
