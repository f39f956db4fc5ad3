//! The files of a query with every marked part twice: what the control asks where the server allows no second effect. Pure.
//!
//! What cannot be doubled is left as it is. The result is never evidence about the server.

use std::collections::BTreeMap;

use serde_json::Value;

use super::aside::is_set_aside;
use super::json::document;
use super::query::{FileQuery, matcher};
use super::rows::Element;
use crate::readback::marker::Marker;

/// How a name is changed so that it is another one.
const SECOND: &str = "-2";

/// These files, each marked element, line or file of them twice.
pub(super) fn double(
    query: &FileQuery,
    marker: &Marker,
    files: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Vec<u8>> {
    if let FileQuery::Files { glob } = query {
        return with_second_files(glob, marker, files);
    }
    let twice = |bytes: &Vec<u8>| match query {
        FileQuery::Json { pointer, .. } => {
            with_second_elements(bytes, pointer, marker).unwrap_or_else(|| bytes.clone())
        }
        FileQuery::JsonLines { .. } | FileQuery::Text { .. } | FileQuery::Files { .. } => {
            with_second_lines(bytes, marker)
        }
    };
    files.iter().map(|(name, bytes)| (name.clone(), twice(bytes))).collect()
}

fn with_second_elements(bytes: &[u8], pointer: &str, marker: &Marker) -> Option<Vec<u8>> {
    let mut whole = document(bytes).ok()?;
    match whole.pointer_mut(pointer)? {
        Value::Array(items) => {
            let is_marked = |value: &&Value| Element { key: None, value }.is_marked(marker);
            let second: Vec<Value> = items.iter().filter(is_marked).cloned().collect();
            items.extend(second);
        }
        Value::Object(members) => {
            let is_marked = |(key, value): &(&String, &Value)| {
                let key = Some(key.as_str());
                Element { key, value }.is_marked(marker)
            };
            let second: Vec<(String, Value)> = (members.iter().filter(is_marked))
                .map(|(key, value)| (format!("{key}{SECOND}"), value.clone()))
                .collect();
            members.extend(second);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    }
    Some(whole.to_string().into_bytes())
}

fn with_second_lines(bytes: &[u8], marker: &Marker) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        all.extend_from_slice(line);
        if marker.occurrences(line) > 0 {
            if !line.ends_with(b"\n") {
                all.push(b'\n');
            }
            all.extend_from_slice(line);
        }
    }
    all
}

fn with_second_files(glob: &str, marker: &Marker, files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let mut all = files.clone();
    let Ok(matches) = matcher(glob) else { return all };
    for (name, bytes) in files {
        let is_counted = marker.is_in(name) || marker.occurrences(bytes) > 0;
        let second = second_name(name);
        let is_seen = |second: &String| matches.is_match(second) && is_set_aside(second) == is_set_aside(name);
        if is_counted && let Some(second) = second.filter(is_seen) {
            all.entry(second).or_insert_with(|| bytes.clone());
        }
    }
    all
}

/// `notes/a.md` becomes `notes/a-2.md`.
fn second_name(name: &str) -> Option<String> {
    let (folder, file) = name
        .rsplit_once('/')
        .map_or(("", name), |(folder, file)| (folder, file));
    let (stem, ending) = match file.rfind('.') {
        Some(at) if at > 0 => file.split_at(at),
        _ => (file, ""),
    };
    let slash = if folder.is_empty() { "" } else { "/" };
    (!stem.is_empty()).then(|| format!("{folder}{slash}{stem}{SECOND}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(query: &FileQuery, name: &str, text: &str) -> BTreeMap<String, String> {
        let files = BTreeMap::from([(name.to_owned(), text.as_bytes().to_vec())]);
        let marker = Marker::new("mk-1").expect("a marker");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        double(query, &marker, &files)
            .into_iter()
            .map(|(name, bytes)| (name, text(bytes)))
            .collect()
    }

    fn only(query: &FileQuery, text: &str) -> String {
        doubled(query, "a", text).remove("a").expect("the file")
    }

    #[test]
    fn marked_elements_and_members_stand_twice_and_others_once() {
        let at = |pointer: &str| FileQuery::Json {
            path: None,
            pointer: pointer.to_owned(),
        };
        let list = r#"{"a":["mk-1","mk-2"],"b":"mk-1"}"#;
        assert_eq!(only(&at("/a"), list), r#"{"a":["mk-1","mk-2","mk-1"],"b":"mk-1"}"#);
        let table = r#"{"mk-1":1,"x":"mk-1","y":2}"#;
        assert_eq!(
            only(&at(""), table),
            r#"{"mk-1":1,"x":"mk-1","y":2,"mk-1-2":1,"x-2":"mk-1"}"#
        );
        assert_eq!(only(&at("/b"), list), list, "a single value has no second");
        assert_eq!(only(&at("/a"), "{"), "{", "nor has a torn document");
    }

    #[test]
    fn marked_lines_stand_twice_also_the_last_one_without_an_end() {
        let lines = FileQuery::JsonLines { path: None };
        assert_eq!(only(&lines, "\"x\"\n\"mk-1\""), "\"x\"\n\"mk-1\"\n\"mk-1\"");
        let text = FileQuery::Text { glob: "*".into() };
        assert_eq!(only(&text, "mk-1\nx\n"), "mk-1\nmk-1\nx\n");
    }

    #[test]
    fn a_marked_file_gets_a_second_where_its_name_fits_the_glob() {
        let files = |glob: &str| FileQuery::Files { glob: glob.to_owned() };
        let names = |glob: &str| doubled(&files(glob), "d/a.md", "mk-1").into_keys().collect::<Vec<_>>();
        assert_eq!(names("d/*.md"), ["d/a-2.md", "d/a.md"]);
        assert_eq!(names("d/a.md"), ["d/a.md"]);
    }
}
