//! Wrong questions, foreign stores, stores that somebody else keeps: one clear line with its place and the next step, and nothing
//! lost.

use std::fs;

use rusqlite::Connection;
use serde_json::json;

use super::support::{gated, plain_issue, submission, submit, submitted};
use crate::eras::plain;
use crate::support::{Bench, Said, Server, T0, assert_error, structured};

/// One line on stderr that holds every one of `words`, nothing on stdout, and this exit code.
#[track_caller]
fn complains(said: &Said, code: i32, words: &[&str]) {
    assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{said:?}");
    assert_eq!(said.stderr.matches('\n').count(), 1, "{said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "{word:?} is not in {said:?}");
    }
}

const WORK: &[&str] = &["work", "--worker-id", "B", "--until-idle"];
const REAP: &[&str] = &["reap"];

/// An execution that the worker A claimed, and whose lease is over, because A was killed.
fn abandoned(bench: &Bench) {
    submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let worker = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    worker.kill();
    bench.open_gate();
    bench.set_clock(T0 + 30);
}

#[test]
fn an_execution_that_is_not_there_is_said_with_the_way_to_find_it() {
    let bench = Bench::new();
    let mut server = bench.start();
    for tool in ["get_execution", "cancel_execution"] {
        let refused = structured(&server.call(tool, &json!({ "execution_id": "e-1" })));
        assert_eq!(refused["execution_id"], "e-1");
        assert_eq!(refused["reason"], "execution_unknown");
        assert!(
            refused["message"].as_str().unwrap().contains("get_submission_status"),
            "{refused}"
        );
        for (arguments, words) in [
            (json!({}), "argument execution_id is missing"),
            (
                json!({ "execution_id": "x".repeat(201) }),
                "argument execution_id must have 1 to 200 bytes",
            ),
            (
                json!({ "id": "e-1" }),
                "unknown argument \"id\"; the arguments are execution_id",
            ),
        ] {
            let reply = server.call(tool, &arguments);
            assert_error(&reply, -32602, None);
            assert!(reply["error"]["message"].as_str().unwrap().contains(words), "{reply}");
        }
    }
}

#[test]
fn a_wrong_submission_says_where_it_is_wrong_and_what_would_be_right() {
    let bench = Bench::new();
    let mut server = bench.start();
    let mut says = |name: &str, value: serde_json::Value, words: &[&str]| {
        let mut call = submission("k-1", &plain_issue(), &json!({}));
        let place = if name == "idempotency_key" || name == "namespace" {
            "_meta"
        } else {
            "arguments"
        };
        if value.is_null() {
            call[place].as_object_mut().unwrap().remove(name);
        } else {
            call[place][name] = value;
        }
        let reply = plain(&mut server, "tools/call", &call);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        for word in words {
            assert!(message.contains(word), "{word:?} is not in {message}");
        }
    };
    let text = "must be printable text of 1 to 200 bytes; nothing was written";
    says(
        "idempotency_key",
        json!(null),
        &["_meta.idempotency_key", "give each write a key of its own"],
    );
    says("idempotency_key", json!("a\nb"), &["_meta.idempotency_key", text]);
    says("namespace", json!("x".repeat(201)), &["namespace", text]);
    says(
        "title",
        json!("x".repeat(1_001)),
        &["argument title must have 1 to 1000 bytes"],
    );
    says(
        "body",
        json!("x".repeat(65_537)),
        &["argument body must be a string of 1 to 65536 bytes"],
    );
    says(
        "body",
        json!(null),
        &["argument body must be a string of 1 to 65536 bytes"],
    );
    says("gate", json!("here"), &["argument gate must be an absolute path"]);
    assert_eq!(bench.count("executions"), 0);
    // What is as long as it may be is taken.
    let longest = json!({ "title": "x".repeat(1_000), "body": "x".repeat(65_536) });
    submitted(&mut server, &"k".repeat(200), &longest);
}

#[test]
fn a_store_that_is_missing_or_foreign_is_refused_and_left_as_it_is() {
    for command in [WORK, REAP] {
        let bench = Bench::new();
        let place = bench.store().display().to_string();
        let launch = || bench.launch_of(command);
        let named = |words: &'static str| ["--database (GUARD_DATABASE)", place.as_str(), words];
        let missing = launch().without("GUARD_BACKEND").said();
        complains(&missing, 2, &named("there is no store; give the --database"));
        let nowhere = bench.path("none/store.sqlite3").display().to_string();
        complains(
            &launch().env("GUARD_DATABASE", &nowhere).said(),
            2,
            &[&nowhere, "make it first"],
        );
        assert!(!bench.store().exists());
        fs::write(bench.store(), "no database at all").unwrap();
        complains(&launch().said(), 2, &named("file is not a database; check the path"));
        assert_eq!(fs::read(bench.store()).unwrap(), b"no database at all");
        fs::remove_file(bench.store()).unwrap();
        Connection::open(bench.store())
            .unwrap()
            .execute_batch("CREATE TABLE theirs (x)")
            .unwrap();
        let before = bench.files();
        complains(
            &launch().said(),
            2,
            &named("not a store of this server; give another --database"),
        );
        assert_eq!(bench.files(), before);
    }
}

#[test]
fn a_reaper_that_finds_the_store_locked_says_so_and_reaps_when_it_is_run_again() {
    let bench = Bench::new();
    abandoned(&bench);
    let lock = bench.lock();
    let place = bench.store().display().to_string();
    let refused = bench.launch_of(REAP).env("GUARD_BUSY_TIMEOUT_MS", "1").said();
    complains(
        &refused,
        1,
        &[
            "--database (GUARD_DATABASE)",
            &place,
            "another writer holds the store",
            "reap again",
        ],
    );
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(bench.reap(), "1 leases expired, 0 retries made ready\n");
    bench.work_until_idle("B");
    assert_eq!(bench.log().last().unwrap(), "completed 2 B");
}

#[test]
fn a_store_that_another_process_keeps_to_itself_is_not_taken_for_a_wrong_path() {
    let bench = Bench::new();
    abandoned(&bench);
    let alone = bench.connection();
    alone
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        .unwrap();
    let place = bench.store().display().to_string();
    for command in [WORK, REAP, &["serve"]] {
        let refused = bench.launch_of(command).env("GUARD_BUSY_TIMEOUT_MS", "1").said();
        let words = "another process keeps the store locked; let it finish, or end it, and start again";
        complains(&refused, 2, &["--database (GUARD_DATABASE)", &place, words]);
    }
    alone.execute_batch("ROLLBACK").unwrap();
    drop(alone);
    bench.reap();
    bench.work_until_idle("B");
    assert_eq!(bench.log().last().unwrap(), "completed 2 B");
}

/// It ends by itself, since nobody else could do the work while it insists.
#[test]
fn a_worker_that_cannot_tell_how_it_ended_gives_up_and_the_work_is_done_again() {
    let bench = Bench::new();
    let id = submitted(&mut bench.start(), "k-1", &gated(&bench.path("gate")));
    let launch = bench.launch_of(&["work", "--worker-id", "A", "--poll-ms", "1"]);
    let worker = launch.env("GUARD_BUSY_TIMEOUT_MS", "1").start_heard();
    bench.wait_for_events("claimed", 1);
    let lock = bench.lock();
    bench.open_gate();
    let (status, complaint) = worker.ended_with_complaint();
    assert_eq!(status.code(), Some(1));
    let place = bench.store().display().to_string();
    let attempt = format!("the attempt at {id} (token 1)");
    for word in [
        place.as_str(),
        &attempt,
        "stayed locked by another writer",
        "start the worker again",
    ] {
        assert!(complaint.contains(word), "{word:?} is not in {complaint}");
    }
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!((bench.count("issues"), bench.log().len()), (0, 3));
    bench.set_clock(T0 + 30);
    bench.reap();
    bench.work_until_idle("B");
    assert_eq!(bench.log().last().unwrap(), "completed 2 B");
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn an_execution_whose_row_was_changed_is_named_and_held_by_nobody() {
    let last = i64::MAX;
    let changes = [
        (
            "arguments",
            "'[]'".to_owned(),
            "its arguments cannot be read".to_owned(),
        ),
        (
            "last_token",
            last.to_string(),
            format!("its token {last} is the last one"),
        ),
        (
            "attempts",
            last.to_string(),
            format!("its attempt {last} is the last one"),
        ),
    ];
    for (column, value, reason) in changes {
        let bench = Bench::new();
        let id = submitted(&mut bench.start(), "k-1", &plain_issue());
        let connection = bench.connection();
        let keep = format!("CREATE TEMP TABLE kept AS SELECT {column} AS value FROM executions");
        let change = format!("UPDATE executions SET {column} = {value}");
        connection.execute_batch(&format!("{keep}; {change}")).unwrap();
        let place = bench.store().display().to_string();
        complains(
            &bench.launch_of(WORK).said(),
            1,
            &[place.as_str(), &id, &reason, "start the worker again"],
        );
        let held = "executions WHERE state <> 'ready'";
        assert_eq!((bench.count("leases"), bench.count(held)), (0, 0), "{column}");
        assert_eq!(bench.log(), ["submitted", "ready"], "{column}");
        let mend = format!("UPDATE executions SET {column} = (SELECT value FROM kept)");
        connection.execute_batch(&mend).unwrap();
        bench.work_until_idle("B");
        assert_eq!(bench.count("issues"), 1, "{column}");
    }
}

#[test]
fn an_outside_effect_that_cannot_be_made_is_said_with_its_path_and_made_later() {
    let bench = Bench::new();
    submitted(&mut bench.start(), "k-1", &plain_issue());
    let path = bench.path("none/outside.jsonl").display().to_string();
    let said = bench.launch_of(WORK).env("GUARD_OUTSIDE", &path).said();
    complains(
        &said,
        1,
        &["--outside (GUARD_OUTSIDE)", &path, "start the worker again"],
    );
    assert_eq!(bench.count("issues"), 0);
    fs::create_dir(bench.path("none")).unwrap();
    bench.set_clock(T0 + 30);
    bench.reap();
    let said = bench.launch_of(WORK).env("GUARD_OUTSIDE", &path).said();
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    assert_eq!(bench.count("issues"), 1);
}

/// A full disk cuts a line short, also in the middle of a character.
#[test]
fn an_outside_effect_begins_behind_a_line_that_was_cut_short() {
    let bench = Bench::new();
    submitted(&mut bench.start(), "k-1", &plain_issue());
    let path = bench.path("outside.jsonl");
    let cut_short = b"{\"key\":\"another\",\"title\":\"\xc3";
    fs::write(&path, cut_short).unwrap();
    let said = bench
        .launch_of(WORK)
        .env("GUARD_OUTSIDE", path.to_str().unwrap())
        .said();
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let written = fs::read(&path).unwrap();
    let own = written.strip_prefix(cut_short.as_slice()).unwrap();
    let own = own.strip_prefix(b"\n").expect("a line of its own");
    let own: serde_json::Value = serde_json::from_slice(own).unwrap();
    assert_eq!(own["title"], plain_issue()["title"]);
    assert_eq!(bench.count("issues"), 1);
}

/// What one reaper has done, the other does not do again.
#[test]
fn two_reapers_expire_each_lease_and_promote_each_retry_once() {
    const EACH: i64 = 4;
    let bench = Bench::new();
    let mut server = bench.start();
    for number in 0..EACH {
        submitted(&mut server, &format!("held-{number}"), &gated(&bench.path("gate")));
    }
    let workers: Vec<Server> = ["A", "B", "C", "D"].map(|id| bench.worker(id)).into();
    bench.wait_for_events("claimed", EACH);
    workers.into_iter().for_each(Server::kill);
    let failing = json!({ "title": "Title", "body": "alpha", "fail": true });
    for number in 0..EACH {
        submit(&mut server, &format!("failing-{number}"), &failing);
    }
    bench.work_until_idle("E");
    bench.wait_for_events("retry_scheduled", EACH);
    let reapers = [bench.reaper(), bench.reaper()];
    bench.set_clock(T0 + 30);
    let ready = "SELECT count(*) FROM executions WHERE state = 'ready'";
    bench.wait_for(ready, 2 * EACH);
    for reaper in reapers {
        reaper.signal("TERM");
        assert_eq!(reaper.ended().code(), Some(0));
    }
    bench.wait_for_events("lease_expired", EACH);
    let reasons = "SELECT detail ->> '$.reason' FROM execution_events WHERE event = 'ready' AND detail ->> '$.reason' NOTNULL ORDER BY 1";
    assert_eq!(
        bench.column(reasons),
        ["lease_expired"; 4]
            .into_iter()
            .chain(["retry_due"; 4])
            .collect::<Vec<_>>()
    );
    bench.open_gate();
    bench.work_until_idle("F");
    assert_eq!((bench.count("issues"), bench.overlaps()), (EACH, 0));
}
