//! Requests and replies of MCP, as far as a server with two tools needs them. Pure: nothing is read or written here.

use serde_json::{Value, json};

use crate::store::Order;

/// JSON-RPC: this is no request that can be answered now.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: the method is not known.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;

const REVISION_MODERN: &str = "2026-07-28";
/// Those with a handshake, the newest first.
pub(crate) const REVISIONS_LEGACY: &str = "2025-11-25,2025-06-18,2025-03-26,2024-11-05";
/// The first one whose results may be structured.
const REVISION_STRUCTURED: &str = "2025-06-18";
/// The key of an order in `_meta`.
const META_KEY: &str = "example.com/key";

const REVISION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// A request that wants an answer.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    /// Whether it carries the modern revision in its `_meta`.
    pub(crate) is_modern: bool,
    params: Value,
}

/// A call of one of the two tools, its arguments checked.
#[derive(Debug)]
pub(crate) enum Call {
    /// `create_order(note, qty, key?)`: writes.
    CreateOrder(Order),
    /// `get_order_status(key)`: reads.
    GetOrderStatus { key: String },
}

impl Request {
    /// Reads a frame; nothing when it is a notification or an answer.
    pub(crate) fn of(frame: &Value) -> Option<Self> {
        let params = frame.get("params").cloned().unwrap_or(Value::Null);
        let revision = params.get("_meta").and_then(|meta| meta.get(REVISION_KEY));
        Some(Self {
            id: frame.get("id")?.clone(),
            method: frame.get("method")?.as_str()?.to_owned(),
            is_modern: revision == Some(&json!(REVISION_MODERN)),
            params,
        })
    }

    /// What a client of the legacy era declares in its handshake.
    pub(crate) fn capabilities(&self) -> &Value {
        &self.params["capabilities"]
    }

    /// The revision that a client of the legacy era asks for, or instead of one that is not among `spoken` the first of them.
    pub(crate) fn revision(&self, spoken: &[String]) -> String {
        let wanted = spoken
            .iter()
            .find(|revision| self.params["protocolVersion"] == **revision);
        wanted.or(spoken.first()).cloned().unwrap_or_default()
    }

    /// The tool call that it is, or what is wrong with it.
    pub(crate) fn call(&self) -> Result<Call, String> {
        let arguments = &self.params["arguments"];
        let text = |name: &str| arguments[name].as_str().map(str::to_owned);
        match self.params["name"].as_str() {
            Some("create_order") => Ok(Call::CreateOrder(Order {
                note: text("note").ok_or("`note` is missing, or no text")?,
                qty: arguments["qty"]
                    .as_i64()
                    .ok_or("`qty` is missing, or no whole number")?,
                key: text("key").or_else(|| self.key_beside_the_arguments()),
            })),
            Some("get_order_status") => Ok(Call::GetOrderStatus {
                key: text("key").ok_or("`key` is missing, or no text")?,
            }),
            Some(other) => Err(format!("unknown tool {other}")),
            None => Err("`name` is missing".to_owned()),
        }
    }

    /// Some servers take the key in `_meta`, or beside the arguments, so that no model has to make one up.
    fn key_beside_the_arguments(&self) -> Option<String> {
        let in_meta = self.params["_meta"].get(META_KEY);
        let found = in_meta.or_else(|| self.params.get("idempotencyKey"))?;
        found.as_str().map(str::to_owned)
    }

    /// Whether it is a call of the tool that writes.
    pub(crate) fn is_write(&self) -> bool {
        self.params["name"] == "create_order"
    }
}

/// A reply with a result.
pub(crate) fn result(request: &Request, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.id, "result": result})
}

/// A reply that refuses the request itself.
pub(crate) fn error(request: &Request, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": request.id, "error": {"code": code, "message": message}})
}

/// The answer to `server/discover`, by which a modern client learns what is spoken.
pub(crate) fn discovered(request: &Request, name: &str) -> Value {
    let info = json!({"name": name, "version": env!("CARGO_PKG_VERSION")});
    result(
        request,
        &json!({
            "resultType": "complete", "supportedVersions": [REVISION_MODERN], "capabilities": {"tools": {}},
            "_meta": {SERVER_INFO_KEY: info},
        }),
    )
}

/// The answer to `initialize`, the handshake of the legacy era.
pub(crate) fn initialized(request: &Request, name: &str, revision: &str) -> Value {
    let info = json!({"name": name, "version": env!("CARGO_PKG_VERSION")});
    result(
        request,
        &json!({"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info}),
    )
}

/// The answer to `tools/list`.
pub(crate) fn tools(request: &Request) -> Value {
    let text = json!({"type": "string"});
    let create = json!({
        "name": "create_order", "description": "Writes an order. A repeat with the same key writes nothing more.",
        "inputSchema": {
            "type": "object", "required": ["note", "qty"],
            "properties": {"note": text, "qty": {"type": "integer"}, "key": text},
        },
    });
    let status = json!({
        "name": "get_order_status", "description": "Says what became of the order with this key.",
        "inputSchema": {"type": "object", "required": ["key"], "properties": {"key": text}},
        "annotations": {"readOnlyHint": true},
    });
    result(request, &json!({"resultType": "complete", "tools": [create, status]}))
}

/// The result of a tool, as structured content and as text.
pub(crate) fn tool_result(request: &Request, content: &Value) -> Value {
    let text = json!([{"type": "text", "text": content.to_string()}]);
    result(
        request,
        &json!({"resultType": "complete", "content": text, "structuredContent": content, "isError": false}),
    )
}

/// The reply in a revision of the legacy era: what came later is not in it. Revisions are dates, so they compare as texts.
pub(crate) fn in_revision(mut reply: Value, revision: &str) -> Value {
    if let Some(result) = reply.get_mut("result").and_then(Value::as_object_mut) {
        result.remove("resultType");
        if revision < REVISION_STRUCTURED {
            result.remove("structuredContent");
        }
    }
    reply
}

/// What a tool says no to, with a reason that a program can read.
pub(crate) fn tool_error(request: &Request, reason: &str, message: &str) -> Value {
    let text = json!([{"type": "text", "text": message}]);
    result(
        request,
        &json!({"resultType": "complete", "content": text, "structuredContent": {"reason": reason}, "isError": true}),
    )
}
