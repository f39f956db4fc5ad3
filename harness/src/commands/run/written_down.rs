//! What a run found of its own secrets in what was written: told when it ends, and not only when somebody exports it.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::show::glance;
use crate::counted::counted;
use crate::record::{Evidence, FoundSecret, Kind, Reader};
use crate::report::{Printer, Style, plain, span};

/// Tells it, in one line; nothing where no value was found.
pub(super) fn tell(evidence: &str, printer: &mut Printer) {
    let run = Evidence::open(Path::new(evidence)).map(|evidence| glance::run(&Reader::new(&evidence)));
    let Ok(Ok(run)) = run else { return };
    let found = run.secrets_search.as_ref().map_or(&[][..], |search| &search.found);
    if let Some(text) = text(found) {
        printer.line(&[span(Style::Odd, "secret    "), plain(text)]);
    }
}

fn text(found: &[FoundSecret]) -> Option<String> {
    let first = found.first()?;
    let name = |found: &FoundSecret| match &found.find.kind {
        Kind::Value { name, .. } => name.clone(),
        Kind::Shape(name) => name.clone(),
    };
    let names: BTreeSet<String> = found.iter().map(name).collect();
    let names: Vec<String> = names.into_iter().collect();
    Some(format!(
        "the value of {} was written down in {}, first in {}: change it; `harness export` refuses this run without --redact",
        names.join(", "),
        counted(found.len(), "place", "places"),
        first.path
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Encoding, Find};

    #[test]
    fn one_line_tells_of_all_places() {
        let found = |name: &str, path: &str| FoundSecret {
            path: path.to_owned(),
            find: Find {
                kind: Kind::Value {
                    name: name.to_owned(),
                    encoding: Encoding::Plain,
                },
                range: 0..6,
                in_frame: None,
            },
        };
        let told = text(&[found("TOKEN", "a.log"), found("KEY", "b.log"), found("KEY", "c.log")]);
        let told = told.expect("a line");
        assert!(
            told.starts_with("the value of KEY, TOKEN was written down in 3 places, first in a.log: "),
            "{told}"
        );
        assert_eq!(text(&[]), None);
    }
}
