//! Cases of the user's own: read from files beside the embedded ones, and refused where one would be taken for another.

use std::path::{Path, PathBuf};

use super::catalogue::{CONTROL_FAMILY, Catalogue, is_name_of};
use super::definition::Case;
use super::resolve::{self, Places, Refused};
use crate::document::{self, DocumentError};

/// Words that mean something else where a case or a run could be named: the newest run, in `harness show RUN` the handshake,
/// and the search for the effect.
const RESERVED: [&str; 4] = ["latest", "probe", "calibration", "calibration-two"];

impl Catalogue {
    /// This catalogue and the cases in these files. Relative paths start at `folder`.
    pub fn with_files(&self, paths: &[PathBuf], folder: &Path) -> Result<Self, DocumentError> {
        let text = |path: &PathBuf| Ok((path.display().to_string(), document::read(&folder.join(path))?));
        let texts: Result<Vec<_>, DocumentError> = paths.iter().map(text).collect();
        self.with_texts(texts?)
    }

    /// This catalogue and the cases of these texts, each with the name of its file.
    pub fn with_texts(&self, texts: Vec<(String, String)>) -> Result<Self, DocumentError> {
        let mut all = self.clone();
        let mut read = Vec::with_capacity(texts.len());
        for (file, text) in texts {
            let (case, places) = resolve::parse_with_places(&file, &text)?;
            let fits = (all.refuse_taken_id(&case).map_err(Refused::at(places.id.clone())))
                .and_then(|()| {
                    all.refuse_taken_family(&case)
                        .map_err(Refused::at(places.family.clone()))
                })
                .and_then(|()| all.refuse_taken_number(&case, &places));
            fits.map_err(|refused| refused.in_document(&file, &text))?;
            read.push((file.clone(), case.clone(), places));
            all.files.insert(case.id.clone(), file);
            all.cases.insert(case.id.clone(), case);
        }
        // Only now is every control there that a case may ask for.
        for (file, case, places) in &read {
            let fits = all.refuse_controls(case, places);
            fits.map_err(|refused| refused.in_document(file, &case.text))?;
        }
        Ok(all)
    }

    /// This catalogue with other revisions of its cases in their places.
    #[must_use]
    pub fn with_revisions(&self, cases: impl IntoIterator<Item = Case>) -> Self {
        let mut all = self.clone();
        all.cases.extend(cases.into_iter().map(|case| (case.id.clone(), case)));
        all
    }

    /// The file of a case of the user's own, as it was named; nothing for an embedded one.
    pub fn file_of(&self, id: &str) -> Option<&str> {
        self.files.get(id).map(String::as_str)
    }

    /// Ids of the cases of the user's own.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Letter case tells no two cases apart: ids are folders of the evidence, and not every file system tells them apart.
    fn refuse_taken_id(&self, case: &Case) -> Result<(), String> {
        let id = &case.id;
        if let Some(word) = RESERVED.iter().find(|word| word.eq_ignore_ascii_case(id)) {
            return Err(format!("id `{id}` means something else (`{word}`); take another"));
        }
        let is_taken = |known: &&Case| is_name_of(id, known) || known.id.eq_ignore_ascii_case(id);
        if let Some(taken) = self.cases.values().find(is_taken) {
            return Err(match self.file_of(&taken.id) {
                Some(file) => format!("id `{id}` is that of {file} too (`{}`); take another", taken.id),
                None => format!(
                    "id `{id}` is taken by the embedded case {}/{}; take another",
                    taken.family, taken.id
                ),
            });
        }
        let mut families = self.cases.values().map(|known| &known.family).chain([&case.family]);
        match families.find(|family| family.eq_ignore_ascii_case(id)) {
            Some(family) => Err(format!("id `{id}` is the name of a family (`{family}`); take another")),
            None => Ok(()),
        }
    }

    /// A family comes before a case where either could be meant, so none may be called like a case.
    fn refuse_taken_family(&self, case: &Case) -> Result<(), String> {
        let family = &case.family;
        let is_like = |known: &&Case| is_name_of(family, known) || known.id.eq_ignore_ascii_case(family);
        if let Some(taken) = self.cases.values().find(is_like) {
            return Err(format!(
                "family `{family}` is what the case {}/{} is called; take another",
                taken.family, taken.id
            ));
        }
        let is_otherwise = |known: &&Case| known.family != *family && known.family.eq_ignore_ascii_case(family);
        match self.cases.values().find(is_otherwise) {
            Some(known) => Err(format!(
                "family `{family}` differs from `{0}` in letter case only; write `{0}`, or take another",
                known.family
            )),
            None => Ok(()),
        }
    }

    fn refuse_taken_number(&self, case: &Case, places: &Places) -> Result<(), Refused> {
        let (Some(number), Some(place)) = (case.number, places.number.clone()) else {
            return Ok(());
        };
        match self.cases.values().find(|known| known.number == Some(number)) {
            Some(taken) => Err(Refused::at(place)(format!(
                "number {number} is that of {}; leave it out",
                taken.id
            ))),
            None => Ok(()),
        }
    }

    fn refuse_controls(&self, case: &Case, places: &Places) -> Result<(), Refused> {
        let whole = places.controls.clone().unwrap_or_else(|| places.id.clone());
        if case.family == CONTROL_FAMILY && !case.controls.is_empty() {
            let message = format!("controls: a case of the family `{CONTROL_FAMILY}` asks for none; leave them out");
            return Err(Refused::at(whole)(message));
        }
        if case.family != CONTROL_FAMILY && case.controls.is_empty() {
            return Err(Refused::at(whole)(
                "controls: it names none, and no count is believed that no control has seen right; \
                 write `controls = [\"sees-duplicates\"]`"
                    .to_owned(),
            ));
        }
        for (control, place) in case.controls.iter().zip(&places.control) {
            let message = match self.get(control) {
                Some(known) if known.family == CONTROL_FAMILY => continue,
                Some(known) => format!(
                    "controls: `{control}` is of the family `{}`, and no control",
                    known.family
                ),
                None => format!("controls: {}", self.unknown_case(control)),
            };
            return Err(Refused::at(place.clone())(message));
        }
        Ok(())
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
    fn what_would_be_taken_for_another_case_is_refused_where_it_stands() {
        let number = ("family   = \"retry\"", "number = 3\nfamily = \"retry\"");
        let of = |change: (&str, &str)| own("mine", &[change]);
        let family = |family: &str| own("mine", &[("\"retry\"", &format!("{family:?}"))]);
        let table = [
            (
                own("lost-reply", &[]),
                "0.toml:2:12: id `lost-reply` is taken by the embedded case retry/lost-reply",
            ),
            (
                own("Lost-Reply", &[]),
                "0.toml:2:12: id `Lost-Reply` is taken by the embedded",
            ),
            (own("03", &[]), "0.toml:2:12: id `03` is taken by the embedded case"),
            (own("retry", &[]), "0.toml:2:12: id `retry` is the name of a family"),
            (
                own("Crash", &[]),
                "0.toml:2:12: id `Crash` is the name of a family (`crash`)",
            ),
            (own("probe", &[]), "0.toml:2:12: id `probe` means something else"),
            (own("latest", &[]), "0.toml:2:12: id `latest` means something else"),
            (
                own("Latest", &[]),
                "0.toml:2:12: id `Latest` means something else (`latest`)",
            ),
            (own("calibration", &[]), "0.toml:2:12: id `calibration` means something"),
            (
                own("calibration-two", &[]),
                "0.toml:2:12: id `calibration-two` means something",
            ),
            (family("mine"), "0.toml:2:12: id `mine` is the name of a family"),
            (
                family("lost-reply"),
                "0.toml:3:12: family `lost-reply` is what the case retry/lost-reply is called",
            ),
            (
                family("03"),
                "0.toml:3:12: family `03` is what the case retry/lost-reply is called",
            ),
            (
                family("Control"),
                "0.toml:3:12: family `Control` differs from `control` in letter case only",
            ),
            (of(number), "0.toml:3:10: number 3 is that of lost-reply; leave it out"),
            (
                of(("controls = [\"sees-duplicates\"]", "controls = []")),
                "0.toml:12:12: controls: it names none",
            ),
            (
                of(("controls = [\"sees-duplicates\"]\n", "")),
                "0.toml:2:12: controls: it names none",
            ),
            (
                of(("[\"sees-duplicates\"]", "[\"sees-duplicate\"]")),
                "0.toml:12:13: controls: there is no case `sees-duplicate`; did you mean `sees-duplicates`?",
            ),
            (
                of(("[\"sees-duplicates\"]", "[\"sees-duplicates\", \"identical-retry\"]")),
                "0.toml:12:32: controls: `identical-retry` is of the family `retry`",
            ),
            (
                family("control"),
                "0.toml:12:12: controls: a case of the family `control` asks for none",
            ),
        ];
        for (text, message) in table {
            let error = with(&[text]).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
        for again in ["mine", "Mine"] {
            let error = with(&[own("mine", &[]), own(again, &[])]).expect_err("twice");
            let message = format!("1.toml:2:12: id `{again}` is that of 0.toml too (`mine`)");
            assert!(error.starts_with(&message), "{error}");
        }
    }

    /// Machinery is ours: where nothing else is checked, nothing could ever fail a server.
    #[test]
    fn a_case_that_could_fail_no_server_is_refused_unless_it_is_a_control() {
        let mut text = String::new();
        for line in own("mine", &[]).lines().filter(|line| !line.starts_with("promise")) {
            let is_basis = line.starts_with("basis");
            text.extend([if is_basis { "basis = \"machinery\"" } else { line }, "\n"]);
        }
        let error = with(std::slice::from_ref(&text)).expect_err("it shows nothing");
        let message = "0.toml:44:1: every check has basis = \"machinery\", so nothing could ever fail a server";
        assert!(error.starts_with(message), "{error}");
        let control = text
            .replacen("\"retry\"", "\"control\"", 1)
            .replace("[\"sees-duplicates\"]", "[]");
        with(&[control]).expect("a control speaks of the read-back, and of no server");
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
                "0.toml:65:12: check `one-effect`: ",
            ),
            (("format   = 1", "format   = 7"), "0.toml:1:12: format 7"),
            (
                ("revision = 1", "revision = 0"),
                "0.toml:4:12: revision 0: the first is 1",
            ),
            (
                ("\"write\", ", ""),
                "0.toml:10:12: step 3 (write A as `attempt`; its reply is withheld until the effect is visible, then SIGKILL the tree) uses \
                 `write`: name it in `needs`",
            ),
            (
                ("reply_ms = 10000", "reply_ms = 0"),
                "0.toml:13:77: bounds: reply_ms = 0: a wait has 1 to 3600000 milliseconds",
            ),
            (
                ("quiet_ms = 5000", "quiet_ms = 3600001"),
                "0.toml:13:95: bounds: quiet_ms = 3600001: a wait",
            ),
            (
                ("stop = \"second\"", "advance_s = 100000001"),
                "0.toml:38:1: step 8: advance_s = 100000001: it has 1 to 100000000 seconds",
            ),
            (
                ("stop = \"second\"", "advance_s = 0"),
                "0.toml:38:1: step 8: advance_s = 0: it has 1",
            ),
            (
                (
                    "as    = \"second\"",
                    "as = \"second\"\nsettings = { retention_s = 100000001 }",
                ),
                "0.toml:28:1: step 5: settings: retention_s = 100000001: it has at most 100000000 seconds",
            ),
        ];
        for (change, message) in table {
            let error = with(&[own("mine", &[change])]).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
        let error = with(&[own("my case", &[])]).expect_err("a space");
        assert!(error.starts_with("0.toml:2:12: id `my case`"), "{error}");
    }
}
