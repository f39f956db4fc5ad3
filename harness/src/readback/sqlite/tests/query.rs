//! Tests of one reading statement: values, parameters, what is refused, bounds.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::json;

use crate::readback::error::Bound;
use crate::readback::query::{CELL_BYTES_MAX, ROWS_MAX};
use crate::readback::sqlite::run::{cell, guard, run, run_guarded};
use crate::readback::{ReadError, Rows, SqlQuery};

const STEPS_MAX: u64 = 1_000_000;

fn ask(schema: &str, query: &SqlQuery) -> Result<Rows, ReadError> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema).unwrap();
    run(&mut connection, Path::new("/store"), query, STEPS_MAX)
}

fn answer(sql: &str) -> Result<Rows, ReadError> {
    ask("", &SqlQuery::new(sql, [("marker", "m1"), ("operation", "o1")]))
}

fn refusal(sql: &str) -> String {
    answer(sql).unwrap_err().to_string()
}

#[test]
fn values_become_json_without_loss() {
    let rows = answer(
        "SELECT NULL AS a, 9223372036854775807 AS b, 1.5 AS c, 9e999 AS d, -9e999, 'é' AS e, CAST(x'ff41' AS TEXT), x'00ff'",
    )
    .unwrap();
    assert_eq!(rows.columns[..4], ["a", "b", "c", "d"]);
    let expected = json!([null, i64::MAX, 1.5, "inf", "-inf", "é", {"bytes_hex": "ff41"}, {"bytes_hex": "00ff"}]);
    assert_eq!(json!(rows.rows[0]), expected);
    assert_eq!(rows.count(), 1);
}

#[test]
fn query_and_rows_survive_json() {
    let query = SqlQuery::new("SELECT $marker", [("marker", "m1")]);
    assert_eq!(serde_json::from_value::<SqlQuery>(json!(query)).unwrap(), query);
    assert_eq!(
        serde_json::from_str::<SqlQuery>(r#"{"sql":"SELECT 1"}"#).unwrap(),
        SqlQuery::new("SELECT 1", [])
    );
    let rows = answer("SELECT 1 AS one, x'00' AS blob").unwrap();
    assert_eq!(serde_json::from_value::<Rows>(json!(rows)).unwrap(), rows);
}

#[test]
fn only_parameters_in_the_text_are_bound() {
    let rows = answer("SELECT $marker AS \"$ghost\", '$ghost' /* $ghost */ -- $ghost").unwrap();
    assert_eq!(rows.rows, [[json!("m1"), json!("$ghost")]]);
    assert_eq!(answer("SELECT $marker || $marker").unwrap().rows, [[json!("m1m1")]]);
}

#[test]
fn parameters_are_text() {
    let query = SqlQuery::new("SELECT typeof($marker), $marker = 7", [("marker", "7")]);
    assert_eq!(ask("", &query).unwrap().rows, [[json!("text"), json!(0)]]);
}

#[test]
fn unknown_parameters_are_refused_with_the_known_ones() {
    for written in ["$ghost", ":marker", "@marker", "?", "?3"] {
        let said = refusal(&format!("SELECT {written}"));
        assert!(said.contains("known here: `$marker`, `$operation`"), "{said}");
    }
    assert!(refusal("SELECT $ghost").contains("unknown parameter `$ghost`"));
    let said = ask("", &SqlQuery::new("SELECT $ghost", [])).unwrap_err().to_string();
    assert!(said.contains("there are none here"), "{said}");
}

#[test]
fn whatever_is_not_reading_is_refused() {
    let refused = [
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (1) RETURNING a",
        "DELETE FROM t",
        "CREATE TABLE u (a)",
        "DROP TABLE t",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT s",
        "VACUUM",
        "VACUUM INTO '/tmp/never-made-by-read-back'",
        "ATTACH '/tmp/never-made-by-read-back' AS other",
        "DETACH main",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA busy_timeout=5000",
        "PRAGMA page_size=4096",
        "PRAGMA wal_checkpoint",
        "SELECT * FROM pragma_journal_mode('delete')",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE t",
        "",
        "-- nothing",
        "SELEC 1",
    ];
    for sql in refused {
        let error = ask("CREATE TABLE t (a)", &SqlQuery::new(sql, [])).unwrap_err();
        assert!(matches!(error, ReadError::BadQuery { .. }), "{sql}: {error:?}");
        assert!(
            error.to_string().contains(sql) && error.to_string().contains("/store"),
            "{error}"
        );
    }
    assert!(!Path::new("/tmp/never-made-by-read-back").exists());
}

#[test]
fn other_files_are_out_of_reach_before_anything_runs() {
    for sql in [
        "ATTACH '/tmp/other' AS other",
        "BEGIN",
        "SAVEPOINT s",
        "PRAGMA journal_mode=DELETE",
    ] {
        assert!(refusal(sql).contains("not authorized"), "{}", refusal(sql));
    }
}

#[test]
fn whatever_is_reading_is_allowed() {
    let schema = "CREATE TABLE t (a); INSERT INTO t VALUES (1), (1), (2); CREATE VIEW v AS SELECT a FROM t;
                  CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES ('one two');
                  CREATE VIRTUAL TABLE boxes USING rtree(id, low, high); INSERT INTO boxes VALUES (1, 0, 1);";
    let counts = [
        ("SELECT a FROM t", 3),
        ("SELECT a FROM v;", 3),
        ("SELECT DISTINCT a FROM t", 2),
        ("SELECT a FROM t LIMIT 1", 1),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM c WHERE a = 1 -- done", 2),
        ("VALUES (1), (2)", 2),
        ("SELECT * FROM words WHERE words MATCH 'two'", 1),
        ("SELECT * FROM boxes WHERE low <= 0", 1),
        ("SELECT name FROM pragma_table_info('t')", 1),
        ("PRAGMA table_info(t)", 1),
        ("SELECT a FROM t WHERE a = 9", 0),
    ];
    for (sql, count) in counts {
        assert_eq!(ask(schema, &SqlQuery::new(sql, [])).unwrap().count(), count, "{sql}");
    }
}

#[test]
fn errors_of_a_query_are_told_apart() {
    assert!(
        matches!(answer("SELECT 1 FROM orders").unwrap_err(), ReadError::NoSuchTable { table, .. } if table == "orders")
    );
    let said = ask("CREATE TABLE t (a)", &SqlQuery::new("SELECT nota FROM t", []))
        .unwrap_err()
        .to_string();
    assert!(said.contains("no such column: nota"), "{said}");
    assert!(refusal("SELEC 1").contains("syntax error"));
}

#[test]
fn an_endless_query_ends() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let error = answer(endless).unwrap_err();
    assert!(
        matches!(
            &error,
            ReadError::TooMuch {
                bound: Bound::Steps { steps_max: STEPS_MAX },
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn queries_on_one_connection_have_their_bounds_each_for_itself() {
    let mut connection = Connection::open_in_memory().unwrap();
    guard(&mut connection).unwrap();
    let mut within = |steps_max: u64, sql: &str| {
        run_guarded(&mut connection, Path::new("/store"), &SqlQuery::new(sql, []), steps_max)
    };
    let long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000) SELECT count(*) FROM n";
    // Two of them together are more than one may take.
    assert!(matches!(within(STEPS_MAX / 2, long), Err(ReadError::TooMuch { .. })));
    let mut ask = |sql: &str| within(STEPS_MAX, sql);
    for _ in 0..3 {
        assert_eq!(ask(long).unwrap().rows, [[json!(50_000)]]);
    }
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    assert!(matches!(ask(endless), Err(ReadError::TooMuch { .. })));
    assert!(matches!(
        ask("PRAGMA hard_heap_limit = 1"),
        Err(ReadError::BadQuery { .. })
    ));
    assert!(matches!(
        ask("CREATE TEMP TABLE kept (a)"),
        Err(ReadError::BadQuery { .. })
    ));
    assert_eq!(ask(long).unwrap().count(), 1);
}

#[test]
fn bounds_are_errors_and_never_cut() {
    let rows = |count: usize| {
        format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count}) SELECT i FROM n")
    };
    assert_eq!(answer(&rows(ROWS_MAX)).unwrap().count(), ROWS_MAX);
    assert!(matches!(
        answer(&rows(ROWS_MAX + 1)),
        Err(ReadError::TooMuch { bound: Bound::Rows, .. })
    ));

    let cell = |bytes: usize| format!("SELECT zeroblob({bytes}) AS big");
    assert_eq!(answer(&cell(CELL_BYTES_MAX)).unwrap().count(), 1);
    let error = answer(&cell(CELL_BYTES_MAX + 1)).unwrap_err();
    assert!(
        matches!(&error, ReadError::TooMuch { bound: Bound::Cell { column, .. }, .. } if column == "big"),
        "{error}"
    );

    let wide = rows(300).replace("SELECT i FROM n", "SELECT zeroblob(60000) FROM n");
    assert!(matches!(
        answer(&wide),
        Err(ReadError::TooMuch {
            bound: Bound::Answer,
            ..
        })
    ));
    let huge = answer("SELECT length(zeroblob(2000000000))");
    assert!(
        matches!(
            huge,
            Err(ReadError::TooMuch {
                bound: Bound::Value,
                ..
            })
        ),
        "{huge:?}"
    );
}

/// Text in which a `$name` is no parameter.
fn noise() -> impl Strategy<Value = String> {
    let body = "[a-z$ :@?]{0,12}";
    prop_oneof![
        body.prop_map(|text| format!("'{text}'")),
        body.prop_map(|text| format!("(SELECT 1 AS \"{text}\")")),
        body.prop_map(|text| format!("1 /* {text} */")),
        body.prop_map(|text| format!("2 -- {text}\n")),
        Just("$marker".to_owned()),
    ]
}

proptest! {
    #[test]
    fn names_count_only_where_sqlite_reads_a_parameter(parts in prop::collection::vec(noise(), 1..6)) {
        let rows = ask("", &SqlQuery::new(format!("SELECT {}", parts.join(", ")), [("marker", "m1")])).unwrap();
        let marked = rows.rows[0].iter().filter(|value| **value == json!("m1")).count();
        prop_assert_eq!(marked, parts.iter().filter(|part| *part == "$marker").count());
    }

    #[test]
    fn any_marker_comes_back_as_it_was(marker in any::<String>()) {
        let rows = ask("", &SqlQuery::new("SELECT $marker", [("marker", marker.as_str())])).unwrap();
        prop_assert_eq!(&rows.rows[0][0], &json!(marker));
    }

    #[test]
    fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let blob = cell(ValueRef::Blob(&bytes));
        let hex = blob["bytes_hex"].as_str().unwrap();
        prop_assert_eq!(base16ct::lower::decode_vec(hex).unwrap(), bytes.clone());
        let expected = String::from_utf8(bytes.clone()).map_or(blob, |text| json!(text));
        prop_assert_eq!(cell(ValueRef::Text(&bytes)), expected);
    }

    #[test]
    fn any_number_comes_back(integer in any::<i64>(), real in any::<f64>()) {
        prop_assert_eq!(cell(ValueRef::Integer(integer)).as_i64(), Some(integer));
        let value = cell(ValueRef::Real(real));
        prop_assert_eq!(value.as_f64(), real.is_finite().then_some(real));
        prop_assert_eq!(value.is_string(), !real.is_finite());
    }
}
