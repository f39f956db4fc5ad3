//! The list of facts beside `cases/README.md`, and beside what the judge makes.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::list::{FACTS, Fact};
use super::path::{Asked, find};
use super::steps::Maker;
use crate::case::resolve::script_of;
use crate::case::surface::Surface;

/// Between these stands the table.
const TABLE_BEGINS: &str = "<!-- the list of facts: made by cases/facts -->\n\n";
const TABLE_ENDS: &str = "\n<!-- the end of the list -->\n";

/// Every fact of the list, as it is called in `cases/README.md`.
pub(crate) fn known() -> BTreeSet<String> {
    FACTS.iter().map(|fact| named(fact.maker, fact.path)).collect()
}

/// What the judge made of a record, beside the list: which facts of the list are there, or what is in none.
pub(crate) fn unknown(case: &str, tree: &Map<String, Value>) -> Result<BTreeSet<String>, String> {
    let script = script_of(case);
    let needs: BTreeSet<Surface> = Surface::ALL.iter().copied().collect();
    let mut seen = BTreeSet::new();
    let mut left: Vec<(String, &Value)> = tree.iter().map(|(root, facts)| (root.clone(), facts)).collect();
    while let Some((path, value)) = left.pop() {
        let step = path
            .strip_prefix("recovery.")
            .map_or(path.as_str(), |rest| rest.split_once('.').unwrap_or(("", "")).1);
        let only = script
            .conditional
            .get(step.split('.').next().unwrap_or_default())
            .copied();
        let asked = Asked {
            script: &script,
            needs: &needs,
            only,
        };
        match (find(&path, &asked), value) {
            (Ok(found), _) => {
                if !is_the_servers_word(found.fact) {
                    found.require(&path, value)?;
                }
                seen.insert(named(found.fact.maker, found.fact.path));
            }
            (Err(_), Value::Object(members)) => {
                left.extend(members.iter().map(|(name, value)| (format!("{path}.{name}"), value)));
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(seen)
}

/// Whether a server says it, who may say anything.
fn is_the_servers_word(fact: &Fact) -> bool {
    (fact.maker == Maker::Status && !["outcome", "disclosed"].contains(&fact.path)) || fact.path.ends_with("replayed")
}

/// What stands for the name of the step in a path.
fn root(maker: Maker) -> &'static str {
    match maker {
        Maker::Observe => "LABEL",
        Maker::Write => "WRITE",
        Maker::Status => "STATUS",
        Maker::CancelExecution => "CANCEL",
        Maker::Release => "RELEASE",
        Maker::Reconcile => "RECONCILE",
        Maker::Process => "PROCESS",
        Maker::Recovery => "recovery",
    }
}

fn named(maker: Maker, path: &str) -> String {
    format!("{}.{path}", root(maker))
}

/// The table of `cases/README.md`, from the list.
fn table() -> String {
    let mut table = "| fact | of the step | values | is |\n|---|---|---|---|\n".to_owned();
    for fact in FACTS {
        let path = named(fact.maker, fact.path);
        let (path, inside) = match path.strip_suffix('…') {
            Some(path) => (path, " …"),
            None => (path.as_str(), ""),
        };
        let advice = match fact.on.advice() {
            "" => String::new(),
            advice => format!("; {advice}"),
        };
        let surfaces: Vec<String> = fact
            .surfaces
            .iter()
            .map(|surface| format!("`{}`", surface.name()))
            .collect();
        let surfaces = match surfaces.as_slice() {
            [] => String::new(),
            surfaces => format!("; with {}", surfaces.join(" and ")),
        };
        let (verb, holds, is) = (fact.maker.verb(), fact.holds.in_words(), fact.is);
        table.extend([
            "| `", path, "`", inside, " | `", verb, "` | ", &holds, " | ", is, &advice, &surfaces, " |\n",
        ]);
    }
    table
}

/// `HARNESS_FACTS=write` writes it anew.
#[test]
fn the_table_of_facts_is_the_list() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/README.md");
    let text = std::fs::read_to_string(&file).expect("the description of cases");
    let (before, rest) = text.split_once(TABLE_BEGINS).expect("where the table begins");
    let (found, after) = rest.split_once(TABLE_ENDS).expect("where it ends");
    if std::env::var("HARNESS_FACTS").is_ok_and(|word| word == "write") {
        let written = [before, TABLE_BEGINS, &table(), TABLE_ENDS, after].concat();
        std::fs::write(&file, written).expect("write the table");
    } else {
        let table = table();
        let differs = found.lines().zip(table.lines()).find(|(found, line)| found != line);
        assert_eq!(differs, None, "write it anew with `cases/facts`");
        assert_eq!(
            found.lines().count(),
            table.lines().count(),
            "write it anew with `cases/facts`"
        );
    }
}
