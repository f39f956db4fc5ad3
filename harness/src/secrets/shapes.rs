//! What credentials usually look like. Pure.
//!
//! A shape has to be hard to meet by accident: our own evidence is full of hexadecimal digests, random identities and sealed
//! tokens, and a false alarm there would teach people to look away.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// Fields whose values have no shape: sealed request states and fingerprints, made anew in every run and worth nothing
/// without the key of the process. Values of secrets are looked for in them too.
pub const EXEMPT_FIELDS: [&str; 2] = ["requestState", "fingerprint"];

/// Names of settings whose values are credentials.
const NAMES: &str =
    "password|passwd|passphrase|pwd|api[_-]?key|secret[_-]?key|client[_-]?secret|access[_-]?token|auth[_-]?token";

/// Words that stand where a credential belongs, and are none.
const PLACEHOLDERS: [&str; 12] = [
    "password", "passwd", "pass", "secret", "changeme", "example", "null", "none", "true", "false", "string",
    "redacted",
];

/// One kind of credential.
struct Shape {
    /// What it is, in words.
    name: &'static str,
    /// Its first group is the credential; the whole where there is none.
    pattern: Regex,
    /// What else has to hold of the credential.
    accepts: fn(&[u8]) -> bool,
}

/// A shape as it is written here: its name, its pattern, and what else has to hold.
type Written<'a> = (&'static str, &'a str, fn(&[u8]) -> bool);

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let member = format!(r#""[a-z0-9_-]*(?:{NAMES})"\s*:\s*"([^"\\]{{4,}})""#);
    let setting = format!(r#"(?:^|[^a-z0-9])(?:{NAMES})\s?=\s?["']?([^\s"'&;,<>()\\]{{4,}})"#);
    let shapes: [Written<'_>; 15] = [
        (
            "a private key (PEM)",
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----\s+(?:[A-Za-z-]+:[^\n]*\s+)*[A-Za-z0-9+/=]{16,}[A-Za-z0-9+/=\s]*(?:-----END [A-Z0-9 ]*-----)?",
            |_| true,
        ),
        ("an AWS access key id", r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b", |_| true),
        ("a GitHub token", r"\bgh[opsur]_[A-Za-z0-9]{36,255}", |_| true),
        ("a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{22,255}", |_| true),
        ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}", |_| true),
        ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b", |_| true),
        ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", is_mixed),
        ("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}", |_| true),
        ("a Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", |_| true),
        ("an API key (sk-…)", r"\bsk-[A-Za-z0-9_-]{20,}", is_mixed),
        (
            "a JSON Web Token",
            r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
            |_| true,
        ),
        (
            "an authorization header",
            r#"(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{8,})"#,
            is_no_placeholder,
        ),
        (
            "a password in a URL",
            r#"://[^/\s:@"'<>\\]{1,255}:([^/\s:@"'<>\\]{3,255})@[A-Za-z0-9\[]"#,
            is_no_placeholder,
        ),
        (
            "a setting that is a credential",
            &format!("(?i){setting}"),
            is_no_placeholder,
        ),
        (
            "a member that is a credential",
            &format!("(?i){member}"),
            is_no_placeholder,
        ),
    ];
    let shape = |(name, pattern, accepts): Written<'_>| Shape {
        name,
        pattern: plain_regex(pattern),
        accepts,
    };
    shapes.into_iter().map(shape).collect()
});

/// Also where a document stands inside of a string, so that its quotes are escaped.
static EXEMPT: LazyLock<Regex> = LazyLock::new(|| {
    let fields = EXEMPT_FIELDS.join("|");
    plain_regex(&format!(r#"\\*"(?:{fields})\\*"\s*:\s*\\*"([^"\\]*)"#))
});

/// A pattern over bytes: what is looked through is not always text.
fn plain_regex(pattern: &str) -> Regex {
    let built = RegexBuilder::new(pattern).unicode(false).build();
    built.expect("the patterns are constants, and a test uses each of them")
}

/// Every place in `bytes` that has the shape of a credential, and which.
pub(super) fn each(bytes: &[u8], mut see: impl FnMut(Range<usize>, &'static str)) {
    let exempt = LazyLock::new(|| {
        let fields = EXEMPT.captures_iter(bytes);
        let values = fields.filter_map(|field| field.get(1)).map(|value| value.range());
        values.collect::<Vec<Range<usize>>>()
    });
    for shape in SHAPES.iter() {
        for captured in shape.pattern.captures_iter(bytes) {
            let Some(found) = captured.get(1).or_else(|| captured.get(0)) else {
                continue;
            };
            let range = found.range();
            let is_exempt = || {
                exempt
                    .iter()
                    .any(|field| field.start <= range.start && range.end <= field.end)
            };
            if (shape.accepts)(found.as_bytes()) && !is_exempt() {
                see(range, shape.name);
            }
        }
    }
}

/// Words that are joined by hyphens have no digits, and digests have no other letters.
fn is_mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Whether it is more than a name for what belongs there, or a mask over it.
fn is_no_placeholder(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let is_mask = bytes.iter().all(|byte| *byte == bytes[0]);
    let is_named = text.starts_with(['{', '<', '$', '%', '[', '?', ':', '@']);
    !is_mask && !is_named && !PLACEHOLDERS.contains(&text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes_in(text: &str) -> Vec<(&str, &'static str)> {
        let mut found = Vec::new();
        each(text.as_bytes(), |range, name| found.push((&text[range], name)));
        found
    }

    /// The examples are put together here, so that no scanner of repositories takes them for credentials.
    #[test]
    fn each_shape_is_found_and_tells_the_credential_from_what_stands_around_it() {
        let digits = "0A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t";
        let pem = [
            "-----BEGIN RSA PRIVATE",
            " KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEvQIBADANBgkqhkiG9w0B\n",
        ]
        .concat();
        for (before, credential, name) in [
            ("", pem.as_str(), "a private key (PEM)"),
            ("id=", &format!("AKIA{}", "ABCDEFGHIJKLMNOP"), "an AWS access key id"),
            (" ", &format!("ghp_{}", &digits[..36]), "a GitHub token"),
            ("", &format!("github_pat_{}", &digits[..30]), "a GitHub token"),
            ("", &format!("glpat-{}", &digits[..20]), "a GitLab token"),
            ("", &format!("npm_{}", &digits[..36]), "an npm token"),
            ("", &format!("xoxb-{}", &digits[..20]), "a Slack token"),
            ("key ", &format!("AIza{}", &digits[..35]), "a Google API key"),
            ("", &format!("sk_live_{}", &digits[..24]), "a Stripe key"),
            ("", &format!("sk-proj-{}", &digits[..24]), "an API key (sk-…)"),
            ("", &format!("eyJ{0}.eyJ{0}.{0}", &digits[..12]), "a JSON Web Token"),
            ("Authorization: Bearer ", &digits[..20], "an authorization header"),
            (
                r#""authorization":"basic "#,
                "dXNlcjpodW50ZXIy",
                "an authorization header",
            ),
            ("postgres://app:", "hunter2", "a password in a URL"),
            ("DB_PASSWORD=", "hunter2", "a setting that is a credential"),
            (r#"{"client_secret": ""#, "hunter2", "a member that is a credential"),
        ] {
            let after = if name.contains("URL") { "@db:5432/x" } else { "\"" };
            let text = format!("{before}{credential}{after}");
            let found = shapes_in(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].1, name);
            assert_eq!(found[0].0.trim(), credential.trim(), "{name}");
        }
    }

    #[test]
    fn words_placeholders_masks_and_digests_have_no_shape() {
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for text in [
            "task-runner-with-a-long-kebab-name risk-assessment sk-a-word-of-many-parts-and-no-digit",
            "postgres://user:password@host/db https://a.example:8080/x@y",
            "password=********* password=$1 password = {password} PASSWORD=<yours> password=none",
            r#"{"password":{"type":"string"},"api_key":"****","operation_id":"op-30946e6e00fd"}"#,
            "Authorization: Bearer ********",
            ["-----BEGIN PRIVATE", " KEY----- is how it begins"].concat().as_str(),
            sha256,
        ] {
            assert_eq!(shapes_in(text), [], "{text}");
        }
    }

    /// By field, not by shape: the same token is found beside it.
    #[test]
    fn request_states_are_exempt_where_they_stand_and_nowhere_else() {
        let token = ["eyJhbGciOiJI.", "eyJzdWIiOiIx.", "c2lnbmF0dXJl"].concat();
        let sealed = format!(r#"{{"requestState":"{token}"}}"#);
        assert_eq!(shapes_in(&sealed), []);
        let inside = serde_json::to_string(&sealed).expect("JSON");
        assert_eq!(shapes_in(&inside), []);
        let other = format!(r#"{{"requestState":"","other":"{token}"}}"#);
        assert_eq!(shapes_in(&other).len(), 1);
    }
}
