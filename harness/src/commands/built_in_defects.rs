//! The defects that can be planted in the servers that this binary carries: the one place where commands ask for them.

use crate::document;
use crate::matrix::Planted;

/// One built-in target, and what can be planted in it.
pub(super) struct BuiltInDefects {
    /// The name of the target.
    pub(super) target: &'static str,
    /// Its defects, in the order of their table.
    pub(super) list: Vec<Planted>,
}

/// Every built-in target, the usual one first.
#[cfg(feature = "reference-server")]
pub(super) fn all() -> Vec<BuiltInDefects> {
    use reference_server::defect::Defect;

    let planted = |defect: &Defect| Planted {
        name: defect.name().to_owned(),
        says: defect.description().to_owned(),
        kills: (defect.killed_by().iter())
            .map(|kill| kill.parse().expect("the table writes `case:check`: a test checks each"))
            .collect(),
    };
    let tables = [Defect::ALL, Defect::EXECUTION];
    let named = crate::target::BUILT_IN_NAMES.into_iter().zip(tables);
    named
        .map(|(target, table)| BuiltInDefects {
            target,
            list: table.iter().map(planted).collect(),
        })
        .collect()
}

/// None: this build carries no server.
#[cfg(not(feature = "reference-server"))]
pub(super) fn all() -> Vec<BuiltInDefects> {
    Vec::new()
}

/// The built-in target whose defects have to be noticed by this case, where it is another one than `target`.
pub(super) fn target_of_case(case: &str, target: &str) -> Option<&'static str> {
    let names = |planted: &Planted| planted.kills.iter().any(|kill| kill.case == case);
    let mut others = all().into_iter().filter(|other| other.target != target);
    let other = others.find(|other| other.list.iter().any(names))?;
    Some(other.target)
}

/// Why this defect cannot be planted in this built-in target.
pub(super) fn refusal(defect: &str, target: &str) -> Option<String> {
    let all = all();
    let has = |built_in: &&BuiltInDefects| built_in.list.iter().any(|planted| planted.name == defect);
    match all.iter().find(has) {
        Some(built_in) if built_in.target == target => return None,
        Some(BuiltInDefects { target: other, .. }) => {
            return Some(format!(
                "--defect {defect}: it is one of {other}, and the target is {target}; take --target {other}"
            ));
        }
        None => {}
    }
    let known = all.iter().filter(|built_in| built_in.target == target);
    let known: Vec<&str> = known
        .flat_map(|built_in| &built_in.list)
        .map(|planted| planted.name.as_str())
        .collect();
    let near = match document::nearest(defect, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "known: {} (`harness list --defects` says what each does)",
            known.join(", ")
        ),
    };
    Some(format!(
        "--defect {defect}: the built-in server has no such defect; {near}"
    ))
}
