//! Cases of the user's own: read from files beside the embedded ones, and refused where one would be taken for another.

use std::path::{Path, PathBuf};

use super::catalogue::{CONTROL_FAMILY, Catalogue, is_name_of};
use super::definition::Case;
use super::resolve;
use crate::document::{self, DocumentError};

/// Words that mean something else where a case could be named: in `harness show RUN` the handshake, and the search for the
/// effect.
const RESERVED: [&str; 3] = ["probe", "calibration", "calibration-two"];

/// Why a case of the user's own is refused.
#[derive(Debug, thiserror::Error)]
pub enum OwnCaseError {
    /// The file cannot be read, or is no case.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It would be taken for something else, or asks for what is not there.
    #[error("{file}: {reason}")]
    Unfit {
        /// The file.
        file: String,
        /// What is wrong, and what to do.
        reason: String,
    },
}

impl Catalogue {
    /// This catalogue and the cases in these files. Relative paths start at `folder`.
    pub fn with_files(&self, paths: &[PathBuf], folder: &Path) -> Result<Self, OwnCaseError> {
        let mut all = self.clone();
        let mut read = Vec::with_capacity(paths.len());
        for path in paths {
            let file = path.display().to_string();
            let text = document::read(&folder.join(path))?;
            let case = resolve::parse(&file, &text)?;
            all.refuse_taken(&case).map_err(|reason| unfit(&file, reason))?;
            read.push((file.clone(), case.clone()));
            all.files.insert(case.id.clone(), file);
            all.cases.insert(case.id.clone(), case);
        }
        // Only now is every control there that a case may ask for.
        for (file, case) in &read {
            all.refuse_controls(case).map_err(|reason| unfit(file, reason))?;
        }
        Ok(all)
    }

    /// The file of a case of the user's own, as it was named; nothing for an embedded one.
    pub fn file_of(&self, id: &str) -> Option<&str> {
        self.files.get(id).map(String::as_str)
    }

    /// Ids of the cases of the user's own.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    fn refuse_taken(&self, case: &Case) -> Result<(), String> {
        let id = &case.id;
        if RESERVED.contains(&id.as_str()) {
            return Err(format!("id `{id}` means something else; take another"));
        }
        if let Some(file) = self.file_of(id) {
            return Err(format!("id `{id}` is that of {file} too; take another"));
        }
        if let Some(taken) = self.cases.values().find(|known| is_name_of(id, known)) {
            return Err(format!(
                "id `{id}` is taken by the embedded case {}/{}; take another",
                taken.family, taken.id
            ));
        }
        if self.cases.values().any(|known| known.family == *id) {
            return Err(format!("id `{id}` is the name of a family; take another"));
        }
        let has_its_number = |known: &&Case| case.number.is_some() && known.number == case.number;
        match self.cases.values().find(has_its_number) {
            Some(taken) => Err(format!("its number is that of {}; leave it out", taken.id)),
            None => Ok(()),
        }
    }

    fn refuse_controls(&self, case: &Case) -> Result<(), String> {
        if case.family == CONTROL_FAMILY && !case.controls.is_empty() {
            return Err(format!("a case of the family `{CONTROL_FAMILY}` asks for no control"));
        }
        if case.family != CONTROL_FAMILY && case.controls.is_empty() {
            return Err(
                "controls: it names none, and no count is believed that no control has seen right; \
                 write `controls = [\"sees-duplicates\"]`"
                    .to_owned(),
            );
        }
        for control in &case.controls {
            match self.get(control) {
                Some(known) if known.family == CONTROL_FAMILY => {}
                Some(known) => {
                    return Err(format!(
                        "controls: `{control}` is of the family `{}`, and no control",
                        known.family
                    ));
                }
                None => return Err(format!("controls: {}", self.unknown_case(control))),
            }
        }
        Ok(())
    }
}

fn unfit(file: &str, reason: String) -> OwnCaseError {
    OwnCaseError::Unfit {
        file: file.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An embedded case with another id and no number, and these changes.
    fn own(id: &str, changes: &[(&str, &str)]) -> String {
        let text = &Catalogue::embedded().get("lost-reply").expect("embedded").text;
        let mut text = text
            .replace("\"lost-reply\"", &format!("{id:?}"))
            .replace("number   = 3\n", "");
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        text
    }

    fn with(texts: &[String]) -> Result<Catalogue, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut paths = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let name = format!("{index}.toml");
            std::fs::write(folder.path().join(&name), text).expect("write");
            paths.push(PathBuf::from(name));
        }
        let catalogue = Catalogue::embedded().with_files(&paths, folder.path());
        catalogue.map_err(|error| error.to_string())
    }

    #[test]
    fn a_case_of_ones_own_is_selected_with_its_control() {
        let catalogue = with(&[own("mine", &[])]).expect("a right case");
        assert_eq!(catalogue.file_of("mine"), Some("0.toml"));
        assert_eq!(catalogue.file_of("lost-reply"), None);
        let selection = catalogue.select(&["mine".to_owned()], &[]).expect("it is there");
        assert_eq!(selection.execute, ["sees-duplicates", "mine"]);
        assert!(selection.named.contains("mine"));
    }

    #[test]
    fn a_control_of_ones_own_comes_before_the_case_that_asks_for_it() {
        let control = own(
            "z-control",
            &[
                ("\"retry\"", "\"control\""),
                ("controls = [\"sees-duplicates\"]", "controls = []"),
            ],
        );
        let case = own("a-case", &[("[\"sees-duplicates\"]", "[\"z-control\"]")]);
        let catalogue = with(&[case, control]).expect("right cases");
        let selection = catalogue.select(&["a-case".to_owned()], &[]).expect("it is there");
        assert_eq!(selection.execute, ["z-control", "a-case"]);
    }

    #[test]
    fn what_would_be_taken_for_another_case_is_refused() {
        let number = ("family   = \"retry\"", "number = 3\nfamily = \"retry\"");
        let table = [
            (
                own("lost-reply", &[]),
                "0.toml: id `lost-reply` is taken by the embedded case retry/lost-reply",
            ),
            (own("03", &[]), "id `03` is taken by the embedded case"),
            (own("retry", &[]), "id `retry` is the name of a family"),
            (own("probe", &[]), "id `probe` means something else"),
            (own("calibration", &[]), "id `calibration` means something else"),
            (own("calibration-two", &[]), "id `calibration-two` means something else"),
            (
                own("mine", &[("controls = [\"sees-duplicates\"]", "controls = []")]),
                "controls: it names none",
            ),
            (
                own("mine", &[("controls = [\"sees-duplicates\"]\n", "")]),
                "controls: it names none",
            ),
            (own("mine", &[number]), "its number is that of lost-reply"),
            (
                own("mine", &[("[\"sees-duplicates\"]", "[\"sees-duplicate\"]")]),
                "controls: there is no case `sees-duplicate`; did you mean `sees-duplicates`?",
            ),
            (
                own("mine", &[("[\"sees-duplicates\"]", "[\"identical-retry\"]")]),
                "controls: `identical-retry` is of the family `retry`",
            ),
            (own("mine", &[("\"retry\"", "\"control\"")]), "asks for no control"),
        ];
        for (text, message) in table {
            let error = with(&[text]).expect_err(message);
            assert!(error.contains(message), "{error}");
        }
        let error = with(&[own("mine", &[]), own("mine", &[])]).expect_err("twice");
        assert!(error.contains("1.toml: id `mine` is that of 0.toml too"), "{error}");
    }

    #[test]
    fn errors_name_line_and_column() {
        let table = [
            (
                ("basis  = \"machinery\"", "basis  = \"machine\""),
                "0.toml:46:10: unknown value",
            ),
            (("revision = 1", "revison = 1"), "0.toml:4:1: unknown key `revison`"),
            (("stop = \"second\"", "stop = \"third\""), "0.toml:38:1: step 8: "),
            (
                ("\"end.effects.A\"", "\"ende.effects.A\""),
                "0.toml:60:1: check `one-effect`: ",
            ),
            (("format   = 1", "format   = 7"), "0.toml:1:12: format 7"),
        ];
        for (change, message) in table {
            let error = with(&[own("mine", &[change])]).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
        let error = with(&[own("my case", &[])]).expect_err("a space");
        assert!(error.starts_with("0.toml:2:12: id `my case`"), "{error}");
    }
}
