//! The path of a check, found in the list of facts, or refused with what can stand there; and whether what the check expects can
//! ever be found there.

use std::collections::BTreeSet;

use serde_json::Value;

use super::list::{FACTS, Fact};
use super::steps::{Maker, named};
use super::struck::Struck;
use crate::case::log_words::Word;
use crate::case::script::{RECOVERY, Script};
use crate::case::step::Step;
use crate::case::surface::Surface;
use crate::document;

/// What stands behind the last part of a path into which more can follow.
const AND_INSIDE: char = '…';

/// The readings that are not among those of which first columns are kept.
const WITHOUT_ENTRIES: [&str; 2] = ["effects", "ledger"];

/// Who asks for a fact.
pub(in crate::case) struct Asked<'a> {
    pub(in crate::case) script: &'a Script,
    /// The surfaces that the case cannot do without.
    pub(in crate::case) needs: &'a BTreeSet<Surface>,
    /// The surface without which the check does not apply.
    pub(in crate::case) only: Option<Surface>,
}

/// A fact that a path leads to.
pub(in crate::case) struct Found<'a> {
    pub(super) fact: &'static Fact,
    /// Of which step it is; nothing for what the recovery rules conclude.
    of: Option<Struck<'a>>,
}

impl Found<'_> {
    /// Refuses what a fault of the case makes impossible: that it is there at all, or, with a value, that it is this.
    pub(in crate::case) fn require_possible(&self, value: Option<&Value>) -> Result<(), String> {
        let refusal = self.of.and_then(|of| of.refusal(value));
        refusal.map_or(Ok(()), Err)
    }

    /// Refuses another fact that can never be equal.
    pub(in crate::case) fn require_same(&self, path: &str, other: &Found<'_>, with: &str) -> Result<(), String> {
        let (one, other) = (self.fact.holds, other.fact.holds);
        if one.can_equal(other) {
            return Ok(());
        }
        Err(format!(
            "`{path}` and `{with}` are never the same: one is {}, the other {}",
            one.in_words(),
            other.in_words()
        ))
    }

    /// Refuses a value that the fact can never have.
    pub(in crate::case) fn require(&self, path: &str, value: &Value) -> Result<(), String> {
        let holds = self.fact.holds;
        if holds.takes(value) {
            return Ok(());
        }
        let word = match value {
            Value::Array(values) => {
                let mut words = values.iter().filter_map(Value::as_str);
                words.find(|word| !holds.words().contains(word))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => value.as_str(),
        };
        let near = word.map_or_else(String::new, |word| near(word, holds.words().iter().copied()));
        Err(format!("`{path}` is never {value}: it is {}{near}", holds.in_words()))
    }
}

/// The fact that a path leads to.
pub(in crate::case) fn find<'a>(path: &'a str, asked: &Asked<'a>) -> Result<Found<'a>, String> {
    let (root, rest) = path.split_once('.').unwrap_or((path, ""));
    if root == RECOVERY {
        let (fact, operand) = one_of(path, rest, Maker::Recovery, asked.script)?;
        asked.require_conditional(path, operand.as_deref().unwrap_or_default())?;
        return Ok(Found { fact, of: None });
    }
    let Some((at, _, maker)) = named(asked.script, root) else {
        let near = near(root, asked.script.names.iter().map(String::as_str).chain([RECOVERY]));
        return Err(format!("`{path}` begins with no step's name{near}"));
    };
    let (fact, operand) = one_of(path, rest, maker, asked.script)?;
    asked.require_conditional(path, root)?;
    if let Some(missing) = fact.on.missing(asked.script, at, operand.as_deref()) {
        return Err(format!("`{path}` is never there: {missing}"));
    }
    let surfaces = fact.surfaces.iter().copied().chain(surface_of_entries(fact, rest));
    for surface in surfaces {
        asked.require_surface(path, surface)?;
    }
    let of = Struck {
        script: asked.script,
        at,
        maker,
        root,
        rest,
    };
    Ok(Found { fact, of: Some(of) })
}

impl Asked<'_> {
    fn require_conditional(&self, path: &str, step: &str) -> Result<(), String> {
        match self.script.conditional.get(step) {
            Some(surface) if self.only != Some(*surface) => Err(format!(
                "`{path}` is there only with `{0}`: add only = \"{0}\"",
                surface.name()
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn require_surface(&self, path: &str, surface: Surface) -> Result<(), String> {
        if self.needs.contains(&surface) || self.only == Some(surface) {
            return Ok(());
        }
        Err(format!(
            "`{path}` is there only with `{0}`: name it in `needs`, or in `uses` with only = \"{0}\" at the check",
            surface.name()
        ))
    }
}

/// The fact of these steps to which the rest of a path leads, and the operation, or the step, that it names.
fn one_of(path: &str, rest: &str, maker: Maker, script: &Script) -> Result<(&'static Fact, Option<String>), String> {
    let mut left: Vec<&'static Fact> = FACTS.iter().filter(|fact| fact.maker == maker).collect();
    let (mut operand, mut so_far) = (None, path.split('.').next().unwrap_or_default().to_owned());
    for (at, part) in rest.split('.').enumerate() {
        let is_inside = |fact: &&'static Fact| fact.path.ends_with(AND_INSIDE) && at >= parts(fact).count();
        if let Some(fact) = left.iter().copied().find(is_inside) {
            return Ok((fact, None));
        }
        let (fits, others): (Vec<&'static Fact>, Vec<&'static Fact>) = left.into_iter().partition(|fact| {
            let wanted = parts(fact).nth(at);
            wanted.is_some_and(|wanted| stands_for(wanted, part, script))
        });
        if fits.is_empty() {
            return Err(refusal(path, &so_far, part, at, maker, &others, script));
        }
        if fits
            .iter()
            .any(|fact| matches!(parts(fact).nth(at), Some("A" | "STATUS")))
        {
            operand = Some(part.to_owned());
        }
        so_far.extend([".", part]);
        left = fits;
    }
    let length = rest.split('.').count();
    match left.iter().copied().find(|fact| parts(fact).count() == length) {
        Some(fact) => Ok((fact, operand)),
        None => Err(format!(
            "`{path}` ends too early: what can follow is {}",
            listed(&can_stand(&left, length, script))
        )),
    }
}

/// The parts of a fact's path.
fn parts(fact: &Fact) -> impl Iterator<Item = &'static str> {
    fact.path.trim_end_matches(AND_INSIDE).split('.')
}

fn is_placeholder(wanted: &str) -> bool {
    wanted.starts_with(|c: char| c.is_ascii_uppercase())
}

fn stands_for(wanted: &str, part: &str, script: &Script) -> bool {
    match wanted {
        "NAME" => !part.is_empty(),
        // What is near to a known word is that word, misspelt: nobody shall be accused for it.
        "MEMBER" => !part.is_empty() && !members().any(|known| is_misspelt(part, known)),
        _ if is_placeholder(wanted) => stand_ins(wanted, script).iter().any(|word| word == part),
        _ => wanted == part,
    }
}

/// Whether so few letters differ that the known word was meant; or none.
fn is_misspelt(word: &str, known: &str) -> bool {
    strsim::damerau_levenshtein(word, known) <= (known.len() / 4).max(1)
}

/// The facts of a status observation that have names.
fn members() -> impl Iterator<Item = &'static str> {
    let of_status = FACTS.iter().filter(|fact| fact.maker == Maker::Status);
    of_status
        .filter_map(|fact| parts(fact).next())
        .filter(|part| !is_placeholder(part))
}

/// What can stand in the place of a word in capitals.
fn stand_ins(wanted: &str, script: &Script) -> Vec<String> {
    let owned = |word: &str| word.to_owned();
    match wanted {
        "A" => script.operations.keys().cloned().collect(),
        "WORD" => Word::NAMES.iter().copied().map(owned).collect(),
        "KIND" => {
            let has_entries = |name: &&str| !WITHOUT_ENTRIES.contains(name);
            Surface::readings().filter(has_entries).map(owned).collect()
        }
        "STATUS" => (script.steps.iter())
            .filter_map(|step| {
                let Step::Status { name, .. } = step else { return None };
                Some(name.clone())
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The words that can stand at a place of these facts.
fn can_stand(facts: &[&Fact], at: usize, script: &Script) -> Vec<String> {
    let mut words = Vec::new();
    for wanted in facts.iter().filter_map(|fact| parts(fact).nth(at)) {
        let more = if wanted == "NAME" {
            vec!["a name in [tampering]".to_owned()]
        } else if wanted == "MEMBER" {
            vec!["other members of the observation".to_owned()]
        } else if is_placeholder(wanted) {
            stand_ins(wanted, script)
        } else {
            vec![wanted.to_owned()]
        };
        for word in more {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}

fn refusal(path: &str, so_far: &str, part: &str, at: usize, maker: Maker, facts: &[&Fact], script: &Script) -> String {
    let known = can_stand(facts, at, script);
    let near = near(part, known.iter().map(String::as_str));
    let is = |wanted: &str| facts.iter().any(|fact| parts(fact).nth(at) == Some(wanted));
    if known.is_empty() && is("STATUS") {
        return format!("`{path}`: the case has no `status` step, and the recovery rules conclude from nothing else");
    }
    if is("A") && known.is_empty() {
        return format!("`{path}`: no step writes an operation, so there are no facts of one");
    }
    if is("A") {
        return format!(
            "`{path}`: no step writes an operation `{part}`; those that are written are {}{near}",
            listed(&known)
        );
    }
    match (at, known.is_empty()) {
        (_, true) => format!(
            "`{path}`: `{so_far}` is the whole fact, and nothing follows; leave out `.{part}` and what is behind it"
        ),
        (0, false) if part.is_empty() => format!(
            "`{path}` is the step, and no fact of it: what can follow is {}",
            listed(&known)
        ),
        (0, false) if maker != Maker::Recovery => format!(
            "`{path}`: `{part}` is no fact of `{}`, which has {}{near}",
            maker.verb(),
            listed(&known)
        ),
        (_, false) => format!(
            "`{path}`: in `{so_far}` is no `{part}`; there are {}{near}",
            listed(&known)
        ),
    }
}

/// The surface of the reading of which first columns are asked for.
fn surface_of_entries(fact: &Fact, rest: &str) -> Option<Surface> {
    let at = parts(fact).position(|part| part == "KIND")?;
    Surface::of_reading(rest.split('.').nth(at)?)
}

fn listed(words: &[String]) -> String {
    words.join(", ")
}

fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    document::nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
