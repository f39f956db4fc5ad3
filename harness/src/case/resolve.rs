//! From the case as written to the case as resolved: every rule of meaning that format 1 has, each with its own error.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;

use super::catalogue::CONTROL_FAMILY;
use super::checks::{Asking, resolve_checks};
use super::definition::{BOUND_MS_MAX, Basis, Bounds, Case};
use super::script::Script;
use super::surface::Surface;
use super::written::{BoundsWritten, CASE_FORMAT, CaseWritten, StepWritten};
use crate::digest;
use crate::document::{self, DocumentError};

/// Parses and resolves a case. `name` is what errors call the file.
pub fn parse(name: &str, text: &str) -> Result<Case, DocumentError> {
    parse_with_places(name, text).map(|(case, _)| case)
}

/// The same, with the places of what only a whole catalogue can judge.
pub(super) fn parse_with_places(name: &str, text: &str) -> Result<(Case, Places), DocumentError> {
    let written: CaseWritten = document::parse(name, text)?;
    let places = Places::of(&written);
    let case = resolve(written, text).map_err(|refused| refused.in_document(name, text))?;
    Ok((case, places))
}

/// Where that stands in a case file which has to fit to other cases, in bytes.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) id: Range<usize>,
    pub(super) family: Range<usize>,
    pub(super) number: Option<Range<usize>>,
    /// The whole list.
    pub(super) controls: Option<Range<usize>>,
    /// Each of them, in order.
    pub(super) control: Vec<Range<usize>>,
}

impl Places {
    fn of(written: &CaseWritten) -> Self {
        let controls = written.controls.as_ref();
        let each = controls.into_iter().flat_map(Spanned::get_ref);
        Self {
            id: written.id.span(),
            family: written.family.span(),
            number: written.number.as_ref().map(Spanned::span),
            controls: controls.map(Spanned::span),
            control: each.map(Spanned::span).collect(),
        }
    }
}

/// What is wrong, and where, in bytes of the text, where that is one place.
#[derive(Debug)]
pub(super) struct Refused {
    span: Option<Range<usize>>,
    message: String,
}

impl Refused {
    pub(super) fn in_document(self, name: &str, text: &str) -> DocumentError {
        document::refuse_at(name, text, self.span, self.message)
    }

    pub(super) fn at(span: Range<usize>) -> impl FnOnce(String) -> Self {
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
    let revision = *written.revision.get_ref();
    if revision == 0 {
        return Err(Refused::at(written.revision.span())(
            "revision 0: the first is 1, and every change of the file raises it".to_owned(),
        ));
    }
    let first_check = written.check.first().map(Spanned::span);
    let script = resolve_steps(&written.step)?;
    let needs = written.needs.get_ref();
    let allowed: BTreeSet<Surface> = needs.iter().chain(&written.uses).copied().collect();
    script
        .require_surfaces(&allowed)
        .map_err(Refused::at(written.needs.span()))?;
    let controls = written.controls.map(Spanned::into_inner).unwrap_or_default();
    let asking = Asking {
        script: &script,
        needs: &needs.iter().copied().collect(),
        allowed: &allowed,
    };
    let checks = resolve_checks(written.check, &asking)?;
    if !checks.iter().any(|check| check.basis != Basis::Machinery) && *written.family.get_ref() != CONTROL_FAMILY {
        return Err(Refused::at(first_check.unwrap_or_default())(
            "every check has basis = \"machinery\", so nothing could ever fail a server, and the case would pass without \
             showing anything; give one of them another basis, such as \"contract\""
                .to_owned(),
        ));
    }
    Ok(Case {
        id: written.id.into_inner(),
        number: written.number.map(Spanned::into_inner),
        family: written.family.into_inner(),
        revision,
        title: written.title,
        proves: written.proves,
        matters: written.matters,
        mend: written.mend,
        sources: written.sources,
        needs: written.needs.into_inner(),
        uses: written.uses,
        controls: controls.into_iter().map(Spanned::into_inner).collect(),
        bounds: resolve_bounds(&written.bounds)?,
        operations: script.operations,
        steps: script.steps,
        checks,
        digest: digest::sha256_hex(text.as_bytes()),
        text: text.to_owned(),
    })
}

/// The steps of a case, for tests.
#[cfg(test)]
pub(super) fn script_of(text: &str) -> Script {
    let written: CaseWritten = document::parse("case.toml", text).expect("a case");
    resolve_steps(&written.step).expect("its steps")
}

fn resolve_steps(written: &[Spanned<StepWritten>]) -> Result<Script, Refused> {
    let mut script = Script::default();
    let refused = |at: usize, refused: Refused| {
        let span = refused.span.unwrap_or_else(|| written[at].span());
        Refused::at(span)(format!("step {}: {}", at + 1, refused.message))
    };
    for (at, step) in written.iter().enumerate() {
        let pushed = script.push(step.get_ref());
        pushed.map_err(|message| refused(at, message))?;
    }
    script
        .require_end()
        .map_err(|(at, message)| refused(at, message.into()))?;
    Ok(script)
}

fn resolve_bounds(written: &BoundsWritten) -> Result<Bounds, Refused> {
    let usual = Bounds::default();
    let bound = |name: &str, bound: Option<&Spanned<u64>>, usual: u64| match bound {
        Some(bound) if !(1..=BOUND_MS_MAX).contains(bound.get_ref()) => {
            let ms = bound.get_ref();
            let message =
                format!("bounds: {name} = {ms}: a wait has 1 to {BOUND_MS_MAX} milliseconds, which is an hour");
            Err(Refused::at(bound.span())(message))
        }
        Some(bound) => Ok(*bound.get_ref()),
        None => Ok(usual),
    };
    Ok(Bounds {
        start_ms: bound("start_ms", written.start_ms.as_ref(), usual.start_ms)?,
        effect_visible_ms: bound(
            "effect_visible_ms",
            written.effect_visible_ms.as_ref(),
            usual.effect_visible_ms,
        )?,
        withheld_reply_ms: bound(
            "withheld_reply_ms",
            written.withheld_reply_ms.as_ref(),
            usual.withheld_reply_ms,
        )?,
        reply_ms: bound("reply_ms", written.reply_ms.as_ref(), usual.reply_ms)?,
        quiet_ms: bound("quiet_ms", written.quiet_ms.as_ref(), usual.quiet_ms)?,
        stop_ms: bound("stop_ms", written.stop_ms.as_ref(), usual.stop_ms)?,
        condition_ms: bound("condition_ms", written.condition_ms.as_ref(), usual.condition_ms)?,
        settled_ms: bound("settled_ms", written.settled_ms.as_ref(), usual.settled_ms)?,
    })
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
