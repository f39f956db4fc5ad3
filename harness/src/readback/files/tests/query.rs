//! Tests of explicit queries on frozen files.

use serde_json::{Value, json};

use super::{marker, put, sql, store_of};
use crate::readback::{FileAnswer, FileQuery, ReadError, freeze_tree, query_tree};

fn query(toml: &str) -> FileQuery {
    toml::from_str(toml).unwrap()
}

fn ask(files: &[(&str, &str)], toml: &str) -> Result<FileAnswer, ReadError> {
    let store = store_of(files);
    let into = tempfile::tempdir().unwrap();
    let path = match files {
        [(only, _)] if !only.contains('/') && !toml.contains("path") => store.path().join(only),
        _ => store.path().to_owned(),
    };
    query_tree(&freeze_tree(&path, into.path()).unwrap(), &query(toml), &marker())
}

fn rows(files: &[(&str, &str)], toml: &str) -> (Vec<String>, Vec<Vec<Value>>) {
    let answer = ask(files, toml).unwrap();
    assert_eq!(answer.torn, None);
    (answer.rows.columns, answer.rows.rows)
}

#[test]
fn elements_of_an_array_are_rows_of_their_single_values() {
    let text = r#"{"entities": [
        {"name": "mk-1", "n": 1, "tags": ["a"]},
        {"name": "other"},
        {"name": "deep", "observations": [{"text": "so mk-1 is here"}], "on": true}]}"#;
    let (columns, rows) = rows(&[("memory.json", text)], "json = \"/entities\"");
    assert_eq!(columns, ["name", "n", "on", "rest"]);
    let (tags, observations) = (r#"{"tags":["a"]}"#, r#"{"observations":[{"text":"so mk-1 is here"}]}"#);
    assert_eq!(
        rows,
        [
            vec![json!("mk-1"), json!(1), Value::Null, json!(tags)],
            vec![json!("deep"), Value::Null, json!(true), json!(observations)]
        ]
    );
}

#[test]
fn members_of_an_object_are_rows_with_their_key() {
    let text = r#"{"mk-1": {"a": 1}, "x": {"note": "mk-1"}, "y": {}}"#;
    let (columns, rows) = rows(&[("store.json", text)], "json = \"\"");
    assert_eq!(columns, ["key", "a", "note"]);
    assert_eq!(rows[0], [json!("mk-1"), json!(1), Value::Null]);
    assert_eq!(rows[1], [json!("x"), Value::Null, json!("mk-1")]);
}

#[test]
fn what_is_no_object_is_one_value() {
    let (columns, rows) = rows(
        &[("a.json", r#"["mk-1", 3, ["mk-1"], {"in": ["mk-1"]}]"#)],
        "json = \"\"",
    );
    assert_eq!(columns, ["value"]);
    let values: Vec<Value> = rows.into_iter().flatten().collect();
    assert_eq!(
        values,
        [json!("mk-1"), json!("[\"mk-1\"]"), json!("{\"in\":[\"mk-1\"]}")]
    );
}

#[test]
fn a_long_text_is_shown_by_its_digest_and_still_counted() {
    let text = json!([{ "note": format!("mk-1 {}", "x".repeat(100_000)) }]).to_string();
    let (_, rows) = rows(&[("a.json", &text)], "json = \"\"");
    assert_eq!(rows[0][0]["text_bytes"], 100_005);
}

#[test]
fn lines_are_rows_with_or_without_a_last_line_end() {
    let lines = "{\"type\":\"entity\",\"name\":\"mk-1\"}\n\n{\"name\":\"x\"}\r\n{\"name\":\"mk-1\"}";
    for text in [lines.to_owned(), format!("{lines}\n"), format!("\u{FEFF}{lines}")] {
        assert_eq!(rows(&[("memory.jsonl", &text)], "jsonl = true").1.len(), 2, "{text:?}");
    }
    assert_eq!(rows(&[("memory.jsonl", "")], "jsonl = true").1.len(), 0);
}

/// Reported of `server-memory`: a kill in mid-save leaves half a last line.
#[test]
fn a_torn_last_line_is_no_count_although_the_rows_before_it_are_told() {
    let whole = "{\"name\":\"mk-1\"}\n{\"name\":\"mk-1 again\"}";
    for end in whole.find("again").unwrap()..whole.len() - 1 {
        let answer = ask(&[("m.jsonl", &whole[..end])], "jsonl = true").unwrap();
        assert_eq!(answer.rows.count(), 1);
        let torn = answer.torn.clone().unwrap();
        assert!(torn.starts_with("m.jsonl: line 2 is cut off"), "{torn}");
        let error = answer.whole("m.jsonl".as_ref()).unwrap_err();
        assert!(matches!(error, ReadError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains("line 2 is cut off"), "{error}");
        assert!(error.to_string().contains("1 of the marked effects"), "{error}");
    }
}

/// Reported of `server-memory`: two saves at once leave the tail of the longer one.
#[test]
fn a_bad_line_is_told_by_its_number() {
    for text in [
        "{\"a\":\"mk-1\"}\nnonsense\n{}\n",
        "{}\n{\"a\":1}}",
        "{}\n{\"a\":\n{}\n",
        "{}\n\0\0\0",
    ] {
        let error = ask(&[("m.jsonl", text)], "jsonl = true").unwrap_err();
        assert!(
            error.to_string().contains("m.jsonl: line 2 is not JSON"),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn a_torn_document_is_torn_and_an_empty_one_too() {
    let whole = r#"{"entities": [{"name": "mk-1"}]}"#;
    for end in 0..whole.len() {
        let answer = ask(&[("m.json", &whole[..end])], "json = \"/entities\"").unwrap();
        assert!(answer.torn.is_some(), "{end}");
        assert_eq!(answer.rows.count(), 0);
    }
    let error = ask(&[("m.json", "{\"a\" 1}")], "json = \"\"").unwrap_err();
    assert!(error.to_string().contains("line 1 is not JSON"), "{error}");
}

#[test]
fn a_place_that_is_not_there_yet_is_told_apart_from_a_wrong_one() {
    let missing = ask(&[("m.json", "{}")], "json = \"/entities\"").unwrap_err();
    assert!(matches!(missing, ReadError::NoSuchTable { .. }), "{missing}");
    let single = ask(&[("m.json", "{\"a\": 1}")], "json = \"/a\"").unwrap_err();
    assert!(matches!(single, ReadError::BadQuery { .. }), "{single}");
    let no_path = ask(&[("d/m.json", "{}")], "json = \"\"").unwrap_err();
    assert!(matches!(no_path, ReadError::BadQuery { .. }), "{no_path}");
    let no_file = ask(&[("d/m.json", "{}")], "json = \"\"\npath = \"d/n.json\"").unwrap_err();
    assert!(matches!(no_file, ReadError::Absent { .. }), "{no_file}");
    assert_eq!(
        rows(&[("d/m.json", "[\"mk-1\"]")], "json = \"\"\npath = \"d/m.json\"")
            .1
            .len(),
        1
    );
}

#[test]
fn each_file_that_carries_the_marker_is_a_row_but_not_what_a_save_left() {
    let files = [
        ("notes/mk-1.md", "by name"),
        ("notes/b.md", "by content: mk-1, mk-1"),
        ("notes/c.md", "neither"),
        ("notes/d.md.8f1a.tmp", "mk-1"),
        ("notes/e.md~", "nothing"),
        ("notes/deeper/f.md", "mk-1"),
    ];
    let answer = ask(&files, "files = \"notes/*\"").unwrap();
    let names: Vec<&Value> = answer.rows.rows.iter().map(|row| &row[0]).collect();
    assert_eq!(names, ["notes/b.md", "notes/mk-1.md"]);
    assert_eq!(answer.set_aside, ["notes/d.md.8f1a.tmp"]);
    assert_eq!(ask(&files, "files = \"**/*.md\"").unwrap().rows.count(), 3);
    let temporary = ask(&files, "files = \"notes/*.tmp\"").unwrap();
    assert_eq!(temporary.rows.count(), 1, "a glob about such files means them");
}

#[test]
fn each_occurrence_in_a_text_is_a_row() {
    let (columns, rows) = rows(&[("notes.txt", "a mk-1\nb\nmk-1 and mk-1\n")], "text = \"*.txt\"");
    assert_eq!(columns, ["file", "text"]);
    let lines: Vec<&Value> = rows.iter().map(|row| &row[1]).collect();
    assert_eq!(lines, ["a mk-1", "mk-1 and mk-1", "mk-1 and mk-1"]);
}

#[test]
fn a_glob_does_not_read_sqlite_stores_as_bytes() {
    let store = store_of(&[]);
    sql(
        store.path(),
        "app.db",
        "CREATE TABLE t (note TEXT); INSERT INTO t VALUES ('mk-1')",
    );
    put(store.path(), "a.txt", "mk-1");
    let into = tempfile::tempdir().unwrap();
    let tree = freeze_tree(store.path(), into.path()).unwrap();
    assert_eq!(
        query_tree(&tree, &query("files = \"*\""), &marker())
            .unwrap()
            .rows
            .count(),
        1
    );
}

#[test]
fn keys_that_say_nothing_or_two_things_are_refused() {
    for (toml, told) in [
        ("", "say once"),
        ("jsonl = false", "say once"),
        ("json = \"/a\"\njsonl = true", "say once"),
        ("json = \"a\"", "no JSON pointer"),
        ("files = \"[\"", "no glob"),
        ("jsonl = true\npath = \"../x\"", "no file in the store"),
        ("jsonl = true\npath = \"/x\"", "no file in the store"),
        ("files = \"*\"\npath = \"x\"", "no file in the store"),
        ("jsonx = true", "unknown field"),
    ] {
        let error = toml::from_str::<FileQuery>(toml).unwrap_err().to_string();
        assert!(error.contains(told), "{toml:?}: {error}");
    }
}

#[test]
fn a_query_reads_back_from_what_it_prints() {
    for toml in [
        "json = \"/a\"",
        "path = \"d/m.json\"\njson = \"\"",
        "jsonl = true",
        "files = \"**/*.md\"",
        "text = \"a\"",
    ] {
        let query = query(toml);
        assert_eq!(query.to_string(), toml);
        let json = serde_json::to_string(&query).unwrap();
        assert_eq!(serde_json::from_str::<FileQuery>(&json).unwrap(), query);
    }
}
