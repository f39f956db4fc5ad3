//! `harness fingerprint REQUEST`: the fingerprint of a request, and how it came to be.
//!
//! The key comes from the environment only, and is printed nowhere.

mod explain;
mod places;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use reference_server::guard::fingerprint::{FingerprintKey, FingerprintRequest};
use serde_json::{Map, Value, json};

use super::{ExitStatus, Format, refuse};
use crate::document::nearest;
use crate::plain_file;
use crate::report::{Printer, plain};
use explain::Explained;
use places::{kind, walk};

/// A request is never larger than this, in bytes.
const REQUEST_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// From so many hex digits on, a word is taken for a key and not for the name of a variable.
const KEY_DIGITS_MIN: usize = 32;

/// The members of a request; the first three are texts.
const MEMBERS: [&str; 6] = [
    "principal",
    "tool_id",
    "tool_version",
    "arguments",
    "continuation_state",
    "input_responses",
];
const TEXTS: usize = 3;

/// Print the fingerprint of a request, and how it came to be
#[derive(Debug, Args)]
#[command(
    after_help = "A request is a JSON object of principal, tool_id, tool_version (texts), arguments, continuation_state and \
                  input_responses (any JSON). vectors/README.md says how its fingerprint is made.\n\n\
                  A fingerprint reveals repeated input to whoever can compare two of them, and authenticates nobody."
)]
pub(super) struct FingerprintArguments {
    /// File with the request; `-` reads standard input
    #[arg(value_name = "REQUEST")]
    request: PathBuf,
    /// Name of the variable that holds the key, 32 bytes or more in hex
    #[arg(long, value_name = "NAME")]
    key_env: String,
    /// Print the canonical form too, and how each part of it came to be
    #[arg(long)]
    explain: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Prints the fingerprint.
pub(super) fn fingerprint(arguments: &FingerprintArguments, printer: &mut Printer) -> ExitStatus {
    let explained = match explained(arguments) {
        Ok(explained) => explained,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let brief = json!({"fingerprint": explained.fingerprint});
    match (arguments.format, arguments.explain) {
        (Format::Human, true) => explain::show(&explained, printer),
        (Format::Human, false) => printer.line(&[plain(explained.fingerprint.as_str())]),
        (Format::Json, true) => printer.json(&explained),
        (Format::Json, false) => printer.json(&brief),
        (Format::Jsonl, true) => printer.json_line(&explained),
        (Format::Jsonl, false) => printer.json_line(&brief),
    }
    ExitStatus::Success
}

fn explained(arguments: &FingerprintArguments) -> Result<Explained, String> {
    let (key, key_bytes) = key(&arguments.key_env)?;
    let name = if arguments.request.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        arguments.request.display().to_string()
    };
    let text = read(&arguments.request).map_err(|reason| format!("{name}: {reason}"))?;
    let at = |place: &str, reason: &str| format!("{name}: {place}: {reason}");
    let changes = walk(&text).map_err(|fault| at(&fault.place, &fault.reason))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| at("$", &error.to_string()))?;
    check_members(&value).map_err(|(place, reason)| at(&place, &reason))?;
    let request = FingerprintRequest::from_json(&text).map_err(|error| format!("{name}: {error}"))?;
    Explained::of(&key, key_bytes, &arguments.key_env, &request, changes).map_err(|error| format!("{name}: {error}"))
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = if path.as_os_str() == "-" {
        plain_file::read_at_most(io::stdin().lock(), REQUEST_BYTES_MAX)
    } else {
        plain_file::open(path).and_then(|file| plain_file::read_at_most(file, REQUEST_BYTES_MAX))
    };
    String::from_utf8(bytes.map_err(|error| error.to_string())?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        format!("byte {offset} is not UTF-8, so it is not JSON")
    })
}

/// The key, and how many bytes it has. No message repeats what could be one.
fn key(variable: &str) -> Result<(FingerprintKey, usize), String> {
    let is_name = !variable.is_empty() && !variable.contains(['=', '\0']);
    let is_key = variable.len() >= KEY_DIGITS_MIN && variable.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name || is_key {
        return Err("--key-env: it takes the name of a variable that holds the key, never the key".to_owned());
    }
    let Some(hex) = std::env::var_os(variable) else {
        // The word may be a key by mistake, so it is not repeated unless there is such a variable.
        return Err("--key-env: no variable of that name is set; it holds the key, 32 bytes or more in hex".to_owned());
    };
    let refused = |what: &str| format!("--key-env {variable}: {what}; `openssl rand -hex 32` makes a key");
    let bytes = hex
        .to_str()
        .and_then(|hex| base16ct::mixed::decode_vec(hex.trim()).ok());
    let bytes = bytes.ok_or_else(|| refused("the variable does not hold hex"))?;
    let count = bytes.len();
    match FingerprintKey::new(bytes) {
        Ok(key) => Ok((key, count)),
        Err(error) => Err(refused(&error.to_string())),
    }
}

/// What is wrong with the members of a request, and where.
fn check_members(value: &Value) -> Result<(), (String, String)> {
    let root = |reason: String| ("$".to_owned(), reason);
    let members: &Map<String, Value> = value
        .as_object()
        .ok_or_else(|| root(format!("expected a request, an object, found {}", kind(value))))?;
    if let Some(unknown) = members.keys().find(|key| !MEMBERS.contains(&key.as_str())) {
        let near = nearest(unknown, MEMBERS).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(root(format!("a request has no member {unknown:?}{near}")));
    }
    if let Some(missing) = MEMBERS.iter().find(|member| !members.contains_key(**member)) {
        return Err(root(format!("the member `{missing}` is missing")));
    }
    for member in &MEMBERS[..TEXTS] {
        let value = &members[*member];
        if !value.is_string() {
            return Err((format!("$.{member}"), format!("expected a text, found {}", kind(value))));
        }
    }
    Ok(())
}
