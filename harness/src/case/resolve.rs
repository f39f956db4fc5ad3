//! From the case as written to the case as resolved: every rule of meaning that format 1 has, each with its own error.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;

use super::definition::{Basis, Bounds, Case, Check, Promise};
use super::script::{RECOVERY, Script};
use super::surface::Surface;
use super::written::{BoundsWritten, CASE_FORMAT, CaseWritten, CheckWritten};
use crate::digest;
use crate::document::{self, DocumentError};

/// Parses and resolves a case. `name` is what errors call the file.
pub fn parse(name: &str, text: &str) -> Result<Case, DocumentError> {
    let written: CaseWritten = document::parse(name, text)?;
    resolve(written, text).map_err(|refused| document::refuse_at(name, text, refused.span, refused.message))
}

/// What is wrong, and where, in bytes of the text, where that is one place.
struct Refused {
    span: Option<Range<usize>>,
    message: String,
}

impl Refused {
    fn at(span: Range<usize>) -> impl FnOnce(String) -> Self {
        move |message| Self {
            span: Some(span),
            message,
        }
    }
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self { span: None, message }
    }
}

fn resolve(written: CaseWritten, text: &str) -> Result<Case, Refused> {
    let format = *written.format.get_ref();
    if format != CASE_FORMAT {
        return Err(Refused::at(written.format.span())(format!(
            "format {format} is not one this harness reads (it reads {CASE_FORMAT}); take a harness that does, or write format {CASE_FORMAT}"
        )));
    }
    for (key, word) in [("id", &written.id), ("family", &written.family)] {
        require_word(key, word.get_ref()).map_err(Refused::at(word.span()))?;
    }
    let mut script = Script::default();
    for (index, step) in written.step.into_iter().enumerate() {
        let pushed = script.push(step.get_ref());
        pushed
            .map_err(|message| format!("step {}: {message}", index + 1))
            .map_err(Refused::at(step.span()))?;
    }
    let allowed: BTreeSet<Surface> = written.needs.iter().chain(&written.uses).copied().collect();
    script.require_surfaces(&allowed)?;
    let checks = resolve_checks(written.check, &script, &allowed)?;
    Ok(Case {
        id: written.id.into_inner(),
        number: written.number,
        family: written.family.into_inner(),
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
        condition_ms: written.condition_ms.unwrap_or(usual.condition_ms),
        settled_ms: written.settled_ms.unwrap_or(usual.settled_ms),
    }
}

/// Ids, families and names are typed by users and become folder names: letters, digits and hyphens, nothing else.
pub(super) fn require_word(key: &str, word: &str) -> Result<(), String> {
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

fn resolve_checks(
    written: Vec<Spanned<CheckWritten>>,
    script: &Script,
    allowed: &BTreeSet<Surface>,
) -> Result<Vec<Check>, Refused> {
    let mut ids = BTreeSet::new();
    let mut checks = Vec::with_capacity(written.len());
    for check in written {
        let span = check.span();
        let check = check.into_inner();
        let id = check.id.clone();
        if !ids.insert(id.clone()) {
            return Err(Refused::at(span)(format!("check `{id}` is there twice")));
        }
        let resolved = resolve_check(check, script, allowed);
        let named = resolved.map_err(|message| format!("check `{id}`: {message}"));
        checks.push(named.map_err(Refused::at(span))?);
    }
    if checks.is_empty() {
        return Err("a case without a check proves nothing".to_owned().into());
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
    let paths: Vec<&String> = (written.expect.keys().chain(written.among.keys()))
        .chain(pairs)
        .collect();
    if paths.is_empty() {
        return Err("it expects nothing: give it `expect`, `among` or `same`".to_owned());
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
        among: written.among,
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
