//! Profile format 1 as it stands in `target.toml`. Unknown keys are refused; meaning is checked in [`super::resolve`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::contract::Preset;
use super::resolved::StoreKind;
use crate::case::Rotation;
use crate::protocol::Protocol;

/// The version of the profile format that this harness reads.
pub const PROFILE_FORMAT: u32 = 1;

/// A whole profile.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileWritten {
    /// The version of this format: 1.
    pub(super) format: u32,
    /// What reports call the server.
    pub(super) name: String,
    /// The revision of MCP to speak; what the server speaks where it is absent or `auto`.
    #[serde(default)]
    pub(super) protocol: Protocol,
    /// How the server is started.
    pub(super) launch: LaunchWritten,
    /// What works on its store beside it, by role.
    #[serde(default)]
    pub(super) processes: ProcessesWritten,
    /// Where it keeps what it writes.
    pub(super) store: Option<StoreWritten>,
    /// One tool call with an effect.
    pub(super) write: Option<WriteWritten>,
    /// Where the operation identity travels.
    #[serde(default)]
    pub(super) identity: IdentityWritten,
    /// What the server promises.
    #[serde(default)]
    pub(super) contract: ContractWritten,
    /// JSON pointers into what the server answers.
    #[serde(default)]
    pub(super) replies: RepliesWritten,
    /// The tool that reports what became of an operation.
    pub(super) status: Option<StatusWritten>,
    /// How effects and operation rows are counted.
    #[serde(default)]
    pub(super) read: ReadWritten,
    /// How time is moved under the server.
    pub(super) clock: Option<ClockWritten>,
    /// The variable that names a failpoint.
    pub(super) failpoints: Option<VariableWritten>,
    /// What is another one after a restart.
    #[serde(default)]
    pub(super) rotations: BTreeMap<Rotation, RotationWritten>,
    /// How the operator settles an operation.
    pub(super) reconcile: Option<ReconcileWritten>,
    /// The variable that names a planted defect.
    pub(super) defects: Option<VariableWritten>,
    /// Statements that would change the event log, by name.
    #[serde(default)]
    pub(super) tampering: BTreeMap<String, String>,
}

/// `[processes]`: what works on the server's store beside it.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessesWritten {
    /// Does what was submitted.
    pub(super) worker: Option<ProcessWritten>,
    /// Expires leases, and makes retries ready.
    pub(super) reaper: Option<ProcessWritten>,
}

/// `[processes.…]`: a process that speaks no MCP and is ended by SIGTERM. What is not said here is as in `[launch]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessWritten {
    /// Program and arguments, one word each; `{process}` is the name that the case gives it.
    #[serde(deserialize_with = "words")]
    pub(super) command: Vec<String>,
    /// Variables beside those of `[launch]`, or in their place.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

/// `[launch]`: how the server is started.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchWritten {
    /// Program and arguments, one word each; `{data}` is a new folder for each case.
    #[serde(deserialize_with = "words")]
    pub(super) command: Vec<String>,
    /// Variables for the server.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Variables whose values appear in no file: `random:BYTES` or `env:NAME`.
    #[serde(default)]
    pub(super) secrets: BTreeMap<String, String>,
    /// Files and folders whose digests say what was tested.
    #[serde(default)]
    pub(super) artifact: Vec<String>,
    /// The working directory; the profile's own folder where it is absent.
    pub(super) cwd: Option<String>,
    /// Passes your whole environment on.
    #[serde(default)]
    pub(super) inherit_env: bool,
    /// The command that kills the server, where what is launched does not own it.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct StoreWritten {
    /// One SQLite file, or any other files.
    pub(super) kind: Option<StoreKind>,
    /// Its path; begins with `{data}`.
    pub(super) path: String,
    /// What makes the store before the first start: an SQL script, or a file or folder to copy.
    pub(super) seed: Option<String>,
}

/// `[write]`: one effectful tool call, and answers to what the server asks before it writes.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct WriteWritten {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments, with `{marker}` and, if it takes one, `{operation}`.
    #[serde(default)]
    pub(super) arguments: serde_json::Map<String, Value>,
    /// What a request with changed data changes in them.
    #[serde(default)]
    pub(super) change: serde_json::Map<String, Value>,
    /// Answers to what the server asks before it writes, by key.
    #[serde(default)]
    pub(super) responses: serde_json::Map<String, Value>,
    /// Members of `_meta` beside the identity.
    #[serde(default)]
    pub(super) meta: serde_json::Map<String, Value>,
    /// What a request changes in the arguments whose execution is to fail.
    #[serde(default)]
    pub(super) failing: serde_json::Map<String, Value>,
    /// How the execution of a write is followed that is only submitted.
    pub(super) submitted: Option<SubmittedWritten>,
}

/// `[write.submitted]`: the write is answered before it is done, and done later, as an execution.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SubmittedWritten {
    /// JSON pointer of what names the execution in the reply to the submission.
    pub(super) id: String,
    /// The tool that says how an execution stands.
    pub(super) tool: String,
    /// Its arguments, with `{execution}`.
    pub(super) arguments: serde_json::Map<String, Value>,
    /// JSON pointer of the state in its result.
    pub(super) state: String,
    /// The states after which nothing comes.
    pub(super) ended: Vec<String>,
    /// The tool that ends an execution before its time.
    pub(super) cancel: Option<CancelWritten>,
}

/// The tool that ends an execution before its time.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CancelWritten {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments, with `{execution}`.
    pub(super) arguments: serde_json::Map<String, Value>,
}

/// `[identity]`: where the operation identity travels.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct IdentityWritten {
    /// `arguments.NAME`, `meta.KEY`, `params.KEY`, `natural:/JSON/POINTER` or `none`.
    pub(super) at: Option<String>,
}

/// `[contract]`: what the server promises.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ContractWritten {
    /// The promises.
    pub(super) preset: Option<Preset>,
    /// Where they are made; printed with every fail.
    pub(super) claimed_in: Option<String>,
    /// How a refusal as a conflict looks.
    pub(super) conflict: Option<ConflictWritten>,
}

/// How a conflict looks: a JSON pointer into an error or a tool error, and the value there.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { tool_error = \"/structuredContent/code\", is = \"CONFLICT\" }"
)]
pub(super) struct ConflictWritten {
    /// Where the reason stands in a JSON-RPC error.
    pub(super) error: Option<String>,
    /// Where it stands in a tool error.
    pub(super) tool_error: Option<String>,
    /// What stands there.
    pub(super) is: Value,
}

/// `[replies]`: JSON pointers into what the server answers.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RepliesWritten {
    /// The result that retries must repeat.
    pub(super) result: Option<String>,
    /// Where a reply says that it is a replay.
    pub(super) replayed: Option<String>,
    /// Where a refusal has its reason.
    #[serde(default)]
    pub(super) refusal: RefusalWritten,
}

/// Where the reason of a refusal stands, in both styles.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RefusalWritten {
    /// In a JSON-RPC error.
    pub(super) error: Option<String>,
    /// In a tool error.
    pub(super) tool_error: Option<String>,
}

/// `[status]`: the tool that reports what became of an operation.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct StatusWritten {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments.
    #[serde(default)]
    pub(super) arguments: serde_json::Map<String, Value>,
    /// JSON pointer of the observation in the result.
    pub(super) result: Option<String>,
    /// JSON pointer, in the observation's stored result, of what a reply holds at `[replies] result`.
    pub(super) stored: Option<String>,
    /// The scope that an authoritative observation must have.
    #[serde(default)]
    pub(super) scope: serde_json::Map<String, Value>,
}

/// `[read]`: how effects and operation rows are counted.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReadWritten {
    /// Every row that carries `$marker`.
    pub(super) effects: Option<QueryWritten>,
    /// The operation rows, by `$operation`.
    pub(super) ledger: Option<QueryWritten>,
    /// The second step of a write.
    pub(super) watchers: Option<QueryWritten>,
    /// Attempts to take an effect back.
    pub(super) compensations: Option<QueryWritten>,
    /// The log of steps.
    pub(super) steps: Option<QueryWritten>,
    /// The event log of durable executions.
    pub(super) events: Option<QueryWritten>,
    /// How each execution stands.
    pub(super) executions: Option<QueryWritten>,
    /// The leases of workers.
    pub(super) leases: Option<QueryWritten>,
    /// The retries of executions.
    pub(super) retries: Option<QueryWritten>,
    /// A second effect, outside the store that holds the first.
    pub(super) outside: Option<QueryWritten>,
}

/// `[read.…]`: one query.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct QueryWritten {
    /// The file, where the store is a folder.
    pub(super) path: Option<String>,
    /// One reading statement.
    pub(super) sql: Option<String>,
    /// JSON pointer of an array or object whose elements count.
    pub(super) json: Option<String>,
    /// Lines count.
    pub(super) jsonl: Option<bool>,
    /// Files of this pattern count.
    pub(super) files: Option<String>,
    /// Occurrences in files of this pattern count.
    pub(super) text: Option<String>,
}

/// `[clock]`: how time is moved under the server.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ClockWritten {
    /// A file with Unix seconds that the server reads.
    pub(super) file: Option<String>,
    /// An SQL statement that ages an operation.
    pub(super) age: Option<String>,
}

/// `[rotations.…]`: what is another one after a restart, as variables of the server.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RotationWritten {
    /// Variables.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Variables whose values appear in no file.
    #[serde(default)]
    pub(super) secrets: BTreeMap<String, String>,
}

/// `[reconcile]`: the command by which the operator settles an operation.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReconcileWritten {
    /// Program and arguments.
    #[serde(deserialize_with = "words")]
    pub(super) command: Vec<String>,
}

/// An environment variable that names a failpoint or a defect.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct VariableWritten {
    /// Its name.
    pub(super) env: String,
}

/// The schema of the file.
#[cfg(test)]
pub(crate) fn schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<ProfileWritten>()
}
