//! What a client may do after a lost reply: the recovery rules, for any client, and for the judge.
//!
//! A reply that does not come says nothing. The outcome is *unknown*, and unknown never authorises a fresh write: the
//! first write may have landed. One thing may be done, asking for the operation's status, and only an observation that
//! keeps every rule may settle the matter. An absent or unfinished operation row stays unknown; it never becomes "not
//! applied".
//!
//! | the client knows | then | the outcome is | [`Action`] |
//! |---|---|---|---|
//! | sent, no reply | nothing yet | unknown | `status-only`: ask for the status, write nothing |
//! | unknown | an observation is **refused** ([`Refusal`]) | unknown | `stop`, with the name of the refusal |
//! | unknown | accepted, state `unknown` | unknown | `stop`: `outcome-unknown` |
//! | unknown | accepted, state `in_progress` | unknown | `stop`: `in-progress` |
//! | unknown | accepted, state `applied` | settled: done, once | `return-stored-result` |
//! | unknown | accepted, state `partial` | settled: done in part | `stop`: `partly-applied` |
//!
//! `stop` means: write nothing, and tell a person or a reconciler. Asking for the status again later is allowed; each
//! answer is judged on its own.
//!
//! An observation is accepted when it keeps all of these; the first that it breaks is the reason:
//!
//! | rule | else |
//! |---|---|
//! | it is an object with `operation_id`, `state`, `authoritative`, `scope`, `observed_at`, `effect_ids`, `result`, `fresh_write_authorized`; other members are ignored | `not-an-object`, `member-missing` |
//! | `operation_id` is the one asked for | `other-operation` |
//! | `scope` is an object, equal to the attempt's, member by member | `other-scope` |
//! | `state` is `unknown`, `in_progress`, `applied` or `partial` | `state-not-recognised` |
//! | `authoritative` is true; for `unknown` and `in_progress`, which settle nothing, true or false | `not-authoritative` |
//! | `fresh_write_authorized` is false | `fresh-write-offered` |
//! | `observed_at` is an RFC 3339 timestamp with a zone | `no-zoned-timestamp` |
//! | `effect_ids` is a list of texts that are not empty and integers within ±(2^53−1) | `effect-ids-malformed` |
//! | none of them is repeated | `effect-id-repeated` |
//! | there is 1 for `applied`, 1 or more for `partial`, none else | `effect-count-contradicts-state` |
//! | `result` is an object for `applied` and `partial`, null else; a `state` in it that is one of the four words is the same | `result-contradicts-state` |
//! | an `operation_id` in the result is the one asked for | `result-of-other-operation` |
//! | each effect id is a member of the result, or an element of one that is a list | `result-omits-effect` |
//!
//! Strict on purpose: a wrong "done" loses a write, a wrong `stop` costs a question. `vectors/recovery.json` holds
//! observations of every row, for implementations in other languages.
//!
//! ```
//! use harness::recovery::{Action, Attempt, permitted};
//! use serde_json::json;
//!
//! let scope = json!({"backend": "orders-db", "principal": "alice", "tool": "create_order"});
//! let attempt = Attempt {
//!     operation: "op-1",
//!     scope: scope.as_object().expect("an object"),
//! };
//! // The reply was lost, and nothing has been asked yet.
//! assert_eq!(permitted(&attempt, None), Action::StatusOnly);
//!
//! let mut observed = json!({
//!     "operation_id": "op-1", "state": "applied", "authoritative": true, "scope": scope,
//!     "observed_at": "2026-09-22T00:00:00Z", "effect_ids": [7],
//!     "result": {"order_id": 7}, "fresh_write_authorized": false,
//! });
//! assert_eq!(permitted(&attempt, Some(&observed)).name(), "return-stored-result");
//!
//! observed["scope"]["principal"] = json!("bob");
//! let Action::Stop { reason } = permitted(&attempt, Some(&observed)) else {
//!     panic!("somebody else's operation settles nothing")
//! };
//! assert_eq!(reason.name(), "other-scope");
//! ```
//!
//! - `action`: what is permitted
//! - `observation`: an observation, read strictly
//! - `refusal`: why one is refused
//! - `timestamp`: RFC 3339 with a zone

mod action;
mod observation;
mod refusal;
#[cfg(test)]
mod tests;
mod timestamp;

pub use action::{Action, StopReason, conclude, permitted};
pub use observation::{Attempt, EffectId, Observation, State};
pub use refusal::Refusal;
