//! The shared vectors: the built-in implementation and the Python adapter agree on all of them, and whatever else an adapter
//! does is a finding that names the vector.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command_line::prints;
use crate::support::python::has_python;
use crate::support::run::{Done, Harness};
use crate::support::{MARK_VARIABLE, await_marked, new_mark};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

fn adapter_text() -> String {
    std::fs::read_to_string(folder().join("adapter.py")).unwrap()
}

/// An adapter that is a Python program of this text.
fn python(text: &str) -> Harness {
    let harness = Harness::new().file("adapter.py", text);
    harness.words(&["--adapter", "python3 adapter.py"])
}

/// An adapter that is a shell script of this text.
fn shell(text: &str) -> Harness {
    Harness::new()
        .file("adapter.sh", text)
        .words(&["--adapter", "sh adapter.sh"])
}

fn json_of(harness: Harness) -> (i32, Value) {
    let done = harness.words(&["--format", "json"]).call(&["vectors"]);
    let json: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    assert_eq!(json["exit"], done.code);
    (done.code, json)
}

/// The vectors that came out like this.
fn named(json: &Value, outcome: &str) -> Vec<String> {
    let vectors = json["vectors"].as_array().unwrap();
    let of = vectors.iter().filter(|vector| vector["outcome"] == outcome);
    of.map(|vector| vector["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_built_in_implementation_is_right() {
    prints("vectors", &Harness::new().call(&["vectors"]));
    prints(
        "vectors-set",
        &Harness::new().words(&["--set", "recovery"]).call(&["vectors"]),
    );
}

/// Two implementations, in two languages, that have nothing but the README in common.
#[test]
fn the_python_adapter_agrees_on_every_vector() {
    if !has_python("the Python adapter agrees on every vector") {
        return;
    }
    let (code, ours) = json_of(Harness::new());
    assert_eq!(code, 0);
    let (code, theirs) = json_of(python(&adapter_text()));
    assert_eq!(code, 0, "{theirs:#}");
    assert_eq!(theirs["vectors"], ours["vectors"]);
    assert_eq!(theirs["notes"], json!([]));
    assert_eq!(
        named(&theirs, "equal").len(),
        theirs["vectors"].as_array().unwrap().len()
    );
}

#[test]
fn one_wrong_byte_is_named() {
    if !has_python("one wrong byte is named") {
        return;
    }
    let wrong = "
    reply = answer(question)
    if question['name'] == 'unicode_scalar_order_and_utf8':
        reply['canonical'] = reply['canonical'].replace('principal\":\"\\xe1', 'principal\":\"\\xe0')
    print(json.dumps({'name': question['name']} | reply), flush=True)
";
    let text = adapter_text();
    let (head, _) = text.rsplit_once("    print(").unwrap();
    let text = format!("{head}{wrong}");
    let done = python(&text).call(&["vectors"]);
    prints("vectors-one-wrong-byte", &done);
    let (code, json) = json_of(python(&text));
    assert_eq!(code, 1);
    assert_eq!(named(&json, "differs"), ["unicode_scalar_order_and_utf8"]);
    let vectors = json["vectors"].as_array().unwrap();
    let vector = vectors.iter().find(|vector| vector["outcome"] == "differs").unwrap();
    let byte = &vector["differences"][0]["byte"];
    assert_eq!(
        (&byte["expected_byte"], &byte["found_byte"]),
        (&json!(0xa1), &json!(0xa0))
    );
    let offset = usize::try_from(byte["offset"].as_u64().unwrap()).unwrap();
    let expected = vector["differences"][0]["expected"].as_str().unwrap();
    assert_eq!(expected.as_bytes()[offset], 0xa1);
}

/// A rule that no vector needs is one that an implementation may forget. Each rule of the adapter is taken out in turn.
#[test]
fn every_rule_of_recovery_has_a_vector() {
    if !has_python("every rule of recovery has a vector") {
        return;
    }
    let text = adapter_text();
    let rules: Vec<&str> = text.lines().filter(|line| line.contains(": yield \"")).collect();
    assert_eq!(rules.len(), 15, "{rules:#?}");
    for rule in rules {
        let (_, reason) = rule.rsplit_once("yield ").unwrap();
        let without = text.replace(&format!("{rule}\n"), &format!("{}\n", rule.replace(reason, "None")));
        let done = python(&without).words(&["--set", "recovery"]).call(&["vectors"]);
        assert_ne!(done.code, 0, "nothing notices that {rule:?} is gone");
    }
}

#[test]
fn a_wrong_number_or_order_in_canonical_json_is_caught() {
    if !has_python("a wrong number or order in canonical JSON is caught") {
        return;
    }
    let text = adapter_text();
    for (right, wrong, caught_by) in [
        (
            "sorted(value)",
            "sorted(value, key=lambda key: key.encode('utf-16-be', 'surrogatepass'))",
            "unicode_scalar_order_and_utf8",
        ),
        (
            "ensure_ascii=False",
            "ensure_ascii=True",
            "escapes_that_json_does_not_need",
        ),
        ("abs(number) < 2**53", "abs(number) <= 2**53", "above_safe_integer"),
        ("return int(number)", "return number", "equal_numbers[0][1]"),
        ("\\0{canonical", "{canonical", "00_control_single_round"),
        ("values[1:]", "values[2:]", "00_control_single_round"),
    ] {
        assert!(text.contains(right), "{right}");
        let (code, json) = json_of(python(&text.replace(right, wrong)).words(&["--set", "fingerprint"]));
        assert_eq!(code, 1, "{right} -> {wrong}");
        assert!(
            named(&json, "differs").iter().any(|name| name == caught_by),
            "{right}: {:?}",
            named(&json, "differs")
        );
    }
}

#[test]
fn a_dead_adapter_is_a_finding_with_its_last_words() {
    let dead = "echo 'no module named x' >&2\nexit 3\n";
    prints("vectors-dead", &shell(dead).call(&["vectors"]));
    // It answers one question (with the question, which is wrong), and dies over the second.
    let second = "read -r line\nprintf '%s\\n' \"$line\"\nread -r line\nkill -9 $$\n";
    let (code, json) = json_of(shell(second));
    assert_eq!(code, 1, "what was compared comes before what could not be");
    assert_eq!(named(&json, "differs"), ["00_control_single_round"]);
    assert_eq!(named(&json, "unanswered"), ["01_identical_retry"]);
    assert_eq!(json["vectors"][1]["problem"], "signal 9 ended it before it answered");
    assert_eq!(json["vectors"][2]["outcome"], "not-asked");
}

#[test]
fn a_silent_adapter_is_a_finding_and_nothing_of_it_is_left() {
    let mark = new_mark();
    let silent = "sleep 1000 &\nsleep 1000\n";
    let harness = shell(silent).words(&["--timeout", "1"]).env(MARK_VARIABLE, &mark);
    prints("vectors-silent", &harness.call(&["vectors"]));
    await_marked(&mark, 0);
}

#[test]
fn what_is_no_answer_is_a_finding() {
    for (script, problem) in [
        ("echo hello\ncat\n", "it answered with what is no JSON object: hello"),
        ("echo\ncat\n", "it answered with what is no JSON object: an empty line"),
        ("echo '[1]'\ncat\n", "it answered with what is no JSON object: [1]"),
        (
            "printf '{\"name\": '\n",
            "it answered with what is no JSON object: {\"name\": ",
        ),
        (
            "printf '\\377\\376\\n'\ncat\n",
            "it answered with what is no JSON object: \u{fffd}\u{fffd}",
        ),
        (
            "head -c 1100000 /dev/zero | tr '\\0' x\necho\ncat\n",
            "its answer has 1100000 bytes; an answer has at most 1048576",
        ),
        (
            "echo '{\"name\": \"another\"}'\ncat\n",
            "its answer is out of step: the `name` in it is \"another\"",
        ),
        (
            "echo '{}'\ncat\n",
            "its answer is out of step: the `name` in it is missing",
        ),
        (
            "exec >&-\nsleep 1000\n",
            "it closed its standard output before it answered",
        ),
    ] {
        let (code, json) = json_of(shell(script));
        assert_eq!(code, 3, "{script}");
        assert_eq!(named(&json, "unanswered"), ["00_control_single_round"], "{script}");
        assert_eq!(json["vectors"][0]["problem"], problem, "{script}");
    }
}

#[test]
fn what_an_adapter_writes_cannot_speak_to_the_terminal() {
    let done = shell("printf '\\033[2Jevil\\n'\necho '::error::x' >&2\nprintf '\\033[31m' >&2\n").call(&["vectors"]);
    done.exits(3);
    assert!(
        !done.stdout.contains('\u{1b}') && !done.stdout.contains("\n::error"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_line_that_nobody_asked_for_makes_all_answers_doubtful() {
    let file = json!({"format": 1, "set": "continuation", "key_hex": "00", "base": {}, "vectors": [
        {"name": "only", "changes": {}, "expected": "replay", "kind": "reference_policy"}]});
    let script = "read -r line\necho '{\"name\": \"only\", \"decision\": \"replay\"}'\nread -r line\necho '{}'\n";
    let with_file = |script: &str| shell(script).file("v.json", &file.to_string()).words(&["v.json"]);
    let (code, json) = json_of(with_file(script));
    assert_eq!(code, 3);
    assert_eq!(
        json["notes"],
        json!(["it wrote another line after the last answer: {}"])
    );
    let (code, json) = json_of(with_file(&script.replace("echo '{}'", "exit 4")));
    assert_eq!(code, 0);
    assert_eq!(json["notes"], json!(["it exited with code 4 after its last answer"]));
}

#[test]
fn a_file_is_checked_instead_of_what_is_embedded() {
    let text = std::fs::read_to_string(folder().join("continuation.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["vectors"][0]["expected"] = json!("conflict");
    let done = |file: &Value| {
        Harness::new()
            .file("mine.json", &file.to_string())
            .words(&["mine.json"])
            .call(&["vectors"])
    };
    prints("vectors-file", &done(&file));
    file["vectors"] = json!([]);
    done(&file).exits(3);
}

fn refused(done: &Done, parts: &[&str]) {
    done.exits(2).says_only(parts).wrote_nothing();
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let file = |text: &str| {
        Harness::new()
            .file("mine.json", text)
            .words(&["mine.json"])
            .call(&["vectors"])
    };
    refused(&file("{"), &["mine.json", "line 1 column 1"]);
    refused(
        &file("[1]"),
        &["mine.json: invalid type: a list, expected an object with keys at line 1 column 3"],
    );
    refused(&file("{\"format\": 1, \"set\": \"x\"}"), &["there is no set \"x\""]);
    let unknown = r#"{"format": 1, "set": "recovery", "kind": "k", "attempt": {}, "vectors": [], "vektors": []}"#;
    refused(&file(unknown), &["unknown field `vektors`"]);
    refused(
        &Harness::new().words(&["nowhere.json"]).call(&["vectors"]),
        &["read nowhere.json"],
    );
    let continuation = folder().join("continuation.json").display().to_string();
    let words = [continuation.as_str(), "--set", "recovery"];
    refused(
        &Harness::new().words(&words).call(&["vectors"]),
        &["which --set leaves out"],
    );
    refused(
        &Harness::new().words(&["--adapter", " "]).call(&["vectors"]),
        &["--adapter is empty"],
    );
    let missing = Harness::new()
        .words(&["--adapter", "no-such-program"])
        .call(&["vectors"]);
    missing.exits(3);
    assert!(missing.stderr.contains("no-such-program"), "{}", missing.stderr);
}

#[test]
fn every_line_of_jsonl_is_json() {
    let done = Harness::new().words(&["--format", "jsonl"]).call(&["vectors"]);
    done.exits(0);
    let lines: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.last().unwrap();
    assert_eq!((&lines[0]["event"], &last["event"]), (&json!("begin"), &json!("end")));
    assert_eq!(last["equal"], lines.len() - 2);
}
