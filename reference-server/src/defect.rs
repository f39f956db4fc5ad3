//! The planted defects: each makes this server get exactly one thing wrong, on purpose, so that a harness can be shown to notice.
//!
//! This file holds the registry only. A defect is planted where the right code stands, by asking [`Planted::is`] there; the
//! longer wrong turns of the ledger are in `ledger/planted.rs`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Makes the enum, its names, its descriptions and what must notice it from one table.
macro_rules! defects {
    (
        $($variant:ident = $name:literal, $description:literal, killed by [$($kill:literal),+];)+
        => execution: $($other:ident = $other_name:literal, $other_description:literal, killed by [$($other_kill:literal),+];)+
    ) => {
        /// A fault planted on purpose. Each variant's description says what goes wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Defect {
            $(#[doc = $description] $variant,)+
            $(#[doc = $other_description] $other,)+
        }

        impl Defect {
            /// Every defect of a single process, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Every defect of durable execution, in the order of the table.
            pub const EXECUTION: &[Self] = &[$(Self::$other,)+];

            /// The name by which it is chosen.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ $(Self::$other => $other_name,)+ }
            }

            /// What goes wrong, in one sentence.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)+ $(Self::$other => $other_description,)+ }
            }

            /// The checks that must fail because of it, each as `case:check`.
            pub fn killed_by(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$($kill),+],)+
                    $(Self::$other => &[$($other_kill),+],)+
                }
            }
        }
    };
}

defects! {
    NoLedger = "no-ledger",
        "The ledger is neither read nor written: every continuation writes.",
        killed by ["identical-retry:one-effect", "lost-reply:one-effect", "start-over:one-effect"];
    MemoryLedger = "memory-ledger",
        "The ledger lives in memory: a restart forgets every operation, while the effects stay.",
        killed by ["lost-reply:one-effect", "crash-after-commit:stored-result-returned", "rotated-key:one-effect"];
    DedupeByContent = "dedupe-by-content",
        "Equal data counts as a repeat, whatever its identity: a second write of the same data is dropped.",
        killed by ["fresh-identity:second-effect"];
    SameReplyTwoEffects = "same-reply-two-effects",
        "A repeat gets the very same stored result, and a second effect is written.",
        killed by ["identical-retry:one-effect", "lost-reply:one-effect"];
    ReplyBeforeCommit = "reply-before-commit",
        "The reply leaves before the commit, which waits until the next request arrives or stdin closes.",
        killed by ["reply-means-done:effect-is-there"];
    EffectBeforeLedger = "effect-before-ledger",
        "The effect commits first and the ledger row in a second transaction: a death in between leaves an effect without a record.",
        killed by ["crash-before-commit:nothing-committed", "crash-between-steps:one-effect"];
    LedgerBeforeEffect = "ledger-before-effect",
        "The ledger row commits first and the effect in a second transaction: a death in between leaves a record without an effect.",
        killed by ["crash-before-effect:one-effect"];
    LookupOutsideTransaction = "lookup-outside-transaction",
        "The ledger is looked up in a snapshot that was taken when the write before ended, not under the write lock: what another \
         process has written since is not seen.",
        killed by ["concurrent-first-use:one-effect"];
    UnboundInput = "unbound-input",
        "The fingerprint ignores the input responses: changed input gets the first result.",
        killed by ["changed-input:is-refused"];
    UnboundState = "unbound-state",
        "The fingerprint ignores the request state: a second issuance for a used identity gets the first result.",
        killed by ["changed-state:second-state-conflicts"];
    UnboundPrincipal = "unbound-principal",
        "Neither the request state nor the fingerprint is compared with the principal: another one's state gets another one's result.",
        killed by ["different-principal:foreign-state-refused"];
    UnsealedState = "unsealed-state",
        "The seal of a request state is not checked: one that was changed on the way is taken for one that was just issued.",
        killed by ["changed-state:tampered-state-refused"];
    AcceptsStrippedState = "accepts-stripped-state",
        "A continuation without a request state is taken for one whose state was just issued.",
        killed by ["stripped-state:no-effect"];
    AppliesWithoutInput = "applies-without-input",
        "A continuation that lacks the needed input is applied with an empty body.",
        killed by ["missing-input:asked-again"];
    AppliesDeclinedInput = "applies-declined-input",
        "Input that was declined, cancelled or of the wrong type is taken for an empty body, and applied.",
        killed by ["declined-input:no-effect"];
    ReservesOnFirstRound = "reserves-on-first-round",
        "A first round reserves the identity in the ledger: after a lost first reply nobody can begin it again.",
        killed by ["lost-first-reply:one-effect"];
    ForgetsFirstRound = "forgets-first-round",
        "Each process seals request states with a key of its own: after a restart no first round can be continued.",
        killed by ["restart-between-rounds:applied"];
    StateNotBoundToOperation = "state-not-bound-to-operation",
        "A request state is good for any operation and any arguments, not only for those it was issued for.",
        killed by ["foreign-state:no-effect"];
    NoStateTtl = "no-state-ttl",
        "A request state never expires.",
        killed by ["retention-expiry:state-expired", "late-first-use:no-effect"];
    NoAuthorityDeadline = "no-authority-deadline",
        "The caller's consent never expires: a late continuation is applied or replayed.",
        killed by ["authority-expiry:authority-expired", "late-first-use:no-effect"];
    NoRetentionDeadline = "no-retention-deadline",
        "A stored result is replayed for ever.",
        killed by ["retention-expiry:retention-expired"];
    PurgedTombstone = "purged-tombstone",
        "A row whose retention has expired is deleted when its identity is used again, which then counts as new.",
        killed by ["retention-expiry:one-effect"];
    AbsentMeansNotApplied = "absent-means-not-applied",
        "The status of an operation that is not on record, or not finished, is `not_applied`, and claims to be authoritative.",
        killed by ["never-admitted:stays-unknown"];
    StatusAuthorisesWrite = "status-authorises-write",
        "Every status says that a fresh write is authorised.",
        killed by ["crash-after-commit:stored-result-returned"];
    StatusIgnoresPrincipal = "status-ignores-principal",
        "The status of any principal's operation is told to every principal.",
        killed by ["different-principal:status-discloses-nothing"];
    ReplayRecomputesResult = "replay-recomputes-result",
        "A replay writes nothing, and answers with a new receipt instead of the stored one.",
        killed by ["identical-retry:first-result"];
    ConflictDisclosesResult = "conflict-discloses-result",
        "The refusal of a conflict carries the result of the operation that holds the identity.",
        killed by ["changed-input:discloses-nothing"];
    CompensationHidesEffect = "compensation-hides-effect",
        "A compensation that failed is recorded as done, and the effect that stays is no longer told.",
        killed by ["partial-effect:compensation-failed"];
    PartialReportedApplied = "partial-reported-applied",
        "An operation that ended with some of its effects is stored and reported as applied.",
        killed by ["partial-effect:is-partial"];
    BusyWritesAnyway = "busy-writes-anyway",
        "A write that was refused as busy is kept, and done when the next request arrives.",
        killed by ["ledger-busy:nothing-written"];
    ErrorLeavesEffect = "error-leaves-effect",
        "When the effect fails after its row was inserted, the transaction is committed, not rolled back.",
        killed by ["failed-effect:rolled-back"];
    CancelForgetsEffect = "cancel-forgets-effect",
        "When a request is cancelled, the ledger row of its operation is dropped, while the effect stays.",
        killed by ["cancelled-write:one-effect"];
    AsksUndeclaredCapability = "asks-undeclared-capability",
        "A client that did not declare that it shows forms is asked to show one.",
        killed by ["undeclared-capability:not-asked"];

    => execution:
    DispatchBeforePersist = "dispatch-before-persist",
        "A submission is answered before it is on disk: it is committed when the next request arrives or stdin closes.",
        killed by ["persist-before-dispatch:submission-is-there"];
    ClaimNotAtomic = "claim-not-atomic",
        "A worker works through what it once saw waiting, and does not look again under the lock: others work on the same.",
        killed by ["concurrent-claim:each-claimed-once"];
    UnfencedComplete = "unfenced-complete",
        "A completion is accepted whatever its token, also of an execution that has ended.",
        killed by ["stale-fencing:one-effect", "stale-fencing:stale-rejected", "cancel-running:no-effect"];
    FenceCheckedOutsideTransaction = "fence-checked-outside-transaction",
        "The token is checked before the gate, and not again in the transaction that completes.",
        killed by ["stale-fencing:one-effect", "stale-fencing:stale-rejected"];
    TokenReused = "token-reused",
        "A claim after an expired lease gets the same token again.",
        killed by ["stale-fencing:tokens-increase", "lease-expiry:tokens-increase"];
    UnfencedHeartbeat = "unfenced-heartbeat",
        "A heartbeat is accepted whatever its token, and extends whoever's lease is held.",
        killed by ["stale-heartbeat:stale-rejected", "stale-heartbeat:lease-unchanged"];
    LeaseNeverExpires = "lease-never-expires",
        "The reaper expires no lease: what a dead worker held is held for ever.",
        killed by ["lease-expiry:completed", "lease-expiry:lease-expired"];
    HeartbeatDoesNotExtend = "heartbeat-does-not-extend",
        "A heartbeat is recorded, and the lease ends when it would have ended without.",
        killed by ["heartbeat:one-claim"];
    DuplicateExecutes = "duplicate-executes",
        "A repeated submission becomes an execution of its own.",
        killed by ["identical-retry:one-effect", "duplicate-submission:one-execution", "retry-exhaustion:no-new-execution"];
    ChangedSubmissionReturnsOld = "changed-submission-returns-old",
        "A submission with a used key and other arguments gets the execution that holds the key.",
        killed by ["changed-input:is-refused", "duplicate-submission:is-refused"];
    OutsideEffectWithoutKey = "outside-effect-without-key",
        "The outside effect is given no key, though it should be: a repeated attempt does it again.",
        killed by ["external-effect:one-with-key"];
    CancelIgnored = "cancel-ignored",
        "A cancellation is answered as if it were done, and nothing is written.",
        killed by ["cancel-running:no-effect", "cancel-running:cancelled"];
    RetriesForever = "retries-forever",
        "No failure is the last one: another attempt is always scheduled.",
        killed by ["retry-exhaustion:failed-is-terminal"];
    MutableEventLog = "mutable-event-log",
        "The triggers that keep the event log append-only are dropped.",
        killed by ["event-log:update-refused", "event-log:delete-refused", "event-log:replace-refused"];
}

impl Defect {
    /// Every defect that can be planted.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.iter().chain(Self::EXECUTION).copied()
    }
}

/// The defect that is planted, if any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planted(pub Option<Defect>);

impl Planted {
    /// Whether `defect` is the one.
    pub fn is(self, defect: Defect) -> bool {
        self.0 == Some(defect)
    }
}

/// A name that no defect has.
#[derive(Debug, Error)]
#[error("{0:?} is not a planted defect")]
pub struct UnknownDefect(String);

impl FromStr for Defect {
    type Err = UnknownDefect;

    fn from_str(name: &str) -> Result<Self, UnknownDefect> {
        Self::every()
            .find(|defect| defect.name() == name)
            .ok_or_else(|| UnknownDefect(name.to_owned()))
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_is_found_by_its_name_described_and_killed() {
        for defect in Defect::every() {
            assert_eq!(defect.name().parse::<Defect>().unwrap(), defect);
            assert!(
                defect.description().ends_with('.'),
                "{defect} is not described in a sentence"
            );
            for kill in defect.killed_by() {
                let words: Vec<&str> = kill.split(':').collect();
                assert!(
                    matches!(words[..], [case, check] if !case.is_empty() && !check.is_empty()),
                    "{defect}: {kill}"
                );
            }
        }
        assert!("none".parse::<Defect>().is_err());
    }

    #[test]
    fn nothing_is_planted_unless_it_is_chosen() {
        for defect in Defect::every() {
            assert!(!Planted::default().is(defect));
            assert!(Planted(Some(defect)).is(defect));
        }
    }
}
