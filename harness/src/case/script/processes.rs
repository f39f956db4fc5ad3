//! Processes in a script: started, paused, resumed, ended, and which of them a step is about.

use super::{STORE, Script};
use crate::case::start::{Role, StartStep};
use crate::case::step::Step;
use crate::case::written::StepWritten;

impl Script {
    pub(super) fn start(&mut self, what: &str, written: &StepWritten) -> Result<Step, String> {
        let settings = written.settings.unwrap_or_default();
        settings.require_lengths()?;
        let Some(role) = Role::ALL.into_iter().find(|role| role.name() == what) else {
            let names = Role::ALL.map(Role::name).join("\", \"");
            return Err(format!("start = \"{what}\": what can be started is \"{names}\""));
        };
        let of_a_server = [
            ("principal", written.principal.is_some()),
            ("settings: workers", settings.workers.is_some()),
        ];
        if let Some((key, _)) = of_a_server.iter().find(|(_, set)| *set && role != Role::Server) {
            return Err(format!(
                "{key}: only a server has callers, and workers of its own; put it beside a start = \"server\""
            ));
        }
        let process = self.new_name(written.name.as_deref().unwrap_or(what))?;
        self.alive.push((process.clone(), role));
        Ok(Step::Start(StartStep {
            role,
            process,
            principal: written.principal.clone(),
            failpoint: written.failpoint.clone(),
            rotate: written.rotate,
            settings,
        }))
    }

    pub(super) fn end(&mut self, verb: &str, process: &str) -> Result<Step, String> {
        self.require_alive(verb, process)?;
        if verb == "stop" && self.paused.contains_key(process) {
            return Err(format!(
                "stop = \"{process}\": it is paused, and would not end; resume it before, or kill it"
            ));
        }
        self.ended(process);
        let process = process.to_owned();
        Ok(if verb == "stop" {
            Step::Stop { process }
        } else {
            Step::Kill { process }
        })
    }

    fn require_alive(&self, verb: &str, process: &str) -> Result<(), String> {
        let alive: Vec<&str> = self.alive.iter().map(|(alive, _)| alive.as_str()).collect();
        if alive.contains(&process) {
            return Ok(());
        }
        let next = if alive.is_empty() {
            "put a `start` step before it".to_owned()
        } else {
            format!("those that live are {}", alive.join(", "))
        };
        Err(format!(
            "{verb} = \"{process}\": no such process lives at this point; {next}"
        ))
    }

    pub(super) fn ended(&mut self, process: &str) {
        self.alive.retain(|(alive, _)| alive != process);
        self.paused.remove(process);
    }

    pub(super) fn pause(&mut self, process: &str) -> Result<Step, String> {
        self.require_alive("pause", process)?;
        if self.held.is_some() {
            return Err(format!(
                "pause = \"{process}\": it waits for a moment at which nobody holds the store's write lock, and the case holds \
                 it; put release = \"{STORE}\" before it"
            ));
        }
        if self.paused.contains_key(process) {
            return Err(format!(
                "pause = \"{process}\": it is paused already; leave one of the two out"
            ));
        }
        self.paused.insert(process.to_owned(), self.steps.len());
        Ok(Step::Pause {
            process: process.to_owned(),
        })
    }

    pub(super) fn resume(&mut self, process: &str) -> Result<Step, String> {
        self.require_alive("resume", process)?;
        if self.paused.remove(process).is_none() {
            return Err(format!(
                "resume = \"{process}\": it is not paused; put pause = \"{process}\" before it, or leave it out"
            ));
        }
        Ok(Step::Resume {
            process: process.to_owned(),
        })
    }

    /// The server that a step is about: the one it names, or the only one that lives and is not paused.
    pub(super) fn on(&self, written: &StepWritten) -> Result<String, String> {
        let servers = self.alive.iter().filter(|(_, role)| *role == Role::Server);
        let (paused, awake): (Vec<&str>, Vec<&str>) = servers
            .map(|(process, _)| process.as_str())
            .partition(|process| self.paused.contains_key(*process));
        if let Some(on) = written.on.as_deref() {
            return self.named(on, &paused, &awake);
        }
        match (awake.as_slice(), paused.as_slice()) {
            ([only], _) => Ok((*only).to_owned()),
            ([], []) => Err("no server lives at this point: put a `start = \"server\"` step before it".to_owned()),
            ([], [paused, ..]) => Err(format!(
                "every server is paused, and answers nothing: put resume = \"{paused}\" before it"
            )),
            (several, _) => Err(format!(
                "several servers live ({}): say which with `on`",
                several.join(", ")
            )),
        }
    }

    fn named(&self, on: &str, paused: &[&str], awake: &[&str]) -> Result<String, String> {
        if awake.contains(&on) {
            return Ok(on.to_owned());
        }
        if paused.contains(&on) {
            return Err(format!(
                "on = \"{on}\": it is paused, and answers nothing: put resume = \"{on}\" before it"
            ));
        }
        let other = self.alive.iter().find(|(process, _)| process == on);
        let what = other.map_or_else(
            || "no such server lives at this point".to_owned(),
            |(_, role)| format!("it is a {}, which takes no requests", role.name()),
        );
        let next = if awake.is_empty() {
            "put a `start = \"server\"` step before it".to_owned()
        } else {
            format!("name one of {}", awake.join(", "))
        };
        Err(format!("on = \"{on}\": {what}; {next}"))
    }
}
