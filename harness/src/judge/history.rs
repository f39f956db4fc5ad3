//! What the steps before have sent, got and seen, as far as later facts depend on it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::facts::rows;
use super::steps::Request;
use super::writes::Sent;
use crate::protocol::{Reply, ReplyKind};
use crate::record::Observation;
use crate::target::Replies;

/// What the steps before have sent, got and seen.
#[derive(Debug, Default)]
pub(super) struct History<'a> {
    pub(super) last_request: BTreeMap<&'a str, Request<'a>>,
    /// What was answered inside the last request.
    answers: BTreeMap<&'a str, Vec<&'a Value>>,
    replies: BTreeMap<&'a str, Vec<Reply<'a>>>,
    /// Rows that the last observation that saw any saw, by operation; never none.
    pub(super) rows: BTreeMap<String, Vec<Value>>,
    /// Replies that reached the client side, by operation.
    delivered: BTreeMap<&'a str, Vec<Reply<'a>>>,
    /// Operations of which a reply was delivered that is a result.
    acknowledged: BTreeSet<&'a str>,
    /// The last request of each step.
    by_step: BTreeMap<&'a str, Request<'a>>,
    /// Rows as they were seen before the operation was sent with changed data.
    pub(super) changed: BTreeMap<String, Option<Vec<Value>>>,
}

impl<'a> History<'a> {
    /// A step has sent a request, its last, and got a reply, delivered or not.
    pub(super) fn sent(
        &mut self,
        sent: &Sent<'a>,
        last: Request<'a>,
        delivered: Option<Reply<'a>>,
        any: Option<Reply<'a>>,
    ) {
        if sent.changed {
            let seen = self.rows.get(sent.operation).cloned();
            self.changed.entry(sent.operation.to_owned()).or_insert(seen);
        } else {
            self.last_request.insert(sent.operation, last);
        }
        self.by_step.insert(sent.name, last);
        if delivered.is_some_and(|reply| matches!(reply.kind(), ReplyKind::Result(_))) {
            self.acknowledged.insert(sent.operation);
        }
        self.delivered.entry(sent.operation).or_default().extend(delivered);
        self.replies.entry(sent.operation).or_default().extend(any);
    }

    /// The request that a repeat repeats: that of the step which it names, or the operation's last.
    pub(super) fn repeated(&self, sent: &Sent<'_>) -> Option<Request<'a>> {
        let of = sent.of.and_then(|of| self.by_step.get(of));
        of.or(self.last_request.get(sent.operation)).copied()
    }

    /// What the client side was told of an operation: every result, and whether each says that it is a replay, in order of the
    /// flag.
    pub(super) fn told(&self, operation: &str, at: &Replies) -> (Vec<Value>, Vec<bool>) {
        let results = || {
            let delivered = self.delivered.get(operation).into_iter().flatten();
            delivered.filter(|reply| matches!(reply.kind(), ReplyKind::Result(_)))
        };
        let told = results().filter_map(|reply| reply.comparable(at)?.ok()).collect();
        let mut replays: Vec<bool> = results().filter_map(|reply| reply.replayed(at)?.as_bool()).collect();
        replays.sort_unstable();
        (told, replays)
    }

    /// Whether the client side was told that an operation was done.
    pub(super) fn is_acknowledged(&self, operation: &str) -> bool {
        self.acknowledged.contains(operation)
    }

    pub(super) fn answered(&mut self, sent: &Sent<'a>, answers: Vec<&'a Value>) {
        if !sent.changed {
            self.answers.insert(sent.operation, answers);
        }
    }

    /// Whether every one of these answers was given inside the last request too. A server that replays need not ask again;
    /// but a repeat that answers something new ("write it twice?") is not the same write.
    pub(super) fn gave(&self, sent: &Sent<'_>, answers: &[&Value]) -> bool {
        let before = self.answers.get(sent.operation).map_or(&[][..], Vec::as_slice);
        let given = |answer: &&Value| before.iter().any(|other| other.get("result") == answer.get("result"));
        answers.iter().all(given)
    }

    pub(super) fn observed(&mut self, observation: &Observation) {
        for (name, seen) in &observation.operations {
            let rows = rows(&seen.effects);
            if !rows.is_empty() {
                self.rows.insert(name.clone(), rows);
            }
        }
    }

    pub(super) fn results(&self, operation: &str) -> &[Reply<'a>] {
        self.replies.get(operation).map_or(&[], Vec::as_slice)
    }

    pub(super) fn rows_before_change(&self, operation: &str) -> Option<&[Value]> {
        self.changed.get(operation)?.as_deref()
    }
}
