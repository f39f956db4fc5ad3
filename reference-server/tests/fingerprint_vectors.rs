//! Checks `vectors/fingerprint.json`, which other languages share, against this crate. Every entry of the file is used.

use reference_server::guard::fingerprint::{FingerprintError, FingerprintKey, FingerprintRequest, fingerprint};
use serde_json::Value;

const VECTORS: &str = include_str!("../../vectors/fingerprint.json");

fn vectors() -> Value {
    serde_json::from_str(VECTORS).expect("the vectors are JSON")
}

fn entries<'a>(vectors: &'a Value, pointer: &str) -> &'a [Value] {
    let entries = vectors.pointer(pointer).and_then(Value::as_array).expect("a list");
    assert!(!entries.is_empty(), "{pointer} is empty");
    entries
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} is no text in {value}"))
}

fn key(hex: &str) -> Result<FingerprintKey, FingerprintError> {
    FingerprintKey::new(base16ct::lower::decode_vec(hex).expect("the key is hex"))
}

fn shared_key(vectors: &Value) -> FingerprintKey {
    key(text(vectors, "key_hex")).expect("the shared key is long enough")
}

fn of_request(key: &FingerprintKey, json: &str) -> Result<String, FingerprintError> {
    fingerprint(key, &FingerprintRequest::from_json(json)?)
}

fn of_vector(vectors: &Value, name: &Value) -> String {
    let named = entries(vectors, "/vectors")
        .iter()
        .find(|vector| vector["name"] == *name);
    let vector = named.unwrap_or_else(|| panic!("there is no vector {name}"));
    of_request(&shared_key(vectors), &vector["request"].to_string()).expect("the vector is valid")
}

#[test]
fn every_vector_has_its_canonical_text_and_fingerprint() {
    let vectors = vectors();
    let key = shared_key(&vectors);
    for vector in entries(&vectors, "/vectors") {
        let name = text(vector, "name");
        let request = FingerprintRequest::from_json(&vector["request"].to_string()).expect(name);
        let canonical = request.canonical_text(&key).expect(name);
        assert_eq!(canonical, text(vector, "canonical"), "{name}");
        let made = fingerprint(&key, &request).expect(name);
        assert_eq!(made, text(vector, "fingerprint"), "{name}");
    }
}

#[test]
fn equal_requests_have_equal_fingerprints_and_others_do_not() {
    let vectors = vectors();
    for pair in entries(&vectors, "/same") {
        assert_eq!(of_vector(&vectors, &pair[0]), of_vector(&vectors, &pair[1]), "{pair}");
    }
    for pair in entries(&vectors, "/different") {
        assert_ne!(of_vector(&vectors, &pair[0]), of_vector(&vectors, &pair[1]), "{pair}");
    }
}

#[test]
fn equal_numbers_have_equal_fingerprints() {
    let vectors = vectors();
    let key = shared_key(&vectors);
    for pair in entries(&vectors, "/equal_numbers/pairs") {
        let made = |index: usize| {
            let request = pair[index].as_str().expect("a request");
            of_request(&key, request).expect("it is valid")
        };
        assert_eq!(made(0), made(1), "{pair}");
    }
}

#[test]
fn invalid_requests_are_refused_and_the_place_is_named() {
    let vectors = vectors();
    for invalid in entries(&vectors, "/invalid") {
        let name = text(invalid, "name");
        let hex = invalid["key_hex"].as_str().unwrap_or(text(&vectors, "key_hex"));
        let outcome = key(hex).and_then(|key| of_request(&key, text(invalid, "request_json")));
        let error = outcome.expect_err(name);
        match text(invalid, "refused_by") {
            "json" => assert!(matches!(error, FingerprintError::NotARequest(_)), "{name}: {error}"),
            "canonical" => {
                assert!(matches!(error, FingerprintError::NotCanonical(_)), "{name}: {error}");
                assert_eq!(error.path(), text(invalid, "error_path"), "{name}");
            }
            "key" => {
                assert!(
                    matches!(error, FingerprintError::KeyTooShort { bytes: 31 }),
                    "{name}: {error}"
                );
                assert_eq!(error.path(), text(invalid, "error_path"), "{name}");
            }
            other => panic!("{name}: refused_by {other:?} is not known"),
        }
    }
}

#[test]
fn a_request_with_an_unknown_or_a_missing_member_is_refused() {
    let key = shared_key(&vectors());
    let whole = r#"{"principal":"a","tool_id":"t","tool_version":"1","arguments":{},"continuation_state":null,"input_responses":null}"#;
    of_request(&key, whole).expect("it is valid");
    let unknown = whole.replacen('{', r#"{"unbound":1,"#, 1);
    let missing = whole.replacen(r#","input_responses":null"#, "", 1);
    for wrong in [unknown, missing] {
        assert!(
            matches!(of_request(&key, &wrong), Err(FingerprintError::NotARequest(_))),
            "{wrong}"
        );
    }
}
