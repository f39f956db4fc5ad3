//! What the answer to a probe says about the era that a server speaks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::REVISION_MODERN;

/// Errors by which a server that speaks the modern era refuses a probe (header mismatch, missing capability,
/// unsupported version): MCP 2026-07-28, error codes.
const MODERN_ERRORS: std::ops::RangeInclusive<i64> = -32022..=-32020;

/// Where a server says who it is in a `DiscoverResult`.
const SERVER_INFO_META: &str = "io.modelcontextprotocol/serverInfo";

/// How a server wants to be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// Revision 2026-07-28.
    Modern,
    /// 2025-11-25 and older.
    Legacy,
}

/// Who a server says it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerIdentity {
    /// `serverInfo.name`.
    pub name: Option<String>,
    /// `serverInfo.version`.
    pub version: Option<String>,
}

/// What the answer to `server/discover` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// It speaks the modern era.
    Modern(ServerIdentity),
    /// It does not know the request: try `initialize`.
    Legacy,
    /// It speaks only revisions that this harness does not know.
    TooNew(Vec<String>),
}

/// Reads the answer to `server/discover`.
pub fn read_probe(reply: &Value) -> Probed {
    if let Some(code) = reply.pointer("/error/code").and_then(Value::as_i64) {
        let supported = versions(reply.pointer("/error/data/supported"));
        return match supported {
            _ if !MODERN_ERRORS.contains(&code) => Probed::Legacy,
            versions if versions.is_empty() || knows(&versions) => Probed::Modern(ServerIdentity::default()),
            versions => newer_or_legacy(versions),
        };
    }
    let supported = versions(reply.pointer("/result/supportedVersions"));
    if supported.is_empty() {
        return Probed::Legacy;
    }
    if !knows(&supported) {
        return newer_or_legacy(supported);
    }
    let meta = reply
        .pointer("/result/_meta")
        .and_then(|meta| meta.get(SERVER_INFO_META));
    Probed::Modern(identity(meta.or_else(|| reply.pointer("/result/serverInfo"))))
}

/// Reads the answer to `initialize`: the revision that the server chose, and who it is.
pub fn read_initialize(reply: &Value) -> Option<(String, ServerIdentity)> {
    let result = reply.get("result")?;
    let revision = result.get("protocolVersion")?.as_str()?;
    Some((revision.to_owned(), identity(result.get("serverInfo"))))
}

fn knows(versions: &[String]) -> bool {
    versions.iter().any(|version| version == REVISION_MODERN)
}

/// Revisions are dates, so they compare as texts.
fn newer_or_legacy(versions: Vec<String>) -> Probed {
    if versions.iter().all(|version| version.as_str() > REVISION_MODERN) {
        Probed::TooNew(versions)
    } else {
        Probed::Legacy
    }
}

fn versions(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn identity(info: Option<&Value>) -> ServerIdentity {
    let text = |name: &str| info.and_then(|info| info.get(name)?.as_str().map(str::to_owned));
    ServerIdentity {
        name: text("name"),
        version: text("version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_probe_tells_the_era() {
        let nobody = ServerIdentity::default;
        let table = [
            (
                json!({"result": {"supportedVersions": ["2025-11-25", "2026-07-28"]}}),
                Probed::Modern(nobody()),
            ),
            (json!({"result": {"supportedVersions": ["2025-11-25"]}}), Probed::Legacy),
            (
                json!({"result": {"supportedVersions": ["2027-01-01"]}}),
                Probed::TooNew(vec!["2027-01-01".into()]),
            ),
            (json!({"result": {}}), Probed::Legacy),
            (json!({"error": {"code": -32022}}), Probed::Modern(nobody())),
            (
                json!({"error": {"code": -32022, "data": {"supported": ["2027-01-01"]}}}),
                Probed::TooNew(vec!["2027-01-01".into()]),
            ),
            (json!({"error": {"code": -32020}}), Probed::Modern(nobody())),
            (json!({"error": {"code": -32601}}), Probed::Legacy),
            (json!({"error": {"code": -32602}}), Probed::Legacy),
            (json!({"error": "odd"}), Probed::Legacy),
        ];
        for (reply, probed) in table {
            assert_eq!(read_probe(&reply), probed, "{reply}");
        }
    }

    #[test]
    fn the_server_names_itself_in_meta_or_beside_it() {
        let named = Probed::Modern(ServerIdentity {
            name: Some("x".to_owned()),
            version: Some("1".to_owned()),
        });
        let info = json!({"name": "x", "version": "1"});
        let versions = json!(["2026-07-28"]);
        let in_meta = json!({"result": {"supportedVersions": versions, "_meta": {SERVER_INFO_META: info}}});
        let beside = json!({"result": {"supportedVersions": versions, "serverInfo": info}});
        assert_eq!(read_probe(&in_meta), named);
        assert_eq!(read_probe(&beside), named);
    }
}
