//! Tests of calibration on real stores: what a server does, the places before and after, and what is concluded.

use std::path::Path;

use super::{places, told};
use crate::readback::files::tests::{put, sql, store_of};
use crate::readback::{Calibration, CalibrationError, Counted, Query, Selector, ask_frozen, freeze_tree};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT);
     CREATE TABLE audit (at TEXT, payload TEXT);";
const ORDER: &str = "INSERT INTO orders (note) VALUES ('mk-1');";
const LOGGED: &str = "INSERT INTO audit VALUES ('now', '{\"call\":\"mk-1\"}');";

/// Calibrates with two writes of a server on a fresh store, and counts what then happens on another.
fn count(
    start: impl Fn(&Path),
    write: impl Fn(&Path, usize),
    happens: impl Fn(&Path),
) -> Result<Counted, CalibrationError> {
    let store = store_of(&[]);
    start(store.path());
    let zero = places(store.path());
    write(store.path(), 1);
    let calibration = Calibration::from_one(&zero, &places(store.path()))?;
    write(store.path(), 2);
    let calibration = calibration.confirm(&zero, &places(store.path()))?;
    let store = store_of(&[]);
    start(store.path());
    let before = places(store.path());
    happens(store.path());
    Ok(calibration.count(&before, &places(store.path())))
}

fn orders(happens: &str) -> Counted {
    let db = |store: &Path, statements: &str| sql(store, "app.db", statements);
    let both = format!("{ORDER}{LOGGED}");
    count(
        |store| db(store, ORDERS),
        |store, _| db(store, &both),
        |store| db(store, happens),
    )
    .unwrap()
}

#[test]
fn places_that_grow_alike_are_effects() {
    assert_eq!(orders(""), Counted::Nowhere);
    assert_eq!(orders(&format!("{ORDER}{LOGGED}")), Counted::Effects(1));
    assert_eq!(orders(&format!("{ORDER}{LOGGED}{LOGGED}{ORDER}")), Counted::Effects(2));
}

#[test]
fn an_audit_table_that_logs_every_attempt_concludes_nothing_and_gives_the_line() {
    let counted = orders(&format!("{ORDER}{LOGGED}{LOGGED}"));
    assert_eq!(counted.effects(), None);
    let expected = "places disagree: app.db: audit.payload +2 (one effect: +1), app.db: orders.note +1 (one effect: +1); \
                    say which counts, such as --effects 'path = \"app.db\", sql = \"SELECT * FROM orders WHERE note = \
                    $marker\"' (in a profile, under [read]: effects = { path = \"app.db\", sql = \"SELECT * FROM orders \
                    WHERE note = $marker\" })";
    assert_eq!(counted.to_string(), expected);
}

#[test]
fn the_line_works_when_it_is_pasted() {
    let store = store_of(&[]);
    sql(
        store.path(),
        "s.db",
        "CREATE TABLE \"order\" (\"the note\" TEXT); CREATE TABLE log (l TEXT)",
    );
    let store = store.path().join("s.db");
    let folder = store.parent().unwrap();
    let zero = places(&store);
    sql(
        folder,
        "s.db",
        "INSERT INTO \"order\" VALUES ('a mk-1'); INSERT INTO log VALUES ('mk-1')",
    );
    let calibration = Calibration::from_one(&zero, &places(&store)).unwrap();
    sql(folder, "s.db", "INSERT INTO log VALUES ('mk-1')");
    let Counted::Disagree(disagreement) = calibration.count(&zero, &places(&store)) else {
        panic!("an attempt was logged without an effect")
    };
    let selector = disagreement.selectors[0].clone();
    let sql = "SELECT * FROM \"order\" WHERE instr(\"the note\", $marker) > 0";
    assert_eq!(selector, Selector::sql(sql));
    let query = Query::new(selector, [("marker", "mk-1")]);
    let into = tempfile::tempdir().unwrap();
    let tree = freeze_tree(&store, into.path()).unwrap();
    assert_eq!(ask_frozen(&tree, &store, &query).unwrap().count(), 1);
}

#[test]
fn the_line_for_files_works_when_it_is_pasted() {
    for (effect, beside, expected) in [
        ("m.json", "log.txt", "path = \"m.json\", json = \"/entities\""),
        ("m.jsonl", "log.txt", "path = \"m.jsonl\", jsonl = true"),
        ("notes/mk-1.md", "log.txt", "files = \"notes/*.md\""),
        ("notes.txt", "log.txt", "text = \"notes.txt\""),
    ] {
        let text = match effect {
            "m.json" => "{\"entities\": [{\"name\": \"x mk-1\"}]}",
            "m.jsonl" => "{\"name\": \"mk-1\"}",
            _ => "mk-1",
        };
        let store = store_of(&[(beside, "")]);
        let zero = places(store.path());
        put(store.path(), effect, text);
        put(store.path(), beside, "mk-1");
        let calibration = Calibration::from_one(&zero, &places(store.path())).unwrap();
        put(store.path(), beside, "mk-1 mk-1");
        let Counted::Disagree(disagreement) = calibration.count(&zero, &places(store.path())) else {
            panic!("{effect}")
        };
        let selector = disagreement.selectors[0].clone();
        assert_eq!(selector.to_string(), expected);
        let into = tempfile::tempdir().unwrap();
        let tree = freeze_tree(store.path(), into.path()).unwrap();
        let query = Query::new(selector, [("marker", "mk-1")]);
        let rows = ask_frozen(&tree, store.path(), &query).unwrap();
        assert_eq!(rows.count(), 1, "{effect}");
    }
}

#[test]
fn a_marker_that_is_nowhere_is_no_calibration() {
    let nothing = count(|_| {}, |store, _| put(store, "m.json.tmp", "mk-1"), |_| {}).unwrap_err();
    let CalibrationError::Nowhere { set_aside } = &nothing else {
        panic!("{nothing}")
    };
    assert_eq!(set_aside.len(), 1);
    assert!(
        nothing.to_string().ends_with("leaves aside carry it: m.json.tmp"),
        "{nothing}"
    );
}

/// Several effects in one document, saved as a whole.
fn memory(store: &Path, effects: usize) {
    let entities = vec!["{\"name\":\"mk-1\"}"; effects].join(",");
    put(store, "memory.json", &format!("{{\"entities\":[{entities}]}}"));
}

/// Reported of servers that save by renaming: a kill leaves the new state in a temporary file beside the old.
#[test]
fn what_a_save_left_aside_is_no_effect() {
    let counted = count(
        |store| memory(store, 0),
        memory,
        |store| {
            memory(store, 1);
            put(
                store,
                "memory.json.9f3c.tmp",
                "{\"entities\":[{\"name\":\"mk-1\"},{\"name\":\"mk-1\"}]}",
            );
        },
    );
    assert_eq!(counted.unwrap(), Counted::Effects(1));
    let unknown = count(
        |store| memory(store, 0),
        memory,
        |store| {
            memory(store, 1);
            put(store, "memory.json,new", "{\"entities\":[{\"name\":\"mk-1\"}]}");
        },
    );
    assert!(
        matches!(unknown.unwrap(), Counted::Disagree(_)),
        "a name that nobody knows is another place"
    );
}

#[test]
fn a_store_that_was_whole_and_is_torn_has_no_count() {
    for torn in ["{\"entities\":[{\"name\":\"mk-1\"}", ""] {
        let counted = count(
            |store| memory(store, 0),
            memory,
            |store| put(store, "memory.json", torn),
        );
        assert!(
            matches!(counted.unwrap(), Counted::Unreadable { file, .. } if file == "memory.json"),
            "{torn:?}"
        );
    }
    let lines = |store: &Path, effects: usize| put(store, "m.jsonl", &"{\"n\":\"mk-1\"}\n".repeat(effects));
    let counted = count(
        |store| lines(store, 0),
        lines,
        |store| put(store, "m.jsonl", "{\"n\":\"mk-1\"}\n{\"n"),
    );
    assert!(matches!(counted.unwrap(), Counted::Unreadable { .. }));
}

#[test]
fn a_file_that_is_json_by_its_name_only_is_a_text() {
    let commented =
        |store: &Path, effects: usize| put(store, "c.json", &format!("// notes\n{}", "// mk-1\n".repeat(effects)));
    assert_eq!(
        count(|store| commented(store, 0), commented, |store| commented(store, 3)),
        Ok(Counted::Effects(3))
    );
}

#[test]
fn a_file_for_each_effect_is_learnt_from_the_second() {
    let note = |store: &Path, id: &str| put(store, &format!("notes/{id}.md"), "so mk-1");
    let write = |store: &Path, nth: usize| note(store, &format!("note-7{nth}f"));
    let two = |store: &Path| {
        note(store, "note-a9");
        note(store, "note-b8");
    };
    assert_eq!(count(|_| {}, write, two), Ok(Counted::Effects(2)));
    let elsewhere = |store: &Path| put(store, "drafts/note-1.md", "mk-1");
    assert!(matches!(count(|_| {}, write, elsewhere), Ok(Counted::Disagree(_))));
    let by_key = |store: &Path, nth: usize| {
        let members: Vec<String> = (0..nth)
            .map(|id| format!("\"id-{id}\":{{\"note\":\"mk-1\"}}"))
            .collect();
        put(store, "m.json", &format!("{{\"notes\":{{{}}}}}", members.join(",")));
    };
    assert_eq!(count(|_| {}, by_key, |store| by_key(store, 5)), Ok(Counted::Effects(5)));
    let by_name = |store: &Path, nth: usize| put(store, &format!("n/mk-1 ({nth}).md"), "");
    assert_eq!(
        count(|_| {}, by_name, |store| by_name(store, 4)),
        Ok(Counted::Effects(1))
    );
}

/// What a server refused stands where it keeps refusals: joining the two would count a refusal as an effect.
#[test]
fn places_with_names_of_their_own_are_never_joined() {
    let write = |store: &Path, nth: usize| {
        let rejected = if nth > 1 { "{\"note\":\"mk-1\"}" } else { "" };
        put(
            store,
            "m.json",
            &format!("{{\"accepted\":[{{\"note\":\"mk-1\"}}],\"rejected\":[{rejected}]}}"),
        );
    };
    let error = count(|_| {}, write, |_| {}).unwrap_err();
    assert!(
        matches!(
            &error,
            CalibrationError::NotTwo {
                counted: Counted::Disagree(_)
            }
        ),
        "{error}"
    );
    let once = |store: &Path, _: usize| memory(store, 1);
    let error = count(|_| {}, once, |_| {}).unwrap_err();
    assert_eq!(
        error,
        CalibrationError::NotTwo {
            counted: Counted::Effects(1)
        }
    );
}

#[test]
fn a_folder_of_several_kinds_is_one_effect() {
    let write = |store: &Path, nth: usize| {
        memory(store, nth);
        put(store, "notes.txt", &"- mk-1\n".repeat(nth));
        sql(
            store,
            "app.db",
            "CREATE TABLE IF NOT EXISTS t (a TEXT, b TEXT); INSERT INTO t VALUES ('mk-1', 'mk-1 mk-1')",
        );
    };
    let store = store_of(&[]);
    write(store.path(), 1);
    let expected = [
        "app.db: t.a × 1",
        "app.db: t.b × 2",
        "memory.json#/entities/*/name × 1",
        "notes.txt × 1",
    ];
    assert_eq!(told(&places(store.path())), expected);
    let three = |store: &Path| (1..=3).for_each(|nth| write(store, nth));
    assert_eq!(count(|_| {}, write, three), Ok(Counted::Effects(3)));
    let half = |store: &Path| memory(store, 1);
    assert!(
        matches!(count(|_| {}, write, half), Ok(Counted::Disagree(_))),
        "half an effect is none and not one"
    );
}
