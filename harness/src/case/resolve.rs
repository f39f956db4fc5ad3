//! From the case as written to the case as resolved: every rule of meaning that format 1 has, each with its own error.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Basis, Bounds, Case, Check, Fault, From, Promise, Step, Surface, When, WriteStep};
use super::written::{BoundsWritten, CASE_FORMAT, CaseWritten, CheckWritten, StepWritten};
use crate::digest;
use crate::document::{self, DocumentError};

/// Parses and resolves a case. `name` is what errors call the file.
pub fn parse(name: &str, text: &str) -> Result<Case, DocumentError> {
    let written: CaseWritten = document::parse(name, text)?;
    resolve(written, text).map_err(|message| document::refuse(name, message))
}

fn resolve(written: CaseWritten, text: &str) -> Result<Case, String> {
    if written.format != CASE_FORMAT {
        return Err(format!(
            "format {} is not one this harness reads (it reads {CASE_FORMAT}); take a harness that does, or write format {CASE_FORMAT}",
            written.format
        ));
    }
    for (key, word) in [("id", &written.id), ("family", &written.family)] {
        require_word(key, word)?;
    }
    let mut script = Script::default();
    for (index, step) in written.step.into_iter().enumerate() {
        script
            .push(&step)
            .map_err(|message| format!("step {}: {message}", index + 1))?;
    }
    let allowed: BTreeSet<Surface> = written.needs.iter().chain(&written.uses).copied().collect();
    script.require_surfaces(&allowed)?;
    let checks = resolve_checks(written.check, &script, &allowed)?;
    Ok(Case {
        id: written.id,
        number: written.number,
        family: written.family,
        revision: written.revision,
        title: written.title,
        proves: written.proves,
        matters: written.matters,
        mend: written.mend,
        sources: written.sources,
        needs: written.needs,
        uses: written.uses,
        controls: written.controls,
        bounds: resolve_bounds(&written.bounds),
        operations: script.operations,
        steps: script.steps,
        checks,
        digest: digest::sha256_hex(text.as_bytes()),
        text: text.to_owned(),
    })
}

fn resolve_bounds(written: &BoundsWritten) -> Bounds {
    let usual = Bounds::default();
    Bounds {
        start_ms: written.start_ms.unwrap_or(usual.start_ms),
        effect_visible_ms: written.effect_visible_ms.unwrap_or(usual.effect_visible_ms),
        withheld_reply_ms: written.withheld_reply_ms.unwrap_or(usual.withheld_reply_ms),
        reply_ms: written.reply_ms.unwrap_or(usual.reply_ms),
        quiet_ms: written.quiet_ms.unwrap_or(usual.quiet_ms),
        stop_ms: written.stop_ms.unwrap_or(usual.stop_ms),
    }
}

/// Ids, families and names are typed by users and become folder names: letters, digits and hyphens, nothing else.
fn require_word(key: &str, word: &str) -> Result<(), String> {
    if !is_plain_word(word) {
        return Err(format!(
            "{key} `{word}` must be 1 to 64 letters, digits and hyphens, and not begin with a hyphen"
        ));
    }
    Ok(())
}

/// Whether a word can be an id or a label, and so a folder or file name.
pub(crate) fn is_plain_word(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=64).contains(&word.len()) && word.chars().all(fits) && !word.starts_with('-')
}

/// The steps resolved so far, and what they have made true.
#[derive(Default)]
struct Script {
    steps: Vec<Step>,
    operations: BTreeMap<String, String>,
    /// Names that checks may use as the first part of a path.
    names: BTreeSet<String>,
    alive: Option<String>,
    conditional: BTreeMap<String, Surface>,
}

impl Script {
    fn push(&mut self, written: &StepWritten) -> Result<(), String> {
        let verbs = [
            ("start", &written.start),
            ("stop", &written.stop),
            ("kill", &written.kill),
            ("observe", &written.observe),
            ("write", &written.write),
            ("status", &written.status),
        ];
        let used: Vec<(&str, String)> = verbs
            .into_iter()
            .filter_map(|(verb, object)| object.clone().map(|object| (verb, object)))
            .collect();
        let [(verb, object)] = used.as_slice() else {
            return Err("it needs exactly one of start, stop, kill, observe, write, status".to_owned());
        };
        refuse_strangers(verb, written)?;
        let step = match *verb {
            "start" => self.start(object, written)?,
            "observe" => self.observe(object, written)?,
            "write" => Step::Write(self.write(object, written)?),
            "status" => self.status(object, written)?,
            ending => self.end(ending, object)?,
        };
        self.steps.push(step);
        Ok(())
    }

    fn start(&mut self, what: &str, written: &StepWritten) -> Result<Step, String> {
        if what != "server" {
            return Err(format!("start = \"{what}\": the only thing to start is \"server\""));
        }
        if let Some(alive) = &self.alive {
            return Err(format!("`{alive}` still lives: stop or kill it before another start"));
        }
        let process = self.new_name(written.name.as_deref().unwrap_or("server"))?;
        self.alive = Some(process.clone());
        Ok(Step::Start { process })
    }

    fn end(&mut self, verb: &str, process: &str) -> Result<Step, String> {
        if self.alive.as_deref() != Some(process) {
            return Err(format!("{verb} = \"{process}\": no such process lives at this point"));
        }
        self.alive = None;
        let process = process.to_owned();
        Ok(if verb == "stop" {
            Step::Stop { process }
        } else {
            Step::Kill { process }
        })
    }

    fn observe(&mut self, label: &str, written: &StepWritten) -> Result<Step, String> {
        let when = written.when.unwrap_or(When::Now);
        if when == When::Quiet && self.alive.is_some() {
            return Err("when = \"quiet\" needs every process stopped or killed before".to_owned());
        }
        if written.doubled.is_some() && when == When::Now {
            return Err("`doubled` works on a frozen copy: add when = \"quiet\"".to_owned());
        }
        let label = self.new_name(label)?;
        Ok(Step::Observe {
            label,
            when,
            doubled: written.doubled,
        })
    }

    fn write(&mut self, operation: &str, written: &StepWritten) -> Result<WriteStep, String> {
        require_word("write", operation)?;
        self.require_alive()?;
        let first = !self.operations.contains_key(operation);
        let marker = written.marker.as_deref().unwrap_or(operation).to_owned();
        if marker != operation && !self.operations.contains_key(&marker) {
            return Err(format!("marker = \"{marker}\": no earlier step writes that operation"));
        }
        if !first && written.marker.is_some() {
            return Err(format!("marker belongs to the first write of `{operation}`"));
        }
        if first {
            self.operations.insert(operation.to_owned(), marker);
        }
        let from = match written.from {
            Some(from) => from,
            None if first => From::Start,
            None => From::Repeat,
        };
        if first && from == From::Repeat {
            return Err(format!(
                "`{operation}` was not written before, so there is nothing to repeat"
            ));
        }
        let fault = written.fault.as_ref().map(|fault| Fault {
            at: fault.at,
            until: fault.withhold_reply_until,
            then: fault.then,
        });
        if fault.is_some() {
            self.alive = None;
        }
        Ok(WriteStep {
            operation: operation.to_owned(),
            name: self.new_name(written.name.as_deref().unwrap_or(operation))?,
            from,
            changed: written.changed.unwrap_or(false),
            fault,
        })
    }

    fn status(&mut self, operation: &str, written: &StepWritten) -> Result<Step, String> {
        self.require_alive()?;
        if !self.operations.contains_key(operation) {
            return Err(format!(
                "status = \"{operation}\": no earlier step writes that operation"
            ));
        }
        let name = self.new_name(written.name.as_deref().unwrap_or("status"))?;
        if let Some(surface) = written.only {
            self.conditional.insert(name.clone(), surface);
        }
        Ok(Step::Status {
            operation: operation.to_owned(),
            name,
            only: written.only,
        })
    }

    fn require_alive(&self) -> Result<(), String> {
        match self.alive {
            Some(_) => Ok(()),
            None => Err("no server lives at this point: put a `start = \"server\"` step before it".to_owned()),
        }
    }

    fn new_name(&mut self, name: &str) -> Result<String, String> {
        require_word("name", name)?;
        if name == RECOVERY {
            return Err(format!("the name `{RECOVERY}` is taken by the recovery facts"));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(format!(
                "the name `{name}` is used twice; give one of them another with `as`"
            ));
        }
        Ok(name.to_owned())
    }

    /// A step that needs a surface must say so in the case's `needs`, or be conditional on it.
    fn require_surfaces(&self, allowed: &BTreeSet<Surface>) -> Result<(), String> {
        let mut wanted = BTreeSet::new();
        for step in &self.steps {
            match step {
                Step::Write(write) => {
                    wanted.insert(Surface::Write);
                    if write.changed {
                        wanted.insert(Surface::WriteChange);
                    }
                }
                Step::Status { only, .. } => {
                    wanted.insert(only.unwrap_or(Surface::Status));
                }
                Step::Start { .. } | Step::Stop { .. } | Step::Kill { .. } | Step::Observe { .. } => {}
            }
        }
        match wanted.difference(allowed).next() {
            Some(missing) => Err(format!(
                "a step uses `{}`: name it in `needs`, or in `uses` with `only` at the step",
                missing.name()
            )),
            None => Ok(()),
        }
    }
}

/// The first part of the paths that hold what the recovery rules conclude.
const RECOVERY: &str = "recovery";

/// A key beside a verb that has no use for it is a misunderstanding, and is refused.
fn refuse_strangers(verb: &str, written: &StepWritten) -> Result<(), String> {
    let belongs: &[&str] = match verb {
        "start" => &["as"],
        "observe" => &["when", "doubled"],
        "write" => &["as", "from", "changed", "marker", "fault"],
        "status" => &["as", "only"],
        _ => &[],
    };
    let present = [
        ("as", written.name.is_some()),
        ("only", written.only.is_some()),
        ("when", written.when.is_some()),
        ("doubled", written.doubled.is_some()),
        ("from", written.from.is_some()),
        ("changed", written.changed.is_some()),
        ("marker", written.marker.is_some()),
        ("fault", written.fault.is_some()),
    ];
    match present.iter().find(|(key, set)| *set && !belongs.contains(key)) {
        Some((key, _)) => Err(format!("`{key}` does not belong to a `{verb}` step")),
        None => Ok(()),
    }
}

fn resolve_checks(
    written: Vec<CheckWritten>,
    script: &Script,
    allowed: &BTreeSet<Surface>,
) -> Result<Vec<Check>, String> {
    let mut ids = BTreeSet::new();
    let mut checks = Vec::with_capacity(written.len());
    for check in written {
        let id = check.id.clone();
        if !ids.insert(id.clone()) {
            return Err(format!("check `{id}` is there twice"));
        }
        checks.push(resolve_check(check, script, allowed).map_err(|message| format!("check `{id}`: {message}"))?);
    }
    if checks.is_empty() {
        return Err("a case without a check proves nothing".to_owned());
    }
    if !checks.iter().any(|check| check.about) {
        let first = checks.iter_mut().find(|check| check.basis != Basis::Machinery);
        if let Some(first) = first {
            first.about = true;
        }
    }
    Ok(checks)
}

fn resolve_check(written: CheckWritten, script: &Script, allowed: &BTreeSet<Surface>) -> Result<Check, String> {
    require_word("id", &written.id)?;
    let specification = matches!(written.basis, Basis::SpecMust | Basis::SpecShould);
    if specification && written.source.is_none() {
        return Err("a specification basis quotes its sentence: add source = { page, revision, sentence }".to_owned());
    }
    if written.promise.is_some() && written.basis != Basis::Contract {
        return Err("`promise` belongs to basis = \"contract\"".to_owned());
    }
    if let Some(surface) = written.only
        && !allowed.contains(&surface)
    {
        return Err(format!("only = \"{}\" must be named in `uses`", surface.name()));
    }
    let pairs = written.same.iter().flat_map(|(left, right)| [left, right]);
    let paths: Vec<&String> = written.expect.keys().chain(pairs).collect();
    if paths.is_empty() {
        return Err("it expects nothing: give it `expect` or `same`".to_owned());
    }
    for path in paths {
        require_path(path, written.only, script)?;
    }
    Ok(Check {
        id: written.id,
        basis: written.basis,
        about: written.about,
        say: written.say,
        only: written.only,
        promise: written.promise.unwrap_or(Promise::Effects),
        source: written.source,
        expect: written.expect,
        same: written.same,
    })
}

fn require_path(path: &str, only: Option<Surface>, script: &Script) -> Result<(), String> {
    let root = path.split('.').next().unwrap_or_default();
    let known = script.names.iter().map(String::as_str);
    if root != RECOVERY && !script.names.contains(root) {
        let near = document::nearest(root, known)
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        return Err(format!("`{path}` begins with no step's name{near}"));
    }
    match script.conditional.get(root) {
        Some(surface) if only != Some(*surface) => Err(format!(
            "`{path}` is there only with `{0}`: add only = \"{0}\"",
            surface.name()
        )),
        _ => Ok(()),
    }
}
