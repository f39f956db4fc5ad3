//! JSON values in few words: what they are to the case, and no more of them than a reader takes in.

use serde_json::{Map, Value};

use crate::plan::Plan;
use crate::report::frame::shortened;

/// How much of one value is shown, in characters.
const VALUE_CHARS_MAX: usize = 60;

/// How many names of a path are shown, from its end.
const PATH_NAMES_SHOWN: usize = 2;

/// How many members of an object are shown.
const MEMBERS_SHOWN_MAX: usize = 8;

/// What the texts of a plan are to its operations.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Text, what it is, and whether it may stand inside a longer text.
    texts: Vec<(String, String, bool)>,
}

impl Roles {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut roles = Self::default();
        let is_one = plan.operations.len() == 1;
        for (name, operation) in &plan.operations {
            let of = |what: &str| {
                if is_one {
                    what.to_owned()
                } else {
                    format!("{what} of {name}")
                }
            };
            roles.add(&operation.identity, of("identity"), false);
            roles.add(&operation.marker, of("marker"), true);
            roles.add(&operation.input, of("data"), false);
            roles.add(&operation.changed_input, of("CHANGED data"), false);
        }
        roles
    }

    /// Two operations may carry one marker; the first one names it.
    fn add(&mut self, text: &str, role: String, inside: bool) {
        if !text.is_empty() && !self.texts.iter().any(|(known, ..)| known == text) {
            self.texts.push((text.to_owned(), role, inside));
        }
    }

    fn role(&self, text: &str) -> Option<&str> {
        let mut texts = self.texts.iter();
        let found = texts.find(|(known, _, inside)| known == text || (*inside && text.contains(known.as_str())));
        found.map(|(_, role, _)| role.as_str())
    }

    /// The members of an object, each with what it is to the case; those that are something to it come first.
    pub(super) fn members(&self, members: &Map<String, Value>) -> String {
        let role = |value: &Value| value.as_str().and_then(|text| self.role(text)).map(str::to_owned);
        let mut members: Vec<_> = members.iter().map(|(name, value)| (name, value, role(value))).collect();
        members.sort_by_key(|(.., role)| role.is_none());
        let told = |(name, value, role): &(&String, &Value, Option<String>)| {
            let role = role.as_ref().map_or(String::new(), |role| format!(" ({role})"));
            let value = short_path(value).unwrap_or_else(|| in_words(value));
            format!("{}={value}{role}", brief(name))
        };
        let mut parts: Vec<String> = members.iter().take(MEMBERS_SHOWN_MAX).map(told).collect();
        if members.len() > MEMBERS_SHOWN_MAX {
            parts.push(format!("and {} more", members.len() - MEMBERS_SHOWN_MAX));
        }
        parts.join(", ")
    }

    /// A value at the top: members by name, anything else as it is.
    pub(super) fn whole(&self, value: &Value) -> String {
        match value.as_object() {
            Some(members) if !members.is_empty() => self.members(members),
            _ => in_words(value),
        }
    }
}

/// The end of a long path: it begins in a folder of the run, which says nothing.
fn short_path(value: &Value) -> Option<String> {
    let path = value.as_str().filter(|path| path.starts_with('/'))?;
    let (at, _) = path.rmatch_indices('/').nth(PATH_NAMES_SHOWN - 1)?;
    let is_one_word = |end: &&str| end.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let end = path.get(at..).filter(is_one_word)?;
    (at > 0).then(|| format!("…{}", brief(end)))
}

/// A text that is one word stands as it is, anything else as JSON.
pub(super) fn in_words(value: &Value) -> String {
    let is_word = |text: &&str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@".contains(c)) && *text != "null"
    };
    match value.as_str().filter(is_word) {
        Some(word) => brief(word),
        None => brief(&value.to_string()),
    }
}

/// The beginning of a text, and an ellipsis where that is not all.
pub(super) fn brief(text: &str) -> String {
    shortened(text, VALUE_CHARS_MAX).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn roles() -> Roles {
        let mut roles = Roles::default();
        roles.add("op-1", "identity".to_owned(), false);
        roles.add("mk-1", "marker".to_owned(), true);
        roles.add("mk-1", "marker of B".to_owned(), true);
        roles
    }

    #[test]
    fn arguments_say_what_they_are_to_the_case() {
        let arguments = json!({"qty": 1, "key": "op-1", "title": "an order mk-1", "other": "op-12", "empty": ""});
        assert_eq!(
            roles().whole(&arguments),
            r#"key=op-1 (identity), title="an order mk-1" (marker), qty=1, other=op-12, empty="""#
        );
        assert_eq!(roles().whole(&json!([1, null])), "[1,null]");
        assert_eq!(roles().whole(&json!("null")), "\"null\"");
    }

    #[test]
    fn of_a_path_the_end_is_shown() {
        let told = |path: &str| roles().whole(&json!({ "gate": path }));
        assert_eq!(told("/tmp/run/case/gates/A"), "gate=…/gates/A");
        assert_eq!(told("/gates/A"), "gate=/gates/A");
        assert_eq!(told("/A"), "gate=/A");
        assert_eq!(told("gates/of/A"), "gate=gates/of/A");
        assert_eq!(told("/tmp/two words/A"), "gate=\"/tmp/two words/A\"");
    }

    #[test]
    fn what_is_long_is_cut() {
        let many: Map<String, Value> = (0..10).map(|n| (n.to_string(), json!("x".repeat(100)))).collect();
        let told = roles().members(&many);
        assert!(told.ends_with(", and 2 more"), "{told}");
        assert_eq!(told.matches("x…").count(), 8, "{told}");
    }
}
