//! Checks as written to checks as resolved: each names facts that there can be, and expects of them what they can be.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;

use super::definition::{Basis, Check, Promise};
use super::facts::{Asked, Found, find};
use super::resolve::{Refused, require_word};
use super::script::Script;
use super::surface::Surface;
use super::written::CheckWritten;

/// What the checks of a case can ask of.
pub(super) struct Asking<'a> {
    pub(super) script: &'a Script,
    /// The surfaces in `needs`.
    pub(super) needs: &'a BTreeSet<Surface>,
    /// Those in `uses` too.
    pub(super) allowed: &'a BTreeSet<Surface>,
}

/// All checks of a case.
pub(super) fn resolve_checks(written: Vec<Spanned<CheckWritten>>, asking: &Asking<'_>) -> Result<Vec<Check>, Refused> {
    let mut ids = BTreeSet::new();
    let mut checks = Vec::with_capacity(written.len());
    for check in written {
        let span = check.span();
        let check = check.into_inner();
        if !ids.insert(check.id.clone()) {
            return Err(Refused::at(span)(format!("check `{}` is there twice", check.id)));
        }
        let id = check.id.clone();
        require_meaning(&check, asking).map_err(|message| Refused::at(span.clone())(of(&id, &message)))?;
        require_facts(&check, asking).map_err(|(place, message)| Refused::at(place)(of(&id, &message)))?;
        checks.push(resolved(check));
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

fn of(id: &str, message: &str) -> String {
    format!("check `{id}`: {message}")
}

/// What can be said of a check without its facts.
fn require_meaning(written: &CheckWritten, asking: &Asking<'_>) -> Result<(), String> {
    require_word("id", &written.id)?;
    let specification = matches!(written.basis, Basis::SpecMust | Basis::SpecShould);
    if specification && written.source.is_none() {
        return Err("a specification basis quotes its sentence: add source = { page, revision, sentence }".to_owned());
    }
    if written.promise.is_some() && written.basis != Basis::Contract {
        return Err("`promise` belongs to basis = \"contract\"".to_owned());
    }
    if let Some(surface) = written.only
        && !asking.allowed.contains(&surface)
    {
        return Err(format!("only = \"{}\" must be named in `uses`", surface.name()));
    }
    if written.expect.is_empty() && written.among.is_empty() && written.same.is_empty() {
        return Err("it expects nothing: give it `expect`, `among` or `same`".to_owned());
    }
    Ok(())
}

/// What is wrong with a fact that is named or with what is expected of it, and where that stands.
fn require_facts(written: &CheckWritten, asking: &Asking<'_>) -> Result<(), (Range<usize>, String)> {
    let asked = Asked {
        script: asking.script,
        needs: asking.needs,
        only: written.only,
    };
    for (path, value) in &written.expect {
        let fact = fact_at(path, &asked)?;
        let fits = fact.require(path.get_ref(), value.get_ref());
        let fits = fits.and_then(|()| fact.require_possible(Some(value.get_ref())));
        fits.map_err(|message| (value.span(), message))?;
    }
    for (path, values) in &written.among {
        let fact = fact_at(path, &asked)?;
        if values.get_ref().is_empty() {
            let message = format!("`{}` can be none of no values: name some", path.get_ref());
            return Err((values.span(), message));
        }
        for value in values.get_ref() {
            let fits = fact.require(path.get_ref(), value.get_ref());
            fits.map_err(|message| (value.span(), message))?;
        }
        // One that can be is enough: the others accuse nobody.
        let possible = values
            .get_ref()
            .iter()
            .map(|value| fact.require_possible(Some(value.get_ref())));
        let possible = possible.reduce(Result::or).unwrap_or(Ok(()));
        possible.map_err(|message| (values.span(), message))?;
    }
    for (left, right) in &written.same {
        let (one, other) = (fact_at(left, &asked)?, fact_at(right, &asked)?);
        let fits = one.require_same(left.get_ref(), &other, right.get_ref());
        fits.map_err(|message| (left.span(), message))?;
    }
    Ok(())
}

fn fact_at<'a>(path: &'a Spanned<String>, asked: &Asked<'a>) -> Result<Found<'a>, (Range<usize>, String)> {
    let refused = |message| (path.span(), message);
    let found = find(path.get_ref(), asked).map_err(refused)?;
    found.require_possible(None).map_err(refused)?;
    Ok(found)
}

fn resolved(written: CheckWritten) -> Check {
    let literal = |(path, value): (Spanned<String>, Spanned<_>)| (path.into_inner(), value.into_inner());
    let several = |(path, values): (Spanned<String>, Spanned<Vec<Spanned<_>>>)| {
        let values = values.into_inner().into_iter().map(Spanned::into_inner);
        (path.into_inner(), values.collect())
    };
    let pair = |(left, right): (Spanned<String>, Spanned<String>)| (left.into_inner(), right.into_inner());
    Check {
        id: written.id,
        basis: written.basis,
        about: written.about,
        say: written.say,
        only: written.only,
        promise: written.promise.unwrap_or(Promise::Effects),
        source: written.source,
        expect: written.expect.into_iter().map(literal).collect(),
        among: written.among.into_iter().map(several).collect(),
        same: written.same.into_iter().map(pair).collect(),
    }
}
