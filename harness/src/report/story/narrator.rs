//! Events in, sentences out: what each event says to a reader who has read those before it. The story and the page tell by it.

use std::collections::BTreeMap;

use super::happened::{self, FAULT, MISSED, Setting, Visible};
use super::seen;
use super::told::Told;
use super::value::brief;
use super::wire::Wire;
use crate::case::{StartStep, Step};
use crate::plan::Plan;
use crate::protocol::{Revision, Spoken};
use crate::record::{Body, Direction, Event, Observation};
use crate::report::printer::Style;

/// What is known of one case so far.
#[derive(Debug, Default)]
pub(in crate::report) struct Narrator {
    plan: Option<Box<Plan>>,
    wire: Wire,
    spoken: Spoken,
    /// By process, how it was started last.
    started: BTreeMap<String, StartStep>,
    before: Option<Observation>,
    /// The step that is being told: its index in the plan.
    step: Option<usize>,
    visible: Option<Visible>,
    /// How far the clock was moved, in seconds.
    clock_s: u64,
    /// Whether a fault has struck in this step, or has missed its moment.
    is_struck: bool,
}

impl Narrator {
    /// What the case was to do, once that is known.
    pub(in crate::report) fn plan(&self) -> Option<&Plan> {
        self.plan.as_deref()
    }

    /// The revision that the server speaks, once its handshake was told.
    pub(in crate::report) fn spoken(&self) -> Option<Revision> {
        self.spoken.revision()
    }

    /// The step that is being told: its index in the plan.
    pub(in crate::report) fn step(&self) -> Option<usize> {
        self.step
    }

    /// One event, which may have nothing to say. `observation` gives what read-back saw under a label, or why that cannot be
    /// read.
    pub(in crate::report) fn tell(
        &mut self,
        event: &Event,
        observation: impl FnOnce(&str, &str) -> Result<Observation, String>,
    ) -> Vec<Told> {
        let process = event.process.as_deref();
        if let Body::CasePlanned { plan, .. } = &event.body {
            self.wire.plan(plan);
            self.plan = Some(plan.clone());
            return Vec::new();
        }
        if let Body::StepStarted { step, .. } = &event.body {
            self.begin(*step);
            return Vec::new();
        }
        if let Body::Message(message) = &event.body {
            if let Some(payload) = &message.payload {
                self.spoken.see(message.direction == Direction::ClientToServer, payload);
            }
            return vec![self.wire.tell(event.seq, process, message)];
        }
        if let Body::Observed { label, sha256 } = &event.body {
            return self.observed(observation(label, sha256));
        }
        if let Body::CaseEnded { .. } = &event.body {
            return Vec::new();
        }
        self.happened(&event.body, process).into_iter().collect()
    }

    /// What a client does not know at the end of the step, where it sent a write and heard nothing.
    pub(in crate::report) fn unknown(&self) -> Option<Told> {
        let Some(Step::Write(write)) = self.planned() else {
            return None;
        };
        if !self.wire.is_waiting() {
            return None;
        }
        let text = format!(
            "it has no reply, and cannot know whether {} was done",
            brief(&write.operation)
        );
        Some(Told::new("client", text).styled(Style::Odd))
    }

    /// The step that is being told, as it was planned.
    pub(super) fn planned(&self) -> Option<&Step> {
        self.step.and_then(|step| self.plan.as_ref()?.steps.get(step))
    }

    fn begin(&mut self, step: usize) {
        self.step = Some(step);
        self.visible = None;
        self.is_struck = false;
        self.wire.forget_waiting();
        if let Some(Step::Start(start)) = self.planned() {
            let start = start.clone();
            self.started.insert(start.process.clone(), start);
        }
    }

    fn observed(&mut self, observation: Result<Observation, String>) -> Vec<Told> {
        match observation {
            Ok(observation) => {
                let told = seen::tell(&observation, self.before.as_ref(), self.is_last_look());
                self.before = Some(observation);
                told
            }
            Err(reason) => vec![Told::new("unknown", reason).styled(Style::Odd)],
        }
    }

    /// Whether nothing is observed after the step that is being told.
    fn is_last_look(&self) -> bool {
        let plan = self.plan.as_deref().zip(self.step);
        let rest = plan.and_then(|(plan, step)| plan.steps.get(step.saturating_add(1)..));
        rest.is_some_and(|rest| !rest.iter().any(|step| matches!(step, Step::Observe(_))))
    }

    fn happened(&mut self, body: &Body, process: Option<&str>) -> Option<Told> {
        if let Body::EffectVisible {
            effects,
            effects_before: before,
            ..
        } = *body
        {
            self.visible = Some(Visible { effects, before });
        }
        if let Body::ClockAdvanced { seconds } = *body {
            self.clock_s = self.clock_s.saturating_add(seconds);
        }
        let setting = Setting {
            step: self.planned(),
            started: process.and_then(|process| self.started.get(process)),
            visible: self.visible,
            clock_s: self.clock_s,
            is_struck: self.is_struck,
        };
        let told = happened::tell(body, process, setting);
        let labels = [FAULT, MISSED];
        self.is_struck |= told.as_ref().is_some_and(|told| labels.contains(&told.label.as_str()));
        told
    }
}
