//! Submissions: on disk before they are answered, once for each key, and told to nobody else.

use serde_json::{Value, json};

use super::support::{execution, gated, plain_issue, submission, submit, submitted};
use crate::eras::{handshake, plain};
use crate::support::{Bench, T0, assert_error, structured};

#[test]
fn a_submission_is_there_before_anything_is_done_about_it() {
    let bench = Bench::new();
    let mut server = bench.start();
    let reply = submit(&mut server, "k-1", &plain_issue());
    server.kill();
    assert_eq!(bench.log(), ["submitted", "ready"]);
    assert_eq!((bench.count("executions"), bench.count("issues")), (1, 0));
    let told = structured(&reply);
    assert_eq!((&told["state"], &told["replayed"]), (&json!("ready"), &json!(false)));
    let mut server = bench.start();
    bench.work_until_idle("A");
    assert_eq!(bench.log(), ["submitted", "ready", "claimed 1 A", "completed 1 A"]);
    let told = execution(&mut server, told["execution_id"].as_str().unwrap());
    assert_eq!(
        (&told["state"], &told["result"]["issue_id"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!(bench.count("issues"), 1);
}

#[test]
fn a_repeat_is_the_same_execution_before_during_and_after() {
    let bench = Bench::new();
    let gate = bench.path("gate");
    let mut server = bench.start();
    let mut told = Vec::new();
    let mut again = || {
        let reply = submit(&mut server, "k-1", &gated(&gate));
        let result = structured(&reply);
        told.push(result.clone());
        result
    };
    assert_eq!(again()["replayed"], false);
    assert_eq!(again()["state"], "ready");
    let worker = bench.worker("A");
    bench.wait_for_events("claimed", 1);
    assert_eq!(again()["state"], "running");
    bench.open_gate();
    bench.wait_for_events("completed", 1);
    assert_eq!(again()["state"], "completed");
    assert_eq!(again()["replayed"], true);
    drop(worker);
    assert_eq!(told[3], told[4]);
    assert!(told.iter().all(|one| one["execution_id"] == told[0]["execution_id"]));
    assert_eq!((bench.count("executions"), bench.count("issues")), (1, 1));
    bench.wait_for_events("duplicate_detected", 4);
}

#[test]
fn equal_arguments_are_equal_however_they_are_written() {
    let bench = Bench::new();
    let mut server = bench.start();
    let first = submitted(&mut server, "k-1", &plain_issue());
    let spelled = json!({ "fail": false, "body": "alpha", "title": "Title" });
    assert_eq!(submitted(&mut server, "k-1", &spelled), first);
    let mut other = submission("k-1", &plain_issue(), &json!({}));
    other["_meta"]["namespace"] = json!("elsewhere");
    assert_ne!(
        structured(&plain(&mut server, "tools/call", &other))["execution_id"],
        first.as_str()
    );
}

#[test]
fn other_arguments_and_other_principals_conflict_and_learn_nothing() {
    let bench = Bench::new();
    let mut server = bench.start();
    let id = submitted(&mut server, "k-1", &plain_issue());
    bench.work_until_idle("A");
    let changed = submit(&mut server, "k-1", &json!({ "title": "Title", "body": "beta" }));
    let mut bob = bench.start_with("GUARD_PRINCIPAL", "bob");
    for reply in [changed, submit(&mut bob, "k-1", &plain_issue())] {
        let refusal = structured(&reply);
        assert_eq!(
            (&reply["result"]["isError"], &refusal["reason"]),
            (&json!(true), &json!("idempotency_conflict"))
        );
        let names: Vec<&String> = refusal.as_object().unwrap().keys().collect();
        assert_eq!(names, ["idempotency_key", "reason", "message"]);
    }
    for tool in ["get_execution", "cancel_execution"] {
        for (server, asked) in [(&mut bob, id.as_str()), (&mut server, "nothing")] {
            let reply = server.call(tool, &json!({ "execution_id": asked }));
            assert_eq!(structured(&reply)["reason"], "execution_unknown");
        }
    }
    assert_eq!((bench.count("executions"), bench.count("issues")), (1, 1));
}

#[test]
fn without_a_key_or_with_a_wrong_one_nothing_is_written() {
    let bench = Bench::new();
    let mut server = bench.start();
    let rows = [
        ("idempotency_key", json!(null), "idempotency_key_invalid"),
        ("idempotency_key", json!(7), "idempotency_key_invalid"),
        ("idempotency_key", json!(""), "idempotency_key_invalid"),
        ("idempotency_key", json!("a\nb"), "idempotency_key_invalid"),
        ("idempotency_key", json!("x".repeat(201)), "idempotency_key_invalid"),
        ("namespace", json!(7), "idempotency_key_invalid"),
    ];
    for (name, value, reason) in rows {
        let mut call = submission("k-1", &plain_issue(), &json!({}));
        call["_meta"][name] = value;
        assert_error(&plain(&mut server, "tools/call", &call), -32602, Some(reason));
    }
    let without = server.call("submit_issue", &plain_issue());
    assert_error(&without, -32602, Some("idempotency_key_missing"));
    for arguments in [
        json!({ "title": "Title" }),
        json!({ "title": "Title", "body": "x".repeat(65_537) }),
        json!({ "title": "x".repeat(1_001), "body": "alpha" }),
        json!({ "title": "Title", "body": "alpha", "fail": "yes" }),
        json!({ "title": "Title", "body": "alpha", "gate": "here" }),
        json!({ "title": "Title", "body": "alpha", "priority": 1 }),
    ] {
        assert_error(&submit(&mut server, "k-1", &arguments), -32602, None);
    }
    assert_eq!(bench.count("executions"), 0);
}

#[test]
fn the_older_eras_submit_look_and_cancel_too() {
    for version in ["2025-11-25", "2025-06-18"] {
        let bench = Bench::new();
        let mut server = bench.start();
        handshake(&mut server, version);
        let call = json!({
            "name": "submit_issue", "arguments": plain_issue(), "_meta": { "idempotency_key": "k-1" }
        });
        let told = structured(&plain(&mut server, "tools/call", &call));
        let mut look = |tool: &str| {
            let call = json!({ "name": tool, "arguments": { "execution_id": told["execution_id"] } });
            structured(&plain(&mut server, "tools/call", &call))["state"].clone()
        };
        assert_eq!(look("get_execution"), "ready");
        assert_eq!(look("cancel_execution"), "cancelled");
        bench.work_until_idle("A");
        assert_eq!(look("get_execution"), "cancelled");
        assert_eq!(bench.log(), ["submitted", "ready", "cancelled"]);
    }
}

#[test]
fn a_result_is_replayed_until_its_retention_ends_and_the_key_stays_taken() {
    let bench = Bench::new();
    let mut server = bench.start();
    submitted(&mut server, "k-1", &plain_issue());
    bench.work_until_idle("A");
    bench.set_clock(T0 + 359);
    assert_eq!(
        structured(&submit(&mut server, "k-1", &plain_issue()))["replayed"],
        true
    );
    bench.set_clock(T0 + 360);
    let refused = structured(&submit(&mut server, "k-1", &plain_issue()));
    assert_eq!(refused["reason"], "execution_retention_expired");
    assert_eq!(bench.count("executions"), 1);
}

#[test]
fn a_locked_store_is_an_honest_refusal() {
    let bench = Bench::new();
    let mut server = bench.start_with("GUARD_BUSY_TIMEOUT_MS", "1");
    // When it has answered, it is done with opening the store.
    execution_unknown(&mut server);
    let lock = bench.lock();
    let refused = structured(&submit(&mut server, "k-1", &plain_issue()));
    assert_eq!(refused["reason"], "ledger_busy");
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    assert_eq!(bench.count("executions"), 0);
    submitted(&mut server, "k-1", &plain_issue());
}

#[test]
fn a_single_process_can_do_it_all() {
    let bench = Bench::new();
    let mut server = bench
        .launch()
        .flag("--workers", "2")
        .flag("--poll-ms", "2")
        .flag("--backoff", "7")
        .start();
    let id = submitted(&mut server, "k-1", &plain_issue());
    submitted(
        &mut server,
        "k-2",
        &json!({ "title": "Title", "body": "beta", "fail": true }),
    );
    bench.wait_for_events("completed", 1);
    assert_eq!(execution(&mut server, &id)["state"], "completed");
    for at_s in [7, 21] {
        bench.wait_for_events("retry_scheduled", if at_s == 7 { 1 } else { 2 });
        bench.set_clock(T0 + at_s);
    }
    bench.wait_for("SELECT count(*) FROM executions WHERE state = 'failed'", 1);
    assert_eq!(server.close().code(), Some(0));
    assert_eq!(bench.count("issues"), 1);
}

/// A client of the modern era that declared the extension.
fn takes_tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

#[test]
fn a_client_that_takes_tasks_gets_one_which_outlives_the_server() {
    let bench = Bench::new();
    let mut server = bench.start();
    let call = submission("k-1", &plain_issue(), &takes_tasks());
    let created = plain(&mut server, "tools/call", &call)["result"].clone();
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working"))
    );
    assert_eq!(created["createdAt"], "2026-09-22T00:00:00Z");
    server.kill();
    let mut server = bench.start();
    let task = json!({ "taskId": created["taskId"] });
    let mut ask = |method: &str, task: &Value| {
        let id = server.begin(method, task, &takes_tasks());
        server.reply_to(id)
    };
    assert_eq!(ask("tasks/get", &task)["result"]["status"], "working");
    bench.work_until_idle("A");
    let ended = ask("tasks/get", &task)["result"].clone();
    assert_eq!(
        (&ended["resultType"], &ended["status"]),
        (&json!("complete"), &json!("completed"))
    );
    assert_eq!(ended["result"]["structuredContent"]["result"]["issue_id"], 1);
    assert_eq!(ended["result"]["isError"], false);
    // What has ended stays as it ended; what was never there is said to be wrong.
    assert_eq!(ask("tasks/cancel", &task)["result"]["resultType"], "complete");
    assert_eq!(ask("tasks/get", &task)["result"]["status"], "completed");
    assert_error(&ask("tasks/get", &json!({ "taskId": "nothing" })), -32602, None);
    assert_error(&ask("tasks/get", &json!({ "taskId": 7 })), -32602, None);
    // The same key, as a task and as a plain call, is the same execution.
    assert_eq!(
        ask("tools/call", &json!({ "name": "nothing" }))["error"]["code"],
        -32602
    );
    let again = plain(&mut server, "tools/call", &call)["result"].clone();
    assert_eq!(
        (&again["taskId"], &again["status"]),
        (&created["taskId"], &json!("completed"))
    );
    let id = submitted(&mut server, "k-1", &plain_issue());
    assert_eq!(created["taskId"], id.as_str());
}

#[test]
fn a_task_can_be_cancelled_and_a_failed_one_ends_with_an_error_of_the_tool() {
    let bench = Bench::new();
    let mut server = bench.start();
    let mut task = |key: &str, arguments: &Value| {
        let call = submission(key, arguments, &takes_tasks());
        let created = plain(&mut server, "tools/call", &call)["result"].clone();
        json!({ "taskId": created["taskId"] })
    };
    let cancelled = task("k-1", &plain_issue());
    let failed = task("k-2", &json!({ "title": "Title", "body": "alpha", "fail": true }));
    let mut ask = |method: &str, task: &Value| {
        let id = server.begin(method, task, &takes_tasks());
        server.reply_to(id)["result"].clone()
    };
    ask("tasks/cancel", &cancelled);
    assert_eq!(ask("tasks/get", &cancelled)["status"], "cancelled");
    bench.operator(&["work", "--worker-id", "A", "--until-idle", "--attempts", "1"]);
    let ended = ask("tasks/get", &failed);
    assert_eq!(
        (&ended["status"], &ended["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(bench.count("issues"), 0);
}

#[test]
fn the_older_eras_have_no_tasks_even_if_they_declare_them() {
    let bench = Bench::new();
    let mut server = bench.start();
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": takes_tasks(),
        "clientInfo": { "name": "test", "version": "1" }
    });
    plain(&mut server, "initialize", &params);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let call = json!({ "name": "submit_issue", "arguments": plain_issue(), "_meta": { "idempotency_key": "k-1" } });
    let told = structured(&plain(&mut server, "tools/call", &call));
    let task = json!({ "taskId": told["execution_id"] });
    for method in ["tasks/get", "tasks/cancel"] {
        assert_error(&plain(&mut server, method, &task), -32601, None);
    }
    assert_eq!(bench.log(), ["submitted", "ready"]);
    // A modern client that declared nothing is told what it would have to declare.
    let mut modern = bench.start();
    let reply = modern.request("tasks/get", &task);
    assert_error(&reply, -32021, None);
}

fn execution_unknown(server: &mut crate::support::Server) {
    assert_eq!(execution(server, "nothing")["reason"], "execution_unknown");
}
