//! Does the server offer what the profile names? Asked before any case, so that a typo in a profile is never taken for a
//! fault of the server. Pure.

use serde_json::{Map, Value};

use crate::document;
use crate::report::ToolReport;
use crate::target::Target;

/// What the listing of tools says about a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offered {
    /// Why the profile makes no sense on this server.
    pub(super) problem: Option<String>,
    /// What looks wrong, and may be right: a schema need not name every argument.
    pub(super) warnings: Vec<String>,
}

/// Compares the tools that a profile names with those that the server lists; nothing to compare where it lists none.
pub(super) fn compare(target: &Target, tools: Option<&[Value]>) -> Offered {
    let mut offered = Offered::default();
    let Some(tools) = tools else { return offered };
    let write = target
        .write
        .as_ref()
        .map(|write| ("write", &write.tool, &write.arguments));
    let status = target
        .status
        .as_ref()
        .map(|status| ("status", &status.tool, &status.arguments));
    for (section, name, arguments) in write.into_iter().chain(status) {
        let named = |tool: &&Value| tool["name"].as_str() == Some(name);
        let Some(tool) = tools.iter().find(named) else {
            offered.problem = Some(unknown_tool(section, name, tools));
            return offered;
        };
        offered
            .warnings
            .extend(odd_arguments(section, &tool["inputSchema"], arguments));
    }
    offered
}

fn unknown_tool(section: &str, name: &str, tools: &[Value]) -> String {
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let near = document::nearest(name, names.iter().copied());
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!(
        "{section}.tool = \"{name}\": the server has no such tool (it has: {}){near}",
        names.join(", ")
    )
}

fn odd_arguments(section: &str, schema: &Value, arguments: &Map<String, Value>) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object().filter(|known| !known.is_empty()) else {
        return Vec::new();
    };
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    let unknown = arguments.keys().filter(|key| !properties.contains_key(*key));
    let unknown = unknown.map(|key| {
        let near = document::nearest(key, known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!(
            "{section}.arguments.{key}: the tool's inputSchema has {}{near}",
            known.join(", ")
        )
    });
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let lacking = required.filter(|key| !arguments.contains_key(*key));
    let lacking =
        lacking.map(|key| format!("{section}.arguments has no `{key}`, which the tool's inputSchema requires"));
    unknown.chain(lacking).collect()
}

/// Beginnings of names of tools that write nothing.
const READING: [&str; 14] = [
    "get", "list", "read", "search", "query", "fetch", "describe", "find", "show", "open", "status", "count", "lookup",
    "view",
];

/// Parts of names of arguments by which a server knows a repeated request.
const IDENTITIES: [&str; 4] = ["idempot", "operation_id", "operationid", "request_id"];

/// What a server offers, for somebody who has to choose its write.
pub(super) fn listed(tools: &[Value]) -> Vec<ToolReport> {
    tools.iter().map(tool).collect()
}

fn tool(tool: &Value) -> ToolReport {
    let name = tool["name"].as_str().unwrap_or_default().to_owned();
    let schema = &tool["inputSchema"];
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<String> = required.filter_map(Value::as_str).map(str::to_owned).collect();
    let optional: Vec<String> = properties
        .keys()
        .filter(|key| !required.contains(key))
        .cloned()
        .collect();
    let is_identity = |key: &String| IDENTITIES.iter().any(|part| key.to_ascii_lowercase().contains(part));
    let mut arguments = Map::new();
    let mut has_marker = false;
    for key in required.iter().chain(optional.iter().filter(|key| is_identity(key))) {
        let schema = properties.get(key).unwrap_or(&Value::Null);
        let value = if is_identity(key) {
            "{operation}".into()
        } else {
            sample(schema, &mut has_marker)
        };
        arguments.insert(key.clone(), value);
    }
    if properties.is_empty() && required.is_empty() {
        // The schema says nothing, which does not mean that the tool takes nothing.
        arguments.insert("ARGUMENT".to_owned(), "{marker}".into());
    }
    let hint = tool.pointer("/annotations/readOnlyHint").and_then(Value::as_bool);
    let lower = name.to_ascii_lowercase();
    ToolReport {
        reads_only: hint.unwrap_or_else(|| READING.iter().any(|word| lower.starts_with(word))),
        name,
        required,
        optional,
        arguments,
    }
}

/// A value for an argument; the first text is the marker.
fn sample(schema: &Value, has_marker: &mut bool) -> Value {
    if let Some(value) = ["/enum/0", "/minimum"].iter().find_map(|at| schema.pointer(at)) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(vec![sample(&schema["items"], has_marker)]),
        Some("object") => {
            let members = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let filled = members.map(|name| (name.to_owned(), sample(&schema["properties"][name], has_marker)));
            Value::Object(filled.collect())
        }
        Some(_) | None => {
            let text = if *has_marker { "…" } else { "{marker}" };
            *has_marker = true;
            text.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{TargetWords, locate};
    use serde_json::json;

    fn target() -> Target {
        let words = TargetWords {
            has_built_in: true,
            ..TargetWords::default()
        };
        locate(&words, std::path::Path::new("/nowhere")).expect("the built-in target")
    }

    fn tools(write: &str, argument: &str) -> Vec<Value> {
        vec![
            json!({"name": write, "inputSchema": {
                "properties": {argument: {}, "title": {}, "mode": {}}, "required": [argument],
            }}),
            json!({"name": "get_operation_status", "inputSchema": {}}),
        ]
    }

    #[test]
    fn what_fits_says_nothing() {
        let offered = compare(&target(), Some(&tools("create_issue", "operation_id")));
        assert_eq!(offered, Offered::default());
        assert_eq!(compare(&target(), None), Offered::default());
    }

    #[test]
    fn a_tool_that_is_not_there_is_a_problem_and_the_near_one_is_named() {
        let problem = compare(&target(), Some(&tools("create_issues", "operation_id"))).problem;
        let problem = problem.expect("no such tool");
        assert!(problem.contains("write.tool = \"create_issue\""), "{problem}");
        assert!(problem.contains("did you mean `create_issues`?"), "{problem}");
    }

    #[test]
    fn an_argument_that_the_schema_does_not_know_is_a_warning() {
        let warnings = compare(&target(), Some(&tools("create_issue", "operationId"))).warnings;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("did you mean `operationId`?"), "{warnings:?}");
        assert!(warnings[1].contains("has no `operationId`"), "{warnings:?}");
    }
}
