//! What the protocol asks for and the SDK leaves to its user: capabilities, eras, malformed requests.

use serde_json::{Value, json};

use crate::support::{Bench, Server, accept, assert_error, continuation, issue, structured};

/// Opens a session of an era with a handshake.
pub(crate) fn handshake(server: &mut Server, version: &str) -> Value {
    let params = json!({
        "protocolVersion": version,
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" }
    });
    let id = server.begin_as_is("initialize", &params);
    let reply = server.reply_to(id);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    reply
}

pub(crate) fn plain(server: &mut Server, method: &str, params: &Value) -> Value {
    let id = server.begin_as_is(method, params);
    server.reply_to(id)
}

#[test]
fn discovery_names_the_server_and_its_revisions() {
    let bench = Bench::new();
    let mut server = bench.start();
    let result = server.request("server/discover", &json!({}))["result"].clone();
    assert_eq!(
        result["supportedVersions"],
        json!(["2025-06-18", "2025-11-25", "2026-07-28"])
    );
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(
        *info,
        json!({ "name": "reference-server", "version": env!("CARGO_PKG_VERSION") })
    );
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    assert_eq!(result["capabilities"], json!({ "tools": {}, "extensions": tasks }));
}

#[test]
fn a_handshake_promises_no_extension() {
    let bench = Bench::new();
    for version in ["2025-11-25", "2025-06-18"] {
        let reply = handshake(&mut bench.start(), version);
        assert_eq!(reply["result"]["capabilities"], json!({ "tools": {} }), "{reply}");
    }
}

#[test]
fn the_tools_describe_themselves_honestly() {
    let bench = Bench::new();
    let mut server = bench.start();
    let listed = server.request("tools/list", &json!({}))["result"]["tools"].clone();
    let facts = |index: usize| {
        let tool = &listed[index];
        let hint = |name: &str| tool["annotations"][name].clone();
        let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].map(hint);
        (tool["name"].clone(), hints, tool["outputSchema"]["type"].clone())
    };
    let hints = |read_only: bool| [read_only, false, true, false].map(Value::from);
    assert_eq!(facts(0), (json!("create_issue"), hints(false), json!("object")));
    assert_eq!(facts(1), (json!("get_operation_status"), hints(true), json!("object")));
    assert_eq!(facts(2), (json!("submit_issue"), hints(false), json!("object")));
    assert_eq!(facts(3), (json!("get_execution"), hints(true), json!("object")));
    assert_eq!(facts(4), (json!("cancel_execution"), hints(false), json!("object")));
    assert_eq!(facts(5), (json!("get_submission_status"), hints(true), json!("object")));
    assert_eq!(listed.as_array().unwrap().len(), 6);
}

#[test]
fn a_client_that_shows_no_forms_is_not_asked() {
    let bench = Bench::new();
    let mut server = bench.start();
    let first = json!({ "name": "create_issue", "arguments": issue("op-1") });
    let state = server.first_round(&issue("op-1"));
    let second = continuation(&issue("op-1"), &state, &accept("alpha"));
    for capabilities in [
        json!({}),
        json!({ "sampling": {} }),
        json!({ "elicitation": { "url": {} } }),
    ] {
        for params in [&first, &second] {
            let id = server.begin("tools/call", params, &capabilities);
            let reply = server.reply_to(id);
            assert_error(&reply, -32021, None);
            let required = &reply["error"]["data"]["requiredCapabilities"];
            assert_eq!(*required, json!({ "elicitation": { "form": {} } }));
        }
    }
    assert_eq!(bench.count("issues") + bench.count("operations"), 0);
    for capabilities in [
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "form": {}, "url": {} } }),
    ] {
        let id = server.begin("tools/call", &first, &capabilities);
        assert_eq!(server.reply_to(id)["result"]["resultType"], "input_required");
    }
}

#[test]
fn an_older_era_reads_status_and_cannot_write() {
    for version in ["2025-11-25", "2025-06-18"] {
        let bench = Bench::new();
        let mut modern = bench.start();
        let state = modern.first_round(&issue("op-1"));
        modern.close();
        let mut server = bench.start();
        let opened = handshake(&mut server, version);
        assert_eq!(opened["result"]["protocolVersion"], version);
        assert_eq!(opened["result"]["serverInfo"]["name"], "reference-server");
        let first = json!({ "name": "create_issue", "arguments": issue("op-1") });
        let second = continuation(&issue("op-1"), &state, &accept("alpha"));
        for params in [first, second] {
            let refused = plain(&mut server, "tools/call", &params);
            assert_error(&refused, -32602, Some("continuation_unsupported"));
        }
        assert_eq!(bench.count("issues") + bench.count("operations"), 0);
        let ask = json!({ "name": "get_operation_status", "arguments": { "operation_id": "op-1" } });
        assert_eq!(structured(&plain(&mut server, "tools/call", &ask))["state"], "unknown");
        assert!(server.close().success());
    }
}

#[test]
fn an_era_before_the_supported_ones_is_offered_a_supported_one() {
    let bench = Bench::new();
    let opened = handshake(&mut bench.start(), "2024-11-05");
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn malformed_parameters_of_a_known_method_are_invalid_params() {
    let bench = Bench::new();
    let mut server = bench.start();
    for params in [
        json!({ "name": "create_issue", "arguments": "x" }),
        json!({ "name": "create_issue", "arguments": issue("op-1"), "requestState": 123 }),
        json!({ "name": "create_issue", "arguments": issue("op-1"), "inputResponses": [] }),
        json!({ "arguments": {} }),
        json!({ "name": 7 }),
    ] {
        assert_error(&server.request("tools/call", &params), -32602, None);
    }
    assert_error(
        &server.request("tools/list", &json!({ "cursor": "page-2" })),
        -32602,
        None,
    );
    assert_error(&server.request("tools/caII", &json!({})), -32601, None);
    assert_error(&server.request("prompts/get", &json!({ "name": 7 })), -32601, None);
}

#[test]
fn wrong_arguments_are_named() {
    let bench = Bench::new();
    let mut server = bench.start();
    let rows = [
        ("create_issue", json!({ "title": "t" }), "operation_id"),
        ("create_issue", json!({ "operation_id": "op-1" }), "title"),
        (
            "create_issue",
            json!({ "operation_id": "", "title": "t" }),
            "operation_id",
        ),
        (
            "create_issue",
            json!({ "operation_id": "a\u{0}b", "title": "t" }),
            "operation_id",
        ),
        (
            "create_issue",
            json!({ "operation_id": "x".repeat(201), "title": "t" }),
            "operation_id",
        ),
        ("create_issue", json!({ "operation_id": "op-1", "title": 7 }), "title"),
        (
            "create_issue",
            json!({ "operation_id": "op-1", "title": "t", "mode": "maybe" }),
            "mode",
        ),
        (
            "create_issue",
            json!({ "operation_id": "op-1", "title": "t", "principal": "bob" }),
            "principal",
        ),
        ("get_operation_status", json!({}), "operation_id"),
        (
            "get_operation_status",
            json!({ "operation_id": "op-1", "title": "t" }),
            "title",
        ),
        ("delete_issue", json!({}), "delete_issue"),
    ];
    for (tool, arguments, named) in rows {
        let reply = server.call(tool, &arguments);
        assert_error(&reply, -32602, None);
        assert!(reply["error"]["message"].as_str().unwrap().contains(named), "{reply}");
    }
    assert_eq!(bench.count("operations"), 0);
}
