//! Profile format 1 as it stands in `target.toml`. Unknown keys are refused; meaning is checked in [`super::resolve`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::contract::Preset;
use super::resolved::StoreKind;

/// The version of the profile format that this harness reads.
pub const PROFILE_FORMAT: u32 = 1;

/// A whole profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileWritten {
    pub(super) format: u32,
    pub(super) name: String,
    pub(super) launch: LaunchWritten,
    pub(super) store: Option<StoreWritten>,
    pub(super) write: Option<WriteWritten>,
    #[serde(default)]
    pub(super) identity: IdentityWritten,
    #[serde(default)]
    pub(super) contract: ContractWritten,
    #[serde(default)]
    pub(super) replies: RepliesWritten,
    pub(super) status: Option<StatusWritten>,
    #[serde(default)]
    pub(super) read: ReadWritten,
    pub(super) clock: Option<ClockWritten>,
    pub(super) failpoints: Option<VariableWritten>,
    pub(super) defects: Option<VariableWritten>,
}

/// `[launch]`: how the server is started.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchWritten {
    #[serde(deserialize_with = "words")]
    pub(super) command: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) secrets: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) artifact: Vec<String>,
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) inherit_env: bool,
    #[serde(default, deserialize_with = "words_if_any")]
    pub(super) kill: Option<Vec<String>>,
}

fn words_if_any<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    words(deserializer).map(Some)
}

/// Program and arguments, one word each: no shell takes a line apart.
fn words<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Words;
    impl<'de> serde::de::Visitor<'de> for Words {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of words, such as [\"python3\", \"server.py\"]")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut words: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(word) = words.next_element()? {
                all.push(word);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_seq(Words)
}

/// `[store]`: where the server keeps what it writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreWritten {
    pub(super) kind: Option<StoreKind>,
    pub(super) path: String,
    pub(super) seed: Option<String>,
}

/// `[write]`: one effectful tool call, and answers to what the server asks before it writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteWritten {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: serde_json::Map<String, Value>,
    #[serde(default)]
    pub(super) change: serde_json::Map<String, Value>,
    #[serde(default)]
    pub(super) responses: serde_json::Map<String, Value>,
}

/// `[identity]`: where the operation identity travels.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdentityWritten {
    pub(super) at: Option<String>,
}

/// `[contract]`: what the server promises.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractWritten {
    pub(super) preset: Option<Preset>,
    pub(super) claimed_in: Option<String>,
    pub(super) conflict: Option<ConflictWritten>,
}

/// How a conflict looks: a JSON pointer into an error or a tool error, and the value there.
#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { tool_error = \"/structuredContent/code\", is = \"CONFLICT\" }"
)]
pub(super) struct ConflictWritten {
    pub(super) error: Option<String>,
    pub(super) tool_error: Option<String>,
    pub(super) is: Value,
}

/// `[replies]`: JSON pointers into what the server answers.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepliesWritten {
    pub(super) result: Option<String>,
    pub(super) replayed: Option<String>,
    #[serde(default)]
    pub(super) refusal: RefusalWritten,
}

/// Where the reason of a refusal stands, in both styles.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RefusalWritten {
    pub(super) error: Option<String>,
    pub(super) tool_error: Option<String>,
}

/// `[status]`: the tool that reports what became of an operation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusWritten {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: serde_json::Map<String, Value>,
    pub(super) result: Option<String>,
    #[serde(default)]
    pub(super) scope: serde_json::Map<String, Value>,
}

/// `[read]`: how effects and operation rows are counted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadWritten {
    pub(super) effects: Option<QueryWritten>,
    pub(super) ledger: Option<QueryWritten>,
}

/// `[read.…]`: one query.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryWritten {
    pub(super) path: Option<String>,
    pub(super) sql: Option<String>,
    pub(super) json: Option<String>,
    pub(super) jsonl: Option<bool>,
    pub(super) files: Option<String>,
    pub(super) text: Option<String>,
}

/// `[clock]`: how time is moved under the server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClockWritten {
    pub(super) file: Option<String>,
    pub(super) age: Option<String>,
}

/// An environment variable that names a failpoint or a defect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariableWritten {
    pub(super) env: String,
}
