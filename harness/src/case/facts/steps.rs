//! By which steps a fact is made, and what else of them it depends on.

use crate::case::script::Script;
use crate::case::step::{From, Step, WriteStep};

/// The steps that make a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// `observe`.
    Observe,
    /// `write`, and `send`.
    Write,
    /// `status`.
    Status,
    /// `cancel_execution`.
    CancelExecution,
    /// `release`.
    Release,
    /// `reconcile`.
    Reconcile,
    /// `start`: the process, under its name.
    Process,
    /// `status`: what the recovery rules conclude, under a name of their own.
    Recovery,
}

impl Maker {
    /// The step, or the steps.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Write => "write` or `send",
            Self::Status | Self::Recovery => "status",
            Self::CancelExecution => "cancel_execution",
            Self::Release => "release",
            Self::Reconcile => "reconcile",
            Self::Process => "start",
        }
    }
}

/// The step that a name is of: its place, and what it makes facts as.
pub(super) fn named<'a>(script: &'a Script, name: &str) -> Option<(usize, &'a Step, Maker)> {
    let of = |step: &'a Step| {
        let (known, maker) = match step {
            Step::Start(start) => (&start.process, Maker::Process),
            Step::Observe(observe) => (&observe.label, Maker::Observe),
            Step::Write(write) => (&write.name, Maker::Write),
            Step::Send(send) => (&send.name, Maker::Write),
            Step::Status { name, .. } => (name, Maker::Status),
            Step::CancelExecution { name, .. } => (name, Maker::CancelExecution),
            Step::Release { name, .. } => (name, Maker::Release),
            Step::Reconcile { name, .. } => (name, Maker::Reconcile),
            Step::Stop { .. }
            | Step::Kill { .. }
            | Step::Pause { .. }
            | Step::Resume { .. }
            | Step::Open { .. }
            | Step::Await { .. }
            | Step::Cancel { .. }
            | Step::Advance { .. }
            | Step::Hold { .. } => return None,
        };
        (known == name).then_some(maker)
    };
    let mut steps = script.steps.iter().enumerate();
    steps.find_map(|(at, step)| Some((at, step, of(step)?)))
}

/// What a step must be, or have before it, for a fact to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// Nothing more.
    Any,
    /// An observation that waits for something.
    Until,
    /// One that also counts on a copy with doubled rows.
    Doubled,
    /// One that tries the statements of `[tampering]`.
    Tampered,
    /// One with another before it.
    SecondLook,
    /// One with a write of changed data before it, of the operation.
    AfterChange,
    /// A write whose reply a fault withholds; or a request that was sent before one.
    Fault,
    /// A write that no fault struck.
    NoFault,
    /// The last request again.
    Repeat,
    /// A write, and no `send`.
    Write,
}

impl On {
    /// What is missing for the fact of this step, where something is: what to write.
    pub(super) fn missing(self, script: &Script, at: usize, operation: Option<&str>) -> Option<String> {
        let step = script.steps.get(at)?;
        let before = &script.steps[..at];
        let of_observe = |set: fn(&crate::case::ObserveStep) -> bool| matches!(step, Step::Observe(one) if set(one));
        let write = |set: fn(&WriteStep) -> bool| matches!(step, Step::Write(one) if set(one));
        let is_struck = |step: &Step| matches!(step, Step::Write(write) if write.fault.is_some());
        let is_there = match self {
            Self::Any => true,
            Self::Until => of_observe(|one| one.until.is_some()),
            Self::Doubled => of_observe(|one| one.doubled.is_some()),
            Self::Tampered => of_observe(|one| one.tampered),
            Self::SecondLook => before.iter().any(|step| matches!(step, Step::Observe(_))),
            Self::AfterChange => before.iter().any(
                |step| matches!(step, Step::Write(one) if one.changed && operation.is_none_or(|of| of == one.operation)),
            ),
            Self::Fault => is_struck(step) || (matches!(step, Step::Send(_)) && script.steps.iter().any(is_struck)),
            Self::NoFault => write(|one| one.fault.is_none()),
            Self::Repeat => write(|one| one.from == From::Repeat && !one.changed),
            Self::Write => write(|_| true),
        };
        (!is_there).then(|| self.advice().to_owned())
    }

    /// What makes the fact, for people; empty where nothing more is asked.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Until => "an observation has it only with `until`",
            Self::Doubled => "an observation has it only with `doubled`",
            Self::Tampered => "an observation has it only with `tampered = true`",
            Self::SecondLook => "an observation has it only with another `observe` before it",
            Self::AfterChange => "an observation has it only behind a write of the operation with `changed = true`",
            Self::Fault => "a write has it only with `fault`",
            Self::NoFault => "only a `write` without `fault` has it",
            Self::Repeat => "only a `write` has it that repeats the last request with the same data",
            Self::Write => "only a `write` has it",
        }
    }
}
