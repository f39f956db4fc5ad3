//! A fingerprint taken apart: the canonical form byte for byte, and where each part of it is from.

use reference_server::guard::canonical::canonical_json;
use reference_server::guard::fingerprint::{FingerprintError, FingerprintKey, FingerprintRequest, fingerprint};
use serde::Serialize;
use serde_json::Value;

use super::places::Change;
use crate::report::{Printer, Style, escape, plain, span};

/// How a member of the request got into the canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// Its own canonical form stands there.
    Canonical,
    /// HMAC-SHA256(key, name ‖ 0x00 ‖ canonical form) stands there, in lower-case hex.
    HmacSha256,
}

/// One member of the request.
#[derive(Debug, Serialize)]
struct Member {
    name: &'static str,
    how: How,
    /// The canonical form of its value.
    canonical: String,
    /// The bytes that the keyed digest is made of, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest_input: Option<String>,
    /// What stands in the canonical form of the request.
    written: String,
}

/// A fingerprint and how it came to be.
#[derive(Debug, Serialize)]
pub(super) struct Explained {
    /// In lower-case hex.
    pub(super) fingerprint: String,
    canonical: String,
    canonical_bytes: usize,
    /// In the order of the canonical form.
    members: Vec<Member>,
    /// What the canonical form changed, in the order of the text.
    changes: Vec<Change>,
    key_variable: String,
    key_bytes: usize,
}

impl Explained {
    pub(super) fn of(
        key: &FingerprintKey,
        key_bytes: usize,
        key_variable: &str,
        request: &FingerprintRequest,
        changes: Vec<Change>,
    ) -> Result<Self, FingerprintError> {
        let canonical = request.canonical_text(key)?;
        let whole: Value = serde_json::from_str(&canonical)?;
        let (principal, tool_id, tool_version) = (
            Value::from(&*request.principal),
            Value::from(&*request.tool_id),
            Value::from(&*request.tool_version),
        );
        let members = [
            ("arguments", How::Canonical, &request.arguments),
            ("continuation_state", How::HmacSha256, &request.continuation_state),
            ("input_responses", How::HmacSha256, &request.input_responses),
            ("principal", How::Canonical, &principal),
            ("tool_id", How::Canonical, &tool_id),
            ("tool_version", How::Canonical, &tool_version),
        ];
        let member = |(name, how, value): (&'static str, How, &Value)| {
            let canonical = canonical_json(value)?;
            Ok(Member {
                name,
                how,
                digest_input: (how == How::HmacSha256).then(|| format!("{name}\0{canonical}")),
                canonical,
                written: canonical_json(&whole[name])?,
            })
        };
        Ok(Self {
            fingerprint: fingerprint(key, request)?,
            canonical_bytes: canonical.len(),
            canonical,
            members: members
                .into_iter()
                .map(member)
                .collect::<Result<_, FingerprintError>>()?,
            changes,
            key_variable: key_variable.to_owned(),
            key_bytes,
        })
    }
}

/// Prints it for people.
pub(super) fn show(explained: &Explained, printer: &mut Printer) {
    let row = |label: &str, text: String| [span(Style::Bold, format!("{label:<20}")), plain(text)];
    printer.line(&row("fingerprint", explained.fingerprint.clone()));
    printer.line(&row(
        "canonical form",
        format!("{} bytes, whose SHA-256 is the fingerprint:", explained.canonical_bytes),
    ));
    printer.blank();
    printer.line(&[plain(explained.canonical.as_str())]);
    printer.blank();
    for member in &explained.members {
        match member.how {
            How::Canonical => printer.line(&row(member.name, format!("its canonical form: {}", member.canonical))),
            How::HmacSha256 => {
                printer.line(&row(
                    member.name,
                    format!("HMAC-SHA256 with the key, {}, of", member.written.trim_matches('"')),
                ));
                let of = format!("`{}`, a zero byte, and {}", member.name, member.canonical);
                printer.line(&row("", of));
            }
        }
    }
    printer.line(&row(
        "key",
        format!(
            "{} bytes from the variable {}; shown nowhere",
            explained.key_bytes, explained.key_variable
        ),
    ));
    for (index, change) in explained.changes.iter().enumerate() {
        let label = if index == 0 { "changed" } else { "" };
        printer.line(&row(label, format!("{}: {}", change.place, change.change)));
    }
    if escape(&explained.canonical) != explained.canonical {
        let text = "characters that a terminal would obey or hide are shown as \\u{…}, with braces; --format json has the text \
                    itself";
        printer.line(&row("note", text.to_owned()));
    }
}
