//! `harness fingerprint`: the vectors once more, from outside; every refusal with its place; and the key nowhere.

use serde_json::{Value, json};

use crate::command_line::prints;
use crate::support::WAIT_MAX;
use crate::support::run::{Done, Harness};

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const REQUEST: &str = r#"{"tool_version": "1.0", "principal": "alice", "tool_id": "create_issue", "continuation_state": "awaiting-body",
 "arguments": {"title": "sp\u202eec", "n": 1.0, "n": 2}, "input_responses": {"body": {"action": "accept"}}}"#;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../vectors/fingerprint.json")).unwrap()
}

/// With the request on standard input.
fn of(request: &str, words: &[&str]) -> Done {
    with_key(KEY, request, words)
}

fn with_key(key: &str, request: &str, words: &[&str]) -> Done {
    let harness = Harness::new()
        .words(&["-", "--key-env", "REQUEST_KEY"])
        .words(words)
        .env("REQUEST_KEY", key);
    let mut command = assert_cmd::Command::from_std(harness.command(&["fingerprint"]));
    let output = command.timeout(WAIT_MAX).write_stdin(request).output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(
        !stdout.contains(key) && !stderr.contains(key),
        "the key is shown: {stdout}{stderr}"
    );
    Done::new(&harness, output.status.code().unwrap(), stdout, stderr)
}

#[test]
fn it_prints_what_the_vectors_say() {
    let vectors = vectors();
    for list in ["vectors", "spellings"] {
        for vector in vectors[list].as_array().unwrap() {
            let request = vector["request_json"]
                .as_str()
                .map_or_else(|| vector["request"].to_string(), str::to_owned);
            let done = of(&request, &[]);
            assert_eq!(
                done.exits(0).stdout.trim_end(),
                vector["fingerprint"],
                "{}",
                vector["name"]
            );
            let explained = of(&request, &["--explain", "--format", "json"]);
            let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
            assert_eq!(explained["canonical"], vector["canonical"], "{}", vector["name"]);
            assert_eq!(explained["fingerprint"], vector["fingerprint"]);
        }
    }
}

/// Any parser may say where it stopped as it likes; this command names the place of each of them.
#[test]
fn it_names_the_place_of_every_fault_in_the_vectors() {
    for vector in vectors()["invalid"].as_array().unwrap() {
        let key = vector["key_hex"].as_str().unwrap_or(KEY);
        let done = with_key(key, vector["request_json"].as_str().unwrap(), &[]);
        let place = format!(": {}: ", vector["error_path"].as_str().unwrap());
        done.exits(2).says_only(&[&place]);
    }
}

#[test]
fn it_is_printed_and_explained() {
    let harness = || Harness::new().file("request.json", REQUEST).env("REQUEST_KEY", KEY);
    let call = |words: &[&str]| {
        harness()
            .words(&["request.json", "--key-env", "REQUEST_KEY"])
            .words(words)
            .call(&["fingerprint"])
    };
    prints("fingerprint", &call(&[]));
    prints("fingerprint-explain", &call(&["--explain"]));
    prints("fingerprint-explain-json", &call(&["--explain", "--format", "json"]));
}

#[test]
fn a_request_that_is_none_is_refused_with_its_place() {
    let request: Value = serde_json::from_str(REQUEST).unwrap();
    let without = |member: &str| {
        let mut request = request.clone();
        request.as_object_mut().unwrap().remove(member);
        request.to_string()
    };
    let with = |member: &str, value: Value| {
        let mut request = request.clone();
        request[member] = value;
        request.to_string()
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (text, parts) in [
        (without("arguments"), &["$: the member `arguments` is missing"][..]),
        (
            with("argument", json!(1)),
            &["$: a request has no member \"argument\"", "did you mean `arguments`?"],
        ),
        (
            with("principal", json!(null)),
            &["$.principal: expected a text, found null"],
        ),
        ("[]".to_owned(), &["$: expected a request, an object, found a list"]),
        (String::new(), &["$: EOF while parsing a value at line 1 column 0"]),
        (
            with("arguments", json!({"n": 1e300})),
            &["$.arguments.n", "out of range"],
        ),
        (deep, &["recursion limit exceeded at line 1 column 128"]),
    ] {
        of(&text, &[]).exits(2).says_only(parts);
    }
    let folder = Harness::new()
        .env("REQUEST_KEY", KEY)
        .words(&[".", "--key-env", "REQUEST_KEY"]);
    folder
        .call(&["fingerprint"])
        .exits(2)
        .says_only(&[".: it is not a regular file"]);
}

#[test]
fn the_key_is_asked_for_by_name_and_never_repeated() {
    let refused = |key: &str, parts: &[&str]| {
        with_key(key, REQUEST, &[]).exits(2).says_only(parts);
    };
    refused(
        "not-hex-but-secret",
        &["--key-env REQUEST_KEY: the variable does not hold hex"],
    );
    refused("0123456789abcdef", &["8 bytes are too few"]);
    // The key itself where its name should be, in hex and in another spelling.
    for key in [KEY, "c2VjcmV0IGtleSB0aGF0IGlz", "c2VjcmV0IGtleSB0aGF0IGlzIGxvbmc="] {
        let done = Harness::new().words(&["-", "--key-env", key]).call(&["fingerprint"]);
        done.exits(2).says_only(&["--key-env: "]);
        assert!(!done.stderr.contains(key), "{}", done.stderr);
    }
}
