//! What the answer to a probe says about the era that a server speaks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::REVISION_MODERN;
use super::instead::{SAID_CHARS_MAX, shortened};
use super::revision::Protocol;

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

/// Reads the answer to `initialize`: the revision that the server chose, and who it is; or why it is not taken.
///
/// A server may choose another revision than it was asked for (MCP, lifecycle, version negotiation). That is no mistake, and
/// not what a user wants who named one.
pub fn read_initialize(reply: &Value, wanted: Protocol) -> Result<(String, ServerIdentity), String> {
    let version = reply.pointer("/result/protocolVersion").and_then(Value::as_str);
    let Some(version) = version else {
        let said = error_of(reply).unwrap_or_else(|| "without a protocol version".to_owned());
        return Err(match wanted.revision() {
            Some(revision) => format!("it was asked for {}, and answered `initialize` {said}", revision.name()),
            None => format!("it answered `initialize` {said}"),
        });
    };
    match wanted.revision() {
        Some(revision) if revision.name() != version => Err(format!(
            "it was asked for {} and speaks {}",
            revision.name(),
            shortened(version, SAID_CHARS_MAX)
        )),
        Some(_) | None => Ok((version.to_owned(), identity(reply.pointer("/result/serverInfo")))),
    }
}

/// What a server of the legacy era said to `server/discover`, in words that follow "it answered".
pub(crate) fn said_to_discover(reply: &Value) -> String {
    let named = versions(reply.pointer("/result/supportedVersions"));
    error_of(reply).unwrap_or_else(|| match named.as_slice() {
        [] => "without the revisions that it speaks".to_owned(),
        named => format!("that it speaks {}", shortened(&named.join(", "), SAID_CHARS_MAX)),
    })
}

fn error_of(reply: &Value) -> Option<String> {
    let text = reply.pointer("/error/message")?.as_str()?;
    Some(format!("with an error: {}", shortened(text, SAID_CHARS_MAX)))
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
    use crate::protocol::Revision;
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

    #[test]
    fn an_answer_to_initialize_is_taken_unless_another_revision_is_wanted() {
        let answer = |version: &str| json!({"result": {"protocolVersion": version}});
        let older = Protocol::Only(Revision::V2025_06_18);
        let taken = |version: &str| Ok((version.to_owned(), ServerIdentity::default()));
        assert_eq!(read_initialize(&answer("2025-06-18"), older), taken("2025-06-18"));
        assert_eq!(
            read_initialize(&answer("2025-11-25"), older),
            Err("it was asked for 2025-06-18 and speaks 2025-11-25".to_owned())
        );
        // Without a wish the server's own choice is taken, whatever it is.
        for version in ["2024-11-05", "2024-10-07"] {
            assert_eq!(read_initialize(&answer(version), Protocol::Auto), taken(version));
        }
        for (reply, said) in [
            (json!({"error": {"message": "no"}}), "with an error: no"),
            (json!({"result": {}}), "without a protocol version"),
        ] {
            let reason = |who: &str| Err(format!("it {who}answered `initialize` {said}"));
            assert_eq!(read_initialize(&reply, Protocol::Auto), reason(""));
            assert_eq!(read_initialize(&reply, older), reason("was asked for 2025-06-18, and "));
        }
    }

    #[test]
    fn what_is_no_modern_answer_is_told() {
        for (reply, said) in [
            (
                json!({"error": {"code": -32601, "message": "unknown method"}}),
                "with an error: unknown method",
            ),
            (
                json!({"result": {"supportedVersions": ["2025-11-25"]}}),
                "that it speaks 2025-11-25",
            ),
            (json!({"result": {}}), "without the revisions that it speaks"),
        ] {
            assert_eq!(read_probe(&reply), Probed::Legacy);
            assert_eq!(said_to_discover(&reply), said);
        }
    }
}
