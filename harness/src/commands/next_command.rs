//! What to type next, where a server was found to start and its write is not named yet.

use serde_json::Value;

use super::target_arguments::quoted;
use crate::report::ToolReport;

/// The command, or the lines of a profile, that test the tool which most likely writes. `command` are the flags and the words
/// that launched the server, where that was a command line.
pub(super) fn next(tools: &[ToolReport], command: Option<&str>) -> Option<String> {
    let writes = |tool: &&ToolReport| !tool.reads_only;
    let tool = tools.iter().find(writes)?;
    let arguments = Value::from(tool.arguments.clone());
    let has_marker = arguments.to_string().contains("{marker}");
    let note = if has_marker {
        ""
    } else {
        "\nput {marker} into an argument that the written data will show"
    };
    Some(match command {
        Some(command) => format!(
            "harness run --write {} --store '{{data}}/…' {command}{note}\n\
             with the store at the path that the server writes (say it in the command or with -e NAME='{{data}}/…')",
            quoted(&format!("{}={arguments}", tool.name))
        ),
        None => format!(
            "add to the profile: [write] with tool = {}, and arguments that hold {arguments}; [store] with path = \
             \"{{data}}/…\"{note}",
            Value::from(tool.name.as_str())
        ),
    })
}
