//! The frames that we send, as values, and the check that each passes before it is sent: a mistake of ours must never
//! count against a server.

use serde_json::{Map, Value, json};

use super::REVISION_MODERN;
use super::elicitation::Offer;
use super::handshake::Era;
use super::revision::Revision;

/// The keys that every modern request carries in `_meta` (MCP 2026-07-28, stateless protocol).
const META_KEYS: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];

fn client_info() -> Value {
    json!({"name": "harness", "version": env!("CARGO_PKG_VERSION")})
}

fn request(era: Era, id: u64, method: &str, mut params: Map<String, Value>) -> Value {
    if era == Era::Modern {
        // Forms always: a question without an answer stops the case with the key that it has in `[write] responses`.
        let [version, info, capabilities] = META_KEYS;
        let meta = json!({version: REVISION_MODERN, info: client_info(), capabilities: Offer::Forms.capabilities()});
        params.insert("_meta".to_owned(), meta);
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// `server/discover`, the probe that tells the eras apart.
pub fn discover(id: u64) -> Value {
    request(Era::Modern, id, "server/discover", Map::new())
}

/// `initialize`, the legacy handshake, which asks for a revision.
pub fn initialize(id: u64, revision: Revision, offer: Offer) -> Value {
    let mut params = Map::new();
    params.insert("protocolVersion".to_owned(), revision.name().into());
    params.insert("capabilities".to_owned(), offer.capabilities());
    params.insert("clientInfo".to_owned(), client_info());
    request(Era::Legacy, id, "initialize", params)
}

/// `notifications/initialized`, which ends the legacy handshake.
pub fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// `tools/list`, its first page.
pub fn list_tools(era: Era, id: u64) -> Value {
    request(era, id, "tools/list", Map::new())
}

/// `tools/call`.
pub fn call_tool(era: Era, id: u64, tool: &str, arguments: &Map<String, Value>) -> Value {
    let mut params = Map::new();
    params.insert("name".to_owned(), tool.into());
    params.insert("arguments".to_owned(), arguments.clone().into());
    request(era, id, "tools/call", params)
}

/// The same request with more members in `params`, and in its `_meta`.
pub fn with_members(mut request: Value, meta: &Map<String, Value>, params: &Map<String, Value>) -> Value {
    for (key, value) in params {
        request["params"][key] = value.clone();
    }
    for (key, value) in meta {
        request["params"]["_meta"][key] = value.clone();
    }
    request
}

/// The same request from a client that declares no capability (modern era).
pub fn without_capabilities(mut request: Value) -> Value {
    if let Some(declared) = request
        .pointer_mut("/params/_meta")
        .and_then(|meta| meta.get_mut(META_KEYS[2]))
    {
        *declared = json!({});
    }
    request
}

/// The methods among these questions whose capability the request does not declare (modern era): MCP 2026-07-28, a server
/// asks only for what the client can do.
pub fn undeclared(request: &Value, questions: &Map<String, Value>) -> Vec<String> {
    let declared = request.pointer("/params/_meta").and_then(|meta| meta.get(META_KEYS[2]));
    let is_declared = |method: &str| {
        // `elicitation/create` needs `elicitation`, `roots/list` needs `roots`.
        let capability = method.split('/').next().unwrap_or(method);
        declared.is_some_and(|declared| declared.get(capability).is_some())
    };
    let methods = questions.values().filter_map(|question| question["method"].as_str());
    let mut undeclared: Vec<String> = methods
        .filter(|method| !is_declared(method))
        .map(str::to_owned)
        .collect();
    undeclared.sort();
    undeclared.dedup();
    undeclared
}

/// The continuation of a call: the same call with the answers and the state that came with the questions.
pub fn continue_call(call: &Value, id: u64, responses: &Map<String, Value>, state: Option<&Value>) -> Value {
    let mut again = call.clone();
    again["id"] = id.into();
    again["params"]["inputResponses"] = responses.clone().into();
    if let Some(state) = state {
        again["params"]["requestState"] = state.clone();
    }
    again
}

/// Checks a frame of ours: what JSON-RPC 2.0 and the era ask of it.
pub fn check_outgoing(era: Era, frame: &Value) -> Result<(), String> {
    if frame.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("it has no `jsonrpc: \"2.0\"`".to_owned());
    }
    let Some(method) = frame.get("method").and_then(Value::as_str) else {
        let is_answer = frame.get("id").is_some() && (frame.get("result").is_some() != frame.get("error").is_some());
        return if is_answer {
            Ok(())
        } else {
            Err("it is neither request nor answer".to_owned())
        };
    };
    if frame.get("params").is_some_and(|params| !params.is_object()) {
        return Err(format!("the params of {method} are no object"));
    }
    if frame.get("id").is_none() {
        return Ok(());
    }
    if !frame["id"].is_u64() {
        return Err(format!("the id of {method} is no whole number"));
    }
    let meta = frame.pointer("/params/_meta");
    let missing = META_KEYS
        .iter()
        .find(|key| meta.and_then(|meta| meta.get(**key)).is_none());
    match missing {
        Some(key) if era == Era::Modern => Err(format!("{method} lacks `_meta` key {key}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_we_build_passes_our_own_check() {
        let arguments = Map::new();
        for era in [Era::Modern, Era::Legacy] {
            let call = call_tool(era, 3, "write", &arguments);
            let continuation = continue_call(&call, 4, &Map::new(), Some(&json!("sealed")));
            for frame in [call, continuation, initialized()] {
                assert_eq!(check_outgoing(era, &frame), Ok(()), "{frame}");
            }
        }
        assert_eq!(check_outgoing(Era::Modern, &discover(1)), Ok(()));
        let legacy = Revision::ALL
            .into_iter()
            .filter(|revision| revision.era() == Era::Legacy);
        for revision in legacy {
            let frame = initialize(1, revision, Offer::Forms);
            assert_eq!(check_outgoing(Era::Legacy, &frame), Ok(()));
            assert_eq!(frame["params"]["protocolVersion"], revision.name());
        }
    }

    #[test]
    fn a_frame_without_what_the_era_asks_is_refused() {
        let mut frame = discover(1);
        frame["params"]["_meta"]
            .as_object_mut()
            .expect("an object")
            .remove(META_KEYS[1]);
        assert!(check_outgoing(Era::Modern, &frame).is_err());
        assert!(check_outgoing(Era::Legacy, &json!({"id": 1, "method": "x"})).is_err());
        assert!(check_outgoing(Era::Legacy, &json!({"jsonrpc": "2.0", "id": 1.5, "method": "x"})).is_err());
        assert!(check_outgoing(Era::Legacy, &json!({"jsonrpc": "2.0", "id": 1})).is_err());
    }

    #[test]
    fn a_continuation_is_the_same_call_with_a_new_id() {
        let call = call_tool(Era::Modern, 3, "write", &Map::new());
        let mut continuation = continue_call(&call, 4, &Map::new(), None);
        assert_eq!(continuation["id"], 4);
        continuation["id"] = 3.into();
        continuation["params"]
            .as_object_mut()
            .expect("an object")
            .shift_remove("inputResponses");
        assert_eq!(continuation, call);
    }

    #[test]
    fn members_are_added_beside_those_of_the_protocol() {
        let member = Map::from_iter([("key".to_owned(), json!("op-1"))]);
        for era in [Era::Modern, Era::Legacy] {
            let request = with_members(call_tool(era, 3, "write", &Map::new()), &member, &member);
            assert_eq!(check_outgoing(era, &request), Ok(()));
            assert_eq!(request["params"]["_meta"]["key"], "op-1");
            assert_eq!(request["params"]["key"], "op-1");
        }
    }
}
