//! Named failpoints: cut points at which this server, when told so, ends or fails, once per process.
//!
//! The only place of the crate that ends the process. Without the setting nothing here does anything.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

/// A cut point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failpoint {
    /// Exit 71 after the ledger row was inserted, before the effect.
    AfterLedgerInsert,
    /// Exit 72 after the effect row was inserted, before the commit.
    AfterEffectInsert,
    /// Exit 73 after the first commit of an operation, before the reply and before any second step.
    AfterFirstCommit,
    /// Exit 74 after the second commit of an operation that takes two, before the reply. A partial write takes two, and so does
    /// any write of a server whose planted defect splits the effect from the ledger row.
    AfterSecondCommit,
    /// Exit 75 after the effect outside the store, before the completion.
    AfterOutsideEffect,
    /// An error after the effect row was inserted; the transaction is rolled back.
    FailAfterEffectInsert,
    /// A panic in the task that serves a tool call.
    PanicInTool,
    /// A panic on the ledger's thread, inside a transaction.
    PanicInLedger,
}

/// Names and exit codes, in one table.
const TABLE: &[(Failpoint, &str, Option<i32>)] = &[
    (Failpoint::AfterLedgerInsert, "after-ledger-insert", Some(71)),
    (Failpoint::AfterEffectInsert, "after-effect-insert", Some(72)),
    (Failpoint::AfterFirstCommit, "after-first-commit", Some(73)),
    (Failpoint::AfterSecondCommit, "after-second-commit", Some(74)),
    (Failpoint::AfterOutsideEffect, "after-outside-effect", Some(75)),
    (Failpoint::FailAfterEffectInsert, "fail-after-effect-insert", None),
    (Failpoint::PanicInTool, "panic-in-tool", None),
    (Failpoint::PanicInLedger, "panic-in-ledger", None),
];

/// A name that no failpoint has.
#[derive(Debug, Error)]
#[error("{0:?} is not a failpoint")]
pub struct UnknownFailpoint(String);

impl Failpoint {
    /// Every name, in the order of the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|&(_, name, _)| name)
    }
}

impl FromStr for Failpoint {
    type Err = UnknownFailpoint;

    fn from_str(name: &str) -> Result<Self, UnknownFailpoint> {
        let row = TABLE.iter().find(|&&(_, known, _)| known == name);
        row.map(|&(failpoint, _, _)| failpoint)
            .ok_or_else(|| UnknownFailpoint(name.to_owned()))
    }
}

/// The failpoint of this process, if any, and whether it has been hit. Clones share the hit.
#[derive(Debug, Clone, Default)]
pub struct Failpoints {
    chosen: Option<Failpoint>,
    spent: Arc<AtomicBool>,
}

impl Failpoints {
    /// Arms `chosen`.
    pub fn new(chosen: Option<Failpoint>) -> Self {
        Self {
            chosen,
            spent: Arc::default(),
        }
    }

    /// Ends the process with the failpoint's exit code if `at` is the armed one.
    pub fn exit_at(&self, at: Failpoint) {
        let code = TABLE
            .iter()
            .find_map(|&(failpoint, _, code)| code.filter(|_| failpoint == at));
        if let Some(code) = code
            && self.hit(at)
        {
            end_process(code);
        }
    }

    /// Panics if `at` is the armed failpoint.
    pub fn panic_at(&self, at: Failpoint) {
        assert!(!self.hit(at), "the failpoint {at:?} was reached");
    }

    /// Whether `at` is the armed failpoint and is reached for the first time.
    pub fn hit(&self, at: Failpoint) -> bool {
        self.chosen == Some(at) && !self.spent.swap(true, Ordering::Relaxed)
    }
}

#[expect(
    clippy::exit,
    reason = "a failpoint is a death without any unwinding; this is the one place"
)]
fn end_process(code: i32) -> ! {
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known_and_no_other() {
        for name in Failpoint::names() {
            assert!(name.parse::<Failpoint>().is_ok(), "{name}");
        }
        assert!("after-lunch".parse::<Failpoint>().is_err());
    }

    #[test]
    fn a_failpoint_is_hit_once_and_only_at_its_place() {
        let failpoints = Failpoints::new(Some(Failpoint::FailAfterEffectInsert));
        assert!(!failpoints.hit(Failpoint::PanicInTool));
        assert!(failpoints.clone().hit(Failpoint::FailAfterEffectInsert));
        assert!(!failpoints.hit(Failpoint::FailAfterEffectInsert));
    }
}
