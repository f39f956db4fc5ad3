//! What a command line wants proved: a server, the list of its defects, and the cases.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::built_in_defects::{self, BuiltInDefects};
use super::super::run::has_no_defects;
use super::ProveArguments;
use crate::case::{Case, Catalogue, Selection};
use crate::document;
use crate::matrix::{self, Expected, Lists, Planted};
use crate::target::{BUILT_IN_NAMES, Target, TargetSource, TargetWords, built_in, locate};

/// What is to be proved.
pub(super) struct Chosen {
    /// The server.
    pub(super) target: Target,
    /// The cases to run.
    pub(super) selection: Selection,
    /// The defects to plant, and what must notice each.
    pub(super) expected: Expected,
}

/// What the words mean, looking for files in `folder`.
pub(super) fn chosen(arguments: &ProveArguments, folder: &Path) -> Result<Chosen, String> {
    let target = target(arguments, folder)?;
    if target.defects_env.is_none() {
        return Err(format!("the target {}", has_no_defects(&target.name)));
    }
    let lists = lists(arguments, &target, folder)?;
    for name in &arguments.wanted {
        check_defect(arguments, name, &target, &lists)?;
    }
    let catalogue = Catalogue::embedded();
    let asked = catalogue.select(&arguments.cases, &[]);
    let asked = asked.map_err(|error| error.to_string())?;
    let mut selection = if arguments.defects.is_some() && !arguments.cases.is_empty() {
        asked.clone()
    } else {
        of_this_target(arguments, &asked, &lists, &target)?
    };
    // Here no case is a gate of its own: the matrix is.
    selection.named.clear();
    let is_wanted = &|name: &str| arguments.wanted.is_empty() || arguments.wanted.iter().any(|wanted| wanted == name);
    // Of one's own list nobody asked for cases that the server cannot run, so nobody misses a defect of theirs.
    let is_own_and_whole = arguments.defects.is_some() && arguments.cases.is_empty();
    let of = if is_own_and_whole { &selection } else { &asked };
    let (asked, run) = (cases(&of.requested), cases(&selection.execute));
    let expected = Expected::of(&lists, is_wanted, &catalogue.all(), &asked, &run);
    if expected.planted.is_empty() {
        return Err(nothing_to_plant(&lists, is_wanted));
    }
    Ok(Chosen {
        target,
        selection,
        expected,
    })
}

/// Found before anything is run: a proof without a defect shows nothing.
fn nothing_to_plant(lists: &Lists, is_wanted: impl Fn(&str) -> bool) -> String {
    let wanted: Vec<&Planted> = lists.own.iter().filter(|planted| is_wanted(&planted.name)).collect();
    let names: Vec<&str> = wanted.iter().map(|planted| planted.name.as_str()).collect();
    let noticing: BTreeSet<&str> = (wanted.iter().flat_map(|planted| &planted.kills))
        .map(|kill| kill.case.as_str())
        .collect();
    format!(
        "--case: none of these cases has to notice {}, so there is nothing to plant; leave --case out, or name what has to: --case {}",
        names.join(", "),
        noticing.into_iter().collect::<Vec<_>>().join(",")
    )
}

/// Other proofs that there are, where nobody said which one: the command of each, and how many defects it plants.
pub(super) fn others(arguments: &ProveArguments) -> Vec<(String, usize)> {
    if arguments.target.is_some() || !arguments.cases.is_empty() || !arguments.wanted.is_empty() {
        return Vec::new();
    }
    let others = built_in_defects::all().into_iter().skip(1);
    others
        .map(|other| (format!("harness prove --target {}", other.target), other.list.len()))
        .collect()
}

fn cases(ids: &[String]) -> Vec<&'static Case> {
    ids.iter().filter_map(|id| Catalogue::embedded().get(id)).collect()
}

fn target(arguments: &ProveArguments, folder: &Path) -> Result<Target, String> {
    if built_in_defects::all().is_empty() && arguments.defects.is_none() {
        return Err(
            "this build carries no reference server; name a server with --target, and its defects with --defects"
                .to_owned(),
        );
    }
    let mut target = match &arguments.target {
        // Not ./target.toml, of whose defects nothing would be known.
        None => built_in(folder),
        Some(profile) => {
            let words = TargetWords {
                profile: Some(profile.clone()),
                has_built_in: cfg!(feature = "reference-server"),
                ..TargetWords::default()
            };
            locate(&words, folder).map_err(|error| error.to_string())?
        }
    };
    if let Some(protocol) = arguments.protocol {
        target.want(protocol);
    }
    Ok(target)
}

/// The defects that a file lists, or those of the built-in server beside those of the others.
fn lists(arguments: &ProveArguments, target: &Target, folder: &Path) -> Result<Lists, String> {
    if let Some(defects) = &arguments.defects {
        let text = document::read(&folder.join(defects)).map_err(|error| error.to_string())?;
        let list = matrix::parse(&defects.display().to_string(), &text, Catalogue::embedded());
        return list.map(Lists::alone).map_err(|error| error.to_string());
    }
    if let TargetSource::Profile(path) = &target.source {
        return Err(format!(
            "--target {}: name the defects of that server with --defects FILE (known are only those of {})",
            path.display(),
            BUILT_IN_NAMES.join(" and ")
        ));
    }
    let (own, others): (Vec<BuiltInDefects>, Vec<BuiltInDefects>) = built_in_defects::all()
        .into_iter()
        .partition(|built_in| built_in.target == target.name);
    let all = |lists: Vec<BuiltInDefects>| -> Vec<Planted> { lists.into_iter().flat_map(|it| it.list).collect() };
    Ok(Lists {
        own: all(own),
        others: all(others),
    })
}

fn check_defect(arguments: &ProveArguments, name: &str, target: &Target, lists: &Lists) -> Result<(), String> {
    if lists.own.iter().any(|planted| planted.name == name) {
        return Ok(());
    }
    if arguments.defects.is_none()
        && let Some(refusal) = built_in_defects::refusal(name, &target.name)
    {
        return Err(refusal);
    }
    let near = document::nearest(name, lists.own.iter().map(|planted| planted.name.as_str()));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Err(format!("--defect {name}: {} has no such defect{near}", target.name))
}

/// The cases by which this server is proved, among those that were asked for. One that was asked for by its name and
/// belongs to another server is refused, since nothing would be shown by it here.
fn of_this_target(
    arguments: &ProveArguments,
    asked: &Selection,
    lists: &Lists,
    target: &Target,
) -> Result<Selection, String> {
    let elsewhere = |case: &str| built_in_defects::target_of_case(case, &target.name);
    let name = &target.name;
    for case in asked.named.iter().filter(|case| !lists.names(case)) {
        if let Some(other) = elsewhere(case) {
            return Err(format!(
                "--case {case}: no defect of {name} has to be noticed by it; take --target {other}"
            ));
        }
    }
    let has = |case: &Case| case.needs.iter().all(|surface| target.has(*surface));
    let chosen = lists.choose(&cases(&asked.requested), has);
    let ids: Vec<String> = chosen.iter().map(|case| case.id.clone()).collect();
    if ids.is_empty() {
        let other = asked.requested.iter().find_map(|case| elsewhere(case));
        let other = other.map_or(String::new(), |other| format!("; take --target {other}"));
        return Err(format!(
            "--case {}: no defect of {name} has to be noticed by any of these cases{other}",
            arguments.cases.join(",")
        ));
    }
    Catalogue::embedded()
        .select(&ids, &[])
        .map_err(|error| error.to_string())
}
