//! What a verified continuation is allowed to do, given what the ledger holds: apply, replay, or a refusal with its reason.
//!
//! Pure: no clock, no store, no protocol. The order of the checks is the contract, and the table tests hold it.

/// How far an operation that the ledger knows has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// Admitted, and part of its work may be done; nobody has said how it ended.
    InProgress,
    /// Done as asked.
    Applied,
    /// Ended with some of its effects, which is stored as its result.
    Partial,
    /// Settled by an operator as not applied. The identity stays taken.
    NotApplied,
}

/// What the ledger holds of an operation, as far as a decision needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownOperation {
    /// The fingerprint of the request that was first admitted, in lower-case hex.
    pub fingerprint: String,
    /// How far it has come.
    pub state: RowState,
    /// When its stored result stops being replayed, in Unix seconds. Unused while it is in progress.
    pub replay_until_s: i64,
}

/// A continuation whose request state has been verified and is not expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its fingerprint, in lower-case hex.
    pub fingerprint: String,
    /// Until when the caller's consent is good, in Unix seconds; it runs from the issuance of the request state.
    pub authority_until_s: i64,
    /// Whether the arguments are those that the request state was issued for.
    pub arguments_as_issued: bool,
}

/// Why an attempt is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The identity is taken by a request that was not equal to this one.
    Conflict,
    /// An equal request was admitted, and how it ended is not known.
    InProgress,
    /// An equal request was admitted, and an operator has settled it as not applied.
    NotApplied,
    /// The time for which the caller's consent is good has passed.
    AuthorityExpired,
    /// The result is no longer replayed; the row stays, so that the identity is never used again.
    RetentionExpired,
    /// The arguments are not those that the request state was issued for.
    ArgumentsChanged,
}

/// What to do with an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The identity is new: write the effect and the ledger row in one transaction.
    Apply,
    /// The same request was done before: answer with its stored result, and write nothing.
    Replay,
    /// Write nothing, and say why.
    Refuse(Refusal),
}

/// Decides about `attempt` at `now_s` (Unix seconds). A deadline is the first second at which it is too late.
///
/// With a row: conflict, in progress or not applied, authority, retention, replay. Without one: arguments, authority, apply. The first no wins.
pub fn decide(known: Option<&KnownOperation>, attempt: &Attempt, now_s: i64) -> Decision {
    let authority_expired = now_s >= attempt.authority_until_s;
    let Some(known) = known else {
        return if !attempt.arguments_as_issued {
            Decision::Refuse(Refusal::ArgumentsChanged)
        } else if authority_expired {
            Decision::Refuse(Refusal::AuthorityExpired)
        } else {
            Decision::Apply
        };
    };
    if known.fingerprint != attempt.fingerprint {
        Decision::Refuse(Refusal::Conflict)
    } else if known.state == RowState::InProgress {
        Decision::Refuse(Refusal::InProgress)
    } else if known.state == RowState::NotApplied {
        Decision::Refuse(Refusal::NotApplied)
    } else if authority_expired {
        Decision::Refuse(Refusal::AuthorityExpired)
    } else if now_s >= known.replay_until_s {
        Decision::Refuse(Refusal::RetentionExpired)
    } else {
        Decision::Replay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: i64 = 1_790_035_200;

    fn attempt(fingerprint: &str, authority_s: i64, arguments_as_issued: bool) -> Attempt {
        Attempt {
            fingerprint: fingerprint.to_owned(),
            authority_until_s: T0 + authority_s,
            arguments_as_issued,
        }
    }

    fn known(state: RowState, retention_s: i64) -> KnownOperation {
        KnownOperation {
            fingerprint: "same".to_owned(),
            state,
            replay_until_s: T0 + retention_s,
        }
    }

    /// Each row fails every check from its own on, so only the order decides which refusal is given.
    #[test]
    fn with_a_row_the_first_no_wins() {
        use Refusal::{AuthorityExpired, Conflict, InProgress, NotApplied, RetentionExpired};
        let rows = [
            ("other", RowState::InProgress, 60, 60, Decision::Refuse(Conflict)),
            ("same", RowState::InProgress, 60, 60, Decision::Refuse(InProgress)),
            ("other", RowState::NotApplied, 60, 60, Decision::Refuse(Conflict)),
            ("same", RowState::NotApplied, 60, 60, Decision::Refuse(NotApplied)),
            ("same", RowState::Applied, 60, 60, Decision::Refuse(AuthorityExpired)),
            ("same", RowState::Applied, 300, 60, Decision::Refuse(RetentionExpired)),
            ("same", RowState::Applied, 300, 360, Decision::Replay),
            ("same", RowState::Partial, 300, 60, Decision::Refuse(RetentionExpired)),
            ("same", RowState::Partial, 300, 360, Decision::Replay),
        ];
        for (fingerprint, state, authority_s, retention_s, expected) in rows {
            for arguments_as_issued in [true, false] {
                let decided = decide(
                    Some(&known(state, retention_s)),
                    &attempt(fingerprint, authority_s, arguments_as_issued),
                    T0 + 120,
                );
                assert_eq!(decided, expected, "{fingerprint} {state:?} {authority_s} {retention_s}");
            }
        }
    }

    #[test]
    fn without_a_row_arguments_and_authority_come_before_applying() {
        let rows = [
            (false, 60, Decision::Refuse(Refusal::ArgumentsChanged)),
            (false, 300, Decision::Refuse(Refusal::ArgumentsChanged)),
            (true, 60, Decision::Refuse(Refusal::AuthorityExpired)),
            (true, 300, Decision::Apply),
        ];
        for (arguments_as_issued, authority_s, expected) in rows {
            let attempt = attempt("same", authority_s, arguments_as_issued);
            assert_eq!(decide(None, &attempt, T0 + 120), expected);
        }
    }

    #[test]
    fn a_deadline_is_the_first_second_that_is_too_late() {
        let known = known(RowState::Applied, 60);
        let replay = attempt("same", 61, true);
        assert_eq!(decide(Some(&known), &replay, T0 + 59), Decision::Replay);
        assert_eq!(
            decide(Some(&known), &replay, T0 + 60),
            Decision::Refuse(Refusal::RetentionExpired)
        );
        assert_eq!(decide(None, &replay, T0 + 60), Decision::Apply);
        assert_eq!(
            decide(None, &replay, T0 + 61),
            Decision::Refuse(Refusal::AuthorityExpired)
        );
    }
}
