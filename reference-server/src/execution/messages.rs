//! What the engine is asked through the ledger's thread, and what it answers: plain values.

use serde_json::{Value, json};

use super::event::State;

/// A request about an execution.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Write it down, or find that it was written down before.
    Submit(Submission),
    /// Say how it stands.
    Observe {
        /// Which.
        execution_id: String,
    },
    /// Say how what was submitted under this identity stands.
    Find(Identity),
    /// End it, unless it has ended.
    Cancel {
        /// Which.
        execution_id: String,
    },
}

/// By what a submission is known again.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Whose keys these are.
    pub namespace: String,
    /// The tool.
    pub tool: &'static str,
    /// The caller's key.
    pub key: String,
}

/// A call to persist.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Under which identity.
    pub identity: Identity,
    /// The arguments as read and checked, in canonical form: a repeat must equal this text.
    pub arguments: String,
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// How it stands.
    Execution {
        /// The execution.
        snapshot: Snapshot,
        /// Whether the submission was a repeat.
        replayed: bool,
    },
    /// The key belongs to another request. Nothing of that one is told.
    Conflict,
    /// The request was done so long ago that its result is no longer replayed.
    RetentionExpired,
    /// There is none of that name, or it is another principal's.
    Unknown,
    /// What an identity was used for.
    Found {
        /// The execution; nothing where the identity is not used, or by another principal.
        found: Option<Snapshot>,
        /// When it was read, in Unix seconds.
        observed_at_s: i64,
    },
}

/// One execution, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Its name.
    pub execution_id: String,
    /// How it stands.
    pub state: State,
    /// How often it was claimed, without the claims that were given back.
    pub attempts: i64,
    /// Its result, once completed.
    pub result: Option<Value>,
    /// Its effect, once completed.
    pub issue_id: Option<i64>,
    /// Why it failed, once failed.
    pub error: Option<String>,
    /// When it was submitted, in Unix seconds.
    pub submitted_at_s: i64,
    /// When its state last changed, in Unix seconds.
    pub changed_at_s: i64,
}

impl Snapshot {
    /// The structured form that the tools give.
    pub fn to_value(&self) -> Value {
        json!({
            "execution_id": self.execution_id,
            "state": self.state.name(),
            "attempts": self.attempts,
            "result": self.result,
            "error": self.error,
        })
    }
}
