//! Why an observation is refused: one reason for each rule, with a name that other implementations give too.

/// The first rule that an observation breaks, in the order of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are no members to read.
    #[error("the observation is no object")]
    NotAnObject,
    /// A member that every observation has is not there.
    #[error("the observation has no `{member}`")]
    MemberMissing {
        /// Its name.
        member: &'static str,
    },
    /// `operation_id` is not the one asked for.
    #[error("the observation is about another operation")]
    OtherOperation,
    /// `scope` is no object, or another one than the attempt's.
    #[error("the observation has another scope than the attempt")]
    OtherScope,
    /// `state` is none of the four words.
    #[error("`state` is none of unknown, in_progress, applied, partial")]
    StateNotRecognised,
    /// `authoritative` does not say that the state may be relied on.
    #[error("the observation is not authoritative")]
    NotAuthoritative,
    /// `fresh_write_authorized` is not false.
    #[error("the observation offers a fresh write, which no observation may")]
    FreshWriteOffered,
    /// A time without a zone could mean any of 26 hours.
    #[error("`observed_at` is no timestamp with a zone")]
    NoZonedTimestamp,
    /// `effect_ids` is no list, or holds what cannot name an effect.
    #[error("`effect_ids` is no list of texts and integers")]
    EffectIdsMalformed,
    /// One effect is listed twice.
    #[error("`effect_ids` names an effect twice")]
    EffectIdRepeated,
    /// `applied` means one effect, `partial` one or more, and the other states none.
    #[error("the number of effect ids ({count}) contradicts the state")]
    EffectCountContradictsState {
        /// How many there are.
        count: usize,
    },
    /// A settled operation has a stored result, no other has; and it tells of the same state.
    #[error("the stored result contradicts the state")]
    ResultContradictsState,
    /// The stored result names an operation, and it is another one.
    #[error("the stored result belongs to another operation")]
    ResultOfOtherOperation,
    /// The stored result does not hold every effect id.
    #[error("the stored result does not name the effect")]
    ResultOmitsEffect,
}

impl Refusal {
    /// One of each, in the order of the rules.
    pub const ALL: [Self; 14] = [
        Self::NotAnObject,
        Self::MemberMissing { member: "operation_id" },
        Self::OtherOperation,
        Self::OtherScope,
        Self::StateNotRecognised,
        Self::NotAuthoritative,
        Self::FreshWriteOffered,
        Self::NoZonedTimestamp,
        Self::EffectIdsMalformed,
        Self::EffectIdRepeated,
        Self::EffectCountContradictsState { count: 0 },
        Self::ResultContradictsState,
        Self::ResultOfOtherOperation,
        Self::ResultOmitsEffect,
    ];

    /// The name that vectors use. Stable.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotAnObject => "not-an-object",
            Self::MemberMissing { .. } => "member-missing",
            Self::OtherOperation => "other-operation",
            Self::OtherScope => "other-scope",
            Self::StateNotRecognised => "state-not-recognised",
            Self::NotAuthoritative => "not-authoritative",
            Self::FreshWriteOffered => "fresh-write-offered",
            Self::NoZonedTimestamp => "no-zoned-timestamp",
            Self::EffectIdsMalformed => "effect-ids-malformed",
            Self::EffectIdRepeated => "effect-id-repeated",
            Self::EffectCountContradictsState { .. } => "effect-count-contradicts-state",
            Self::ResultContradictsState => "result-contradicts-state",
            Self::ResultOfOtherOperation => "result-of-other-operation",
            Self::ResultOmitsEffect => "result-omits-effect",
        }
    }
}
